"""Quantised operators in other forms, which give the same integers to the bit."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from recorded_cases import arguments, problem

from relay2relax import relay_ir
from relay2relax.backends import create_executor
from relay2relax.relay_ir import Call, IRModule, Op, const, op, qnn, transform
from relay2relax.relay_ir.ir.rewrite import nodes
from relay2relax.relay_ir.transform import QnnCanonicalize, QnnLegalize, TempOpAttr

INTEL_FAST = "llvm -mtriple=x86_64-linux-gnu -mcpu=cascadelake"
ARM_FAST = "llvm -device=arm_cpu -mtriple=aarch64-linux-gnu -mattr=+v8.2a,+dotprod"
ARM = "llvm -device=arm_cpu -mtriple=aarch64-linux-gnu"
TARGETS = ["", "llvm", INTEL_FAST, ARM, ARM_FAST, "cuda", "vulkan", "hexagon"]


def run(mod: IRModule, *args: Any) -> Any:
    return np.asarray(create_executor("debug", mod).evaluate()(*args))


def names(mod: IRModule) -> set[str]:
    return {node.op.name for node in nodes(mod["main"]) if isinstance(node, Call) and isinstance(node.op, Op)}


def test_recorded_results_are_those_of_plain_operators(recorded: Any) -> None:
    """Plain operators, and the forms for hardware, give what TVM recorded of quantised ones."""
    count = 0
    for case in recorded("operators"):
        if not re.search(r" qnn\.", case["text"]) or "out" not in case or case.get("data_dropped"):
            continue
        mod = relay_ir.load_json(case["json"])
        after = relay_ir.infer_type(QnnCanonicalize()(mod))
        assert not [name for name in names(after) if name.startswith("qnn.")], case["id"]
        given = arguments(case, mod["main"])
        assert problem(create_executor("debug", after).evaluate()(*given), case, after) == "", case["id"]
        legal = QnnCanonicalize()(QnnLegalize(INTEL_FAST)(mod))
        assert problem(create_executor("debug", legal).evaluate()(*given), case, legal) == "", case["id"]
        count += 1
    assert count > 10


def parameters(channels: int | None, seed: int) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    shape = () if channels is None else (channels,)
    return {
        "kernel_zero_point": const(draw.integers(-3, 4, shape).astype("int32")),
        "kernel_scale": const(draw.uniform(0.01, 0.2, shape).astype("float32")),
        "input_zero_point": const(5, "int32"),
        "input_scale": const(0.05, "float32"),
    }


def convolution(data: str, kernel: str, channels: int | None, layout: str = "NCHW", groups: int = 1) -> IRModule:
    images = layout == "NCHW"
    x = relay_ir.var("x", shape=(1, 6, 7, 7) if images else (1, 7, 7, 6), dtype=data)
    w = relay_ir.var("w", shape=(12, 6 // groups, 3, 3) if images else (3, 3, 6 // groups, 12), dtype=kernel)
    given = parameters(channels, 1)
    call = op.qnn.conv2d(
        x, w, given["input_zero_point"], given["kernel_zero_point"], given["input_scale"], given["kernel_scale"],
        padding=1, channels=12, kernel_size=(3, 3), groups=groups, data_layout=layout,
        kernel_layout="OIHW" if images else "HWIO", out_dtype="int32",
    )  # fmt: skip
    return relay_ir.infer_type(IRModule.from_expr(call))


def dense(data: str, kernel: str, channels: int | None) -> IRModule:
    x, w = relay_ir.var("x", shape=(10, 3), dtype=data), relay_ir.var("w", shape=(20, 3), dtype=kernel)
    given = parameters(channels, 2)
    call = op.qnn.dense(
        x, w, given["input_zero_point"], given["kernel_zero_point"], given["input_scale"], given["kernel_scale"],
        units=20, out_dtype="int32",
    )  # fmt: skip
    return relay_ir.infer_type(IRModule.from_expr(call))


def drawn(mod: IRModule) -> list[Any]:
    draw, found = np.random.default_rng(3), []
    for param in mod["main"].params:
        ty = mod.types[param]
        assert isinstance(ty, relay_ir.TensorType)
        info = np.iinfo(ty.dtype)
        found.append(draw.integers(info.min, info.max + 1, [int(str(d)) for d in ty.shape]).astype(ty.dtype))
    return found


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("data", ["uint8", "int8"])
@pytest.mark.parametrize("kernel", ["uint8", "int8"])
@pytest.mark.parametrize("vector", [False, True])
def test_products_keep_their_integers(target: str, data: str, kernel: str, vector: bool) -> None:
    for mod in (
        convolution(data, kernel, 12 if vector else None),
        convolution(data, kernel, 12 if vector else None, "NHWC"),
        convolution(data, kernel, 12 if vector else None, groups=2),
        dense(data, kernel, 20 if vector else None),
    ):
        args = drawn(mod)
        expected = run(mod, *args)
        legal = relay_ir.infer_type(QnnLegalize(target)(mod))
        np.testing.assert_array_equal(run(legal, *args), expected)
        plain = relay_ir.infer_type(QnnCanonicalize()(legal))
        assert not [name for name in names(plain) if name.startswith("qnn.")]
        np.testing.assert_array_equal(run(plain, *args), expected)


@pytest.mark.parametrize("make", [convolution, dense])
def test_forms_are_those_that_tvm_gives(make: Any) -> None:
    """As TVM's test_qnn_legalize_qnn_conv2d and test_qnn_legalize_qnn_dense."""
    quantised = {"qnn.conv2d", "qnn.dense"}
    for dtype in ("uint8", "int8"):
        mod = make(dtype, dtype, None)
        for target in (INTEL_FAST, "llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512"):
            assert {"cast"} < names(QnnLegalize(target)(mod)) & ({"cast"} | quantised)
        assert QnnLegalize(ARM_FAST)(mod) is mod
        for target in ("llvm", ARM):
            assert not names(QnnLegalize(target)(mod)) & quantised
    mod = make("uint8", "int8", None)
    assert QnnLegalize(INTEL_FAST)(mod) is mod
    for target in (ARM_FAST, "cuda"):
        assert {"cast"} < names(QnnLegalize(target)(mod)) & ({"cast"} | quantised)
    for target in ("llvm", ARM):
        assert not names(QnnLegalize(target)(mod)) & quantised


def test_vectors_of_parameters_for_hexagon() -> None:
    """As TVM's tests of non-scalar parameters, but that data are padded with the real value 0."""
    x, w = relay_ir.var("data", shape=(4, 16), dtype="uint8"), relay_ir.var("weight", shape=(58, 16), dtype="int8")
    zero, scale = const(2), const(0.15)

    def layer(weight: Any, count: int, more: int) -> Any:
        zeros = const(np.array([1] * count + [0] * more, "int32"))
        scales = const(np.array([0.17] * count + [1.0] * more, "float32"))
        return op.qnn.dense(x, weight, zero, zeros, scale, scales, units=count + more, out_dtype="int32")

    expected = op.strided_slice(layer(op.nn.pad(w, pad_width=[[0, 6], [0, 0]]), 58, 6), [0, 0], [4, 58])
    found = relay_ir.infer_type(QnnLegalize("hexagon")(IRModule.from_expr(layer(w, 58, 0))))
    assert relay_ir.first_difference(found, relay_ir.infer_type(IRModule.from_expr(expected))) is None


def requantized(x: Any) -> Any:
    one, none = const(1.0), const(0, "int32")
    return op.qnn.requantize(x, one, none, one, none, out_dtype="int8")


def test_functions_of_users() -> None:
    """As TVM's test_qnn_legalize: only the pass for quantised operators asks them."""
    x = relay_ir.var("x", shape=(1, 4), dtype="int8")
    mod = relay_ir.infer_type(IRModule.from_expr(requantized(x)))
    expected = relay_ir.infer_type(IRModule.from_expr(requantized(op.add(const(0, "int8"), x))))

    def legal(attrs: Any, args: Any, types: Any) -> Any:
        assert [ty.dtype for ty in types] == ["int8", "float32", "int32", "float32", "int32", "int8"]
        return requantized(op.add(const(0, "int8"), args[0]))

    with TempOpAttr("qnn.requantize", "FTVMQnnLegalize", legal):
        assert transform.Legalize()(mod) is mod
        found = relay_ir.infer_type(qnn.transform.Legalize()(mod))
    assert relay_ir.first_difference(found, expected) is None
    assert qnn.transform.Legalize()(mod) is mod
    with TempOpAttr("qnn.requantize", "FTVMQnnCanonicalize", lambda attrs, args, types: args[0]):
        assert qnn.transform.CanonicalizeOps()(mod)["main"].body is x


PAIR = {"lhs_scale": 0.1, "lhs_zero_point": 3, "rhs_scale": 0.07, "rhs_zero_point": -2}
OUT = {"output_scale": 0.15, "output_zero_point": 4}


def as_constants(given: Mapping[str, float]) -> dict[str, Any]:
    return {name: const(value, "int32" if "zero" in name else "float32") for name, value in given.items()}


ONE = as_constants({"scale": 0.05, "zero_point": 3} | OUT)
INPUT = as_constants({"input_scale": 0.05, "input_zero_point": 3} | OUT)
Program = Callable[[Any, Any], Any]


def binary(name: str) -> Program:
    return lambda x, y: getattr(op.qnn, name)(x, y, **as_constants(PAIR | OUT))


def unary(name: str) -> Program:
    return lambda x, y: getattr(op.qnn, name)(x, **ONE)


PROGRAMS: Mapping[str, Program] = {
    **{name: binary(name) for name in ("add", "subtract", "mul")},
    **{name: unary(name) for name in ("tanh", "exp", "sigmoid", "hardswish", "abs", "erf")},
    "leaky_relu": lambda x, y: op.qnn.leaky_relu(x, alpha=0.3, **INPUT),
    "avg_pool2d": lambda x, y: op.qnn.avg_pool2d(x, **INPUT, pool_size=(2, 2), strides=(2, 2), padding=(1, 1)),
    "requantize": lambda x, y: op.qnn.requantize(x, **INPUT, rounding="TONEAREST", out_dtype="int8"),
    "requantize_float": lambda x, y: op.qnn.requantize(x, **INPUT, compute_dtype="float32", out_dtype="int8"),
    "concatenate": lambda x, y: op.qnn.concatenate(
        [x, y],
        relay_ir.Tuple((const(0.1), const(0.2))),
        relay_ir.Tuple((const(1), const(-1))),
        **as_constants(OUT),
        axis=1,
    ),
    "softmax": lambda x, y: op.qnn.softmax(x, axis=1, **as_constants({"scale": 0.1, "zero_point": 3} | OUT)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_operators_keep_their_integers(name: str) -> None:
    x, y = (relay_ir.var(one, shape=(2, 3, 4, 4), dtype="int8") for one in "xy")
    mod = relay_ir.infer_type(IRModule.from_expr(relay_ir.Function((x, y), PROGRAMS[name](x, y))))
    args = drawn(mod)
    expected = run(mod, *args)
    for after in (QnnCanonicalize()(mod), QnnCanonicalize()(QnnLegalize()(mod))):
        typed = relay_ir.infer_type(after)
        assert not [one for one in names(typed) if one.startswith("qnn.")]
        np.testing.assert_array_equal(run(typed, *args), expected)


def test_scales_that_the_program_computes_stay() -> None:
    x, s = relay_ir.var("x", shape=(2, 3), dtype="int32"), relay_ir.var("s", shape=())
    given = (const(0), const(0.1), const(0))
    mod = relay_ir.infer_type(IRModule.from_expr(op.qnn.requantize(x, s, *given, out_dtype="int8")))
    assert QnnCanonicalize()(mod) is mod
