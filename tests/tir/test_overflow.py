"""What data decide wraps around: simplified expressions have the value of arithmetic with so many
bits, whatever is loaded. The witness is arithmetic of Python's integers, wrapped by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sweep import examples
from wrap_around import BITS, Beyond, Values, evaluate, near, wrapped

from relay2relax.tir.arith.overflow import Machine
from relay2relax.tir.arith.simplify import (
    EXTENTS,
    Bounds,
    constant_difference,
    is_exact,
    is_place,
    limits,
    prove,
    simplify,
)
from relay2relax.tir.ir.expr import (
    Binary,
    BinaryOp,
    Buffer,
    BufferLoad,
    Cast,
    IntImm,
    PrimExpr,
    Select,
    Var,
)
from relay2relax.tir.ir.visit import subexpressions

WIDE = ("int32", "int64")
COMPARED = ("<", "<=", "==", "!=", ">", ">=")
# Data: an element of each; positions: loops of known and of unknown extent.
LOADS = {dtype: [BufferLoad(Buffer(f"{dtype}_{n}", (), dtype), ()) for n in range(2)] for dtype in BITS}
LOOPS = {dtype: [Var(f"{dtype}_i", dtype), Var(f"{dtype}_n", dtype)] for dtype in WIDE}
BOUNDS: Bounds = {loops[0]: (0, 15) for loops in LOOPS.values()} | {loops[1]: (0, None) for loops in LOOPS.values()}


def leaves(dtype: str) -> st.SearchStrategy[PrimExpr]:
    narrow = [Cast(dtype, load) for other in BITS if other != dtype for load in LOADS[other]]
    numbers = st.one_of(st.integers(-9, 24), st.sampled_from([2, 3, 4, 8, -1, 100, 1 << 20, (1 << 31) - 1, -(1 << 31)]))
    return st.one_of(
        st.sampled_from(LOADS[dtype]),
        st.sampled_from(LOADS[dtype]),
        st.sampled_from(LOOPS[dtype]),
        st.sampled_from(narrow),
        numbers.map(lambda value: IntImm(value, dtype)),
    )


def larger(dtype: str, inner: st.SearchStrategy[PrimExpr]) -> st.SearchStrategy[PrimExpr]:
    ops = st.sampled_from(["+", "-", "*", "+", "*", "//", "%", "//", "%", "min", "max", "truncdiv", "truncmod"])
    few = st.sampled_from([2, 3, 4, 8, 12, -3, -1]).map(lambda value: IntImm(value, dtype))
    compared = st.builds(Binary, st.sampled_from(COMPARED), inner, inner)
    low = st.builds(lambda one, number: Binary("max", one, number), inner, few)
    high = st.builds(lambda one, number: Binary("min", one, number), low, few)
    divided = st.builds(
        lambda x, d, a, b: Binary("+", Binary("*", Binary("//", x, d), a), Binary("*", Binary("%", x, d), b)),
        inner, st.one_of(few, inner), few, few,
    )  # fmt: skip
    narrowed = st.builds(lambda one: Cast(dtype, Cast("int64" if dtype == "int32" else "int32", one)), inner)
    return st.one_of(
        st.builds(Binary, ops, inner, inner),
        st.builds(Binary, st.sampled_from(["*", "//", "%", "truncdiv", "truncmod"]), inner, few),
        divided,
        high,
        st.builds(Select, compared, inner, inner),
        narrowed,
    )


def integers(dtype: str) -> st.SearchStrategy[PrimExpr]:
    return st.recursive(leaves(dtype), lambda inner: larger(dtype, inner), max_leaves=8)


some = st.sampled_from(WIDE).flatmap(integers)
# Indices that are often known to lie among eight elements.
places = st.sampled_from(WIDE).flatmap(
    lambda dtype: st.one_of(
        st.builds(lambda one: Binary("%", one, IntImm(8, dtype)), integers(dtype)),
        st.builds(
            lambda one, two: Binary("max", Binary("min", one, IntImm(7, dtype)), two),
            integers(dtype),
            st.one_of(st.just(IntImm(0, dtype)), integers(dtype)),
        ),
        integers(dtype).map(lambda one: Binary("min", one, IntImm(7, dtype))),
        st.sampled_from([LOOPS[dtype][0], Binary("*", LOOPS[dtype][0], LOOPS[dtype][1])]).flatmap(
            lambda one: st.integers(1, 1 << 31).map(
                lambda many: Binary("min", Binary("*", one, IntImm(many, dtype)), IntImm(7, dtype))
            )
        ),
    )
)
pairs = st.sampled_from(WIDE).flatmap(lambda dtype: st.tuples(integers(dtype), integers(dtype)))


def environments(seed: int) -> Iterator[Values]:
    """Some values of all data and positions."""
    random = Random(seed)
    for _ in range(24):
        data: dict[PrimExpr, int] = {load: near(dtype, random) for dtype, loads in LOADS.items() for load in loads}
        yield data | {loop: random.randint(0, 15) for loops in LOOPS.values() for loop in loops}


seeds = st.integers(0, 1 << 32)


def value(expr: PrimExpr, values: Values) -> int | None:
    """Return the value of an expression, None where a position leaves its dtype."""
    try:
        return evaluate(expr, values, strict=True)
    except Beyond:
        return None


@settings(max_examples=examples(60))
@given(some, seeds, st.sampled_from([None, BOUNDS, EXTENTS]))
def test_simplify(expr: PrimExpr, seed: int, bounds: Bounds | None) -> None:
    made = simplify(expr, bounds)
    for values in environments(seed):
        wanted = value(expr, values)
        if wanted is not None:
            assert evaluate(made, values) == wanted, (expr, made)


@settings(max_examples=examples(60))
@given(pairs, st.sampled_from(COMPARED), seeds)
def test_prove(pair: tuple[PrimExpr, PrimExpr], op: str, seed: int) -> None:
    condition = Binary(op, *pair)  # type: ignore[arg-type]
    answer = prove(condition, BOUNDS)
    for values in environments(seed):
        wanted = value(condition, values)
        if wanted is not None and answer is not None:
            assert answer == bool(wanted), condition


@settings(max_examples=examples(120))
@given(places, pairs, seeds)
@pytest.mark.sweep(every=2)
def test_places(place: PrimExpr, fact: tuple[PrimExpr, PrimExpr], seed: int) -> None:
    """What is proved to lie inside does so in arithmetic of so many bits, of large extents too."""
    known, bounds = Binary("<", *fact), Machine(BOUNDS)
    facts = [known] if is_exact(known, bounds) else []
    assume(is_place(place, IntImm(8, place.dtype), facts, bounds))
    random = Random(seed)
    for values in environments(seed):
        far: Values = {loops[1]: random.choice([0, 1, random.randint(0, (1 << 31) - 1)]) for loops in LOOPS.values()}
        for one in (values, {**values, **far}):
            if not facts or evaluate(known, one):
                assert 0 <= evaluate(place, one) < 8, (place, facts)
                assert evaluate(simplify(place, BOUNDS), one) == evaluate(place, one), place


@pytest.mark.parametrize("op", ["//", "%", "truncdiv", "truncmod"])
@pytest.mark.parametrize(("inner", "outer"), [(65536, 65536), ((1 << 31) - 1, 1 << 30), (3, -(1 << 31))])
def test_divisors_together_are_of_the_dtype(op: BinaryOp, inner: int, outer: int) -> None:
    place = LOOPS["int32"][0]
    expr = Binary(op, Binary("//", place, IntImm(inner, "int32")), IntImm(outer, "int32"))
    made = simplify(expr, {place: (0, None)})
    assert all(-(1 << 31) <= one.value < 1 << 31 for one in subexpressions(made) if isinstance(one, IntImm)), made
    for value in (0, 1, 65535, 65536, (1 << 31) - 2, (1 << 31) - 1):
        assert evaluate(made, {place: value}) == evaluate(expr, {place: value})


@settings(max_examples=examples(40))
@given(some, seeds)
def test_limits(expr: PrimExpr, seed: int) -> None:
    low, high = limits(expr, BOUNDS)
    for values in environments(seed):
        found = value(expr, values)
        assert found is None or ((low is None or low <= found) and (high is None or found <= high)), (expr, low, high)


@settings(max_examples=examples(40))
@given(some, st.integers(-5, 5), seeds)
def test_distances_are_right_but_for_whole_turns(expr: PrimExpr, far: int, seed: int) -> None:
    moved = Binary("+", expr, IntImm(far, expr.dtype))
    found = constant_difference(moved, expr, BOUNDS)
    assume(found is not None)
    assert wrapped(found or 0, expr.dtype) == far
