"""Passes that let operators take sparse weights."""
