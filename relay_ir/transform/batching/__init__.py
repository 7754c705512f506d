"""Passes about the extents that a program takes several of at once: batches and sequences."""
