"""Kernels of GPUs on numpy: all threads of some blocks at once, in lock-step, and what is wrong
with them.

``launch.py`` finds the kernels of a PrimFunc, ``machine.py`` runs statements, ``lanes.py``
evaluates expressions, ``memory.py`` holds what threads share, ``watch.py`` looks for mistakes and
``traffic.py`` counts.
"""
