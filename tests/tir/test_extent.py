"""Extents keep the kind that they are written in: plain, ``i64``, or the dtype of a variable."""

from __future__ import annotations

import math

import pytest

from relay2relax.tir.extent import ANY, add, as_prim, equal, floordiv, is_any, maximum, mul, product, written_any
from relay2relax.tir.ir.expr import Binary, IntImm, PrimExpr, Var
from relay2relax.tir.ir.visit import variables


def test_plain_extents_stay_plain() -> None:
    assert add(2, 3) == 5
    assert isinstance(floordiv(7, 2), int)


def test_an_i64_extent_makes_an_i64_extent() -> None:
    assert add(IntImm(2), 3) == IntImm(5)
    assert maximum(128, IntImm(128)) == IntImm(128)


def test_a_number_takes_the_dtype_of_a_variable() -> None:
    n = Var("n", "int32")
    assert mul(1, n) is n
    assert product([n, 1]) is n
    assert as_prim(add(n, 2)).dtype == "int32"
    assert as_prim(add(Var("m"), 2)).dtype == "int64"


def test_nothing_is_known_of_what_is_computed_from_any() -> None:
    assert mul(ANY, 2) is ANY


def test_the_largest_of_variables() -> None:
    n, m, k = Var("n"), Var("m"), Var("k")
    largest = maximum(maximum(n, m), k)
    assert equal(largest, maximum(k, maximum(m, n))) is True
    assert equal(n, largest) is None
    assert equal(maximum(n, m), maximum(m, k)) is None
    assert maximum(largest, m) == largest


def test_hundreds_of_extents_meet_in_a_moment() -> None:
    largest: int | PrimExpr = Var("n")
    for number in range(400):
        largest = maximum(largest, Var(f"n{number}"))
    assert equal(largest, Var("m")) is None
    assert len(variables(as_prim(largest))) == 401


def test_an_unknown_extent_remembers_what_it_was_computed_as() -> None:
    found = written_any(lambda n: floordiv(add(n, 3), 4))
    assert is_any(found)
    assert found.written == Binary("//", Binary("+", ANY, IntImm(3, "int32")), IntImm(4, "int32"))
    assert add(found, 1) is ANY
    assert written_any(lambda n: mul(n, 1)) is ANY


@pytest.mark.parametrize("count", [7, 12, 40])
def test_a_product_of_many_sums_grows_by_each(count: int) -> None:
    """Multiplied out it would have ``2**count`` terms."""
    names = [Var(f"n{number}") for number in range(count)]
    found = as_prim(product([add(one, 1) for one in names]))
    # What each factor adds to the text, and what the first few are multiplied out to.
    assert len(str(found)) < 2000 + 20 * count
    values = {one: number + 2 for number, one in enumerate(names)}
    assert value_of(found, values) == math.prod(number + 3 for number in range(count))


def value_of(expr: PrimExpr, values: dict[Var, int]) -> int:
    """Return a sum of products of variables, computed by Python."""
    match expr:
        case IntImm(value):
            return value
        case Var():
            return values[expr]
        case Binary("+", a, b):
            return value_of(a, values) + value_of(b, values)
        case Binary("*", a, b):
            return value_of(a, values) * value_of(b, values)
    raise AssertionError(expr)
