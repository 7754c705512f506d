"""Operators of a graph that patterns take together as one node, and that come apart again."""
