"""Sliding windows: the arithmetic that convolution and pooling share.

Along one axis a window of ``kernel`` taps, ``dilation`` apart, moves in steps of ``stride`` over an
extent that is padded by ``before`` and ``after``. Arrays and tensors here have their spatial axes
last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.registry.record import OpError
from relay2relax.tir import te
from relay2relax.tir.extent import Extent, add, floordiv, is_any, static
from relay2relax.tir.ir.expr import PrimExpr, if_then_else, logical_and


@dataclass(frozen=True, slots=True)
class Window:
    """How a window moves along one axis."""

    kernel: int
    stride: int = 1
    dilation: int = 1
    before: int = 0
    after: int = 0

    @property
    def span(self) -> int:
        """The extent from the first tap to the last."""
        return (self.kernel - 1) * self.dilation + 1

    def positions(self, extent: Extent, ceil_mode: bool = False) -> Extent:
        """Return at how many places the window stands over ``extent`` elements.

        With ``ceil_mode`` the division rounds up: a last window may reach over the end padding.
        """
        if is_any(extent):
            return extent
        if self.stride == 0:
            raise OpError("a stride is 0")
        steps = add(extent, self.before + self.after - self.span + (self.stride - 1 if ceil_mode else 0))
        return add(floordiv(steps, self.stride), 1)

    def places(self, tap: int, count: int) -> slice:
        """Return which elements of the padded axis lie under ``tap`` of the first ``count``
        windows.
        """
        start = tap * self.dilation
        return slice(start, start + (count - 1) * self.stride + 1 if count else start, self.stride)

    def reach(self, positions: int, extent: int) -> int:
        """Return the end padding that the last of ``positions`` windows over ``extent`` elements
        reads.
        """
        return (positions - 1) * self.stride + self.span - extent - self.before


def integers(values: Sequence[Extent], what: str) -> tuple[int, ...]:
    """Return ``values`` as ints.

    Raises OpError where one is not known when the program is written.
    """
    found = tuple(static(value) for value in values)
    if any(value is None for value in found):
        raise OpError(mistake(operators.ATTRIBUTE, name=what, value=list(values), expected="numbers"))
    return tuple(value for value in found if value is not None)


def per_axis(values: Sequence[Extent], rank: int, what: str, least: int | None = 1) -> tuple[int, ...]:
    """Return one int for each of ``rank`` spatial axes.

    Raises OpError for another count or a value below ``least``.
    """
    found = integers(values, what)
    if len(found) == 1:
        found = found * rank
    if len(found) != rank:
        raise OpError(mistake(operators.ATTRIBUTE, name=what, value=list(found), expected=f"{rank} values"))
    if least is not None and min(found) < least:
        raise OpError(mistake(operators.ATTRIBUTE, name=what, value=list(found), expected=f"at least {least}"))
    return found


def both_sides(padding: Sequence[Extent], rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the padding before and after each of ``rank`` spatial axes.

    Relay writes one value for all sides, one per axis, or all values before followed by all values
    after.
    """
    found = integers(padding, "padding")
    if len(found) == 1:
        return found * rank, found * rank
    if len(found) == rank:
        return found, found
    if len(found) == 2 * rank:
        return found[:rank], found[rank:]
    raise OpError(
        mistake(operators.ATTRIBUTE, name="padding", value=list(found), expected=f"1, {rank} or {2 * rank} values")
    )


def pad_array(array: Array, before: Sequence[int], after: Sequence[int], value: float) -> Array:
    """Return ``array`` with its last axes padded by ``value`` (cropped where negative).

    Itself without any padding.
    """
    if not any(before) and not any(after):
        return array
    lead = array.ndim - len(before)
    shape, source, target = list(array.shape), [slice(None)] * array.ndim, [slice(None)] * array.ndim
    for axis, (b, a) in enumerate(zip(before, after, strict=True), lead):
        extent = array.shape[axis]
        shape[axis] = b + extent + a
        first = max(0, b)
        last = max(first, min(b + extent, shape[axis]))
        source[axis] = slice(first - b, last - b) if last > first else slice(0, 0)
        target[axis] = slice(first, last)
    result = np.full(shape, value, array.dtype)
    result[tuple(target)] = array[tuple(source)]
    return result


def windows_of(array: Array, windows: Sequence[Window], out: Sequence[int]) -> Array:
    """Return a view (…, *out, *kernel) of the padded ``array`` (…, *spatial): the elements under
    each window.
    """
    lead = array.ndim - len(windows)
    step = array.strides[lead:]
    return np.lib.stride_tricks.as_strided(
        array,
        (*array.shape[:lead], *out, *(w.kernel for w in windows)),
        (
            *array.strides[:lead],
            *(s * w.stride for s, w in zip(step, windows, strict=True)),
            *(s * w.dilation for s, w in zip(step, windows, strict=True)),
        ),
        writeable=False,
    )


def padded(
    tensor: te.Tensor, before: Sequence[int], after: Sequence[Extent], value: PrimExpr, name: str = "pad"
) -> te.Tensor:
    """Return ``tensor`` padded by ``value`` on every axis (cropped where negative).

    Itself without any padding.
    """
    if not any(before) and all(static(a) == 0 for a in after):
        return tensor
    sides = list(zip(tensor.shape, before, after, strict=True))

    def element(*axes: PrimExpr) -> PrimExpr:
        inside: list[PrimExpr] = []
        for axis, (extent, b, a) in zip(axes, sides, strict=True):
            if b > 0:
                inside.append(axis >= b)
            known = static(a)
            if known is None or known > 0:
                inside.append(axis < extent + b)
        source = tuple(axis - b for axis, b in zip(axes, before, strict=True))
        if not inside:
            return tensor[source]
        return if_then_else(logical_and(*inside), tensor[source], value)

    return te.compute([add(add(e, b), a) for e, b, a in sides], element, name)


def check_positions(positions: Sequence[Extent], extents: Sequence[Extent], windows: Sequence[Window]) -> None:
    """Raise OpError where a window reaches further than the padded extent that it moves over."""
    for count, extent, window in zip(positions, extents, windows, strict=True):
        known, size = static(count), static(extent)
        if known is not None and size is not None and known < 0 <= size:
            raise OpError(
                f"a window of {window.kernel} elements, {window.dilation} apart, does not fit into {extent} elements "
                f"padded by {window.before} and {window.after}",
                0,
                kind=operators.SHAPE,
            )
