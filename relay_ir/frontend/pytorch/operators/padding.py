"""Padding, turning round, and windows over axes."""

from __future__ import annotations

import numpy as np

from relay2relax.relay_ir.frontend.pytorch.context import Conversion, Value
from relay2relax.relay_ir.frontend.pytorch.operators.indexing import axis_of
from relay2relax.relay_ir.frontend.pytorch.operators.record import Convert, records
from relay2relax.relay_ir.ir.expr import Expr

_MODES = {"reflection_pad": "reflect", "replication_pad": "edge"}


def _pairs(at: Conversion, rank: int) -> list[tuple[int, int]]:
    """Return widths before and behind each axis; PyTorch begins with the last."""
    given = at.sizes(1)
    found = [(0, 0)] * rank
    for number in range(len(given) // 2):
        found[rank - 1 - number] = (given[2 * number], given[2 * number + 1])
    return found


def _cropped(at: Conversion, data: Expr, pairs: list[tuple[int, int]]) -> tuple[Expr, list[tuple[int, int]]]:
    """Return ``data`` without what negative widths cut off, and the others."""
    for axis, (before, behind) in enumerate(pairs):
        if before < 0 or behind < 0:
            end = at.shape(data)[axis] + min(behind, 0)
            data = at.call("strided_slice", data, begin=[max(-before, 0)], end=[end], strides=[1], axes=[axis])
    return data, [(max(before, 0), max(behind, 0)) for before, behind in pairs]


def _constant(at: Conversion) -> Value:
    data, pairs = _cropped(at, at.tensor(0), _pairs(at, at.rank(at.tensor(0))))
    if not any(before or behind for before, behind in pairs):
        return data
    return at.call("nn.pad", data, tuple(pairs), at.const(at.number(2, 0), at.dtype(data)))


def _mirrored(mode: str) -> Convert:
    def convert(at: Conversion) -> Value:
        data, pairs = _cropped(at, at.tensor(0), _pairs(at, at.rank(at.tensor(0))))
        for axis, (before, behind) in enumerate(pairs):
            if (before or behind) and not at.shape(data)[axis]:
                at.refuse("there is nothing to repeat")
            if before or behind:
                places = np.pad(np.arange(at.shape(data)[axis]), (before, behind), mode)  # type: ignore[call-overload]
                data = at.call("take", data, at.const(places, "int64"), axis=axis)
        return data

    return convert


def _flip(at: Conversion) -> Value:
    data = at.tensor(0)
    for axis in at.sizes(1):
        data = at.call("reverse", data, axis=axis % at.rank(data)) if at.rank(data) else data
    return data


def _roll(at: Conversion) -> Value:
    data, shifts, axes = at.tensor(0), at.sizes(1), at.integers(2)
    shape = at.shape(data)
    if not axes:
        count = int(np.prod(shape))
        places = np.roll(np.arange(count), shifts[0])
        flat = at.call("take", at.call("reshape", data, [count]), at.const(places, "int64"), axis=0)
        return at.call("reshape", flat, shape)
    for shift, axis in zip(shifts, axes, strict=True):
        places = np.roll(np.arange(shape[axis]), shift)
        data = at.call("take", data, at.const(places, "int64"), axis=axis % len(shape))
    return data


def _repeat(at: Conversion) -> Value:
    data, reps = at.tensor(0), at.sizes(1)
    if 0 in reps:
        shape = (1,) * (len(reps) - at.rank(data)) + at.shape(data)
        return at.call("zeros", shape=[a * b for a, b in zip(shape, reps, strict=True)], dtype=at.dtype(data))
    return at.call("tile", data, tuple(reps)) if reps else data


def _unfold(at: Conversion) -> Value:
    """Windows along an axis, which stand along a new last one."""
    data = at.tensor(0)
    if not at.rank(data):
        return at.call("reshape", data, [at.integer(2)])
    axis, size, step = axis_of(at, 1, at.rank(data)), at.integer(2), at.integer(3)
    count = (at.shape(data)[axis] - size) // step + 1
    places = np.arange(count)[:, None] * step + np.arange(size)
    made = at.call("take", data, at.const(places, "int64"), axis=axis)
    rank = at.rank(made)
    order = [*range(axis + 1), *range(axis + 2, rank), axis + 1]
    return at.call("transpose", made, axes=order)


def _diagonal(at: Conversion) -> Value:
    data = at.tensor(0)
    rank, shape = at.rank(data), at.shape(data)
    offset = at.integer(1, 0)
    one, other = (at.integer(place, default) % rank for place, default in ((2, 0), (3, 1)))
    rows, columns = max(-offset, 0), max(offset, 0)
    count = max(min(shape[one] - rows, shape[other] - columns), 0)
    if not count:
        at.refuse_empty()
    order = [one, other, *(axis for axis in range(rank) if axis not in (one, other))]
    moved = at.call("transpose", data, axes=order)
    places = np.stack([np.arange(count) + rows, np.arange(count) + columns])
    made = at.call("gather_nd", moved, at.const(places, "int64"))
    return at.call("transpose", made, axes=[*range(1, rank - 1), 0])


def _as_strided(at: Conversion) -> Value:
    """Elements by where they lie in memory, which is that of a tensor without gaps."""
    data, size, stride, offset = at.tensor(0), at.sizes(1), at.sizes(2), at.integer(3, 0)
    places = np.full(size, offset, np.int64)
    for axis, (extent, step) in enumerate(zip(size, stride, strict=True)):
        places += (np.arange(extent) * step).reshape([-1 if one == axis else 1 for one in range(len(size))])
    return at.call("take", at.call("reshape", data, [-1]), at.const(places, "int64"), axis=0)


RECORDS = records({
    "constant_pad_nd": _constant, "flip": _flip, "roll": _roll, "repeat": _repeat, "unfold": _unfold,
    "diagonal": _diagonal, "as_strided": _as_strided,
    **{f"{name}{rank}d": _mirrored(mode) for name, mode in _MODES.items() for rank in (1, 2, 3)},
})  # fmt: skip
