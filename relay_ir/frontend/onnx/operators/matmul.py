"""Products of matrices."""

from __future__ import annotations

import numpy as np

from relay2relax.relay_ir.frontend.onnx.conversion import Conversion, Convert
from relay2relax.relay_ir.ir.expr import Expr
from relay2relax.tir.extent import static


def matmul(at: Conversion, left: Expr, right: Expr, out_dtype: str = "") -> Expr:
    """Return numpy's ``left @ right``."""
    ranks = at.rank(left), at.rank(right)
    given = {"out_dtype": out_dtype} if out_dtype else {}
    if ranks[0] == 1:
        return at.squeeze(matmul(at, at.unsqueeze(left, [0]), right, out_dtype), [max(ranks[1] - 2, 0)])
    if ranks[1] == 1:
        made = matmul(at, left, at.unsqueeze(right, [1]), out_dtype)
        return at.squeeze(made, [at.rank(made) - 1])
    inner = static(at.extents(left)[-1]), static(at.extents(right)[-2])
    if None not in inner and inner[0] != inner[1]:
        at.refuse(f"rows of {inner[0]} meet columns of {inner[1]}")
    if ranks == (2, 2):
        return at.call("nn.dense", left, at.transpose(right, [1, 0]), units=None, **given)
    if ranks == (3, 3) and at.extents(left)[0] == at.extents(right)[0]:
        return at.call("nn.batch_matmul", left, right, transpose_b=False, **given)
    if ranks[1] == 2:
        return _by_rows(at, left, right, out_dtype)
    shapes = at.shape(left), at.shape(right)
    batch = np.broadcast_shapes(shapes[0][:-2], shapes[1][:-2])
    count = int(np.prod(batch))
    parts = []
    for one, shape in ((left, shapes[0]), (right, shapes[1])):
        whole = (*batch, *shape[-2:])
        wide = one if shape == whole else at.call("broadcast_to", one, whole)
        parts.append(at.reshape(wide, [count, *shape[-2:]]))
    made = at.call("nn.batch_matmul", *parts, transpose_b=False, **given)
    return at.reshape(made, [*batch, shapes[0][-2], shapes[1][-1]])


def _by_rows(at: Conversion, left: Expr, right: Expr, out_dtype: str) -> Expr:
    """Return the product of many matrices and one."""
    rows = at.reshape(left, [-1, at.shape(right)[0]])
    given = {"out_dtype": out_dtype} if out_dtype else {}
    made = at.call("nn.dense", rows, at.transpose(right, [1, 0]), units=None, **given)
    shape = at.static(left)
    if shape is not None:
        return at.reshape(made, [*shape[:-1], at.shape(right)[1]])
    extents = at.call("strided_slice", at.shape_of(left), begin=[0], end=[at.rank(left) - 1], strides=[1])
    last = at.const([at.shape(right)[1]], "int64")
    return at.reshape_to(made, at.call("concatenate", at.tuple([extents, last]), axis=0))


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
