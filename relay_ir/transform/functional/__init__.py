"""Passes over programs of functions: evaluation in part, continuations, functions as data."""
