"""Broadcast operators."""

OPS: tuple = ()
