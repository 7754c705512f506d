"""The two ways in which passes walk a module."""
