"""ToMixedPrecision against what TVM's test_to_mixed_precision.py expects, and by numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relay2relax import relay_ir
from relay2relax.backends import create_executor
from relay2relax.core.dtype import Array
from relay2relax.core.errors import UnsupportedError
from relay2relax.ops.registry.precision import Precision
from relay2relax.ops.registry.table import relay_names, relay_op
from relay2relax.relay_ir import Call, Expr, Function, IRModule, Let, TupleGetItem, const, op, transform
from relay2relax.relay_ir.transform import TempOpAttr, ToMixedPrecision

LOWER = ["float16", "bfloat16"]
CONV = {"strides": (1, 1), "padding": (1, 1)}


def module(expr: Expr) -> IRModule:
    return relay_ir.infer_type(IRModule.from_expr(expr))


def values(mod: IRModule, seed: int = 0) -> list[Any]:
    draw = np.random.default_rng(seed)
    args = []
    for param in mod["main"].params:
        ty = mod.types[param]
        assert isinstance(ty, relay_ir.TensorType)
        args.append(draw.uniform(-1, 1, [int(str(d)) for d in ty.shape]).astype(ty.dtype))
    found = create_executor("debug", mod).evaluate()(*args)
    return [np.asarray(one) for one in (found if isinstance(found, tuple) else (found,))]


def check(before: Expr, expected: Expr, dtype: str, keep: bool = False, tolerance: float = 0.03) -> None:
    """``before`` becomes ``expected``, and gives the same numbers as far as ``dtype`` can tell."""
    mod = module(before)
    with transform.PassContext(config={"relay.ToMixedPrecision.keep_orig_output_dtype": keep}):
        after = relay_ir.infer_type(ToMixedPrecision(dtype)(mod))
    assert relay_ir.first_difference(after, module(expected)) is None
    bound = tolerance * (8 if dtype == "bfloat16" else 1)
    for found, wanted in zip(values(after), values(mod), strict=True):
        np.testing.assert_allclose(found.astype("float32"), wanted.astype("float32"), rtol=bound, atol=bound)


def image(name: str = "data") -> Any:
    return relay_ir.var(name, shape=(1, 3, 8, 8))


def kernel() -> Any:
    return relay_ir.var("weight", shape=(5, 3, 3, 3))


@pytest.mark.parametrize("dtype", LOWER)
def test_a_convolution_is_in_lower_precision(dtype: str) -> None:
    x, w = image(), kernel()
    made = op.nn.conv2d(op.cast(x, dtype), op.cast(w, dtype), **CONV, out_dtype=dtype)
    check(op.nn.conv2d(x, w, **CONV, out_dtype="float32"), op.cast(made, "float32"), dtype, keep=True)


def test_a_convolution_can_be_in_higher_precision() -> None:
    x, w = image(), kernel()
    made = op.nn.conv2d(op.cast(x, "float64"), op.cast(w, "float64"), **CONV, out_dtype="float64")
    check(op.nn.conv2d(x, w, **CONV, out_dtype="float32"), made, "float64")


@pytest.mark.parametrize("dtype", LOWER)
def test_normalisation_follows_a_convolution(dtype: str) -> None:
    x, w = image(), kernel()
    params = [relay_ir.var(name, shape=(5,)) for name in ("gamma", "beta", "mean", "var")]
    before = op.nn.batch_norm(op.nn.conv2d(x, w, **CONV, out_dtype="float32"), *params)
    conv = op.nn.conv2d(op.cast(x, dtype), op.cast(w, dtype), **CONV, out_dtype=dtype)
    after = op.nn.batch_norm(conv, *(op.cast(one, dtype) for one in params))
    mod = module(before[0])
    found = relay_ir.infer_type(ToMixedPrecision(dtype)(mod))
    assert relay_ir.first_difference(found, module(after[0])) is None


@pytest.mark.parametrize("dtype", LOWER)
@pytest.mark.parametrize(
    "unsafe",
    [
        op.nn.softmax,
        op.sum,
        op.mean,
        op.nn.global_avg_pool2d,
        lambda x: op.nn.adaptive_avg_pool2d(x, (1, 1)),
        lambda x: op.arange(const(1.0), const(128.0)),
        lambda x: op.nn.softmax(x) + op.nn.softmax(x),
    ],
)
def test_what_is_unsafe_stays(unsafe: Callable[[Expr], Expr], dtype: str) -> None:
    mod = module(unsafe(image()))
    assert relay_ir.structural_equal(ToMixedPrecision(dtype)(mod), mod)


@pytest.mark.parametrize("dtype", LOWER)
def test_a_sum_follows_convolutions(dtype: str) -> None:
    x, w = image(), kernel()
    conv = op.nn.conv2d(x, w, **CONV, out_dtype="float32")
    lower = op.nn.conv2d(op.cast(x, dtype), op.cast(w, dtype), **CONV, out_dtype=dtype)
    check(conv + conv, lower + lower, dtype)


@pytest.mark.parametrize("dtype", LOWER)
def test_softmax_of_a_convolution_casts_once(dtype: str) -> None:
    x, w = image(), kernel()
    lower = op.nn.conv2d(op.cast(x, dtype), op.cast(w, dtype), **CONV, out_dtype=dtype)
    before = op.nn.softmax(op.nn.conv2d(x, w, **CONV, out_dtype="float32"))
    check(before, op.nn.softmax(op.cast(lower, "float32")), dtype)


@pytest.mark.parametrize("dtype", LOWER)
def test_lets_take_the_types_of_their_values(dtype: str) -> None:
    def program(lower: str, cast: Callable[[Expr], Expr]) -> Expr:
        first, second = (relay_ir.var(name, shape=(1, 20), dtype=lower) for name in ("var1", "var2"))
        x, w = cast(relay_ir.var("data", shape=(1, 20))), cast(relay_ir.var("weight", shape=(20, 20)))
        out = {} if lower == "float32" else {"out_dtype": lower}
        inner = Let(second, op.nn.dense(first + first, w, units=20, **out), second + second)
        return Let(first, op.nn.dense(x, w, units=20, **out), inner)

    check(program("float32", lambda one: one), program(dtype, lambda one: op.cast(one, dtype)), dtype, tolerance=0.1)


@pytest.mark.parametrize("dtype", LOWER)
def test_products_and_choices(dtype: str) -> None:
    x, w = relay_ir.var("data", shape=(1, 20)), relay_ir.var("weight", shape=(20, 20))
    lx, lw = op.cast(x, dtype), op.cast(w, dtype)
    dense, lower = op.nn.dense(x, w, units=20), op.nn.dense(lx, lw, units=20, out_dtype=dtype)
    after = module(op.where(lx, lower, lower))
    before = module(op.where(x, dense, dense))
    assert relay_ir.first_difference(relay_ir.infer_type(ToMixedPrecision(dtype)(before)), after) is None
    a, b = relay_ir.var("data", shape=(1, 1, 20)), relay_ir.var("weight", shape=(1, 20, 20))
    made = op.nn.batch_matmul(op.cast(a, dtype), op.cast(b, dtype), out_dtype=dtype)
    check(op.nn.batch_matmul(a, b), made, dtype)


@pytest.mark.parametrize("dtype", LOWER)
def test_integer_operands_do_not_matter(dtype: str) -> None:
    x = relay_ir.var("data", shape=(1, 10))
    places = relay_ir.var("indices", shape=(1, 1), dtype="int32") + const(0, "int32")
    check(op.take(x, places, axis=0), op.take(op.cast(x, dtype), places, axis=0), dtype)


def test_clip_by_what_float16_cannot_be() -> None:
    x = relay_ir.var("data", shape=(1, 10))
    wide = {"a_min": -128000.0, "a_max": 128000.0}
    check(op.clip(x, **wide), op.clip(x, **wide), "float16")
    check(op.clip(x, **wide), op.clip(op.cast(x, "bfloat16"), **wide), "bfloat16")
    five = const(5.0)
    part = op.divide(op.cast(x, "float16"), op.cast(five, "float16"))
    check(op.clip(op.divide(x, five), **wide), op.clip(op.cast(part, "float32"), **wide), "float16")
    part = op.divide(op.cast(x, "bfloat16"), op.cast(five, "bfloat16"))
    check(op.clip(op.divide(x, five), **wide), op.clip(part, **wide), "bfloat16")


LOOP = """
#[version = "0.0.5"]
def @main(%start: int32) {
  let %loop = fn (%i: int32, %st: Tensor[(?, 1), int32]) {
    if (min(less(%i, 10))) {
      %loop(add(%i, 1), concatenate((%st, reshape(%i, newshape=[1, 1])), axis=0))
    } else { (%i, %st) }
  };
  let %end = %loop(%start, reshape(0, newshape=[1, 1]));
  %end.1
}
"""


def test_a_loop_over_integers_stays() -> None:
    mod = relay_ir.infer_type(relay_ir.parse(LOOP))
    assert relay_ir.first_difference(relay_ir.infer_type(ToMixedPrecision()(mod)), mod) is None


CONTROL = """
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(4, 4), float32], %c: bool) {
  let %f = fn (%a: Tensor[(2, 4), float32]) { nn.dense(%a, %w, units=4) };
  let %r = ref(%x);
  let %u = ref_write(%r, nn.dense(%x, %w, units=4));
  let %y = if (%c) { nn.dense(ref_read(%r), %w, units=4) } else { nn.softmax(%x) };
  (@g(%f(%y), %w), match? ((nn.dense(%x, %w, units=4), %x)) { (%p, %q) => add(%p, %q) })
}
def @g(%x: Tensor[(2, 4), float32], %w: Tensor[(4, 4), float32]) -> Tensor[(2, 4), float32] {
  nn.relu(nn.dense(%x, %w, units=4))
}
"""


@pytest.mark.parametrize("dtype", LOWER)
def test_what_has_a_name_keeps_its_types(dtype: str) -> None:
    mod = relay_ir.infer_type(relay_ir.parse(CONTROL))
    after = relay_ir.infer_type(ToMixedPrecision(dtype)(mod))
    draw = np.random.default_rng(1)
    x, w = (draw.uniform(-1, 1, shape).astype("float32") for shape in ((2, 4), (4, 4)))
    for choice in (True, False):
        found, wanted = (
            [np.asarray(v, "float32") for v in create_executor("debug", one).evaluate()(x, w, np.asarray(choice))]
            for one in (after, mod)
        )
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, atol=0.3 if dtype == "bfloat16" else 0.03)
    assert str(after).count(dtype) > 8


def test_functions_that_users_register() -> None:
    x = image()
    mod = module(op.nn.softmax(x))
    with TempOpAttr("nn.softmax", "FTVMMixedPrecisionConversionType", lambda call, dtype: [0, dtype, "float32"]):
        after = relay_ir.infer_type(ToMixedPrecision()(mod))
    expected = module(op.cast(op.nn.softmax(op.cast(x, "float16")), "float32"))
    assert relay_ir.first_difference(after, expected) is None
    assert ToMixedPrecision()(mod) is mod


def test_operators_of_which_nobody_spoke() -> None:
    mod = module(op.log(image()))
    expected = module(op.log(op.cast(image(), "float16")))
    with pytest.warns(UserWarning, match=r"log \(1\)"):
        assert relay_ir.structural_equal(relay_ir.infer_type(ToMixedPrecision()(mod)), expected)
    assert relay_ir.structural_equal(relay_ir.infer_type(ToMixedPrecision(missing_op_mode=2)(mod)), expected)
    with pytest.raises(UnsupportedError, match="log"):
        ToMixedPrecision(missing_op_mode=0)(mod)
    with pytest.raises(UnsupportedError, match="int8"):
        ToMixedPrecision("int8")(mod)
    with pytest.raises(UnsupportedError, match="missing_op_mode"):
        ToMixedPrecision(missing_op_mode=3)(mod)


def test_scales_of_quantised_operators_stay_float32() -> None:
    x, scale = relay_ir.var("x", shape=(2, 3), dtype="int8"), relay_ir.var("s", shape=())
    mod = module(op.qnn.quantize(op.qnn.dequantize(x, scale, const(0)), const(0.5), const(0)))
    assert relay_ir.structural_equal(relay_ir.infer_type(ToMixedPrecision(missing_op_mode=2)(mod)), mod)


@pytest.mark.sweep(every=2)
def test_a_long_program() -> None:
    x = relay_ir.var("x", shape=(2, 2))
    value: Any = op.nn.dense(x, x)
    for _ in range(20_000):
        value = op.nn.relu(value)
    after = ToMixedPrecision()(IRModule.from_expr(value))
    assert isinstance(after["main"].ret_type, relay_ir.TensorType)
    assert after["main"].ret_type.dtype == "float16"


# Behind so many layers float16 has so much of its 10 bits left; of the largest element.
MODELS = {"mlp": 0.01, "dqn": 0.01, "lstm_relay": 0.02, "bert_tiny": 0.05, "squeezenet": 0.05, "mobilenetv2": 0.1}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.sweep(every=2)
def test_models_stay_near_what_they_gave(get_model_case: Callable[[str], Any], model: str) -> None:
    case = get_model_case(model)
    with transform.PassContext(config={"relay.ToMixedPrecision.keep_orig_output_dtype": True}):
        after = ToMixedPrecision(missing_op_mode=2)(relay_ir.load_json(case.json))
    assert "float16" in str(after)
    found = create_executor("debug", after).evaluate()(*case.arguments())
    for value, expected in zip(found if isinstance(found, tuple) else [found], case.expected(), strict=True):
        got: Array = np.asarray(value)
        assert got.dtype == expected.dtype
        assert np.abs(got - expected).max() <= MODELS[model] * np.abs(expected).max()


def test_lstm_of_tvm() -> None:
    """As TVM's test_lstm: function literals are called, and their results follow."""
    x, w = relay_ir.var("x", shape=(1, 4)), relay_ir.var("w", shape=(4, 4))
    a, b = relay_ir.var("a", shape=(1, 4)), relay_ir.var("b", shape=(4, 4))
    cell = Function((a, b), relay_ir.Tuple((op.tanh(op.nn.dense(a, b, units=4)), a)))
    state: Expr = x
    for _ in range(5):
        state = TupleGetItem(Call(cell, (state, w)), 0)
    mod = module(state)
    after = relay_ir.infer_type(ToMixedPrecision()(mod))
    np.testing.assert_allclose(values(after)[0].astype("float32"), values(mod)[0], atol=0.01)
    assert isinstance(after["main"].ret_type, relay_ir.TensorType)
    assert after["main"].ret_type.dtype == "float16"


# The lists of TVM 0.18's python/tvm/relay/transform/mixed_precision.py, as far as records exist.
LISTS = {
    Precision.ALWAYS: """
    nn.batch_matmul nn.conv1d nn.conv1d_transpose nn.conv2d nn.conv2d_transpose nn.conv3d
    nn.conv3d_transpose nn.dense
    """,
    Precision.FOLLOW: """
    add argmax argmin argwhere broadcast_to_like cast cast_like clip concatenate copy divide
    dyn.broadcast_to dyn.full dyn.reshape dyn.strided_slice dyn.tile expand_dims fast_erf
    fast_exp fast_tanh full greater greater_equal image.resize2d less less_equal max maximum min
    minimum multiply nn.adaptive_max_pool1d nn.adaptive_max_pool2d nn.adaptive_max_pool3d
    nn.avg_pool1d nn.avg_pool2d nn.avg_pool3d nn.batch_flatten nn.batch_norm nn.bias_add
    nn.depth_to_space nn.dropout nn.global_max_pool2d nn.leaky_relu nn.max_pool1d nn.max_pool2d
    nn.max_pool3d nn.pad nn.prelu nn.relu reshape scatter_elements scatter_nd shape_of sigmoid
    split sqrt squeeze strided_slice subtract take tanh tile transpose where zeros
    """,
    Precision.NEVER: """
    arange erf exp mean nn.adaptive_avg_pool1d nn.adaptive_avg_pool2d nn.adaptive_avg_pool3d
    nn.cross_entropy nn.cross_entropy_with_logits nn.global_avg_pool2d nn.l2_normalize
    nn.layer_norm nn.softmax power sum variance
    """,
}


def test_records_say_what_tvm_lists() -> None:
    expected = {name: precision for precision, names in LISTS.items() for name in names.split()}
    records = {name: relay_op(name) for name in relay_names()}
    assert {name: one.precision for name, one in records.items() if one and one.precision} == expected
