"""Convolution operators."""

OPS: tuple = ()
