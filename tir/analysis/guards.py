"""Accesses of tensor programs stay inside: what is not proved is guarded.

An index that the limits of loops, and the conditions around it, prove to lie inside stays as it is.
Any other one, which data decide or which is wrong, becomes ``index_within(index, extent, tensor,
dimension, function)``: the index where it lies inside; where it does not, 0, and whoever runs the
program hears of it. What is computed from it is not looked at, so that integers that wrap around
change nothing.

A choice whose branches load what is not proved becomes lazy: only what is chosen is loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from relay2relax.tir.analysis.reshape import size as size_of
from relay2relax.tir.arith.numbers import is_inside_by_numbers, narrowed
from relay2relax.tir.arith.overflow import Machine, range_of
from relay2relax.tir.arith.simplify import Limit, is_exact, is_place
from relay2relax.tir.ir.expr import (
    Binary,
    Buffer,
    BufferLoad,
    Call,
    IntImm,
    Not,
    PrimExpr,
    Select,
    StringImm,
    Var,
    binary,
    children,
    conjuncts,
    const,
    if_then_else,
    logical_and,
)
from relay2relax.tir.ir.stmt import BufferStore, For, If, Let, Seq, Stmt, While
from relay2relax.tir.ir.visit import loads, map_parts, rebuild, statements, subexpressions

GUARD = "index_within"
# More conditions around one access are not looked at.
_MOST_FACTS = 12


def is_guarded(expr: PrimExpr) -> bool:
    """Whether an index in ``expr`` is guarded."""
    # Most expressions that are asked are a variable or a number.
    if isinstance(expr, (Var, IntImm)):
        return False
    return any(isinstance(node, Call) and node.name == GUARD for node in subexpressions(expr))


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What holds at one place of a program: the limits of variables, and conditions.

    ``relations`` are conditions over extents that every call satisfies.
    """

    bounds: Mapping[Var, tuple[Limit, Limit]]
    facts: tuple[PrimExpr, ...] = ()
    relations: tuple[PrimExpr, ...] = ()

    def loop(self, var: Var, extent: PrimExpr) -> Known:
        """Return what holds within a loop."""
        limit = binary("-", extent, 1)
        last = limit if is_exact(extent, Machine(self.bounds)) else range_of(var.dtype)[1]
        return replace(self, bounds={**self.bounds, var: (0, last)})

    def where(self, condition: PrimExpr, holds: bool = True) -> Known:
        """Return what holds where ``condition`` does, or does not."""
        parts = conjuncts(condition) if holds else [Not(condition)]
        bounds = Machine(self.bounds)
        parts = [one for one in parts if is_exact(one, bounds)]
        facts = (*self.facts, *parts)[-_MOST_FACTS:]
        return replace(self, bounds=reduce(narrowed, parts, self.bounds), facts=facts)

    def after(self, stored: frozenset[Buffer]) -> Known:
        """Return what still holds when something was stored to buffers."""
        left = tuple(fact for fact in self.facts if stored.isdisjoint(load.buffer for load in loads(fact)))
        return self if len(left) == len(self.facts) else replace(self, facts=left)


class Guards:
    """Puts guards to the accesses of one program, or of the part of it that was ``function``."""

    def __init__(self, function: str = "") -> None:
        self._function = StringImm(function)
        self._values: dict[tuple[int, int], tuple[PrimExpr, Known, PrimExpr]] = {}
        self._stored: dict[int, tuple[Stmt, frozenset[Buffer]]] = {}

    def value(self, expr: PrimExpr, known: Known) -> PrimExpr:
        """Return ``expr`` with guards where ``known`` does not prove that its loads lie inside."""
        parts = children(expr)
        if not parts:
            return expr
        key = id(expr), id(known)
        if key not in self._values:
            self._values[key] = expr, known, self._value(expr, parts, known)
        return self._values[key][2]

    def _value(self, expr: PrimExpr, parts: Sequence[PrimExpr], known: Known) -> PrimExpr:
        match expr:
            case BufferLoad(buffer, indices):
                places = self.places(buffer, [self.value(index, known) for index in indices], known)
                load = expr if places == indices else replace(expr, indices=places)
                filled = has_elements(buffer) if _new(places, indices) else None
                return load if filled is None else _choice(filled, load, const(0, buffer.dtype))
            case Select(condition, then, otherwise):
                plain = [self.value(part, known) for part in parts]
                if not any(map(is_guarded, plain[1:])):
                    return rebuild(expr, plain)
                return self.choice(condition, then, otherwise, known)
            case Call("if_then_else", (condition, then, otherwise)):
                return self.choice(condition, then, otherwise, known)
            case Binary(("and" | "or") as op, a, b):
                return rebuild(expr, [self.value(a, known), self.value(b, known.where(a, op == "and"))])
        return rebuild(expr, [self.value(part, known) for part in parts])

    def choice(self, condition: PrimExpr, then: PrimExpr, otherwise: PrimExpr, known: Known) -> PrimExpr:
        """Return a choice of which only the chosen branch is evaluated."""
        first = self.value(then, known.where(condition))
        return _choice(self.value(condition, known), first, self.value(otherwise, known.where(condition, False)))

    def places(self, buffer: Buffer, indices: Sequence[PrimExpr], known: Known) -> tuple[PrimExpr, ...]:
        """Return the indices of an access, guarded where they are not proved to lie inside."""
        found = list(indices)
        for dimension, (index, extent) in enumerate(zip(indices, buffer.shape, strict=True)):
            if is_inside(index, extent, known):
                continue
            if len(indices) > 1 and all(one == IntImm(0, one.dtype) for one in indices[:-1]):
                # The last index may be the element's number in all of the memory.
                extent = size_of(buffer)
                if dimension < len(indices) - 1 or is_inside(index, extent, known):
                    continue
            place = StringImm(buffer.name), IntImm(dimension), self._function
            found[dimension] = Call(GUARD, (index, extent, *place), index.dtype)
        return tuple(found)

    def statement(self, stmt: Stmt, known: Known) -> Stmt:
        """Return ``stmt``, which holds no blocks, with guards where ``known`` does not prove that
        accesses lie inside.
        """
        match stmt:
            case Seq(stmts):
                done = []
                for part in stmts:
                    done.append(self.statement(part, known))
                    known = known.after(self.stored(part))
                return Seq(tuple(done))
            case BufferStore(buffer, indices, value):
                places = self.places(buffer, [self.value(index, known) for index in indices], known)
                store = replace(stmt, indices=places, value=self.value(value, known))
                filled = has_elements(buffer) if _new(places, indices) else None
                return store if filled is None else If(filled, store)
            case If(condition, then, otherwise):
                other = None
                if otherwise is not None:
                    other = self.statement(otherwise, known.where(condition, False))
                return If(self.value(condition, known), self.statement(then, known.where(condition)), other)
            case While(condition, body):
                again = known.after(self.stored(body))
                return While(self.value(condition, again), self.statement(body, again.where(condition)))
            case For(var, extent, body):
                inner = known.after(self.stored(body)).loop(var, extent)
            case Let(var, value):
                inner = known.where(binary("==", var, value)) if _is_steady(var, value) else known
            case _:
                inner = known
        return map_parts(stmt, lambda part: self.statement(part, inner), lambda expr: self.value(expr, known))

    def stored(self, stmt: Stmt) -> frozenset[Buffer]:
        """Return the buffers that ``stmt`` stores to."""
        if id(stmt) not in self._stored:
            found = frozenset(node.buffer for node in statements(stmt) if isinstance(node, BufferStore))
            self._stored[id(stmt)] = stmt, found
        return self._stored[id(stmt)][1]


def is_inside(index: PrimExpr, extent: PrimExpr, known: Known) -> bool:
    """Whether ``0 <= index < extent`` is proved."""
    match index, extent:
        case IntImm(place), IntImm(count):
            return 0 <= place < count
        case Call(name, (_, limit, *_)), _ if name == GUARD and limit == extent:
            return True
        case _ if is_inside_by_numbers(index, extent, known.bounds):
            return True
        case Var(), _ if index in known.bounds:
            low, high = known.bounds[index]
            if low == 0 and high == binary("-", extent, 1):
                return True
    if isinstance(extent, IntImm):
        extent = IntImm(extent.value, index.dtype)
    return is_place(index, extent, (*known.relations, *known.facts), Machine(known.bounds))


def has_elements(buffer: Buffer) -> PrimExpr | None:
    """Return the condition that ``buffer`` has elements, None where it surely has."""
    conditions = [binary(">", extent, 0) for extent in buffer.shape if not isinstance(extent, IntImm)]
    if any(isinstance(extent, IntImm) and extent.value < 1 for extent in buffer.shape):
        return IntImm(0, "bool")
    return logical_and(*conditions) if conditions else None


def extents_known(buffers: Iterable[Buffer], relations: tuple[PrimExpr, ...] = ()) -> Known:
    """Return what is known before any loop: no extent is negative, and ``relations``, which are
    about integers, hold.
    """
    variables = (node for one in buffers for e in one.shape for node in subexpressions(e) if isinstance(node, Var))
    known = Known(dict.fromkeys(variables, (0, None)))
    bounds = Machine(known.bounds)
    return replace(known, relations=tuple(one for one in relations if is_exact(one, bounds)))


def _choice(condition: PrimExpr, then: PrimExpr, otherwise: PrimExpr) -> PrimExpr:
    return if_then_else(condition, then, otherwise)


def _new(places: Sequence[PrimExpr], indices: Sequence[PrimExpr]) -> bool:
    return any(one is not old and is_guarded(one) for one, old in zip(places, indices, strict=True))


def _is_steady(var: Var, value: PrimExpr) -> bool:
    """Whether a variable can stand for ``value`` in proofs."""
    return var.dtype in ("int32", "int64") and value.dtype == var.dtype and not loads(value)
