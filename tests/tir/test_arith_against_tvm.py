"""What TVM's analyzer proves of extents, ours proves: random expressions, and equal ones written in
another way.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from relay2relax.tir.arith.simplify import EXTENTS, Bounds, prove
from relay2relax.tir.ir.expr import Binary, BinaryOp, IntImm, PrimExpr, Var, binary

pytestmark = pytest.mark.tvm
N, M, K = Var("n"), Var("m"), Var("k")
CASES = 500
# Where there is no limit; more would overflow in TVM's arithmetic.
_END = 2**31


def expression(rng: random.Random, depth: int) -> PrimExpr:
    """Return sums, products, quotients, remainders and choices of three extents and small
    numbers.
    """
    if depth == 0 or rng.randrange(5) == 0:
        return rng.choice([N, M, K, IntImm(rng.randint(1, 8))])
    op: BinaryOp = rng.choice(["+", "+", "-", "*", "*", "//", "%", "min", "max"])
    if op in ("//", "%"):
        right: PrimExpr = rng.choice([N, M, K]) if rng.randrange(6) == 0 else IntImm(rng.choice([2, 3, 4, 8]))
    else:
        right = expression(rng, depth - 1)
    return binary(op, expression(rng, depth - 1), right)


def rewritten(rng: random.Random, expr: PrimExpr) -> PrimExpr:
    """Return ``expr`` written in another way."""
    match expr:
        case Binary(("+" | "*" | "min" | "max") as op, a, b) if rng.randrange(2):
            return binary(op, rewritten(rng, b), rewritten(rng, a))
        case Binary("*", Binary("+" | "-" as op, a, b), c):
            return binary(op, binary("*", rewritten(rng, a), c), binary("*", rewritten(rng, b), c))
        case Binary("//" as op, a, IntImm(number)) if rng.randrange(2):
            # One more divisor, taken off again.
            return binary("-", binary(op, binary("+", rewritten(rng, a), number), number), 1)
        case Binary("max", a, b) if rng.randrange(2):
            # The other one is the minimum.
            return binary("-", binary("+", rewritten(rng, a), rewritten(rng, b)), binary("min", a, b))
        case Binary("min", a, b) if rng.randrange(2):
            factor = rng.choice([2, 3])
            return binary("//", binary("min", binary("*", a, factor), binary("*", b, factor)), factor)
        case Binary("%", a, IntImm() as number) if rng.randrange(2):
            return binary("-", a, binary("*", binary("//", a, number), number))
        case Binary(op, a, b):
            return binary(op, rewritten(rng, a), rewritten(rng, b))
    return expr


def conditions(seed: int) -> Iterator[PrimExpr]:
    rng = random.Random(seed)
    for number in range(CASES):
        left = expression(rng, 3)
        if number % 3:
            right = rewritten(rng, left)
            shift = rng.choice([0, 0, 1, 2])
            yield binary(rng.choice(["==", "<=", ">=", "<"]), left, binary("+", right, shift) if shift else right)
        else:
            yield binary(rng.choice(["==", "!=", "<", "<=", ">", ">="]), left, expression(rng, 2))


def in_tvm(expr: PrimExpr, names: dict[Var, Any]) -> Any:
    from tvm import tirx

    match expr:
        case IntImm(value):
            return tirx.IntImm("int64", value)
        case Var():
            return names[expr]
        case Binary(op, a, b):
            x, y = in_tvm(a, names), in_tvm(b, names)
            made = {
                "+": tirx.Add, "-": tirx.Sub, "*": tirx.Mul, "//": tirx.FloorDiv, "%": tirx.FloorMod, "min": tirx.Min,
                "max": tirx.Max, "==": tirx.EQ, "!=": tirx.NE, "<": tirx.LT, "<=": tirx.LE, ">": tirx.GT,
                ">=": tirx.GE,
            }  # fmt: skip
            return made[op](x, y)
    raise TypeError(expr)


def bounds(seed: int) -> Bounds:
    """Return what is known of the variables: that they are extents, or limits of their own."""
    if seed < 2:
        return EXTENTS
    rng = random.Random(seed)
    return {var: (rng.choice([0, 1, -4, None]), rng.choice([None, 7, 15, 31, 127])) for var in (N, M, K)}


@pytest.mark.sweep(every=4)
@pytest.mark.parametrize("seed", range(6))
def test_what_tvm_proves_is_proved(seed: int) -> None:
    from tvm import tirx

    sym = pytest.importorskip("tvm.sym")

    names = {var: tirx.Var(var.name, "int64") for var in (N, M, K)}
    theirs = ours = 0
    missed: list[str] = []
    known_bounds = bounds(seed)
    for condition in conditions(seed):
        if isinstance(condition, IntImm):
            continue
        analyzer = sym.Analyzer()
        for var, name in names.items():
            low, high = known_bounds[var]
            analyzer.update(name, sym.ConstIntBound(-_END if low is None else low, _END if high is None else high))
        known = bool(analyzer.can_prove(in_tvm(condition, names)))
        found = prove(condition, known_bounds)
        assert not (known and found is False), condition
        theirs += known
        ours += found is True
        if known and found is None:
            missed.append(repr(condition))
    assert theirs > 80
    assert not missed, f"{len(missed)} of {theirs} missed: " + "\n".join(missed[:20])
    assert ours >= theirs
