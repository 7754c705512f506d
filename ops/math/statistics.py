"""Variance, standard deviation and median, as Relax has them: of the data alone.

Source of the semantics: TVM 0.27, ``python/tvm/relax/transform/legalize_ops/statistical.py``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from relay2relax.core.dtype import Array, Numbers, is_float
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.limits import ONLY_FLOAT_MEANS
from relay2relax.ops.common.order import order_compute, order_numpy
from relay2relax.ops.common.shapes import normal_axis, tensor
from relay2relax.ops.math.reduce import (
    RelaxReduceAttrs,
    mean_compute,
    mean_numpy,
    reduce_type,
    reduced_axes,
    reduced_shape,
)
from relay2relax.ops.registry.record import Definition, Kernel, OpDef, OpError, SameOp, Tensors, TypeRule, Value
from relay2relax.ops.registry.script import Limit, Script, Spread
from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.tir import te
from relay2relax.tir.extent import Extent, as_prim, product
from relay2relax.tir.ir.expr import PrimExpr
from relay2relax.tir.ir.intrinsics import call

SOURCE = "TVM 0.27 python/tvm/relax/transform/legalize_ops/statistical.py"


def spread_type(attrs: RelaxReduceAttrs, data: Type) -> Type:
    """Return the reduced shape; raises OpError where the data are not of floating point."""
    found = tensor(data)
    if not is_float(found.dtype):
        raise OpError(
            f"the spread is defined for floating-point numbers, not for {found.dtype}", 0, kind=operators.DTYPE
        )
    return reduce_type(attrs, found)


def variance_numpy(attrs: RelaxReduceAttrs, data: Numbers) -> Array:
    """Return the mean of the squared distances from the mean."""
    with np.errstate(all="ignore"):
        distance = data - mean_numpy(replace(attrs, keepdims=True), data)
        return mean_numpy(attrs, distance * distance)


def variance_compute(attrs: RelaxReduceAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return the mean, the squared distances from it, and their mean."""
    kept = replace(attrs, keepdims=True)
    center = mean_compute(kept, tensor(reduce_type(kept, TensorType(data.shape, data.dtype))), data)
    axes = reduced_axes(attrs, data.rank)

    def square(*at: PrimExpr) -> PrimExpr:
        place = tuple(as_prim(0) if axis in axes else index for axis, index in enumerate(at))
        distance = data[at] - center[place]
        return distance * distance

    return mean_compute(attrs, out, te.compute(data.shape, square, "squared_distance"))


def std_compute(attrs: RelaxReduceAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return the square root of the variance."""
    variance = variance_compute(attrs, out, data)
    return te.compute(out.shape, lambda *at: call("sqrt", variance[at]), "T_std")


# The median of one axis comes with its place; of all elements together it comes alone.


def _median_axis(attrs: RelaxReduceAttrs, rank: int) -> int | None:
    if not attrs.axis:
        return None
    if len(attrs.axis) != 1:
        raise OpError(
            f"the median is that of one axis, or of all elements; {list(attrs.axis)} are {len(attrs.axis)}",
            kind=operators.AXIS,
        )
    return normal_axis(attrs.axis[0], rank)


def median_type(attrs: RelaxReduceAttrs, data: Type) -> Type:
    """Return the reduced shape, for one axis together with the places in int64."""
    found = tensor(data)
    shape = reduced_shape(found.shape, reduced_axes(attrs, found.rank), attrs.keepdims)
    value = TensorType(shape, found.dtype)
    return value if _median_axis(attrs, found.rank) is None else TupleType((value, TensorType(shape, "int64")))


def median_numpy(attrs: RelaxReduceAttrs, data: Array) -> Value:
    """Return the middle element in ascending order, the lower one of two, and where it is."""
    axis = _median_axis(attrs, data.ndim)
    rows = data.reshape(-1) if axis is None else data
    along = 0 if axis is None else axis
    order = np.expand_dims(np.take(order_numpy(rows, along, True), (rows.shape[along] - 1) // 2, along), along)
    value = np.take_along_axis(rows, order, along)
    if axis is None:
        return np.asarray(value).reshape((1,) * data.ndim if attrs.keepdims else ())
    if not attrs.keepdims:
        value, order = value.squeeze(axis), order.squeeze(axis)
    return np.asarray(value), np.asarray(order, np.int64)


def median_compute(attrs: RelaxReduceAttrs, out: Type, data: te.Tensor) -> Tensors:
    """Return the middle of the sorted axis."""
    axis = _median_axis(attrs, data.rank)
    if axis is None:
        rows, along = _flattened(data), 0
    else:
        rows, along = data, axis
    order = order_compute(rows, along, True)
    middle = (rows.shape[along] - 1) // 2
    shape = tensor(out.fields[0] if isinstance(out, TupleType) else out).shape

    def line(at: tuple[PrimExpr, ...], index: PrimExpr) -> tuple[PrimExpr, ...]:
        if axis is None:
            return (index,)
        return (*at[:axis], index, *at[axis + attrs.keepdims :])

    place = te.compute(shape, lambda *at: order[line(at, middle)], "median_place")
    value = te.compute(shape, lambda *at: rows[line(at, place[at])], "median")
    return (value, place) if isinstance(out, TupleType) else value


def _flattened(data: te.Tensor) -> te.Tensor:
    def element(index: PrimExpr) -> PrimExpr:
        place: list[PrimExpr] = []
        for extent in reversed(data.shape):
            place.append(index % extent)
            index = index // extent
        return data[tuple(reversed(place))]

    count: Extent = product(data.shape)
    return te.compute((count,), element, "flattened")


def _statistic(script: Script, infer: TypeRule, numpy: Kernel, compute: Definition, doc: str) -> OpDef:
    return OpDef(
        doc=doc,
        source=SOURCE,
        inputs=("x",),
        attrs=RelaxReduceAttrs,
        infer=infer,
        numpy=numpy,
        compute=compute,
        relax=SameOp(),
        script=script,
    )


_PARAMS = "x, axis=None, keepdims=False"
_ANOTHER_SHAPE = Limit(
    "apache-tvm returns another shape than it says", lambda attrs, types: attrs.axis is None and attrs.keepdims
)

OPS = (
    _statistic(
        Script("variance", _PARAMS, limits=(ONLY_FLOAT_MEANS,), spread=Spread.REDUCTION), spread_type,
        variance_numpy, variance_compute, "The mean of the squared distances from the mean.",
    ),
    _statistic(
        Script("std", _PARAMS, limits=(ONLY_FLOAT_MEANS,), spread=Spread.REDUCTION), spread_type, lambda attrs,
        data: np.asarray(np.sqrt(variance_numpy(attrs, data))), std_compute,
        "The square root of the variance.",
    ),
    _statistic(
        Script("median", _PARAMS, since="0.23", limits=(_ANOTHER_SHAPE,)), median_type, median_numpy, median_compute,
        "The middle element in ascending order, the lower of two; of one axis together with its place.",
    ),
)  # fmt: skip
