"""Attention, block of rows by block of rows: two products of matrices, and what happens to the rows
between them.

Scores are a product, their rows are worked on one by one (``rows.py``: softmax), and another
product sums along the rows of what comes out. For a block of rows all of it is done at once, so
only that block of the scores exists, in a cache, and one parallel loop covers the whole. The
products keep their tiles and their packed panels, which are packed before the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from relay2relax.backends.c.access import clamp_start
from relay2relax.backends.c.fusion.rows import Users
from relay2relax.backends.c.stages import (
    Axis,
    Blocks,
    Part,
    Program,
    Rows,
    Stage,
    flat_index,
    mapped,
    points,
    renamed,
    unflatten,
    with_digits,
)
from relay2relax.core.dtype import bits
from relay2relax.tir.analysis.reshape import size as size_of
from relay2relax.tir.arith.simplify import ceiling, simplify
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import Binary, Buffer, BufferLoad, FloatImm, IntImm, PrimExpr, Var, binary
from relay2relax.tir.ir.visit import loads, map_expr, variables

# A block has so many rows at most, and at least: fewer leave tiles of registers half empty.
_MOST_ROWS, _LEAST_ROWS = 32, 8
# The scores of a block that leave room in the second cache.
_BLOCK_BYTES = 1 << 17


def fuse_attention(
    program: Program, given: frozenset[Buffer], made: Callable[[Attention], Blocks | None] | None = None
) -> Program:
    """Return ``program`` with products around rows as one, as ``made`` makes them; where it is not
    given, by blocks of rows that fit a cache.

    The buffers ``given`` are wanted by others, too.
    """
    number = 0
    while number < len(program.stages):
        found = _attention(number, program, given)
        blocks = None if found is None else (made or _in_cache)(found)
        if found is not None and blocks is not None:
            stages: list[Part] = list(program.stages)
            stages[found.last] = blocks
            del stages[number], stages[found.first]
            program = replace(program, stages=tuple(stages))
            number = found.last - 2
        number += 1
    return program


@dataclass(frozen=True, slots=True)
class Attention:
    """A product, its rows, and a product of what becomes of them.

    ``first`` and ``last`` are the products' numbers.

    ``scores`` and ``result`` are matrices of the rows: the rows' axes are the indices of all
    dimensions but the last. ``before`` and ``after`` say what the products call those axes; along
    those of ``moving``, only one factor of each product changes.
    """

    first: int
    last: int
    axes: tuple[Axis, ...]
    product: Stage
    rows: tuple[Stage, ...]
    second: Stage
    scores: Buffer
    result: Buffer
    before: Mapping[Var, Var]
    after: Mapping[Var, Var]
    moving: tuple[Axis, ...]

    def blocks(self, along: Axis, size: int) -> Blocks:
        """Return all of it as one: a block has ``size`` steps of the axis ``along``."""
        block, row = Var("block"), Var("row")
        extent = along.extent
        own = binary("+", clamp_start(block, size, extent), row)
        axes = (*(axis for axis in self.axes if axis is not along), Axis(block, ceiling(extent, size)))
        around = (*axes, Axis(row, IntImm(size)))
        local = {self.scores: _local(self.scores, size)}
        local[self.result] = local[self.scores] if self.is_over() else _local(self.result, size)

        def member(stage: Stage, names: Mapping[Var, Var]) -> Stage:
            values: dict[Var, PrimExpr] = {names[axis.var]: own if axis is along else axis.var for axis in self.axes}
            inner = (axis for axis in stage.axes if axis.var not in values)
            return renamed(self.within(stage, local, row), (*around, *inner), values)

        same = {axis.var: axis.var for axis in self.axes}
        rows = Rows(around, tuple(member(stage, same) for stage in self.rows))
        return Blocks(axes, (member(self.product, self.before), rows, member(self.second, self.after)))

    def is_over(self) -> bool:
        """Whether a row of the result may lie where the row of the scores did: nobody reads that
        afterwards.
        """
        if self.scores.shape[-1] != self.result.shape[-1]:
            return False
        column = None
        for stage in self.rows:
            if stage.target is self.result:
                column = stage.indices[-1]
            read = [load for expr in stage.expressions() for load in loads(expr) if load.buffer is self.scores]
            if column is not None and any(load.indices[-1] is not column for load in read):
                return False
        return True

    def within(self, stage: Stage, local: Mapping[Buffer, Buffer], row: Var) -> Stage:
        """Return ``stage`` with scores, and what becomes of them, in memory of the block."""

        def position(buffer: Buffer, column: PrimExpr) -> PrimExpr:
            return binary("+", binary("*", row, buffer.shape[-1]), column)

        def rewrite(node: PrimExpr) -> PrimExpr | None:
            if isinstance(node, BufferLoad) and node.buffer in local:
                return BufferLoad(local[node.buffer], (position(node.buffer, node.indices[-1]),))
            return None

        changed = mapped(stage, rewrite)
        if stage.target not in local:
            return changed
        return replace(changed, target=local[stage.target], indices=(position(stage.target, stage.indices[-1]),))


def _attention(number: int, program: Program, given: frozenset[Buffer]) -> Attention | None:
    """Return the products around the rows ``number``, None where there are none, or none that can
    be one with them.
    """
    rows = program.stages[number]
    if not isinstance(rows, Rows):
        return None
    users = Users(program)
    # Rows that are too long, or of which nobody knows how long they are, lie in memory.
    inner = {one for one in users.writes[number] if one not in given and users.readers.get(one) == [number]}
    written = [one for one in users.writes[number] if one not in inner or users.writers[one] != [number]]
    if len(written) != 1:
        return None
    (result,) = written
    readers = [] if result in given or users.writers[result] != [number] else users.readers.get(result, [])
    second = program.stages[readers[0]] if len(readers) == 1 else None
    if not isinstance(second, Stage):
        return None
    for scores in sorted(users.reads[number], key=lambda buffer: buffer.name):
        writers = users.writers.get(scores, [])
        if scores in given or len(writers) != 1 or users.readers[scores] != [number]:
            continue
        product = program.stages[writers[0]]
        if isinstance(product, Stage) and _may_move(writers[0], number, readers[0], users):
            found = _matched(program, (writers[0], readers[0]), product, rows, second, (scores, result))
            if found is not None:
                return found
    return None


def _may_move(first: int, rows: int, last: int, users: Users) -> bool:
    """Whether the first product and the rows may run where the second product does, and no block
    disturbs another.
    """
    if not first < rows < last:
        return False
    read = users.reads[first] | users.reads[rows]
    if any(users.writes[one] & read for one in range(first + 1, last) if one != rows):
        return False
    return not users.writes[last] & (read | users.reads[last])


def _matched(
    program: Program,
    numbers: tuple[int, int],
    product: Stage,
    rows: Rows,
    second: Stage,
    memories: tuple[Buffer, Buffer],
) -> Attention | None:
    """Return the three as one, None where they are not products of matrices over the rows."""
    if memories[0].dtype != memories[1].dtype or memories[0].dtype not in ("float32", "float64"):
        return None
    matrices: dict[Buffer, Buffer] = {}
    for memory in memories:
        outer = tuple(axis.extent for axis in rows.axes)
        length = memory.shape[-1]
        if memory.shape[:-1] != outer:
            length = simplify(binary("//", size_of(memory), points(rows.axes)))
        matrices[memory] = Buffer(memory.name, (*outer, length), memory.dtype)
    scores, result = (matrices[memory] for memory in memories)
    stages = [_in_shape(stage, matrices, program) for stage in (product, *rows.stages, second)]
    own = tuple(axis.var for axis in rows.axes)
    for stage in stages[1:-1]:
        for buffer, indices in _accesses(stage):
            if buffer in (scores, result) and (indices[:-1] != own or not isinstance(indices[-1], Var)):
                return None
    product = with_digits(stages[0], stages[0].indices)
    taken = _load_of(result, stages[-1])
    if taken is None:
        return None
    second = with_digits(stages[-1], taken.indices)
    taken = _load_of(result, second)
    factors, others = _factors(product), _factors(second)
    before = _named(own, product.indices, product.axes)
    after = None if taken is None else _named(own, taken.indices, second.axes)
    if taken is None or factors is None or others is None or before is None or after is None:
        return None
    if second.reduction is None or [axis.var for axis in second.reduction.axes] != [taken.indices[-1]]:
        return None
    if product.indices[-1] not in {axis.var for axis in product.axes}:
        return None
    values = others[1] if others[0] == taken else others[0]
    moving = tuple(
        axis
        for axis in rows.axes
        if sum(before[axis.var] in _variables(one) for one in factors) == 1
        and after[axis.var] not in _variables(values)
    )
    between = tuple(stages[1:-1])
    return Attention(*numbers, rows.axes, product, between, second, scores, result, before, after, moving)


def _in_cache(found: Attention) -> Blocks | None:
    """Return all of it by blocks of rows that fit a cache, None where their number is not known."""
    if any(stage.target.scope != "local" for stage in found.rows if stage.target is not found.result):
        return None
    block: Axis | None = None
    for axis in found.moving:
        extent = static(axis.extent) or 0
        if extent >= _LEAST_ROWS:
            block = axis if block is None or extent >= (static(block.extent) or 0) else block
    size = None if block is None else _block_rows(block, found.scores)
    return None if block is None or size is None else found.blocks(block, size)


def _local(buffer: Buffer, size: int) -> Buffer:
    """Return the memory that a block of ``size`` rows has for its part of ``buffer``."""
    return Buffer(buffer.name, (simplify(binary("*", IntImm(size), buffer.shape[-1])),), buffer.dtype, "local")


def _in_shape(stage: Stage, matrices: Mapping[Buffer, Buffer], program: Program) -> Stage:
    """Return ``stage`` without axes of one step, and with accesses to memory as to the matrices
    that are made of it.
    """
    ones: dict[Var, PrimExpr] = {axis.var: IntImm(0) for axis in stage.axes if axis.extent == IntImm(1)}
    stage = renamed(stage, [axis for axis in stage.axes if axis.var not in ones], ones)
    bounds = stage.bounds

    def place(buffer: Buffer, matrix: Buffer, indices: tuple[PrimExpr, ...]) -> tuple[PrimExpr, ...]:
        if buffer.shape == matrix.shape:
            return indices
        return unflatten(matrix, flat_index(buffer, indices, bounds), bounds)

    def rewrite(node: PrimExpr) -> PrimExpr | None:
        if isinstance(node, BufferLoad) and program.memory(node.buffer) in matrices:
            matrix = matrices[program.memory(node.buffer)]
            return BufferLoad(matrix, place(node.buffer, matrix, tuple(map_expr(i, rewrite) for i in node.indices)))
        return None

    changed = mapped(stage, rewrite)
    found = matrices.get(program.memory(stage.target))
    if found is None:
        return changed
    return replace(changed, target=found, indices=place(stage.target, found, changed.indices))


def _accesses(stage: Stage) -> list[tuple[Buffer, tuple[PrimExpr, ...]]]:
    read = [(load.buffer, load.indices) for expr in stage.expressions() for load in loads(expr)]
    return [*read, (stage.target, stage.indices)]


def _load_of(buffer: Buffer, stage: Stage) -> BufferLoad | None:
    """Return the load of ``buffer`` where a stage has one, as a factor, and no other."""
    found = [load for expr in stage.expressions() for load in loads(expr) if load.buffer is buffer]
    return found[0] if len(found) == 1 and found[0] in (_factors(stage) or ()) else None


def _factors(stage: Stage) -> tuple[BufferLoad, BufferLoad] | None:
    """Return the factors of a sum of products of two tensors."""
    reduction = stage.reduction
    if reduction is None or reduction.op != "+" or not isinstance(reduction.identity, FloatImm):
        return None
    match reduction.source:
        case Binary("*", BufferLoad() as a, BufferLoad() as b) if reduction.identity.value == 0.0:
            return (a, b) if a.dtype == b.dtype == reduction.result.dtype else None
    return None


def _variables(load: BufferLoad) -> set[Var]:
    return {var for index in load.indices for var in variables(index)}


def _named(rows: tuple[Var, ...], indices: tuple[PrimExpr, ...], axes: tuple[Axis, ...]) -> dict[Var, Var] | None:
    """Return what the rows' axes are called by a stage that accesses a matrix at ``indices``, all
    of its rows.
    """
    own = {axis.var: axis for axis in axes}
    found = {row: index for row, index in zip(rows, indices, strict=False) if isinstance(index, Var) and index in own}
    return found if len(found) == len(rows) and len(set(found.values())) == len(rows) else None


def _block_rows(block: Axis, scores: Buffer) -> int | None:
    """Return how many rows a block has, None where that is not known."""
    count, length = static(block.extent), static(scores.shape[-1])
    if count is None or length is None:
        return None
    row = length * bits(scores.dtype) // 8
    most = max(_LEAST_ROWS, min(_MOST_ROWS, _BLOCK_BYTES // row))
    # As even as they can be: the last block lies over the one before it where rows are left.
    return -(-count // -(-count // most))
