"""Conditions that need several facts at once: identities that TVM's analyzer knows, and what does
not hold.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Mapping

import pytest

from relay2relax.tir.arith.algebra import Algebra
from relay2relax.tir.arith.linear import Search
from relay2relax.tir.arith.simplify import limits, prove, simplify
from relay2relax.tir.ir.expr import (
    Binary,
    BinaryOp,
    Cast,
    IntImm,
    Not,
    PrimExpr,
    Select,
    Var,
    binary,
    cast,
    maximum,
    minimum,
)

X, Y, Z = Var("x", "int32"), Var("y", "int32"), Var("z", "int32")
LOOP = Var("i", "int32")
SMALL = {X: (1, 4095), Y: (1, 4095)}
DIGIT = {Y: (0, 31), Z: (0, 3)}


def select(condition: PrimExpr, a: PrimExpr | int, b: PrimExpr | int) -> Select:
    return Select(condition, *(IntImm(one, "int32") if isinstance(one, int) else one for one in (a, b)))


NEGATIVE = binary("<", X, 0)
EQUAL: list[tuple[PrimExpr, PrimExpr | int, Mapping[Var, tuple[int, int]]]] = [
    (X % 2 + (X + 1) % 2, 1, {}),
    ((X + 1) // 2 - X // 2, X % 2, {}),
    ((X + 1) // 2 - X % 2, X // 2, {}),
    (X // 2 - (X - 1) // 2, 1 - X % 2, {}),
    ((X + 5) // 3 - X // 3, (X % 3 + 5) // 3, {}),
    ((X % 2 + 7) // 2 + X // 2, (X + 7) // 2, {}),
    ((X % 2 + 1) // 2, X % 2, {}),
    ((X * 32 + Y) // 64, X // 2, DIGIT),
    ((X * 32 + Y) % 64, X % 2 * 32 + Y, DIGIT),
    ((X * 128 + Y * 4 + Z) // 512, X // 4, DIGIT),
    (X % 16 // 2 * 2 // 6, X % 16 // 6, {}),
    (minimum(X * 6, Y) // 2, minimum(X * 3, Y // 2), {}),
    (minimum(X // 10, Y // 10), minimum(X, Y) // 10, {}),
    (maximum(X // -10, Y // -10), minimum(X, Y) // -10, {}),
    (minimum(maximum(X, Y), maximum(Z, X)), maximum(minimum(Y, Z), X), {}),
    (maximum(minimum(Y, X), minimum(X, Z)), minimum(maximum(Y, Z), X), {}),
    (minimum(X, Y) * maximum(X, Y), X * Y, {}),
    (select(NEGATIVE, Y, 0) + select(NEGATIVE, 1, Z), select(NEGATIVE, Y + 1, Z), {}),
    (minimum(select(NEGATIVE, Y, 0), select(NEGATIVE, 1, Z)), select(NEGATIVE, minimum(Y, 1), minimum(0, Z)), {}),
    (binary("truncdiv", X, 3) * 3 + binary("truncmod", X, 3), X, {}),
    (Y - binary("truncdiv", Y, -5) * -5, binary("truncmod", Y, 5), {}),
    (binary("truncmod", X * -1, 2), binary("truncmod", X, -2) * -1, {}),
    (binary("truncdiv", X, X), 1, {}),
    (binary("truncmod", X * 32 * X, X * Y), binary("truncmod", X * 32, Y) * X, {}),
    (binary("truncdiv", X * 2 * X * Y, X * 4 * X * X), binary("truncdiv", Y, X * 2), {}),
    (minimum(binary("truncdiv", X, -10), binary("truncdiv", Y, -10)), binary("truncdiv", maximum(X, Y), -10), {}),
    (binary("truncdiv", Y + X, X), binary("truncdiv", Y, X) + 1, {X: (0, 99), Y: (0, 99)}),
    (binary("truncmod", X * 10 + Y, -2), binary("truncmod", Y, 2), {X: (0, 99), Y: (0, 99)}),
    (binary("truncmod", X * 10, -2), 0, {X: (-99, 0)}),
    (cast("int64", X + Y + 1) - cast("int64", X), cast("int64", Y) + 1, {}),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(EQUAL)))
def test_equal(number: int) -> None:
    a, b, bounds = EQUAL[number]
    assert prove(binary("==", a, b), bounds) is True
    assert prove(binary("!=", a, b), bounds) is False
    assert prove(binary("==", a + 1, b), bounds) is False


HOLDS: list[tuple[PrimExpr, Mapping[Var, tuple[int, int]]]] = [
    (binary("<", X * Y, (X + Y) * 2048), SMALL),
    (binary("<", X * Y * 59, (X + Y) * 176128), SMALL),
    (Not(Binary("and", binary("<", X, 1), binary(">", X, 0))), {}),
    (Not(Binary("and", binary("<=", X, Y), binary("<", Y, X))), {}),
    (Binary("or", binary(">", X, Y), Not(binary(">", X, Y))), {}),
    (Binary("or", binary("!=", X, 1), binary("!=", X, 2)), {}),
    (Binary("or", binary("!=", X * Y, 0), Binary("or", binary("==", X, 0), binary("==", Y, 0))), {}),
    (Binary("or", binary("==", X * Y, 0), binary("!=", X, 0)), {}),
    # x // 8 == 3 and x % 8 == 4 says that x is 28.
    (Binary("or", Not(Binary("and", binary("==", X // 8, 3), binary("==", X % 8, 4))), binary("==", X, 28)), {}),
    (Binary("or", Not(Cast("bool", X)), binary("!=", X, 0)), {}),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(HOLDS)))
def test_holds(number: int) -> None:
    condition, bounds = HOLDS[number]
    assert prove(condition, bounds) is True
    assert prove(Not(condition), bounds) is False


@pytest.mark.parametrize(
    ("op", "under", "expected"),
    [
        # Expected: TVM's ConstIntBound of x from -9 to 4 (to 6 from 0 for the last one).
        ("truncdiv", (4, 10), (-2, 1)),
        ("truncdiv", (-2, 0), (-4, 9)),
        ("truncdiv", (-4, 12), (-9, 9)),
        ("truncmod", (4, 10), (-9, 4)),
        ("//", (-2, 0), (-4, 9)),
        ("//", (-4, 12), (-9, 9)),
        ("%", (-5, 7), (-4, 6)),
    ],
)
def test_limits_of_divisions_by_what_may_be_negative(
    op: BinaryOp, under: tuple[int, int], expected: tuple[int, int]
) -> None:
    assert limits(binary(op, X, Y), {X: (0, 6) if op == "%" else (-9, 4), Y: under}) == expected


def test_limits_that_are_expressions() -> None:
    bounds = {X: (0, Y - 1), LOOP: (0, X), Y: (1, None)}
    assert prove(binary("<", LOOP * 2, Y * 2), bounds) is True
    assert prove(binary("<=", LOOP * 2, Y), bounds) is None


OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "min": min, "max": max, "==": operator.eq, "<": operator.lt, "<=": operator.le,
}  # fmt: skip


def value(expr: PrimExpr, values: Mapping[Var, int]) -> int:
    match expr:
        case IntImm(number):
            return number
        case Var():
            return values[expr]
        case Binary(op, a, b):
            return OPERATORS[op](value(a, values), value(b, values))
    raise TypeError(expr)


COMPARED: tuple[BinaryOp, ...] = ("==", "<", "<=")


def test_nothing_false_is_proved() -> None:
    """Every comparison of every pair of small expressions, against all values from -9 to 9."""
    parts = [X % 2, X // 2, (X + 1) // 2, minimum(X, Y), maximum(X, Y), X * Y, (X + Y) // 3, Y % 3 * 2, X - Y]
    grid = [{X: x, Y: y} for x, y in itertools.product(range(-9, 10), repeat=2)]
    answers = {True: 0, False: 0, None: 0}
    for a, b in itertools.product(parts, repeat=2):
        for op in COMPARED:
            condition = Binary(op, a, b + (a is not b))
            found = prove(condition)
            answers[found] += 1
            if found is not None:
                assert all(bool(value(condition, values)) is found for values in grid), condition
    assert min(answers.values()) > 10


def test_extremes_in_lowest_terms() -> None:
    assert simplify(maximum(X + 2, Y + 3)) == simplify(maximum(X, Y + 1) + 2)
    assert simplify(minimum(X * 4, Y * 6)) == simplify(minimum(X * 2, Y * 3) * 2)
    assert simplify(maximum(maximum(X, Y) * 2 + 4, Z * 2)) == simplify(maximum(maximum(X + 2, Y + 2), Z) * 2)


@pytest.mark.parametrize("count", [3, 60])
def test_a_sum_of_any_length_contradicts_its_opposite(count: int) -> None:
    whole: PrimExpr = LOOP
    for place in range(count):
        whole = whole - Var(f"n{place}", "int32")
    search = Search(Algebra({}))
    assert search.contradictory([(binary("<", whole, 0), True), (binary(">=", whole, 0), True)])
    assert not search.contradictory([(binary("<", whole, 0), True), (binary(">=", whole, -1), True)])
