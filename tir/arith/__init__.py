"""Arithmetic of integer expressions. ``simplify.py`` is the door: canonical form, and what can be
proved. ``algebra.py`` does the work, on sums (``sums.py``) and intervals (``interval.py``).
"""
