"""Element-wise operators against numpy, Python's math and PyTorch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from typed import relay_record

from relay2relax.ops import OpError, TensorType, relax_op
from relay2relax.ops.common.erf import erf
from relay2relax.tir.extent import ANY

random = np.random.default_rng(0)
X = random.uniform(-3, 3, (2, 3, 4)).astype(np.float32)
POSITIVE = np.abs(X) + np.float32(0.1)
UNIT = (X / 3.1).astype(np.float32)
FLOATS: dict[str, tuple[np.ndarray, Any]] = {
    "exp": (X, math.exp),
    "log": (POSITIVE, math.log),
    "log2": (POSITIVE, math.log2),
    "log10": (POSITIVE, math.log10),
    "sqrt": (POSITIVE, math.sqrt),
    "rsqrt": (POSITIVE, lambda v: 1 / math.sqrt(v)),
    "sigmoid": (X, lambda v: 1 / (1 + math.exp(-v))),
    "tanh": (X, math.tanh),
    "erf": (X, math.erf),
    "sin": (X, math.sin),
    "cos": (X, math.cos),
    "tan": (UNIT, math.tan),
    "sinh": (X, math.sinh),
    "cosh": (X, math.cosh),
    "asin": (UNIT, math.asin),
    "acos": (UNIT, math.acos),
    "atan": (X, math.atan),
    "asinh": (X, math.asinh),
    "acosh": (POSITIVE + 1, math.acosh),
    "atanh": (UNIT, math.atanh),
    "fast_exp": (X, math.exp),
    "fast_tanh": (X, math.tanh),
    "fast_erf": (X, math.erf),
    "floor": (X, math.floor),
    "ceil": (X, math.ceil),
    "trunc": (X, math.trunc),
    "abs": (X, abs),
    "negative": (X, lambda v: -v),
    "copy": (X, lambda v: v),
    "isnan": (X, math.isnan),
    "isinf": (X, math.isinf),
    "isfinite": (X, math.isfinite),
}


@pytest.mark.parametrize("name", FLOATS)
def test_functions_of_floats(name: str, check: Any) -> None:
    data, function = FLOATS[name]
    for dtype in ("float32", "float64"):
        wide = data.astype(dtype)
        values = [function(float(v)) for v in wide.ravel()]
        expected = np.array(values).astype("bool" if name.startswith("is") else dtype).reshape(data.shape)
        check(name, [wide], expected)


@pytest.mark.parametrize("name", sorted(FLOATS))
def test_rank_0_and_empty(name: str, check: Any) -> None:
    data, function = FLOATS[name]
    one = data[0, 0, 0].reshape(())
    dtype = "bool" if name.startswith("is") else "float32"
    check(name, [one], np.array(function(float(one))).astype(dtype))
    check(name, [np.zeros((0, 3), np.float32)], np.zeros((0, 3), dtype), symbols=False)


def test_special_values(check: Any) -> None:
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e38, -1e38], np.float32)
    check("isnan", [x], np.array([1, 0, 0, 0, 0, 0, 0], bool))
    check("isinf", [x], np.array([0, 1, 1, 0, 0, 0, 0], bool))
    check("isfinite", [x], np.array([0, 0, 0, 1, 1, 1, 1], bool))
    check("sign", [x], np.array([0, 1, -1, 0, 0, 1, -1], np.float32))
    check("sigmoid", [x[1:]], np.array([1, 0, 0.5, 0.5, 1, 0], np.float32))
    check("tanh", [x[1:]], np.array([1, -1, 0, 0, 1, -1], np.float32))
    check("erf", [x[1:]], np.array([1, -1, 0, 0, 1, -1], np.float32))


def test_halves_round_away_from_zero_in_relay_and_to_even_in_relax(check: Any) -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -2.5, 0.49999997, 2.4, -2.6, 8388609.0], np.float32)
    check("round", [x], np.array([1, 2, 3, -1, -3, 0, 2, -3, 8388609], np.float32))
    check(relax_op("round"), [x], np.array([0, 2, 2, -0.0, -2, 0, 2, -3, 8388609], np.float32))


@pytest.mark.parametrize("dtype", ["uint32", "uint64"])
def test_what_tvm_folds_to_zero(dtype: str, check: Any) -> None:
    """Recorded: TVM 0.18 gives 0, as does 0.27 for a PrimFunc of `0 - x`."""
    x = np.array([0, 1, 200], dtype)
    check("negative", [x], np.zeros(3, dtype))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "bool"])
def test_integers(dtype: str, check: Any) -> None:
    values = [0, 1, 2, 127] if dtype in ("uint8", "bool") else [0, 1, -1, 127, -128]
    x = np.array(values).astype(dtype)
    if dtype != "bool":
        check("sign", [x], np.array([(v > 0) - (v < 0) for v in values]).astype(dtype))
        check("abs", [x], np.array([abs(v) for v in values]).astype(dtype))
        check("negative", [x], np.array([-v for v in values]).astype(dtype))
        check("floor", [x], x)
        check("round", [x], x)
        check("bitwise_not", [x], np.array([~v for v in values]).astype(dtype))
    else:
        check("bitwise_not", [x], np.array([not v for v in values]))
        check("logical_not", [x], np.array([not v for v in values]))
    check("isnan", [x], np.zeros(len(values), bool))
    check("isfinite", [x], np.ones(len(values), bool))
    check("copy", [x], x)


def test_integers_are_refused_where_the_kernels_have_none() -> None:
    record = relay_record("exp")
    assert record is not None
    data = TensorType((2,), "int32")
    assert record.infer(record.attrs(), data) == data
    with pytest.raises(OpError, match="exp is defined for floating-point numbers, not for int32"):
        record.numpy(record.attrs(), np.zeros(2, np.int32))


def test_clip(check: Any) -> None:
    x = np.array([-7, -0.5, 0, 3, 6.5, 100], np.float32)
    check("clip", [x], np.array([0, 0, 0, 3, 6, 6], np.float32), a_min=0.0, a_max=6.0)
    check("clip", [x], np.array([-7, -0.5, 0, 3, 6, 6], np.float32), a_min=-math.inf, a_max=6.0)
    check("clip", [x], np.array([0, 0, 0, 3, 6.5, 100], np.float32), a_min=0.0, a_max=math.inf)
    check("clip", [x], x, a_min=-math.inf, a_max=math.inf)
    check("clip", [np.array([np.nan], np.float32)], np.array([6], np.float32), a_min=0.0, a_max=6.0)
    n = np.array([-7, 0, 3, 100], np.int32)
    check("clip", [n], np.array([-2, 0, 3, 6], np.int32), a_min=-2.9, a_max=6.9)
    check("clip", [n], n, a_min=-1e30, a_max=1e30)
    check("clip", [n.astype(np.uint8)], np.array([6, 0, 3, 6], np.uint8), a_min=-1.0, a_max=6.0)


def test_cast(check: Any) -> None:
    x = np.array([-2.7, -0.2, 0, 0.2, 2.7, 100], np.float32)
    check("cast", [x], np.array([-2, 0, 0, 0, 2, 100], np.int32), dtype="int32")
    check("cast", [x], np.array([1, 1, 0, 1, 1, 1], bool), dtype="bool")
    check("cast", [x], x.astype(np.float64), dtype="float64")
    check("cast", [x], x, dtype="float32")
    n = np.array([0, 1, 255, 256, -1, 1000], np.int32)
    check("cast", [n], np.array([0, 1, -1, 0, -1, -24], np.int8), dtype="int8")
    check("cast", [n], np.array([0, 1, 255, 0, 255, 232], np.uint8), dtype="uint8")
    check("cast", [n > 0], np.array([0, 1, 1, 1, 0, 1], np.float32), dtype="float32")
    check("cast_like", [x, np.zeros(3, np.int64)], np.array([-2, 0, 0, 0, 2, 100], np.int64))


def test_a_cast_to_the_same_dtype_copies_nothing() -> None:
    record = relay_record("cast")
    assert record is not None
    assert record.numpy(record.attrs("float32"), X) is X


def test_reinterpret(check: Any) -> None:
    x = np.array([1.0, -2.0], np.float32)
    check("reinterpret", [x], np.array([0x3F800000, 0xC0000000], np.uint32), dtype="uint32")
    record = relay_record("reinterpret")
    assert record is not None
    with pytest.raises(OpError, match="keeps the width"):
        record.infer(record.attrs("int8"), TensorType((2,), "float32"))


@pytest.mark.parametrize(("multiplier", "shift"), [(1073741824, 1), (1288490188, -3), (1395864371, 0), (2147483647, 2)])
def test_fixed_point_multiply(multiplier: int, shift: int, check: Any) -> None:
    values = [0, 1, -1, 5, -5, 1000, -1000, 123456, -123456]
    expected = [math.floor(v * multiplier * 2.0 ** (shift - 31) + 0.5) for v in values]
    check(
        "fixed_point_multiply", [np.array(values, np.int32)], np.array(expected, np.int32),
        multiplier=multiplier, shift=shift,
    )  # fmt: skip


def test_fixed_point_multiply_per_axis(check: Any) -> None:
    x = np.array([[100, -100, 7], [-33, 5, 1000]], np.int32)
    multiplier = np.array([1073741824, 1288490188, 2000000000], np.int32)
    left, right = np.array([1, 0, 2], np.int32), np.array([0, 3, 1], np.int32)
    exact = x * multiplier.astype(np.float64) * 2.0 ** (left - right - 31)
    check(
        "fixed_point_multiply_per_axis", [x, multiplier, left, right], np.floor(exact + 0.5).astype(np.int32),
        is_lshift_required=True, is_rshift_required=True, axes=(1,),
    )  # fmt: skip


def test_erf_is_exact_to_the_last_places() -> None:
    x = np.concatenate([np.linspace(-6, 6, 4001), [0.46875, -0.46875, 4.0, 1e-30, 1e-300]])
    exact = np.array([math.erf(v) for v in x])
    assert np.all(np.abs(erf(x) - exact) <= 4 * np.spacing(np.abs(exact)))
    narrow = x.astype(np.float32)
    rounded: np.ndarray = np.array([math.erf(float(v)) for v in narrow], np.float32)
    assert np.all(np.abs(erf(narrow) - rounded) <= np.spacing(np.abs(rounded)))


def test_types_keep_unknown_extents() -> None:
    data = TensorType((ANY, 3), "float16")
    for name in ("tanh", "clip", "copy", "zeros_like"):
        record = relay_record(name)
        assert record is not None
        attrs = record.attrs(0.0, 1.0) if name == "clip" else record.attrs()
        assert record.infer(attrs, data) == data
    isnan = relay_record("isnan")
    assert isnan is not None
    assert isnan.infer(isnan.attrs(), data) == TensorType((ANY, 3), "bool")
