"""PrimFuncs on numpy: every block is evaluated over whole axes at a time.

A nest of loops around one block becomes a grid of the block's axes. Spatial axes are array axes; a
reduction is one numpy reduction over its axes, a sum of products one ``einsum`` over strided views.
What is not such a nest (statements of extern tensors, parts of scheduled functions) is interpreted
loop by loop, with whatever nests it contains evaluated as grids. Memory for temporaries is bounded
by cutting large grids into pieces.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relay2relax.backends.numpy.binding import bind_call, check_apart, read_only
from relay2relax.backends.numpy.expr import Axis, Grid, strided
from relay2relax.backends.numpy.intrinsics import BINARY, REDUCE
from relay2relax.backends.numpy.threads.launch import run_kernels
from relay2relax.backends.runtime.extern_calls import outside_statements
from relay2relax.core.arrays import empty
from relay2relax.core.dtype import Array, numpy_dtype
from relay2relax.core.errors import ExecutionError, LimitError
from relay2relax.core.errors.table import running
from relay2relax.core.limits import active
from relay2relax.ops.math.reduce import extreme
from relay2relax.tir.analysis.relations import negative_extent
from relay2relax.tir.arith.evaluate import integer
from relay2relax.tir.ir.expr import Binary, Buffer, BufferLoad, Call, PrimExpr, StringImm, Var, conjuncts
from relay2relax.tir.ir.stmt import (
    Allocate,
    Assert,
    Block,
    BlockRealize,
    BufferStore,
    Evaluate,
    For,
    If,
    IterKind,
    Let,
    PrimFunc,
    Seq,
    Stmt,
    While,
)
from relay2relax.tir.ir.visit import all_expressions, loads, statements, subexpressions, variables, written_buffers
from relay2relax.tir.normalize.executable_form import executable_form
from relay2relax.tir.normalize.kernels import has_kernels

# Elements of the largest temporary of one step: 64 MB of float32.
_MOST_ELEMENTS = 1 << 24


def evaluate_prim_func(
    func: PrimFunc, inputs: Sequence[Array], outputs: Sequence[Array], scalars: Sequence[int] = ()
) -> Any:
    """Run ``func`` on ``inputs``, write its results into ``outputs``, and return the scalar that it
    returns, if any.

    Symbolic extents take their values from the arrays' shapes; ``scalars`` are the values of scalar
    parameters, in order. Raises ExecutionError where an array does not fit its parameter or is
    read-only and written to, an index leaves its buffer, or nobody registered a function that
    ``func`` calls by name. Kernels whose threads wait for each other are run as on a GPU
    (``threads/``).
    """
    arrays = [*inputs, *outputs]
    if has_kernels(func):
        run_kernels(func, arrays, scalars)
        return None
    func = executable_form(func)
    scope: dict[Var, Any] = dict(bind_call(func, arrays, scalars))
    buffers = dict(zip(func.buffers, arrays, strict=True))
    locked = {buffer: number for number, buffer in enumerate(func.buffers) if not arrays[number].flags.writeable}
    if locked:
        for stmt in statements(func.body):
            if isinstance(stmt, BufferStore) and stmt.buffer in locked:
                raise read_only(func, locked[stmt.buffer])
    written = written_buffers(func.body)
    check_apart(func, arrays, [number for number, buffer in enumerate(func.buffers) if buffer in written])
    frame = _Frame(func, buffers, scope, outside_statements(func))
    for buffer in func.root_buffers:
        frame.allocate(buffer)
    with np.errstate(all="ignore"):
        try:
            frame.run(func.body)
        except _Return as end:
            return end.value
    return None


@dataclass(frozen=True, slots=True)
class _Nest:
    """A block, or a bare store, over the axes of a grid.

    ``fresh`` says that the reduction starts here.
    """

    axes: tuple[Axis, ...]
    reduced: frozenset[Var]
    body: Stmt
    init: Stmt | None
    fresh: bool


class _Break(Exception):
    """The loop around this place ends."""


class _Continue(Exception):
    """The next step of the loop around this place begins."""


class _Return(Exception):
    """The function ends with ``value``."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.value = value


class _Frame:
    """The buffers and scalar variables of a running function.

    What calls functions by name is run ``stepwise``.
    """

    def __init__(
        self, func: PrimFunc, buffers: dict[Buffer, Array], scope: dict[Var, Any], stepwise: frozenset[Stmt]
    ) -> None:
        self.func = func
        self.buffers = buffers
        self.scope = scope
        self.stepwise = stepwise
        self.budget = active()

    def allocate(self, buffer: Buffer) -> None:
        """Give ``buffer`` memory of its own: zeros, so that nothing is seen of what was there."""
        shape = tuple(integer(extent, self.scope) for extent in buffer.shape)
        for dimension, extent in enumerate(shape):
            if extent < 0:
                problem = negative_extent(buffer.name, dimension, extent)
                raise ExecutionError(f"{self.func.name}: {problem}", kind=running.EXTENTS)
        dtype = numpy_dtype(buffer.dtype)
        self.buffers[buffer] = empty(shape, dtype, lambda: f"the buffer {buffer.name!r}", zeros=True)

    def step(self, stmt: Stmt) -> None:
        """Count a step; a limit that is reached is shown with the statement."""
        if self.budget is not None:
            try:
                self.budget.step()
            except LimitError as reached:
                raise reached.located(None, None, f"in {self.func.name}, at {_shown(self.func, stmt)}") from None

    def grid(self, axes: Sequence[Axis] = ()) -> Grid:
        """Return what evaluates expressions over ``axes`` at this point of the program."""
        return Grid(self.func.name, self.buffers, self.scope, axes)

    def address(self, expr: PrimExpr) -> Array:
        """Return the memory that begins where ``expr`` says, as an array of one dimension."""
        found = self.grid().argument(expr)
        if not isinstance(found, np.ndarray):
            raise ExecutionError("a buffer lies at an address that is not known here")
        return found.reshape(-1)

    def view(self, buffer: Buffer, memory: Array) -> Array:
        """Return ``buffer`` within ``memory``."""
        shape = tuple(int(self.scalar(extent)) for extent in buffer.shape)
        begin = 0 if buffer.offset is None else int(self.scalar(buffer.offset))
        steps = [int(self.scalar(step)) for step in buffer.strides]
        steps = steps or [math.prod(shape[place + 1 :]) for place in range(len(shape))]
        return strided(memory.view(numpy_dtype(buffer.dtype)), begin, shape, steps, f"{self.func.name}: {buffer.name}")

    def scalar(self, expr: PrimExpr) -> Any:
        """Return the value of ``expr`` at this point of the program."""
        value = self.grid().evaluate(expr)
        return value.item() if isinstance(value, (np.ndarray, np.generic)) else value

    def run(self, stmt: Stmt) -> None:
        """Run one statement."""
        match stmt:
            case Seq(stmts):
                for part in stmts:
                    self.run(part)
            case For():
                self.loop(stmt)
            case BlockRealize():
                nest = self.nest(stmt)
                if nest is not None:
                    self.vectorised(nest)
                else:
                    self.block(stmt)
            case BufferStore(buffer, indices, value):
                grid = self.grid()
                stored = grid.evaluate(value)
                self.buffers[buffer][grid.positions(buffer, indices)] = stored
            case Let(var, value, body):
                self.scope[var] = self.scalar(value)
                self.run(body)
            case If(condition, then, otherwise):
                if self.scalar(condition):
                    self.run(then)
                elif otherwise is not None:
                    self.run(otherwise)
            case While(condition, body):
                while self.scalar(condition) and self.once(body):
                    self.step(stmt)
            case Allocate(buffer, body, of):
                if of is None:
                    self.allocate(buffer)
                else:
                    memory = self.buffers[of].reshape(-1) if isinstance(of, Buffer) else self.address(of)
                    self.buffers[buffer] = self.view(buffer, memory)
                self.run(body)
            case Assert(condition, message, kind):
                if not self.scalar(condition):
                    text = "".join(part.value for part in message if isinstance(part, StringImm))
                    raise ExecutionError(f"{kind}: {text}", kind=running.ASSERTION)
            case Evaluate(Call("break_loop")):
                raise _Break
            case Evaluate(Call("continue_loop")):
                raise _Continue
            case Evaluate(Call("ret", (value,))):
                raise _Return(self.scalar(value))
            case Evaluate(value):
                self.scalar(value)

    def loop(self, stmt: For) -> None:
        """Run a loop: at once where it is a nest around one block, else step by step."""
        nest = self.nest(stmt)
        if nest is not None:
            self.vectorised(nest)
            return
        for step in range(int(self.scalar(stmt.extent))):
            self.scope[stmt.var] = step
            self.step(stmt)
            if not self.once(stmt.body):
                return

    def once(self, body: Stmt) -> bool:
        """Run the body of a loop once; return whether the loop goes on."""
        try:
            self.run(body)
        except _Continue:
            return True
        except _Break:
            return False
        return True

    def block(self, stmt: BlockRealize) -> None:
        """Run a block at one point of its axes."""
        if stmt.predicate is not None and not self.scalar(stmt.predicate):
            return
        block = stmt.block
        start = True
        for axis, value in zip(block.iter_vars, stmt.values, strict=True):
            self.scope[axis.var] = int(self.scalar(value))
            start = start and (axis.kind is IterKind.SPATIAL or self.scope[axis.var] == 0)
        for buffer in block.alloc_buffers:
            self.allocate(buffer)
        if block.init is not None and start:
            self.run(block.init)
        self.run(block.body)

    # Recognising nests

    def nest(self, stmt: Stmt) -> _Nest | None:
        """Return the grid that the loops of ``stmt`` describe, or None where they are no such
        nest.
        """
        if stmt in self.stepwise:
            return None
        loops: list[Axis] = []
        while isinstance(stmt, For):
            if any(axis.var in subexpressions(stmt.extent) for axis in loops):
                return None
            loops.append(Axis(stmt.var, 0, int(self.scalar(stmt.extent))))
            stmt = stmt.body
        begins = isinstance(stmt, BlockRealize) and stmt.block.init is not None
        if not begins and any(loop.extent <= 0 for loop in loops):
            # Nothing runs, however many steps the loops around take. A reduction of nothing begins.
            return _Nest((Axis(loops[0].var, 0, 0),), frozenset(), stmt, None, True)
        if isinstance(stmt, BufferStore):
            return self.bare(loops, stmt)
        if not isinstance(stmt, BlockRealize) or not _is_simple(stmt.block):
            return None
        block = stmt.block
        if loops and not block.iter_vars:
            # Such a block speaks of the loops themselves.
            if stmt.predicate is None and block.init is None and isinstance(block.body, BufferStore):
                return self.bare(loops, block.body)
            return None
        axes = self.direct(loops, stmt) or self.covered(loops, stmt)
        if axes is None:
            return None
        reduced = frozenset(a.var for a in block.iter_vars if a.kind is IterKind.REDUCE)
        if block.init is not None and any(reduced & set(variables(one)) for one in all_expressions(block.init)):
            # What there is to begin with depends on where the reduction is: only the points in
            # order tell.
            return None
        fresh = all(axis.begin == 0 for axis in axes if axis.var in reduced)
        return _Nest(axes, reduced, block.body, block.init, fresh)

    def bare(self, loops: list[Axis], store: BufferStore) -> _Nest | None:
        """Return the grid of loops around a store in which each point writes and reads a place of
        its own.
        """
        for load in loads(store.value):
            if load.buffer is store.buffer and load.indices != store.indices:
                return None
        for index in store.indices:
            if store.buffer in {load.buffer for load in loads(index)}:
                return None
        grid = self.grid(loops)
        if not loops or grid.view(store.buffer, store.indices, writable=True) is None:
            return None
        if not _distinct(grid, store.indices):
            return None
        return _Nest(tuple(loops), frozenset(), store, None, True)

    def direct(self, loops: list[Axis], stmt: BlockRealize) -> tuple[Axis, ...] | None:
        """Return the axes where every block axis is one loop of its own plus a constant."""
        if stmt.predicate is not None:
            return None
        grid = self.grid(loops)
        free = {axis.var: axis for axis in loops}
        axes = []
        for axis, value in zip(stmt.block.iter_vars, stmt.values, strict=True):
            form = grid.affine(value)
            if form is None:
                return None
            moving = [var for var, factor in form.items() if var is not None and factor]
            if not moving:
                axes.append(Axis(axis.var, form[None], 1))
                continue
            if len(moving) > 1 or moving[0] not in free or form[moving[0]] != 1:
                return None
            assert moving[0] is not None
            axes.append(Axis(axis.var, form[None], free.pop(moving[0]).extent))
        return tuple(axes) if all(axis.extent == 1 for axis in free.values()) else None

    def covered(self, loops: list[Axis], stmt: BlockRealize) -> tuple[Axis, ...] | None:
        """Return the block's own axes where the loops visit each of its points exactly once.

        Split and fused loops do; whether they do is counted, for each group of axes that share
        loops.
        """
        grid = self.grid(loops)
        values = [*stmt.values, *conjuncts(stmt.predicate)]
        groups: list[tuple[set[int], list[int]]] = []
        for number, value in enumerate(values):
            if any(isinstance(node, BufferLoad) for node in subexpressions(value)):
                return None
            merged, members = set(grid.depends(value)), [number]
            for group in [g for g in groups if g[0] & merged]:
                groups.remove(group)
                merged |= group[0]
                members = group[1] + members
            groups.append((merged, members))
        if len({p for positions, _ in groups for p in positions}) != sum(a.extent != 1 for a in loops):
            return None
        extents = [int(self.scalar(axis.extent)) for axis in stmt.block.iter_vars]
        for positions, members in groups:
            points = math.prod(loops[p].extent for p in positions)
            axes = [n for n in members if n < len(extents)]
            domain = math.prod(extents[n] for n in axes)
            if points > _MOST_ELEMENTS or not axes:
                return None
            part = self.grid([loops[p] for p in sorted(positions)])
            code = np.zeros(part.shape, np.int64)
            valid = np.ones(part.shape, np.bool_)
            for number in members:
                found = part.evaluate(values[number])
                if number >= len(extents):
                    valid &= found
                    continue
                code = code * extents[number] + found
                valid &= (found >= 0) & (found < extents[number])
            # A point outside the domain that no predicate excludes would be an illegal schedule.
            visited = code[valid]
            if visited.size != domain or np.unique(visited).size != domain:
                return None
        return tuple(Axis(a.var, 0, e) for a, e in zip(stmt.block.iter_vars, extents, strict=True))

    # Evaluating nests

    def vectorised(self, nest: _Nest) -> None:
        """Evaluate a nest, in pieces where it is large."""
        if any(axis.extent == 0 for axis in nest.axes if axis.var not in nest.reduced):
            return
        if any(axis.extent == 0 for axis in nest.axes):
            if nest.init is not None and nest.fresh:
                self.spatial(replace(nest, body=nest.init, init=None))
            return
        if not nest.reduced:
            for piece in _pieces(nest.axes, [a.var for a in nest.axes], _size):
                self.step(nest.body)
                self.store_all(nest.body, self.grid(piece))
            return
        source = _accumulation(nest.body)
        if source is None:
            self.sequential(nest)
            return
        op, buffer, indices, value = source
        factors = _factors(value) if op == "+" else [value]
        order = [a.var for a in nest.axes if a.var not in nest.reduced]
        order += [a.var for a in nest.axes if a.var in nest.reduced]

        def cost(axes: Sequence[Axis]) -> int:
            grid = self.grid(axes)
            if len(factors) == 1:
                return _size(axes)
            return max(math.prod(axes[p].extent for p in grid.depends(f)) for f in factors)

        for piece in _pieces(nest.axes, order, cost):
            self.step(nest.body)
            self.accumulate(nest, piece, op, buffer, indices, factors)

    def spatial(self, nest: _Nest) -> None:
        """Run a nest's body over its spatial axes only."""
        axes = [axis for axis in nest.axes if axis.var not in nest.reduced]
        self.store_all(nest.body, self.grid(axes))

    def sequential(self, nest: _Nest) -> None:
        """Run a reduction that numpy has no function for: step by step along its axes, at once
        along the others.
        """
        if nest.init is not None and nest.fresh:
            self.spatial(replace(nest, body=nest.init))
        reduced = [axis for axis in nest.axes if axis.var in nest.reduced]
        for point in np.ndindex(*(axis.extent for axis in reduced)):
            self.step(nest.body)
            for axis, offset in zip(reduced, point, strict=True):
                self.scope[axis.var] = axis.begin + offset
            self.spatial(nest)

    def store_all(self, stmt: Stmt, grid: Grid) -> None:
        """Run stores, and lets around them, at all points of ``grid``."""
        match stmt:
            case Seq(stmts):
                for part in stmts:
                    self.store_all(part, grid)
            case Let(var, value, body):
                found = np.asarray(grid.evaluate(value))
                # A view would change under a later store.
                grid.arrays[var] = np.array(found).reshape(found.shape or (1,) * len(grid.axes))
                self.store_all(body, grid)
            case BufferStore(buffer, indices, value):
                _assign(grid, buffer, indices, grid.evaluate(value))
            case _:
                raise ExecutionError(f"a block's body holds {type(stmt).__name__}, which is not a store")

    def accumulate(
        self,
        nest: _Nest,
        piece: Sequence[Axis],
        op: str,
        buffer: Buffer,
        indices: tuple[PrimExpr, ...],
        factors: list[PrimExpr],
    ) -> None:
        """Reduce over the reduction axes of ``piece`` and combine with what is there."""
        grid = self.grid(piece)
        kept = [d for d, axis in enumerate(piece) if axis.var not in nest.reduced]
        folded = [d for d, axis in enumerate(piece) if axis.var in nest.reduced]
        spatial = self.grid([piece[d] for d in kept])
        first = nest.fresh and all(piece[d].begin == 0 for d in folded)
        if first and nest.init is not None:
            self.store_all(nest.init, spatial)
        value = _reduce(grid, op, factors, kept, folded)
        current = spatial.load(buffer, indices)
        _assign(spatial, buffer, indices, BINARY[op](current, value))


def _reduce(grid: Grid, op: str, factors: list[PrimExpr], kept: list[int], folded: list[int]) -> Any:
    values = [np.asarray(grid.evaluate(factor)) for factor in factors]
    dtype = values[0].dtype
    rank = len(grid.axes)
    values = [v if v.ndim == rank else v.reshape((1,) * rank) for v in values]
    if op == "+" and len(values) > 1:
        moving = {d for v in values for d, n in enumerate(v.shape) if n > 1}
        operands: list[Any] = []
        for value in values:
            used = [d for d, n in enumerate(value.shape) if n > 1]
            operands += [value[tuple(slice(None) if n > 1 else 0 for n in value.shape)], used]
        result = np.einsum(*operands, [d for d in kept if d in moving], optimize=True)
        # Axes that no factor depends on repeat the sum.
        still = math.prod(grid.shape[d] for d in folded if d not in moving)
        if still != 1:
            result = result * dtype.type(still)
        return np.asarray(result, dtype).reshape([grid.shape[d] if d in moving else 1 for d in kept])
    full = np.broadcast_to(
        values[0],
        [n if d in folded else v for d, (n, v) in enumerate(zip(grid.shape, values[0].shape, strict=True))],
    )
    function, axes = REDUCE[op], tuple(folded)
    reduced = extreme(function, full, axes) if op in ("min", "max") else function.reduce(full, axis=axes)
    return np.asarray(reduced).astype(dtype, copy=False)


def _assign(grid: Grid, buffer: Buffer, indices: Sequence[PrimExpr], value: Any) -> None:
    if not grid.axes:
        grid.buffers[buffer][grid.positions(buffer, indices)] = value
        return
    target = grid.view(buffer, indices, writable=True)
    if target is not None:
        target[...] = value
        return
    positions = grid.positions(buffer, indices)
    shape = np.broadcast_shapes(*(np.shape(p) for p in positions))
    grid.buffers[buffer][positions] = np.broadcast_to(value, np.broadcast_shapes(shape, np.shape(value)))


def _shown(func: PrimFunc, stmt: Stmt) -> str:
    """Return what messages call a statement of ``func``."""
    match stmt:
        case While():
            from relay2relax.tir.script.printer import print_prim_func

            loops = [one for one in statements(func.body) if isinstance(one, While)]
            lines = [line.strip() for line in print_prim_func(func) if line.strip().startswith("while ")]
            return f"`{dict(zip(loops, lines, strict=False)).get(stmt, 'while')}`"
        case For(var):
            return f"the loop over `{var.name}`"
        case BufferStore(buffer):
            return f"a store to `{buffer.name}`"
    return f"a statement {type(stmt).__name__}"


def _is_simple(block: Block) -> bool:
    """Whether a block consists of stores and lets only, and can so be evaluated on a grid."""
    parts = [block.body] if block.init is None else [block.body, block.init]
    return not block.alloc_buffers and all(
        isinstance(node, (BufferStore, Let, Seq)) for part in parts for node in statements(part)
    )


def _distinct(grid: Grid, indices: Sequence[PrimExpr]) -> bool:
    """Whether distinct points of ``grid`` surely have distinct indices.

    They have where each index moves with loops of its own, and among those, a step of one passes
    all steps of the shorter ones, as in a number's digits.
    """
    moved: set[Var] = set()
    for index in indices:
        form = grid.affine(index)
        if form is None:
            return False
        steps = [(abs(factor), axis) for axis in grid.axes if (factor := form.get(axis.var, 0))]
        if any(axis.var in moved for _, axis in steps):
            return False
        moved.update(axis.var for _, axis in steps)
        reach = 0
        for step, axis in sorted(steps, key=lambda one: (one[0], one[1].extent)):
            if axis.extent > 1 and step <= reach:
                return False
            reach += step * (axis.extent - 1)
    return True


def _accumulation(body: Stmt) -> tuple[str, Buffer, tuple[PrimExpr, ...], PrimExpr] | None:
    """Return (operation, buffer, indices, source) of ``buffer[indices] = buffer[indices] op
    source``.
    """
    if not isinstance(body, BufferStore):
        return None
    match body.value:
        case Binary(op, BufferLoad(buffer, indices), source) | Binary(op, source, BufferLoad(buffer, indices)):
            own = buffer is body.buffer and indices == body.indices
            if own and op in REDUCE and all(load.buffer is not buffer for load in loads(source)):
                return op, buffer, indices, source
    return None


def _factors(value: PrimExpr) -> list[PrimExpr]:
    if isinstance(value, Binary) and value.op == "*":
        return [*_factors(value.a), *_factors(value.b)]
    return [value]


def _size(axes: Sequence[Axis]) -> int:
    return math.prod(axis.extent for axis in axes)


def _pieces(axes: Sequence[Axis], order: Sequence[Var], cost: Any) -> Iterator[tuple[Axis, ...]]:
    """Yield parts of the grid whose cost is bounded, cut along the first axes of ``order``
    first.
    """
    if cost(axes) <= _MOST_ELEMENTS:
        yield tuple(axes)
        return
    for var in order:
        position = next(d for d, axis in enumerate(axes) if axis.var is var)
        axis = axes[position]
        if axis.extent < 2:
            continue
        half = axis.extent // 2
        first = [*axes[:position], replace(axis, extent=half), *axes[position + 1 :]]
        if cost(first) == cost(axes):
            continue
        second = [
            *axes[:position],
            replace(axis, begin=axis.begin + half, extent=axis.extent - half),
            *axes[position + 1 :],
        ]
        yield from _pieces(first, order, cost)
        yield from _pieces(second, order, cost)
        return
    yield tuple(axes)
