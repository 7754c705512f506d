"""Loops of the C backend without a reduction: what is turned around by tiles, and choices that
become vectors.
"""

from __future__ import annotations

import numpy as np
import pytest

from relay2relax.backends.c.codegen.program import generate
from relay2relax.backends.c.loaded_module import compile_prim_funcs
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.schedule.schedule import schedule
from relay2relax.tir import te
from relay2relax.tir.ir.expr import Call, PrimExpr, Select, Var, const, if_then_else, logical_and
from relay2relax.tir.ir.stmt import Allocate, PrimFunc
from relay2relax.tir.ir.visit import statements

pytestmark = pytest.mark.compiler


def turned(rows: int | Var, columns: int, dtype: str = "float32") -> PrimFunc:
    x = te.placeholder((rows, columns), dtype, "X")
    return te.create_prim_func([x], [te.compute((columns, rows), lambda i, j: x[j, i], "turned")])


def in_tiles(func: PrimFunc) -> bool:
    (stage,) = schedule(func, Machine()).stages
    return any(isinstance(node, Allocate) for node in statements(stage.stmt))


@pytest.mark.parametrize(("rows", "tiles"), [(16, False), (64, False), (65, True), (130, True), (1024, True)])
def test_a_matrix_whose_rows_share_places_of_the_cache_is_turned_by_tiles(rows: int, tiles: bool) -> None:
    """Rows of 4,096 bytes begin in 16 places of 64 KB: of four lines each, 64 rows have room."""
    func = turned(rows, 1024)
    assert in_tiles(func) is tiles
    data = np.arange(rows * 1024, dtype=np.float32).reshape(rows, 1024)
    result = np.full((1024, rows), np.nan, np.float32)
    compile_prim_funcs([func]).call("main", data, result)
    assert (result == data.T).all()


def test_a_matrix_whose_rows_lie_in_different_places_is_not() -> None:
    assert not in_tiles(turned(777, 531))


@pytest.mark.parametrize("dtype", ["float64", "int8", "bool", "float16"])
def test_tiles_of_every_width(dtype: str) -> None:
    func = turned(300, 4096, dtype)
    assert in_tiles(func)
    data = (np.arange(300 * 4096) % 251 % (2 if dtype == "bool" else 251)).reshape(300, 4096).astype(dtype)
    result = np.zeros((4096, 300), dtype)
    compile_prim_funcs([func]).call("main", data, result)
    assert (result == data.T).all()


def test_any_number_of_rows_is_turned_by_tiles() -> None:
    compiled = compile_prim_funcs([turned(Var("n"), 1000)])
    for rows in (1, 15, 16, 33):
        data = np.arange(rows * 1000, dtype=np.float32).reshape(rows, 1000)
        result = np.full((1000, rows), np.nan, np.float32)
        compiled.call("main", data, result)
        assert (result == data.T).all()


def test_what_lies_outside_of_an_operand_is_not_read_by_tiles_either() -> None:
    """A border of zeros, added while the matrix is turned around."""
    x = te.placeholder((128, 1022), name="X")

    def inside(i: Var, j: Var) -> PrimExpr:
        known = logical_and(logical_and(i >= 1, i < 1023), logical_and(j >= 1, j < 129))
        return if_then_else(known, x[j - 1, i - 1], const(0, "float32"))

    func = te.create_prim_func([x], [te.compute((1024, 130), inside, "padded")])
    data = np.arange(128 * 1022, dtype=np.float32).reshape(128, 1022) + 1
    result = np.full((1024, 130), np.nan, np.float32)
    compile_prim_funcs([func]).call("main", data, result)
    assert (result == np.pad(data, 1).T).all()


def test_operands_of_a_choice_are_read_in_any_case() -> None:
    """``Select`` may evaluate both branches: the slope is read before the choice, which is then one
    of vectors.
    """
    x, slope = te.placeholder((6, 40), name="X"), te.placeholder((6,), name="slope")
    out = te.compute((6, 40), lambda i, j: Select(x[i, j] > 0.0, x[i, j], x[i, j] * slope[i]), "out")
    func = te.create_prim_func([x, slope], [out])
    units, _ = generate([func], Machine())
    assert sum(unit.text.count("const float v") for unit in units) == 1
    data = np.random.default_rng(1).standard_normal((6, 40)).astype(np.float32)
    slopes, result = np.arange(6, dtype=np.float32), np.empty((6, 40), np.float32)
    compile_prim_funcs([func]).call("main", data, slopes, result)
    assert (result == np.where(data > 0, data, data * slopes[:, None])).all()


def test_what_a_product_is_beyond_an_integer_is_rounded_first_in_vectors_too() -> None:
    a, b, k = te.placeholder((8, 16), name="A"), te.placeholder((16, 32), name="B"), te.reduce_axis(16)
    sums = te.compute((8, 32), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k))

    def beyond(i: Var, j: Var) -> PrimExpr:
        product = sums[i, j] * const(0.1, "float32")
        return product - Call("nearbyint", (product,), "float32")

    func = te.create_prim_func([a, b], [te.compute((8, 32), beyond)])
    units, _ = generate([func], Machine())
    assert any("] = r2r_product_float(" in unit.text for unit in units)
    left, right = (np.random.default_rng(2).integers(-9, 9, shape).astype(np.float32) for shape in ((8, 16), (16, 32)))
    result, product = np.empty((8, 32), np.float32), left @ right * np.float32(0.1)
    compile_prim_funcs([func]).call("main", left, right, result)
    assert (result == product - np.rint(product)).all()


def test_guarded_operands_are_read_only_where_the_guard_allows() -> None:
    """``if_then_else`` evaluates one branch: index 8 of eight elements is never read, wherever the
    choice stands.
    """
    x = te.placeholder((8,), name="X")
    none = const(0, "float32")
    shifted = te.compute((9,), lambda i: Select(i > 4, if_then_else(i < 8, x[i], none), none), "shifted")
    units, _ = generate([te.create_prim_func([x], [shifted])], Machine())
    assert not any("const float v" in unit.text for unit in units)


@pytest.mark.parametrize(("exponent", "called"), [(2.0, 0), (3.0, 0), (4.0, 0), (5.0, 1), (2.5, 1)])
def test_small_powers_are_products(exponent: float, called: int) -> None:
    x = te.placeholder((32,), "float32", "x")
    power = te.compute((32,), lambda i: Call("pow", (x[i], const(exponent, "float32")), "float32"), "power")
    func = te.create_prim_func([x], [power])
    units, _ = generate([func], Machine(), {})
    assert sum(unit.text.count(" = powf(") for unit in units) == called
    data = np.append(np.linspace(-4, 4, 29, dtype=np.float32), np.array([np.inf, -np.inf, np.nan], np.float32))
    result = np.zeros(32, np.float32)
    compile_prim_funcs([func]).call("main", data, result)
    # Of negative numbers other powers are NaN.
    with np.errstate(invalid="ignore"):
        expected = np.power(data.astype(np.float64), exponent)
    np.testing.assert_allclose(result, expected, rtol=3e-7)
