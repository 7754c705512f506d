"""Graphs that are made of graphs: pure functions, with weights following."""
