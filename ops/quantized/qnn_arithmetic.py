"""Arithmetic of quantised tensors: ``qnn.add``, ``qnn.subtract``, ``qnn.mul``, with broadcasting.

Source of the semantics: TVM 0.18 src/relay/qnn/op/{add,subtract,mul}.cc.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from relay2relax.core.dtype import Array, Numbers
from relay2relax.core.errors.table import operators
from relay2relax.ops.common import layout_rules
from relay2relax.ops.common.formula import ARRAYS, ELEMENTS, Kit, RelaxValues, X
from relay2relax.ops.common.shapes import check_scalar, operand_indices, tensor
from relay2relax.ops.math.broadcast import arithmetic_type
from relay2relax.ops.quantized.arithmetic import (
    UNKNOWN_SCALES,
    Factor,
    check_parameter,
    constants,
    factor_at,
    factor_values,
    fixed_point,
    fixed_point_compute,
    one_of,
    ratio_compute,
    ratio_of,
    requantised,
    saturated,
    spread,
    spread_value,
)
from relay2relax.ops.quantized.qnn import SOURCE, channels_of, place_of
from relay2relax.ops.registry.attributes import Int, NoAttrs
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.record import Emit, Expand, Expanded, OpDef, OpError, V
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.ir.expr import PrimExpr, const


@dataclass(frozen=True, slots=True)
class BroadcastAttrs:
    """The axes that vectors of parameters of each operand lie along."""

    lhs_axis: Int = -1
    rhs_axis: Int = -1


OPERANDS = ("lhs_scale", "lhs_zero_point", "rhs_scale", "rhs_zero_point", "output_scale", "output_zero_point")


def binary_type(
    attrs: BroadcastAttrs,
    lhs: Type,
    rhs: Type,
    lhs_scale: Type,
    lhs_zero: Type,
    rhs_scale: Type,
    rhs_zero: Type,
    out_scale: Type,
    out_zero: Type,
) -> Type:
    """Return the broadcast shape with the operands' dtype."""
    operands = (
        (tensor(lhs), attrs.lhs_axis, lhs_scale, lhs_zero),
        (tensor(rhs, 1), attrs.rhs_axis, rhs_scale, rhs_zero),
    )
    for number, (data, axis, scale, zero) in enumerate(operands):
        channels = channels_of(data, axis, (scale, zero))
        check_parameter(scale, "float32", channels, 2 + 2 * number)
        check_parameter(zero, "int32", channels, 3 + 2 * number)
    check_scalar(out_scale, "float32", 6)
    check_scalar(out_zero, "int32", 7)
    return arithmetic_type(NoAttrs(), lhs, rhs)


def axes_of(attrs: BroadcastAttrs, rank: int) -> tuple[int, int]:
    """Return the axes of an operand of ``rank`` on either side; a vector has but one."""
    return (attrs.lhs_axis, attrs.rhs_axis) if rank > 1 else (0, 0)


def combined(k: Kit[X], name: str, left: X, right: X, zero: X, dtype: str) -> X:
    """Return the sum or difference of operands that have the result's scale and zero point
    already.
    """
    both = k.binary(name, left, right)
    moved = both if k.is_all(zero, 0) else k.binary("add" if name == "subtract" else "subtract", both, zero)
    return saturated(k, moved, dtype)


def _sum_numpy(name: str) -> Callable[..., Array]:
    def numpy(
        attrs: BroadcastAttrs,
        lhs: Array,
        rhs: Array,
        sl: Numbers,
        zl: Numbers,
        sr: Numbers,
        zr: Numbers,
        so: Numbers,
        zo: Numbers,
    ) -> Array:
        def moved(data: Array, scale: Numbers, zero: Numbers, axis: int) -> Array:
            scale, zero = (spread(one, data.ndim, axis) for one in (scale, zero))
            return requantised(ARRAYS, data, zero, fixed_point(ratio_of(scale, so)), zo)

        left = moved(lhs, sl, zl, axes_of(attrs, lhs.ndim)[0])
        right = moved(rhs, sr, zr, axes_of(attrs, rhs.ndim)[1])
        return combined(ARRAYS, name, left, right, zo, lhs.dtype.name)

    return numpy


def _sum_compute(name: str) -> Callable[..., te.Tensor]:
    def compute(
        attrs: BroadcastAttrs,
        out: TensorType,
        lhs: te.Tensor,
        rhs: te.Tensor,
        sl: te.Tensor,
        zl: te.Tensor,
        sr: te.Tensor,
        zr: te.Tensor,
        so: te.Tensor,
        zo: te.Tensor,
    ) -> te.Tensor:
        fixed = [fixed_point_compute(ratio_compute(scale, so)) for scale in (sl, sr)]

        def moved(
            data: te.Tensor, factor: Factor[te.Tensor], zero: te.Tensor, axis: int, i: tuple[PrimExpr, ...]
        ) -> PrimExpr:
            at = operand_indices(data.shape, out.shape, i)
            place = place_of(at, axis)
            return requantised(ELEMENTS, data(*at), one_of(zero, place), factor_at(factor, place), zo())

        def element(*i: PrimExpr) -> PrimExpr:
            left = moved(lhs, fixed[0], zl, axes_of(attrs, lhs.rank)[0], i)
            right = moved(rhs, fixed[1], zr, axes_of(attrs, rhs.rank)[1], i)
            return combined(ELEMENTS, name, left, right, zo(), out.dtype)

        return te.compute(out.shape, element, f"T_qnn_{name}")

    return compute


def _sum_relax(name: str) -> Expand:
    def expand(e: Emit[V], attrs: BroadcastAttrs, lhs: V, rhs: V, sl: V, zl: V, sr: V, zr: V, so: V, zo: V) -> V:
        known = constants(e, sl, sr, so)
        if known is None:
            return e.as_tir(SUMS[name], attrs, (lhs, rhs, sl, zl, sr, zr, so, zo), UNKNOWN_SCALES)
        k = RelaxValues(e)

        def moved(data: V, scale: Array, zero: V, side: int) -> V:
            rank = tensor(e.type_of(data)).rank
            axis = axes_of(attrs, rank)[side]
            factor = factor_values(e, scale, known[2], rank, axis)
            return requantised(k, data, spread_value(e, zero, rank, axis), factor, zo)

        left, right = moved(lhs, known[0], zl, 0), moved(rhs, known[1], zr, 1)
        return combined(k, name, left, right, zo, tensor(e.type_of(lhs)).dtype)

    return expand


def shared_axis(attrs: BroadcastAttrs, parameters: tuple[int, int], rank: int) -> int:
    """Return the axis of both operands' vectors.

    Raises OpError where each has its own, as TVM does.
    """
    if parameters != (0, 0) and attrs.lhs_axis != attrs.rhs_axis:
        raise OpError(
            f"vectors of scales lie along different axes: {attrs.lhs_axis} and {attrs.rhs_axis}", kind=operators.RANK
        )
    return axes_of(attrs, rank)[0]


def product_of(k: Kit[X], a: X, za: X, b: X, zb: X) -> X:
    """Return ``(a - za) * (b - zb)`` as int32."""
    left, right = k.cast(a, "int32"), k.cast(b, "int32")
    left = left if k.is_all(za, 0) else k.binary("subtract", left, za)
    right = right if k.is_all(zb, 0) else k.binary("subtract", right, zb)
    return k.binary("multiply", left, right)


def mul_numpy(
    attrs: BroadcastAttrs,
    lhs: Array,
    rhs: Array,
    sl: Numbers,
    zl: Numbers,
    sr: Numbers,
    zr: Numbers,
    so: Numbers,
    zo: Numbers,
) -> Array:
    """Return the product in the scale of the result."""
    axis = shared_axis(attrs, (np.ndim(sl), np.ndim(sr)), max(lhs.ndim, rhs.ndim))
    product = product_of(ARRAYS, lhs, spread(zl, lhs.ndim, attrs.lhs_axis), rhs, spread(zr, rhs.ndim, attrs.rhs_axis))
    scale = spread(np.asarray(sl * sr), product.ndim, axis)
    value = requantised(ARRAYS, product, np.int32(0), fixed_point(ratio_of(scale, so)), zo)
    return saturated(ARRAYS, value, lhs.dtype.name)


def mul_compute(
    attrs: BroadcastAttrs,
    out: TensorType,
    lhs: te.Tensor,
    rhs: te.Tensor,
    sl: te.Tensor,
    zl: te.Tensor,
    sr: te.Tensor,
    zr: te.Tensor,
    so: te.Tensor,
    zo: te.Tensor,
) -> te.Tensor:
    """Return the product of each pair in the scale of the result."""
    axis = shared_axis(attrs, (sl.rank, sr.rank), len(out.shape))
    vector = sl if sl.rank else sr
    scale: te.Tensor = te.compute(vector.shape, lambda *i: one_of(sl, *i) * one_of(sr, *i), "scale")
    fixed = fixed_point_compute(ratio_compute(scale, so))

    def element(*i: PrimExpr) -> PrimExpr:
        a, b = (operand_indices(one.shape, out.shape, i) for one in (lhs, rhs))
        left = one_of(zl, place_of(a, axes_of(attrs, lhs.rank)[0]))
        right = one_of(zr, place_of(b, axes_of(attrs, rhs.rank)[1]))
        product = product_of(ELEMENTS, lhs(*a), left, rhs(*b), right)
        value = requantised(ELEMENTS, product, const(0, "int32"), factor_at(fixed, place_of(i, axis)), zo())
        return saturated(ELEMENTS, value, out.dtype)

    return te.compute(out.shape, element, "T_qnn_mul")


def mul_relax(e: Emit[V], attrs: BroadcastAttrs, lhs: V, rhs: V, sl: V, zl: V, sr: V, zr: V, so: V, zo: V) -> V:
    """The product on int32, then the steps of a requantisation."""
    known = constants(e, sl, sr, so)
    if known is None:
        return e.as_tir(mul, attrs, (lhs, rhs, sl, zl, sr, zr, so, zo), UNKNOWN_SCALES)
    k = RelaxValues(e)
    ranks = [tensor(e.type_of(one)).rank for one in (lhs, rhs)]
    axis = shared_axis(attrs, (known[0].ndim, known[1].ndim), max(ranks))
    zeros = [
        spread_value(e, zero, rank, axes_of(attrs, rank)[side])
        for side, (zero, rank) in enumerate(zip((zl, zr), ranks, strict=True))
    ]
    product = product_of(k, lhs, zeros[0], rhs, zeros[1])
    scale = np.asarray(known[0] * known[1])  # type: ignore[operator]
    factor = factor_values(e, scale, known[2], max(ranks), axis)
    value = requantised(k, product, k.const(0, "int32"), factor, zo)
    return saturated(k, value, tensor(e.type_of(lhs)).dtype)


# Records


def _sum(name: str, doc: str) -> OpDef:
    return OpDef(
        relay=f"qnn.{name}",
        doc=doc,
        source=f"{SOURCE}/{name}.cc",
        inputs=("lhs", "rhs", *OPERANDS),
        attrs=BroadcastAttrs,
        infer=binary_type,
        numpy=_sum_numpy(name),
        compute=_sum_compute(name),
        relax=Expanded(_sum_relax(name)),
        layout=layout_rules.with_parameters(layout_rules.broadcast, 6),
        fusion=Fusion(OpPattern.BROADCAST),
    )


SUMS = {
    "add": _sum("add", "The sum: both operands are requantised to the result's scale in int32 first."),
    "subtract": _sum("subtract", "The difference: both operands are requantised to the result's scale in int32 first."),
}

mul = OpDef(
    relay="qnn.mul",
    doc="The product on int32, requantised to the result's scale.",
    source=f"{SOURCE}/mul.cc",
    inputs=("lhs", "rhs", *OPERANDS),
    attrs=BroadcastAttrs,
    infer=binary_type,
    numpy=mul_numpy,
    compute=mul_compute,
    relax=Expanded(mul_relax),
    layout=layout_rules.with_parameters(layout_rules.broadcast, 6),
    fusion=Fusion(OpPattern.BROADCAST),
)

OPS = (*SUMS.values(), mul)
