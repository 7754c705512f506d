"""The canonical form is sound, idempotent and finds what is obvious; proofs never lie."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable
from itertools import permutations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sweep import examples

from relay2relax.tir import extent
from relay2relax.tir.arith.algebra import Algebra
from relay2relax.tir.arith.simplify import (
    EXTENTS,
    Bounds,
    constant_difference,
    limits,
    prove,
    simplify,
    split_by_variables,
)
from relay2relax.tir.arith.sums import flattened
from relay2relax.tir.extent import Extent
from relay2relax.tir.ir.expr import (
    Binary,
    Buffer,
    Given,
    IntImm,
    Not,
    PrimExpr,
    Select,
    Var,
    binary,
    cast,
    children,
    const,
    maximum,
    minimum,
)

N, M, K, N2 = Var("n"), Var("m"), Var("k"), Var("n")
VARIABLES = (N, M, K, N2)


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "min": min, "max": max, "truncdiv": truncated, "truncmod": lambda a, b: a - truncated(a, b) * b,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
    "!=": operator.ne, "and": lambda a, b: a and b, "or": lambda a, b: a or b,
}  # fmt: skip


def evaluate(expr: PrimExpr, values: dict[Var, int]) -> int:
    match expr:
        case IntImm(value):
            return value
        case Var():
            return values[expr]
        case Binary(op, a, b):
            return int(OPERATORS[op](evaluate(a, values), evaluate(b, values)))
        case Not(a):
            return 1 - evaluate(a, values)
        case Select(condition, a, b):
            return evaluate(a if evaluate(condition, values) else b, values)
    raise AssertionError(expr)


leaves = st.one_of(
    st.sampled_from(VARIABLES),
    st.integers(-12, 24).map(lambda value: IntImm(value)),
    st.sampled_from([2, 3, 4, 8, 12]).map(lambda value: IntImm(value)),
)


def divided(over: PrimExpr, under: PrimExpr, counts: tuple[int, int, int]) -> PrimExpr:
    """Return a sum of multiples of a number, of its remainder, and of what is left of it without
    that.
    """
    whole = Binary("*", Binary("//", over, under), under)
    parts = [
        Binary("*", one, IntImm(n)) for one, n in zip((over, whole, Binary("%", over, under)), counts, strict=True)
    ]
    return Binary("+", Binary("+", parts[0], parts[1]), parts[2])


def larger(inner: st.SearchStrategy[PrimExpr]) -> st.SearchStrategy[PrimExpr]:
    arithmetic = st.sampled_from(["+", "-", "*", "+", "*", "//", "%", "//", "%", "min", "max", "truncdiv", "truncmod"])
    compared = st.builds(Binary, st.sampled_from(["<", "<=", "==", "!=", ">", ">="]), inner, inner)
    return st.one_of(
        st.builds(Binary, arithmetic, inner, inner),
        st.builds(Binary, st.sampled_from(["//", "%"]), inner, st.sampled_from([2, 3, 4, 8, 12, -3]).map(IntImm)),
        st.builds(
            divided, inner, st.sampled_from([IntImm(2), IntImm(4), IntImm(6), M]), st.tuples(*[st.integers(-2, 2)] * 3)
        ),
        st.builds(Select, compared, inner, inner),
    )


integers = st.recursive(leaves, larger, max_leaves=10)
conditions = st.builds(Binary, st.sampled_from(["<", "<=", "==", "!=", ">", ">="]), integers, integers)
environments = st.fixed_dictionaries({var: st.integers(0, 15) for var in VARIABLES})
wild = st.fixed_dictionaries({var: st.integers(-15, 15) for var in VARIABLES})


def checked(expr: PrimExpr, values: dict[Var, int]) -> int | None:
    try:
        return evaluate(expr, values)
    except ZeroDivisionError:
        return None


@settings(max_examples=examples(400))
@given(integers, st.lists(wild, min_size=4, max_size=4))
def test_simplify_is_sound(expr: PrimExpr, points: list[dict[Var, int]]) -> None:
    simple = simplify(expr)
    for values in points:
        expected = checked(expr, values)
        if expected is not None:
            assert evaluate(simple, values) == expected


@settings(max_examples=examples(400))
@given(integers, st.lists(environments, min_size=4, max_size=4))
def test_simplify_of_extents_is_sound(expr: PrimExpr, points: list[dict[Var, int]]) -> None:
    simple = simplify(expr, EXTENTS)
    for values in points:
        expected = checked(expr, values)
        if expected is not None:
            assert evaluate(simple, values) == expected


@settings(max_examples=examples(300))
@given(integers, st.booleans())
def test_simplify_is_idempotent(expr: PrimExpr, extents: bool) -> None:
    bounds = EXTENTS if extents else None
    simple = simplify(expr, bounds)
    assert simplify(simple, bounds) == simple


# What property tests drew once: only after the remainders were joined, more could be taken out.
DRAWN = [
    divided(divided(divided(N, const(4, "int64"), (2, 1, 0)), M, (1, 0, 1)), const(2, "int64"), (0, 0, 1)),
    (N * 2 + N // 4 * 4 + N) // 3,
    (N * N * 2 + N * N // 4 * 4 + N * N) % 3,
    (N + N // 4 * 4 * -2 + N % 4 * 2) % -3,
    (M - K * -2 + K // 4 * 4 * -1) // 2,
    (K // 4 * 4 + K % 4 * -2) * 3 // 2,
    (N + N * 6 * -2 + N % 6) % 23 // 4,
    (N - M + M // 6 * 6 * 2 + M % 6) // 2,
    ((3 // M * M * 2 + 3 % M) * -2 + (3 // M * M * 2 + M) // M * M * -1) % 4,
    ((8 // M * M * -1 + 8 % M * -2) * -2 + 8 % M * -2 // 2 * 2 * -1 + M) // 4,
    (N + maximum(N, M) * 5 + maximum(N, M) % 4 * -1) % 2,
]


@pytest.mark.parametrize("bounds", [None, EXTENTS], ids=["any", "extents"])
@pytest.mark.parametrize("number", range(len(DRAWN)))
def test_what_once_changed_again_does_not(number: int, bounds: Bounds | None) -> None:
    expr = DRAWN[number]
    simple = simplify(expr, bounds)
    assert simplify(simple, bounds) == simple
    for value in range(1, 40):
        values = {N: value, M: 1 + value * 7 % 11, K: value * 5 % 13, N2: 3}
        assert evaluate(simple, values) == evaluate(expr, values)


def test_order_of_remainders_does_not_matter() -> None:
    parts = [N, M, 0 - M % 2, 0 - M % 4]
    found = {simplify(a + b + c + d) for a, b, c, d in permutations(parts)}
    assert len(found) == 1


@settings(max_examples=examples(300))
@given(st.lists(integers, min_size=2, max_size=5), st.randoms(use_true_random=False))
def test_order_does_not_matter(parts: list[PrimExpr], random: Random) -> None:
    for op in ("+", "min", "max"):
        first = parts[0]
        for part in parts[1:]:
            first = binary(op, first, part)
        shuffled = list(parts)
        random.shuffle(shuffled)
        second = shuffled[0]
        for part in shuffled[1:]:
            second = binary(op, part, second)
        if op == "+":
            assert simplify(first) == simplify(second)


@settings(max_examples=examples(400))
@given(conditions, st.lists(environments, min_size=4, max_size=4), st.integers(0, 3))
def test_proofs_never_lie(condition: Binary, points: list[dict[Var, int]], mode: int) -> None:
    # Values of M and K go beyond neither constant nor symbolic limits in the modes that state them.
    limited: Bounds = {N: (0, 15), M: (0, 15), K: (0, 15), N2: (0, 15)}
    symbolic: Bounds = {N: (0, None), M: (0, N), K: (M, 15), N2: (0, N + M)}
    bounds: Bounds | None = (None, EXTENTS, limited, symbolic)[mode]
    answer = prove(condition, bounds)
    simple = simplify(condition, bounds)
    low, high = limits(condition.a, bounds)
    for values in points:
        if mode == 3 and not (
            values[M] <= values[N] and values[M] <= values[K] and values[N2] <= values[N] + values[M]
        ):
            continue
        expected = checked(condition, values)
        if expected is None:
            continue
        if answer is not None:
            assert answer == bool(expected)
        assert evaluate(simple, values) == expected
        value = evaluate(condition.a, values)
        assert low is None or low <= value
        assert high is None or value <= high


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (lambda: (N * 784) // 784, "n"),
        (lambda: (N * 4) % 4, "0"),
        (lambda: (N * 4 + 3) // 4, "n"),
        (lambda: (N * 4 + 4) // 4, "n + 1"),
        (lambda: (N * 4 + 7) % 4, "3"),
        (lambda: (N * M) // M, "n"),
        (lambda: (N * M * 6) // (M * 2), "n*3"),
        (lambda: (N * M + M) // M, "n + 1"),
        (lambda: (N * (M + 1)) // (M + 1), "n"),
        (lambda: ((N + 1) * (M + 1)) // (M + 1), "n + 1"),
        (lambda: (N // 2) // 3, "n//6"),
        (lambda: (N % 12) % 4, "n%4"),
        (lambda: (N % 12) // 4, "n//4%3"),
        (lambda: (N // 4) * 4 + N % 4, "n"),
        (lambda: (N // 12) * 12 + (N % 12) // 4 * 4 + N % 4, "n"),
        (lambda: (N // M) * M + N % M, "n"),
        (lambda: N - (N // 4) * 4, "n%4"),
        (lambda: N - N % 4, "n//4*4"),
        (lambda: N % 4 - N, "n//4*-4"),
        (lambda: N + 1 - (N + 3) // 4 * 4, "(n + 3)%4 - 2"),
        (lambda: N - N // M * M, "n%m"),
        (lambda: N // 2 - N // 4 * 2, "n//2%2"),
        (lambda: (N + 4) // 2 - (N + 6) // 4 * 2, "(n//2 + 1)%2 - 1"),
        (lambda: N % 8 - N % 8 // 2 * 2, "n%2"),
        (lambda: N % 2 + N // 2 % 4 * 2, "n%8"),
        (lambda: N % 3 + N // 3 % 2 * 3 + N // 6 * 6, "n"),
        (lambda: (N * 3 + 2 - 3) // 2 + 1, "n + (n + 1)//2"),
        (lambda: (N * 6 + 4) // 4, "n + n//2 + 1"),
        (lambda: (N * 2) // 4, "n//2"),
        (lambda: (N * 2) % 4, "n%2*2"),
        (lambda: minimum(N + 1, N), "n"),
        (lambda: maximum(minimum(N, M), N), "n"),
        (lambda: maximum(N, maximum(M, N + 2)), "max(m, n + 2)"),
        (lambda: maximum(N - 1, -1), "n - 1"),
        (lambda: minimum(M, minimum(N, M)), "min(m, n)"),
        (lambda: (M + N) * 2 - M - N, "m + n"),
        (lambda: N - M, "n - m"),
        (lambda: 5 - N, "5 - n"),
        (lambda: -N - 3, "n*-1 - 3"),
        (lambda: binary("truncdiv", N * 6, const(4, "int64")), "n + n//2"),
        (lambda: Select(N >= 0, N + 0, M), "n"),
        (lambda: N * M * K - K * N * M, "0"),
        (lambda: (N + M) * (N + M) - N * N - M * M, "m*n*2"),
    ],
)
def test_canonical_forms(expr: Callable[[], PrimExpr], expected: str) -> None:
    assert text(simplify(expr(), EXTENTS)) == expected


def text(expr: PrimExpr) -> str:
    """Return ``expr`` as Python would write it."""
    match expr:
        case IntImm(value):
            return str(value)
        case Var(name):
            return name
        case Binary(("min" | "max") as op, a, b):
            return f"{op}({text(a)}, {text(b)})"
        case Binary(("+" | "-") as op, a, b):
            return f"{text(a)} {op} {text(b)}"
        case Binary(op, a, b):
            left, right = (f"({text(x)})" if isinstance(x, Binary) and x.op in "+-" else text(x) for x in (a, b))
            return f"{left}{op}{right}"
    raise AssertionError(expr)


def test_proofs() -> None:
    i, j = Var("i"), Var("j")
    assert prove((N * 4).equal(4 * N)) is True
    assert prove(N >= 0) is None
    assert prove(N >= 0, EXTENTS) is True
    assert prove(N < 0, EXTENTS) is False
    assert prove((N * 2).equal(M * 2 + 1)) is False
    assert prove((N * 2).not_equal(M * 2 + 1)) is True
    assert prove(N.equal(M)) is None
    assert prove(minimum(N + 1, M) <= M) is True
    assert prove(maximum(N, M) - minimum(N, M) >= 0) is True
    assert prove(minimum(N, M) < maximum(N + 1, M)) is True
    assert prove(minimum(N, M) < maximum(N, M)) is None
    assert prove(maximum(N * 5, 8 - N) > 6) is True
    assert prove(maximum(N * 5, 8 - N) > 7) is None
    assert prove(minimum(N * 2 + M, M - N) <= M) is True
    assert prove((N % 7) < 7) is True
    bounds = {i: (0, 3), j: (0, 15)}
    assert prove(i * 16 + j < 64, bounds) is True
    assert prove(i * 16 + j < 63, bounds) is None
    rows = {i: (0, N - 1), j: (0, M - 1), N: (0, None), M: (0, None)}
    assert prove(i < N, rows) is True
    assert prove((N + 3) // 4 * 4 >= N) is True
    assert prove(N // 4 * 4 <= N) is True
    assert prove((N + 2) // 4 * 4 >= N) is None
    assert prove(i * M + j < N * M, rows) is True
    assert prove(binary("and", i >= 0, i < N), rows) is True
    assert simplify((i * M + j) // M, rows) == i
    assert simplify((i * M + j) % M, rows) == j
    assert simplify((i * 16 + j) // 16, bounds) == i
    assert prove((N * M - N // 4 * 4 * M).equal(N % 4 * M)) is True
    assert prove((N * K - N // M * M * K).equal(K * (N % M))) is True
    assert prove((N * 2 - N // 4 * 4).equal(N + N % 4)) is True
    assert prove(N * minimum(N, M) <= N * N + 3, EXTENTS) is True
    assert prove(minimum(N % 2, M) <= minimum(1, M * 2), EXTENTS) is True
    assert constant_difference((N // 4) * 4 + 3, N - N % 4) == 3
    assert constant_difference(N, M) is None
    assert limits(i * 4 - j, bounds) == (-15, 12)
    assert limits((N % 8 - M) // 2, EXTENTS) == (None, 3)
    assert limits((N % 8 - M - 9) * (3 - K), EXTENTS) == (None, None)
    assert limits((2 - N) * (i + 1), {**bounds, N: (0, None)}) == (None, 8)


@pytest.mark.parametrize("bounds", [None, EXTENTS])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_sums_of_variables_take_a_short_way_to_the_same_form(dtype: str, bounds: Bounds | None) -> None:
    random = Random(17)
    leaves: list[PrimExpr] = [Var("x", dtype), Var("y", dtype), Var("x", dtype), Given("g", dtype)]
    for _ in range(examples(500)):
        expr = random.choice(leaves)
        for _ in range(random.randrange(1, 9)):
            other = random.choice([*leaves[: random.choice([3, 4])], IntImm(random.choice([0, -1, 3, 1 << 31]), dtype)])
            left, right = random.sample([expr, other], 2)
            expr = random.choice([Binary("+", left, right), Binary("-", left, right), Binary("*", left, right)])
        assert simplify(expr, bounds) == Algebra(bounds).simplify(expr)


def test_names_and_age_order_the_terms() -> None:
    older, newer, other = Var("x"), Var("x"), Var("a")
    for expr in (newer + older + other, other + older + newer, older + (other + newer)):
        simple = simplify(expr)
        assert simple == Binary("+", Binary("+", other, older), newer)


def test_dtypes_are_kept() -> None:
    i = Var("i", "int32")
    assert simplify(i * 4 // 4) == i
    assert simplify((i + 1) * 2).dtype == "int32"
    mixed = simplify(cast("int64", i * 2 // 2) + N)
    assert mixed.dtype == "int64"
    assert mixed == N + cast("int64", i)
    byte = Var("b", "uint8")
    wrapping = Binary("-", Binary("+", byte, const(1, "uint8")), const(1, "uint8"))
    assert simplify(wrapping) is wrapping
    buffer = Buffer("at", (N,), "int64")
    assert simplify(buffer[N * 2 // 2] - buffer[N]) == IntImm(0)
    assert split_by_variables(N * 4 + M + 3, [N]) == ([(4, N)], M + 3)
    assert split_by_variables(N // 4 + M, [N]) == ([(1, N // 4)], M)
    assert split_by_variables(N * M, [N]) is None


def test_it_is_fast() -> None:
    expr = (N * 784 + 3) // 784 + M * 2
    start = time.perf_counter()
    for _ in range(2000):
        simplify(expr, EXTENTS)
    assert time.perf_counter() - start < 2.0


def test_many_extents_meet() -> None:
    extents = [Var(f"n{i}") for i in range(300)]
    start = time.perf_counter()
    joined: Extent = extents[0]
    for one in extents[1:]:
        joined = extent.maximum(joined, one)
    assert extent.maximum(joined, extents[40]) == joined
    assert extent.equal(joined, extents[0]) is None
    assert isinstance(joined, PrimExpr)
    assert prove(joined >= extents[200], EXTENTS) is True
    assert limits(joined, {one: (i, 2 * i) for i, one in enumerate(extents)}) == (299, 598)
    grown = extent.maximum(joined, extent.add(extents[40], 1))
    assert len(flattened("max", extent.as_prim(grown))) == 300
    assert time.perf_counter() - start < 60
    assert depth(joined) < 45
    assert depth(extent.as_prim(extent.total(extents))) < 45


def depth(expr: PrimExpr) -> int:
    return 1 + max((depth(part) for part in children(expr)), default=0)


def test_nested_cases_end() -> None:
    """Minima and maxima of sums, nested so that the cases of all levels together are beyond
    counting.
    """
    start = time.perf_counter()
    rows = [Var(f"x{i}") for i in range(6)]
    expr: PrimExpr = rows[0]
    for i, row in enumerate(rows[1:]):
        op = (minimum, maximum)[i % 2]
        expr = op(expr + row, maximum(row * 2, expr) + row)
    values = {row: (i * 7) % 11 for i, row in enumerate(rows)}
    for bounds in (None, EXTENTS, dict.fromkeys(rows, (0, 15))):
        simple = simplify(rows[0] + rows[1] - rows[0], bounds)
        assert simple == rows[1]
        assert prove(expr < expr, bounds) is not True
        low, _ = limits(expr, bounds)
        assert low is None or low <= shared_value(expr, values)
        assert shared_value(simplify(expr, bounds), values) == shared_value(expr, values)
    assert time.perf_counter() - start < 60


def shared_value(expr: PrimExpr, values: dict[Var, int]) -> int:
    """Evaluate an expression whose parts are shared, each once."""
    done: dict[int, int] = {}

    def value(one: PrimExpr) -> int:
        if id(one) not in done:
            done[id(one)] = (
                int(OPERATORS[one.op](value(one.a), value(one.b))) if isinstance(one, Binary) else evaluate(one, values)
            )
        return done[id(one)]

    return value(expr)
