"""Relay's JSON, as ``tvm.ir.save_json`` writes it. Begin with ``schema.py``: the fields of every
object, one table for ``reader.py`` and ``writer.py``.

``document.py`` checks the outer form, ``legacy.py`` brings documents of earlier versions to that of
today.
"""
