"""A tensor program as a list of stages: what the fusing and scheduling rules look at.

    stage ::= Stage(spatial axes, target[indices] = value)
            | Stage(spatial axes, reduced axes, result = op over source,
                    target[indices] = value of result)
            | Opaque(statement)
            | Rows(axes, stages)
            | Blocks(axes, stages and Rows)

A block that is one store over its own axes becomes a Stage; whatever else there is stays a
statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, Union

from relay2relax.tir.analysis import reshape
from relay2relax.tir.arith.simplify import Bounds, simplify
from relay2relax.tir.ir.expr import Binary, BinaryOp, Buffer, BufferLoad, IntImm, PrimExpr, Var, binary
from relay2relax.tir.ir.stmt import (
    Allocate,
    Block,
    BlockRealize,
    BufferStore,
    For,
    FuncOrigin,
    IterKind,
    PrimFunc,
    Seq,
    Stmt,
)
from relay2relax.tir.ir.visit import all_expressions, loads, map_expr, statements, substitute_stmt, variables

_REDUCTIONS = ("+", "*", "min", "max", "and", "or")


@dataclass(frozen=True, slots=True)
class Axis:
    """``var`` runs over ``[0, extent)``."""

    var: Var
    extent: PrimExpr


@dataclass(frozen=True, slots=True, eq=False)
class Reduction:
    """``result`` is ``source`` folded with ``op`` over ``axes``, from ``identity`` on."""

    axes: tuple[Axis, ...]
    op: BinaryOp
    identity: PrimExpr
    source: PrimExpr
    result: Var


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """One loop nest over ``axes`` that stores ``value`` at ``target[indices]``, each point a place
    of its own.
    """

    axes: tuple[Axis, ...]
    target: Buffer
    indices: tuple[PrimExpr, ...]
    value: PrimExpr
    reduction: Reduction | None = None
    # Found on first use: the passes ask again and again.
    _reads: list[frozenset[Buffer]] = field(default_factory=list, init=False, repr=False)

    @property
    def bounds(self) -> Bounds:
        """The range of every axis."""
        axes = (*self.axes, *(self.reduction.axes if self.reduction is not None else ()))
        return {axis.var: (0, binary("-", axis.extent, 1)) for axis in axes}

    def expressions(self) -> tuple[PrimExpr, ...]:
        """Return everything the stage evaluates."""
        if self.reduction is None:
            return (*self.indices, self.value)
        return (*self.indices, self.value, self.reduction.source, self.reduction.identity)

    def reads(self) -> frozenset[Buffer]:
        """Return the buffers the stage loads from."""
        if not self._reads:
            self._reads.append(frozenset(load.buffer for expr in self.expressions() for load in loads(expr)))
        return self._reads[0]

    def writes(self) -> frozenset[Buffer]:
        """Return the buffer the stage stores to."""
        return frozenset((self.target,))


@dataclass(frozen=True, slots=True, eq=False)
class Opaque:
    """A statement that is run as it is.

    ``anew`` on every call, even where it depends on constants alone.
    """

    stmt: Stmt
    anew: bool = False
    # Found on first use, as those of a stage: what is read, what is written.
    _accessed: list[frozenset[Buffer]] = field(default_factory=list, init=False, repr=False)

    def reads(self) -> frozenset[Buffer]:
        """Return the buffers the statement may load from: those it stores to are among them."""
        return self._found()[0]

    def writes(self) -> frozenset[Buffer]:
        """Return the buffers the statement stores to."""
        return self._found()[1]

    def _found(self) -> list[frozenset[Buffer]]:
        if not self._accessed:
            nodes = list(statements(self.stmt))
            own = frozenset(node.buffer for node in nodes if isinstance(node, Allocate))
            written = frozenset(node.buffer for node in nodes if isinstance(node, BufferStore))
            read = {load.buffer for expr in all_expressions(self.stmt) for load in loads(expr)}
            self._accessed.extend((written.union(read) - own, written - own))
        return self._accessed


AnyStage: TypeAlias = Union[Stage, Opaque]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Stages that run one after the other at every point of ``axes``, which all of them have, first
    among their own.

    Buffers of scope ``local`` hold what one point leaves for the stages behind.
    """

    axes: tuple[Axis, ...]
    stages: tuple[Stage, ...]

    def reads(self) -> frozenset[Buffer]:
        """Return the buffers in memory that the stages load from."""
        return frozenset(b for stage in self.stages for b in stage.reads() if b.scope != "local")

    def writes(self) -> frozenset[Buffer]:
        """Return the buffers in memory that the stages store to."""
        return frozenset(b for stage in self.stages for b in stage.writes() if b.scope != "local")


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Products of matrices, and what happens to their rows, at every point of ``axes``: one block
    of rows at a time.

    All members have the axes, first among their own. Buffers of scope ``local`` hold what one point
    leaves for the members behind.
    """

    axes: tuple[Axis, ...]
    members: tuple[Stage | Rows, ...]

    def stages(self) -> tuple[Stage, ...]:
        """Return the stages of all members, in order."""
        return tuple(s for member in self.members for s in (member.stages if isinstance(member, Rows) else (member,)))

    def shared(self) -> frozenset[Buffer]:
        """Return the local buffers by which members hand on what they compute."""
        read = {b for member in self.members if isinstance(member, Stage) for b in member.reads() | member.writes()}
        return frozenset(b for b in read if b.scope == "local")

    def reads(self) -> frozenset[Buffer]:
        """Return the buffers in memory that the members load from."""
        return frozenset(b for stage in self.stages() for b in stage.reads() if b.scope != "local")

    def writes(self) -> frozenset[Buffer]:
        """Return the buffers in memory that the members store to."""
        return frozenset(b for stage in self.stages() for b in stage.writes() if b.scope != "local")


# What a program is made of in the end.
Part: TypeAlias = Union[Stage, Opaque, Rows, Blocks]


@dataclass(frozen=True, slots=True)
class Program:
    """Stages in order; ``views`` are buffers that are another buffer's memory in another shape.

    ``known`` are the buffers whose content depends on constants alone.
    """

    stages: tuple[Part, ...]
    views: Mapping[Buffer, Buffer]
    known: frozenset[Buffer] = frozenset()

    def memory(self, buffer: Buffer) -> Buffer:
        """Return the buffer whose memory ``buffer`` is."""
        while buffer in self.views:
            buffer = self.views[buffer]
        return buffer


@dataclass(frozen=True, slots=True, eq=False)
class Calls(FuncOrigin):
    """The body of a PrimFunc is that of several: ``owners`` says which of them writes a buffer.

    ``settled`` are what those write whose accesses numbers prove (``proved_by_numbers``).
    """

    owners: Mapping[Buffer, str]
    settled: frozenset[Buffer] = frozenset()


def owners_of(func: PrimFunc) -> Mapping[Buffer, str]:
    """Return which functions write buffers of ``func``; nothing where it is a single one."""
    return func.origin.owners if isinstance(func.origin, Calls) else {}


def settled_of(func: PrimFunc) -> frozenset[Buffer]:
    """Return buffers of ``func`` that only statements write whose accesses are proved."""
    return func.origin.settled if isinstance(func.origin, Calls) else frozenset()


def stages_of(func: PrimFunc) -> list[AnyStage]:
    """Return the stages of ``func`` in order."""
    # Temporaries of the whole function lie in one memory, whichever a script asks for.
    elsewhere = {buffer: replace(buffer, scope="global") for buffer in func.root_buffers if buffer.scope != "global"}
    if elsewhere:
        temporaries = tuple(elsewhere.get(buffer, buffer) for buffer in func.root_buffers)
        func = replace(func, body=substitute_stmt(func.body, {}, elsewhere), root_buffers=temporaries)
    body = func.body
    found: list[AnyStage] = []
    for stmt in body.stmts if isinstance(body, Seq) else (body,):
        stage = _stage(stmt)
        found.append(stage if stage is not None else _opaque(func, stmt))
    return found


def _opaque(func: PrimFunc, stmt: Stmt) -> Opaque:
    # Few programs come with schedules of their own: most builds need nothing of these modules.
    from relay2relax.tir.schedule.private import lowered_stage

    return Opaque(lowered_stage(func, stmt))


def _stage(stmt: Stmt) -> Stage | None:
    loops: list[Axis] = []
    while isinstance(stmt, For):
        loops.append(Axis(stmt.var, stmt.extent))
        stmt = stmt.body
    if not isinstance(stmt, BlockRealize) or stmt.predicate is not None:
        return None
    block, values = stmt.block, stmt.values
    if not loops and len(values) == 1 and values[0] == IntImm(0) and block.iter_vars[0].extent == IntImm(1):
        # An axis of one point, which a block has that would have none.
        place = {block.iter_vars[0].var: values[0]}
        block, values = replace(block, iter_vars=(), body=substitute_stmt(block.body, place)), ()
    # Every block axis is one loop of the same extent: a scheduled nest stays as it was scheduled.
    if len(loops) != len(values) or any(loop.var is not v for loop, v in zip(loops, values, strict=True)):
        return None
    if any(loop.extent != a.extent for loop, a in zip(loops, block.iter_vars, strict=True)):
        return None
    return _from_block(block)


def _from_block(block: Block) -> Stage | None:
    body = block.body
    if not isinstance(body, BufferStore) or block.alloc_buffers:
        return None
    axes = tuple(Axis(a.var, a.extent) for a in block.iter_vars if a.kind is IterKind.SPATIAL)
    reduced = tuple(Axis(a.var, a.extent) for a in block.iter_vars if a.kind is IterKind.REDUCE)
    if not reduced:
        if block.init is not None or any(load.buffer is body.buffer for load in loads(body.value)):
            return None
        return Stage(axes, body.buffer, body.indices, body.value)
    if not isinstance(block.init, BufferStore) or not isinstance(body.value, Binary):
        return None
    inner = {axis.var for axis in reduced}
    if any(inner & set(variables(part)) for part in (*body.indices, block.init.value)):
        # The points of the reduction do not share a place.
        return None
    own = BufferLoad(body.buffer, body.indices)
    op, a, b = body.value.op, body.value.a, body.value.b
    if op not in _REDUCTIONS or own not in (a, b):
        return None
    source = b if a == own else a
    if any(load.buffer is body.buffer for load in loads(source)):
        return None
    result = Var("result", source.dtype)
    reduction = Reduction(reduced, op, block.init.value, source, result)
    return Stage(axes, body.buffer, body.indices, result, reduction)


def flat_index(buffer: Buffer, indices: Sequence[PrimExpr], bounds: Bounds | None = None) -> PrimExpr:
    """Return the row-major position of ``indices`` in ``buffer``, in canonical form."""
    return simplify(reshape.flat_index(buffer, indices), bounds)


def unflatten(buffer: Buffer, position: PrimExpr, bounds: Bounds) -> tuple[PrimExpr, ...]:
    """Return the indices of the element of ``buffer`` at a row-major position."""
    indices: list[PrimExpr] = []
    for extent in reversed(buffer.shape[1:]):
        indices.append(simplify(binary("%", position, extent), bounds))
        position = simplify(binary("//", position, extent), bounds)
    if buffer.shape:
        indices.append(position)
    return tuple(reversed(indices))


def points(axes: Iterable[Axis]) -> PrimExpr:
    """Return the number of points of the axes' product."""
    count: PrimExpr = IntImm(1)
    for axis in axes:
        count = binary("*", count, axis.extent)
    return simplify(count)


def tidy(expr: PrimExpr, bounds: Bounds) -> PrimExpr:
    """Return ``expr`` with the indices of its loads, and its conditions, in canonical form."""

    def rewrite(node: PrimExpr) -> PrimExpr | None:
        if isinstance(node, BufferLoad):
            return BufferLoad(node.buffer, tuple(simplify(map_expr(i, rewrite), bounds) for i in node.indices))
        if isinstance(node, Binary) and node.dtype in ("bool", "int64") and not loads(node):
            return simplify(node, bounds)
        return None

    return map_expr(expr, rewrite)


def mapped(stage: Stage, rewrite: Callable[[PrimExpr], PrimExpr | None]) -> Stage:
    """Return ``stage`` with its expressions rewritten."""
    reduction = stage.reduction
    if reduction is not None:
        reduction = replace(reduction, source=map_expr(reduction.source, rewrite))
    value = map_expr(stage.value, rewrite)
    indices = tuple(map_expr(index, rewrite) for index in stage.indices)
    return replace(stage, value=value, indices=indices, reduction=reduction)


def renamed(stage: Stage, axes: Sequence[Axis], values: Mapping[Var, PrimExpr]) -> Stage:
    """Return ``stage`` over ``axes``, with ``values`` for the axes that are no more."""
    bounds = replace(stage, axes=tuple(axes)).bounds
    changed = mapped(stage, lambda node: values.get(node) if isinstance(node, Var) else None)
    reduction = changed.reduction
    if reduction is not None:
        reduction = replace(reduction, source=tidy(reduction.source, bounds))
    indices = tuple(simplify(index, bounds) for index in changed.indices)
    return Stage(tuple(axes), changed.target, indices, tidy(changed.value, bounds), reduction)


def with_digits(stage: Stage, indices: Sequence[PrimExpr]) -> Stage:
    """Return ``stage`` with an axis of which quotient and remainder stand among ``indices`` as two
    axes.

    So ``heads * batch`` rows of a product are ``heads`` rows of each of the ``batch`` where
    somebody wants those.
    """
    values: dict[Var, PrimExpr] = {}
    axes: list[Axis] = []
    for axis in stage.axes:
        counts = [i.b for i in indices if isinstance(i, Binary) and i.op == "%" and i.a is axis.var]
        parts = [axis]
        if counts and binary("//", axis.var, counts[0]) in indices:
            quotient = simplify(binary("//", axis.extent, counts[0]))
            if simplify(binary("*", quotient, counts[0])) == simplify(axis.extent):
                parts = [Axis(Var(axis.var.name), quotient), Axis(Var(axis.var.name), counts[0])]
                values[axis.var] = binary("+", binary("*", parts[0].var, counts[0]), parts[1].var)
        axes += parts
    return renamed(stage, axes, values) if values else stage
