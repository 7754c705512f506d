"""Indices that are computed from what is loaded: numpy and C read the element that arithmetic with
so many bits names. The witness wraps Python's integers.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from sweep import FULL
from wrap_around import Values, evaluate, near

from relay2relax.backends.c import compile_prim_funcs
from relay2relax.backends.numpy.tir import evaluate_prim_func
from relay2relax.tir.ir.expr import Binary, Buffer, BufferLoad, Cast, IntImm, PrimExpr, Select, Var
from relay2relax.tir.ir.stmt import BufferStore, For, Let, PrimFunc, Seq, Stmt
from relay2relax.tir.normalize.executable_form import executable_form

pytestmark = pytest.mark.compiler
POINTS, TABLE, EXPRESSIONS = 64, 16, 24
DTYPES = ("int32", "int64", "int8", "uint8")
DATA = {dtype: Buffer(dtype, (IntImm(POINTS),), dtype) for dtype in DTYPES}
WEIGHTS = Buffer("weights", (IntImm(TABLE),), "int32")
RESULT = Buffer("result", (IntImm(POINTS), IntImm(EXPRESSIONS)), "int32")
POINT = Var("i")
NUMBERS = (2, 3, 4, 8, 12, -1, -3, 0, 1, 7, 100, 1 << 20, (1 << 31) - 1, -(1 << 31))


def drawn(random: Random, dtype: str, size: int) -> PrimExpr:
    """Return an expression over the loads of a point."""
    if size <= 1:
        other = random.choice(DTYPES)
        load = BufferLoad(DATA[other], (POINT,))
        loaded: PrimExpr = load if other == dtype else Cast(dtype, load)
        return random.choice([loaded, BufferLoad(DATA[dtype], (POINT,)), IntImm(random.choice(NUMBERS), dtype)])
    part = random.randint(1, size - 1)
    a, b = drawn(random, dtype, part), drawn(random, dtype, size - part)
    match random.randrange(5):
        case 0:
            return Binary(
                random.choice(["*", "//", "%", "truncdiv", "truncmod"]), a, IntImm(random.choice(NUMBERS), dtype)
            )
        case 1:
            return Binary("min", Binary("max", a, IntImm(0, dtype)), IntImm(random.choice(NUMBERS), dtype))
        case 2:
            return Select(Binary(random.choice(["<", "<=", "==", "!="]), a, b), a, b)
        case 3:
            return Cast(dtype, Cast("int64" if dtype == "int32" else "int32", a))
    return Binary(random.choice(["+", "-", "*", "+", "//", "%", "min", "max", "truncdiv", "truncmod"]), a, b)


def program(random: Random) -> tuple[PrimFunc, list[PrimExpr]]:
    """Return a program that reads an element of a table for each of some expressions, and these."""
    indices, stores = [], list[Stmt]()
    for number in range(EXPRESSIONS):
        dtype = random.choice(["int32", "int64"])
        inner = drawn(random, dtype, random.randint(2, 5))
        named = Var("x", dtype)
        outer = Binary("//", Binary("*", inner, IntImm(4, dtype)), IntImm(random.choice([2, 4, -1]), dtype))

        def place(value: PrimExpr, dtype: str = dtype) -> PrimExpr:
            return Binary("min", Binary("max", value, IntImm(0, dtype)), IntImm(TABLE - 1, dtype))

        indices.append(place(outer))
        said = outer if number % 2 else Binary(outer.op, Binary("*", named, IntImm(4, dtype)), outer.b)
        store = BufferStore(RESULT, (POINT, IntImm(number)), BufferLoad(WEIGHTS, (place(said),)))
        stores.append(store if number % 2 else Let(named, inner, store))
    buffers = [*DATA.values(), WEIGHTS, RESULT]
    params = {Var(buffer.name, "handle"): buffer for buffer in buffers}
    return PrimFunc("f", tuple(params), params, For(POINT, IntImm(POINTS), Seq(tuple(stores)))), indices


@pytest.mark.parametrize("seed", range(12 if FULL else 2))
def test_data_as_indices(seed: int) -> None:
    random = Random(seed)
    func, indices = program(random)
    inputs = {dtype: np.array([near(dtype, random) for _ in range(POINTS)], dtype) for dtype in DTYPES}
    weights = np.arange(TABLE, dtype=np.int32) * 3
    wanted = np.empty((POINTS, EXPRESSIONS), np.int32)
    for point in range(POINTS):
        loaded = {dtype: int(data[point]) for dtype, data in inputs.items()}
        values: Values = {BufferLoad(DATA[dtype], (POINT,)): number for dtype, number in loaded.items()}
        wanted[point] = [weights[evaluate(index, values)] for index in indices]
    given = [*inputs.values(), weights]
    found, compiled = np.zeros_like(wanted), np.zeros_like(wanted)
    evaluate_prim_func(func, given, [found])
    np.testing.assert_array_equal(found, wanted)
    compile_prim_funcs([executable_form(func)]).call("f", *given, compiled)
    np.testing.assert_array_equal(compiled, wanted)
