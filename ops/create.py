"""Create operators."""

OPS: tuple = ()
