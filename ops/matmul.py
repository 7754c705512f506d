"""Matmul operators."""

OPS: tuple = ()
