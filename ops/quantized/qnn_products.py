"""Quantised convolutions, matrix products and average pooling.

A product is the exact sum of ``(x - zero_x) * (w - zero_w)`` in ``out_dtype``; its scale is the
product of both scales and its zero point is 0, so the scales are not looked at. Padding stands for
the real value 0. Source of the semantics: TVM 0.18
src/relay/qnn/op/{convolution,convolution_transpose,dense,batch_matmul,avg_pool2d}.cc.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array, Numbers, numpy_dtype
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common import layout_rules
from relay2relax.ops.common.formula import ARRAYS, ELEMENTS, RelaxValues
from relay2relax.ops.common.layout import parse_layout
from relay2relax.ops.common.shapes import check_scalar, tensor
from relay2relax.ops.math.matmul import BatchMatmulAttrs, DenseAttrs
from relay2relax.ops.nn.convolution_rules import Conv2DAttrs, Conv2DTransposeAttrs
from relay2relax.ops.nn.pooling import AvgPool2DAttrs
from relay2relax.ops.quantized.arithmetic import (
    UNKNOWN_SCALES,
    check_dtype,
    check_parameter,
    constants,
    factor_at,
    factor_values,
    fixed_point,
    fixed_point_compute,
    is_integer_result,
    one_of,
    ratio_compute,
    ratio_of,
    requantised,
    saturated,
    spread,
    spread_value,
    subtract,
)
from relay2relax.ops.quantized.qnn import BYTES, SOURCE
from relay2relax.ops.registry.attributes import DType, OptionalIndexExpr, String
from relay2relax.ops.registry.fusion import OPAQUE, Fusion
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, Tensors, V, single
from relay2relax.ops.registry.table import relay_op
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import Extent, equal, mul
from relay2relax.tir.ir.expr import PrimExpr, cast

INPUTS = ("data", "weight", "input_zero_point", "weight_zero_point", "input_scale", "weight_scale")
WORDS = (*BYTES, "int16", "uint16")
# Whole numbers below this are exact in float64.
EXACT = 2**53


@dataclass(frozen=True, slots=True)
class DensePackAttrs:
    """``weight_layout`` says how the weight is packed, e.g. ``NC32n4c``."""

    units: OptionalIndexExpr
    out_dtype: DType = ""
    weight_layout: String = "NC"


@dataclass(frozen=True, slots=True)
class _Product:
    """What differs between the products.

    ``plain`` is the operator on unquantised tensors; ``axis`` gives the weight's axis of output
    channels.
    """

    plain: str
    check: Callable[..., None]
    axis: Callable[[Any], int]

    @property
    def record(self) -> OpDef:
        """The record of the plain operator."""
        record = relay_op(self.plain)
        assert record is not None, self.plain
        return record


def _shifted(weight: Array, zero: Numbers, axis: int) -> Array:
    return subtract(ARRAYS, weight.astype(np.int32), spread(zero, weight.ndim, axis))


def _exactly(record: OpDef, attrs: Any, x: Array, w: Array) -> Array:
    """Return the product of integers.

    In float64, which is much faster, where no sum leaves its exact range.
    """
    largest = int(np.max(np.abs(x), initial=0)) * int(np.max(np.abs(w), initial=0)) * w.size
    if largest >= EXACT:
        return np.asarray(record.numpy(attrs, x, w))
    found = record.numpy(replace(attrs, out_dtype="float64"), x.astype(np.float64), w.astype(np.float64))
    return np.asarray(found).astype(np.int64).astype(numpy_dtype(attrs.out_dtype))


# How the products follow in layout, as the float ones do.
_LAYOUTS = {
    "qnn.conv2d": layout_rules.with_parameters(layout_rules.convolution, 4),
    "qnn.conv2d_transpose": layout_rules.with_parameters(layout_rules.convolution, 4),
    "qnn.dense": layout_rules.with_parameters(layout_rules.dense, 4, layout_rules.layout_named("N")),
}


def _product_record(
    name: str, product: _Product, attrs_class: type, doc: str, source: str, fusion: Fusion = OPAQUE
) -> OpDef:
    """Return the record of a quantised product."""

    def infer(attrs: Any, data: Type, weight: Type, zx: Type, zw: Type, sx: Type, sw: Type) -> Type:
        tensor(data), tensor(weight, 1)
        product.check(attrs, data, weight, zx, zw, sx, sw)
        return product.record.infer(attrs, data, weight)

    def numpy(attrs: Any, data: Array, weight: Array, zx: Numbers, zw: Numbers, sx: Numbers, sw: Numbers) -> Array:
        x = subtract(ARRAYS, data.astype(np.int32), np.reshape(zx, ()))
        return _exactly(product.record, attrs, x, _shifted(weight, zw, product.axis(attrs)))

    def compute(
        attrs: Any,
        out: TensorType,
        data: te.Tensor,
        weight: te.Tensor,
        zx: te.Tensor,
        zw: te.Tensor,
        sx: te.Tensor,
        sw: te.Tensor,
    ) -> Tensors:
        axis = product.axis(attrs)
        x: te.Tensor = te.compute(data.shape, lambda *i: cast("int32", data(*i)) - one_of(zx), "data")
        w: te.Tensor = te.compute(weight.shape, lambda *i: cast("int32", weight(*i)) - one_of(zw, i[axis]), "weight")
        return product.record.compute(attrs, out, x, w)

    def expand(e: Emit[V], attrs: Any, data: V, weight: V, zx: V, zw: V, sx: V, sw: V) -> V:
        k = RelaxValues(e)
        rank = tensor(e.type_of(weight)).rank
        if tensor(e.type_of(zx)).rank:
            zx = e.call("reshape", zx, e.shape(()))
        x = subtract(k, k.cast(data, "int32"), zx)
        w = subtract(k, k.cast(weight, "int32"), spread_value(e, zw, rank, product.axis(attrs)))
        form = product.record.relax
        if not isinstance(form, Expanded):
            return e.as_tir(product.record, attrs, (x, w), "Relax has no operator for the product of integers")
        result: V = form.expand(e, attrs, x, w)
        return result

    return OpDef(
        relay=name,
        doc=doc,
        source=f"{SOURCE}/{source}",
        inputs=INPUTS,
        attrs=attrs_class,
        infer=infer,
        numpy=numpy,
        compute=compute,
        relax=Expanded(expand),
        fusion=fusion,
        layout=_LAYOUTS.get(name),
    )


# What each product demands of its arguments


def _check_conv2d(attrs: Conv2DAttrs, data: Type, weight: Type, zx: Type, zw: Type, sx: Type, sw: Type) -> None:
    words = (*BYTES, "int16")
    check_dtype(data, words, "the data")
    kernel = check_dtype(weight, words, "the weight", 1)
    is_integer_result(attrs.out_dtype, ("int16", "int32", "int64"))
    check_scalar(zx, "int32", 2)
    check_parameter(zw, "int32", None, 3)
    check_scalar(sx, "float32", 4)
    check_parameter(sw, "float32", _outputs(attrs, tensor(data), kernel), 5)


def _outputs(attrs: Conv2DAttrs, data: TensorType, kernel: TensorType) -> Extent | None:
    """Return how many scales a vector of them has."""
    outer = kernel.shape[_letter(attrs.kernel_layout, "O")]
    if attrs.groups == 1:
        return outer
    inner = kernel.shape[_letter(attrs.kernel_layout, "I")]
    depthwise = equal(data.shape[_letter(attrs.data_layout, "C")], attrs.groups)
    if attrs.channels is not None and depthwise and equal(attrs.channels, inner):
        return mul(inner, outer)
    return attrs.channels


def _letter(layout: str, letter: str) -> int:
    if letter not in layout:
        raise OpError(f"layout {layout} has no axis {letter}", kind=operators.LAYOUT)
    return layout.index(letter)


def _kernel_axis(attrs: Conv2DAttrs | Conv2DTransposeAttrs) -> int:
    return _letter(attrs.kernel_layout, "O")


def _check_transposed(
    attrs: Conv2DTransposeAttrs, data: Type, weight: Type, zx: Type, zw: Type, sx: Type, sw: Type
) -> None:
    check_dtype(data, WORDS, "the data")
    kernel = check_dtype(weight, BYTES, "the weight", 1)
    is_integer_result(attrs.out_dtype, ("int16", "int32", "int64"))
    check_parameter(zx, "int32", 1, 2)
    check_parameter(zw, "int32", None, 3)
    check_parameter(sx, "float32", 1, 4)
    outer = kernel.shape[_letter(attrs.kernel_layout, "O")]
    inner = kernel.shape[_letter(attrs.kernel_layout, "I")]
    check_parameter(sw, "float32", outer if attrs.groups == 1 else mul(inner, outer), 5)


def _check_dense(attrs: DenseAttrs, data: Type, weight: Type, zx: Type, zw: Type, sx: Type, sw: Type) -> None:
    check_dtype(data, WORDS, "the data")
    check_dtype(weight, BYTES, "the weight", 1)
    is_integer_result(attrs.out_dtype, ("int32", "int64"))
    check_scalar(zx, "int32", 2)
    check_parameter(zw, "int32", None, 3)
    check_scalar(sx, "float32", 4)
    check_parameter(sw, "float32", attrs.units, 5)


def _check_batch_matmul(attrs: BatchMatmulAttrs, x: Type, y: Type, zx: Type, zy: Type, sx: Type, sy: Type) -> None:
    check_dtype(x, BYTES, "the left operand")
    check_dtype(y, BYTES, "the right operand", 1)
    is_integer_result(attrs.out_dtype, ("int32",))
    for argument, one in enumerate((zx, zy, sx, sy), 2):
        check_scalar(one, "int32" if argument < 4 else "float32", argument)


# contrib_dense_pack


def dense_pack_type(
    attrs: DensePackAttrs, data: Type, weight: Type, zx: Type, zw: Type, sx: Type, sw: Type
) -> TensorType:
    """Return (rows, output features)."""
    found, packed = tensor(data), tensor(weight, 1)
    if found.rank != 2:
        raise OpError(mistake(operators.RANK, what="the data", rank=found.rank, expected="2"), 0)
    if packed.rank != 4:
        raise OpError(mistake(operators.RANK, what="the weight", rank=packed.rank, expected="4"), 1)
    if not attrs.out_dtype:
        raise OpError("out_dtype must be given", kind=operators.DTYPE)
    return TensorType((found.shape[0], mul(packed.shape[0], packed.shape[2])), attrs.out_dtype)


def dense_pack_numpy(
    attrs: DensePackAttrs, data: Array, weight: Array, zx: Numbers, zw: Numbers, sx: Numbers, sw: Numbers
) -> Array:
    """Return the product with the unpacked weight."""
    unpacked = parse_layout(attrs.weight_layout, "NC").to_order(weight, "NC")
    plain = DenseAttrs(units=None, out_dtype=attrs.out_dtype)
    return np.asarray(dense.numpy(plain, data, unpacked, zx, zw, sx, sw))


def dense_pack_compute(
    attrs: DensePackAttrs,
    out: TensorType,
    data: te.Tensor,
    weight: te.Tensor,
    zx: te.Tensor,
    zw: te.Tensor,
    sx: te.Tensor,
    sw: te.Tensor,
) -> Tensors:
    """Return the product with the unpacked weight."""
    layout = parse_layout(attrs.weight_layout, "NC")

    def element(n: PrimExpr, c: PrimExpr) -> PrimExpr:
        return weight[layout.indices({"N": n, "C": c})]

    unpacked: te.Tensor = te.compute(layout.extents(weight.shape, "NC"), element, "unpacked")
    plain = DenseAttrs(units=None, out_dtype=attrs.out_dtype)
    return dense.compute(plain, out, data, unpacked, zx, zw, sx, sw)


# avg_pool2d


def avg_pool2d_type(
    attrs: AvgPool2DAttrs, data: Type, scale: Type, zero: Type, out_scale: Type, out_zero: Type
) -> Type:
    """Return the pooled shape with the data's dtype."""
    check_dtype(data, BYTES, "the data")
    for argument, one in enumerate((scale, zero, out_scale, out_zero), 1):
        check_scalar(one, "float32" if argument % 2 else "int32", argument)
    return _POOL.record.infer(attrs, data)


def avg_pool2d_numpy(attrs: AvgPool2DAttrs, data: Array, s: Numbers, z: Numbers, so: Numbers, zo: Numbers) -> Array:
    """Return the averages of the requantised data, truncated."""
    moved = requantised(ARRAYS, data, z, fixed_point(ratio_of(s, so)), zo)
    return saturated(ARRAYS, np.asarray(_POOL.record.numpy(attrs, moved)), data.dtype.name)


def avg_pool2d_compute(
    attrs: AvgPool2DAttrs, out: TensorType, data: te.Tensor, s: te.Tensor, z: te.Tensor, so: te.Tensor, zo: te.Tensor
) -> te.Tensor:
    """Return the averages of the requantised data."""
    factor = factor_at(fixed_point_compute(ratio_compute(s, so)))
    moved: te.Tensor = te.compute(
        data.shape, lambda *i: requantised(ELEMENTS, data(*i), z(), factor, zo()), "requantised"
    )
    pooled = single(_POOL.record.compute(attrs, TensorType(out.shape, "int32"), moved))
    return te.compute(out.shape, lambda *i: saturated(ELEMENTS, pooled(*i), out.dtype), "T_qnn_avg_pool2d")


def avg_pool2d_relax(e: Emit[V], attrs: AvgPool2DAttrs, data: V, s: V, z: V, so: V, zo: V) -> V:
    """The steps of a requantisation.

    The average of integers is a PrimFunc, for R.nn.avg_pool2d rounds otherwise.
    """
    known = constants(e, s, so)
    if known is None:
        return e.as_tir(avg_pool2d, attrs, (data, s, z, so, zo), UNKNOWN_SCALES)
    k = RelaxValues(e)
    moved = requantised(k, data, z, factor_values(e, known[0], known[1], 0, -1), zo)
    average = e.as_tir(_POOL.record, attrs, (moved,), "R.nn.avg_pool2d rounds the average of integers otherwise")
    return saturated(k, average, tensor(e.type_of(data)).dtype)


def _no_check(*args: object) -> None:
    """Pooling has one input."""


_POOL = _Product("nn.avg_pool2d", _no_check, lambda attrs: 0)


# Records

_BEFORE_ELEMWISE = Fusion(OpPattern.OUT_ELEMWISE_FUSABLE)
dense = _product_record(
    "qnn.dense",
    _Product("nn.dense", _check_dense, lambda attrs: 0),
    DenseAttrs,
    "The product of rows with a transposed weight.",
    "dense.cc",
    _BEFORE_ELEMWISE,
)

avg_pool2d = OpDef(
    relay="qnn.avg_pool2d",
    doc="Averages over windows of the data in the scale of the result, truncated to integers.",
    source=f"{SOURCE}/avg_pool2d.cc",
    inputs=("data", "input_scale", "input_zero_point", "output_scale", "output_zero_point"),
    attrs=AvgPool2DAttrs,
    infer=avg_pool2d_type,
    numpy=avg_pool2d_numpy,
    compute=avg_pool2d_compute,
    relax=Expanded(avg_pool2d_relax),
    layout=layout_rules.with_parameters(layout_rules.pooling, 4),
    fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
)

OPS = (
    _product_record(
        "qnn.conv2d",
        _Product("nn.conv2d", _check_conv2d, _kernel_axis),
        Conv2DAttrs,
        "Convolution over two axes.",
        "convolution.cc",
        _BEFORE_ELEMWISE,
    ),
    _product_record(
        "qnn.conv2d_transpose",
        _Product("nn.conv2d_transpose", _check_transposed, _kernel_axis),
        Conv2DTransposeAttrs,
        "Transposed convolution over two axes.",
        "convolution_transpose.cc",
    ),
    dense,
    replace(
        _product_record(
            "qnn.batch_matmul",
            _Product("nn.batch_matmul", _check_batch_matmul, lambda attrs: 0),
            BatchMatmulAttrs,
            "Products of stacks of matrices.",
            "batch_matmul.cc",
            _BEFORE_ELEMWISE,
        ),
        inputs=("x", "y", "x_zero_point", "y_zero_point", "x_scale", "y_scale"),
    ),
    OpDef(
        relay="qnn.contrib_dense_pack",
        doc="``qnn.dense`` of a weight that is packed in blocks.",
        source=f"{SOURCE}/dense.cc",
        inputs=INPUTS,
        attrs=DensePackAttrs,
        infer=dense_pack_type,
        numpy=dense_pack_numpy,
        compute=dense_pack_compute,
        layout=layout_rules.with_parameters(layout_rules.dense_pack, 4, layout_rules.layout_named("N")),
        fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
    ),
    avg_pool2d,
)
