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
from relay2relax.tir.ir.expr import AnyExtent, Binary, FloatImm, IntImm, PrimExpr, Var, binary, children, convert

__all__ = [
    "EXTENTS",
    "Bounds",
    "Limit",
    "ceiling",
    "constant_difference",
    "follows",
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
    algebra = Algebra(bounds)
    answer = algebra.prove(condition)
    return decided(algebra, condition) if answer is None else answer


def follows(condition: PrimExpr, facts: Sequence[PrimExpr], bounds: Bounds | None = None) -> bool:
    """Whether ``condition`` is proved to hold where all of ``facts`` do."""
    if prove(condition, bounds):
        return True
    claims = [(condition, False), *((fact, True) for fact in facts)]
    return bool(facts) and Search(Algebra(bounds)).contradictory(claims)


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
