"""Canonical form of integer expressions, and what can be proved about them.

An expression becomes a sum of integer coefficients times products of atoms; an atom is a variable,
or a floor division, modulo, minimum, maximum or other operation over canonical operands. Equal sums
are then built alike.

The work on one question is bounded (``algebra.py``), so that no expression takes long.

Floor division and modulo are those of Python. A division by an expression says that it is not zero:
``n * m // m`` is ``n``. Arithmetic is that of the integers: positions, of int32 and int64, are
taken not to overflow. What data decide wraps around and may be zero (``overflow.py``). Expressions
of narrower or unsigned types, which wrap, are left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from relay2relax.tir.arith.algebra import Algebra, Bounds, Limit
from relay2relax.tir.arith.linear import Search, decided
from relay2relax.tir.arith.sums import Sum, affine, build, is_constant, monomial
from relay2relax.tir.ir.expr import (
    AnyExtent,
    Binary,
    BufferLoad,
    Call,
    FloatImm,
    IntImm,
    PrimExpr,
    Var,
    binary,
    children,
    convert,
)

__all__ = [
    "EXTENTS",
    "Bounds",
    "Limit",
    "ceiling",
    "constant_difference",
    "is_exact",
    "is_place",
    "limits",
    "prove",
    "simplify",
    "split_by_variables",
]


class _Extents(Mapping[Var, tuple[Limit, Limit]]):
    """The bounds of variables that are extents: none is negative."""

    def __getitem__(self, key: Var) -> tuple[Limit, Limit]:
        return (0, None)

    def __iter__(self) -> Iterator[Var]:
        return iter(())

    def __len__(self) -> int:
        return 0


EXTENTS: Bounds = _Extents()


def simplify(expr: PrimExpr, bounds: Bounds | None = None) -> PrimExpr:
    """Return ``expr`` in canonical form: integers of int32 and int64, and conditions over them.

    ``bounds`` gives the smallest and largest value of variables, as ints or expressions, None where
    there is no limit; ``EXTENTS`` says that no variable is negative. Expressions of other dtypes
    are returned as they are.
    """
    if isinstance(expr, (IntImm, Var, AnyExtent, FloatImm)):
        return expr
    if isinstance(expr, Binary) and expr.op in ("+", "-", "*") and (bounds is None or bounds is EXTENTS):
        # Most expressions are places of elements, which need no algebra.
        terms = monomial(expr) if expr.op == "*" else None
        terms = affine(expr) if terms is None else terms
        if terms is not None and expr.dtype in ("int64", "int32"):
            return build(terms, expr.dtype)
    return Algebra(bounds).simplify(expr)


def prove(condition: PrimExpr, bounds: Bounds | None = None) -> bool | None:
    """Return whether ``condition`` always (True) or never (False) holds, or None where that is not
    known.
    """
    if isinstance(condition, IntImm):
        return bool(condition.value)
    return _proved(Algebra(bounds), condition)


def _proved(algebra: Algebra, condition: PrimExpr) -> bool | None:
    answer = algebra.prove(condition)
    return decided(algebra, condition) if answer is None else answer


def is_place(index: PrimExpr, extent: PrimExpr, facts: Sequence[PrimExpr], bounds: Bounds) -> bool:
    """Whether ``0 <= index < extent`` is proved where all of ``facts`` hold.

    Under the bounds ``Machine`` that is so however arithmetic wraps around, before and after
    whatever simplification does to ``index``. ``facts`` have to be exact (``is_exact``).
    """
    first = Algebra(bounds)
    if not _is_exact(first, index):
        return False
    # Adding and multiplying is right but for multiples of 2**bits: a sum that is inside is exact.
    integer = Var("index", index.dtype)
    terms = first.residue(index)
    first.sums[id(integer)] = (integer, terms)
    readings = [index] if first.sum(index) == terms else [integer, index]
    return any(
        all(_follows(first, one, facts) for one in (binary(">=", reading, 0), binary("<", reading, extent)))
        for reading in readings
    )


def _follows(first: Algebra, condition: PrimExpr, facts: Sequence[PrimExpr]) -> bool:
    if _proved(first.again(), condition):
        return True
    claims = [(condition, False), *((fact, True) for fact in facts)]
    return bool(facts) and Search(first.again()).contradictory(claims)


def is_exact(expr: PrimExpr, bounds: Bounds) -> bool:
    """Whether comparisons, divisions and the like within ``expr`` are of the integers that
    arithmetic finds: nothing wraps around in their operands but data.
    """
    return _is_exact(Algebra(bounds), expr)


def _is_exact(algebra: Algebra, expr: PrimExpr) -> bool:
    pending = [expr]
    while pending:
        match pending.pop():
            case Binary("+" | "-" | "*", a, b):
                pending += (a, b)
            case BufferLoad() | Call("index_within"):
                pass  # Data, whatever the index is.
            case one:
                parts = children(one)
                if not all(map(algebra.is_exact, parts)):
                    return False
                pending += parts
    return True


def ceiling(extent: PrimExpr, size: int | PrimExpr, bounds: Bounds | None = None) -> PrimExpr:
    """Return how many pieces of ``size`` cover ``extent``."""
    return simplify(binary("//", binary("+", extent, binary("-", convert(size, extent.dtype), 1)), size), bounds)


def constant_difference(a: PrimExpr, b: PrimExpr, bounds: Bounds | None = None) -> int | None:
    """Return ``a - b`` where that is a constant, else None."""
    if a == b:
        return 0
    difference = Algebra(bounds).distance(a, b)
    return difference.get((), 0) if is_constant(difference) else None


def limits(expr: PrimExpr, bounds: Bounds | None = None) -> tuple[int | None, int | None]:
    """Return the smallest and the largest value that ``expr`` can have, None where that is not
    known.
    """
    return Algebra(bounds).expr_interval(expr)


def split_by_variables(
    expr: PrimExpr, variables: Iterable[Var], bounds: Bounds | None = None
) -> tuple[list[tuple[int, PrimExpr]], PrimExpr] | None:
    """Return ``expr`` as (multiples of atoms that mention ``variables``, the rest), None where it
    is no such sum.
    """
    found: list[tuple[int, PrimExpr]] = []
    rest: Sum = {}
    wanted = frozenset(variables)
    for term, count in Algebra(bounds).residue(expr).items():
        if not any(_mentions(atom, wanted) for atom in term):
            rest[term] = count
        elif len(term) == 1:
            found.append((count, term[0]))
        else:
            return None
    return found, build(rest, expr.dtype)


def _mentions(expr: PrimExpr, wanted: frozenset[Var]) -> bool:
    if isinstance(expr, Var):
        return expr in wanted
    return any(_mentions(part, wanted) for part in children(expr))
