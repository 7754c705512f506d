"""Quantised operators and random numbers in a real apache-tvm: as Relax operators, and as
PrimFuncs; exactly.

One module holds a function for each case and form; TVM compiles it once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sweep import sampled

from relay2relax import relax_ir
from relay2relax.backends.tvm import build
from relay2relax.ops import TensorType, TupleType, relay_op
from relay2relax.relax_ir.build.emitter import OpEmitter
from relay2relax.relax_ir.ir.struct_info import from_type

RANDOM = np.random.default_rng(8)
KEY = np.array([9, 0, 0, 0, 3, 0, 0, 2**64 - 5, 1 << 20, 0], np.uint64)


def f32(value: Any) -> np.ndarray:
    return np.array(value, np.float32)


def i32(value: Any) -> np.ndarray:
    return np.array(value, np.int32)


def integers(dtype: str, *shape: int) -> np.ndarray:
    info = np.iinfo(dtype)
    return RANDOM.integers(info.min, info.max, shape).astype(dtype)


def cases() -> list[tuple[str, dict[str, Any], list[Any]]]:
    b, wide = integers("int8", 2, 3, 4), integers("int16", 2, 3, 4).astype(np.int32)
    one, two = [f32(0.02), i32(3)], [f32(0.3), i32(-7)]
    vector = [f32([0.1, 0.02, 0.3]), i32([1, 2, 3])]
    found: list[tuple[str, dict[str, Any], list[Any]]] = []
    for rounding in ("UPWARD", "TONEAREST"):
        attrs: dict[str, Any] = {"rounding": rounding, "out_dtype": "int8"}
        found.append(("qnn.requantize", attrs, [wide, *one, *two]))
        found.append(("qnn.requantize", {**attrs, "axis": 1, "out_dtype": "int32"}, [wide, *vector, *two]))
        found.append(("qnn.requantize", {**attrs, "compute_dtype": "float32"}, [wide, *one, *two]))
    found.append(("qnn.quantize", {"out_dtype": "uint8", "axis": 1}, [wide.astype(np.float32) * f32(1e-3), *vector]))
    found.append(("qnn.quantize", {"out_dtype": "int8"}, [f32([0.5, 1.5, -2.5, 0.49999997]), f32(1), i32(2)]))
    found.append(("qnn.dequantize", {"out_dtype": "float32", "axis": 1}, [b, *vector]))
    for name in ("qnn.add", "qnn.subtract", "qnn.mul"):
        found.append((name, {}, [b, integers("int8", 4), *one, *two, f32(0.2), i32(4)]))
        axes = {"lhs_axis": 1, "rhs_axis": 1}
        found.append((name, axes, [b, integers("int8", 2, 3, 4), *vector, *vector, f32(0.2), i32(4)]))
    found.append(("qnn.leaky_relu", {"alpha": 0.1}, [b, *one, *two]))
    found.append(("qnn.softmax", {"axis": 1}, [b, *one, f32(1 / 256), i32(-128)]))
    found += [(f"qnn.{name}", {}, [b, *one, *two]) for name in ("tanh", "sigmoid", "hardswish", "abs", "exp", "erf")]
    joined = [(b, b[:, :1]), (f32(0.5), f32(0.4)), (i32(1), i32(2)), *one]
    found.append(("qnn.concatenate", {"axis": 1}, joined))
    image, kernel = integers("uint8", 1, 3, 6, 5), integers("int8", 4, 3, 3, 3)
    attrs = {"kernel_size": (3, 3), "padding": (1, 1), "channels": 4, "out_dtype": "int32"}
    for zero in (i32(2), i32([1, 2, 3, 4])):
        found.append(("qnn.conv2d", attrs, [image, kernel, i32(7), zero, f32(1), f32(1)]))
    attrs = {"kernel_size": (2, 2), "strides": (2, 2), "channels": 2, "out_dtype": "int32"}
    found.append(("qnn.conv2d_transpose", attrs, [image, integers("int8", 3, 2, 2, 2), i32(7), i32(1), f32(1), f32(1)]))
    product = [integers("uint8", 4, 6), integers("int8", 5, 6), i32(9), i32(-2), f32(1), f32(1)]
    found.append(("qnn.dense", {"units": 5, "out_dtype": "int32"}, product))
    stacks = [integers("int8", 2, 3, 4), integers("uint8", 2, 5, 4), i32(4), i32(6), f32(1), f32(1)]
    found.append(("qnn.batch_matmul", {"out_dtype": "int32", "transpose_b": True}, stacks))
    found.append(("qnn.avg_pool2d", {"pool_size": (2, 2), "strides": (2, 2)}, [image, *one, *two]))
    found.append(("random.threefry_generate", {"out_shape": (3, 3)}, [KEY]))
    found.append(("random.threefry_split", {}, [KEY]))
    found.append(("random.uniform", {"out_shape": (9,), "out_dtype": "float32"}, [KEY, f32(-1), f32(3)]))
    found.append(("random.uniform", {"out_shape": (9,), "out_dtype": "float64"}, [KEY, np.array(0.0), np.array(1.0)]))
    found.append(("random.multinomial", {"num_samples": 9}, [KEY, f32([[0.1, 0, 3], [1, 2, 3]])]))
    return found


def type_of(value: Any) -> Any:
    if isinstance(value, tuple):
        return TupleType(tuple(type_of(one) for one in value))
    return TensorType(value.shape, value.dtype.name)


def flat(value: Any) -> list[np.ndarray]:
    return [one for field in value for one in flat(field)] if isinstance(value, (tuple, list)) else [np.asarray(value)]


def built(value: Any, params: Any, constants: bool) -> Any:
    """Return an argument: a parameter, or where ``constants`` hold a scale or zero point, a
    constant.
    """
    if isinstance(value, tuple):
        return relax_ir.Tuple(tuple(built(one, params, constants) for one in value))
    return relax_ir.Constant(value) if constants and value.ndim < 2 else next(params)


@pytest.mark.tvm
@pytest.mark.sweep(every=2)
def test_quantised_operators_in_tvm() -> None:
    builder = relax_ir.BlockBuilder()
    emitter = OpEmitter(builder)
    expected: dict[str, tuple[str, list[np.ndarray], Any]] = {}
    for number, (name, given, args) in enumerate(sampled(cases(), 2)):
        op = relay_op(name)
        assert op is not None
        attrs = op.attrs(**given)
        for form, emit in (("relax", emitter.as_relax), ("tir", emitter.as_tir)):
            # Scales that are known give multipliers that are; in a PrimFunc they are computed when
            # it runs.
            constants = form == "relax" and name.startswith("qnn.")
            arrays = [one for one in flat(args) if not (constants and one.ndim < 2)]
            params = [relax_ir.Var(f"x{i}", from_type(type_of(one))) for i, one in enumerate(arrays)]
            function = f"{form}_{number}"
            with builder.function(function, params):
                with builder.dataflow():
                    rest = iter(params)
                    result = builder.emit_output(emit(op, attrs, [built(one, rest, constants) for one in args]))
                builder.emit_func_output(result)
            expected[function] = f"{name} {given}", arrays, op.numpy(attrs, *args)
    module = builder.get()
    relax_ir.check_well_formed(module)
    executable = build(module)
    wrong = []
    for function, (what, arrays, value) in expected.items():
        actual = flat(executable[function](*arrays))
        for one, wanted in zip(actual, flat(value), strict=True):
            # Functions of real numbers may differ by one where they meet a half.
            near = 1 if any(word in what for word in ("tanh", "sigmoid", "exp", "erf")) else 0
            wide = np.asarray(one).astype(np.float64) - wanted.astype(np.float64)
            if one.dtype != wanted.dtype or one.shape != wanted.shape or np.abs(wide).max(initial=0) > near:
                wrong.append(f"{function}: {what}: off by {np.abs(wide).max(initial=0)}")
    assert not wrong, "\n".join(wrong)
