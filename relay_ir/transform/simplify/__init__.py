"""Passes that replace calls by simpler ones of the same value."""
