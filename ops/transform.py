"""Transform operators."""

OPS: tuple = ()
