"""Half precision in C: conversions to the bit as numpy's and ml_dtypes', arithmetic rounded after
every operation.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pytest
from typed import of_type, present

from relay2relax.backends.c import compile_prim_funcs
from relay2relax.core.dtype import numpy_dtype, of_array
from relay2relax.core.tolerance import difference
from relay2relax.ops import TensorType, relay_op
from relay2relax.ops.registry.lower import lower_call
from relay2relax.tir.extent import static

pytestmark = pytest.mark.compiler

HALVES = ("float16", "bfloat16")
EIGHTHS = (
    "float8_e4m3", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu",
)  # fmt: skip
# The name of an operator, its attributes, its operands.
Call: TypeAlias = tuple[str, dict[str, Any], list[np.ndarray]]


def run(calls: list[Call]) -> list[np.ndarray]:
    """Return the values of calls, computed by C that is compiled in one go."""
    funcs, results = [], []
    for number, (name, given, args) in enumerate(calls):
        op = relay_op(name)
        assert op is not None
        types = [TensorType(arg.shape, of_array(arg)) for arg in args]
        out = op.infer(op.attrs(**given), *types)
        assert isinstance(out, TensorType)
        funcs.append(lower_call(op, op.attrs(**given), types, out, f"call_{number}"))
        results.append(np.empty([present(static(e)) for e in out.shape], numpy_dtype(out.dtype)))
    module = compile_prim_funcs(funcs)
    for func, (_, _, args), result in zip(funcs, calls, results, strict=True):
        module.call(func.name, *args, result)
    return results


def every(dtype: str) -> np.ndarray:
    """Return every number of 16 bits."""
    return np.arange(1 << 16, dtype=np.uint16).view(numpy_dtype(dtype))


def same(actual: np.ndarray, expected: np.ndarray) -> None:
    """Check that two arrays are equal to the bit, but for the bits of NaN."""
    kind = f"u{actual.itemsize}"
    with np.errstate(all="ignore"):
        equal = (actual.view(kind) == expected.view(kind)) | (np.isnan(actual) & np.isnan(expected))
    assert actual.dtype == expected.dtype
    assert equal.all(), (actual[~equal][:5], expected[~equal][:5])


def floats(dtype: Any, *shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-2, 2, shape).astype(dtype)


@pytest.mark.sweep(every=2)
def test_conversions_of_every_number_of_eight_bits() -> None:
    rng = np.random.default_rng(5)
    single = rng.integers(0, 1 << 32, 50_000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    calls: list[Call] = []
    expected: list[np.ndarray] = []
    for dtype in EIGHTHS:
        codes = np.arange(256, dtype=np.uint8).view(numpy_dtype(dtype))
        wide = codes.astype(np.float32)
        ordered = np.sort(wide[np.isfinite(wide)])
        middle = (ordered[1:].astype(np.float64) + ordered[:-1]) / 2
        near = np.concatenate([middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf)])
        ends = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 3.4e38, 1e-8, -6e-8], np.float32)
        drawn = rng.normal(size=999) * 2.0 ** rng.integers(-30, 20, 999)
        for source, to in (
            (codes, "float32"),
            *((one, dtype) for one in (single, near.astype(np.float32), ends, drawn)),
        ):
            calls.append(("cast", {"dtype": to}, [source]))
            with np.errstate(all="ignore"):
                expected.append(source.astype(numpy_dtype(to)))
    for actual, wanted in zip(run(calls), expected, strict=True):
        same(actual, wanted)


def test_conversions_of_every_number() -> None:
    rng = np.random.default_rng(3)
    single = rng.integers(0, 1 << 32, 200_000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    calls: list[Call] = []
    expected: list[np.ndarray] = []
    for dtype in HALVES:
        wide = every(dtype).astype(np.float32)
        # The numbers themselves, and what lies half-way between neighbours and just beside it.
        ordered = np.sort(wide[np.isfinite(wide)])
        middle = (ordered[1:].astype(np.float64) + ordered[:-1]) / 2
        near = np.concatenate([middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf)])
        sources = [single, near.astype(np.float32), rng.normal(size=9999) * 2.0 ** rng.integers(-30, 20, 9999)]
        sources += [np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 65519.99, 65520, 3.4e38, 1e-8, -6e-8], np.float32)]
        sources += [near] if dtype == "float16" else []
        sources += [np.arange(-70000, 70000, 7, dtype=np.int32), np.array([False, True]), every("uint16")]
        for source in sources:
            calls.append(("cast", {"dtype": dtype}, [source]))
            with np.errstate(all="ignore"):
                expected.append(source.astype(numpy_dtype(dtype)))
        for target in ("float32", "float64"):
            calls.append(("cast", {"dtype": target}, [every(dtype)]))
            with np.errstate(all="ignore"):
                expected.append(every(dtype).astype(target))
        calls.append(("cast", {"dtype": "int32"}, [floats(numpy_dtype(dtype), 99) * numpy_dtype(dtype).type(50)]))
        expected.append(calls[-1][2][0].astype(np.int32))
        calls.append(("reinterpret", {"dtype": dtype}, [every("uint16")]))
        expected.append(every(dtype))
        calls.append(("reinterpret", {"dtype": "int16"}, [every(dtype)]))
        expected.append(every("int16"))
    for actual, wanted in zip(run(calls), expected, strict=True):
        if wanted.dtype.kind in "iu":
            np.testing.assert_array_equal(actual, wanted)
        else:
            same(actual, wanted)


@pytest.mark.sweep(every=2)
def test_every_operation_rounds() -> None:
    calls: list[Call] = []
    expected: list[np.ndarray] = []
    functions = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide}
    for dtype in HALVES:
        a = np.random.default_rng(1).permutation(every(dtype))
        b = np.random.default_rng(2).permutation(every(dtype))
        with np.errstate(all="ignore"):
            for name, function in functions.items():
                calls.append((name, {}, [a, b]))
                expected.append(function(a, b))
            calls.append(("sqrt", {}, [a]))
            expected.append(np.sqrt(a))
            for name in ("floor", "ceil", "trunc"):
                calls.append((name, {}, [a]))
                expected.append(getattr(np, name)(a))
            calls.append(("less", {}, [a, b]))
            expected.append(a < b)
    for actual, wanted in zip(run(calls), expected, strict=True):
        if wanted.dtype == np.bool_:
            np.testing.assert_array_equal(actual, wanted)
        else:
            same(actual, wanted)


@pytest.mark.sweep(every=2)
def test_functions_of_half_precision() -> None:
    """A function of half precision is that of single precision, rounded.

    Those differ by units in the last place.
    """
    names = (
        "exp", "log", "log2", "log10", "sqrt", "rsqrt", "sigmoid", "tanh", "erf", "sin", "cos", "tan", "sinh", "cosh",
        "asin", "acos", "atan", "asinh", "atanh", "fast_exp", "fast_tanh", "fast_erf", "abs", "negative", "sign",
    )  # fmt: skip
    calls: list[Call] = []
    expected: list[np.ndarray] = []
    for dtype in HALVES:
        x = np.random.default_rng(4).uniform(0.05, 0.95, 500).astype(numpy_dtype(dtype))
        for name in names:
            op = relay_op(name)
            assert op is not None
            calls.append((name, {}, [x]))
            expected.append(of_type(op.numpy(op.attrs(), x.astype(np.float32)), np.ndarray).astype(numpy_dtype(dtype)))
    for (name, _, _), actual, wanted in zip(calls, run(calls), expected, strict=True):
        gap = np.abs(actual.view(np.int16).astype(int) - wanted.view(np.int16).astype(int))
        assert gap.max() <= 1, name
        assert (gap != 0).mean() < 0.05, name


def test_sums_are_rounded_once() -> None:
    calls: list[Call] = []
    expected: list[np.ndarray] = []
    for dtype in HALVES:
        real = numpy_dtype(dtype)
        x, w, v = floats(real, 33, 70), floats(real, 20, 70, seed=1), floats(real, 1, 300, seed=2)
        calls += [("sum", {"axis": (1,)}, [x]), ("sum", {"axis": (0,)}, [x]), ("max", {"axis": (0, 1)}, [x])]
        calls += [
            ("nn.dense", {"units": None}, [x, w]),
            ("nn.dense", {"units": None}, [v, v]),
            ("mean", {"axis": (1,)}, [np.ones((2, 5000), real)]),
        ]
        wide = [one.astype(np.float32) for one in (x, w, v)]
        expected += [wide[0].sum(1), wide[0].sum(0), wide[0].max(), wide[0] @ wide[1].T, wide[2] @ wide[2].T]
        expected += [np.ones(2)]
    for (name, _, _), actual, wanted in zip(calls, run(calls), expected, strict=True):
        real = actual.dtype
        found = difference(actual, np.asarray(wanted).astype(real), 1)
        assert found.max_ulp <= 2, (name, found)


def test_convolution_of_half_precision() -> None:
    torch = pytest.importorskip("torch")
    x, w = floats(np.float16, 1, 8, 12, 12), floats(np.float16, 16, 8, 3, 3, seed=1)
    (actual,) = run([("nn.conv2d", {"padding": (1, 1, 1, 1), "kernel_size": (3, 3), "channels": 16}, [x, w])])
    expected = torch.nn.functional.conv2d(torch.tensor(x).float(), torch.tensor(w).float(), padding=1)
    found = difference(actual, expected.numpy().astype(np.float16), 1)
    assert found.agrees, found


@pytest.mark.parametrize("dtype", HALVES)
def test_kernels_that_run_backwards(dtype: str) -> None:
    """A transposed convolution reads its kernel from the end.

    What it reads first does not lie first in memory.
    """
    kind = numpy_dtype(dtype)
    data, weight = np.array([[[1, 2, 4]]] * 2, kind), np.array([[[1, 8, 32], [2, 1, 0]]], kind)
    given = {"channels": 2, "kernel_size": (3,), "padding": (1, 1)}
    (found,) = run([("nn.conv1d_transpose", given, [data, weight])])
    same(found, np.array([[[10, 52, 96], [5, 10, 4]]] * 2, kind))
