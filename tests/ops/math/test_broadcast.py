"""Operators over broadcast inputs, against numbers by hand, numpy and Python."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typed import relay_record

from relay2relax import backends, relay_ir, translator
from relay2relax.backends.numpy.tir import evaluate_prim_func
from relay2relax.ops import OpError, TensorType
from relay2relax.ops.common.shapes import broadcast
from relay2relax.ops.registry.lower import lower_call
from relay2relax.tir.extent import ANY, add, as_prim, canonical, maximum, static
from relay2relax.tir.ir.expr import IntImm, PrimExpr, Var
from relay2relax.tir.ir.visit import substitute

random = np.random.default_rng(0)
N, M = Var("n"), Var("m")


def truncated(a: int, b: int) -> int:
    return math.trunc(a / b)


INTEGERS: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": truncated,
    "trunc_divide": truncated,
    "floor_divide": operator.floordiv,
    "mod": lambda a, b: a - truncated(a, b) * b,
    "trunc_mod": lambda a, b: a - truncated(a, b) * b,
    "floor_mod": operator.mod,
    "maximum": max,
    "minimum": min,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "logical_xor": operator.xor,
}
FLOATS: dict[str, Callable[[float, float], float]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "trunc_divide": lambda a, b: math.trunc(a / b),
    "floor_divide": lambda a, b: math.floor(a / b),
    "mod": math.fmod,
    "trunc_mod": math.fmod,
    "floor_mod": lambda a, b: a - math.floor(a / b) * b,
    "maximum": max,
    "minimum": min,
}
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
def test_integers(name: str, dtype: str, check: Any) -> None:
    values = [1, 2, 3, 7, 100] if dtype == "uint8" else [-100, -7, -2, -1, 1, 2, 7, 100]
    a, b = np.meshgrid(np.array(values, dtype), np.array(values, dtype), indexing="ij")
    exact = [INTEGERS[name](x, y) for x in values for y in values]
    expected = np.array(exact, np.int64).astype(dtype).reshape(a.shape)
    check(name, [a, b], expected)


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats(name: str, dtype: str, check: Any) -> None:
    values = [-2.5, -1.0, 0.75, 3.0]
    a = np.array(values, dtype).reshape(4, 1)
    b = np.array(values, dtype)
    exact = [[FLOATS[name](x, y) for y in values] for x in values]
    check(name, [a, b], np.array(exact, dtype))


@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize("dtype", ["int32", "float32", "uint8", "int64"])
def test_comparisons(name: str, dtype: str, check: Any) -> None:
    values = [0, 1, 2, 3]
    a, b = np.array(values, dtype).reshape(4, 1), np.array(values, dtype)
    check(name, [a, b], np.array([[COMPARISONS[name](x, y) for y in values] for x in values]))


def test_nan_compares_unequal_and_loses_on_the_left(check: Any) -> None:
    nan = np.array([np.nan, 1.0], np.float32)
    one = np.array([1.0, np.nan], np.float32)
    check("equal", [nan, nan], np.array([False, True]))
    check("maximum", [nan, one], np.array([1.0, np.nan], np.float32))
    check("minimum", [nan, one], np.array([1.0, np.nan], np.float32))


@pytest.mark.parametrize(
    ("name", "expected"),
    [("logical_and", [0, 0, 0, 1]), ("logical_or", [0, 1, 1, 1]), ("logical_xor", [0, 1, 1, 0]),
     ("bitwise_and", [0, 0, 0, 1]), ("bitwise_or", [0, 1, 1, 1]), ("bitwise_xor", [0, 1, 1, 0]),
     ("not_equal", [0, 1, 1, 0])],
)  # fmt: skip
def test_truth_tables(name: str, expected: list[int], check: Any) -> None:
    a, b = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    check(name, [a, b], np.array(expected, bool))


def test_shifts(check: Any) -> None:
    a = np.array([-7, -1, 1, 100], np.int32)
    b = np.array([2, 1, 3, 4], np.int32)
    check("left_shift", [a, b], np.array([-28, -2, 8, 1600], np.int32))
    check("right_shift", [a, b], np.array([-2, -1, 0, 6], np.int32))
    check("right_shift", [a.view(np.uint32), b.view(np.uint32)], np.array([2**30 - 2, 2**31 - 1, 0, 6], np.uint32))


def test_power(check: Any) -> None:
    a = np.array([[2.0, 0.5, 3.0]], np.float32)
    b = np.array([[2.0], [-1.0], [0.5]], np.float32)
    check("power", [a, b], np.array([[x**y for x in (2.0, 0.5, 3.0)] for y in (2.0, -1.0, 0.5)], np.float32))
    power = relay_record("power")
    assert power is not None
    with pytest.raises(OpError, match="power is not defined for int32"):
        power.numpy(power.attrs(), np.array([2], np.int32), np.array([3], np.int32))


def test_bool_addition_is_or(check: Any) -> None:
    a, b = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    check("add", [a, b], np.array([0, 1, 1, 1], bool))
    check("multiply", [a, b], np.array([0, 0, 0, 1], bool))


def test_rank_0(check: Any) -> None:
    check("add", [np.array(2, np.int32), np.array(3, np.int32)], np.array(5, np.int32))
    check("multiply", [np.array(2.0, np.float32), np.ones((2, 3), np.float32)], np.full((2, 3), 2, np.float32))


def test_where(check: Any) -> None:
    condition = np.array([[True], [False]])
    x, y = np.array([1.0, 2.0, 3.0], np.float32), np.array(-1.0, np.float32)
    expected = np.array([[1, 2, 3], [-1, -1, -1]], np.float32)
    check("where", [condition, x, y], expected)
    check("where", [condition.astype(np.int32) * 5, x, y], expected)
    check("where", [condition.astype(np.float32), x, y], expected)


# The shape rule


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ((2, 3), (2, 3), (2, 3)),
        ((2, 1), (3,), (2, 3)),
        ((), (2, 3), (2, 3)),
        ((ANY,), (1,), (ANY,)),
        ((ANY,), (4,), (4,)),
        ((ANY,), (ANY,), (ANY,)),
        ((ANY,), (N,), (N,)),
        ((N, 4), (1, 4), (N, 4)),
        ((N,), (N,), (N,)),
        ((N, 1), (M,), (N, M)),
        ((N,), (4,), (4,)),
        ((N,), (M,), (maximum(N, M),)),
        ((IntImm(2),), (2,), (IntImm(2),)),
        ((0, 3), (1, 3), (0, 3)),
    ],
)
def test_shapes_that_broadcast(first: Any, second: Any, expected: Any) -> None:
    assert broadcast(first, second) == expected


def test_shapes_that_do_not_broadcast() -> None:
    with pytest.raises(OpError, match=r"\(2, 64\) and \(2, 32\) do not broadcast: 64 and 32 meet in dimension 1"):
        broadcast((2, 64), (2, 32))


def test_element_types_must_agree() -> None:
    record = relay_record("add")
    assert record is not None
    with pytest.raises(OpError, match="float32 and int32") as caught:
        record.infer(record.attrs(), TensorType((2,)), TensorType((2,), "int32"))
    assert caught.value.argument == 1


extents = st.lists(st.integers(0, 4), max_size=4).map(tuple)


@given(extents, extents)
def test_static_shapes_follow_numpy(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    try:
        expected = np.broadcast_shapes(first, second)
    except ValueError:
        with pytest.raises(OpError):
            broadcast(first, second)
        return
    assert broadcast(first, second) == expected


@given(st.lists(st.tuples(st.integers(1, 4), st.sampled_from("=1x")), max_size=4), st.booleans())
def test_symbolic_shapes_agree_with_static_ones(dimensions: list[tuple[int, str]], swap: bool) -> None:
    """A dimension of one operand is the other's, 1, or an independent symbol that happens to be
    either.
    """
    one = [Var(f"a{i}") for i in range(len(dimensions))]
    two = [Var(f"b{i}") for i in range(len(dimensions))]
    left: list[int | PrimExpr] = []
    right: list[int | PrimExpr] = []
    values: dict[Var, int] = {}
    for i, (size, kind) in enumerate(dimensions):
        left.append(one[i])
        choices: dict[str, int | PrimExpr] = {"=": one[i], "1": 1, "x": two[i]}
        right.append(choices[kind])
        values[one[i]] = size
        values[two[i]] = size if swap else 1
    found = broadcast(left, right)
    known = {var: as_prim(value) for var, value in values.items()}
    sizes = tuple(static(canonical(substitute(as_prim(extent), known))) for extent in found)
    assert sizes == tuple(size for size, _ in dimensions)


@pytest.mark.parametrize(("rows", "others"), [(3, 3), (1, 3), (3, 1), (1, 1)])
def test_an_extent_that_may_be_1_is_guarded_when_the_program_runs(rows: int, others: int) -> None:
    """TVM's lowering reads past the smaller operand here."""
    record = relay_record("add")
    assert record is not None
    types = [TensorType((N, 4)), TensorType((M, 4))]
    out = record.infer(record.attrs(), *types)
    func = lower_call(record, record.attrs(), types, out, "add")
    a = random.standard_normal((rows, 4)).astype(np.float32)
    b = random.standard_normal((others, 4)).astype(np.float32)
    result = np.zeros((max(rows, others), 4), np.float32)
    evaluate_prim_func(func, [a, b], [result])
    np.testing.assert_array_equal(result, a + b)


def test_equal_expressions_need_no_guard() -> None:
    assert broadcast((add(N, 1),), (add(1, N),)) == (add(N, 1),)


def test_a_square_becomes_a_product() -> None:
    # apache-tvm's CUDA takes `pow` of a negative number for NaN.
    mod = relay_ir.parse(
        '#[version = "0.0.5"]\ndef @main(%x: Tensor[(5), float32]) { (power(%x, 2f), power(%x, 3f), power(2f, %x)) }'
    )
    x = np.array([-3.5, -0.1, 0.0, 1.25, 70.3], "float32")
    for script in (translator.via_graph(mod), translator.lower_to_tir(mod)):
        text = str(script)
        assert text.count("R.power(") + text.count("(cls.power") == 2
        square, cube, exponential = backends.VirtualMachine(backends.build(script, "numpy"))["main"](x)
        np.testing.assert_array_equal(square, x * x)
        np.testing.assert_allclose(cube, x.astype("float64") ** 3, rtol=1e-6)
        np.testing.assert_allclose(exponential, 2.0 ** x.astype("float64"), rtol=1e-6)
