"""Type inference."""
