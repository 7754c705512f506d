"""Operators for targets and for what compilers insert: random numbers, memory, annotations."""
