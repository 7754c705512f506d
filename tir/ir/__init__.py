"""Tensor programs as data: expressions, statements, and how they are walked and compared."""
