"""Layouts: which axis of a tensor means what, e.g. ``NCHW``, ``HWIO``, ``NCHW4c``.

A capital letter is an axis; a number with a small letter is the inner part of a split axis: in
``NCHW4c`` channel ``c`` lies at ``[n, c // 4, h, w, c % 4]``. Operators work in an order of capital
letters of their own choice ("NCHW") and use the functions here to get there from the layout they
are given, for extents, arrays and indices alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from relay2relax.core.dtype import Array
from relay2relax.core.errors.table import operators
from relay2relax.ops.registry.record import OpError
from relay2relax.tir.extent import Extent, Shape, floordiv, mul, static
from relay2relax.tir.ir.expr import PrimExpr

_AXIS = re.compile(r"([A-Z])|([1-9]\d*)([a-z])")


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a layout: its capital letter, and for the inner part of a split axis its extent
    (else 0).
    """

    letter: str
    factor: int = 0


@dataclass(frozen=True, slots=True)
class Layout:
    """A layout; ``name`` is how it is written."""

    name: str
    axes: tuple[Axis, ...]

    @property
    def rank(self) -> int:
        """The number of dimensions of a tensor in this layout."""
        return len(self.axes)

    @property
    def is_split(self) -> bool:
        """Whether an axis is split in two."""
        return any(axis.factor for axis in self.axes)

    def position(self, letter: str) -> int:
        """Return the dimension of the (outer part of the) axis ``letter``."""
        return self.axes.index(Axis(letter))

    def factor(self, letter: str) -> int:
        """Return the extent of the inner part of the axis ``letter``, 1 where the axis is not
        split.
        """
        return max(axis.factor for axis in self.axes if axis.letter == letter) or 1

    def extents(self, shape: Shape, order: str) -> Shape:
        """Return the extents of the axes ``order`` of a tensor of ``shape`` in this layout."""
        found: dict[str, Extent] = {}
        for axis, extent in zip(self.axes, shape, strict=True):
            found[axis.letter] = mul(found[axis.letter], extent) if axis.letter in found else extent
        return tuple(found.get(letter, 1) for letter in order)

    def shape(self, extents: Sequence[Extent], order: str) -> Shape:
        """Return the shape, in this layout, of a tensor whose axes ``order`` have ``extents``.

        Raises OpError where a split axis is no multiple of its inner part.
        """
        by_letter = dict(zip(order, extents, strict=True))
        for letter, extent in by_letter.items():
            size = static(extent)
            if size is not None and size % self.factor(letter):
                raise OpError(
                    f"layout {self.name} cannot split axis {letter} of {size} elements", kind=operators.LAYOUT
                )
        return tuple(axis.factor or floordiv(by_letter[axis.letter], self.factor(axis.letter)) for axis in self.axes)

    def to_order(self, array: Array, order: str) -> Array:
        """Return ``array`` with its axes in ``order``; a view where no axis is split."""
        turned: Array = array.transpose([i for letter in order for i in self._places(letter)])
        if self.is_split:
            turned = turned.reshape([static(extent) or 0 for extent in self.extents(array.shape, order)])
        return turned

    def from_order(self, array: Array, order: str) -> Array:
        """Return ``array``, whose axes are in ``order``, in this layout; a view."""
        parts: list[int] = []
        for letter, extent in zip(order, array.shape, strict=True):
            factor = self.factor(letter)
            split = len(self._places(letter)) > 1
            parts += [extent // factor, factor] if split else [extent]
        places = [i for letter in order for i in self._places(letter)]
        result: Array = array.reshape(parts).transpose([places.index(i) for i in range(self.rank)])
        return result

    def coordinates(self, indices: Sequence[PrimExpr]) -> dict[str, PrimExpr]:
        """Return, by letter, the coordinates of the element at ``indices`` of a tensor in this
        layout.
        """
        found: dict[str, PrimExpr] = {}
        for axis, index in zip(self.axes, indices, strict=True):
            part = index if axis.factor else index * self.factor(axis.letter)
            found[axis.letter] = found[axis.letter] + part if axis.letter in found else part
        return found

    def indices(self, coordinates: Mapping[str, PrimExpr]) -> tuple[PrimExpr, ...]:
        """Return the indices, in this layout, of the element at ``coordinates``."""
        return tuple(
            coordinates[axis.letter] % axis.factor
            if axis.factor
            else coordinates[axis.letter] // self.factor(axis.letter)
            for axis in self.axes
        )

    def _places(self, letter: str) -> list[int]:
        """Return the dimensions of ``letter``, outer part first."""
        found = [i for i, axis in enumerate(self.axes) if axis.letter == letter]
        return sorted(found, key=lambda i: self.axes[i].factor)


@lru_cache(maxsize=256)
def parse_layout(name: str, letters: str) -> Layout:
    """Return the layout written ``name``, which must have exactly the axes ``letters``.

    Raises OpError where it is malformed or has other axes.
    """
    axes: list[Axis] = []
    end = 0
    for match in _AXIS.finditer(name):
        if match.start() != end:
            break
        end = match.end()
        axes.append(Axis(match[1]) if match[1] else Axis(match[3].upper(), int(match[2])))
    outer = [axis.letter for axis in axes if not axis.factor]
    inner = [axis.letter for axis in axes if axis.factor]
    if end != len(name) or sorted(outer) != sorted(letters) or len(set(inner)) != len(inner):
        axes_text = ", ".join(letters)
        raise OpError(
            f'layout "{name}" does not fit: expected the axes {axes_text}, each once, e.g. "{letters}"',
            kind=operators.LAYOUT,
        )
    if not set(inner) <= set(outer):
        raise OpError(f'layout "{name}" splits an axis that it does not have', kind=operators.LAYOUT)
    return Layout(name, tuple(axes))
