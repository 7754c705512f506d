"""Normalisation operators."""

OPS: tuple = ()
