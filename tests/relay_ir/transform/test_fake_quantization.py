"""FakeQuantizationToInteger against TVM's, and by numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from passes_swept.recorded import failures
from recorded_cases import arguments, flat, has_data, typed_case, value
from typed import of_type, present

from relay2relax import relay_ir
from relay2relax.backends import create_executor
from relay2relax.relay_ir import Call, Expr, Function, IRModule, TensorType, Var, const, op
from relay2relax.relay_ir.transform import (
    FakeQuantizationToInteger,
    TensorAffineType,
    register_fake_quantization_to_integer,
)
from relay2relax.relay_ir.transform.layout import op_attrs
from relay2relax.relay_ir.transform.quantize.affine import AffineTypes, FakeQuantizationError
from relay2relax.tir.extent import static


def test_recorded_programs_become_what_tvm_makes_of_them(recorded: Any) -> None:
    cases = [case for case in recorded("passes") if case["passes"] == ["FakeQuantizationToInteger"]]
    assert failures(cases, lambda case: FakeQuantizationToInteger()) == []
    assert len(cases) == 52


def test_integers_are_those_that_tvm_computed(recorded: Any) -> None:
    """TVM's tests ran the program in floats and the one of integers on the same inputs: what ours
    gives is to the bit what TVM's gave.
    """
    runs: dict[str, list[dict[str, Any]]] = {}
    for case in recorded("language"):
        if "fake_quantization" in case.get("origin", "") and has_data(case):
            runs.setdefault(f"{case['origin']} {case['args']} {case['kwargs']}", []).append(case)
    compared = 0
    for cases in runs.values():
        tried = [
            (case, main, mod, FakeQuantizationToInteger()(mod)) for case in cases for mod, main in [typed_case(case)]
        ]
        integers = [case for case, _, mod, made in tried if made is mod]
        for case, main, mod, made in tried:
            for other in () if made is mod else integers:
                found = flat(create_executor("debug", made).evaluate()(*arguments(case, main)))
                for one, expected in zip(found, flat(value(other["out"])), strict=True):
                    np.testing.assert_array_equal(one, expected, case["id"])
                compared += 1
    assert compared == 43


def module(value: Expr) -> IRModule:
    return relay_ir.infer_type(IRModule.from_expr(value))


def int8(name: str, *shape: int) -> Var:
    return relay_ir.var(name, shape=shape, dtype="int8")


def dequantized(value: Expr, scale: float, zero_point: int = 0) -> Expr:
    made: Expr = op.qnn.dequantize(value, const(scale), const(zero_point))
    return made


def quantized(value: Expr, scale: float, zero_point: int = 0, dtype: str = "int8") -> Expr:
    made: Expr = op.qnn.quantize(value, const(scale), const(zero_point), out_dtype=dtype)
    return made


def assert_alike(left: Expr, right: Expr) -> None:
    difference = relay_ir.first_difference(module(left), module(right))
    assert difference is None


def images(*shape: int) -> Any:
    return np.random.default_rng(0).integers(-128, 128, shape).astype(np.int8)


X, Y, W = int8("x", 1, 4, 8, 8), int8("y", 1, 4, 8, 8), int8("w", 6, 4, 3, 3)
# Programs that TVM's tests hold to be equal to the integer, and to one.
EXACT = {
    "conv2d": quantized(op.nn.conv2d(dequantized(X, 2.0), dequantized(W, 0.5), kernel_size=(3, 3), channels=6), 1.0),
    "relu": quantized(op.nn.relu(dequantized(X, 2.0, 3)), 2.0, 3),
    "clip": quantized(op.clip(dequantized(X, 2.0, 3), 0.0, 6.0), 2.0, 3),
    "reshape": quantized(op.reshape(op.transpose(dequantized(X, 2.0), [1, 0, 2, 3]), [4, 64]), 2.0),
    "max_pool2d": quantized(op.nn.max_pool2d(dequantized(X, 2.0), (3, 3)), 2.0),
    "two regions": quantized(op.nn.relu(dequantized(quantized(op.nn.relu(dequantized(X, 2.0)), 2.0), 2.0)), 2.0),
}
CLOSE = {
    "add": quantized(op.add(dequantized(X, 0.1), dequantized(Y, 0.2, 3)), 0.3, 1),
    "multiply": quantized(op.multiply(dequantized(X, 0.1), dequantized(Y, 0.2, 3)), 0.3, 1),
    "subtract": quantized(op.subtract(dequantized(X, 0.1), const(3.0)), 0.3, 1),
    "maximum": quantized(op.maximum(dequantized(X, 0.1), dequantized(Y, 0.2, 3)), 0.3, 1),
    "leaky_relu": quantized(op.nn.leaky_relu(dequantized(X, 0.1, 3), 0.1), 0.2),
    "exp": quantized(op.exp(dequantized(X, 0.02)), 0.1),
    "sigmoid": quantized(op.sigmoid(dequantized(X, 0.02)), 0.01),
    "avg_pool2d": quantized(op.nn.avg_pool2d(dequantized(X, 0.5), (3, 3)), 0.25),
    "global_avg_pool2d": quantized(op.nn.global_avg_pool2d(dequantized(X, 0.5)), 0.5),
}


@pytest.mark.parametrize("name", [*EXACT, *CLOSE])
def test_integers_are_those_of_the_floats(name: str) -> None:
    """To the bit where nothing is requantised, within one step where TVM's tests allow one."""
    before = module({**EXACT, **CLOSE}[name])
    after = relay_ir.infer_type(FakeQuantizationToInteger(hard_fail=True)(before))
    assert relay_ir.first_difference(before, after) is not None
    annotations = [of_type(param.type_annotation, TensorType) for param in before["main"].params]
    args = [images(*(present(static(extent)) for extent in one.shape)) for one in annotations]
    expected, result = (create_executor("debug", one).evaluate()(*args) for one in (before, after))
    apart = np.abs(np.asarray(expected).astype(int) - np.asarray(result).astype(int)).max()
    assert apart <= (0 if name in EXACT else 1)


def test_a_rule_that_refuses_leaves_the_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(op_attrs, "_REGISTERED", {})

    @register_fake_quantization_to_integer("nn.conv2d")
    def conv2d(call: Call, types: AffineTypes) -> Any:
        raise ValueError("not today")

    before = module(EXACT["conv2d"])
    assert FakeQuantizationToInteger()(before) is before
    with pytest.raises(FakeQuantizationError, match="not today"):
        FakeQuantizationToInteger(hard_fail=True)(before)


def test_a_computed_zero_point_leaves_the_region() -> None:
    """As in TVM 0.16, which says "found an invalid node" of the cast."""
    zero_point = relay_ir.var("z", shape=(), dtype="int8")
    value = op.qnn.quantize(op.nn.relu(dequantized(X, 2.0)), const(2.0), op.cast(zero_point, "int32"))
    before = module(value)
    assert FakeQuantizationToInteger()(before) is before
    with pytest.raises(FakeQuantizationError, match="is computed"):
        FakeQuantizationToInteger(hard_fail=True)(before)


def test_users_register_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(op_attrs, "_REGISTERED", {})
    value = quantized(op.negative(dequantized(X, 2.0)), 2.0)
    before = module(value)
    assert FakeQuantizationToInteger()(before) is before
    with pytest.raises(FakeQuantizationError, match="negative"):
        FakeQuantizationToInteger(hard_fail=True)(before)

    @register_fake_quantization_to_integer("negative")
    def negative(call: Call, types: AffineTypes) -> tuple[Expr, TensorAffineType]:
        return call, types.tensor(call.args[0])

    after = FakeQuantizationToInteger(hard_fail=True)(before)
    assert relay_ir.first_difference(relay_ir.infer_type(after), module(op.negative(X))) is None


def test_a_tensor_in_two_scales_stays_a_float() -> None:
    """TVM takes both for the one that it saw last."""
    before = module(quantized(op.add(dequantized(X, 0.1), dequantized(X, 0.2)), 0.3))
    assert FakeQuantizationToInteger()(before) is before


def test_optional_rules_are_asked_for() -> None:
    x = int8("x", 2, 8)
    before = module(quantized(op.nn.softmax(dequantized(x, 0.1), axis=1), 1 / 256, -128))
    assert FakeQuantizationToInteger()(before) is before
    after = FakeQuantizationToInteger(hard_fail=True, optional_qnn_ops=["nn.softmax"])(before)
    parameters = (const(0.1), const(0), const(1 / 256), const(-128))
    expected = module(op.qnn.softmax(x, *parameters, axis=1))
    assert relay_ir.first_difference(relay_ir.infer_type(after), expected) is None


def qat(value: Expr, hard_fail: bool = False) -> Expr:
    after = FakeQuantizationToInteger(hard_fail=hard_fail, use_qat=True)(module(value))
    return after["main"].body


def test_operators_of_dequantised_operands_become_integers() -> None:
    """As TVM's test_fq_qat_op_positive_part: what follows the product stays a float."""
    a, b = int8("a", 1, 4, 2), int8("b", 1, 4, 2)
    product = op.nn.batch_matmul(dequantized(a, 2.0), dequantized(b, 6.0))
    integers = op.qnn.batch_matmul(
        a, b, const(0), const(0), const(2.0), const(6.0), transpose_b=True, out_dtype="int32"
    )
    expected = op.erf(op.add(dequantized(integers, 12.0), const(1.0)))
    assert_alike(qat(op.erf(op.add(product, const(1.0)))), expected)


def test_operators_of_a_float_stay() -> None:
    a, b = int8("a", 1, 4, 2), int8("b", 1, 4, 2)
    value = op.erf(op.nn.batch_matmul(dequantized(a, 2.0), op.add(dequantized(b, 6.0), const(1.0))))
    assert_alike(qat(value), value)
    with pytest.raises(FakeQuantizationError, match="not dequantised"):
        qat(value, hard_fail=True)


def test_integers_go_on_from_operator_to_operator() -> None:
    a = int8("a", 1, 4, 2)
    moved = op.transpose(op.reshape(dequantized(a, 2.0, 1), [4, 2]), [1, 0])
    expected = dequantized(op.transpose(op.reshape(a, [4, 2]), [1, 0]), 2.0, 1)
    assert_alike(qat(op.erf(moved)), op.erf(expected))


def test_functions_keep_what_is_not_quantised() -> None:
    x = relay_ir.var("x", shape=(2,))
    before = relay_ir.infer_type(IRModule.from_expr(Function((x,), quantized(op.exp(x), 0.5))))
    assert FakeQuantizationToInteger(hard_fail=True)(before) is before
