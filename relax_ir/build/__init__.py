"""Relax written in Python, binding by binding. Begin with ``builder.py``: ``BlockBuilder`` makes
modules.

It stands on ``sequence_builder.py``, which keeps expressions in normal form. ``emitter.py`` makes
the calls that operators become, ``te_calls.py`` those of tensor expressions; ``expr_mutator.py``
rebuilds a program through a builder.
"""
