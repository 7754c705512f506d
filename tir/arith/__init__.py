"""Arithmetic of integer expressions: canonical form, and what can be proved."""
