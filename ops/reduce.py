"""Reduce operators."""

OPS: tuple = ()
