"""What became of every part of a Relay program, and what of what it said was kept.

Begin reading with ``model.py``; ``traced.py`` makes the map, ``receipt.py`` the receipt, and
``document.py`` writes and reads ``map.json``.
"""
