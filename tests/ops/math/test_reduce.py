"""Reductions, against numpy and numbers by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typed import of_type, relax_record, relay_record

from relay2relax import backends, relay_ir, translator
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.ops import OpDef, OpError, TensorType
from relay2relax.tir.extent import ANY
from relay2relax.tir.ir.expr import IntImm, Var

random = np.random.default_rng(0)
X = random.standard_normal((2, 3, 4)).astype(np.float32)
NUMBERS: dict[str, Callable[..., Any]] = {
    "sum": np.sum, "mean": np.mean, "prod": np.prod, "max": np.max, "min": np.min,
}  # fmt: skip
CASES = [
    ({}, (0, 1, 2)),
    ({"axis": ()}, (0, 1, 2)),
    ({"axis": (1,)}, (1,)),
    ({"axis": (-1, 0)}, (0, 2)),
    ({"axis": (1,), "exclude": True}, (0, 2)),
    ({"axis": (0, 2), "exclude": True}, (1,)),
]


def record(name: str) -> OpDef:
    found = relay_record(name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize(("attrs", "axes"), CASES)
@pytest.mark.parametrize("keepdims", [False, True])
def test_numbers(name: str, attrs: dict[str, Any], axes: tuple[int, ...], keepdims: bool, check: Any) -> None:
    exact = NUMBERS[name](X.astype(np.float64), axis=axes, keepdims=keepdims)
    check(name, [X], np.asarray(exact, np.float32), reduction=24, keepdims=keepdims, **attrs)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_small_integers_wrap(name: str, check: Any) -> None:
    n = np.array([[100, 100, -7], [3, 50, -128]], np.int8)
    expected = {"sum": [-63, -75], "prod": [-112, 0], "max": [100, 50], "min": [-7, -128]}[name]
    check(name, [n], np.array(expected, np.int8), axis=(1,))


def test_the_mean_of_integers_truncates(check: Any) -> None:
    n = np.array([[1, 2, 4], [-1, -2, -4], [0, 0, -1]], np.int32)
    check("mean", [n], np.array([2, -2, 0], np.int32), axis=(1,))
    check("mean", [n], np.array(0, np.int32))


def test_half_precision_means_add_up_in_float32(check: Any) -> None:
    twos = np.full(3000, 2.0, np.float16)
    check("mean", [twos], np.array(2.0, np.float16))


def test_flags(check: Any) -> None:
    flags = np.array([[True, True], [False, True], [False, False]])
    check("all", [flags], np.array([True, False, False]), axis=(1,))
    check("any", [flags], np.array([True, True, False]), axis=(1,))
    check("all", [flags], np.array([[False, False]]), axis=(0,), keepdims=True)
    check("sum", [flags], np.array([True, True, False]), axis=(1,))
    check("prod", [flags], np.array([True, False, False]), axis=(1,))
    check("max", [flags], np.array([True, True, False]), axis=(1,))
    check("min", [flags], np.array([True, False, False]), axis=(1,))


@pytest.mark.parametrize("name", ["sum", "mean", "max", "argmax"])
def test_excluding_all_axes_reduces_nothing(name: str, check: Any) -> None:
    expected = np.zeros(X.shape, np.int32) if name == "argmax" else X
    check(name, [X], expected, axis=(0, 1, 2), exclude=True)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize(("attrs", "axes"), CASES)
@pytest.mark.parametrize("keepdims", [False, True])
def test_places(name: str, attrs: dict[str, Any], axes: tuple[int, ...], keepdims: bool, check: Any) -> None:
    kept = [axis for axis in range(3) if axis not in axes]
    rows = X.transpose(kept + list(axes)).reshape([X.shape[axis] for axis in kept] + [-1])
    found = getattr(np, name)(rows, axis=-1)
    shape = [1 if axis in axes else X.shape[axis] for axis in range(3)] if keepdims else found.shape
    check(name, [X], np.asarray(found, np.int32).reshape(shape), keepdims=keepdims, **attrs)


def test_the_first_or_the_last_of_equal_ones(check: Any) -> None:
    n = np.array([[3, 1, 3, 1], [2, 2, 2, 2]], np.int32)
    check("argmax", [n], np.array([0, 0], np.int32), axis=(1,))
    check("argmax", [n], np.array([2, 3], np.int32), axis=(1,), select_last_index=True)
    check("argmin", [n], np.array([1, 0], np.int32), axis=(1,))
    check("argmin", [n], np.array([3, 3], np.int32), axis=(1,), select_last_index=True)
    check("argmax", [n], np.array(2, np.int32), select_last_index=True)


def test_nan_never_wins(check: Any) -> None:
    x = np.array([[np.nan, 1.0, 2.0], [3.0, np.nan, 2.0]], np.float32)
    check("argmax", [x], np.array([2, 0], np.int32), axis=(1,))
    check("argmin", [x], np.array([1, 2], np.int32), axis=(1,))


def test_places_of_unsigned_and_smallest_numbers(check: Any) -> None:
    check("argmax", [np.zeros((2, 3), np.uint8)], np.zeros(2, np.int32), axis=(1,))
    check("argmax", [np.full((2, 3), -128, np.int8)], np.zeros(2, np.int32), axis=(1,))
    check("argmin", [np.full((2, 3), np.inf, np.float32)], np.zeros(2, np.int32), axis=(1,))


def test_relax_finds_places_in_int64(check: Any) -> None:
    found = relax_record("argmax")
    check(found, [X], X.argmax(1), axis=1)
    check(found, [X], X.argmax(1)[:, None], axis=-2, keepdims=True)
    check(found, [X], np.asarray(X.argmax()))


def test_the_dtype_of_places() -> None:
    argmax = record("argmax")
    attrs = argmax.attrs(axis=(0,))
    assert argmax.infer(attrs, TensorType((ANY, 3))) == TensorType((3,), "int32")
    assert argmax.infer(attrs, TensorType((Var("n"), 3))) == TensorType((3,), "int32")
    assert argmax.infer(attrs, TensorType((IntImm(2), 3))) == TensorType((3,), "int64")
    with pytest.raises(OpError, match="rank 0"):
        argmax.infer(attrs, TensorType(()))


@pytest.mark.parametrize("unbiased", [False, True])
def test_variance(unbiased: bool, check: Any) -> None:
    mean = X.mean((0, 2), keepdims=True)
    expected = X.astype(np.float64).var((0, 2), ddof=int(unbiased)).astype(np.float32)
    check("variance", [X, mean], expected, axis=(0, 2), unbiased=unbiased, reduction=8)
    other = np.zeros((1, 3, 1), np.float32)
    square = (X.astype(np.float64) ** 2).sum((0, 2)) / (8 - int(unbiased))
    check("variance", [X, other], square.astype(np.float32), axis=(0, 2), unbiased=unbiased, reduction=8)


def test_axes_that_do_not_exist() -> None:
    for axis in ((3,), (-4,), (0, 0), (0, -3)):
        with pytest.raises(OpError):
            record("sum").infer(record("sum").attrs(axis=axis), TensorType((2, 3, 4)))


@given(st.lists(st.integers(1, 3), max_size=4), st.data(), st.booleans(), st.booleans())
def test_shapes_follow_numpy(shape: list[int], data: Any, keepdims: bool, exclude: bool) -> None:
    axis = data.draw(st.lists(st.integers(0, len(shape) - 1), unique=True, min_size=1)) if shape else []
    gone = tuple(a for a in range(len(shape)) if (a in axis) != exclude) if axis else tuple(range(len(shape)))
    expected = np.sum(np.zeros(shape), axis=gone, keepdims=keepdims).shape
    attrs = record("sum").attrs(axis=tuple(axis), keepdims=keepdims, exclude=exclude)
    assert record("sum").infer(attrs, TensorType(tuple(shape))) == TensorType(expected)
    names = [Var(f"n{i}") for i in range(len(shape))]
    found = record("sum").infer(attrs, TensorType(tuple(names)))
    sizes = dict(zip(names, shape, strict=True))
    assert tuple(1 if e == 1 else sizes[of_type(e, Var)] for e in of_type(found, TensorType).shape) == expected


@pytest.mark.compiler
@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("written", ["(2, 0)", "(?, 0)", "(2, ?)"])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_nothing_is_found_along_an_empty_axis(name: str, written: str, target: str) -> None:
    """Everything that runs refuses, in words that name the operator; TVM's inference takes it."""
    head = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[{written}, float32]) '
    mod = relay_ir.infer_type(relay_ir.parse(head + f"{{ {name}(%x, axis=[1]) }}"))
    runs: list[Callable[..., Any]] = [
        lambda x: backends.create_executor("debug", mod, target).evaluate()(x),
        lambda x: backends.VirtualMachine(backends.build(translator.lower_to_tir(mod), target=target))["main"](x),
        lambda x: backends.VirtualMachine(backends.build(translator.via_graph(mod), target=target))["main"](x),
    ]
    for run in runs:
        with pytest.raises(Relay2RelaxError, match=name):
            run(np.zeros((2, 0), np.float32))
        if "?" in written.partition(",")[2]:
            assert np.asarray(run(X[0, :2])).tolist() == getattr(X[0, :2], name)(1).tolist()


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_no_rows_have_no_places(check: Callable[..., Any], name: str) -> None:
    check(name, [np.zeros((0, 3), np.float32)], np.zeros(0, np.int32), axis=(1,))


@pytest.mark.parametrize(
    ("name", "found"), [("max", np.finfo(np.float32).min), ("min", np.finfo(np.float32).max), ("prod", 1), ("sum", 0)]
)
def test_reductions_of_nothing(check: Callable[..., Any], name: str, found: float) -> None:
    """TVM begins with the lowest finite number, the highest, 1 and 0."""
    check(name, [np.zeros((2, 0), np.float32)], np.full(2, found, np.float32), axis=(1,))
