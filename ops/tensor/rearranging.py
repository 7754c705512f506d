"""Operators that lay elements out anew: layouts, windows, sequences run backwards, grids, reshape
from the right.

Results have the dtype of the data. ``numpy`` returns views where it can. Source of the semantics:
TVM 0.18, ``src/relay/op/tensor/transform.cc`` and ``include/tvm/topi/transform.h``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relay2relax.core.dtype import Array, is_int, is_unsigned
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.layout import Layout, parse_layout
from relay2relax.ops.common.reshape_rules import new_shape
from relay2relax.ops.common.shapes import ask_at_least, normal_axes, normal_axis, tensor
from relay2relax.ops.registry.attributes import InlineString, Int, Integer, IntegerArray
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, Otherwise, SameOp, V
from relay2relax.ops.registry.script import Limit, Script
from relay2relax.ops.registry.types import TensorType, TupleType, Type, show
from relay2relax.ops.tensor.create import static_shape
from relay2relax.ops.tensor.transform import (
    ReshapeAttrs,
    SqueezeAttrs,
    moved,
    reshape_compute,
    squeeze_compute,
    squeeze_numpy,
    squeeze_type,
)
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import (
    Extent,
    Shape,
    add,
    ceildiv,
    equal,
    floordiv,
    is_any,
    mul,
    static,
    sub,
    written_any,
)
from relay2relax.tir.ir.expr import PrimExpr, Select, cast, const, if_then_else, logical_and, minimum

SOURCE = "TVM 0.18 src/relay/op/tensor/transform.cc"


@dataclass(frozen=True, slots=True)
class LayoutTransformAttrs:
    """The layout of the data and that of the result."""

    src_layout: InlineString
    dst_layout: InlineString


@dataclass(frozen=True, slots=True)
class ReverseSequenceAttrs:
    """The axis along which sequences run, and the axis of the batch."""

    seq_axis: Integer = 1
    batch_axis: Integer = 0


@dataclass(frozen=True, slots=True)
class SlidingWindowAttrs:
    """The first axis that windows slide along, and for it and all later ones the windows' extents
    and steps.
    """

    axis: Int
    window_shape: IntegerArray
    strides: IntegerArray


@dataclass(frozen=True, slots=True)
class MeshgridAttrs:
    """``ij``: axes in the order of the inputs; ``xy``: the first two are exchanged."""

    indexing: InlineString = "ij"


# layout_transform


def _layouts(attrs: LayoutTransformAttrs) -> tuple[Layout, Layout, str]:
    """Return both layouts, and the letters of their axes in the order of the first."""
    letters = "".join(one for one in attrs.src_layout if one.isupper())
    return parse_layout(attrs.src_layout, letters), parse_layout(attrs.dst_layout, letters), letters


def _whole(extents: Shape, layout: Layout, letters: str) -> Shape:
    """Return the extents rounded up to what ``layout`` can split."""
    factors = [layout.factor(letter) for letter in letters]
    return tuple(mul(ceildiv(n, f), f) if f > 1 else n for n, f in zip(extents, factors, strict=True))


def layout_transform_type(attrs: LayoutTransformAttrs, data: Type) -> Type:
    """Return the shape in the other layout; a split axis that is no multiple is padded."""
    found = tensor(data)
    source, target, _ = _layouts(attrs)
    if source.rank != found.rank:
        raise OpError(
            mistake(operators.LAYOUT, what="the tensor", rank=found.rank, layout=source.name, needed=source.rank), 0
        )
    for axis, n in zip(source.axes, found.shape, strict=True):
        if axis.factor and equal(axis.factor, n) is False:
            raise OpError(
                f"layout {source.name} has {axis.factor} elements inside of {axis.letter}, the tensor {n}",
                0,
                kind=operators.LAYOUT,
            )

    def extent(letter: str) -> Extent:
        # The inner part of a split axis has the layout's extent, whether the tensor's is known or
        # not.
        outer = found.shape[source.position(letter)]
        joined, factor = source.factor(letter), target.factor(letter)

        def split(n: Extent) -> Extent:
            return ceildiv(mul(n, joined), factor)

        return written_any(split) if is_any(outer) else split(outer)

    return TensorType(tuple(axis.factor or extent(axis.letter) for axis in target.axes), found.dtype)


def layout_transform_numpy(attrs: LayoutTransformAttrs, data: Array) -> Array:
    """Return the data in the other layout, padded with zeros.

    A view where no axis is split or joined.
    """
    source, target, letters = _layouts(attrs)
    ordered = source.to_order(data, letters)
    whole = static_shape(_whole(ordered.shape, target, letters))
    if whole != ordered.shape:
        ordered = np.pad(ordered, [(0, n - m) for n, m in zip(whole, ordered.shape, strict=True)])
    return target.from_order(ordered, letters)


def layout_transform_compute(attrs: LayoutTransformAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return the element at the same coordinates, 0 where padding lies."""
    source, target, letters = _layouts(attrs)
    extents = source.extents(data.shape, letters)
    padded = [
        (letter, n)
        for letter, n, m in zip(letters, extents, _whole(extents, target, letters), strict=True)
        if equal(n, m) is not True
    ]

    def element(*i: PrimExpr) -> PrimExpr:
        coordinates = target.coordinates(i)
        value = data[source.indices(coordinates)]
        if not padded:
            return value
        inside = logical_and(*(coordinates[letter] < extent for letter, extent in padded))
        return if_then_else(inside, value, const(0, out.dtype))

    return te.compute(out.shape, element, name="T_layout_transform")


def layout_transform_relax(e: Emit[V], attrs: LayoutTransformAttrs, data: V) -> V:
    """Split axes by reshape, give the parts their places, join others by reshape.

    Padding needs a kernel.
    """
    found = tensor(e.type_of(data))
    source, target, letters = _layouts(attrs)
    extents = source.extents(found.shape, letters)
    if any(equal(n, m) is not True for n, m in zip(extents, _whole(extents, target, letters), strict=True)):
        return e.as_tir(layout_transform, attrs, (data,), "padding to whole blocks has no Relax form")
    data = _to_order(e, data, source, extents, letters)
    parts: list[Extent] = []
    names: list[tuple[str, bool]] = []
    for letter, extent in zip(letters, extents, strict=True):
        factor = target.factor(letter)
        split = factor > 1
        parts += [floordiv(extent, factor), factor] if split else [extent]
        names += [(letter, False), (letter, True)] if split else [(letter, False)]
    if len(parts) != len(letters):
        data = e.call("reshape", data, e.shape(parts))
    order = [names.index((axis.letter, axis.factor > 1)) if axis.factor != 1 else -1 for axis in target.axes]
    if -1 in order:
        return e.call("reshape", data, e.shape(tensor(layout_transform_type(attrs, found)).shape))
    return _permuted(e, data, order)


def _to_order(e: Emit[V], data: V, source: Layout, extents: Shape, letters: str) -> V:
    """Return the data with its axes in the order of ``letters``, inner parts joined to their
    axes.
    """
    order = [
        d
        for letter in letters
        for d in sorted(
            (d for d, axis in enumerate(source.axes) if axis.letter == letter), key=lambda d: source.axes[d].factor
        )
    ]
    data = _permuted(e, data, order)
    return e.call("reshape", data, e.shape(extents)) if source.is_split else data


def _permuted(e: Emit[V], data: V, order: Sequence[int]) -> V:
    return data if list(order) == list(range(len(order))) else e.call("permute_dims", data, axes=tuple(order))


# contrib_reverse_reshape


def reverse_reshape_type(attrs: ReshapeAttrs, data: Type) -> Type:
    """Return the shape that ``newshape`` gives the data, both read from the right."""
    found = tensor(data)
    shape = new_shape(found.shape[::-1], tuple(attrs.newshape)[::-1], attrs.allowzero)
    return TensorType(shape[::-1], found.dtype)


def reverse_reshape_numpy(attrs: ReshapeAttrs, data: Array) -> Array:
    """Return the same elements in another shape."""
    shape = new_shape(data.shape[::-1], tuple(attrs.newshape)[::-1], attrs.allowzero)
    return data.reshape(static_shape(shape[::-1]))


def reverse_reshape_relax(e: Emit[V], attrs: ReshapeAttrs, data: V) -> V:
    """R.reshape takes the shape itself."""
    return e.call("reshape", data, e.shape(tensor(reverse_reshape_type(attrs, e.type_of(data))).shape))


# squeeze


def _kept(attrs: SqueezeAttrs, shape: Shape) -> SqueezeAttrs:
    """Return the attributes as Relax means them: a listed axis stays where its extent is another
    number than 1.
    """
    if attrs.axis is None:
        return attrs
    axes = normal_axes(attrs.axis, len(shape))
    return SqueezeAttrs(tuple(axis for axis in axes if static(shape[axis]) in (1, None)))


# reverse_sequence


def _sequence_axes(attrs: ReverseSequenceAttrs, rank: int) -> tuple[int, int]:
    return normal_axis(attrs.seq_axis, rank, "seq_axis"), normal_axis(attrs.batch_axis, rank, "batch_axis")


def reverse_sequence_type(attrs: ReverseSequenceAttrs, data: Type, seq_lengths: Type) -> Type:
    """Return the type of ``data``."""
    found, lengths = tensor(data), tensor(seq_lengths, 1)
    _, batch = _sequence_axes(attrs, found.rank)
    if not is_int(lengths.dtype):
        raise OpError(
            mistake(operators.DTYPE, what="the tensor of lengths", dtype=lengths.dtype, expected="integers"), 1
        )
    if lengths.rank != 1 or equal(lengths.shape[0], found.shape[batch]) is False:
        expected = f"{show((found.shape[batch],))}, a length for each sequence of the data"
        raise OpError(
            mistake(operators.SHAPE, what="the tensor of lengths", shape=show(lengths.shape), expected=expected), 1
        )
    return found


def reverse_sequence_relay_type(attrs: ReverseSequenceAttrs, data: Type, seq_lengths: Type) -> Type:
    """Return the type; TVM's inference wants signed lengths."""
    if is_unsigned(tensor(seq_lengths, 1).dtype):
        raise OpError(
            mistake(
                operators.DTYPE,
                what="the tensor of lengths",
                dtype=tensor(seq_lengths, 1).dtype,
                expected="signed integers",
            ),
            1,
        )
    return reverse_sequence_type(attrs, data, seq_lengths)


def reverse_sequence_relax_type(attrs: ReverseSequenceAttrs, data: Type, seq_lengths: Type) -> Type:
    """Return the type; Relax takes lengths of 32 and 64 bits."""
    if tensor(seq_lengths, 1).dtype not in ("int32", "int64"):
        raise OpError(
            mistake(
                operators.DTYPE,
                what="the tensor of lengths",
                dtype=tensor(seq_lengths, 1).dtype,
                expected="int32 or int64",
            ),
            1,
        )
    return reverse_sequence_type(attrs, data, seq_lengths)


def reverse_sequence_numpy(attrs: ReverseSequenceAttrs, data: Array, seq_lengths: Array) -> Array:
    """Return the data with the first ``seq_lengths[b]`` elements of each sequence run backwards."""
    axis, batch = _sequence_axes(attrs, data.ndim)
    extent = data.shape[axis]
    time = np.arange(extent)[:, None]
    lengths = np.minimum(seq_lengths.astype(np.int64), extent)
    places = np.where(time < lengths, lengths - 1 - time, time)
    if axis == batch:
        places = np.diagonal(places)[:, None]
        return np.asarray(np.take(data, places[:, 0], axis=axis))
    if axis > batch:
        places = places.T
    extents = [n if d in (axis, batch) else 1 for d, n in enumerate(data.shape)]
    return np.asarray(np.take_along_axis(data, places.reshape(extents), axis))


def reverse_sequence_compute(
    attrs: ReverseSequenceAttrs, out: TensorType, data: te.Tensor, seq_lengths: te.Tensor
) -> te.Tensor:
    """Return each element, counted from the end of its sequence where it lies inside."""
    axis, batch = _sequence_axes(attrs, data.rank)

    def place(*i: PrimExpr) -> tuple[PrimExpr, ...]:
        length = minimum(cast("int64", seq_lengths[i[batch]]), data.shape[axis])
        mirrored = Select(i[axis] < length, length - 1 - i[axis], i[axis])
        return (*i[:axis], mirrored, *i[axis + 1 :])

    return moved(out, data, place, "reverse_sequence")


# sliding_window


def sliding_window_type(attrs: SlidingWindowAttrs, data: Type) -> Type:
    """Return the dimensions before ``axis``, the numbers of windows, the extents of a window."""
    found = tensor(data)
    axis = normal_axis(attrs.axis, found.rank)
    if not len(attrs.window_shape) == len(attrs.strides) == found.rank - axis:
        raise OpError(f"windows and strides need an entry for each of the axes from {axis} on", 0, kind=operators.AXIS)
    if min((*attrs.window_shape, *attrs.strides)) < 1:
        raise OpError("windows and strides are at least 1", 0, kind=operators.ATTRIBUTE)
    counts: list[Extent] = []
    for extent, window, stride in zip(found.shape[axis:], attrs.window_shape, attrs.strides, strict=True):
        size = static(extent)
        if size is not None and size < window:
            raise OpError(f"a window of {window} does not fit an extent of {size}", 0, kind=operators.SHAPE)
        ask_at_least(extent, window)
        counts.append(floordiv(add(sub(extent, window - 1), stride - 1), stride))
    return TensorType((*found.shape[:axis], *counts, *attrs.window_shape), found.dtype)


def sliding_window_numpy(attrs: SlidingWindowAttrs, data: Array) -> Array:
    """Return a view with an axis for the place of the window and one for the place in it."""
    axis = normal_axis(attrs.axis, data.ndim)
    axes = tuple(range(axis, data.ndim))
    view = np.lib.stride_tricks.sliding_window_view(data, tuple(attrs.window_shape), axes)
    return view[(slice(None),) * axis + tuple(slice(None, None, stride) for stride in attrs.strides)]


def sliding_window_compute(attrs: SlidingWindowAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return the element at the place in the window, counted from where the window begins."""
    axis = normal_axis(attrs.axis, data.rank)

    def place(*i: PrimExpr) -> tuple[PrimExpr, ...]:
        windows, inner = i[axis : data.rank], i[data.rank :]
        return (*i[:axis], *(w * s + k for w, s, k in zip(windows, attrs.strides, inner, strict=True)))

    return moved(out, data, place, "sliding_window")


# meshgrid


def meshgrid_type(attrs: MeshgridAttrs, data: Type) -> Type:
    """Return a grid over all extents for each input; a number counts as one of extent 1."""
    if not isinstance(data, TupleType) or not data.fields:
        raise OpError("a tuple of vectors is expected", 0, kind=operators.RANK)
    found = [tensor(one) for one in data.fields]
    if any(one.rank > 1 for one in found):
        raise OpError("meshgrid takes vectors and numbers", 0, kind=operators.RANK)
    if any(one.dtype != found[0].dtype for one in found):
        raise OpError("the vectors differ in element type", 0, kind=operators.DTYPE)
    if attrs.indexing not in ("ij", "xy"):
        raise OpError(
            mistake(operators.ATTRIBUTE, name="indexing", value=repr(attrs.indexing), expected="'ij' or 'xy'")
        )
    shape = [one.shape[0] if one.rank else 1 for one in found]
    if attrs.indexing == "xy" and len(shape) > 1:
        shape[:2] = shape[1::-1]
    return TupleType((TensorType(tuple(shape), found[0].dtype),) * len(found))


def meshgrid_numpy(attrs: MeshgridAttrs, data: tuple[Array, ...]) -> tuple[Array, ...]:
    """Return a view for each input that repeats it along the other axes."""
    axes = list(range(len(data)))
    if attrs.indexing == "xy":
        axes[:2] = axes[1::-1]
    vectors = [
        one.reshape([-1 if d == axis else 1 for d in range(len(data))]) for axis, one in zip(axes, data, strict=True)
    ]
    shape = np.broadcast_shapes(*(one.shape for one in vectors))
    return tuple(np.broadcast_to(one, shape) for one in vectors)


def meshgrid_compute(attrs: MeshgridAttrs, out: TupleType, data: tuple[te.Tensor, ...]) -> tuple[te.Tensor, ...]:
    """Return the element of each input that the index of its axis names."""

    def grid(number: int, type_: Type, vector: te.Tensor) -> te.Tensor:
        axis = 1 - number if attrs.indexing == "xy" and number < 2 <= len(data) else number
        return moved(tensor(type_), vector, lambda *i: (i[axis],) if vector.rank else (), "meshgrid")

    pairs = enumerate(zip(out.fields, data, strict=True))
    return tuple(grid(number, type_, vector) for number, (type_, vector) in pairs)


def meshgrid_relax(e: Emit[V], attrs: MeshgridAttrs, data: V) -> V:
    """R.meshgrid takes vectors; for ``xy`` TVM infers the shape of ``ij``."""
    found = e.type_of(data)
    assert isinstance(found, TupleType)
    if attrs.indexing == "xy":
        return e.as_tir(meshgrid, attrs, (data,), "TVM infers the shape of `ij` for R.meshgrid of `xy`")
    if any(not tensor(one).rank for one in found.fields):
        parts = [e.item(data, number) for number in range(len(found.fields))]
        data = e.tuple(
            [
                part if tensor(one).rank else e.call("reshape", part, e.shape((1,)))
                for one, part in zip(found.fields, parts, strict=True)
            ]
        )
    return e.call("meshgrid", data, indexing=attrs.indexing)


# Records

layout_transform = OpDef(
    relay="layout_transform",
    doc="The same tensor in another layout, e.g. NCHW4c; a split axis that is no multiple is padded with zeros.",
    source="TVM 0.18 src/tir/ir/data_layout.cc, BijectiveLayout",
    inputs=("data",),
    attrs=LayoutTransformAttrs,
    infer=layout_transform_type,
    numpy=layout_transform_numpy,
    compute=layout_transform_compute,
    relax=Expanded(layout_transform_relax),
    fusion=Fusion(OpPattern.INJECTIVE),
)

reverse_reshape = OpDef(
    relay="contrib_reverse_reshape",
    doc="As reshape, with the dimensions and codes read from the right.",
    source=f"{SOURCE}, contrib_reverse_reshape",
    inputs=("data",),
    attrs=ReshapeAttrs,
    infer=reverse_reshape_type,
    numpy=reverse_reshape_numpy,
    compute=reshape_compute,
    relax=Expanded(reverse_reshape_relax),
    fusion=Fusion(OpPattern.INJECTIVE, reshapes=True),
)

relax_squeeze = OpDef(
    doc="Leave out axes of extent 1; of listed ones, those that have another extent stay.",
    source="TVM 0.27 src/relax/op/tensor/manipulate.cc, squeeze",
    inputs=("x",),
    attrs=SqueezeAttrs,
    infer=lambda attrs, x: squeeze_type(_kept(attrs, tensor(x).shape), x),
    numpy=lambda attrs, x: squeeze_numpy(_kept(attrs, x.shape), x),
    compute=lambda attrs, out, x: squeeze_compute(_kept(attrs, x.shape), out, x),
    relax=SameOp(),
    script=Script("squeeze", "x, axis=None"),
)

reverse_sequence = OpDef(
    relay="reverse_sequence",
    doc="The beginning of each sequence, as long as its length says, run backwards.",
    source=f"{SOURCE}, reverse_sequence",
    inputs=("data", "seq_lengths"),
    attrs=ReverseSequenceAttrs,
    infer=reverse_sequence_type,
    relay_type=reverse_sequence_relay_type,
    relax_type=reverse_sequence_relax_type,
    numpy=reverse_sequence_numpy,
    compute=reverse_sequence_compute,
    relax=Otherwise("R.reverse_sequence is not in apache-tvm 0.25, which reads the same scripts"),
    script=Script("reverse_sequence", "data, seq_lengths, seq_axis=1, batch_axis=0", since="0.26"),
    fusion=Fusion(OpPattern.INJECTIVE),
)

sliding_window = OpDef(
    relay="sliding_window",
    doc="All windows of an extent, a step apart, over the last axes.",
    source=f"{SOURCE}, sliding_window",
    inputs=("data",),
    attrs=SlidingWindowAttrs,
    infer=sliding_window_type,
    numpy=sliding_window_numpy,
    compute=sliding_window_compute,
)

_TURNED = Limit(
    'apache-tvm takes the extents of a grid "xy" for those of "ij"', lambda attrs, types: attrs.indexing == "xy"
)

meshgrid = OpDef(
    relay="meshgrid",
    doc="Each vector of a tuple repeated over a grid of all of them.",
    source=f"{SOURCE}, meshgrid",
    inputs=("data",),
    attrs=MeshgridAttrs,
    infer=meshgrid_type,
    numpy=meshgrid_numpy,
    compute=meshgrid_compute,
    relax=Expanded(meshgrid_relax),
    script=Script("meshgrid", "tensors, indexing='ij'", since="0.21", limits=(_TURNED,)),
    fusion=Fusion(OpPattern.INJECTIVE),
)

OPS = (relax_squeeze, layout_transform, reverse_reshape, reverse_sequence, sliding_window, meshgrid)
