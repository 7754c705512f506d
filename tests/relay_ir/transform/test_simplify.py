"""Passes that write calls more simply, where TVM's recorded cases do not reach."""

from __future__ import annotations

import numpy as np
import pytest
from typed import of_type

from relay2relax import relay_ir
from relay2relax.backends import create_executor
from relay2relax.core.passes import Pass
from relay2relax.relay_ir import Call, Constant, Function, IRModule, Tuple, Var, transform
from relay2relax.relay_ir.ir.rewrite import nodes

HEADER = '#[version = "0.0.5"]\n'
CANONICAL = (
    "def @main(%x: Tensor[(2, 3, 4, 4), float32], %b: Tensor[(3), float32]) { nn.bias_add(%x, %b) }",
    "def @main(%x: Tensor[(2, 3, 4, 4), float32], %b: Tensor[(3), float32])"
    " { add(%x, expand_dims(%b, axis=1, num_newaxis=2)) }",
)
LAST_AXIS = (
    "def @main(%x: Tensor[(2, 3), float32], %b: Tensor[(3), float32]) { nn.bias_add(%x, %b, axis=-1) }",
    "def @main(%x: Tensor[(2, 3), float32], %b: Tensor[(3), float32]) { add(%x, %b) }",
)
FAST = (
    "def @main(%x: Tensor[(2, 3), float32]) { nn.softmax(tanh(erf(exp(%x))), axis=0) }",
    "def @main(%x: Tensor[(2, 3), float32]) { nn.fast_softmax(fast_tanh(fast_erf(fast_exp(%x))), axis=0) }",
)
DIVISION = (
    "def @main(%x: Tensor[(2), float32]) { divide(divide(%x, 4f), 0f) }",
    "def @main(%x: Tensor[(2), float32]) { divide(multiply(%x, 0.25f), 0f) }",
)
INTEGERS = ("def @main(%x: Tensor[(2), int32]) { divide(%x, 4) }",) * 2
TRANSPOSED = (
    "def @main(%x: Tensor[(1, 4), float32], %w: Tensor[(4, 3), float32], %v: Tensor[(3, 3), float32])"
    " { nn.dense(nn.dense(%x, transpose(%w, axes=[1, 0]), units=None), transpose(%v, axes=[1, 0]), units=None) }",
    "def @main(%x: Tensor[(1, 4), float32], %v: Tensor[(3, 3), float32], %wt: Tensor[(3, 4), float32])"
    " { nn.dense(nn.dense(%x, %wt, units=None), transpose(%v, axes=[1, 0]), units=None) }",
)
FUSED = (
    "def @main(%x: Tensor[(2), float32]) { fn (%a: Tensor[(2), float32], Primitive=1) { exp(%a) }(abs(%x)) }",
    "def @main(%x: Tensor[(2), float32]) { exp(abs(%x)) }",
)


@pytest.mark.parametrize(
    ("one", "texts"),
    [
        (transform.CanonicalizeOps(), CANONICAL),
        (transform.CanonicalizeOps(), LAST_AXIS),
        (transform.FastMath(), FAST),
        (transform.DivToMul(), DIVISION),
        (transform.DivToMul(), INTEGERS),
        (transform.SimplifyFCTranspose(("w",)), TRANSPOSED),
        (transform.DefuseOps(), FUSED),
    ],
)
def test_calls_become_others(one: Pass[IRModule], texts: tuple[str, str]) -> None:
    before, expected = (relay_ir.parse(HEADER + text) for text in texts)
    after = relay_ir.infer_type(one(before))
    assert relay_ir.first_difference(after, relay_ir.infer_type(expected)) is None


def test_all_elements_of_a_divisor_are_inverted() -> None:
    x = Var("x", relay_ir.TensorType((3,), "float16"))
    mod = IRModule.from_expr(x / np.array([3, 7, 11], "float16"))
    product = of_type(transform.DivToMul()(mod)["main"].body, Call)
    inverse = of_type(product.args[1], Constant).data
    assert inverse.tolist() == (1 / np.array([3, 7, 11], "float32")).astype("float16").tolist()


def test_transposed_weights_are_found_by_name() -> None:
    assert relay_ir.analysis.search_fc_transpose(relay_ir.parse(HEADER + TRANSPOSED[0])["main"]) == ["w", "v"]


def test_long_joins_are_split() -> None:
    """Seven tensors, five arguments at most, one of them the result: TVM joins four, then three
    more with the result of that, then the last.
    """
    inputs = [Var(f"x{index}", relay_ir.TensorType((1,), "float32")) for index in range(7)]
    mod = IRModule.from_expr(Function(tuple(inputs), relay_ir.op.concatenate(inputs, axis=0)))
    after = relay_ir.infer_type(transform.SplitArgs(5)(mod))
    counts = [len(node.fields) for node in nodes(after["main"]) if isinstance(node, Tuple)]
    assert counts == [4, 4]
    assert after["main"].ret_type == relay_ir.TensorType((7,), "float32")
    assert transform.SplitArgs(9)(mod)["main"] is mod["main"]


def test_a_dilated_convolution_has_the_value_of_its_blocks() -> None:
    text = """
    def @main(%x: Tensor[(1, 6, 6, 2), float32], %w: Tensor[(3, 3, 2, 4), float32]) {
      %0 = nn.space_to_batch_nd(%x, block_shape=[2, 2], paddings=[[2, 2], [2, 2]]);
      %1 = nn.conv2d(%0, %w, padding=[0, 0, 0, 0], channels=4, kernel_size=[3, 3],
        data_layout="NHWC", kernel_layout="HWIO");
      nn.batch_to_space_nd(%1, block_shape=[2, 2], crops=[[0, 0], [0, 0]])
    }"""
    before = relay_ir.parse(HEADER + text)
    after = transform.FlattenAtrousConv()(before)
    conv = of_type(after["main"].body, Call)
    assert (conv.op, conv.attrs.dilation) == (relay_ir.Op("nn.conv2d"), (2, 2))
    drawn = np.random.default_rng(0)
    x, w = (drawn.standard_normal(shape).astype("float32") for shape in ((1, 6, 6, 2), (3, 3, 2, 4)))
    first, second = (create_executor("graph", mod).evaluate()(x, w) for mod in (before, after))
    np.testing.assert_allclose(second, first, rtol=1e-5, atol=1e-5)


# What TVM's rules would change the value of, and what stays for it.
STAYS = [
    'def @main(%x: Tensor[(2), int8]) { cast(cast(%x, dtype="uint8"), dtype="int32") }',
    "def @main(%x: Tensor[(2), float32]) {"
    ' cast(cast(clip(%x, a_min=0f, a_max=255f), dtype="uint8"), dtype="float32") }',
    "def @main(%x: Tensor[(3), float32], %b: Tensor[(1, 3), float32]) { add(%x, zeros_like(%b)) }",
]


@pytest.mark.parametrize("text", STAYS)
def test_what_has_another_value_stays(text: str) -> None:
    mod = relay_ir.parse(HEADER + text)
    after = transform.SimplifyExpr()(mod)
    casts = [node.op for node in nodes(after["main"]) if isinstance(node, Call)]
    assert len(casts) == len([node for node in nodes(mod["main"]) if isinstance(node, Call)])


def test_layouts_in_a_row_are_one() -> None:
    text = """def @main(%x: Tensor[(1, 2, 2, 8), float32]) {
      %0 = transpose(%x, axes=[0, 3, 1, 2]);
      %1 = layout_transform(%0, src_layout="NCHW", dst_layout="NCHW4c");
      %2 = layout_transform(%1, src_layout="NCHW4c", dst_layout="NCHW2c");
      layout_transform(%2, src_layout="NCHW2c", dst_layout="NHWC")
    }"""
    mod = relay_ir.parse(HEADER + text)
    after = transform.SimplifyExpr()(mod)
    assert after["main"].body is after["main"].params[0]


def test_nothing_is_divided_by_a_scale_of_zeros() -> None:
    """A sum between a scale and a dense layer would be divided by the scale."""
    x = Var("x", relay_ir.TensorType((2, 3), "float32"))
    scaled = relay_ir.op.multiply(x, np.array([2, 0, 1], "float32"))
    total = relay_ir.op.add(scaled, np.array([1, 2, 3], "float32"))
    weight = np.arange(6, dtype="float32").reshape(2, 3)
    mod = IRModule.from_expr(relay_ir.op.nn.dense(total, weight))
    data = np.ones((2, 3), "float32")
    found = create_executor("debug", transform.ForwardFoldScaleAxis()(mod)).evaluate()(data)
    np.testing.assert_allclose(found, (data * [2, 0, 1] + [1, 2, 3]) @ weight.T)
