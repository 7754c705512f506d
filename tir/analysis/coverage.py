"""Whether a program writes all of a buffer before anything of it is read.

A nest of loops that run over the whole buffer, one loop to a dimension or several as its digits,
fills it. What is under a condition, or at places that data decide, fills nothing for sure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.ir.expr import Binary, Buffer, BufferData, Cast, IntImm, PrimExpr, Var, cast
from relay2relax.tir.ir.stmt import Allocate, Attribute, BlockRealize, BufferStore, For, IterKind, Let, Seq, Stmt
from relay2relax.tir.ir.visit import all_expressions, loads, statements, subexpressions, substitute, variables


class _Found(Enum):
    UNTOUCHED = "nothing of the buffer is used"
    FILLED = "all of it is written first"
    OPEN = "anything else"


def fills(body: Stmt, buffer: Buffer) -> bool:
    """Whether ``body`` surely writes every element of ``buffer``, and reads none before that."""
    return _Place(buffer, {}, {}).look(body) is _Found.FILLED


@dataclass(frozen=True, slots=True)
class _Place:
    """A place within loops, with their extents, and what axes and names of values stand for.

    ``folded`` are loops that need not run: a reduction over nothing leaves what it began with.
    """

    buffer: Buffer
    loops: Mapping[Var, PrimExpr]
    values: Mapping[Var, PrimExpr]
    folded: frozenset[Var] = frozenset()

    def look(self, stmt: Stmt) -> _Found:
        if not _touches(stmt, self.buffer):
            return _Found.UNTOUCHED
        match stmt:
            case Seq(stmts):
                return self.sequence(stmts)
            case For(var, extent, body, begin=None, step=None):
                return replace(self, loops={**self.loops, var: extent}).look(body)
            case Let(var, value, body):
                return replace(self, values={**self.values, var: substitute(value, self.values)}).look(body)
            case Attribute(body=body):
                return self.look(body)
            case Allocate(_, body, of) if of is not self.buffer:
                return self.look(body)
            case BlockRealize():
                return self.block(stmt)
            case BufferStore(_, indices, value, None):
                if any(load.buffer is self.buffer for part in (*indices, value) for load in loads(part)):
                    return _Found.OPEN
                return _Found.FILLED if self.is_whole(indices) else _Found.OPEN
        return _Found.OPEN

    def sequence(self, stmts: tuple[Stmt, ...]) -> _Found:
        """Look at statements in order: what fills comes before what reads."""
        for number, part in enumerate(stmts):
            found = self.look(part)
            if found is _Found.FILLED and self.loops:
                # Of a buffer that is filled round by round, the rest of a round reads its own part.
                around = [*self.loops, *self.values]
                return found if all(self.is_own(part, rest, around) for rest in stmts[number + 1 :]) else _Found.OPEN
            if found is not _Found.UNTOUCHED:
                return found
        return _Found.UNTOUCHED

    def is_own(self, filling: Stmt, rest: Stmt, around: list[Var]) -> bool:
        """Whether ``rest`` reads of the buffer only what has the places of ``filling`` in all that
        depends on the loops around.
        """
        stores = [node.indices for node in statements(filling) if isinstance(node, BufferStore)]
        written = [one for one in stores if len(one) == len(self.buffer.shape)]
        read = [load.indices for expr in all_expressions(rest) for load in loads(expr) if load.buffer is self.buffer]
        return all(
            mine == theirs or not any(var in around for var in variables(mine))
            for indices in read
            for store in written
            for mine, theirs in zip(store, indices, strict=True)
        )

    def block(self, stmt: BlockRealize) -> _Found:
        block = stmt.block
        if stmt.predicate is not None or any(match.region.buffer is self.buffer for match in block.matches):
            return _Found.OPEN
        pairs = list(zip(block.iter_vars, stmt.values, strict=True))
        values = {**self.values, **{axis.var: substitute(value, self.values) for axis, value in pairs}}
        folded = {
            var
            for axis, _ in pairs
            if axis.kind is IterKind.REDUCE and block.init is not None
            for var in variables(values[axis.var])
        }
        inner = replace(self, values=values, folded=self.folded | folded)
        return inner.look(block.body if block.init is None else Seq((block.init, block.body)))

    def is_whole(self, indices: tuple[PrimExpr, ...]) -> bool:
        """Whether the loops lead ``indices`` to every element."""
        used: set[Var] = set()
        for index, extent in zip(indices, self.buffer.shape, strict=True):
            place = simplify(substitute(index, self.values))
            if isinstance(extent, IntImm) and extent.value <= 1 and place == IntImm(0, place.dtype):
                continue
            digits = self.digits(place, extent)
            if digits is None or used & digits:
                return False
            used |= digits
        others = (self.loops[var] for var in self.loops.keys() - used - self.folded)
        return all(isinstance(extent, IntImm) and extent.value > 0 for extent in others)

    def digits(self, place: PrimExpr, extent: PrimExpr) -> set[Var] | None:
        """Return the loops whose variables are the digits of ``place``, if that takes every value
        below ``extent``.
        """
        if isinstance(place, Cast):
            place = place.value
        if isinstance(place, Var):
            count = self.loops.get(place)
            same = count is not None and simplify(cast(extent.dtype, count)) == simplify(extent)
            return {place} if same else None
        parts: list[tuple[int, Var]] = []
        stack = [place]
        while stack:
            match stack.pop():
                case Binary("+", a, b):
                    stack += [a, b]
                case Var() as var:
                    parts.append((1, var))
                case Binary("*", Var() as var, IntImm(factor)):
                    parts.append((factor, var))
                case _:
                    return None
        unit = 1
        for factor, var in sorted(parts, key=lambda part: part[0]):
            count = self.loops.get(var)
            if factor != unit or not isinstance(count, IntImm):
                return None
            unit *= count.value
        return {var for _, var in parts} if extent == IntImm(unit, extent.dtype) else None


def _touches(stmt: Stmt, buffer: Buffer) -> bool:
    """Whether anything in ``stmt`` reads or writes ``buffer``, or has its address."""
    for node in statements(stmt):
        match node:
            case BufferStore(target) if target is buffer:
                return True
            case Allocate(_, _, of) if of is buffer:
                return True
            case BlockRealize(block=block) if any(match.region.buffer is buffer for match in block.matches):
                return True
    for expr in all_expressions(stmt):
        if any(load.buffer is buffer for load in loads(expr)):
            return True
        if any(isinstance(part, BufferData) and part.buffer is buffer for part in subexpressions(expr)):
            return True
    return False
