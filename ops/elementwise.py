"""Elementwise operators."""

OPS: tuple = ()
