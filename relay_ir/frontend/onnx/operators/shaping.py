"""Changes of shape, dtype and arrangement."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from relay2relax.relay_ir.frontend.onnx.conversion import MOST_DIMENSIONS, Conversion, Convert
from relay2relax.relay_ir.frontend.onnx.lengths import chosen_axes
from relay2relax.relay_ir.ir.expr import Expr
from relay2relax.tir.extent import static


def _reshape(at: Conversion) -> Expr:
    x = at.arg(0)
    shape = at.known(1, "shape")
    if shape is None and at.attr("allowzero", 0) and at.static(x) is not None and 0 in at.shape(x):
        # Of no elements there is only the shape; in `dyn.reshape` 0 has another meaning.
        return at.dynamic("full", at.like(0, x), at.cast(at.arg(1), "int64"), dtype=at.dtype(x))
    if shape is None:
        return at.dynamic("reshape", x, at.cast(at.arg(1), "int64"))
    codes = [int(one) for one in shape.reshape(-1)]
    if at.attr("allowzero", 0) and 0 in codes:
        return at.call("reshape", x, tuple(codes), allowzero=True)
    if at.data(x) is None and at.static(x) == tuple(codes):
        return at.call("reshape", x, tuple(codes))
    return at.call("reshape", x, tuple(codes))


def _flatten(at: Conversion) -> Expr:
    x, rank = at.arg(), at.rank(at.arg())
    axis = at.attr("axis", 1)
    axis = axis + rank if axis < 0 else axis
    if axis == 1:
        return at.call("nn.batch_flatten", x) if rank > 1 else at.reshape(x, [-1, 1] if rank else [1, 1])
    if axis == 0:
        return at.reshape(x, [1, -1])
    extents = [static(one) for one in at.extents(x)[:axis]]
    if None not in extents:
        return at.reshape(x, [int(np.prod([one or 0 for one in extents])), -1])
    return at.reshape(x, [*[-3] * 0, -1, *at.shape(x)[axis:]])


def _squeeze(at: Conversion) -> Expr:
    x = at.arg(0)
    axes = at.known(1, "axes")
    if axes is None and at.has(1):
        return at.dynamic("squeeze", x, at.arg(1))
    if axes is None:
        return at.call("squeeze", x)
    found = [int(one) for one in axes.reshape(-1)]
    return at.squeeze(x, found) if found else at.call("copy", x)


def _unsqueeze(at: Conversion) -> Expr:
    if at.has(1) and at.known(1) is None:
        return _unsqueezed_by(at, at.arg(0))
    axes = at.ints(1, "axes")
    if axes is None:
        at.refuse("its axes are missing")
    return at.unsqueeze(at.arg(0), axes) if axes else at.call("copy", at.arg(0))


def _unsqueezed_by(at: Conversion, x: Expr) -> Expr:
    """Return ``x`` with axes of one element at places that are computed: in a shape that has ones
    there, and its own extents in order between.
    """
    rank = at.rank(x) + at.shape(at.arg(1))[0]
    chosen = at.call("any", chosen_axes(at, at.arg(1), rank), axis=[0])
    own = at.call("cumsum", at.cast(at.call("logical_not", chosen), "int64"), axis=0, dtype="int64")
    places = at.call("maximum", at.call("subtract", own, at.const(1, "int64")), at.const(0, "int64"))
    extents = at.shape_of(x) if at.rank(x) else at.const([1], "int64")
    one = at.const(1, "int64")
    return at.reshape_to(x, at.call("where", chosen, one, at.call("take", extents, places, axis=0)))


def _transpose(at: Conversion) -> Expr:
    return at.call("transpose", at.arg(), axes=at.attr("perm"))


def _concat(at: Conversion) -> Expr:
    axis = at.attr("axis", 1 if at.opset < 4 else None)
    if axis is None:
        at.refuse("it says no axis to join along")
    return at.call("concatenate", at.tuple(at.tensors()), axis=axis)


def _split(at: Conversion) -> tuple[Expr, ...]:
    x, count = at.arg(0), len(at.node.outputs)
    axis = at.axis(x, 0)
    sizes = at.ints(1, "split")
    if sizes is None:
        extent = at.shape(x)[axis] if static(at.extents(x)[axis]) is None else static(at.extents(x)[axis])
        assert extent is not None
        if extent and extent % count == 0:
            return tuple(at.fields(at.call("split", x, count, axis=axis)))
        each = -(-extent // count)
        sizes = [max(min(each, extent - place * each), 0) for place in range(count)]
    if 0 in sizes:
        # Relay's places to cut at grow.
        ends = np.cumsum(sizes)
        return tuple(at.slice(x, axis, int(end - size), int(end)) for end, size in zip(ends, sizes, strict=True))
    if len(sizes) == 1:
        return (at.call("copy", x),)
    cuts = tuple(int(one) for one in np.cumsum(sizes)[:-1])
    return tuple(at.fields(at.call("split", x, cuts, axis=axis)))


def _slice(at: Conversion) -> Expr:
    x = at.arg(0)
    begin, end = at.known(1, "starts"), at.known(2, "ends")
    axes, steps = at.known(3, "axes"), at.known(4, "steps")
    rank = at.rank(x)
    if begin is None or end is None or (axes is None and at.has(3)) or (steps is None and at.has(4)):
        return _sliced_by(at, x)
    count = begin.size
    named = list(range(count)) if axes is None else [int(one) % rank for one in axes.reshape(-1)]
    strides = [1] * count if steps is None else [int(one) for one in steps.reshape(-1)]
    limits = [[int(one) for one in part.reshape(-1)] for part in (begin, end)]
    for place, axis in enumerate(named):
        extent = static(at.extents(x)[axis])
        if extent is not None:
            low, high, _ = slice(limits[0][place], limits[1][place], strides[place]).indices(extent)
            limits[0][place], limits[1][place] = low, high
            if strides[place] < 0 and high < 0:
                limits[1][place] = -extent - 1
        else:
            limits[0][place] = max(min(limits[0][place], 2**31 - 1), -(2**31))
            limits[1][place] = max(min(limits[1][place], 2**31 - 1), -(2**31))
    return at.call("strided_slice", x, begin=limits[0], end=limits[1], strides=strides, axes=named)


def _sliced_by(at: Conversion, x: Expr) -> Expr:
    """Return a part whose ends, axes or steps are computed, among those of all axes."""
    rank, count = at.rank(x), at.shape(at.arg(1))[0]
    axes = at.known(3, "axes")
    if axes is None and at.has(3):
        chosen = at.cast(chosen_axes(at, at.arg(3), rank), "int32")
        left = at.const(np.arange(count, count + rank), "int64")
        own = at.cast(at.call("argmax", chosen, axis=[0]), "int64")
        places: Expr = at.call("where", at.call("any", at.cast(chosen, "bool"), axis=[0]), own, left)
    else:
        named = list(range(count)) if axes is None else [int(one) % rank for one in axes.reshape(-1)]
        places = at.const([named.index(axis) if axis in named else count + axis for axis in range(rank)], "int64")
    zeros, ones = at.const([0] * rank, "int64"), at.const([1] * rank, "int64")
    steps: Expr = at.arg(4) if at.has(4) else at.const([1] * count, "int64")
    pairs: list[tuple[Expr, Expr]] = [(at.arg(1), zeros), (at.arg(2), at.shape_of(x)), (steps, ones)]
    parts = []
    for source, rest in pairs:
        whole = at.call("concatenate", at.tuple([at.cast(source, "int64"), rest]), axis=0)
        parts.append(at.call("take", whole, places, axis=0))
    return at.dynamic("strided_slice", x, *parts)


def _expand(at: Conversion) -> Expr:
    x = at.arg(0)
    wanted, own = at.known(1), at.static(x)
    if wanted is not None and own is not None:
        shape = np.broadcast_shapes(own, tuple(int(one) for one in wanted.reshape(-1)))
        return at.call("broadcast_to", x, shape)
    if wanted is not None and at.rank(x) <= wanted.size and all(int(one) != 1 for one in wanted):
        return at.call("broadcast_to", x, tuple(int(one) for one in wanted))
    # The larger of both extents, aligned at the end.
    count = at.shape(at.arg(1))[0]
    shapes = [at.shape_of(x), at.cast(at.arg(1), "int64")]
    rank = max(count, at.rank(x))
    if rank > MOST_DIMENSIONS:
        at.refuse(f"its shape has {rank} extents, and no tensor more than {MOST_DIMENSIONS}")
    for place, had in enumerate((at.rank(x), count)):
        if had < rank:
            ones = at.const([1] * (rank - had), "int64")
            shapes[place] = at.call("concatenate", at.tuple([ones, shapes[place]]), axis=0)
    one = at.const(1, "int64")
    # An extent of 1 gives way, to 0 too.
    larger = at.call("where", at.call("equal", shapes[0], one), shapes[1], shapes[0])
    return at.dynamic("broadcast_to", x, larger)


def _tile(at: Conversion) -> Expr:
    reps = at.known(1)
    if at.opset < 6:
        tiles, axis = at.ints(1), at.ints(2)
        if tiles is None or axis is None:
            at.refuse("it says no axis to repeat along")
        found = [1] * at.rank(at.arg(0))
        found[axis[0]] = tiles[0]
        return at.call("tile", at.arg(0), tuple(found))
    if reps is None:
        return at.dynamic("tile", at.arg(0), at.arg(1))
    return at.call("tile", at.arg(0), tuple(int(one) for one in reps))


def _pad(at: Conversion) -> Expr:
    x, rank = at.arg(0), at.rank(at.arg(0))
    widths = at.known(1, "pads" if "pads" in at.node.attrs else "paddings")
    mode = at.attr("mode", "constant")
    value = _padding_value(at, x)
    if widths is None:
        return _padded_by(at, x, value, mode)
    given = [int(one) for one in widths.reshape(-1)]
    axes = at.ints(3) if at.has(3) else None
    named = list(range(rank)) if axes is None else [one % rank for one in axes]
    pairs = [(0, 0)] * rank
    for place, axis in enumerate(named):
        pairs[axis] = (given[place], given[len(named) + place])
    for axis, (before, behind) in enumerate(pairs):
        if before < 0 or behind < 0:
            extent = at.shape(x)[axis]
            x = at.slice(x, axis, max(-before, 0), extent + min(behind, 0))
    kept = tuple((max(before, 0), max(behind, 0)) for before, behind in pairs)
    if not any(max(pair) for pair in kept):
        return at.call("copy", x)
    if mode == "wrap":
        return _wrapped(at, x, kept)
    if mode == "constant":
        return at.call("nn.pad", x, kept, value)
    return at.call("nn.pad", x, kept, at.like(0, x), pad_mode=mode)


def _padding_value(at: Conversion, x: Expr) -> Expr:
    if at.has(2) and at.opset >= 11:
        return at.cast(at.scalar(at.arg(2)), at.dtype(x))
    return at.like(at.attr("value", 0.0), x)


def _padded_by(at: Conversion, x: Expr, value: Expr, mode: str) -> Expr:
    if at.has(3) or mode == "wrap":
        at.refuse("its widths are computed")
    widths = at.transpose(at.reshape(at.arg(1), [2, at.rank(x)]), [1, 0])
    return at.dynamic("nn.pad", x, widths, value, pad_mode=mode)


def _wrapped(at: Conversion, x: Expr, pairs: tuple[tuple[int, int], ...]) -> Expr:
    """Repeat from the other end, as often as it takes."""
    for axis, (before, behind) in enumerate(pairs):
        if before or behind:
            extent = at.shape(x)[axis]
            places = at.const(np.arange(-before, extent + behind) % extent, "int64")
            x = at.call("take", x, places, axis=axis)
    return x


def _col2im(at: Conversion) -> Expr:
    """Blocks of an image, a column each, are put back and summed up where they overlap."""
    x, image, block = at.arg(0), at.wanted_ints(1), at.wanted_ints(2)
    rank = len(image)
    strides, dilations = at.attr("strides", [1] * rank), at.attr("dilations", [1] * rank)
    pads = at.attr("pads", [0] * 2 * rank)
    n, depth, columns = at.shape(x)
    channels = depth // int(np.prod(block))
    padded = [image[i] + pads[i] + pads[rank + i] for i in range(rank)]
    counts = [(padded[i] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1 for i in range(rank)]
    inside = np.indices(block).reshape(rank, -1, 1) * np.reshape(dilations, (rank, 1, 1))
    places = inside + np.indices(counts).reshape(rank, 1, -1) * np.reshape(strides, (rank, 1, 1))
    flat = np.ravel_multi_index(tuple(places), padded).reshape(-1)
    rows = at.reshape(x, [n * channels, int(np.prod(block)) * columns])
    whole = at.call("zeros", (n * channels, int(np.prod(padded))), at.dtype(x))
    where = at.const(np.broadcast_to(flat, (n * channels, flat.size)), "int64")
    made = at.reshape(at.call("scatter_elements", whole, where, rows, 1, "add"), [n, channels, *padded])
    for i in range(rank):
        made = at.slice(made, 2 + i, pads[i], pads[i] + image[i])
    return made


def _shape(at: Conversion) -> Expr:
    made, rank = at.shape_of(at.arg()), at.rank(at.arg())
    begin, end, _ = slice(at.attr("start", 0), at.attr("end"), 1).indices(rank)
    if (begin, end) == (0, rank):
        return made
    if end <= begin:
        return at.const(np.zeros(0), "int64")
    return at.call("strided_slice", made, begin=[begin], end=[end], strides=[1])


def _depth_to_space(at: Conversion) -> Expr:
    return at.call("nn.depth_to_space", at.arg(), at.wanted("blocksize"), mode=at.attr("mode", "DCR"))


def _space_to_depth(at: Conversion) -> Expr:
    x, size = at.arg(), at.wanted("blocksize")
    if at.attr("mode", "DCR") == "DCR":
        return at.call("nn.space_to_depth", x, size)
    n, c, h, w = at.shape(x)
    parts = at.reshape(x, [n, c, h // size, size, w // size, size])
    return at.reshape(at.transpose(parts, [0, 1, 3, 5, 2, 4]), [n, c * size * size, h // size, w // size])


def _reverse_sequence(at: Conversion) -> Expr:
    given = {"seq_axis": at.attr("time_axis", 0), "batch_axis": at.attr("batch_axis", 1)}
    return at.call("reverse_sequence", at.arg(0), at.arg(1), **given)


def _copied(at: Conversion) -> Expr:
    return at.call("copy", at.arg())


OPERATORS: dict[str, Convert | Mapping[int, Convert]] = {
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Transpose": _transpose,
    "Concat": _concat,
    "Split": _split,
    "Slice": _slice,
    "DynamicSlice": _slice,
    "Expand": _expand,
    "Tile": _tile,
    "Pad": _pad,
    "Col2Im": _col2im,
    "Shape": _shape,
    "Size": lambda at: at.call("ndarray_size", at.arg(), dtype="int64"),
    "DepthToSpace": _depth_to_space,
    "SpaceToDepth": _space_to_depth,
    "ReverseSequence": _reverse_sequence,
}
