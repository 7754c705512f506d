"""Operators that make tensors of shapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from relay2relax.ops import OpError, TensorType, relax_op, relay_op
from relay2relax.tir.extent import ANY, ceildiv, maximum, sub
from relay2relax.tir.ir.expr import IntImm, Var

N = Var("n")


@dataclass(frozen=True)
class Constant:
    """What arange's attributes hold: an expression with data."""

    data: np.ndarray


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "float16"])
def test_zeros_and_ones(dtype: str, check: Any) -> None:
    for name, value in (("zeros", 0), ("ones", 1)):
        expected = np.full((2, 3), value).astype(dtype)
        check(name, [], expected, shape=(2, 3), dtype=dtype)
        check(name, [], expected[0, 0], shape=(), dtype=dtype)
        check(relax_op(name), [(2, 3)], expected, dtype=dtype)
        check(f"{name}_like", [np.empty((2, 3), dtype)], expected)


def test_full(check: Any) -> None:
    value = np.array(2.75, np.float32)
    check("full", [value], np.full((2, 3), 2.75, np.float32), shape=(2, 3))
    check("full", [value], np.full((2, 3), 2, np.int8), shape=(2, 3), dtype="int8")
    check(relax_op("full"), [(2, 3), value], np.full((2, 3), 2.75, np.float32))
    check("full_like", [np.zeros((2, 3), np.int32), value], np.full((2, 3), 2, np.int32))
    full = relay_op("full")
    assert full is not None
    with pytest.raises(OpError, match="1 dimensions, expected 0"):
        full.infer(full.attrs(shape=(2,), dtype="int8"), TensorType((1,)))


def test_written_extents_are_kept() -> None:
    zeros = relay_op("zeros")
    assert zeros is not None
    shape = (IntImm(2), 3, N)
    assert zeros.infer(zeros.attrs(shape=shape, dtype="float32")) == TensorType(shape)
    with pytest.raises(OpError, match="dyn"):
        zeros.infer(zeros.attrs(shape=None, dtype="float32"))


@pytest.mark.parametrize(
    ("start", "stop", "step", "dtype", "length"),
    [(1, 20, 3, "int32", 7), (0, 5, 1, "float32", 5), (20, 1, -1, "float32", 19), (0.5, 2.9, 0.4, "float32", 7),
     (1, 20.5, 1, "float32", 20), (5, 5, 1, "int64", 0), (5, 1, 1, "int32", 0)],
)  # fmt: skip
def test_arange(start: float, stop: float, step: float, dtype: str, length: int, check: Any) -> None:
    bounds = [np.array(value, dtype) for value in (start, stop, step)]
    expected = (bounds[0] + np.arange(length).astype(dtype) * bounds[2]).astype(dtype)
    given = {"start": Constant(bounds[0]), "stop": Constant(bounds[1]), "step": Constant(bounds[2])}
    check("arange", bounds, expected, dtype=dtype, **given)
    numbers = {"start": bounds[0].item(), "end": bounds[1].item(), "step": bounds[2].item()}
    check(relax_op("arange"), [], expected, dtype=dtype, **numbers)


def test_arange_of_computed_bounds() -> None:
    arange = relay_op("arange")
    assert arange is not None
    attrs = arange.attrs(object(), Constant(np.array(3)), Constant(np.array(1)), "int32")
    scalar = TensorType((), "int32")
    assert arange.infer(attrs, scalar, scalar, scalar) == TensorType((ANY,), "int32")
    np.testing.assert_array_equal(arange.numpy(attrs, np.array(1), np.array(9), np.array(3)), [1, 4, 7])
    with pytest.raises(OpError, match="a number of int32") as caught:
        arange.infer(attrs, scalar, TensorType((), "float32"), scalar)
    assert caught.value.argument == 1
    with pytest.raises(OpError, match="step of arange is 0"):
        arange.numpy(attrs, np.array(1), np.array(9), np.array(0))


def test_arange_up_to_a_symbol() -> None:
    arange = relax_op("arange")
    assert arange is not None
    assert arange.infer(arange.attrs(0, N, 1, "int64")) == TensorType((maximum(N, 0),), "int64")
    assert arange.infer(arange.attrs(1, N, 2, "int64")) == TensorType((maximum(ceildiv(sub(N, 1), 2), 0),), "int64")


def test_shape_of(check: Any) -> None:
    x = np.zeros((2, 3, 4), np.float32)
    check("shape_of", [x], np.array([2, 3, 4], np.int32), dtype="int32")
    check("shape_of", [x], np.array([2, 3, 4], np.int64), dtype="int64")
    check("shape_of", [x[0, 0, 0].reshape(())], np.array(0, np.int32), dtype="int32")
    check("ndarray_size", [x], np.array(24, np.int64), dtype="int64")
    check(relax_op("shape_to_tensor"), [(2, 3)], np.array([2, 3], np.int64), symbols=False)
