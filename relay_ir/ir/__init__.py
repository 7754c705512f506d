"""Relay as data. Begin with ``expr.py`` (expressions), ``types.py`` and ``module.py``.

``rewrite.py`` and ``functor.py`` are the two ways to walk a program: a function for every node, or
a class with a method for each kind. ``equality.py`` compares two programs. ``opaque.py`` holds
functions of a module that are not Relay.
"""
