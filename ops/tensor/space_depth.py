"""Rearrangements in blocks: between channels, batch and image, and elements set apart.

Every one of them splits axes, transposes the parts and joins them again; ``Parts`` says how. Numpy
and Relax do just that, a tensor expression computes where an element comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.layout import parse_layout
from relay2relax.ops.common.shapes import normal_axis, tensor
from relay2relax.ops.common.windows import integers, pad_array, padded
from relay2relax.ops.registry.attributes import (
    Double,
    IndexExprArray,
    IndexExprPairs,
    InlineString,
    Int,
    IntegerArray,
)
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.precision import Precision
from relay2relax.ops.registry.record import Definition, Emit, Expanded, OpDef, OpError, SameOp, V
from relay2relax.ops.registry.script import Limit, Script
from relay2relax.ops.registry.types import TensorType, Type, show
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import Extent, Shape, add, as_prim, ask, equal, floordiv, is_any, mul, product, static, sub
from relay2relax.tir.ir.expr import PrimExpr, binary, const, if_then_else, logical_and


@dataclass(frozen=True, slots=True)
class SubPixelAttrs:
    """``mode`` DCR: a channel is (row, column, channel) of its block, otherwise (channel, row,
    column).
    """

    block_size: Int = 1
    layout: InlineString = "NCHW"
    mode: InlineString = "DCR"


@dataclass(frozen=True, slots=True)
class PixelShuffleAttrs:
    """How many pixels each one becomes, along either axis."""

    upscale_factor: Int

    @property
    def blocks(self) -> SubPixelAttrs:
        """The same in the words of ``nn.depth_to_space``."""
        return SubPixelAttrs(self.upscale_factor, "NCHW", "CRD")


@dataclass(frozen=True, slots=True)
class SpaceToBatchNDAttrs:
    """``paddings`` lists (before, after) for each axis that ``block_shape`` divides."""

    block_shape: IntegerArray = field(default=(1, 1), kw_only=True)
    paddings: IndexExprPairs
    pad_value: Double = 0.0


@dataclass(frozen=True, slots=True)
class BatchToSpaceNDAttrs:
    """``crops`` lists what is taken off (before, after) for each axis that ``block_shape``
    multiplies.
    """

    block_shape: IntegerArray = field(default=(1, 1), kw_only=True)
    crops: IndexExprPairs


@dataclass(frozen=True, slots=True)
class DilateAttrs:
    """Elements come to stand ``strides`` apart; what is between them is ``dilation_value``."""

    strides: IndexExprArray = (1, 1)
    dilation_value: Double = 0.0


@dataclass(frozen=True, slots=True)
class FIFOBufferAttrs:
    """The axis that counts time."""

    axis: Int = 0


@dataclass(frozen=True, slots=True)
class _Parts:
    """Axes ``whole`` split into ``split``, transposed by ``order``, joined to groups of ``joined``
    axes each.

    Relay infers a type even where the parts do not make up the whole; whoever computes calls
    :meth:`checked`.
    """

    whole: Shape
    split: Shape
    order: tuple[int, ...]
    joined: tuple[int, ...]

    @property
    def shape(self) -> Shape:
        """The shape that comes out."""
        turned = [self.split[i] for i in self.order]
        ends = np.cumsum(self.joined)
        return tuple(product(turned[end - n : end]) for n, end in zip(self.joined, ends.tolist(), strict=True))

    @property
    def is_empty(self) -> bool:
        """Whether nothing comes out, not even of a tensor that has elements."""
        return static(product(self.split)) == 0

    def checked(self) -> _Parts:
        """Return this; raises OpError where an axis cannot be divided, unless nothing comes out."""
        if not self.is_empty and equal(product(self.whole), product(self.split)) is False:
            raise OpError(
                f"a shape of {show(self.whole)} cannot be split into {show(self.split)}", 0, kind=operators.SHAPE
            )
        return self

    def ask_whole(self) -> None:
        """Ask that the axes can be divided, or nothing comes out."""
        whole, split = product(self.whole), product(self.split)
        if not is_any(whole) and not is_any(split):
            ask(binary("or", binary("==", as_prim(whole), as_prim(split)), binary("==", as_prim(split), 0)))

    def numpy(self, data: Array) -> Array:
        """Return the rearranged array."""
        self.checked()
        sizes = [int(static(extent) or 0) for extent in self.split]
        shape = [int(static(extent) or 0) for extent in self.shape]
        if self.is_empty:
            return np.zeros(shape, data.dtype)
        result: Array = data.reshape(sizes).transpose(self.order).reshape(shape)
        return result

    def emit(self, e: Emit[V], data: V) -> V:
        """Emit the rearrangement."""
        self.checked()
        turned = e.call("permute_dims", e.call("reshape", data, e.shape(self.split)), axes=self.order)
        return e.call("reshape", turned, e.shape(self.shape))


_ORDER = "NCHW"


def _blocks(attrs: SubPixelAttrs, data: Type) -> tuple[TensorType, int]:
    """Return the data's type and the size of a block.

    Raises OpError where the data is no image in the layout.
    """
    x, layout = tensor(data), parse_layout(attrs.layout, _ORDER)
    if layout.is_split or x.rank != layout.rank:
        raise OpError(
            f"the data has {x.rank} dimensions, layout {attrs.layout} needs 4 that are not split",
            0,
            kind=operators.LAYOUT,
        )
    if attrs.block_size < 1:
        raise OpError(mistake(operators.ATTRIBUTE, name="block_size", value=attrs.block_size, expected="at least 1"))
    return x, attrs.block_size


def _depth_to_space(attrs: SubPixelAttrs, data: Type) -> _Parts:
    """Split channels, and set the blocks behind their rows and columns."""
    x, b = _blocks(attrs, data)
    split: list[Extent] = []
    place: dict[str, int] = {}
    for letter, extent in zip(attrs.layout, x.shape, strict=True):
        parts = [(letter, extent)]
        if letter == "C":
            depth = ("C", floordiv(extent, b * b))
            parts = [("row", b), ("column", b), depth] if attrs.mode == "DCR" else [depth, ("row", b), ("column", b)]
        for name, size in parts:
            place[name] = len(split)
            split.append(size)
    groups = [[letter, *{"H": ["row"], "W": ["column"]}.get(letter, [])] for letter in attrs.layout]
    order = tuple(place[name] for group in groups for name in group)
    return _Parts(x.shape, tuple(split), order, tuple(len(group) for group in groups))


def _space_to_depth(attrs: SubPixelAttrs, data: Type) -> _Parts:
    """Split rows and columns, and set their inner parts before the channels."""
    x, b = _blocks(attrs, data)
    split: list[Extent] = []
    place: dict[str, int] = {}
    for letter, extent in zip(attrs.layout, x.shape, strict=True):
        inner = {"H": "row", "W": "column"}.get(letter)
        place[letter] = len(split)
        if inner is None:
            split.append(extent)
        else:
            place[inner] = len(split) + 1
            split += [floordiv(extent, b), b]
    groups = [["row", "column", "C"] if letter == "C" else [letter] for letter in attrs.layout]
    order = tuple(place[name] for group in groups for name in group)
    return _Parts(x.shape, tuple(split), order, tuple(len(group) for group in groups))


def depth_to_space_compute(attrs: SubPixelAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return where each element of the image comes from among the channels."""
    _depth_to_space(attrs, TensorType(data.shape)).checked()
    layout, b = parse_layout(attrs.layout, _ORDER), attrs.block_size
    channels = out.shape[layout.position("C")]

    def element(*at: PrimExpr) -> PrimExpr:
        place = layout.coordinates(at)
        block = place["H"] % b * b + place["W"] % b
        dcr = attrs.mode == "DCR"
        place["C"] = block * as_prim(channels) + place["C"] if dcr else place["C"] * (b * b) + block
        place["H"], place["W"] = place["H"] // b, place["W"] // b
        return data[layout.indices(place)]

    return te.compute(out.shape, element, "depth_to_space")


def space_to_depth_compute(attrs: SubPixelAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return where each channel comes from in the image."""
    _space_to_depth(attrs, TensorType(data.shape)).checked()
    layout, b = parse_layout(attrs.layout, _ORDER), attrs.block_size
    channels = data.shape[layout.position("C")]

    def element(*at: PrimExpr) -> PrimExpr:
        place = layout.coordinates(at)
        block = place["C"] // channels
        place["C"] = place["C"] % channels
        place["H"], place["W"] = place["H"] * b + block // b, place["W"] * b + block % b
        return data[layout.indices(place)]

    return te.compute(out.shape, element, "space_to_depth")


def _sub_pixel(
    name: str, parts: Callable[..., _Parts], compute: Definition, doc: str, precision: Precision | None = None
) -> OpDef:
    def infer(attrs: SubPixelAttrs, data: Type) -> TensorType:
        found = parts(attrs, data)
        found.ask_whole()
        return TensorType(found.shape, tensor(data).dtype)

    def numpy(attrs: SubPixelAttrs, data: Array) -> Array:
        result: Array = parts(attrs, TensorType(data.shape)).numpy(data)
        return result

    def relax(e: Emit[V], attrs: SubPixelAttrs, data: V) -> V:
        found: _Parts = parts(attrs, e.type_of(data))
        if found.is_empty:
            return e.as_tir(record, attrs, (data,), "Relax's operators take no empty tensors here")
        return found.emit(e, data)

    record = OpDef(
        relay=f"nn.{name}",
        doc=doc,
        source=f"TOPI's {name} of TVM 0.18",
        inputs=("data",),
        attrs=SubPixelAttrs,
        infer=infer,
        numpy=numpy,
        compute=compute,
        relax=Expanded(relax),
        fusion=Fusion(OpPattern.INJECTIVE),
        precision=precision,
    )
    return record


# Between batch and image.


def _pairs(pairs: Sequence[Sequence[Extent]], block: Sequence[int], rank: int, what: str) -> list[tuple[int, int]]:
    """Return (before, after) for each axis that is divided.

    Raises OpError where they do not fit.
    """
    if len(pairs) != len(block) or any(len(pair) != 2 for pair in pairs):
        raise OpError(
            mistake(
                operators.ATTRIBUTE,
                name=what,
                value=list(pairs),
                expected=f"(before, after) for each of {len(block)} axes",
            )
        )
    if rank <= len(block):
        raise OpError(
            f"block_shape is for {len(block)} axes behind the batch, the data has {rank} dimensions",
            0,
            kind=operators.RANK,
        )
    if min(block, default=1) < 1:
        raise OpError(mistake(operators.ATTRIBUTE, name="block_shape", value=list(block), expected="at least 1"))
    found = [integers(pair, what) for pair in pairs]
    if any(min(pair) < 0 for pair in found):
        raise OpError(mistake(operators.ATTRIBUTE, name=what, value=list(pairs), expected="at least 0"))
    return [(before, after) for before, after in found]


def _to_batch(attrs: SpaceToBatchNDAttrs, shape: Shape) -> tuple[list[tuple[int, int]], _Parts]:
    """Return the padding of every axis, and how the padded data is rearranged."""
    count, rank = len(attrs.block_shape), len(shape)
    widths = [(0, 0), *_pairs(attrs.paddings, attrs.block_shape, rank, "paddings")]
    widths += [(0, 0)] * (rank - len(widths))
    extents = [add(extent, before + after) for extent, (before, after) in zip(shape, widths, strict=True)]
    split: list[Extent] = [extents[0]]
    for extent, b in zip(extents[1 : count + 1], attrs.block_shape, strict=True):
        split += [floordiv(extent, b), b]
    split += extents[count + 1 :]
    inner = [2 * (i + 1) for i in range(count)]
    order = (*inner, 0, *(i - 1 for i in inner), *range(2 * count + 1, len(split)))
    return widths, _Parts(tuple(extents), tuple(split), order, (count + 1, *([1] * (len(split) - count - 1))))


def space_to_batch_type(attrs: SpaceToBatchNDAttrs, data: Type) -> TensorType:
    """Return the shape with blocks moved to the batch."""
    x = tensor(data)
    return TensorType(_to_batch(attrs, x.shape)[1].shape, x.dtype)


def space_to_batch_numpy(attrs: SpaceToBatchNDAttrs, data: Array) -> Array:
    """Return the padded data, rearranged."""
    widths, parts = _to_batch(attrs, data.shape)
    return parts.numpy(pad_array(data, [b for b, _ in widths], [a for _, a in widths], attrs.pad_value))


def space_to_batch_compute(attrs: SpaceToBatchNDAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return the padded data, then where each element of the batch comes from."""
    widths, parts = _to_batch(attrs, data.shape)
    parts.checked()
    x = padded(data, [b for b, _ in widths], [a for _, a in widths], const(attrs.pad_value, data.dtype))

    def element(*at: PrimExpr) -> PrimExpr:
        block, index = at[0] // data.shape[0], [at[0] % data.shape[0], *at[1:]]
        for axis in range(len(attrs.block_shape), 0, -1):
            b = attrs.block_shape[axis - 1]
            index[axis] = at[axis] * b + block % b
            block = block // b
        return x[tuple(index)]

    return te.compute(out.shape, element, "space_to_batch_nd")


def space_to_batch_relax(e: Emit[V], attrs: SpaceToBatchNDAttrs, data: V) -> V:
    """Padding, splitting, transposing, joining."""
    widths, parts = _to_batch(attrs, tensor(e.type_of(data)).shape)
    flat = tuple(width for pair in widths for width in pair)
    if any(flat):
        data = e.call("nn.pad", data, pad_width=flat, pad_value=attrs.pad_value)
    return parts.emit(e, data)


def _from_batch(attrs: BatchToSpaceNDAttrs, shape: Shape) -> tuple[_Parts, list[tuple[int, int]], Shape]:
    """Return how the data is rearranged, what is cropped of each axis then, and the cropped
    shape.
    """
    count, rank = len(attrs.block_shape), len(shape)
    crops = [(0, 0), *_pairs(attrs.crops, attrs.block_shape, rank, "crops")]
    crops += [(0, 0)] * (rank - len(crops))
    blocks = int(np.prod(attrs.block_shape, dtype=np.int64))
    split = (*attrs.block_shape, floordiv(shape[0], blocks), *shape[1:])
    order = [count]
    for i in range(count):
        order += [count + 1 + i, i]
    order += range(2 * count + 1, len(split))
    parts = _Parts(shape, split, tuple(order), (1, *([2] * count), *([1] * (rank - count - 1))))
    cropped = tuple(sub(extent, before + after) for extent, (before, after) in zip(parts.shape, crops, strict=True))
    for extent, pair in zip(parts.shape, crops, strict=True):
        known = static(extent)
        if known is not None and sum(pair) > known:
            raise OpError(f"crops {list(pair)} take more than the {known} elements there are", 0, kind=operators.SHAPE)
    return parts, crops, cropped


def batch_to_space_type(attrs: BatchToSpaceNDAttrs, data: Type) -> TensorType:
    """Return the shape with blocks moved from the batch, cropped."""
    x = tensor(data)
    return TensorType(_from_batch(attrs, x.shape)[2], x.dtype)


def batch_to_space_numpy(attrs: BatchToSpaceNDAttrs, data: Array) -> Array:
    """Return the data rearranged, cropped."""
    parts, crops, _ = _from_batch(attrs, data.shape)
    whole = parts.numpy(data)
    return whole[tuple(slice(b, n - a) for n, (b, a) in zip(whole.shape, crops, strict=True))]


def batch_to_space_compute(attrs: BatchToSpaceNDAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return where each element comes from in the batch."""
    parts, crops, _ = _from_batch(attrs, data.shape)
    parts.checked()

    def element(*at: PrimExpr) -> PrimExpr:
        index, block = list(at), const(0, "int64")
        for axis, b in enumerate(attrs.block_shape, 1):
            place = at[axis] + crops[axis][0]
            index[axis] = place // b
            block = block * b + place % b
        index[0] = block * as_prim(out.shape[0]) + at[0]
        return data[tuple(index)]

    return te.compute(out.shape, element, "batch_to_space_nd")


def batch_to_space_relax(e: Emit[V], attrs: BatchToSpaceNDAttrs, data: V) -> V:
    """Splitting, transposing, joining; cropping is padding by less than nothing."""
    parts, crops, _ = _from_batch(attrs, tensor(e.type_of(data)).shape)
    result = parts.emit(e, data)
    flat = tuple(-width for pair in crops for width in pair)
    return e.call("nn.pad", result, pad_width=flat) if any(flat) else result


# Elements set apart.


def _strides(attrs: DilateAttrs, rank: int) -> tuple[int, ...]:
    found = integers(attrs.strides, "strides")
    if len(found) != rank:
        raise OpError(f"strides are for {len(found)} axes, the data has {rank}", 0, kind=operators.AXIS)
    if min(found, default=1) < 1:
        raise OpError(mistake(operators.ATTRIBUTE, name="strides", value=list(found), expected="at least 1"))
    return found


def dilate_type(attrs: DilateAttrs, x: Type) -> TensorType:
    """Return the extents ``(extent - 1) * stride + 1``."""
    data = tensor(x)
    strides = _strides(attrs, data.rank)
    return TensorType(tuple(add(mul(sub(e, 1), s), 1) for e, s in zip(data.shape, strides, strict=True)), data.dtype)


def dilate_numpy(attrs: DilateAttrs, x: Array) -> Array:
    """Return the elements with values between them."""
    strides = _strides(attrs, x.ndim)
    shape = [max((e - 1) * s + 1, 0) for e, s in zip(x.shape, strides, strict=True)]
    result = np.full(shape, attrs.dilation_value, x.dtype)
    result[tuple(slice(None, None, s) for s in strides)] = x
    return result


def dilate_compute(attrs: DilateAttrs, out: TensorType, x: te.Tensor) -> te.Tensor:
    """Return an element where the place is a multiple of the strides, the value elsewhere."""
    strides, value = _strides(attrs, x.rank), const(attrs.dilation_value, x.dtype)

    def element(*at: PrimExpr) -> PrimExpr:
        load = x[tuple(i // s for i, s in zip(at, strides, strict=True))]
        here = [(i % s).equal(0) for i, s in zip(at, strides, strict=True) if s > 1]
        return if_then_else(logical_and(*here), load, value) if here else load

    return te.compute(out.shape, element, "dilate")


def dilate_relax(e: Emit[V], attrs: DilateAttrs, x: V) -> V:
    """For each axis: a new axis behind it, filled up with the value, joined, and cropped at the
    end.
    """
    data = tensor(e.type_of(x))
    shape = list(data.shape)
    for axis, stride in enumerate(_strides(attrs, data.rank)):
        if stride == 1:
            continue
        tall = e.call("expand_dims", x, axis=(axis + 1,))
        width = [0] * (2 * data.rank + 2)
        width[2 * axis + 3] = stride - 1
        tall = e.call("nn.pad", tall, pad_width=tuple(width), pad_value=attrs.dilation_value)
        shape[axis] = mul(shape[axis], stride)
        crop = [0] * (2 * data.rank)
        crop[2 * axis + 1] = 1 - stride
        x = e.call("nn.pad", e.call("reshape", tall, e.shape(shape)), pad_width=tuple(crop))
        shape[axis] = sub(shape[axis], stride - 1)
    return x


# A queue.


def fifo_buffer_type(attrs: FIFOBufferAttrs, data: Type, buffer: Type) -> TensorType:
    """Return the type of the buffer; the data has its shape but for the axis of time."""
    new, old = tensor(data), tensor(buffer, 1)
    if new.rank != old.rank:
        raise OpError(
            mistake(operators.RANK, what="the data", rank=new.rank, expected=f"{old.rank}, as the buffer has"), 0
        )
    axis = normal_axis(attrs.axis, old.rank)
    if any(equal(a, b) is False for d, (a, b) in enumerate(zip(new.shape, old.shape, strict=True)) if d != axis):
        raise OpError(
            f"shapes {show(new.shape)} and {show(old.shape)} differ outside of axis {axis}", 0, kind=operators.SHAPE
        )
    if new.dtype != old.dtype:
        raise OpError(
            mistake(operators.DTYPE, what="the data", dtype=new.dtype, expected=f"{old.dtype}, as the buffer has"), 0
        )
    return old


def fifo_buffer_numpy(attrs: FIFOBufferAttrs, data: Array, buffer: Array) -> Array:
    """Return the last elements of the buffer followed by the data."""
    axis = attrs.axis % buffer.ndim
    both = np.concatenate((buffer, data), axis=axis)
    kept: tuple[slice, ...] = (*[slice(None)] * axis, slice(data.shape[axis], None))
    return both[kept]


def fifo_buffer_compute(attrs: FIFOBufferAttrs, out: TensorType, data: te.Tensor, buffer: te.Tensor) -> te.Tensor:
    """Return an element of the buffer, or of the data where that is past its end."""
    axis = normal_axis(attrs.axis, buffer.rank)

    def element(*at: PrimExpr) -> PrimExpr:
        place = at[axis] + data.shape[axis]
        rest = place - buffer.shape[axis]
        old, new = (*at[:axis], place, *at[axis + 1 :]), (*at[:axis], rest, *at[axis + 1 :])
        return if_then_else(rest < 0, buffer[old], data[new])

    return te.compute(out.shape, element, "fifo_buffer")


def fifo_buffer_relax(e: Emit[V], attrs: FIFOBufferAttrs, data: V, buffer: V) -> V:
    """Joining and slicing; where an extent is not known, the operator's own program."""
    new, old = tensor(e.type_of(data)), tensor(e.type_of(buffer))
    axis = normal_axis(attrs.axis, old.rank)
    begin, length = static(new.shape[axis]), static(old.shape[axis])
    if begin is None or length is None:
        return e.as_tir(fifo_buffer, attrs, (data, buffer), "an extent is not known beforehand")
    both = e.call("concat", e.tuple([buffer, data]), axis=axis)
    return e.call("strided_slice", both, axes=(axis,), begin=(begin,), end=(begin + length,), strides=(1,))


fifo_buffer = OpDef(
    relay="nn.fifo_buffer",
    doc="Push data into a queue: the last elements of the buffer followed by the data.",
    source="Relay's FIFOBuffer relation and TOPI's fifo_buffer of TVM 0.18",
    inputs=("data", "buffer"),
    attrs=FIFOBufferAttrs,
    infer=fifo_buffer_type,
    numpy=fifo_buffer_numpy,
    compute=fifo_buffer_compute,
    relax=Expanded(fifo_buffer_relax),
)


def pixel_shuffle_type(attrs: PixelShuffleAttrs, data: Type) -> TensorType:
    """Return fewer channels of larger images."""
    return TensorType(_depth_to_space(attrs.blocks, data).shape, tensor(data).dtype)


pixel_shuffle = OpDef(
    doc="Move channels into blocks of the image, the rows and columns of a block being inner parts of a channel.",
    source="R.nn.pixel_shuffle of TVM 0.27, which has no lowering; torch.nn.functional.pixel_shuffle",
    inputs=("data",),
    attrs=PixelShuffleAttrs,
    infer=pixel_shuffle_type,
    numpy=lambda attrs, data: _depth_to_space(attrs.blocks, TensorType(data.shape)).numpy(data),
    compute=lambda attrs, out, data: depth_to_space_compute(attrs.blocks, out, data),
    relax=SameOp(),
    script=Script(
        "nn.pixel_shuffle",
        "data, upscale_factor",
        since="0.21",
        limits=(Limit("apache-tvm's lowering calls a function that is not there"),),
    ),
)

OPS: tuple[OpDef, ...] = (
    pixel_shuffle,
    _sub_pixel(
        "depth_to_space",
        _depth_to_space,
        depth_to_space_compute,
        "Move channels into blocks of the image.",
        precision=Precision.FOLLOW,
    ),
    _sub_pixel("space_to_depth", _space_to_depth, space_to_depth_compute, "Move blocks of the image into channels."),
    OpDef(
        relay="nn.space_to_batch_nd",
        doc="Pad, and move blocks of the image into the batch.",
        source="TOPI's space_to_batch_nd of TVM 0.18",
        inputs=("data",),
        attrs=SpaceToBatchNDAttrs,
        infer=space_to_batch_type,
        numpy=space_to_batch_numpy,
        compute=space_to_batch_compute,
        relax=Expanded(space_to_batch_relax),
        fusion=Fusion(OpPattern.INJECTIVE),
    ),
    OpDef(
        relay="nn.batch_to_space_nd",
        doc="Move the batch into blocks of the image, and crop.",
        source="TOPI's batch_to_space_nd of TVM 0.18",
        inputs=("data",),
        attrs=BatchToSpaceNDAttrs,
        infer=batch_to_space_type,
        numpy=batch_to_space_numpy,
        compute=batch_to_space_compute,
        relax=Expanded(batch_to_space_relax),
        fusion=Fusion(OpPattern.INJECTIVE),
    ),
    OpDef(
        relay="nn.dilate",
        doc="Set elements apart, with a value between them.",
        source="Relay's Dilate relation and TOPI's dilate of TVM 0.18",
        inputs=("x",),
        attrs=DilateAttrs,
        infer=dilate_type,
        numpy=dilate_numpy,
        compute=dilate_compute,
        relax=Expanded(dilate_relax),
        declares_attrs=False,
        fusion=Fusion(OpPattern.INJECTIVE),
    ),
    fifo_buffer,
)
