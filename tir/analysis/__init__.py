"""What is found out about tensor programs without changing them.

``check.py`` checks a PrimFunc, ``regions.py`` finds what a block reads and writes, ``reshape.py``
where elements lie in memory, ``pattern.py`` how operands are used (which decides about fusion),
``purity.py`` whether there are effects.
"""
