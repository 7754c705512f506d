"""Extents keep the kind that they are written in: plain, ``i64``, or the dtype of a variable."""

from __future__ import annotations

from relay2relax.tir.expr import IntImm, Var
from relay2relax.tir.extent import ANY, add, floordiv, maximum, mul, product


def test_plain_extents_stay_plain():
    assert add(2, 3) == 5
    assert isinstance(floordiv(7, 2), int)


def test_an_i64_extent_makes_an_i64_extent():
    assert add(IntImm(2), 3) == IntImm(5)
    assert maximum(128, IntImm(128)) == IntImm(128)


def test_a_number_takes_the_dtype_of_a_variable():
    n = Var("n", "int32")
    assert mul(1, n) is n
    assert product([n, 1]) is n
    assert add(n, 2).dtype == "int32"
    assert add(Var("m"), 2).dtype == "int64"


def test_nothing_is_known_of_what_is_computed_from_any():
    assert mul(ANY, 2) is ANY
