"""Quantised products as sums of floats, with what bounds their errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from relay2relax.core.dtype import Numbers
from relay2relax.ops.math.matmul import BatchMatmulAttrs, DenseAttrs
from relay2relax.ops.nn.convolution_rules import Conv2DAttrs, Conv2DTransposeAttrs
from relay2relax.ops.quantized.arithmetic import limits
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Op
from relay2relax.relay_ir.ir.types import TensorType
from relay2relax.relay_ir.transform.qdq.model import Around, Stays, Sum, constant, span_of
from relay2relax.tir.extent import static


@dataclass(frozen=True, slots=True)
class _Geometry:
    """Where output channels lie in the weight and in the result, and over how many products an
    element of the result sums.
    """

    weight_axis: int
    result_axis: int
    terms: int


def _sizes(type_: TensorType) -> list[int]:
    found = [static(extent) for extent in type_.shape]
    if any(extent is None for extent in found):
        raise Stays("how many products it adds up is known only when the program runs")
    return [int(extent or 0) for extent in found]


def _convolution(attrs: Conv2DAttrs | Conv2DTransposeAttrs, data: TensorType, weight: TensorType) -> _Geometry:
    kernel, layout = attrs.kernel_layout, attrs.out_layout or attrs.data_layout
    if not (kernel.isalpha() and layout.isalpha()):
        raise Stays("its layout is packed")
    if attrs.groups != 1 and (isinstance(attrs, Conv2DTransposeAttrs) or kernel.index("O") != 0):
        raise Stays("its output channels lie along two axes of the weight")
    sizes = _sizes(weight)
    outer = kernel.index("O")
    return _Geometry(outer, layout.index("C"), _all_but(sizes, outer))


def _all_but(sizes: Sequence[int], axis: int) -> int:
    return int(np.prod([size for place, size in enumerate(sizes) if place != axis], dtype=np.int64))


def _dense(attrs: DenseAttrs, data: TensorType, weight: TensorType) -> _Geometry:
    return _Geometry(0, data.rank - 1, _all_but(_sizes(weight), 0))


def _batch_matmul(attrs: BatchMatmulAttrs, x: TensorType, y: TensorType) -> _Geometry:
    terms = static(y.shape[-1] if attrs.transpose_b else y.shape[-2])
    if terms is None:
        raise Stays("how many products it adds up is known only when the program runs")
    return _Geometry(0, 0, terms)


_Find: TypeAlias = Callable[[Any, TensorType, TensorType], _Geometry]
_GEOMETRY: Mapping[str, _Find] = {
    "qnn.batch_matmul": _batch_matmul,
    "qnn.conv2d": _convolution,
    "qnn.conv2d_transpose": _convolution,
    "qnn.dense": _dense,
}
PRODUCTS = frozenset(_GEOMETRY)


def product(around: Around, call: Call, name: str, args: Sequence[Expr]) -> Sum:
    """Return the sum that ``call`` makes of ``args``, what its own arguments became.

    Raises Stays where it has to stay in integers.
    """
    data, weight = around.tensor(call.args[0]), around.tensor(call.args[1])
    zx, zw = (constant(one, "int32") for one in args[2:4])
    sx, sw = (constant(one, "float32") for one in args[4:6])
    if zx.ndim or sx.ndim:
        raise Stays("its data have several scales or zero points")
    found = _GEOMETRY[name](call.attrs, data, weight)
    for one in (zw, sw):
        if one.ndim and static(weight.shape[found.weight_axis]) != one.size:
            raise Stays("scales of the weight do not lie along its output channels")
    size = np.asarray(span_of(data.dtype, zx) * _weights(args[1], weight, zw, found))
    if float(size.max(initial=0.0)) > limits(call.attrs.out_dtype)[1]:
        raise Stays(f"its sum may wrap around in {call.attrs.out_dtype}")
    real = Call(
        Op(f"nn.{name.removeprefix('qnn.')}"),
        (
            around.dequantise(args[0], sx, zx, -1),
            around.dequantise(args[1], sw, zw, found.weight_axis),
        ),
        replace(call.attrs, out_dtype="float32"),
        span=call.span,
    )
    return Sum(real, np.asarray(sx * sw, np.float32), found.result_axis, found.terms, size)


def _weights(weight: Expr, type_: TensorType, zero: Numbers, found: _Geometry) -> Numbers:
    """Return what the magnitudes of the weights of one sum add up to, for each channel where that
    is known.
    """
    if not isinstance(weight, Constant) or found.terms != _all_but(_sizes(type_), found.weight_axis):
        return np.asarray(found.terms * span_of(type_.dtype, zero).max(), np.float64)
    along = [1] * type_.rank
    along[found.weight_axis] = -1
    distance = np.abs(weight.data.astype(np.float64) - zero.astype(np.float64).reshape(along if zero.ndim else ()))
    return np.asarray(distance.sum(axis=tuple(axis for axis in range(type_.rank) if axis != found.weight_axis)))
