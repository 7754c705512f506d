"""What TVM's analyzer proves of extents, ours proves: random expressions, and equal ones written in another way."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from relay2relax.tir.arith import EXTENTS, prove
from relay2relax.tir.expr import Binary, BinaryOp, IntImm, PrimExpr, Var, binary

pytestmark = pytest.mark.tvm
N, M, K = Var("n"), Var("m"), Var("k")
CASES = 1500


def expression(rng: random.Random, depth: int) -> PrimExpr:
    """Return sums, products, quotients, remainders and choices of three extents and small numbers."""
    if depth == 0 or rng.randrange(5) == 0:
        return rng.choice([N, M, K, IntImm(rng.randint(1, 8))])
    op: BinaryOp = rng.choice(["+", "+", "-", "*", "*", "//", "%", "min", "max"])
    right = IntImm(rng.choice([2, 3, 4, 8])) if op in ("//", "%") else expression(rng, depth - 1)
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


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_tvm_proves_is_proved(seed: int) -> None:
    import tvm
    from tvm import tirx

    sym = pytest.importorskip("tvm.sym")

    names = {var: tirx.Var(var.name, "int64") for var in (N, M, K)}
    theirs = ours = 0
    missed: list[str] = []
    for condition in conditions(seed):
        if isinstance(condition, IntImm):
            continue
        analyzer = sym.Analyzer()
        for var in names.values():
            analyzer.bind(var, tvm.ir.Range.from_min_extent(tirx.IntImm("int64", 0), tirx.IntImm("int64", 2**31)))
        known = bool(analyzer.can_prove(in_tvm(condition, names)))
        found = prove(condition, EXTENTS)
        assert not (known and found is False), condition
        theirs += known
        ours += found is True
        if known and found is None:
            missed.append(repr(condition))
    assert theirs > 300
    assert not missed, f"{len(missed)} of {theirs} missed: " + "\n".join(missed[:20])
    assert ours >= theirs
