"""Relay as data: expressions, types, modules, and how they are walked and compared."""
