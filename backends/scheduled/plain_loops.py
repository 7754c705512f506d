"""Scheduled loops in the words that TVMScript has, and few of them.

Registers are local memory, sums over the lanes of a vector are written out, vectors are short,
parallel loops around each other are one, every loop has a variable of its own, and what is known to
run once is no loop. Where all extents are known, loops count in int32, as TVM's own do: TVM's
reader takes a moment for every word, and ``T.int64(…)`` is three.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from relay2relax.backends.c.access import FENCE, PREFETCH
from relay2relax.backends.c.schedule.schedule import Schedule
from relay2relax.tir.analysis.reshape import flat_index, size
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import (
    COMPARISONS,
    Binary,
    BinaryOp,
    Buffer,
    BufferData,
    BufferLoad,
    Call,
    Cast,
    IntImm,
    PrimExpr,
    Var,
    binary,
    cast,
)
from relay2relax.tir.ir.stmt import Allocate, BufferStore, Evaluate, For, LoopKind, Seq, Stmt
from relay2relax.tir.ir.visit import all_expressions, map_expr, map_parts, rebuild, subexpressions, substitute_stmt
from relay2relax.tir.normalize.fragments import FRAGMENT_CALLS

# Loops of more than twice as many steps become vectors of this many elements.
_VECTOR = 16
# Positions in tensors of up to so many elements are counted in int32, and so are the steps between.
_MOST_ELEMENTS = 1 << 30
_ACROSS: Mapping[str, BinaryOp] = {"vector_sum": "+", "vector_min": "min", "vector_max": "max"}
_SCALAR = frozenset({"cosh", "sinh"})
# Calls whose integers are places, and count as loops do.
_PLACES = FRAGMENT_CALLS | {"tvm_access_ptr"}
_ARITHMETIC = frozenset({"+", "-", "*", "//", "%", "min", "max"})


def plain_loops(stmts: Sequence[Stmt], plan: Schedule, buffers: Iterable[Buffer], once: bool = False) -> Stmt:
    """Return ``stmts`` of ``plan`` in plain words.

    What is run ``once`` is not cut into vectors: numpy then does whole tensors at a time.

    Tensors that the schedule sees in other shapes are accessed through flat views, which are
    declared around all. ``buffers`` are the tensors that are read and written: they decide how
    loops count.
    """
    sizes = [static(size(buffer)) for buffer in buffers]
    writer = _Writer(plan, short=all(one is not None and one <= _MOST_ELEMENTS for one in sizes), once=once)
    body = writer.stmt(Seq(tuple(stmts)), {}, parallel=True)
    for memory, view in writer.flat.items():
        body = Allocate(view, body, memory)
    return body


class _Writer:
    """Rewrites statements; ``values`` are what the variables of the loops around have become.

    ``flat`` are the views that are in use, by the buffers whose memory they are; ``renamed`` what
    has become of the schedule's own buffers.
    """

    def __init__(self, plan: Schedule, short: bool, once: bool) -> None:
        self.plan = plan
        self.short = short
        self.once = once
        self.flat: dict[Buffer, Buffer] = {}
        self.renamed: dict[Buffer, Buffer] = {}

    def stmt(self, stmt: Stmt, values: Mapping[Var, PrimExpr], parallel: bool) -> Stmt:
        """Return a statement in plain words; ``parallel`` where a loop may be so."""
        match stmt:
            case Seq(stmts):
                return _sequence(self.stmt(one, values, parallel) for one in stmts)
            case For():
                return self.loop(stmt, values, parallel)
            case BufferStore(buffer, indices, value):
                target, place = self.place(buffer, indices, values)
                return BufferStore(target, place, self.expr(value, values))
            case Evaluate(Call(name)) if name in (FENCE, PREFETCH):
                return Seq(())
            case Allocate(buffer, body, None):
                own = self.renamed[buffer] = self.own(buffer)
                inner = self.stmt(body, values, parallel)
                # What is accessed as a flat view only is flat from the beginning.
                return Allocate(self.flat.pop(buffer, own), inner)
            case Allocate(buffer, body, Buffer() as of):
                return Allocate(buffer, self.stmt(body, values, parallel), self.memory(of))
        return map_parts(stmt, lambda one: self.stmt(one, values, parallel), lambda expr: self.expr(expr, values))

    def own(self, buffer: Buffer) -> Buffer:
        """Return what a buffer of the schedule's own is in a script."""
        scope = "local" if buffer.scope == "register" else buffer.scope
        return replace(buffer, shape=tuple(map(self.count, buffer.shape)), scope=scope)

    def memory(self, buffer: Buffer) -> Buffer:
        """Return the buffer through which ``buffer`` is accessed: a flat view where it is part of
        another one.
        """
        memory = self.plan.memory(buffer)
        if memory is buffer:
            return self.renamed.get(buffer, buffer)
        if memory not in self.flat:
            self.flat[memory] = self.own(Buffer(memory.name, (size(memory),), memory.dtype, memory.scope))
        return self.flat[memory]

    def count(self, number: PrimExpr) -> PrimExpr:
        """Return a number in the dtype in which loops count, if it is made of their variables."""
        short = _narrow(number) if self.short else None
        return number if short is None else short

    # Loops

    def loop(self, loop: For, values: Mapping[Var, PrimExpr], parallel: bool) -> Stmt:
        """Return a loop, cut into short ones where it is a vector."""
        extent = self.count(simplify(self.expr(loop.extent, values)))
        if loop.kind is LoopKind.THREAD:
            made = Var(loop.var.name, extent.dtype)
            own = {**values, loop.var: cast(loop.var.dtype, made)}
            return replace(loop, var=made, extent=extent, body=self.stmt(loop.body, own, parallel))
        steps = static(extent)
        kind = loop.kind
        nested = kind is LoopKind.PARALLEL and not parallel
        if nested or (kind is LoopKind.VECTORIZED and (self.once or _calls_scalars(loop.body))):
            kind = LoopKind.SERIAL
        if kind is LoopKind.VECTORIZED and (steps is None or steps > 2 * _VECTOR):
            return self.vectors(loop, extent, values)
        match loop.body:
            case For(var, within, inner, LoopKind.PARALLEL) if kind is LoopKind.PARALLEL and not self.once:
                # As one: threads are given stretches of it, and few steps divide badly.
                joint = Var(f"{loop.var.name}_{var.name}", loop.var.dtype)
                split = {loop.var: binary("//", joint, within), var: binary("%", joint, within)}
                whole = simplify(binary("*", loop.extent, within))
                both = replace(loop, var=joint, extent=whole, body=substitute_stmt(inner, split))
                return self.loop(both, values, parallel)
        inside = parallel and loop.kind is not LoopKind.PARALLEL

        def body(value: PrimExpr) -> Stmt:
            return self.stmt(loop.body, {**values, loop.var: value}, inside)

        plain = _repeated(loop.var, loop.var.name, extent, kind, body)
        if isinstance(plain, For) and steps != 1 and loop.kind is LoopKind.SERIAL:
            return replace(plain, annotations=loop.annotations)
        return plain

    def vectors(self, loop: For, extent: PrimExpr, values: Mapping[Var, PrimExpr]) -> Stmt:
        """Return a vectorised loop as vectors of constant length and what is left."""
        var, length = loop.var, IntImm(_VECTOR, extent.dtype)
        whole = simplify(binary("//", extent, length))

        def step(value: PrimExpr) -> Stmt:
            return self.stmt(loop.body, {**values, var: value}, parallel=False)

        def vector(outer: PrimExpr) -> Stmt:
            begin = binary("*", outer, IntImm(_VECTOR, var.dtype))
            lanes = LoopKind.VECTORIZED
            return _repeated(var, f"{var.name}_lane", length, lanes, lambda lane: step(binary("+", begin, lane)))

        done = binary("*", cast(var.dtype, whole), IntImm(_VECTOR, var.dtype))
        left = simplify(binary("-", extent, binary("*", whole, length)))
        return _sequence(
            [
                _repeated(var, f"{var.name}_outer", whole, LoopKind.SERIAL, vector),
                _repeated(var, f"{var.name}_rest", left, LoopKind.SERIAL, lambda rest: step(binary("+", done, rest))),
            ]
        )

    # Expressions

    def expr(self, expr: PrimExpr, values: Mapping[Var, PrimExpr]) -> PrimExpr:
        """Return an expression with what variables, buffers and sums over lanes have become."""

        def rewrite(node: PrimExpr) -> PrimExpr | None:
            match node:
                case Var():
                    return values.get(node)
                case BufferLoad(buffer, indices):
                    return BufferLoad(*self.place(buffer, indices, values))
                case BufferData(buffer):
                    return BufferData(self.memory(buffer))
                case Call(name, args) if name in _PLACES:
                    return rebuild(node, [self.count(self.expr(arg, values)) for arg in args])
                case Call(name, (BufferLoad(buffer, indices),)) if name in _ACROSS:
                    return self.across(_ACROSS[name], buffer, indices, values)
                case Binary(op, a, b) if op in COMPARISONS and a.dtype == "int64":
                    first, second = self.expr(a, values), self.expr(b, values)
                    short = self.count(first), self.count(second)
                    return rebuild(node, short if short[0].dtype == short[1].dtype else (first, second))
            return None

        return map_expr(expr, rewrite)

    def place(
        self, buffer: Buffer, indices: Sequence[PrimExpr], values: Mapping[Var, PrimExpr]
    ) -> tuple[Buffer, tuple[PrimExpr, ...]]:
        """Return buffer and indices of an access."""
        found = tuple(self.expr(index, values) for index in indices)
        if self.plan.memory(buffer) is not buffer:
            number = found[0] if len(found) == 1 else flat_index(buffer, found)
            found = (binary("+", number, IntImm(self.plan.begin(buffer), number.dtype)),)
        return self.memory(buffer), tuple(map(self.count, found))

    def across(
        self, op: BinaryOp, buffer: Buffer, indices: Sequence[PrimExpr], values: Mapping[Var, PrimExpr]
    ) -> PrimExpr:
        """Return the lanes of a vector folded into one: the halves with each other, until one is
        left.
        """
        lanes = static(buffer.shape[-1])
        assert lanes is not None
        terms = [self.expr(BufferLoad(buffer, (*indices[:-1], IntImm(lane))), values) for lane in range(lanes)]
        while len(terms) > 1:
            half = (len(terms) + 1) // 2
            rest = terms[half:]
            terms = [binary(op, a, rest[i]) if i < len(rest) else a for i, a in enumerate(terms[:half])]
        return terms[0]


def _calls_scalars(stmt: Stmt) -> bool:
    """Whether a statement holds a call for which apache-tvm has code for one number, and none for a
    vector.
    """
    nodes = (node for expr in all_expressions(stmt) for node in subexpressions(expr))
    return any(isinstance(node, Call) and node.name in _SCALAR for node in nodes)


def _repeated(var: Var, name: str, extent: PrimExpr, kind: LoopKind, body: Callable[[PrimExpr], Stmt]) -> Stmt:
    """Return a loop around what ``body`` returns for its variable, which stands for ``var``: it may
    run once.
    """
    steps = static(extent)
    if steps == 0:
        return Seq(())
    if steps == 1:
        return body(IntImm(0, var.dtype))
    made = Var(name, extent.dtype)
    return For(made, extent, body(cast(var.dtype, made)), kind)


def _sequence(stmts: Iterable[Stmt]) -> Stmt:
    parts: list[Stmt] = []
    for one in stmts:
        parts += one.stmts if isinstance(one, Seq) else [one]
    return parts[0] if len(parts) == 1 else Seq(tuple(parts))


def _narrow(expr: PrimExpr) -> PrimExpr | None:
    """Return an int64 number made of int32 variables as one of int32, None where it is made of
    something else.
    """
    match expr:
        case IntImm(value, "int64") if abs(value) <= _MOST_ELEMENTS:
            return IntImm(value, "int32")
        case Cast("int64", value) if value.dtype == "int32":
            return value
        case Binary(op, a, b) if op in _ARITHMETIC and expr.dtype == "int64":
            left, right = _narrow(a), _narrow(b)
            return None if left is None or right is None else binary(op, left, right)
    return None
