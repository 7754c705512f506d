"""Scaled dot-product attention: R.nn.attention, with a bias or without.

Query, key and value have the layout (batch, place, head, element). A causal mask hides later
places: ``TopLeft`` counts both sequences from their beginnings, ``BottomRight`` from their ends.
Source of the semantics: TVM 0.27, ``_te_attention`` of
``python/tvm/relax/transform/legalize_ops/nn.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Optional

import numpy as np

from relay2relax.core.dtype import Array, Numbers, is_float
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.shapes import broadcast, operand_indices, tensor
from relay2relax.ops.registry.attributes import Kind, OptionalInteger
from relay2relax.ops.registry.record import OpDef, OpError, SameOp
from relay2relax.ops.registry.script import Script
from relay2relax.ops.registry.types import TensorType, Type, show
from relay2relax.tir import te
from relay2relax.tir.extent import as_prim, equal
from relay2relax.tir.ir.expr import PrimExpr, Select, cast, const
from relay2relax.tir.ir.intrinsics import call, min_value

_MASKS = (None, "TopLeft", "BottomRight")


@dataclass(frozen=True, slots=True)
class AttentionAttrs:
    """The factor of the products (None: one over the square root of the elements of a head), and
    the mask.
    """

    scale: Annotated[Optional[float], Kind("double")] = None
    causal_mask: Annotated[Optional[str], Kind("String")] = None
    window_size: OptionalInteger = None


def attention_type(attrs: AttentionAttrs, query: Type, key: Type, value: Type, *bias: Type) -> TensorType:
    """Return the shape of the query with the elements of the value."""
    q, k, v = tensor(query), tensor(key, 1), tensor(value, 2)
    for index, one in enumerate((q, k, v)):
        if one.rank != 4:
            raise OpError(
                mistake(
                    operators.RANK,
                    what=("query", "key", "value")[index],
                    rank=one.rank,
                    expected="4: (batch, place, head, element)",
                ),
                index,
            )
        if one.dtype != q.dtype or not is_float(one.dtype):
            raise OpError(
                mistake(
                    operators.DTYPE,
                    what=("query", "key", "value")[index],
                    dtype=one.dtype,
                    expected=f"the floating-point dtype of the query, {q.dtype}",
                ),
                index,
            )
    if attrs.causal_mask not in _MASKS:
        raise OpError(
            mistake(
                operators.ATTRIBUTE,
                name="causal_mask",
                value=repr(attrs.causal_mask),
                expected="'TopLeft' or 'BottomRight'",
            )
        )
    if attrs.window_size is not None:
        raise OpError("attention within a window is not built", kind=operators.ATTRIBUTE)
    for axis, one, other, index in ((0, q, k, 1), (0, q, v, 2), (2, q, k, 1), (2, q, v, 2), (3, q, k, 1), (1, k, v, 2)):
        if equal(one.shape[axis], other.shape[axis]) is False:
            raise OpError(
                f"{show(other.shape)} does not fit {show(one.shape)} in dimension {axis}", index, kind=operators.RANK
            )
    if len(bias) > 1:
        raise OpError(f"one bias is expected, {len(bias)} are given", 4, kind=operators.ATTRIBUTE)
    if bias:
        scores = (q.shape[0], q.shape[2], q.shape[1], k.shape[1])
        broadcast(scores, tensor(bias[0], 3).shape)
    return TensorType((*q.shape[:3], v.shape[3]), q.dtype)


def attention_numpy(attrs: AttentionAttrs, query: Numbers, key: Numbers, value: Numbers, *bias: Numbers) -> Array:
    """Return the values of all places, each weighted by how well its key fits the query."""
    number = query.dtype.type
    scores = np.asarray(np.matmul(query.transpose(0, 2, 1, 3), key.transpose(0, 2, 3, 1)), query.dtype)
    factor = number(attrs.scale) if attrs.scale is not None else number(1) / np.sqrt(number(query.shape[3]))
    scores = scores * factor
    for one in bias:
        scores = scores + one
    if attrs.causal_mask is not None:
        rows, columns = scores.shape[-2:]
        seen = np.tri(rows, columns, abs(rows - columns) if attrs.causal_mask == "BottomRight" else 0, dtype=np.bool_)
        scores = np.where(seen, scores, number(-np.inf))
    powers = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    weights = powers / np.sum(powers, axis=-1, keepdims=True)
    result = np.matmul(weights, value.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(result, query.dtype)


def attention_compute(
    attrs: AttentionAttrs, out: TensorType, query: te.Tensor, key: te.Tensor, value: te.Tensor, *bias: te.Tensor
) -> te.Tensor:
    """Return products, their powers, the sums of those, and the weighted values, one stage each."""
    batch, places, heads, elements = query.shape
    others, dtype = key.shape[1], query.dtype
    shape = (batch, heads, places, others)
    d = te.reduce_axis(elements, "d")
    products = te.compute(
        shape, lambda b, h, i, j: te.sum(query[b, i, h, d.var] * key[b, j, h, d.var], d), "attention_products"
    )
    offset: PrimExpr = const(0, "int64")
    if attrs.causal_mask == "BottomRight":
        longer = as_prim(others) - as_prim(places)
        offset = Select(longer < 0, -longer, longer)

    def score(b: PrimExpr, h: PrimExpr, i: PrimExpr, j: PrimExpr) -> PrimExpr:
        found: PrimExpr = products[b, h, i, j]
        if attrs.scale is not None:
            found = found * const(attrs.scale, dtype)
        else:
            found = found / call("sqrt", cast(dtype, as_prim(elements)))
        for one in bias:
            found = found + one[operand_indices(one.shape, shape, (b, h, i, j))]
        return found if attrs.causal_mask is None else Select(j <= i + offset, found, min_value(dtype))

    scores = te.compute(shape, score, "attention_scores")
    k = te.reduce_axis(others, "k")
    top = te.compute(shape[:3], lambda b, h, i: te.max(scores[b, h, i, k.var], k), "attention_max")

    def power(b: PrimExpr, h: PrimExpr, i: PrimExpr, j: PrimExpr) -> PrimExpr:
        found = call("exp", scores[b, h, i, j] - top[b, h, i])
        return found if attrs.causal_mask is None else Select(j <= i + offset, found, const(0, dtype))

    powers = te.compute(shape, power, "attention_exp")
    n = te.reduce_axis(others, "n")
    total = te.compute(shape[:3], lambda b, h, i: te.sum(powers[b, h, i, n.var], n), "attention_sum")
    weights = te.compute(shape, lambda b, h, i, j: powers[b, h, i, j] / total[b, h, i], "attention_weights")
    m = te.reduce_axis(others, "m")
    return te.compute(
        out.shape, lambda b, i, h, e: te.sum(weights[b, h, i, m.var] * value[b, m.var, h, e], m), "attention"
    )


OPS = (
    OpDef(
        doc="The values of all places, weighted by how well their keys fit the query; a bias may be added to that.",
        source="TVM 0.27 python/tvm/relax/transform/legalize_ops/nn.py",
        inputs=("query", "key", "value", "*bias"),
        attrs=AttentionAttrs,
        infer=attention_type,
        numpy=attention_numpy,
        compute=attention_compute,
        relax=SameOp(),
        script=Script("nn.attention", "query, key, value, bias=None, scale=None, causal_mask=None, window_size=None"),
    ),
)
