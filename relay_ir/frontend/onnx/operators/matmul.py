"""Products of matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay2relax.relay_ir.frontend.onnx.conversion import Conversion, Convert
from relay2relax.relay_ir.frontend.onnx.lengths import Length, broadcast, joined, lengths, reshaped
from relay2relax.relay_ir.ir.expr import Expr
from relay2relax.tir.extent import static


def matmul(at: Conversion, left: Expr, right: Expr, out_dtype: str = "") -> Expr:
    """Return numpy's ``left @ right``, as TVM's importer says it."""
    ranks = at.rank(left), at.rank(right)
    if 0 in ranks:
        at.refuse("a number is no matrix")
    if 1 in ranks:
        return _of_vectors(at, left, right, out_dtype)
    inner = static(at.extents(left)[-1]), static(at.extents(right)[-2])
    if None not in inner and inner[0] != inner[1]:
        at.refuse(f"rows of {inner[0]} meet columns of {inner[1]}")
    dtype = out_dtype or at.dtype(left)
    if ranks == (2, 2):
        return at.call("nn.dense", left, at.call("transpose", right, axes=(1, 0)), units=None, out_dtype=dtype)
    sizes = lengths(at, left), lengths(at, right)
    if ranks[1] == 2:
        rows = left if ranks[0] == 2 else reshaped(at, left, [-1, sizes[0][-1]])
        made = at.call("nn.dense", rows, at.call("transpose", right, axes=None), units=None, out_dtype=dtype)
        return reshaped(at, made, [*sizes[0][:-1], sizes[1][-1]])
    batch = _batch(at, *sizes)
    parts = []
    for one, size in zip((left, right), sizes, strict=True):
        wide = broadcast(at, one, [*batch, *size[-2:]])
        parts.append(wide if at.rank(wide) == 3 else reshaped(at, wide, [-1, *size[-2:]]))
    if at.importer.config.get("use_nt_batch_matmul", True):
        parts[1] = at.call("transpose", parts[1], axes=(0, 2, 1))
        made = at.call("nn.batch_matmul", *parts, out_dtype=dtype)
    else:
        made = at.call("nn.batch_matmul", *parts, out_dtype=dtype, transpose_b=False)
    return reshaped(at, made, [*batch, sizes[0][-2], sizes[1][-1]])


def _batch(at: Conversion, left: Sequence[Length], right: Sequence[Length]) -> list[Length]:
    """Return what the extents before the matrices broadcast to."""
    count = max(len(left), len(right))
    wide = [[1] * (count - len(one)) + list(one[:-2]) for one in (left, right)]
    return [joined(at, *pair) for pair in zip(*wide, strict=True)]


def _of_vectors(at: Conversion, left: Expr, right: Expr, out_dtype: str) -> Expr:
    """Return a product of which one, or both, are vectors."""
    flat = at.rank(left) == 1, at.rank(right) == 1
    rows = at.unsqueeze(left, [0]) if flat[0] else left
    columns = at.unsqueeze(right, [1]) if flat[1] else right
    if at.rank(rows) == at.rank(columns) == 2 and not out_dtype:
        made = at.call("nn.matmul", rows, columns)
    else:
        made = matmul(at, rows, columns, out_dtype)
    axes = [at.rank(made) - 2] if flat[0] else []
    return at.squeeze(made, [*axes, at.rank(made) - 1] if flat[1] else axes)


def gemm(at: Conversion, left: Expr, right: Expr, bias: Expr | None) -> Expr:
    """Return ``alpha * A * B + beta * C``."""
    if at.attr("transA", 0):
        left = at.transpose(left, [1, 0])
    if not at.attr("transB", 0):
        right = at.transpose(right, [1, 0])
    alpha, beta = at.attr("alpha", 1.0), at.attr("beta", 1.0)
    if alpha != 1.0:
        left = at.call("multiply", left, at.like(alpha, left))
    made = at.call("nn.dense", left, right, units=static(at.extents(right)[0]))
    if bias is None or beta == 0.0:
        return made
    return at.call("add", made, bias if beta == 1.0 else at.call("multiply", at.like(beta, bias), bias))


def _gemm(at: Conversion) -> Expr:
    return gemm(at, at.arg(0), at.arg(1), at.arg(2) if at.has(2) else None)


def _einsum(at: Conversion) -> Expr:
    tensors = at.tensors()
    dtype = at.dtype(tensors[0])
    # Sums of bfloat16 are float32, as in Relay's other products.
    wide = "float32" if dtype == "bfloat16" else dtype
    parts = at.tuple([at.cast(one, wide) for one in tensors])
    return at.cast(at.call("einsum", parts, equation=at.wanted("equation").replace(" ", "")), dtype)


def _linear_regressor(at: Conversion) -> Expr:
    """``ai.onnx.ml.LinearRegressor``: a product with coefficients, and what is added to it."""
    if at.attr("post_transform", b"NONE") not in (b"NONE", "NONE"):
        at.refuse("its results are transformed")
    targets = at.attr("targets", 1)
    weight = np.asarray(at.wanted("coefficients"), "float32").reshape(targets, -1)
    made = matmul(at, at.cast(at.arg(), "float32"), at.const(weight.T, "float32"))
    given = at.attr("intercepts")
    return at.call("add", made, at.const(np.asarray(given), "float32")) if given else made


OPERATORS: dict[str, Convert] = {
    "MatMul": lambda at: matmul(at, at.arg(0), at.arg(1)),
    "Gemm": _gemm,
    "Einsum": _einsum,
    "ai.onnx.ml.LinearRegressor": _linear_regressor,
}
