"""Tensors that Relax makes of scalars: unit matrices, one number everywhere, windows, marked
places, counts.

Scalars are attributes here: Python numbers, typed literals or symbolic extents.
Source of the semantics: TVM 0.27, ``python/tvm/relax/transform/legalize_ops/create.py`` and TOPI.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array, numpy_dtype, of_array
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.conversion import convert, convert_element
from relay2relax.ops.common.limits import dtype_of
from relay2relax.ops.common.shapes import tensor
from relay2relax.ops.registry.attributes import DType, Expr, Int, NoAttrs
from relay2relax.ops.registry.record import OpDef, OpError, SameOp
from relay2relax.ops.registry.script import Limit, Script
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.ops.tensor.create import static_shape
from relay2relax.ops.tensor.masking import OneHotAttrs, one_hot_shape
from relay2relax.tir import te
from relay2relax.tir.extent import Extent, as_prim, canonical, product, static
from relay2relax.tir.ir.expr import FloatImm, IntImm, PrimExpr, Select, cast, const
from relay2relax.tir.ir.intrinsics import call

SOURCE = "TVM 0.27 src/relax/op/tensor/create.cc"


@dataclass(frozen=True, slots=True)
class EyeAttrs:
    """Rows, columns (None: as many), the diagonal that is 1, and the dtype."""

    n: Expr
    m: Expr = None
    k: Expr = 0
    dtype: DType = "float32"


@dataclass(frozen=True, slots=True)
class EyeLikeAttrs:
    """The diagonal that is 1; an empty dtype is that of the data."""

    k: Expr = 0
    dtype: DType = ""


@dataclass(frozen=True, slots=True)
class LikeAttrs:
    """An empty dtype is that of the data."""

    dtype: DType = ""


@dataclass(frozen=True, slots=True)
class HammingWindowAttrs:
    """The length, whether the window is periodic, and ``alpha - beta * cos(…)``."""

    window_size: Expr
    periodic: Expr
    alpha: Expr
    beta: Expr
    dtype: DType


@dataclass(frozen=True, slots=True)
class RelaxOneHotAttrs:
    """The two values, whose dtype is the result's, the extent of the new axis and its place (-1:
    the last).
    """

    on_value: Expr
    off_value: Expr
    depth: Int
    axis: Int = -1


def _extent(value: Extent, name: str) -> Extent:
    if isinstance(value, bool) or not isinstance(value, (int, PrimExpr)) or isinstance(value, FloatImm):
        raise OpError(mistake(operators.ATTRIBUTE, name=name, value=repr(value), expected="an integer"))
    return canonical(value)


def _number(value: Any, name: str) -> int:
    found = static(_extent(value, name))
    if found is None:
        raise OpError(f"`{name}` is not known before the program runs", kind=operators.ATTRIBUTE)
    return found


# Unit matrices


def eye_type(attrs: EyeAttrs) -> TensorType:
    """Return ``n`` rows and ``m`` columns."""
    rows = _extent(attrs.n, "n")
    return TensorType((rows, rows if attrs.m is None else _extent(attrs.m, "m")), attrs.dtype)


def eye_like_type(attrs: EyeLikeAttrs, data: Type) -> TensorType:
    """Return the shape of the data, which is a matrix."""
    found = tensor(data)
    if found.rank != 2:
        raise OpError(mistake(operators.RANK, what="the tensor", rank=found.rank, expected="2"), 0)
    return TensorType(found.shape, attrs.dtype or found.dtype)


def _eye(out: TensorType, k: Extent) -> te.Tensor:
    diagonal, one, zero = as_prim(_extent(k, "k")), const(1, out.dtype), const(0, out.dtype)
    return te.compute(out.shape, lambda i, j: Select((j - i).equal(diagonal), one, zero), "T_eye")


def eye_numpy(attrs: EyeAttrs) -> Array:
    """Return ones on the diagonal ``k``, zeros elsewhere."""
    rows, columns = static_shape(eye_type(attrs).shape)
    return np.eye(rows, columns, _number(attrs.k, "k"), dtype=numpy_dtype(attrs.dtype))


def eye_like_numpy(attrs: EyeLikeAttrs, data: Array) -> Array:
    """Return ones on the diagonal ``k``, zeros elsewhere."""
    rows, columns = data.shape
    return np.eye(rows, columns, _number(attrs.k, "k"), dtype=numpy_dtype(attrs.dtype or of_array(data)))


# One number everywhere


def full_like_type(attrs: LikeAttrs, data: Type, fill_value: Type) -> TensorType:
    """Return the shape of the data."""
    found, value = tensor(data), tensor(fill_value, 1)
    if value.rank:
        raise OpError(mistake(operators.RANK, what="the number", rank=value.rank, expected="0"), 1)
    return TensorType(found.shape, attrs.dtype or found.dtype)


def full_like_numpy(attrs: LikeAttrs, data: Array, fill_value: Array) -> Array:
    """Return the number everywhere."""
    dtype = attrs.dtype or of_array(data)
    return np.full(data.shape, convert(fill_value, dtype), numpy_dtype(dtype))


def full_like_compute(attrs: LikeAttrs, out: TensorType, data: te.Tensor, fill_value: te.Tensor) -> te.Tensor:
    """Return the number at each place."""
    return te.compute(out.shape, lambda *at: convert_element(fill_value[()], out.dtype), "T_full_like")


# Hamming's window


def _window(attrs: HammingWindowAttrs) -> tuple[int, int, float, float]:
    size = _number(attrs.window_size, "window_size")
    periodic = bool(attrs.periodic.value if isinstance(attrs.periodic, IntImm) else attrs.periodic)
    alpha, beta = (
        float(one.value) if isinstance(one, (FloatImm, IntImm)) else float(one) for one in (attrs.alpha, attrs.beta)
    )
    return size, size - 1 + periodic, alpha, beta


def hamming_window_type(attrs: HammingWindowAttrs) -> TensorType:
    """Return the length of the window."""
    return TensorType((_extent(attrs.window_size, "window_size"),), attrs.dtype)


def hamming_window_numpy(attrs: HammingWindowAttrs) -> Array:
    """Return ``alpha - beta * cos(2 pi i / n)``."""
    size, period, alpha, beta = _window(attrs)
    if size == 1:
        return np.ones(1, numpy_dtype(attrs.dtype))
    angles = np.arange(size) * (2 * math.pi / period)
    return np.asarray(alpha - beta * np.cos(angles)).astype(numpy_dtype(attrs.dtype))


def hamming_window_compute(attrs: HammingWindowAttrs, out: TensorType) -> te.Tensor:
    """Return ``alpha - beta * cos(2 pi i / n)``."""
    size, period, alpha, beta = _window(attrs)
    if size == 1:
        return te.compute(out.shape, lambda i: const(1, out.dtype), "T_hamming_window")
    step = const(2 * math.pi / period, "float64")

    def element(i: PrimExpr) -> PrimExpr:
        wave = call("cos", cast("float64", i) * step)
        return cast(out.dtype, const(alpha, "float64") - const(beta, "float64") * wave)

    return te.compute(out.shape, element, "T_hamming_window")


# Marked places


def _values(attrs: RelaxOneHotAttrs) -> tuple[PrimExpr, PrimExpr, str]:
    def literal(value: Any, name: str) -> PrimExpr:
        match value:
            case IntImm() | FloatImm():
                return value
            case bool():
                return const(value, "bool")
            case int():
                return const(value, "int64")
            case float():
                return const(value, "float64")
        raise OpError(mistake(operators.ATTRIBUTE, name=name, value=repr(value), expected="a number"))

    on, off = literal(attrs.on_value, "on_value"), literal(attrs.off_value, "off_value")
    if on.dtype != off.dtype:
        raise OpError(f"the values are of one dtype, these are {on.dtype} and {off.dtype}", kind=operators.DTYPE)
    return on, off, on.dtype


def relax_one_hot_type(attrs: RelaxOneHotAttrs, indices: Type) -> TensorType:
    """Return the shape of ``indices`` with an axis of ``depth`` more, in the dtype of the
    values.
    """
    if attrs.depth < 1:
        raise OpError(mistake(operators.ATTRIBUTE, name="depth", value=attrs.depth, expected="at least 1"))
    return one_hot_shape(OneHotAttrs(attrs.depth, attrs.axis, _values(attrs)[2]), indices, attrs.depth)


def relax_one_hot_numpy(attrs: RelaxOneHotAttrs, indices: Array) -> Array:
    """Return ``on_value`` where the place along the new axis is the index, else ``off_value``."""
    on, off, dtype = _values(attrs)
    assert isinstance(on, (IntImm, FloatImm))
    assert isinstance(off, (IntImm, FloatImm))
    axis = indices.ndim if attrs.axis == -1 else attrs.axis
    classes = np.arange(attrs.depth).reshape(attrs.depth, *(1,) * (indices.ndim - axis))
    hit = np.expand_dims(indices, axis) == classes
    return np.asarray(np.where(hit, on.value, off.value)).astype(numpy_dtype(dtype))


def relax_one_hot_compute(attrs: RelaxOneHotAttrs, out: TensorType, indices: te.Tensor) -> te.Tensor:
    """Return one of the two values at each place."""
    on, off, _ = _values(attrs)
    axis = indices.rank if attrs.axis == -1 else attrs.axis

    def element(*at: PrimExpr) -> PrimExpr:
        return Select(cast("int64", indices(*at[:axis], *at[axis + 1 :])).equal(at[axis]), on, off)

    return te.compute(out.shape, element, "T_one_hot")


_IGNORES_DTYPE = Limit(
    "apache-tvm's lowering ignores dtype", lambda attrs, types: bool(attrs.dtype) and attrs.dtype != dtype_of(types)
)

OPS = (
    OpDef(
        doc="A matrix of ones on one diagonal, zeros elsewhere.",
        source=SOURCE,
        inputs=(),
        attrs=EyeAttrs,
        infer=eye_type,
        numpy=eye_numpy,
        compute=lambda attrs, out: _eye(out, attrs.k),
        relax=SameOp(),
        script=Script("eye", "n, m=None, k=0, dtype='float32'", positional=("n", "m", "k"), since="0.19"),
    ),
    OpDef(
        doc="A matrix of ones on one diagonal, zeros elsewhere, with the shape of the data.",
        source=SOURCE,
        inputs=("x",),
        attrs=EyeLikeAttrs,
        infer=eye_like_type,
        numpy=eye_like_numpy,
        compute=lambda attrs, out, data: _eye(out, attrs.k),
        relax=SameOp(),
        script=Script("eye_like", "x, k=0, dtype=None", positional=("k",), since="0.19", limits=(_IGNORES_DTYPE,)),
    ),
    OpDef(
        doc="One number everywhere, with the shape of the first input.",
        source=SOURCE,
        inputs=("x", "fill_value"),
        attrs=LikeAttrs,
        infer=full_like_type,
        numpy=full_like_numpy,
        compute=full_like_compute,
        relax=SameOp(),
        script=Script("full_like", "x, fill_value, dtype=None"),
    ),
    OpDef(
        doc="Hamming's window.",
        source="TVM 0.27 python/tvm/topi/signal.py",
        inputs=(),
        attrs=HammingWindowAttrs,
        infer=hamming_window_type,
        numpy=hamming_window_numpy,
        compute=hamming_window_compute,
        relax=SameOp(),
        script=Script(
            "hamming_window",
            "window_size, periodic, alpha, beta, dtype",
            positional=("window_size", "periodic", "alpha", "beta"),
            since="0.21",
        ),
    ),
    OpDef(
        doc="``on_value`` where the place along a new axis is the index, else ``off_value``.",
        source="TVM 0.27 src/relax/op/tensor/manipulate.cc, one_hot",
        inputs=("indices",),
        attrs=RelaxOneHotAttrs,
        infer=relax_one_hot_type,
        numpy=relax_one_hot_numpy,
        compute=relax_one_hot_compute,
        relax=SameOp(),
        script=Script(
            "one_hot",
            "indices, on_value, off_value, depth, axis=-1",
            positional=("on_value", "off_value"),
            since="0.19",
        ),
    ),
    OpDef(
        doc="The number of elements.",
        source="TVM 0.27 src/relax/op/op.cc, size",
        inputs=("expr",),
        attrs=NoAttrs,
        infer=lambda attrs, data: TensorType((), "int64"),
        numpy=lambda attrs, data: np.asarray(data.size, np.int64),
        compute=lambda attrs, out, data: te.compute((), lambda: as_prim(product(data.shape)), "T_size"),
        relax=SameOp(),
        script=Script("size", "expr", since="0.23"),
    ),
)
