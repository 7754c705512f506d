"""The rules of ``reshape``: what Relay's codes mean, and where an element of one shape lies in
another.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay2relax.core.errors.table import operators
from relay2relax.ops.registry.record import OpError
from relay2relax.ops.registry.types import show
from relay2relax.tir.extent import ANY, Extent, Shape, equal, floordiv, is_any, mul, product, static
from relay2relax.tir.ir.expr import IntImm, PrimExpr


def quotient(total: Sequence[Extent], parts: Sequence[Extent]) -> Extent:
    """Return the product of ``total`` divided by that of ``parts``; equal factors cancel first,
    ``?`` with nothing.
    """
    above, below = list(total), []
    for part in parts:
        match = next((i for i, one in enumerate(above) if equal(one, part)), None)
        if match is None:
            below.append(part)
        else:
            del above[match]
    if any(is_any(extent) for extent in (*above, *below)):
        return ANY
    divisor = product(below)
    return 0 if static(divisor) == 0 else floordiv(product(above), divisor)


def new_shape(shape: Shape, newshape: Sequence[Extent], allowzero: bool = False) -> Shape:
    """Return the shape that ``newshape`` gives a tensor of ``shape``.

    Its entries: an extent; 0 copies the extent at the same place (a plain 0 with ``allowzero``); -1
    takes what is left; -2 copies all further extents; -3 multiplies the next two; -4 splits the
    next one into the two entries that follow, one of which may be -1. Raises OpError where codes
    and shape, or the numbers of elements, do not fit.
    """
    result: list[Extent] = []
    # Extents that were copied, merged or split: a -1 divides only what is left of both sides.
    used_inputs: set[int] = set()
    used_results: set[int] = set()
    inferred: int | None = None
    entries = list(newshape)
    source = place = 0

    def take(count: int = 1) -> tuple[Extent, ...]:
        nonlocal source
        if source + count > len(shape):
            raise OpError(
                f"newshape {show(newshape)} asks for more dimensions than {show(shape)} has", 0, kind=operators.RANK
            )
        used_inputs.update(range(source, source + count))
        source += count
        return shape[source - count : source]

    def put(*extents: Extent) -> None:
        used_results.update(range(len(result), len(result) + len(extents)))
        result.extend(extents)

    while place < len(entries):
        entry = entries[place]
        place += 1
        code = static(entry)
        if code is None or code > 0 or (code == 0 and allowzero):
            result.append(entry)
            source += 1
        elif code == 0:
            put(*take())
        elif code == -1:
            if inferred is not None:
                raise OpError(f"newshape {show(newshape)} has more than one -1", 0, kind=operators.ATTRIBUTE)
            inferred = len(result)
            put(1)
            source += 1
        elif code == -2:
            put(*take(max(len(shape) - source, 0)))
        elif code == -3:
            put(product(take(2)))
        elif code == -4:
            if place + 2 > len(entries):
                raise OpError(f"newshape {show(newshape)}: two extents follow a -4", 0, kind=operators.ATTRIBUTE)
            put(*_split(take()[0], entries[place], entries[place + 1], newshape))
            place += 2
        else:
            raise OpError(f"newshape {show(newshape)}: {code} has no meaning", 0, kind=operators.ATTRIBUTE)
    if inferred is not None:
        left = [extent for i, extent in enumerate(shape) if i not in used_inputs]
        right = [extent for i, extent in enumerate(result) if i not in used_results]
        result[inferred] = quotient(left, right)
    _check_count(shape, newshape, result)
    return tuple(result)


def _check_count(shape: Shape, newshape: Sequence[Extent], result: Sequence[Extent]) -> None:
    """Raise OpError where ``result`` is known to have another number of elements than ``shape``."""
    before, after = product(shape), product(result)
    if equal(before, after) is False:
        raise OpError(
            f"newshape {show(newshape)} makes {show(result)} of {show(shape)}: "
            f"{show([after])[1:-1]} elements of {show([before])[1:-1]}",
            0,
            kind=operators.ATTRIBUTE,
        )


def _split(extent: Extent, first: Extent, second: Extent, newshape: Sequence[Extent]) -> tuple[Extent, Extent]:
    if static(first) == -1 and static(second) == -1:
        raise OpError(
            f"newshape {show(newshape)}: only one of the extents after a -4 may be -1", 0, kind=operators.ATTRIBUTE
        )
    if static(first) == -1:
        return floordiv(extent, second), second
    if static(second) == -1:
        return first, floordiv(extent, first)
    return first, second


def reshaped_index(shape: Shape, target: Shape, indices: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
    """Return where the element at ``indices`` of a tensor of ``target`` lies in the row-major
    tensor of ``shape``.

    Runs of dimensions with equal products are taken each by itself, so a dimension that stays keeps
    its index.
    """
    found: list[PrimExpr] = []
    for (begin, end), (first, last) in _runs(shape, target):
        flat: PrimExpr = IntImm(0)
        for extent, index in zip(target[first:last], indices[first:last], strict=True):
            if static(extent) != 1:
                flat = flat * extent + index
        found += _unravel(flat, shape[begin:end])
    return tuple(found)


def _unravel(flat: PrimExpr, shape: Shape) -> list[PrimExpr]:
    """Return the indices of place ``flat`` in a row-major tensor of ``shape``."""
    found: list[PrimExpr] = []
    outermost = next((i for i, extent in enumerate(shape) if static(extent) != 1), 0)
    stride: Extent = 1
    for position in range(len(shape) - 1, -1, -1):
        extent = shape[position]
        if static(extent) == 1:
            found.append(IntImm(0))
            continue
        index = flat // stride
        # The outermost index needs no remainder, for ``flat`` lies inside.
        found.append(index if position == outermost else index % extent)
        stride = mul(stride, extent)
    return found[::-1]


def _runs(shape: Shape, target: Shape) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return the shortest runs of dimensions of both shapes whose products are provably equal."""
    runs: list[tuple[tuple[int, int], tuple[int, int]]] = []
    begin = first = 0
    end, last = 0, 0
    left: Extent = 1
    right: Extent = 1
    while end < len(shape) or last < len(target):
        if end < len(shape) and (last == len(target) or _grow_source(left, right, end - begin, last - first)):
            left = mul(left, shape[end])
            end += 1
        else:
            right = mul(right, target[last])
            last += 1
        if end > begin and last > first and equal(left, right) and static(left) != 1:
            runs.append(((begin, end), (first, last)))
            begin, first, left, right = end, last, 1, 1
    if begin < end or first < last:
        if runs:
            # What is left are extents of 1: they belong to the run before them.
            (a, _), (b, _) = runs.pop()
            runs.append(((a, end), (b, last)))
        else:
            runs.append(((begin, end), (first, last)))
    return runs


def _grow_source(left: Extent, right: Extent, taken: int, given: int) -> bool:
    """Whether the run grows by a dimension of the source next, rather than one of the target."""
    a, b = static(left), static(right)
    if a is not None and b is not None:
        return a < b or (a == b and taken <= given)
    if a is not None or b is not None:
        return a is not None
    return taken <= given
