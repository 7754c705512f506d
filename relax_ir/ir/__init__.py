"""Relax as data: expressions, struct info, and how they are walked."""
