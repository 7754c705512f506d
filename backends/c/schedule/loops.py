"""Building scheduled loops, and what the schedules ask about an access."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from relay2relax.backends.c.access import STEPS
from relay2relax.backends.c.stages import Axis, Stage, flat_index
from relay2relax.tir.analysis.reshape import size as size_of
from relay2relax.tir.arith.simplify import EXTENTS, limits, simplify
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import Binary, Buffer, BufferLoad, IntImm, PrimExpr, Var, binary
from relay2relax.tir.ir.stmt import Allocate, For, LoopKind, Seq, Stmt
from relay2relax.tir.ir.visit import map_expr, substitute, substitute_stmt


class FlatViews:
    """Buffers of one dimension for the memory of others: in them an access has one index.

    A buffer may begin further on than the memory it is: stages that differ only in where they begin
    are then alike.
    """

    def __init__(self, memory: Callable[[Buffer], Buffer]) -> None:
        self.views: dict[Buffer, Buffer] = {}
        self._memory = memory
        self._flat: dict[tuple[Buffer, int], Buffer] = {}
        self._begins: dict[Buffer, int] = {}

    def of(self, buffer: Buffer, begin: int = 0) -> Buffer:
        """Return the flat view of the memory that ``buffer`` is, from element ``begin`` on."""
        root = self._memory(buffer)
        found = self._flat.get((root, begin))
        if found is None:
            size = simplify(binary("-", size_of(root), IntImm(begin)))
            found = self._flat[root, begin] = Buffer(root.name, (size,), root.dtype, root.scope)
            self.views[found] = root
            self._begins[found] = begin
        return found

    def begin(self, buffer: Buffer) -> int:
        """Return with which element of its memory a flat buffer begins."""
        return self._begins.get(buffer, 0)

    def flatten(self, stages: Sequence[Stage]) -> list[Stage]:
        """Return stages of one function with every access at one index, and without axes of extent
        1.
        """
        places: list[tuple[Buffer, PrimExpr]] = []
        return self._begun([self._flattened(stage, places) for stage in stages], places)

    def _flattened(self, stage: Stage, places: list[tuple[Buffer, PrimExpr]]) -> Stage:
        still = {axis.var: IntImm(0) for axis in stage.axes if axis.extent == IntImm(1)}
        axes = tuple(axis for axis in stage.axes if axis.var not in still)
        reduction = stage.reduction
        bounds = stage.bounds
        if reduction is not None:
            kept = tuple(axis for axis in reduction.axes if axis.extent != IntImm(1))
            still |= {axis.var: IntImm(0) for axis in reduction.axes if axis not in kept}
            reduction = replace(reduction, axes=kept)

        def accessed(buffer: Buffer, indices: Sequence[PrimExpr]) -> tuple[Buffer, PrimExpr]:
            place = flat_index(buffer, [map_expr(index, rewrite) for index in indices], bounds)
            if buffer.scope == "local":
                return buffer, place
            places.append((self._memory(buffer), place))
            return self.of(buffer), place

        def rewrite(node: PrimExpr) -> PrimExpr | None:
            if isinstance(node, Var):
                return still.get(node)
            if not isinstance(node, BufferLoad):
                return None
            buffer, place = accessed(node.buffer, node.indices)
            return BufferLoad(buffer, (place,))

        target, place = accessed(stage.target, stage.indices)
        if reduction is not None:
            reduction = replace(
                reduction,
                source=map_expr(reduction.source, rewrite),
                identity=map_expr(reduction.identity, rewrite),
            )
        return Stage(axes, target, (place,), map_expr(stage.value, rewrite), reduction)

    def _begun(self, stages: list[Stage], places: Sequence[tuple[Buffer, PrimExpr]]) -> list[Stage]:
        """Return flattened stages with buffers that begin with the first element that is
        accessed.
        """
        begins: dict[Buffer, int] = {}
        for root, place in places:
            first = _earliest(place)
            begins[root] = min(begins.get(root, first), first)
        moved = {self.of(root): (root, begin) for root, begin in begins.items() if begin > 0}
        return [self._shifted(stage, moved) for stage in stages] if moved else stages

    def _shifted(self, stage: Stage, moved: Mapping[Buffer, tuple[Buffer, int]]) -> Stage:
        def shifted(buffer: Buffer, place: PrimExpr) -> tuple[Buffer, PrimExpr]:
            root, begin = moved[buffer]
            return self.of(root, begin), simplify(binary("-", place, IntImm(begin)))

        def rewrite(node: PrimExpr) -> PrimExpr | None:
            if isinstance(node, BufferLoad) and node.buffer in moved:
                buffer, place = shifted(node.buffer, map_expr(node.indices[0], rewrite))
                return BufferLoad(buffer, (place,))
            return None

        reduction = stage.reduction
        if reduction is not None:
            source, identity = map_expr(reduction.source, rewrite), map_expr(reduction.identity, rewrite)
            reduction = replace(reduction, source=source, identity=identity)
        target, place = stage.target, map_expr(stage.indices[0], rewrite)
        if target in moved:
            target, place = shifted(target, place)
        return Stage(stage.axes, target, (place,), map_expr(stage.value, rewrite), reduction)


def _earliest(place: PrimExpr) -> int:
    """Return an element that a position in canonical form never lies before.

    Axes may count backwards.
    """
    match place:
        case IntImm(value) | Binary("+", _, IntImm(value)) if value > 0:
            return limits(place, EXTENTS)[0] or 0
    return 0


@dataclass(frozen=True, slots=True)
class Nest:
    """Loops from the outermost in, to be put around a body."""

    loops: tuple[tuple[Var, PrimExpr, LoopKind], ...] = ()

    def around(self, body: Stmt) -> Stmt:
        """Return the loops around ``body``; a loop of one step is left out."""
        for var, extent, kind in reversed(self.loops):
            if extent == IntImm(1):
                body = at(body, var, IntImm(0))
            else:
                body = For(var, extent, body, kind)
        return body


def at(stmt: Stmt, var: Var, value: PrimExpr) -> Stmt:
    """Return ``stmt`` at one value of ``var``."""
    return substitute_stmt(stmt, {var: value})


def serial(axes: Sequence[Axis], body: Stmt, steps: int = 1) -> Stmt:
    """Return plain loops over ``axes`` around ``body``; of the innermost, so many ``steps`` are
    written out.
    """
    if steps > 1 and axes:
        *axes, last = axes
        body = For(last.var, last.extent, body, annotations={STEPS: steps})
    return Nest(tuple((axis.var, axis.extent, LoopKind.SERIAL) for axis in axes)).around(body)


def parallel(axes: Sequence[Axis], body: Stmt, work: PrimExpr, least: int | None, enough: int = 16) -> Stmt:
    """Return loops over ``axes`` around ``body``; the outermost ones run on all cores where
    ``work`` is worth it.

    So many are taken that there are ``enough`` steps to share out, also where symbolic extents are
    one. Work of symbolic size is weighed when it runs, and where ``least`` is None, none is worth
    it.
    """
    amount = static(work)
    if least is None or (amount is not None and amount < least):
        return serial(axes, body)
    kinds = []
    steps = 1
    for axis in axes:
        kinds.append(LoopKind.PARALLEL if steps < enough else LoopKind.SERIAL)
        steps *= static(axis.extent) or 1
    kept = [(axis.var, axis.extent, kind) for axis, kind in zip(axes, kinds, strict=True)]
    loops = Nest(tuple(kept)).around(body)
    if amount is None and isinstance(loops, For) and loops.kind is LoopKind.PARALLEL:
        return replace(loops, annotations={"worth": binary(">=", work, IntImm(least))})
    return loops


def unrolled(count: int, body: Callable[[Var], Stmt], name: str = "u") -> Stmt:
    """Return ``body`` for 0, 1, … ``count`` - 1, written out."""
    var = Var(name)
    return For(var, IntImm(count), body(var), LoopKind.UNROLLED)


def vectorized(count: PrimExpr | int, body: Callable[[PrimExpr], Stmt], name: str = "l") -> Stmt:
    """Return a loop whose steps may run at once."""
    var = Var(name)
    return For(var, IntImm(count) if isinstance(count, int) else count, body(var), LoopKind.VECTORIZED)


def block(*stmts: Stmt) -> Stmt:
    """Return statements one after the other."""
    return Seq(tuple(stmts))


def local(dtype: str, shape: Sequence[int], scope: str, body: Callable[[Buffer], Stmt], name: str = "t") -> Stmt:
    """Return a statement with a small buffer of its own.

    Scope ``register`` asks for vector variables.
    """
    buffer = Buffer(name, tuple(IntImm(extent) for extent in shape), dtype, scope)
    return Allocate(buffer, body(buffer))


def put(expr: PrimExpr, values: Mapping[Var, PrimExpr]) -> PrimExpr:
    """Return ``expr`` with variables replaced."""
    return substitute(expr, values)
