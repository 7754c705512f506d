"""Extents of tensors as they are known: numbers, or where only the running program knows them
vectors of one int64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, Union

from relay2relax.relay_ir.frontend.onnx.conversion import Conversion
from relay2relax.relay_ir.ir.expr import Expr
from relay2relax.tir.extent import static

Length: TypeAlias = Union[int, Expr]


def lengths(at: Conversion, expr: Expr) -> list[Length]:
    """Return the extents of a tensor."""
    known = [static(one) for one in at.extents(expr)]
    if None not in known:
        return [one for one in known if one is not None]
    whole = at.shape_of(expr)
    return [
        at.call("strided_slice", whole, begin=[axis], end=[axis + 1], strides=[1]) if one is None else one
        for axis, one in enumerate(known)
    ]


def vector(at: Conversion, given: Sequence[Length]) -> Expr:
    """Return extents as one vector of int64."""
    numbers = numbers_of(given)
    if numbers is not None:
        return at.const(numbers, "int64")
    parts = [at.const([one], "int64") if isinstance(one, int) else one for one in given]
    return at.call("concatenate", at.tuple(parts), axis=0)


def numbers_of(given: Sequence[Length]) -> list[int] | None:
    """Return extents where all are numbers."""
    known = [one for one in given if isinstance(one, int)]
    return known if len(known) == len(given) else None


def joined(at: Conversion, one: Length, other: Length) -> Length:
    """Return the extent that two broadcast to."""
    if isinstance(one, int) and isinstance(other, int) and one != other and 1 not in (one, other):
        at.refuse(f"{one} and {other} do not broadcast")
    if isinstance(one, int):
        return other if one == 1 else one
    if isinstance(other, int):
        return one if other == 1 else other
    return at.call("maximum", one, other)


def broadcast(at: Conversion, expr: Expr, shape: Sequence[Length]) -> Expr:
    """Return a tensor in a shape that it broadcasts to: itself where that is its own."""
    numbers = numbers_of(shape)
    if numbers is None:
        return at.dynamic("broadcast_to", expr, vector(at, shape))
    return expr if at.static(expr) == tuple(numbers) else at.call("broadcast_to", expr, tuple(numbers))


def reshaped(at: Conversion, expr: Expr, shape: Sequence[Length]) -> Expr:
    """Return a tensor in another shape, a call even where it is its own."""
    numbers = [one if isinstance(one, int) else -1 for one in shape]
    # One that is not known follows from the others, unless there is nothing.
    if numbers.count(-1) > 1 or (-1 in numbers and 0 in numbers):
        return at.dynamic("reshape", expr, vector(at, shape))
    return at.call("reshape", expr, tuple(numbers))


def chosen_axes(at: Conversion, axes: Expr, rank: int) -> Expr:
    """Return for each of some computed axes which of ``rank`` it is, a matrix of truths."""
    wide = at.cast(axes, "int64")
    behind = at.call("less", wide, at.const(0, "int64"))
    front = at.call("where", behind, at.call("add", wide, at.const(rank, "int64")), wide)
    return at.call("equal", at.unsqueeze(front, [1]), at.const(range(rank), "int64"))
