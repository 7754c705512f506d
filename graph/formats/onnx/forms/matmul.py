"""Products of matrices."""

from __future__ import annotations

from relay2relax.graph.formats.onnx.builder import Form, Site
from relay2relax.ops.math.einsum import EinsumAttrs
from relay2relax.ops.math.matmul import BiasAddAttrs, MatmulAttrs

_FLOATS = ("float16", "float32", "float64")
_BYTES = ("int8", "uint8")


def product(at: Site, left: str, right: str) -> str:
    """Return the product of two arguments, which have not been turned but for their axes."""
    dtypes, out = (at.type(0).dtype, at.type(1).dtype), at.result.dtype
    if dtypes[0] in _BYTES and dtypes[1] in _BYTES and out == "int32":
        return at.node("MatMulInteger", left, right)
    wide = out if out in (*_FLOATS, "int32", "int64", "uint32", "uint64") else "int32"
    left, right = at.cast(left, dtypes[0], wide), at.cast(right, dtypes[1], wide)
    return at.cast(at.node("MatMul", left, right), wide, out)


def turned(at: Site, value: str, rank: int) -> str:
    """Return a matrix, or each of many, with rows for columns."""
    axes = list(range(rank))
    return at.node("Transpose", value, perm=[*axes[:-2], axes[-1], axes[-2]])


def dense(at: Site, attrs: object, data: str, weight: str) -> str:
    floats = at.type().dtype == at.type(1).dtype == at.result.dtype and at.result.dtype in _FLOATS
    if at.type().rank == at.type(1).rank == 2 and floats:
        return at.node("Gemm", data, weight, transB=1)
    return product(at, data, turned(at, weight, at.type(1).rank))


def matmul(at: Site, attrs: MatmulAttrs, left: str, right: str) -> str:
    if attrs.transpose_a:
        left = turned(at, left, at.type().rank)
    if attrs.transpose_b:
        right = turned(at, right, at.type(1).rank)
    return product(at, left, right)


def plain(at: Site, attrs: object, left: str, right: str) -> str:
    return product(at, left, right)


def outer(at: Site, attrs: object, left: str, right: str) -> str:
    column = at.node("Unsqueeze", left, at.ints([1]))
    return at.node("Mul", column, at.node("Unsqueeze", right, at.ints([0])))


def bias_add(at: Site, attrs: BiasAddAttrs, data: str, bias: str) -> str:
    rank = at.type().rank
    behind = rank - 1 - attrs.axis % rank
    if behind:
        bias = at.node("Unsqueeze", bias, at.ints(list(range(1, behind + 1))))
    return at.node("Add", data, bias)


def einsum(at: Site, attrs: EinsumAttrs, data: tuple[str, ...]) -> str:
    return at.node("Einsum", *data, equation=attrs.equation)


FORMS: dict[str, Form] = {
    "nn.dense": dense,
    "nn.matmul": matmul,
    "nn.batch_matmul": matmul,
    "R.matmul": plain,
    "R.outer": outer,
    "nn.bias_add": bias_add,
    "einsum": einsum,
}
