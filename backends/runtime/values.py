"""Values that running Relax programs pass around beside arrays, tuples and numbers."""

from __future__ import annotations


class ShapeTuple(tuple[int, ...]):
    """A shape value, told apart from a tuple of tensors."""

    __slots__ = ()
