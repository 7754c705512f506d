"""Changes of shape, joining and padding."""

from __future__ import annotations

from typing import Any

from relay2relax.graph.formats.onnx.builder import Form, Site, Value
from relay2relax.graph.formats.onnx.forms.convolution import to_order
from relay2relax.ops.nn.padding import MirrorPadAttrs, PadAttrs
from relay2relax.ops.tensor.joining import ConcatenateAttrs, SplitAttrs, StackAttrs
from relay2relax.ops.tensor.rearranging import MeshgridAttrs, ReverseSequenceAttrs
from relay2relax.ops.tensor.space_depth import SubPixelAttrs
from relay2relax.ops.tensor.transform import RepeatAttrs, ReverseAttrs, TileAttrs, TransposeAttrs
from relay2relax.tir.extent import static


def to_shape(at: Site, attrs: object, data: str, *rest: str) -> str:
    """Return the data with the result's shape."""
    unknown = [extent for extent in at.result.shape if static(extent) is None]
    if len(unknown) == 1:
        # ONNX works the one out by itself.
        codes = [-1 if (known := static(extent)) is None else known for extent in at.result.shape]
        if 0 not in codes:
            return at.node("Reshape", data, at.ints(codes))
    return at.node("Reshape", data, at.extents(at.result.shape), allowzero=1)


def transpose(at: Site, attrs: TransposeAttrs, data: str) -> str:
    return at.node("Transpose", data, perm=None if attrs.axes is None else [one % at.type().rank for one in attrs.axes])


def broadcast(at: Site, attrs: object, data: str, *rest: str) -> str:
    dtype = at.type().dtype
    return at.cast(at.node("Expand", data, at.extents(at.result.shape)), dtype, at.result.dtype)


def tile(at: Site, attrs: TileAttrs, data: str) -> str:
    reps, rank = [int(one) for one in attrs.reps], at.type().rank
    if len(reps) > rank:
        data = at.node("Unsqueeze", data, at.ints(list(range(len(reps) - rank))))
    return at.node("Tile", data, at.ints([1] * (rank - len(reps)) + reps))


def repeat(at: Site, attrs: RepeatAttrs, data: str) -> str:
    rank = at.type().rank
    if attrs.axis is None:
        data, axis, rank = at.node("Reshape", data, at.ints([-1])), 0, 1
    else:
        axis = attrs.axis % rank
    split = at.node("Unsqueeze", data, at.ints([axis + 1]))
    reps = [1] * (rank + 1)
    reps[axis + 1] = int(attrs.repeats)
    return at.node("Reshape", at.node("Tile", split, at.ints(reps)), at.extents(at.result.shape), allowzero=1)


def flip(at: Site, attrs: ReverseAttrs, data: str) -> str:
    if attrs.axis is None:
        at.refuse("no axis is said")
    ends = (at.ints([-1]), at.ints([-(2**63)]), at.ints([attrs.axis % at.type().rank]), at.ints([-1]))
    return at.node("Slice", data, *ends)


def concat(at: Site, attrs: ConcatenateAttrs, data: tuple[str, ...]) -> str:
    return at.node("Concat", *data, axis=attrs.axis)


def stack(at: Site, attrs: StackAttrs, data: tuple[str, ...]) -> str:
    axis = attrs.axis % at.result.rank
    return at.node("Concat", *(at.node("Unsqueeze", one, at.ints([axis])) for one in data), axis=axis)


def split(at: Site, attrs: SplitAttrs, data: str) -> Value:
    axis = attrs.axis % at.type().rank
    fields = getattr(at.out, "fields", ())
    sizes = at.extents([field.shape[axis] for field in fields])
    return at.nodes("Split", len(fields), data, sizes, axis=axis)


def pad(at: Site, attrs: Any, data: str, *value: str) -> str:
    widths = [int(one) for pair in attrs.pad_width for one in (pair if isinstance(pair, tuple) else (pair,))]
    mode = {"constant": "constant", "reflect": "reflect", "edge": "edge", "replicate": "edge", "circular": "wrap"}
    if attrs.pad_mode not in mode:
        at.refuse(f"it pads by {attrs.pad_mode}")
    dtype = at.type().dtype
    filling = at.cast(value[0], at.type(1).dtype, dtype) if value else at.const(attrs.pad_value, dtype)
    if value and at.type(1).rank:
        filling = at.node("Reshape", filling, at.ints([]))
    given = [data, at.ints([*widths[0::2], *widths[1::2]]), filling]
    return at.node("Pad", *given[: 3 if mode[attrs.pad_mode] == "constant" else 2], mode=mode[attrs.pad_mode])


def mirror_pad(at: Site, attrs: MirrorPadAttrs, data: str) -> str:
    if attrs.mode != "REFLECT":
        at.refuse("it repeats the edges")
    widths = at.static([one for pair in attrs.pad_width for one in pair], "a width")
    return at.node("Pad", data, at.ints([*widths[0::2], *widths[1::2]]), mode="reflect")


def depth_to_space(at: Site, attrs: SubPixelAttrs, data: str) -> str:
    made = at.node(
        "DepthToSpace", to_order(at, data, attrs.layout, "NCHW"), blocksize=attrs.block_size, mode=attrs.mode
    )
    return to_order(at, made, "NCHW", attrs.layout)


def space_to_depth(at: Site, attrs: SubPixelAttrs, data: str) -> str:
    made = at.node("SpaceToDepth", to_order(at, data, attrs.layout, "NCHW"), blocksize=attrs.block_size)
    return to_order(at, made, "NCHW", attrs.layout)


def reverse_sequence(at: Site, attrs: ReverseSequenceAttrs, data: str, lengths: str) -> str:
    rank = at.type().rank
    axes = int(attrs.seq_axis) % rank, int(attrs.batch_axis) % rank
    if sorted(axes) != [0, 1]:
        at.refuse("axes beyond the first two")
    lengths = at.cast(lengths, at.type(1).dtype, "int64")
    return at.node("ReverseSequence", data, lengths, time_axis=axes[0], batch_axis=axes[1])


def meshgrid(at: Site, attrs: MeshgridAttrs, data: tuple[str, ...]) -> Value:
    count, fields = len(data), getattr(at.out, "fields", ())
    order = [1, 0, *range(2, count)] if attrs.indexing == "xy" and count > 1 else list(range(count))
    made = []
    for place, (one, field) in enumerate(zip(data, fields, strict=True)):
        flat = at.node("Reshape", one, at.ints([-1]))
        others = [axis for axis in range(count) if axis != order[place]]
        wide = at.node("Unsqueeze", flat, at.ints(others)) if others else flat
        made.append(at.node("Expand", wide, at.extents(field.shape)))
    return tuple(made)


def shape_vector(at: Site, attrs: object, data: str) -> str:
    return data


def ndarray_size(at: Site, attrs: object, data: str) -> str:
    return at.cast(at.node("Size", data), "int64", at.result.dtype)


def dynamic_reshape(at: Site, attrs: object, data: str, shape: str) -> str:
    return at.node("Reshape", data, at.cast(shape, at.type(1).dtype, "int64"))


def dynamic_broadcast(at: Site, attrs: object, data: str, shape: str) -> str:
    return at.node("Expand", data, at.cast(shape, at.type(1).dtype, "int64"))


def dynamic_tile(at: Site, attrs: object, data: str, reps: str) -> str:
    (count,) = at.static(at.type(1).shape, "the number of axes")
    more = count - at.type().rank
    if more < 0:
        at.refuse("of fewer axes than there are")
    wide = at.node("Unsqueeze", data, at.ints(list(range(more)))) if more else data
    return at.node("Tile", wide, at.cast(reps, at.type(1).dtype, "int64"))


def dynamic_squeeze(at: Site, attrs: object, data: str, axes: str) -> str:
    return at.node("Squeeze", data, at.cast(axes, at.type(1).dtype, "int64"))


def dynamic_pad(at: Site, attrs: PadAttrs, data: str, widths: str, value: str) -> str:
    turned = at.node("Reshape", at.node("Transpose", at.cast(widths, at.type(1).dtype, "int64")), at.ints([-1]))
    if attrs.pad_mode != "constant":
        return at.node("Pad", data, turned, mode=attrs.pad_mode)
    return at.node("Pad", data, turned, at.cast(value, at.type(2).dtype, at.type().dtype))


FORMS: dict[str, Form] = {
    "reshape": to_shape,
    "R.reshape": to_shape,
    "squeeze": to_shape,
    "R.squeeze": to_shape,
    "expand_dims": to_shape,
    "R.expand_dims": to_shape,
    "nn.batch_flatten": to_shape,
    "R.flatten": to_shape,
    "transpose": transpose,
    "R.broadcast_to": broadcast,
    "broadcast_to": broadcast,
    "tile": tile,
    "repeat": repeat,
    "reverse": flip,
    "concatenate": concat,
    "stack": stack,
    "split": split,
    "R.split": split,
    "R.nn.pad": pad,
    "nn.pad": pad,
    "nn.mirror_pad": mirror_pad,
    "nn.depth_to_space": depth_to_space,
    "nn.space_to_depth": space_to_depth,
    "reverse_sequence": reverse_sequence,
    "meshgrid": meshgrid,
    "R.shape_to_tensor": shape_vector,
    "R.tensor_to_shape": shape_vector,
    "R.shape_of": lambda at, attrs, data: at.node("Shape", data),
    "shape_of": lambda at, attrs, data: at.cast(at.node("Shape", data), "int64", at.result.dtype),
    "ndarray_size": ndarray_size,
    "R.size": ndarray_size,
    "dyn.reshape": dynamic_reshape,
    "dyn.broadcast_to": dynamic_broadcast,
    "dyn.tile": dynamic_tile,
    "dyn.squeeze": dynamic_squeeze,
    "dyn.nn.pad": dynamic_pad,
}
