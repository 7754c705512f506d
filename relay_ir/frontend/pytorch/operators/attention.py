"""Attention."""

from __future__ import annotations

import math

from relay2relax.relay_ir.frontend.pytorch.context import Conversion, Value
from relay2relax.relay_ir.frontend.pytorch.operators.matmul import batches
from relay2relax.relay_ir.frontend.pytorch.operators.record import records
from relay2relax.relay_ir.ir.expr import Expr


def _scaled_dot_product(at: Conversion) -> Value:
    """``scaled_dot_product_attention(query, key, value, mask, dropout, causal, scale, grouped)``.

    Half precision is computed in single, as PyTorch's kernels do.
    """
    query, key, value = (at.tensor(place) for place in range(3))
    dtype = at.dtype(query)
    if at.number(4, 0):
        at.refuse("it drops weights at random: export or trace the module after `.eval()`")
    if at.number(7, False):
        key, value = (_for_each_query(at, query, one) for one in (key, value))
    wide = "float64" if dtype == "float64" else "float32"
    query, key, value = (at.cast(one, wide) for one in (query, key, value))
    factor = at.number(6) if at.value(6) is not None else 1 / math.sqrt(at.extent(query, -1))
    scores = batches(at, query, key, turned=True)
    scores = at.call("multiply", scores, at.const(factor, wide))
    mask = _causal(at, scores) if at.number(5, False) else at.optional(3)
    if mask is not None:
        bias = _bias(at, mask, wide) if at.dtype(mask) == "bool" else at.cast(mask, wide)
        scores = at.call("add", scores, bias)
    made = batches(at, at.call("nn.softmax", scores, axis=-1), value)
    if mask is not None and not at.number(5, False):
        made = at.call("where", _sees_nothing(at, mask), at.const(0.0, wide), made)
    return at.cast(made, dtype)


def _for_each_query(at: Conversion, query: Expr, one: Expr) -> Expr:
    """Return keys or values with as many heads as queries have, each for some that follow."""
    count = at.extent(query, -3) // at.extent(one, -3)
    return at.call("repeat", one, count, axis=-3) if count > 1 else one


def _causal(at: Conversion, scores: Expr) -> Expr:
    """Return which keys each query sees: none behind its own place."""
    every = at.filled(at.const(True, "bool"), at.extents(scores)[-2:], "bool")
    return at.call("trilu", every, at.const(0, "int32"), False)


def _bias(at: Conversion, mask: Expr, dtype: str) -> Expr:
    """Return what is added to the scores for a mask of truths."""
    return at.call("where", mask, at.const(0.0, dtype), at.const(-math.inf, dtype))


def _sees_nothing(at: Conversion, mask: Expr) -> Expr:
    """Return which queries see no key: PyTorch gives them zeros."""
    hidden = (
        at.call("logical_not", mask)
        if at.dtype(mask) == "bool"
        else at.call("equal", mask, at.const(-math.inf, at.dtype(mask)))
    )
    return at.call("all", hidden, axis=[-1], keepdims=True)


RECORDS = records({"scaled_dot_product_attention": _scaled_dot_product})
