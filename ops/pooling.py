"""Pooling operators."""

OPS: tuple = ()
