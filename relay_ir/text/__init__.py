"""Relay's text format. Reading begins in ``parser.py``, which hands expressions to ``expr.py``,
types to ``types.py`` and attributes to ``attrs.py``; ``printer.py`` writes.

``legacy.py`` reads the text of TVM before 0.7. ``metadata.py`` reads and writes the section of
objects at the end of a text.
"""
