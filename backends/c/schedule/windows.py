"""Depthwise convolutions together with what makes their image, by blocks of rows.

Networks for phones widen an image, convolve each channel alone, and narrow it again: the wide image
is their largest tensor. Where it does not stay in a cache, a block of its rows and channels is made
in memory of the block's own, and convolved from there. Rows that two blocks read are made twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from relay2relax.backends.c.access import clamp_start, coefficient
from relay2relax.backends.c.fusion.rows import Users
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.schedule.blocking import tile_shape
from relay2relax.backends.c.stages import Axis, Blocks, Part, Program, Stage, mapped, points, renamed
from relay2relax.core.dtype import bits
from relay2relax.tir.arith.simplify import ceiling, limits, simplify
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import Buffer, BufferLoad, Call, FloatImm, IntImm, PrimExpr, Var, binary
from relay2relax.tir.ir.visit import loads, mentions, substitute, variables

# Memory of a block: it lies on the stack, and leaves room in the second cache.
_BLOCK_BYTES = 1 << 17
# Blocks to share out, at least.
_BLOCKS = 8
# To store an element beyond the second cache and read it again takes as long as so many
# multiplications in registers.
_FAR = 24


@dataclass(frozen=True, slots=True)
class _Axes:
    """What the axes of a convolution run over."""

    batch: Axis
    rows: Axis
    columns: Axis
    channels: Axis


@dataclass(frozen=True, slots=True)
class _Window:
    """A convolution that makes an image, channels innermost, and a depthwise one that reads it.

    ``parts`` are the numbers of the stages that make the image: the convolution's, and of those
    that store ``fill`` around it. Its first result lies at ``begins`` (row and column). The other
    one reads ``reach`` rows for a result, and moves on by ``step``.
    """

    parts: tuple[int, ...]
    product: Stage
    second: Stage
    image: Buffer
    fill: PrimExpr
    made: _Axes
    read: _Axes
    begins: tuple[int, int]
    step: int
    reach: int

    def rows(self, size: int) -> int:
        """Return how many rows of the image ``size`` rows of results read."""
        return (size - 1) * self.step + self.reach

    def blocks(self, size: int, channels: int) -> Blocks:
        """Return both as one: a block has ``size`` rows of results and some ``channels``."""
        block, group = Var("block"), Var("group")
        around = (
            self.read.batch,
            Axis(block, ceiling(self.read.rows.extent, size)),
            Axis(group, ceiling(self.read.channels.extent, channels)),
        )
        start = clamp_start(block, size, self.read.rows.extent)
        lane = Axis(Var("channel"), IntImm(channels))
        channel = binary("+", binary("*", group, IntImm(channels)), lane.var)
        width = self.image.shape[2]
        extent = simplify(binary("*", IntImm(self.rows(size) * channels), width))
        memory = Buffer(self.image.name, (extent,), self.image.dtype, "local")

        def place(row: PrimExpr, column: PrimExpr) -> PrimExpr:
            flat = binary("+", binary("*", row, width), column)
            return binary("+", binary("*", flat, IntImm(channels)), lane.var)

        row = Axis(Var("row"), IntImm(self.rows(size)))
        members = [self._product(around, start, row, channel, lane)]
        members = [replace(one, target=memory, indices=(place(row.var, one.indices[1]),)) for one in members]
        first, count = self.begins[1], static(self.made.columns.extent) or 1
        for begin, end in ((0, first), (first + count, static(width) or 1)):
            if begin < end:
                column = Axis(Var("column"), IntImm(end - begin))
                at = place(row.var, binary("+", column.var, IntImm(begin)))
                members.append(Stage((*around, row, column, lane), memory, (at,), self.fill))

        own = Axis(Var("row"), IntImm(size))

        def near(node: PrimExpr) -> PrimExpr | None:
            if not isinstance(node, BufferLoad) or node.buffer is not self.image:
                return None
            return BufferLoad(
                memory, (place(substitute(node.indices[1], {self.read.rows.var: own.var}), node.indices[2]),)
            )

        values = {self.read.rows.var: binary("+", start, own.var), self.read.channels.var: channel}
        axes = (*around, own, self.read.columns, lane)
        return Blocks(around, (*members, renamed(mapped(self.second, near), axes, values)))

    def _product(self, around: tuple[Axis, ...], start: PrimExpr, row: Axis, channel: PrimExpr, lane: Axis) -> Stage:
        """Return the first convolution for the rows of a block, the first of which is read by the
        result at ``start``; rows around the image are ``fill``.
        """
        made, before = self.made, self.begins[0]
        real = binary("-", binary("+", binary("*", start, IntImm(self.step)), row.var), IntImm(before))
        last = binary("-", made.rows.extent, IntImm(1))
        inside = binary("min", binary("max", real, IntImm(0)), last)
        values = {made.batch.var: self.read.batch.var, made.rows.var: inside, made.channels.var: channel}
        stage = renamed(self.product, (*around, row, made.columns, lane), values)
        if self.image.shape[1] != made.rows.extent:
            valid = binary("and", binary(">=", real, IntImm(0)), binary("<=", real, last))
            value = Call("if_then_else", (valid, stage.value, self.fill), self.image.dtype)
            stage = replace(stage, value=value)
        column = binary("+", made.columns.var, IntImm(self.begins[1]))
        return replace(stage, indices=(row.var, column, lane.var))


def with_windows(program: Program, given: frozenset[Buffer], machine: Machine) -> Program:
    """Return ``program`` with depthwise convolutions and what makes their images as one, by blocks
    of rows, where that pays.

    The buffers ``given`` are wanted by others, too.
    """
    users, stages = Users(program), list(program.stages)
    gone: set[int] = set()
    for number in range(len(stages)):
        found = _window(number, stages, users, given)
        blocks = None if found is None else _in_cache(found, machine)
        if found is not None and blocks is not None:
            stages[number] = blocks
            gone.update(found.parts)
    return replace(program, stages=tuple(one for number, one in enumerate(stages) if number not in gone))


def _in_cache(found: _Window, machine: Machine) -> Blocks | None:
    """Return both by blocks that fit a cache, None where their image does, or where more is made
    twice than that saves.
    """
    _, height, width, channels = (static(one) or 1 for one in found.image.shape)
    size = bits(found.image.dtype) // 8
    if height * width * channels * size <= machine.cache_bytes // 2:
        return None
    reduction, results = found.product.reduction, static(found.read.rows.extent) or 1
    assert reduction is not None
    depth, columns = static(points(reduction.axes)) or 1, static(found.made.columns.extent) or 1
    lanes = machine.lanes(found.image.dtype)
    best, chosen = float("inf"), None
    for group in range(lanes, channels + 1, lanes):
        most = (_BLOCK_BYTES // (width * group * size) - found.reach) // found.step + 1
        if channels % group or most < 1:
            continue
        count = max(-(-results // most), min(results, -(-_BLOCKS * group // channels)))
        rows = -(-results // count)
        made = count * found.rows(rows) / (static(found.made.rows.extent) or 1)
        # Multiplications of an element, what is made twice among them, as long as they take.
        shape = tile_shape(group, columns, lanes, depth, found.image.dtype, machine, False)
        effort = depth * (made * machine.multiply_adds / shape.rate - 1.0)
        if effort < best:
            best, chosen = effort, found.blocks(rows, group)
    return chosen if best < _FAR else None


def _window(number: int, stages: Sequence[Part], users: Users, given: frozenset[Buffer]) -> _Window | None:
    """Return the depthwise convolution ``number`` and what makes its image, None where it is
    something else, or they cannot be one.
    """
    second = stages[number]
    if not isinstance(second, Stage) or second.reduction is None:
        return None
    (image, *others) = {
        load.buffer for load in loads(second.reduction.source) if users.memory(load.buffer) not in users.known
    } or {second.target}
    if others or image in given or users.seen.get(image) != {image} or users.readers.get(image) != [number]:
        return None
    parts = tuple(users.writers.get(image, ()))
    made = {place: one for place in parts if isinstance(one := stages[place], Stage)}
    products = [place for place, one in made.items() if one.reduction is not None]
    if len(products) != 1 or len(made) != len(parts) or parts[-1] > number:
        return None
    first = products[0]
    if any(users.writes[place] & users.reads[first] for place in range(first + 1, number + 1)):
        return None
    fills = {one.value for place, one in made.items() if place != first} or {FloatImm(0.0, image.dtype)}
    (fill, *more) = fills
    return None if more or not isinstance(fill, FloatImm) else _matched(parts, made[first], second, image, fill)


def _matched(parts: tuple[int, ...], product: Stage, second: Stage, image: Buffer, fill: PrimExpr) -> _Window | None:
    """Return the two as one, None where one of them is no such convolution."""
    taken = [load for expr in second.expressions() for load in loads(expr) if load.buffer is image]
    made, read = _axes(product, product.indices), _axes(second, taken[0].indices)
    if len(taken) != 1 or made is None or read is None or image.dtype != "float32" or second.reduction is None:
        return None
    places, stored = taken[0].indices, product.indices
    outer = [(stored[0], made.batch), (stored[3], made.channels), (places[0], read.batch), (places[3], read.channels)]
    if any(index is not axis.var for index, axis in outer) or made.batch.extent != read.batch.extent:
        return None
    begins = [
        simplify(binary("-", index, axis.var))
        for index, axis in zip(stored[1:3], (made.rows, made.columns), strict=True)
    ]
    extents = (*begins, *image.shape[1:], made.rows.extent, made.columns.extent, read.rows.extent)
    step = coefficient(places[1], read.rows.var)
    window = simplify(substitute(places[1], {read.rows.var: IntImm(0)}))
    inner = {axis.var for axis in second.reduction.axes}
    if not step or step < 0 or None in map(static, extents) or not inner.issuperset(variables(window)):
        return None
    least, most = limits(window, second.bounds)
    if least != 0 or most is None:
        return None
    row, column = (static(one) or 0 for one in begins)
    return _Window(parts, product, second, image, fill, made, read, (row, column), step, most + 1)


def _axes(stage: Stage, indices: tuple[PrimExpr, ...]) -> _Axes | None:
    """Return the axes of a convolution by the dimensions of an image, where each of the four has an
    index that mentions one of them.
    """
    found = [[axis for axis in stage.axes if mentions(index, axis.var)] for index in indices]
    axes = [axis for one in found for axis in one]
    if any(len(one) != 1 for one in found) or len(stage.axes) != 4 or len({axis.var for axis in axes}) != 4:
        return None
    return _Axes(*axes)
