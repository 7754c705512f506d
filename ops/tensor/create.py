"""Operators that make tensors of shapes: zeros, ones, full, arange, the ``_like`` forms, and the
extents themselves.

Relay writes the shape into the attributes, Relax passes it as an argument; each has its record.
Source of the semantics: TVM 0.18, ``src/relay/op/tensor/transform.cc``; TVM 0.27,
``src/relax/op/tensor/create.cc``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array, Numbers, is_float, numpy_dtype
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.conversion import convert, convert_element
from relay2relax.ops.common.shapes import any_type, extent_value, tensor
from relay2relax.ops.math.elementwise import identity_type
from relay2relax.ops.registry.attributes import DType, Expr, Int, NoAttrs, OptionalIndexExprArray, String
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.precision import Precision
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, SameOp, V
from relay2relax.ops.registry.script import Limit, Script, Types
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.ops.tensor.dynamic_kernels import arange_extents
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import ANY, Extent, Shape, as_prim, ceildiv, maximum, product, static, sub
from relay2relax.tir.ir.expr import PrimExpr, cast, const, if_then_else

RELAX_SOURCE = "TVM 0.27 src/relax/op/tensor/create.cc"


@dataclass(frozen=True, slots=True, kw_only=True)
class InitOpAttrs:
    """The shape and dtype of the result; an empty dtype is that of the input."""

    shape: OptionalIndexExprArray
    dtype: DType = ""


@dataclass(frozen=True, slots=True)
class RelaxInitAttrs:
    """The dtype of the result; an empty one is that of the input."""

    dtype: DType = ""


@dataclass(frozen=True, slots=True)
class AllocTensorAttrs:
    """The dtype of the new tensor and where it lies.

    There is one device and one kind of memory here.
    """

    dtype: DType
    runtime_device_index: Int = 0
    storage_scope: String = "global"


@dataclass(frozen=True, slots=True)
class ArangeAttrs:
    """The inputs once more, as Relay's attributes hold them, and the dtype of the result."""

    start: Expr
    stop: Expr
    step: Expr
    dtype: DType


@dataclass(frozen=True, slots=True)
class RelaxArangeAttrs:
    """Scalars: Python numbers or symbolic extents."""

    start: Expr
    end: Expr
    step: Expr
    dtype: DType


@dataclass(frozen=True, slots=True)
class ShapeOfAttrs:
    """The dtype of the extents."""

    dtype: DType = ""


@dataclass(frozen=True, slots=True)
class NdarraySizeAttrs:
    """The dtype of the count."""

    dtype: DType = ""


def given_shape(attrs: InitOpAttrs) -> Shape:
    """Return the shape that the attributes hold.

    Raises OpError where it is null (the ``dyn.`` operators).
    """
    if attrs.shape is None:
        raise OpError("the shape is null; an operator with a computed shape is one of dyn.*", kind=operators.SHAPE)
    return attrs.shape


def static_shape(shape: Shape) -> tuple[int, ...]:
    """Return a shape without symbols as integers; raises OpError where an extent is not known."""
    found = tuple(static(extent) for extent in shape)
    if any(extent is None for extent in found):
        raise OpError("an extent of the shape is not known, so it has no value", kind=operators.ATTRIBUTE)
    return tuple(extent for extent in found if extent is not None)


def _constant(out: TensorType, value: int, name: str) -> te.Tensor:
    return te.compute(out.shape, lambda *i: const(value, out.dtype), name=f"T_{name}")


def _init_records(name: str, value: int, doc: str, precision: Precision | None = None) -> tuple[OpDef, ...]:
    """Return Relay's operator without inputs, Relax's with a shape, and the ``_like`` form that
    both have.
    """

    def relay_type(attrs: InitOpAttrs) -> Type:
        return TensorType(given_shape(attrs), attrs.dtype)

    def relax_type(attrs: RelaxInitAttrs, shape: Shape) -> Type:
        if not attrs.dtype:
            raise OpError("the argument `dtype` is missing", kind=operators.DTYPE)
        return TensorType(tuple(shape), attrs.dtype)

    def like_numpy(attrs: NoAttrs, data: Array) -> Array:
        return np.full(data.shape, value, data.dtype)

    in_relay = OpDef(
        relay=name,
        doc=doc,
        source="TVM 0.18 src/relay/op/tensor/transform.cc",
        inputs=(),
        attrs=InitOpAttrs,
        infer=relay_type,
        numpy=lambda attrs: np.full(static_shape(given_shape(attrs)), value, numpy_dtype(attrs.dtype)),
        compute=lambda attrs, out: _constant(out, value, name),
        relax=Expanded(lambda e, attrs: e.call(name, e.shape(given_shape(attrs)), dtype=attrs.dtype)),
        fusion=Fusion(OpPattern.ELEMWISE),
        precision=precision,
    )
    in_relax = OpDef(
        doc=doc,
        source=RELAX_SOURCE,
        inputs=("shape",),
        attrs=RelaxInitAttrs,
        infer=relax_type,
        numpy=lambda attrs, shape: np.full(tuple(shape), value, numpy_dtype(attrs.dtype)),
        compute=lambda attrs, out, shape: _constant(out, value, name),
        relax=SameOp(),
        script=Script(name, "shape, dtype"),
    )
    like = OpDef(
        relay=f"{name}_like",
        doc=f"{doc[:-1]}, with the shape and dtype of the input.",
        source="TVM 0.18 src/relay/op/tensor/unary.cc",
        inputs=("data",),
        infer=identity_type,
        relay_type=any_type,
        numpy=like_numpy,
        compute=lambda attrs, out, data: _constant(out, value, f"{name}_like"),
        relax=SameOp(),
        script=Script(f"{name}_like", "x, dtype=None"),
        fusion=Fusion(OpPattern.ELEMWISE),
    )
    return in_relay, in_relax, like


# full


def _fill_value(value: Type, argument: int) -> TensorType:
    found = tensor(value, argument)
    if found.rank:
        raise OpError(mistake(operators.RANK, what="the fill value", rank=found.rank, expected="0"), argument)
    return found


def full_type(attrs: InitOpAttrs, fill_value: Type) -> Type:
    """Return the shape of the attributes with their dtype, or that of the fill value."""
    value = _fill_value(fill_value, 0)
    return TensorType(given_shape(attrs), attrs.dtype or value.dtype)


def full_numpy(attrs: InitOpAttrs, fill_value: Array) -> Array:
    """Return the fill value everywhere."""
    value = convert(fill_value, attrs.dtype) if attrs.dtype else fill_value
    return np.full(static_shape(given_shape(attrs)), value, value.dtype)


def full_compute(attrs: object, out: TensorType, fill_value: te.Tensor) -> te.Tensor:
    """Return the fill value at each place."""
    return te.compute(out.shape, lambda *i: convert_element(fill_value[()], out.dtype), name="T_full")


def full_relax(e: Emit[V], attrs: InitOpAttrs, fill_value: V) -> V:
    """R.full takes the shape as its first argument."""
    return e.call("full", e.shape(given_shape(attrs)), fill_value, dtype=attrs.dtype)


def relax_full_type(attrs: RelaxInitAttrs, shape: Shape, fill_value: Type) -> Type:
    """Return the given shape with the dtype of the attributes, or that of the fill value."""
    value = _fill_value(fill_value, 1)
    return TensorType(tuple(shape), attrs.dtype or value.dtype)


def relax_full_numpy(attrs: RelaxInitAttrs, shape: tuple[int, ...], fill_value: Array) -> Array:
    """Return the fill value everywhere."""
    value = convert(fill_value, attrs.dtype) if attrs.dtype else fill_value
    return np.full(tuple(shape), value, value.dtype)


def full_like_type(attrs: NoAttrs, data: Type, fill_value: Type) -> Type:
    """Return the type of ``data``."""
    _fill_value(fill_value, 1)
    return tensor(data)


def full_like_numpy(attrs: NoAttrs, data: Array, fill_value: Array) -> Array:
    """Return the fill value, in the dtype of ``data``, everywhere."""
    with np.errstate(all="ignore"):
        return np.full(data.shape, fill_value, data.dtype)


def full_like_compute(attrs: NoAttrs, out: TensorType, data: te.Tensor, fill_value: te.Tensor) -> te.Tensor:
    """Return the fill value at each place."""
    return full_compute(attrs, out, fill_value)


def full_like_relax(e: Emit[V], attrs: NoAttrs, data: V, fill_value: V) -> V:
    """R.full over the shape of ``data``; its kernel converts the fill value."""
    found = tensor(e.type_of(data))
    return e.call("full", e.shape(found.shape), fill_value, dtype=found.dtype)


# arange


def _number(value: Any) -> int | float | PrimExpr | None:
    """Return a scalar attribute's value: a number, a symbolic extent, a Relay constant's.

    None where it is computed.
    """
    if isinstance(value, (int, float, PrimExpr)):
        return value
    data = getattr(value, "data", None)
    number = data.item() if isinstance(data, np.ndarray) and data.size == 1 else None
    return number if isinstance(number, (int, float)) else None


def _length(start: float, stop: float, step: float) -> int:
    """Return ``ceil((stop - start) / step)``, not below 0; raises OpError for a step of 0."""
    if step == 0:
        raise OpError("the step of arange is 0", 2)
    return max(0, math.ceil((stop - start) / step))


def _arange_extent(start: Any, stop: Any, step: Any) -> Extent:
    first, last, by = _number(start), _number(stop), _number(step)
    if first is None or last is None or by is None:
        return ANY
    if isinstance(first, PrimExpr) or isinstance(last, PrimExpr) or isinstance(by, PrimExpr):
        if isinstance(first, float) or isinstance(last, float) or isinstance(by, (float, PrimExpr)):
            return ANY
        if any(isinstance(one, PrimExpr) and is_float(one.dtype) for one in (first, last)):
            return ANY
        distance = sub(last, first) if by > 0 else sub(first, last)
        return maximum(ceildiv(distance, abs(by)), 0)
    return _length(first, last, by)


def arange_type(attrs: ArangeAttrs, start: Type, stop: Type, step: Type) -> Type:
    """Return one dimension, of unknown extent unless all three bounds are constants."""
    for argument, one in enumerate((start, stop, step)):
        if one != TensorType((), attrs.dtype):
            raise OpError(
                f"a number of {attrs.dtype} is expected, as the dtype of the result says",
                argument,
                kind=operators.DTYPE,
            )
    return TensorType((_arange_extent(attrs.start, attrs.stop, attrs.step),), attrs.dtype)


def arange_operands(attrs: ArangeAttrs, types: tuple[Type | None, ...]) -> tuple[Type | None, ...]:
    """Return three numbers of the result's dtype."""
    return (TensorType((), attrs.dtype),) * 3


def _steps(start: Numbers, step: Numbers, count: int, dtype: str) -> Array:
    kind = numpy_dtype(dtype)
    with np.errstate(all="ignore"):
        return np.asarray(np.asarray(start, kind) + np.arange(count).astype(kind) * np.asarray(step, kind), kind)


def arange_numpy(attrs: ArangeAttrs, start: Array, stop: Array, step: Array) -> Array:
    """Return ``start + i * step``, computed in the result's dtype."""
    count = _length(start.item(), stop.item(), step.item())
    return _steps(start, step, count, attrs.dtype)


def arange_compute(
    attrs: ArangeAttrs, out: TensorType, start: te.Tensor, stop: te.Tensor, step: te.Tensor
) -> te.Tensor:
    """Return ``start + i * step`` at place i."""
    return te.compute(
        out.shape,
        lambda i: cast(out.dtype, start[()]) + cast(out.dtype, i) * cast(out.dtype, step[()]),
        name="T_arange",
    )


def arange_relax(e: Emit[V], attrs: ArangeAttrs, start: V, stop: V, step: V) -> V:
    """R.arange takes numbers, not tensors."""
    bounds = tuple(_number(one) for one in (attrs.start, attrs.stop, attrs.step))
    if any(one is None for one in bounds):
        return e.as_tir(arange, attrs, (start, stop, step), "R.arange takes numbers that are known beforehand")
    return e.call("arange", start=bounds[0], end=bounds[1], step=bounds[2], dtype=attrs.dtype)


def relax_arange_type(attrs: RelaxArangeAttrs) -> Type:
    """Return one dimension of ``ceil((end - start) / step)``."""
    return TensorType((_arange_extent(attrs.start, attrs.end, attrs.step),), attrs.dtype)


def relax_arange_numpy(attrs: RelaxArangeAttrs) -> Array:
    """Return ``start + i * step``, computed in the result's dtype."""
    count = static(_arange_extent(attrs.start, attrs.end, attrs.step))
    if count is None:
        raise OpError("a bound of arange is symbolic, so it has no value")
    return _steps(attrs.start, attrs.step, count, attrs.dtype)


def relax_arange_compute(attrs: RelaxArangeAttrs, out: TensorType) -> te.Tensor:
    """Return ``start + i * step`` at place i."""

    def scalar(value: Any) -> PrimExpr:
        return cast(out.dtype, value) if isinstance(value, PrimExpr) else const(value, out.dtype)

    return te.compute(
        out.shape, lambda i: scalar(attrs.start) + cast(out.dtype, i) * scalar(attrs.step), name="T_arange"
    )


# shape_of, ndarray_size


def shape_of_type(attrs: ShapeOfAttrs, data: Type) -> Type:
    """Return one dimension with an element per axis; a tensor of rank 0 gives one of rank 0."""
    rank = tensor(data).rank
    return TensorType((rank,) if rank else (), attrs.dtype or "int32")


def shape_of_numpy(attrs: ShapeOfAttrs, data: Array) -> Array:
    """Return the extents."""
    return np.asarray(data.shape if data.ndim else 0, numpy_dtype(attrs.dtype or "int32"))


def _listed(extents: Sequence[PrimExpr], index: PrimExpr) -> PrimExpr:
    """Return ``extents[index]``."""
    value = extents[-1]
    for number in range(len(extents) - 2, -1, -1):
        value = if_then_else(index.equal(number), extents[number], value)
    return value


def shape_of_compute(attrs: ShapeOfAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return the extent of the axis that the index names."""
    return te.compute(
        out.shape, lambda *i: cast(out.dtype, _listed(data.shape, i[0])) if i else const(0, out.dtype), name="T_shape"
    )


def shape_of_relax(e: Emit[V], attrs: ShapeOfAttrs, data: V) -> V:
    """R.shape_to_tensor gives int64."""
    found, dtype = tensor(e.type_of(data)), attrs.dtype or "int32"
    if not found.rank:
        return e.const(0, dtype)
    extents = e.call("shape_to_tensor", e.shape(found.shape))
    return extents if dtype == "int64" else e.call("astype", extents, dtype=dtype)


def shape_to_tensor_type(attrs: NoAttrs, shape: Shape) -> Type:
    """Return one dimension of int64."""
    return TensorType((len(shape),), "int64")


def shape_to_tensor_numpy(attrs: NoAttrs, shape: Sequence[int]) -> Array:
    """Return the extents."""
    return np.asarray(tuple(shape), np.int64)


def shape_to_tensor_compute(attrs: NoAttrs, out: TensorType, shape: Shape) -> te.Tensor:
    """Return the extent that the index names."""
    extents = [as_prim(extent) for extent in shape]
    return te.compute(out.shape, lambda i: _listed(extents, i) if extents else const(0, "int64"), name="T_shape")


def size_type(attrs: NdarraySizeAttrs, data: Type) -> Type:
    """Return rank 0."""
    tensor(data)
    return TensorType((), attrs.dtype or "int32")


def size_numpy(attrs: NdarraySizeAttrs, data: Array) -> Array:
    """Return the number of elements."""
    return np.asarray(data.size, numpy_dtype(attrs.dtype or "int32"))


def size_compute(attrs: NdarraySizeAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return the product of the extents."""
    return te.compute((), lambda: cast(out.dtype, as_prim(product(data.shape))), name="T_size")


def size_relax(e: Emit[V], attrs: NdarraySizeAttrs, data: V) -> V:
    """The product of the extents, as a tensor."""
    return extent_value(e, product(tensor(e.type_of(data)).shape), attrs.dtype or "int32")


# Records

full = OpDef(
    relay="full",
    doc="One number everywhere.",
    source="TVM 0.18 src/relay/op/tensor/transform.cc, full",
    inputs=("fill_value",),
    attrs=InitOpAttrs,
    infer=full_type,
    numpy=full_numpy,
    compute=full_compute,
    relax=Expanded(full_relax),
    fusion=Fusion(OpPattern.ELEMWISE),
    precision=Precision.FOLLOW,
)

relax_full = OpDef(
    doc="One number everywhere.",
    source=RELAX_SOURCE,
    inputs=("shape", "fill_value"),
    attrs=RelaxInitAttrs,
    infer=relax_full_type,
    numpy=relax_full_numpy,
    compute=lambda attrs, out, shape, fill_value: full_compute(attrs, out, fill_value),
    relax=SameOp(),
    script=Script("full", "shape, fill_value, dtype=None"),
)

full_like = OpDef(
    relay="full_like",
    doc="One number everywhere, with the shape and dtype of the first input.",
    source="TVM 0.18 src/relay/op/tensor/transform.cc, full_like",
    inputs=("data", "fill_value"),
    infer=full_like_type,
    numpy=full_like_numpy,
    compute=full_like_compute,
    relax=Expanded(full_like_relax),
    fusion=Fusion(OpPattern.ELEMWISE),
)

arange = OpDef(
    relay="arange",
    doc="``start + i * step`` up to ``stop``; the length is ``ceil((stop - start) / step)``.",
    source="TVM 0.18 src/relay/op/tensor/transform.cc, arange",
    inputs=("start", "stop", "step"),
    attrs=ArangeAttrs,
    infer=arange_type,
    operands=arange_operands,
    numpy=arange_numpy,
    compute=arange_compute,
    extents=arange_extents,
    relax=Expanded(arange_relax),
    fusion=Fusion(reads_shape=True),
    precision=Precision.NEVER,
)


def _descends(attrs: Any, types: Types) -> bool:
    return float(getattr(attrs.step, "value", attrs.step)) < 0


_DESCENDING = Limit("apache-tvm counts the elements of a descending row wrongly", _descends)


relax_arange = OpDef(
    doc="``start + i * step`` up to ``end``.",
    source=RELAX_SOURCE,
    inputs=(),
    attrs=RelaxArangeAttrs,
    infer=relax_arange_type,
    numpy=relax_arange_numpy,
    compute=relax_arange_compute,
    relax=SameOp(),
    script=Script(
        "arange", "start, end=None, step=1, dtype=None", positional=("start", "end", "step"), limits=(_DESCENDING,)
    ),
)

shape_of = OpDef(
    relay="shape_of",
    doc="The extents as a tensor of ``dtype``; 0 for a tensor of rank 0.",
    source="TVM 0.18 src/relay/op/tensor/unary.cc, shape_of",
    inputs=("data",),
    attrs=ShapeOfAttrs,
    infer=shape_of_type,
    numpy=shape_of_numpy,
    compute=shape_of_compute,
    relax=Expanded(shape_of_relax),
    precision=Precision.FOLLOW,
)

shape_to_tensor = OpDef(
    doc="The extents of a shape as a tensor of int64.",
    source="TVM 0.27 src/relax/op/op.cc, shape_to_tensor",
    inputs=("shape",),
    infer=shape_to_tensor_type,
    numpy=shape_to_tensor_numpy,
    compute=shape_to_tensor_compute,
    relax=SameOp(),
    script=Script("shape_to_tensor", "expr"),
)

ndarray_size = OpDef(
    relay="ndarray_size",
    doc="The number of elements.",
    source="TVM 0.18 src/relay/op/tensor/unary.cc, ndarray_size",
    inputs=("data",),
    attrs=NdarraySizeAttrs,
    infer=size_type,
    numpy=size_numpy,
    compute=size_compute,
    relax=Expanded(size_relax),
    aliases=("contrib.ndarray_size",),
    fusion=Fusion(OpPattern.INJECTIVE),
)

alloc_tensor = OpDef(
    doc="Memory for a tensor. What it holds before somebody writes it is not said; here it is zeros.",
    source="TVM 0.27 src/relax/op/op.cc, relax.builtin.alloc_tensor",
    inputs=("shape",),
    attrs=AllocTensorAttrs,
    infer=lambda attrs, shape: TensorType(tuple(shape), attrs.dtype),
    numpy=lambda attrs, shape: np.zeros(tuple(shape), numpy_dtype(attrs.dtype)),
    compute=lambda attrs, out, shape: _constant(out, 0, "alloc_tensor"),
    relax=SameOp(),
    script=Script("builtin.alloc_tensor", "shape, dtype, runtime_device_index, storage_scope='global'"),
)

OPS = (
    *_init_records("zeros", 0, "Zeros.", precision=Precision.FOLLOW),
    *_init_records("ones", 1, "Ones."),
    full,
    relax_full,
    full_like,
    arange,
    relax_arange,
    shape_of,
    shape_to_tensor,
    ndarray_size,
    alloc_tensor,
)
