"""Damaged files: of weights, graphs, saved executables and exported libraries.

Each format says what its valid files are, how they are damaged, and what must hold of every file:
reading it, and running what was read, ends in a result or in an exception of ours, within bounded
time and memory, and never kills the process.
"""
