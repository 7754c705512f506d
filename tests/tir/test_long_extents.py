"""Extents of many variables: linear work, and an error of ours where there are too many."""

from __future__ import annotations

import time
from functools import reduce

import pytest

from relay2relax.core.errors import LimitError
from relay2relax.tir import extent
from relay2relax.tir.arith.evaluate import integer
from relay2relax.tir.extent import MOST_PARTS, as_prim
from relay2relax.tir.ir.expr import Var


def variables(count: int) -> list[Var]:
    return [Var(f"n{number}", "int64") for number in range(count)]


@pytest.mark.parametrize("count", [3, 40, 600])
def test_products_and_sums_of_many_extents_are_what_they_say(count: int) -> None:
    names = variables(count)
    values = {name: 1 + (place % 7 == 0) for place, name in enumerate(names)}
    product, total = 1, 0
    for value in values.values():
        product, total = product * value, total + value
    assert integer(as_prim(extent.product([3, *names])), values) == 3 * product
    assert integer(as_prim(extent.total([3, *names])), values) == 3 + total


def test_joined_extents_are_canonical_in_any_order() -> None:
    names = variables(50)
    assert extent.product(names) == extent.product(reversed(names))
    assert extent.product(names) == extent.mul(extent.product(names[20:]), extent.product(names[:20]))
    assert extent.total(names) == extent.total(reversed(names))
    assert extent.total([*names, extent.sub(0, names[7])]) == extent.total(names[:7] + names[8:])


@pytest.mark.parametrize("join", [extent.product, extent.total, lambda names: product_by_steps(names)])
def test_many_extents_take_a_moment(join: object) -> None:
    assert callable(join)
    before = time.process_time()
    whole = join(variables(200))
    assert extent.add(extent.floordiv(whole, 7), 1) != whole
    # One by one they took 1 s and more, and nested too deep from 500 on.
    assert time.process_time() - before < 0.6


def product_by_steps(names: list[Var]) -> extent.Extent:
    whole: extent.Extent = 1
    for name in names:
        whole = extent.mul(whole, name)
    return whole


def test_squares_end_at_the_limit() -> None:
    start: extent.Extent = Var("n", "int64")
    before = time.process_time()
    with pytest.raises(LimitError, match=rf"R2R-0835.* more than {MOST_PARTS} variables"):
        reduce(lambda size, _: extent.add(extent.mul(size, size), 1), range(60), start)
    assert time.process_time() - before < 2


@pytest.mark.parametrize("join", [extent.product, extent.total])
def test_too_many_extents_are_refused(join: object) -> None:
    assert callable(join)
    join(variables(MOST_PARTS))
    with pytest.raises(LimitError, match="R2R-0835"):
        join(variables(MOST_PARTS + 1))
