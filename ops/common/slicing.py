"""The rules of ``strided_slice``: what begin, end and strides mean for one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.shapes import ask_at_least, normal_axes
from relay2relax.ops.registry.record import OpError
from relay2relax.tir.extent import ANY, Extent, Shape, add, ceildiv, is_any, maximum, minimum, static, sub

_FAR = 2**63 - 1
# Beyond any extent that a tensor can have.
_BEYOND = 2**31 - 1


@dataclass(frozen=True, slots=True)
class AxisSlice:
    """One axis: ``length`` elements from ``begin`` on, ``stride`` apart."""

    axis: int
    begin: Extent
    stride: int
    length: Extent


def axis_slices(
    shape: Shape,
    begin: Sequence[Extent],
    end: Sequence[Extent],
    strides: Sequence[Extent],
    axes: Sequence[int] | None,
    slice_mode: str = "end",
) -> tuple[AxisSlice, ...]:
    """Return what is taken of each sliced axis.

    Without ``axes`` the entries are those of the first dimensions. A missing stride is 1, a missing
    begin or end the border (for a negative stride the end is element 0, which is left out).
    ``slice_mode`` "size": ``end`` holds lengths, -1 for the rest, strides are ignored. Negative
    places count from the end; places are then moved inside. Raises OpError for axes that do not
    exist, a stride of 0, and a static end before its begin.
    """
    if slice_mode not in ("end", "size"):
        raise OpError(
            mistake(operators.ATTRIBUTE, name="slice_mode", value=repr(slice_mode), expected="'end' or 'size'"), 0
        )
    count = max(len(begin), len(end))
    places = normal_axes(axes if axes is not None else range(count), len(shape))
    if count > len(places):
        raise OpError(f"begin and end have {count} entries for {len(places)} axes", 0, kind=operators.AXIS)
    found = []
    for number, axis in enumerate(places):
        stride = static(strides[number]) if number < len(strides) and slice_mode == "end" else 1
        if not stride:
            raise OpError(
                mistake(
                    operators.ATTRIBUTE,
                    name=f"the stride of axis {axis}",
                    value=stride,
                    expected="a number other than 0",
                ),
                0,
            )
        first = begin[number] if number < len(begin) else 0 if stride > 0 else _FAR
        last = end[number] if number < len(end) else _FAR if stride > 0 else 0
        if slice_mode == "size":
            size = static(last)
            last = _FAR if size is not None and size < 0 else add(first, last)
        found.append(_slice(axis, shape[axis], first, last, stride))
    return tuple(found)


def _slice(axis: int, extent: Extent, begin: Extent, end: Extent, stride: int) -> AxisSlice:
    if is_any(extent) or is_any(begin) or is_any(end):
        return AxisSlice(axis, ANY, stride, ANY)
    first, last = _inside(begin, extent, stride), _inside(end, extent, stride)
    distance = sub(last, first) if stride > 0 else sub(first, last)
    known = static(distance)
    if known is not None and known < 0:
        raise OpError(
            f"axis {axis}: the slice from {static(first)} to {static(last)} by {stride} runs backwards",
            0,
            kind=operators.AXIS,
        )
    if known is None:
        ask_at_least(distance, 0)
        first, distance = _open(extent, begin, end, first, last, stride)
    return AxisSlice(axis, first, stride, ceildiv(distance, abs(stride)))


def _inside(place: Extent, extent: Extent, stride: int) -> Extent:
    """Return ``place`` counted from the front and moved into the axis (one before it for a negative
    stride).
    """
    value, size = static(place), static(extent)
    low, high = (0, extent) if stride > 0 else (-1, sub(extent, 1))
    if value is None:
        return minimum(maximum(place, low), high)
    if size is not None:
        top = size if stride > 0 else size - 1
        return min(max(value + size if value < 0 else value, low), top)
    if value < 0:
        return low if value <= -_BEYOND else maximum(add(extent, value), low)
    if value == 0 and stride > 0:
        return 0
    return high if value >= _BEYOND else minimum(value, high)


def _open(
    extent: Extent, begin: Extent, end: Extent, first: Extent, last: Extent, stride: int
) -> tuple[Extent, Extent]:
    """Return the begin of a slice of an extent that is not known, and the distance to its end.

    The forms are those that TVM's arithmetic reduces to, as far as it compares extents.
    """
    start = static(begin)
    if stride > 0 and start is not None and 0 <= start < _BEYOND:
        # A begin past the end leaves nothing to read, wherever it lies.
        return start, maximum(sub(last, start), 0) if start else last
    if stride > 0 and start is not None and last == extent:
        return first, minimum(-start, extent)
    distance = sub(last, first) if stride > 0 else sub(first, last)
    stop = static(end)
    if stride < 0 and first == sub(extent, 1) and stop is not None and stop < 0:
        return first, extent if stop <= -_BEYOND else minimum(-stop - 1, extent)
    return first, maximum(distance, 0)
