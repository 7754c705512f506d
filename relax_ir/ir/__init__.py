"""Relax as data. Begin with ``expr.py`` (expressions, functions, modules) and ``struct_info.py``.

``symbols.py`` knows symbolic extents, ``visit.py`` and ``functor.py`` walk programs, ``text.py``
writes extents, struct info and constants, ``names.py`` gives names out, ``devices.py`` and
``mesh.py`` say where values lie.
"""
