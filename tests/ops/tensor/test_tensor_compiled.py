"""Tensor operators compiled: in a real apache-tvm, as Relax operators in its script and as
PrimFuncs; and as C.

One module holds a function for each case and form, so that there is one compilation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from sweep import sampled

from relay2relax import relax_ir
from relay2relax.backends.c import compile_prim_funcs
from relay2relax.backends.tvm import build
from relay2relax.core.tolerance import difference
from relay2relax.ops import OpDef, TensorType, TupleType, relay_op
from relay2relax.ops.registry.lower import lower_call
from relay2relax.relax_ir.build.emitter import OpEmitter
from relay2relax.relax_ir.ir.struct_info import from_type
from relay2relax.tir.ir.expr import Var

RANDOM = np.random.default_rng(5)
FLOATS = [
    "exp", "log", "sqrt", "rsqrt", "sigmoid", "tanh", "erf", "sin", "cos", "tan", "sinh", "cosh", "asin", "acos",
    "atan", "asinh", "atanh", "floor", "ceil", "trunc", "abs", "negative", "sign", "copy", "log2", "log10",
    "fast_exp", "fast_tanh", "fast_erf", "round", "isnan", "isinf", "isfinite", "ones_like", "zeros_like",
]  # fmt: skip
ARITHMETIC = [
    "add", "subtract", "multiply", "divide", "power", "maximum", "minimum", "mod", "floor_divide", "floor_mod",
    "trunc_divide", "trunc_mod", "less", "less_equal", "greater", "greater_equal", "equal", "not_equal",
]  # fmt: skip
INTEGERS = [
    "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "divide", "mod", "floor_mod",
    "floor_divide", "add",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Scalar:
    """A constant as arange's attributes hold it."""

    data: Any


def floats(*shape: int) -> np.ndarray:
    return RANDOM.uniform(0.1, 0.9, shape).astype(np.float32)


def ints(*shape: int, dtype: str = "int32", high: int = 5) -> np.ndarray:
    return RANDOM.integers(1, high, shape).astype(dtype)


def flags(*shape: int) -> np.ndarray:
    return RANDOM.integers(0, 2, shape).astype(bool)


def cases() -> list[tuple[str, dict[str, Any], list[Any]]]:
    x, n, b = floats(2, 3, 4), ints(2, 3, 4), flags(2, 3, 4)
    signed = n - 3
    found: list[tuple[str, dict[str, Any], list[Any]]] = []
    found += [(name, {}, [x]) for name in FLOATS]
    found += [("acosh", {}, [x + 1]), ("sign", {}, [signed]), ("abs", {}, [signed]), ("negative", {}, [signed])]
    found += [("round", {}, [np.array([0.5, 1.5, 2.5, -0.5, -2.5, 0.49999997], np.float32)])]
    found += [("logical_not", {}, [b]), ("bitwise_not", {}, [signed]), ("bitwise_not", {}, [b])]
    found += [(name, {}, [x, floats(3, 1)]) for name in ARITHMETIC]
    found += [(name, {}, [n, ints(4)]) for name in INTEGERS]
    found += [("divide", {}, [signed * 7, ints(4)]), ("mod", {}, [signed * 7, ints(4)])]
    found += [("floor_divide", {}, [signed * 7, ints(4)]), ("floor_mod", {}, [signed * 7, ints(4)])]
    found += [(name, {}, [b, flags(4)]) for name in ("logical_and", "logical_or", "logical_xor")]
    found += [("where", {}, [flags(3, 1), x, floats(4)]), ("where", {}, [ints(4) - 2, x, x])]
    for low, high in ((0.2, 0.8), (-math.inf, 0.5), (0.5, math.inf)):
        found.append(("clip", {"a_min": low, "a_max": high}, [x]))
    found += [("clip", {"a_min": 1.0, "a_max": 2.9}, [n])]
    found += [("cast", {"dtype": d}, [x * 9]) for d in ("int32", "int64", "float64", "bool", "uint8", "float16")]
    found += [("cast", {"dtype": d}, [n - 3]) for d in ("float32", "int8", "bool")]
    found += [
        ("cast", {"dtype": "float32"}, [b]),
        ("cast_like", {}, [x * 9, n]),
        ("reinterpret", {"dtype": "int32"}, [x]),
    ]
    found += [("fixed_point_multiply", {"multiplier": 1288490188, "shift": s}, [n * 1000 - 3000]) for s in (1, -3)]
    for name in ("sum", "mean", "prod", "max", "min"):
        found += [(name, {}, [x]), (name, {"axis": (1,), "keepdims": True}, [x]), (name, {"axis": (0, -1)}, [x])]
        found += [(name, {"axis": (1,), "exclude": True}, [x]), (name, {"axis": (1,)}, [n])]
    found += [("mean", {"axis": (1,)}, [signed]), ("max", {"axis": (0,)}, [b])]
    found += [("all", {"axis": (1,)}, [b]), ("any", {"keepdims": True}, [b])]
    for name in ("argmax", "argmin"):
        found += [(name, {}, [x]), (name, {"axis": (1,)}, [x]), (name, {"axis": (0, 2), "keepdims": True}, [n])]
        found += [(name, {"axis": (2,), "select_last_index": True}, [n]), (name, {"axis": (1,), "exclude": True}, [x])]
    mean = x.mean((0, 2), keepdims=True)
    found += [("variance", {"axis": (0, 2), "unbiased": u}, [x, mean]) for u in (False, True)]
    found += [("reshape", {"newshape": s}, [x]) for s in ((4, 6), (-1,), (0, -3), (-3, -2), (0, -4, 3, 1, -2))]
    found += [("reshape_like", {}, [x, floats(6, 4)])]
    found += [("transpose", {"axes": a}, [x]) for a in (None, (2, 0, 1), (-1, 0, -2))]
    found += [("squeeze", {}, [x[:1, :, None]]), ("squeeze", {"axis": (1,)}, [x[:, None, :1]])]
    found += [("expand_dims", {"axis": 1, "num_newaxis": 2}, [x]), ("expand_dims", {"axis": -1}, [x])]
    found += [("concatenate", {"axis": 1}, [(x, floats(2, 1, 4), x)]), ("concatenate", {"axis": -1}, [(x, x)])]
    found += [("stack", {"axis": a}, [(x, x + 1)]) for a in (0, -1, 1)]
    found += [("split", {"indices_or_sections": 2, "axis": 0}, [x])]
    found += [("split", {"indices_or_sections": (1, 3), "axis": -1}, [x])]
    places = ints(2, 3, high=9) - 4
    found += [("take", {"axis": a, "mode": m}, [x, places]) for a in (None, 0, 1, -1) for m in ("clip", "wrap")]
    found += [("take", {"axis": 1, "mode": "fast"}, [x, ints(2, 2, high=3)])]
    found += [("take", {"axis": 2, "batch_dims": 1}, [x, ints(2, 2, dtype="int64", high=4)])]
    found += [("shape_of", {"dtype": d}, [x]) for d in ("int32", "int64")] + [("ndarray_size", {"dtype": "int32"}, [x])]
    found += [("broadcast_to", {"shape": (5, 2, 3, 4)}, [x]), ("broadcast_to_like", {}, [floats(3, 1), x])]
    slices = {"begin": (1, -1, 0), "end": (2, -100, 3), "strides": (1, -1, 2), "axes": None}
    found += [("strided_slice", slices, [x])]
    found += [
        ("strided_slice", {"begin": (1,), "end": (-1,), "strides": (1,), "slice_mode": "size", "axes": (2,)}, [x])
    ]
    found += [("strided_slice", {"begin": (-2,), "end": (100,), "strides": (1,), "axes": (1,)}, [x])]
    found += [("slice_like", {"axes": None}, [x, floats(1, 2, 4)]), ("slice_like", {"axes": (1,)}, [x, floats(9, 1)])]
    found += [("tile", {"reps": r}, [x]) for r in ((2,), (2, 1, 1, 3))]
    found += [("repeat", {"repeats": 2, "axis": a}, [x]) for a in (None, 1, -1)] + [("reverse", {"axis": 1}, [x])]
    found += [
        (name, {"shape": (2, 3), "dtype": d}, []) for name in ("zeros", "ones") for d in ("float32", "int64", "bool")
    ]
    found += [("full", {"shape": (2, 3)}, [np.array(2.5, np.float32)])]
    found += [("full", {"shape": (2, 3), "dtype": "int32"}, [np.array(2.5, np.float32)])]
    found += [("full_like", {}, [n, np.array(2.5, np.float32)])]
    for start, stop, step, dtype in ((1, 20, 3, "int32"), (0.5, 2.9, 0.4, "float32"), (20, 1, -1, "float32")):
        bounds = [np.array(one, dtype) for one in (start, stop, step)]
        given = dict(zip(("start", "stop", "step"), map(Scalar, bounds), strict=True))
        found.append(("arange", {**given, "dtype": dtype}, bounds))
    return found


def placing_cases() -> list[tuple[str, dict[str, Any], list[Any]]]:
    """Scans, gathers, scatters, masks, layouts, coordinates, sums of products and transforms."""
    x, n, b = floats(2, 3, 4), ints(2, 3, 4), flags(2, 3, 4)
    found: list[tuple[str, dict[str, Any], list[Any]]] = []
    for name in ("cumsum", "cumprod"):
        found += [(name, {"axis": a}, [x]) for a in (None, 0, -1)] + [(name, {"axis": 1, "exclusive": True}, [n])]
        found += [(name, {"axis": 1, "dtype": "int64"}, [n]), (name, {"axis": 2}, [b])]
    found += [("gather", {"axis": a}, [x, ints(2, 3, 4, high=2)]) for a in (0, 1, -1)]
    found += [("gather", {"axis": 1}, [x, ints(2, 5, 4, dtype="uint32", high=3)])]
    found += [
        ("gather_nd", {"index_rank": 2}, [x, ints(2, 5, high=2)]),
        ("gather_nd", {"index_rank": 3}, [x, ints(3, 2, 2, dtype="int64", high=2)]),
    ]
    found += [("gather_nd", {"batch_dims": 1}, [x, ints(1, 2, 3, high=3)])]
    found += [("adv_index", {}, [(x, ints(5, 1, high=2), ints(6, high=3))])]
    places = np.array([[[2, 0, -1, 1]], [[0, 0, 2, -2]]], np.int64)
    for how in ("update", "add", "mul", "mean", "min", "max"):
        found += [("scatter_elements", {"axis": 1, "reduction": how}, [x, places, floats(2, 1, 4)])]
    found += [("scatter_elements", {"axis": 0, "reduction": "add"}, [n, ints(1, 3, 4, high=2), ints(1, 3, 4)])]
    for how in ("update", "add", "mul", "min", "max"):
        column = np.array([[0, 1, 1], [2, 0, 0]], np.int32)
        found += [("scatter_nd", {"mode": how}, [x, column, floats(3, 4)])]
    for axis, dtype in ((-1, "float32"), (0, "int32"), (1, "bool")):
        hot = [ints(2, 3, high=5), np.array(2.5, np.float32), np.array(0.0, np.float32)]
        found.append(("one_hot", {"depth": 5, "axis": axis, "dtype": dtype}, hot))
    found += [("trilu", {"upper": u}, [x, np.array(k, np.int32)]) for u in (True, False) for k in (0, -1, 2)]
    found += [("sequence_mask", {"mask_value": -1.0, "axis": 1}, [x, np.array([1, 3], np.int32)])]
    found += [("sequence_mask", {"axis": 0}, [x, np.array([1, 0, 2], np.int32)])]
    found += [("matrix_set_diag", {"k1": k, "k2": k}, [x, floats(2, 3 - max(k - 1, -k, 0))]) for k in (0, 1, -1)]
    for right in (True, False):
        diagonals = {"k1": -1, "k2": 2, "super_diag_right_align": right, "sub_diag_right_align": not right}
        found.append(("matrix_set_diag", diagonals, [x, floats(2, 4, 3)]))
    image, packed = floats(2, 8, 3, 5), floats(2, 2, 3, 5, 4)
    found += [
        ("layout_transform", {"src_layout": "NCHW", "dst_layout": d}, [image]) for d in ("NHWC", "NCHW4c", "NHWC8c")
    ]
    found += [
        ("layout_transform", {"src_layout": "NCHW4c", "dst_layout": d}, [packed]) for d in ("NCHW", "NHWC", "NCHW2c")
    ]
    found += [("layout_transform", {"src_layout": "OIHW", "dst_layout": "OIHW4i2o"}, [image])]
    found += [("layout_transform", {"src_layout": "NCHW", "dst_layout": "NCHW3c"}, [image])]
    found += [("contrib_reverse_reshape", {"newshape": s}, [x]) for s in ((-1, 0), (4, 0, 2))]
    lengths = np.array([2, 3], np.int32)
    found += [("reverse_sequence", {"seq_axis": a, "batch_axis": 0}, [x, lengths]) for a in (1, 2)]
    found += [("sliding_window", {"axis": 1, "window_shape": (2, 3), "strides": (1, 1)}, [x])]
    found += [("meshgrid", {"indexing": i}, [(floats(2), floats(3), np.array(2.0, np.float32))]) for i in ("ij", "xy")]
    found += [("unravel_index", {}, [ints(5, dtype="int64", high=24), np.array([2, 3, 4], np.int64)])]
    found += [("unravel_index", {}, [np.array(17, np.int32), np.array([2, 3, 4], np.int32)])]
    found += [("invert_permutation", {}, [np.array([3, 0, 2, 1], np.int32)])]
    found += [
        (
            "sparse_to_dense",
            {"output_shape": (3, 4)},
            [np.array([[0, 1], [2, 3], [0, 1]], np.int32), floats(3), floats()],
        )
    ]
    found += [("sparse_to_dense", {"output_shape": (7,)}, [np.array([1, 5], np.int32), floats(), floats()])]
    rows = np.array([[0, 0, 3], [1, 2, 1]], np.int64)
    found += [("sparse_reshape", {}, [rows, np.array([2, 3, 4], np.int64), np.array([8, -1], np.int64)])]
    found += [
        ("sparse_reshape", {}, [np.array([[0], [24]], np.int32), np.array([25], np.int32), np.full(2, 5, np.int32)])
    ]
    found += [("collapse_sum_like", {}, [x, floats(3, 1)]), ("collapse_sum_like", {}, [x, floats(1, 3, 4)])]
    found += [("collapse_sum_to", {"shape": (3, 1)}, [x, np.array([3, 1], np.int32)])]
    slices = [np.array(one, np.int32) for one in ([0, 2], [2, -4], [1, -2])]
    found += [("strided_set", {}, [x, floats(2, 2, 4), *slices])]
    found += [("einsum", {"equation": "bij,bjk->bik"}, [(x, floats(2, 4, 3))])]
    found += [
        ("einsum", {"equation": "...ij->...ji"}, [(x,)]),
        ("einsum", {"equation": "ab,ab"}, [(floats(2, 3), floats(2, 3))]),
    ]
    found += [("dft", {"inverse": i}, [floats(2, 8), floats(2, 8)]) for i in (False, True)]
    for normalized, onesided in ((False, True), (True, False)):
        given = {"n_fft": 4, "hop_length": 2, "win_length": 4, "normalized": normalized, "onesided": onesided}
        found.append(("stft", given, [floats(2, 11), floats(4)]))
    return found


def type_of(value: Any, symbols: dict[int, Var]) -> Any:
    if isinstance(value, tuple):
        return TupleType(tuple(type_of(one, symbols) for one in value))
    return TensorType(tuple(symbols.get(int(e), int(e)) for e in value.shape), value.dtype.name)


def flat(value: Any) -> list[np.ndarray]:
    return [one for field in value for one in flat(field)] if isinstance(value, tuple) else [value]


def run_in_tvm(chosen: list[tuple[str, dict[str, Any], list[Any]]], sizes: tuple[int, ...]) -> None:
    builder = relax_ir.BlockBuilder()
    emitter = OpEmitter(builder)
    expected: dict[str, tuple[str, list[np.ndarray], Any]] = {}
    for number, (name, given, args) in enumerate(chosen):
        op = relay_op(name)
        assert isinstance(op, OpDef)
        attrs = op.attrs(**given)
        for form in ("relax", "tir"):
            symbols = {size: Var(f"n{size}") for size in sizes}
            params = [
                relax_ir.Var(f"x{i}", from_type(type_of(one, symbols))) for i, one in enumerate(flat(tuple(args)))
            ]
            rest = iter(params)
            values = [
                relax_ir.Tuple(tuple(next(rest) for _ in one)) if isinstance(one, tuple) else next(rest) for one in args
            ]
            function = f"{form}_{number}"
            with builder.function(function, params):
                with builder.dataflow():
                    emit = emitter.as_relax if form == "relax" else emitter.as_tir
                    result = builder.emit_output(emit(op, attrs, values))
                builder.emit_func_output(result)
            expected[function] = f"{name} {given}", flat(tuple(args)), op.numpy(attrs, *args)
    module = builder.get()
    relax_ir.check_well_formed(module)
    executable = build(module)
    wrong = []
    for function, (what, arrays, value) in expected.items():
        actual = executable[function](*(np.ascontiguousarray(one).reshape(one.shape) for one in arrays))
        for one, wanted in zip(
            flat(tuple(actual) if isinstance(actual, (list, tuple)) else actual), flat(value), strict=True
        ):
            found = difference(np.asarray(one), np.asarray(wanted), 24)
            if not found.agrees:
                wrong.append(f"{function}: {what}: {found.reason}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.tvm
@pytest.mark.sweep(every=2)
def test_tensor_operators_in_tvm() -> None:
    run_in_tvm(list(sampled(cases(), 2)), ())


@pytest.mark.tvm
@pytest.mark.sweep(every=2)
def test_tensor_operators_of_symbolic_extents_in_tvm() -> None:
    run_in_tvm(list(sampled([case for case in cases() if case[0] not in FLOATS], 2)), (2, 3, 4))


@pytest.mark.tvm
@pytest.mark.sweep(every=2)
def test_placing_operators_in_tvm() -> None:
    run_in_tvm(list(sampled(placing_cases(), 2)), ())


# The ranks of shapes that are inputs, and layouts, need extents that are known.
FIXED = {"unravel_index", "sparse_reshape", "sparse_to_dense", "layout_transform", "matrix_set_diag", "collapse_sum_to"}


@pytest.mark.tvm
@pytest.mark.sweep(every=2)
def test_placing_operators_of_symbolic_extents_in_tvm() -> None:
    first = {case[0]: case for case in reversed(placing_cases()) if case[0] not in FIXED}
    run_in_tvm(list(sampled(first.values(), 2)), (2, 3, 4))


@pytest.mark.compiler
def test_tensor_operators_in_c() -> None:
    functions, expected = [], []
    for number, (name, given, args) in enumerate(sampled([*cases(), *placing_cases()], 1)):
        op = relay_op(name)
        assert isinstance(op, OpDef)
        attrs = op.attrs(**given)
        types = [type_of(one, {}) for one in args]
        functions.append(lower_call(op, attrs, types, op.infer(attrs, *types), f"call_{number}"))
        arrays = [np.ascontiguousarray(one).reshape(one.shape) for one in flat(tuple(args))]
        expected.append((f"{name} {given}", arrays, flat(op.numpy(attrs, *args))))
    module = compile_prim_funcs(functions)
    for function, (what, arrays, values) in zip(functions, expected, strict=True):
        results = [np.full(one.shape, 7).astype(one.dtype) for one in values]
        module.call(function.name, *arrays, *results)
        for one, wanted in zip(results, values, strict=True):
            found = difference(one, np.asarray(wanted), 24)
            assert found.agrees, f"{what}: {found.reason}"
