"""Passes that put operators into one function, or take them out again."""
