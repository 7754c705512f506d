"""The rules that make fewer stages."""
