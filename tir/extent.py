"""Extents: what a dimension of a shape can be, and the arithmetic that shape rules are written in.

    extent ::= int | PrimExpr

A plain ``int`` is a static extent (Relay's int32 dimension); an ``IntImm`` of int64 is Relay's
``2i64``; ``ANY`` is Relay's ``?``, and everything computed from it is ``ANY`` again; other
expressions are symbolic and kept in canonical form, so that equal extents are built alike. A shape
rule written with these functions serves Relay and Relax alike.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import reduce
from typing import TypeAlias, Union

from relay2relax.core.errors import LimitError, mistake
from relay2relax.core.errors.table import limits
from relay2relax.core.limits import active, check
from relay2relax.tir.arith.simplify import EXTENTS, prove, simplify
from relay2relax.tir.arith.sums import chain, flattened
from relay2relax.tir.ir.expr import AnyExtent, Binary, BinaryOp, IntImm, PrimExpr, Var, binary, children

Extent: TypeAlias = Union[int, PrimExpr]
Shape: TypeAlias = tuple[Extent, ...]
ANY = AnyExtent()

# No expression of an extent has more variables and numbers. A program of a few lines can square an
# extent again and again, and each step has twice as many.
MOST_PARTS = 1024


def is_any(extent: Extent) -> bool:
    """Whether nothing is known about ``extent``."""
    return isinstance(extent, AnyExtent)


def static(extent: Extent) -> int | None:
    """Return the value of a static extent, None for ``?`` and symbolic ones."""
    if isinstance(extent, int):
        return extent
    return extent.value if isinstance(extent, IntImm) else None


def require_allowed(shape: Shape, what: str = "a tensor") -> None:
    """Raise LimitError where a static extent of ``shape``, or all of them together, are beyond the
    limits around this place.
    """
    budget = active()
    if budget is not None:
        budget.extent([1 if (known := static(one)) is None else known for one in shape], lambda: what)


def as_prim(extent: Extent) -> PrimExpr:
    """Return ``extent`` as an int64 expression, the form tensor programs use."""
    return IntImm(extent, "int64") if isinstance(extent, int) else extent


def canonical(expr: Extent) -> Extent:
    """Return ``expr`` in canonical form; a constant becomes a plain int.

    Raises LimitError where the limits around this place are reached, or the expression is longer
    than any extent may be.
    """
    if isinstance(expr, int):
        return expr
    if isinstance(expr, AnyExtent):
        return ANY
    check()
    simple = simplify(expr, EXTENTS)
    if isinstance(simple, IntImm):
        return simple.value
    if is_long(simple):
        raise LimitError(mistake(limits.EXPRESSION, most=MOST_PARTS))
    return simple


def is_long(expr: PrimExpr) -> bool:
    """Whether ``expr`` has more parts than an extent may have; takes no longer than that many."""
    left = MOST_PARTS
    pending = [expr]
    while pending and left >= 0:
        parts = children(pending.pop())
        pending += parts
        left -= not parts
    return left < 0


_ON_NUMBERS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "min": min,
    "max": max,
}


def _apply(op: BinaryOp, a: Extent, b: Extent) -> Extent:
    if isinstance(a, int) and isinstance(b, int):
        if b or op not in ("//", "%"):
            return _ON_NUMBERS[op](a, b)
        return canonical(binary(op, as_prim(a), as_prim(b)))
    if is_any(a) or is_any(b):
        return ANY
    # A plain int takes the dtype of the expression that it meets.
    result = canonical(binary(op, a, b))
    if isinstance(result, int) and static(a) is not None and static(b) is not None:
        return IntImm(result, "int64")
    return result


def add(a: Extent, b: Extent) -> Extent:
    """Return ``a + b``."""
    return _apply("+", a, b)


def sub(a: Extent, b: Extent) -> Extent:
    """Return ``a - b``."""
    return _apply("-", a, b)


def mul(a: Extent, b: Extent) -> Extent:
    """Return ``a * b``."""
    return _apply("*", a, b)


def floordiv(a: Extent, b: Extent) -> Extent:
    """Return ``a // b``, rounded towards minus infinity."""
    return _apply("//", a, b)


def floormod(a: Extent, b: Extent) -> Extent:
    """Return ``a % b`` with the sign of ``b``."""
    return _apply("%", a, b)


def ceildiv(a: Extent, b: Extent) -> Extent:
    """Return ``a / b`` rounded up, for positive ``b``."""
    return floordiv(add(a, sub(b, 1)), b)


def minimum(a: Extent, b: Extent) -> Extent:
    """Return the smaller extent."""
    return _apply("min", a, b)


def maximum(a: Extent, b: Extent) -> Extent:
    """Return the larger extent."""
    return _apply("max", a, b)


def product(extents: Iterable[Extent]) -> Extent:
    """Return the product of ``extents`` (1 when there are none)."""
    return _joined("*", extents, 1)


def total(extents: Iterable[Extent]) -> Extent:
    """Return the sum of ``extents`` (0 when there are none)."""
    return _joined("+", extents, 0)


def _joined(op: BinaryOp, extents: Iterable[Extent], neutral: int) -> Extent:
    """Return ``extents`` joined by ``op``; symbolic ones become canonical together."""
    known: Extent = neutral
    symbolic: list[PrimExpr] = []
    for extent in extents:
        if static(extent) is None and not isinstance(extent, int):
            symbolic.append(extent)
        else:
            known = _apply(op, known, extent)
    if any(map(is_any, symbolic)):
        return ANY
    if len({one.dtype for one in symbolic}) == 1:
        return _apply(op, known, chain(op, symbolic))
    # Others are converted where they meet.
    return reduce(lambda a, b: _apply(op, a, b), symbolic, known)


def is_symbolic(extent: Extent) -> bool:
    """Whether ``extent`` is an expression: neither a number nor unknown."""
    return isinstance(extent, PrimExpr) and not isinstance(extent, (AnyExtent, IntImm))


def written_any(rule: Callable[[Extent], Extent]) -> AnyExtent:
    """Return ``?`` that is written as what ``rule``, which takes the extent, makes of ``?``."""

    def over_any(expr: PrimExpr) -> PrimExpr:
        if isinstance(expr, Binary):
            return Binary(expr.op, over_any(expr.a), over_any(expr.b))
        return ANY if isinstance(expr, Var) else expr

    computed = rule(Var("extent", "int32"))
    return AnyExtent(over_any(computed)) if isinstance(computed, Binary) else ANY


def _largest_of(extent: Extent) -> frozenset[PrimExpr] | None:
    """Return the variables whose maximum ``extent`` is, None where it is something else."""
    operands = flattened("max", as_prim(extent))
    return frozenset(operands) if all(isinstance(one, Var) for one in operands) else None


def equal(a: Extent, b: Extent) -> bool | None:
    """Whether the extents are equal: True or False where that is proved, None where it is not
    known.
    """
    if is_any(a) or is_any(b):
        return None
    if a is b:
        return True
    first, second = static(a), static(b)
    if first is not None and second is not None:
        return first == second
    # The largest of some variables may or may not be the largest of others.
    one, other = _largest_of(a), _largest_of(b)
    if one is not None and one == other:
        return True
    same = binary("==", as_prim(a), as_prim(b))
    known = None if one is not None and other is not None else prove(same, EXTENTS)
    if known is None:
        ask(same)
    return known


_asked: ContextVar[list[PrimExpr] | None] = ContextVar("_asked", default=None)


@contextmanager
def asked() -> Iterator[list[PrimExpr]]:
    """Collect the conditions on extents that shape rules ask for inside and nobody can answer
    before a program runs.
    """
    found: list[PrimExpr] = []
    token = _asked.set(found)
    try:
        yield found
    finally:
        _asked.reset(token)


def ask(condition: PrimExpr) -> None:
    """Say that a shape rule takes ``condition`` to hold, which is not known.

    One that does not hold is refused when the program runs, even where the rule lets it pass.
    """
    found = _asked.get()
    if found is not None:
        found.append(condition)
