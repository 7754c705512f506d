"""Programs as C libraries that run without Python."""
