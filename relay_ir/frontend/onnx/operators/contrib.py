"""Operators of ONNX Runtime, domain ``com.microsoft``, as its optimiser leaves them in models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from relay2relax.relay_ir.frontend.onnx.conversion import Conversion, Convert
from relay2relax.relay_ir.frontend.onnx.operators.activation import gelu, leaky_relu
from relay2relax.relay_ir.frontend.onnx.operators.convolution import OPERATORS as CONVOLUTIONS
from relay2relax.relay_ir.frontend.onnx.operators.matmul import gemm, matmul
from relay2relax.relay_ir.frontend.onnx.operators.normalisation import statistics
from relay2relax.relay_ir.frontend.onnx.operators.quantised import dequantized
from relay2relax.relay_ir.ir.expr import Expr


def _activated(at: Conversion, x: Expr) -> Expr:
    """Return what a fused node's ``activation`` makes of its product."""
    name = at.attr("activation", "")
    plain = {"Relu": "nn.relu", "Sigmoid": "sigmoid", "Tanh": "tanh"}
    if not name:
        return x
    if name in plain:
        return at.call(plain[name], x)
    if name == "LeakyRelu":
        return leaky_relu(at, x, at.attr("activation_alpha", at.attr("alpha", 0.01)))
    at.refuse(f"it is fused with {name}")


def _fused_gemm(at: Conversion) -> Expr:
    return _activated(at, gemm(at, at.arg(0), at.arg(1), at.arg(2) if at.has(2) else None))


def _fused_conv(at: Conversion) -> Expr:
    made = CONVOLUTIONS["Conv"](at)
    assert not isinstance(made, (tuple, list))
    assert made is not None
    return _activated(at, at.call("add", made, at.arg(3)) if at.has(3) else made)


def _fused_matmul(at: Conversion) -> Expr:
    parts = []
    for place, name in enumerate(("transA", "transB")):
        one, rank = at.arg(place), at.rank(at.arg(place))
        turn = at.attr(name, 0) and rank > 1
        parts.append(at.transpose(one, [*range(rank - 2), rank - 1, rank - 2]) if turn else one)
    made, alpha = matmul(at, parts[0], parts[1]), at.attr("alpha", 1.0)
    return made if alpha == 1.0 else at.call("multiply", made, at.like(alpha, made))


def _bias_gelu(at: Conversion) -> Expr:
    return gelu(at, at.call("add", at.arg(0), at.arg(1)))


def _fast_gelu(at: Conversion) -> Expr:
    return gelu(at, at.call("add", at.arg(0), at.arg(1)) if at.has(1) else at.arg(0), "tanh")


def _quick_gelu(at: Conversion) -> Expr:
    x = at.arg()
    return at.call("multiply", x, at.call("sigmoid", at.call("multiply", x, at.like(at.attr("alpha", 1.702), x))))


def _normalised(at: Conversion, x: Expr, scale: Expr, bias: Expr | None) -> tuple[Expr, Expr, Expr]:
    made, mean, inverse = statistics(at, x, [at.rank(x) - 1], float(at.attr("epsilon", 1e-12)))
    made = at.call("multiply", made, scale)
    return made if bias is None else at.call("add", made, bias), mean, inverse


def _skip_layer_norm(at: Conversion) -> tuple[Expr, ...]:
    total = at.call("add", at.arg(0), at.arg(1))
    if at.has(4):
        total = at.call("add", total, at.arg(4))
    made, mean, inverse = _normalised(at, total, at.arg(2), at.arg(3) if at.has(3) else None)
    return made, mean, inverse, total


def _skip_root_mean_square(at: Conversion) -> tuple[Expr, ...]:
    """Normalised by the root of the mean of squares; no mean is taken away."""
    total = at.call("add", at.arg(0), at.arg(1))
    if at.has(3):
        total = at.call("add", total, at.arg(3))
    squares = at.call("mean", at.call("multiply", total, total), axis=[at.rank(total) - 1], keepdims=True)
    small = at.like(float(at.attr("epsilon", 1e-12)), squares)
    inverse = at.call("rsqrt", at.call("add", squares, small))
    made = at.call("multiply", at.call("multiply", total, inverse), at.arg(2))
    return made, at.call("zeros_like", inverse), inverse, total


def _embed_layer_norm(at: Conversion) -> tuple[Expr, ...]:
    ids = at.arg(0)
    batch, length = at.shape(ids)
    total = at.call("take", at.arg(2), ids, axis=0)
    if at.has(8):
        places: Expr = at.arg(8)
    else:
        places = at.const(np.broadcast_to(np.arange(length), (batch, length)), "int32")
    total = at.call("add", total, at.call("take", at.arg(3), places, axis=0))
    if at.has(1) and at.has(4):
        total = at.call("add", total, at.call("take", at.arg(4), at.arg(1), axis=0))
    made, _, _ = _normalised(at, total, at.arg(5), at.arg(6))
    if at.has(7):
        counted = at.call("sum", at.cast(at.arg(7), "int32"), axis=[1])
    else:
        counted = at.call("zeros", (batch,), "int32")
    return made, counted, total


def _attention(at: Conversion) -> tuple[Expr, ...]:
    """Attention of one projection, with a mask and the keys and values of before."""
    x, heads = at.arg(0), at.wanted("num_heads")
    if at.attr("qkv_hidden_sizes"):
        at.refuse("its queries, keys and values have sizes of their own")
    batch, length, _ = at.shape(x)
    joined = matmul(at, x, at.arg(1))
    if at.has(2):
        joined = at.call("add", joined, at.arg(2))
    size = at.shape(joined)[-1] // 3
    each = size // heads

    def split(one: Expr) -> Expr:
        return at.transpose(at.reshape(one, [batch, length, heads, each]), [0, 2, 1, 3])

    query, key, value = (split(one) for one in at.fields(at.call("split", joined, 3, axis=2)))
    if at.has(4):
        past = [at.squeeze(one, [0]) for one in at.fields(at.call("split", at.arg(4), 2, axis=0))]
        key = at.call("concatenate", at.tuple([past[0], key]), axis=2)
        value = at.call("concatenate", at.tuple([past[1], value]), axis=2)
    present = at.call("stack", at.tuple([key, value]), axis=0)
    scores = matmul(at, query, at.transpose(key, [0, 1, 3, 2]))
    scores = at.call("multiply", scores, at.like(at.attr("scale") or each**-0.5, scores))
    if at.has(5):
        scores = at.call("add", scores, at.arg(5))
    scores = _masked(at, scores, length)
    made = matmul(at, at.call("nn.softmax", scores, axis=-1), value)
    return at.reshape(at.transpose(made, [0, 2, 1, 3]), [batch, length, size]), present


def _quantised_attention(at: Conversion) -> tuple[Expr, ...]:
    """``QAttention``: input, weight, bias, scales of both, mask, zero points of both, past."""
    zero, weight_zero = (at.arg(place) if at.has(place) else None for place in (6, 7))
    data = dequantized(at, at.arg(0), at.arg(3), zero, 1)
    weight = dequantized(at, at.arg(1), at.arg(4), weight_zero, 1)
    mask, past = (at.args[place] if at.has(place) else None for place in (5, 8))
    return _attention(replace(at, args=(data, weight, at.arg(2), mask, past)))


def _masked(at: Conversion, scores: Expr, length: int) -> Expr:
    """Return scores less what the mask takes away; of later places nothing counts."""
    total = at.shape(scores)[-1]
    made = _less_masked(at, scores, total) if at.has(3) else scores
    if not at.attr("unidirectional", 0):
        return made
    kept = np.tril(np.ones((length, total), bool), total - length)
    return at.call("where", at.const(kept, "bool"), made, at.like(float(np.finfo("float32").min), made))


def _less_masked(at: Conversion, scores: Expr, total: int) -> Expr:
    mask, rank = at.arg(3), at.rank(at.arg(3))
    if rank == 1:
        if at.shape(mask)[0] != at.shape(scores)[0]:
            at.refuse("its mask says where each begins")
        steps = at.const(np.arange(total), at.dtype(mask))
        mask = at.cast(at.call("less", steps, at.unsqueeze(mask, [1])), at.dtype(mask))
        rank = 2
    shaped = {2: [1, 2], 3: [1]}.get(rank)
    if shaped is None:
        at.refuse(f"its mask has {rank} axes")
    wide = at.cast(at.unsqueeze(mask, shaped), at.dtype(scores))
    low = float(at.attr("mask_filter_value", -10000.0))
    off = at.call("multiply", at.call("subtract", at.like(1, scores), wide), at.like(low, scores))
    return at.call("add", scores, off)


_TABLE: dict[str, Convert] = {
    "FusedGemm": _fused_gemm,
    "FusedConv": _fused_conv,
    "FusedMatMul": _fused_matmul,
    "BiasGelu": _bias_gelu,
    "FastGelu": _fast_gelu,
    "Gelu": lambda at: gelu(at, at.arg()),
    "QuickGelu": _quick_gelu,
    "SkipLayerNormalization": _skip_layer_norm,
    "EmbedLayerNormalization": _embed_layer_norm,
    "SkipSimplifiedLayerNormalization": _skip_root_mean_square,
    "Attention": _attention,
    "QAttention": _quantised_attention,
}
OPERATORS: dict[str, Convert] = {f"com.microsoft.{name}": convert for name, convert in _TABLE.items()}
