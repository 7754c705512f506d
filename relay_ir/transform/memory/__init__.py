"""Passes that look at how long values are needed."""
