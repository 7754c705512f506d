"""Activations, attention and losses."""

from __future__ import annotations

from relay2relax.core.dtype import is_float
from relay2relax.graph.formats.onnx.builder import Form, Site
from relay2relax.graph.formats.onnx.forms.arithmetic import maximum, same
from relay2relax.ops.nn.activation import LeakyReluAttrs, PReluAttrs
from relay2relax.ops.nn.attention import AttentionAttrs
from relay2relax.ops.nn.loss import NLLLossAttrs
from relay2relax.ops.nn.relax_activation import SoftplusAttrs
from relay2relax.tir.extent import static


def softmax(kind: str) -> Form:
    return lambda at, attrs, data: at.node(kind, data, axis=attrs.axis)


def relu(at: Site, attrs: object, data: str) -> str:
    dtype = at.type().dtype
    if is_float(dtype):
        return at.node("Relu", data)
    return maximum(at, attrs, data, at.const(0, dtype))


def leaky_relu(at: Site, attrs: LeakyReluAttrs, data: str) -> str:
    return at.node("LeakyRelu", data, alpha=float(attrs.alpha))


def prelu(at: Site, attrs: PReluAttrs, data: str, alpha: str) -> str:
    behind = at.type().rank - 1 - attrs.axis % at.type().rank
    return at.node("PRelu", data, at.node("Unsqueeze", alpha, at.ints(list(range(1, behind + 1)))) if behind else alpha)


def silu(at: Site, attrs: object, data: str) -> str:
    return at.node("Mul", data, at.node("Sigmoid", data))


def softplus(at: Site, attrs: SoftplusAttrs, data: str) -> str:
    dtype = at.type().dtype
    scaled = at.node("Mul", data, at.const(attrs.beta, dtype)) if attrs.beta != 1 else data
    smooth = at.node("Softplus", scaled)
    if attrs.beta != 1:
        smooth = at.node("Div", smooth, at.const(attrs.beta, dtype))
    return at.node("Where", at.node("Greater", scaled, at.const(attrs.threshold, dtype)), data, smooth)


def attention(at: Site, attrs: AttentionAttrs, query: str, key: str, value: str, *bias: str) -> str:
    """Attention of (batch, sequence, head, element), as the sum that it is."""
    if attrs.window_size is not None:
        at.refuse("of a window")
    dtype = at.type().dtype
    depth = static(at.type().shape[-1])
    scale = attrs.scale if attrs.scale is not None else None if depth is None else depth**-0.5
    if scale is None:
        at.refuse("its scale is symbolic")
    queries, values = (at.node("Transpose", one, perm=[0, 2, 1, 3]) for one in (query, value))
    scores = at.node("MatMul", queries, at.node("Transpose", key, perm=[0, 2, 3, 1]))
    scores = at.node("Mul", scores, at.const(scale, dtype))
    if bias:
        scores = at.node("Add", scores, bias[0])
    if attrs.causal_mask is not None:
        rows, columns = at.static([at.type().shape[1], at.type(1).shape[1]], "a length under a mask")
        offset = columns - rows if attrs.causal_mask == "BottomRight" else 0
        kept = [[column <= row + offset for column in range(columns)] for row in range(rows)]
        scores = at.node("Where", at.const(kept, "bool"), scores, at.const(-float("inf"), dtype))
    made = at.node("MatMul", at.node("Softmax", scores, axis=-1), values)
    return at.node("Transpose", made, perm=[0, 2, 1, 3])


def nll_loss(at: Site, attrs: NLLLossAttrs, predictions: str, targets: str, *weights: str) -> str:
    return at.node(
        "NegativeLogLikelihoodLoss", predictions, targets, *weights,
        reduction=attrs.reduction, ignore_index=attrs.ignore_index,
    )  # fmt: skip


FORMS: dict[str, Form] = {
    "nn.softmax": softmax("Softmax"),
    "nn.log_softmax": softmax("LogSoftmax"),
    "nn.relu": relu,
    "nn.leaky_relu": leaky_relu,
    "nn.prelu": prelu,
    "R.nn.gelu": same("Gelu"),
    "R.nn.gelu_tanh": same("Gelu", approximate="tanh"),
    "R.nn.silu": silu,
    "R.nn.selu": same("Selu"),
    "R.nn.softplus": softplus,
    "R.nn.attention": attention,
    "R.nn.nll_loss": nll_loss,
    "R.nn.dropout": lambda at, attrs, data: (at.node("Identity", data), at.node("Identity", data)),
    "nn.dropout": lambda at, attrs, data: (at.node("Identity", data), at.node("Identity", data)),
}
