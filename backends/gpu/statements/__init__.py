"""Kernels of whole statements: what is sorted, running sums, suppression of boxes, and whatever
else is not a nest of loops around one store.

``serial.py`` chooses; ``ranks.py``, ``scans.py`` and ``together.py`` are rows that many threads do.
"""
