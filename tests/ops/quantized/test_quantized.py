"""Quantised operators: exact rounding against rational arithmetic, every facet of the records, what
they refuse.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relax_ir, relay_ir, translator
from relay2relax.ops import TensorType, TupleType, relay_op
from relay2relax.ops.quantized.arithmetic import fixed_point, fixed_point_compute
from relay2relax.ops.registry.record import OpError
from relay2relax.tir import te

RANDOM = np.random.default_rng(3)
SCALES = [0.1, 0.5, 1.0, 0.003, 7.25, 1e-6, 3e5]


def f32(value: Any) -> np.ndarray:
    return np.array(value, np.float32)


def i32(value: Any) -> np.ndarray:
    return np.array(value, np.int32)


def integers(dtype: str, *shape: int) -> np.ndarray:
    info = np.iinfo(dtype)
    return RANDOM.integers(info.min, info.max + 1, shape).astype(dtype)


def exact(q: int, scale: np.ndarray, zero: int, out_scale: np.ndarray, out_zero: int, rounding: str) -> int:
    """Return a requantised number by rational arithmetic on the multiplier of 31 bits."""
    fraction, exponent = math.frexp(float(np.float64(scale) / np.float64(out_scale)))
    multiplier = Fraction(math.floor(Fraction(fraction) * 2**31 + Fraction(1, 2)), 2**31) * Fraction(2) ** exponent
    value = (q - zero) * multiplier
    half = Fraction(1, 2)
    if rounding == "TONEAREST" and value < 0:
        return -math.floor(-value + half) + out_zero
    return math.floor(value + half) + out_zero


@pytest.mark.parametrize("rounding", ["UPWARD", "TONEAREST", "None"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32"])
def test_requantize_rounds_exactly(run_op: Any, rounding: str, dtype: str) -> None:
    data = np.concatenate([integers("int16", 40).astype(np.int32), np.arange(-8, 8, dtype=np.int32)])
    for scale, out_scale in ((0.5, 1.0), (0.25, 1.0), (1.0, 0.3), (0.07, 0.9), (0.7, 0.7)):
        attrs = {"rounding": rounding, "out_dtype": dtype}
        args = (data, f32(scale), i32(3), f32(out_scale), i32(-5))
        found = run_op("qnn.requantize", attrs, *args, exact=True)
        info = np.iinfo(dtype)
        rational = [exact(int(q), args[1], 3, args[3], -5, rounding) for q in data]
        assert found.tolist() == [min(max(one, info.min), info.max) for one in rational]


def test_requantize_along_an_axis(run_op: Any) -> None:
    data = integers("int8", 2, 4, 3).astype(np.int32) * 900
    scales, zeros = f32(RANDOM.uniform(0.01, 2, 4)), i32([0, -3, 100, 7])
    for axis in (1, -2):
        for rounding in ("UPWARD", "TONEAREST"):
            attrs = {"axis": axis, "rounding": rounding, "out_dtype": "int16"}
            found = run_op("qnn.requantize", attrs, data, scales, zeros, f32(0.3), i32(9), exact=True)
            for n, c, i in np.ndindex(data.shape):
                wanted = exact(int(data[n, c, i]), scales[c], int(zeros[c]), f32(0.3), 9, rounding)
                assert found[n, c, i] == min(max(wanted, -32768), 32767)


@pytest.mark.parametrize("compute_dtype", ["float32", "float64"])
def test_requantize_in_floats(run_op: Any, compute_dtype: str) -> None:
    data = np.arange(-20, 20, dtype=np.int32)
    for rounding, wanted in (("UPWARD", np.floor(data * 0.5 + 0.5)), ("TONEAREST", None)):
        if wanted is None:
            wanted = np.trunc(data * 0.5 + np.copysign(0.5, data))
        attrs = {"rounding": rounding, "compute_dtype": compute_dtype, "out_dtype": "int8"}
        found = run_op("qnn.requantize", attrs, data, f32(0.5), i32(0), f32(1), i32(0), exact=True)
        np.testing.assert_array_equal(found, wanted.astype(np.int8))
        run_op("qnn.requantize", {**attrs, "axis": 0}, data[:3], f32([1, 2, 3]), i32([1, 0, 4]), f32(0.7), i32(2))


def test_the_multiplier_when_the_program_runs_is_the_constant_one() -> None:
    from relay2relax.backends.numpy.tir import evaluate_prim_func

    odd = [0.0, 1 - 2**-40, 1e-12, 1e9, 1e300, np.inf, -np.inf, np.nan]
    ratios = np.concatenate([RANDOM.uniform(0, 4, 500), 2.0 ** np.arange(-30, 30), odd])
    tensor = te.placeholder(ratios.shape, "float64", "ratio")
    factor = fixed_point_compute(tensor)
    func = te.create_prim_func([tensor], [factor.scale, factor.half, factor.total])
    outputs = [np.zeros(ratios.shape, np.int64) for _ in range(3)]
    evaluate_prim_func(func, [ratios], outputs)
    wanted = fixed_point(ratios)
    for found, expected in zip(outputs, (wanted.scale, wanted.half, wanted.total), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_constant_scales_of_which_the_quotient_is_no_number() -> None:
    """TVM records such a program; its conversion used to warn, and wrote 2^63 as an int64."""
    module = relay_ir.infer_type(
        relay_ir.parse("""#[version = "0.0.5"]
def @main(%a: Tensor[(2, 3), uint8]) { qnn.concatenate((%a, %a), (0f, 0f), (1, 1), 0f, 1, axis=1) }""")
    )
    data = np.arange(6, dtype=np.uint8).reshape(2, 3)
    for program in (translator.via_graph(module), translator.lower_to_tir(module)):
        relax_ir.parse(relax_ir.script_file(program))
        found = backends.VirtualMachine(backends.build(program, target="numpy"))["main"](data)
        np.testing.assert_array_equal(found, np.ones((2, 6), np.uint8))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32"])
def test_quantize(run_op: Any, dtype: str) -> None:
    data = f32([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, 3.2, -1e6])
    found = run_op("qnn.quantize", {"out_dtype": dtype}, data, f32(1), i32(1), exact=True)
    info = np.iinfo(dtype)
    away = [1, 2, 3, -1, -2, -3, 0, 3, -(10**6)]
    assert found.tolist() == [min(max(one + 1, info.min), info.max) for one in away]
    if dtype != "int32":
        ends = run_op(
            "qnn.quantize", {"out_dtype": dtype}, f32([np.inf, -np.inf, np.nan]), f32(0.5), i32(0), exact=True
        )
        assert ends.tolist() == [info.max, info.min, info.max]


def test_quantize_and_dequantize_along_an_axis(run_op: Any) -> None:
    data = f32(RANDOM.normal(size=(2, 3, 4)))
    scales, zeros = f32([0.1, 0.2, 0.05]), i32([0, 5, -5])
    q = run_op("qnn.quantize", {"out_dtype": "int8", "axis": 1}, data, scales, zeros, exact=True)
    wide = data.astype(np.float64) / scales[:, None].astype(np.float64)
    assert np.abs(np.clip(wide, -120, 120) + zeros[:, None] - q).max() < 0.51
    back = run_op("qnn.dequantize", {"out_dtype": "float32", "axis": -2}, q, scales, zeros, batch=(2, 4), exact=True)
    np.testing.assert_allclose(back, (q - zeros[:, None]) * scales[:, None], rtol=1e-6)
    half = run_op("qnn.dequantize", {"out_dtype": "float16"}, integers("int32", 5), f32(1), i32(0), exact=True)
    assert np.isfinite(half).all()
    run_op("qnn.dequantize", {"out_dtype": "float32"}, q, f32([0.5]), i32([1]), exact=True)
    run_op("qnn.quantize", {"out_dtype": "uint8"}, f32(3.3), f32(0.1), i32(7), exact=True)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("shapes", [((2, 3), (2, 3)), ((2, 3), (3,)), ((4, 1, 3), (2, 1)), ((), ())])
def test_sums_and_products(run_op: Any, dtype: str, shapes: Any) -> None:
    lhs, rhs = (integers(dtype, *shape) for shape in shapes)
    sl, zl, sr, zr, so, zo = f32(0.02), i32(3), f32(0.05), i32(-7), f32(0.11), i32(1)
    info = np.iinfo(dtype)
    wide = lhs.astype(int), rhs.astype(int)
    for name, function in (("qnn.add", np.add), ("qnn.subtract", np.subtract)):
        found = run_op(name, {}, lhs, rhs, sl, zl, sr, zr, so, zo, exact=True)
        left = np.vectorize(lambda q: exact(int(q), sl, 3, so, 1, "UPWARD"), otypes=[int])(wide[0])
        right = np.vectorize(lambda q: exact(int(q), sr, -7, so, 1, "UPWARD"), otypes=[int])(wide[1])
        wanted = function(left, right) + (-1 if name == "qnn.add" else 1)
        np.testing.assert_array_equal(found, np.clip(wanted, info.min, info.max))
    found = run_op("qnn.mul", {}, lhs, rhs, sl, zl, sr, zr, so, zo, exact=True)
    product = (wide[0] - 3) * (wide[1] + 7)
    wanted = np.vectorize(lambda q: exact(int(q), sl * sr, 0, so, 1, "UPWARD"), otypes=[int])(product)
    np.testing.assert_array_equal(found, np.clip(wanted, info.min, info.max))


def test_sums_and_products_along_axes(run_op: Any) -> None:
    lhs, rhs = integers("int8", 2, 3, 4), integers("int8", 2, 3, 4)
    scales, zeros = f32([0.1, 0.02, 0.3]), i32([1, 2, 3])
    for name in ("qnn.add", "qnn.subtract", "qnn.mul"):
        axes = {"lhs_axis": 1, "rhs_axis": 1}
        run_op(name, axes, lhs, rhs, scales, zeros, scales[::-1].copy(), zeros, f32(0.2), i32(4), exact=True)
    run_op("qnn.add", {"lhs_axis": 1}, lhs, rhs, scales, zeros, f32(1), i32(0), f32(0.2), i32(4), exact=True)
    record = relay_op("qnn.mul")
    assert record is not None
    attrs = record.attrs(lhs_axis=1, rhs_axis=2)
    with pytest.raises(OpError, match="different axes"):
        record.numpy(attrs, lhs, rhs, scales, zeros, f32([1] * 4), i32([0] * 4), f32(1), i32(0))


FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "tanh": np.tanh, "exp": np.exp, "sqrt": np.sqrt, "log": np.log, "abs": np.abs,
    "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6, "erf": np.vectorize(math.erf),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_functions(run_op: Any, name: str, dtype: str) -> None:
    info = np.iinfo(dtype)
    every = np.arange(info.min, info.max + 1, dtype=dtype)
    zero = info.min if name in ("sqrt", "log", "rsqrt") else 0
    found = run_op(f"qnn.{name}", {}, every, f32(0.04), i32(zero), f32(0.03), i32(-2))
    with np.errstate(all="ignore"):
        real = FUNCTIONS[name]((every.astype(np.float64) - zero) * np.float64(f32(0.04)))
    wanted = np.clip(real / np.float64(f32(0.03)) - 2, info.min, info.max)
    assert np.abs(wanted - found).max() <= 0.5 + 1e-4


def test_leaky_relu(run_op: Any) -> None:
    every = np.arange(-128, 128, dtype=np.int8)
    found = run_op("qnn.leaky_relu", {"alpha": 0.125}, every, f32(0.5), i32(-10), f32(0.4), i32(6), exact=True)
    real = (every.astype(float) + 10) * 0.5
    wanted = np.clip(np.where(real < 0, real * 0.125, real) / 0.4 + 6, -128, 127)
    assert np.abs(found - wanted).max() <= 1.5


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_softmax(run_op: Any, axis: int) -> None:
    data = integers("int8", 3, 5, 4)
    found = run_op("qnn.softmax", {"axis": axis}, data, f32(0.05), i32(4), f32(1 / 256), i32(-128), exact=True)
    real = np.exp(data * 0.05 - (data * 0.05).max(axis, keepdims=True))
    real /= real.sum(axis, keepdims=True)
    assert np.abs((found.astype(float) + 128) / 256 - real).max() < 0.04


@pytest.mark.parametrize("scale", [0.8, 1.0, 1.5])
def test_softmax_of_large_scales(run_op: Any, scale: float) -> None:
    """Where a step of the input is about 1, each halves the exponential: a sum of powers of two."""
    data = integers("int8", 6, 5) // 16
    found = run_op("qnn.softmax", {"axis": -1}, data, f32(scale), i32(4), f32(1 / 128), i32(0), exact=True)
    for row, results in zip(data.tolist(), found.tolist(), strict=True):
        powers = [
            Fraction(2) ** max(x + math.floor(x / 2) - math.floor(x / 16), -20) for x in (q - max(row) for q in row)
        ]
        for power, result in zip(powers, results, strict=True):
            assert abs(min(power / sum(powers) * 128, 127) - result) <= 1


@pytest.mark.parametrize("scale", [2.5, 3e38, math.inf, -1.5, 0.0])
def test_softmax_of_scales_without_a_step(run_op: Any, scale: float) -> None:
    """Both backends compute the same, and a row of equal elements has equal results."""
    data = np.concatenate([integers("int8", 6, 5), np.full((1, 5), 3, np.int8)])
    found = run_op("qnn.softmax", {"axis": -1}, data, f32(scale), i32(4), f32(1 / 128), i32(0), exact=True)
    assert len(set(found[-1].tolist())) == 1


def test_concatenate(run_op: Any) -> None:
    parts = integers("uint8", 2, 3), integers("uint8", 2, 1)
    args = parts, (f32(0.5), f32(1.5)), (i32(0), i32(7)), f32(1.5), i32(7)
    found = run_op("qnn.concatenate", {"axis": 1}, *args, exact=True)
    np.testing.assert_array_equal(found[:, 3:], parts[1])
    wanted = [[exact(int(q), f32(0.5), 0, f32(1.5), 7, "UPWARD") for q in row] for row in parts[0]]
    assert found[:, :3].tolist() == wanted


CONVOLUTIONS = [
    ({"kernel_size": (3, 3), "padding": (1, 1), "channels": 4}, (1, 3, 6, 5), (4, 3, 3, 3), 0),
    ({"kernel_size": (2, 2), "dilation": (2, 1), "strides": (2, 2)}, (2, 2, 6, 5), (3, 2, 2, 2), 0),
    ({"kernel_size": (3, 3), "groups": 4, "channels": 4, "padding": (1, 1)}, (1, 4, 5, 5), (4, 1, 3, 3), 0),
    (
        {"kernel_size": (3, 2), "data_layout": "NHWC", "kernel_layout": "HWIO", "padding": (1, 0, 0, 1)},
        (1, 5, 6, 3), (3, 2, 3, 4), 3,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("attrs", "data", "kernel", "axis"), CONVOLUTIONS)
@pytest.mark.parametrize("dtypes", [("uint8", "int8"), ("int8", "int8")])
def test_convolutions(run_op: Any, attrs: Any, data: Any, kernel: Any, axis: int, dtypes: Any) -> None:
    x, w = integers(dtypes[0], *data), integers(dtypes[1], *kernel)
    attrs = {**attrs, "out_dtype": "int32"}
    record = relay_op("nn.conv2d")
    assert record is not None
    channels = kernel[axis]
    shape = [channels if d == axis else 1 for d in range(4)]
    for zw in (i32(3), i32(RANDOM.integers(-9, 9, channels))):
        found = run_op("qnn.conv2d", attrs, x, w, i32(7), zw, f32(0.1), f32(0.2), exact=True)
        shifted = w.astype(np.float64) - (zw if zw.ndim == 0 else zw.reshape(shape))
        plain = record.attrs(**{**attrs, "out_dtype": "float64"})
        np.testing.assert_array_equal(found, record.numpy(plain, x.astype(np.float64) - 7, shifted))


def test_transposed_convolution(run_op: Any) -> None:
    x, w = integers("uint8", 1, 3, 4, 5), integers("int8", 3, 2, 3, 3)
    attrs = {"kernel_size": (3, 3), "strides": (2, 2), "padding": (1, 1), "channels": 2, "out_dtype": "int32"}
    record = relay_op("nn.conv2d_transpose")
    assert record is not None
    for zx in (i32(7), i32([7])):
        found = run_op("qnn.conv2d_transpose", attrs, x, w, zx, i32([1, -2]), f32(0.1), f32([0.2, 0.3]), exact=True)
    shifted = w.astype(np.float64) - np.array([1, -2])[:, None, None]
    plain = record.attrs(**{**attrs, "out_dtype": "float64"})
    np.testing.assert_array_equal(found, record.numpy(plain, x.astype(np.float64) - 7, shifted))


def test_matrix_products(run_op: Any) -> None:
    x, w = integers("uint8", 4, 6), integers("int8", 5, 6)
    wide = x.astype(int) - 9
    for out_dtype in ("int32", "int64"):
        attrs = {"units": 5, "out_dtype": out_dtype}
        found = run_op("qnn.dense", attrs, x, w, i32(9), i32(-2), f32(1), f32(1), batch=4, exact=True)
        np.testing.assert_array_equal(found, wide @ (w.astype(int) + 2).T)
    zeros = i32([0, 1, 2, 3, 4])
    found = run_op("qnn.dense", attrs, x, w, i32(9), zeros, f32(1), f32([1, 2, 3, 4, 5]), exact=True)
    np.testing.assert_array_equal(found, wide @ (w.astype(int) - zeros[:, None]).T)
    found = run_op("qnn.dense", attrs, integers("int16", 2, 6), w, i32(2**30), i32(0), f32(1), f32(1), exact=True)
    assert np.abs(found).max() > 2**31

    a, b = integers("int8", 2, 3, 4), integers("uint8", 2, 5, 4)
    attrs = {"out_dtype": "int32", "transpose_b": True}
    found = run_op("qnn.batch_matmul", attrs, a, b, i32(4), i32(6), f32(1), f32(1), exact=True)
    np.testing.assert_array_equal(found, np.einsum("bmk,bnk->bmn", a.astype(int) - 4, b.astype(int) - 6))

    packed = integers("int8", 2, 3, 2, 2)
    attrs = {"units": 4, "out_dtype": "int32", "weight_layout": "NC2n2c"}
    found = run_op("qnn.contrib_dense_pack", attrs, x, packed, i32(9), i32(1), f32(1), f32(1), exact=True)
    unpacked = packed.transpose(0, 2, 1, 3).reshape(4, 6).astype(int)
    np.testing.assert_array_equal(found, wide @ (unpacked - 1).T)


def test_average_pooling(run_op: Any) -> None:
    data = integers("uint8", 1, 2, 6, 6)
    attrs = {"pool_size": (2, 3), "strides": (2, 2), "padding": (0, 1)}
    run_op("qnn.avg_pool2d", attrs, data, f32(0.5), i32(3), f32(0.7), i32(9), exact=True)
    same = run_op("qnn.avg_pool2d", {"pool_size": (2, 2), "strides": (2, 2)}, data, f32(1), i32(0), f32(1), i32(0))
    means = data.astype(int).reshape(1, 2, 3, 2, 3, 2).sum((3, 5)) // 4
    np.testing.assert_array_equal(same, means)


@pytest.mark.parametrize(("code", "dtype"), [(0, None), (1, "int8"), (2, "uint8"), (3, "int32")])
def test_simulated(run_op: Any, code: int, dtype: str | None) -> None:
    data = f32(RANDOM.normal(size=(2, 3)) * 40)
    scales, zeros = f32([0.5, 0.25, 2.0]), f32([1, 0, 2])
    found = run_op("qnn.simulated_quantize", {}, data, i32(code), scales, zeros, exact=True)
    back = run_op("qnn.simulated_dequantize", {"out_dtype": "float32"}, found, i32(code), scales, zeros)
    if dtype is None:
        np.testing.assert_array_equal(found, data)
        np.testing.assert_array_equal(back, data)
    else:
        attrs = {"out_dtype": dtype}
        whole = run_op("qnn.quantize", attrs, data, scales, zeros.astype(np.int32))
        np.testing.assert_array_equal(found, whole.astype(np.float32))


def test_annotated(run_op: Any) -> None:
    data = f32([0.26, -0.74, 0.75, 9, -9, 1.1])
    args = data, f32(0.5), f32(-3), f32(2)
    found = run_op("relay.op.annotation.simulated_quantize", {"kind": 1}, *args, exact=True)
    assert found.tolist() == [0.5, -0.5, 1.0, 1.0, -1.5, 1.0]
    same = run_op("relay.op.annotation.simulated_quantize", {"kind": 0}, *args, exact=True)
    np.testing.assert_array_equal(same, data)


def test_refusals() -> None:
    def infer(name: str, attrs: dict[str, Any], *types: Any) -> Any:
        record = relay_op(name)
        assert record is not None
        return record.infer(record.attrs(**attrs), *types)

    x8, x32 = TensorType((2, 3), "int8"), TensorType((2, 3), "float32")
    scale, zero = TensorType((), "float32"), TensorType((), "int32")
    with pytest.raises(OpError, match="expected float32"):
        infer("qnn.quantize", {"out_dtype": "int8"}, x8, scale, zero)
    with pytest.raises(OpError, match="expected int8, uint8, int16, uint16, int32"):
        infer("qnn.quantize", {"out_dtype": "int64"}, x32, scale, zero)
    with pytest.raises(OpError, match="parameters for"):
        infer("qnn.quantize", {"out_dtype": "int8", "axis": 0}, x32, TensorType((3,), "float32"), zero)
    with pytest.raises(OpError, match="outside"):
        infer("qnn.quantize", {"out_dtype": "int8", "axis": 4}, x32, TensorType((3,), "float32"), zero)
    with pytest.raises(OpError, match="expected int32"):
        infer("qnn.dequantize", {"out_dtype": "float32"}, x8, scale, scale)
    with pytest.raises(OpError, match="expected float16 or float32"):
        infer("qnn.dequantize", {"out_dtype": "float64"}, x8, scale, zero)
    with pytest.raises(OpError, match="expected one float32"):
        infer("qnn.requantize", {"out_dtype": "int8"}, x8, scale, zero, TensorType((1,), "float32"), zero)
    with pytest.raises(OpError, match="tuple"):
        infer("qnn.concatenate", {}, TupleType((x8,)), scale, zero, scale, zero)
    with pytest.raises(OpError, match="numbers for"):
        infer("qnn.concatenate", {}, TupleType((x8, x8)), TupleType((scale,)), TupleType((zero,)), scale, zero)
    with pytest.raises(OpError, match="expected int32, int64"):
        infer("qnn.dense", {"units": 2}, x8, x8, zero, zero, scale, scale)
    with pytest.raises(OpError, match="the weight has dtype float32"):
        infer("qnn.dense", {"units": 2, "out_dtype": "int32"}, x8, x32, zero, zero, scale, scale)
    record = relay_op("qnn.requantize")
    assert record is not None
    attrs = record.attrs(rounding="DOWN", out_dtype="int8")
    with pytest.raises(OpError, match="UPWARD"):
        record.numpy(attrs, integers("int8", 2), f32(1), i32(0), f32(1), i32(0))
