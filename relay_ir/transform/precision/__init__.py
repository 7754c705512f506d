"""Passes that change the dtypes in which operators compute."""
