"""Tensor programs as data. Begin with ``expr.py`` and ``stmt.py``.

``visit.py`` walks and rebuilds them, ``structural_equal.py`` compares them up to names.
``builtins.py`` and ``intrinsics.py`` know the functions that expressions may call.
"""
