"""How a product is cut into tiles of registers and into parts that stay in a cache.

docs/reference/blocking.md derives the formulas.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.schedule.product import Product, stride
from relay2relax.backends.c.stages import Axis, points
from relay2relax.core.dtype import bits
from relay2relax.tir.analysis.reshape import size as size_of
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import BufferLoad, IntImm, PrimExpr, Var, binary

# Vectors of a tile, and rows where there may be any number: each rest gets code of its own.
_MOST = 8
# With the padding of its last panel, a vector factor of so many bytes and more has at most so many
# times the bytes.
_LARGE, _PADDED = 1 << 20, 1.02
# Cycles of a step besides those of its arithmetic.
_AROUND = 0.5
# Least parts of rows where cores have those.
_PARTS = 4


@dataclass(frozen=True, slots=True)
class TileShape:
    """How many vectors wide and how many rows high a tile of registers is, and how many of its
    multiplications are done in a cycle.
    """

    vectors: int
    rows: int
    rate: float


def tile_shape(
    columns: int, rows: int | None, width: int, depth: int, dtype: str, machine: Machine, apart: bool
) -> TileShape:
    """Return the shape of a tile of registers.

    What counts: how many multiplications a processor can begin in the cycles that one step of the
    reduced axes takes, and how much of the tiles lies beyond the result. A step takes as long as
    its multiplications, as its loads, as one addition (which the next one waits for), or as it
    takes to fetch a panel of ``depth`` steps that does not fit into the first cache. ``rows`` is
    None where there may be any number. Where sums lie ``apart``, each has a vector of its own.
    """
    best = TileShape(1, 1, 0.0)
    panels = -(-columns // width)
    size = width * bits(dtype) // 8
    # Of large weights little may be padding: that is memory which nobody asked for, and time where
    # they come from there.
    large = panels * size * depth >= _LARGE
    for vectors in range(1, min(_MOST, panels) + 1):
        if large and -(-panels // vectors) * vectors > panels * _PADDED:
            continue
        for height in range(1, (rows or _MOST) + 1):
            products = vectors * height
            # Vectors are held for more than one row, or gcc carries those that windows share from
            # step to step; single numbers come one by one; without a spare register gcc spills.
            held = products if apart else vectors if height > 1 else 1
            if products + held + 2 > machine.registers:
                break
            far = depth * vectors * size > machine.first_cache_bytes // 2
            # Two multiplications by one number read it twice, where they can.
            each = apart or (machine.broadcasts and vectors <= 2)
            cycles = max(
                products / machine.multiply_adds,
                (vectors + (products if each else height)) / machine.loads,
                machine.latency,
                vectors * size / machine.cache_bytes_per_cycle if far else 0.0,
            )
            used = panels / (-(-panels // vectors) * vectors)
            if rows is not None:
                used *= rows / (-(-rows // height) * height)
            # Each step also counts and branches; tiles that are larger begin and end less often.
            rate = used * products / (cycles + _AROUND)
            if rate > best.rate:
                best = TileShape(vectors, height, rate)
    return best


def parts_around_panels(
    product: Product, outer: Sequence[Axis], inner: list[Axis], panels: PrimExpr, results: int | None, machine: Machine
) -> tuple[list[Axis], list[Axis], dict[Var, PrimExpr]]:
    """Return the axes around the panels, those within, and what steps that were cut are.

    There are so many ``results`` in all, None where that is not known, or cores have no parts.

    Every panel meets all points of the axes within, and reads their single numbers once more. Where
    these do not stay in a core's own cache, panels meet one part of them after the other: all
    panels are read for each part, but the single numbers once. So it is as well where a core that
    has some panels and all rows would fetch more than one that has some rows and all panels.
    """
    count, single, vector = static(panels), _bytes(product.single, outer), _bytes(product.vector, outer)
    extents = [static(axis.extent) for axis in inner]
    if count is None or single is None or vector is None or None in extents or not inner:
        return [], inner, {}
    known, most = [one or 1 for one in extents], machine.cache_bytes // 2
    if single > most:
        number, held = 0, -(-single // known[0])
        while number + 1 < len(inner) and 2 * held > most:
            number += 1
            held = -(-held // known[number])
        least = -(-known[number] // max(1, most // held))
        around, within, steps = _cut(inner, known, number, least, 2 * least)
        if (static(points(around)) or 1) * vector + single < count * single:
            return around, within, steps
    if results is not None and points(outer) == IntImm(1) and _by_rows(product, single, vector, results):
        # Where panels stay in the first cache, each tile meets all of them. Depthwise, lines of
        # tiles share rows of the image.
        near = 2 * vector <= machine.first_cache_bytes and not product.paired
        number = 0
        while number + 1 < len(inner) and math.prod(known[: number + 1]) < _PARTS:
            number += 1
        least = known[number] if near else -(-_PARTS // math.prod(known[:number]))
        return _cut(inner, known, number, least, 4 * least)
    return [], inner, {}


def _by_rows(product: Product, single: int, vector: int, results: int) -> bool:
    """Whether cores share rows out rather than panels.

    Who has some panels reads all single numbers, and leaves others to fetch its columns; who has
    some rows reads all panels. A depthwise convolution finds its rows or channels where the product
    before it left them, which is taken to have a third as many inputs.
    """
    columns = static(product.along.extent) or 1
    size = bits(product.vector.buffer.dtype) // 8
    if product.paired:
        return single > columns * columns * size // 4
    return single + results * size > vector


def _cut(
    inner: list[Axis], extents: Sequence[int], number: int, least: int, most: int
) -> tuple[list[Axis], list[Axis], dict[Var, PrimExpr]]:
    """Return ``parts_around_panels`` for ``least`` parts of the axis ``number`` or more, at most
    ``most``.
    """
    axis, extent = inner[number], extents[number]
    least = min(least, extent)
    # The last part may begin earlier, and repeats what is done: the fewer steps, the better.
    parts = min(range(least, min(most, extent) + 1), key=lambda parts: (-(-extent // parts) * parts, parts))
    near = -(-extent // parts)
    part, step = Var("part"), Var(axis.var.name)
    place: PrimExpr = binary("+", binary("*", part, IntImm(near)), step)
    if parts * near != extent:
        place = binary("min", place, IntImm(extent - 1))
    around = [*inner[:number], Axis(part, IntImm(parts))]
    return around, [Axis(step, IntImm(near)), *inner[number + 1 :]], {axis.var: place}


def _bytes(load: BufferLoad, outer: Sequence[Axis]) -> int | None:
    """Return the bytes of a factor at one point of the axes ``outer``, where they are known."""
    stored = static(size_of(load.buffer))
    if stored is None:
        return None
    for axis in outer:
        stored //= static(axis.extent) or 1 if stride(load, axis) else 1
    return stored * bits(load.buffer.dtype) // 8
