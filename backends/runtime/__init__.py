"""What running programs call and are given, whichever backend runs them.

Begin reading with ``registry.py`` (functions called by name) and ``arguments.py`` (what callers
hand over).
"""
