"""Reading and writing at places."""

from __future__ import annotations

from typing import Any

import numpy as np

from relay2relax.graph.formats.onnx.builder import Form, Site, Value
from relay2relax.ops.registry.types import TensorType, TupleType
from relay2relax.ops.tensor.gather import RelaxGatherElementsAttrs, RelaxGatherNDAttrs
from relay2relax.ops.tensor.indexing import RelaxStridedSliceAttrs, StridedSliceAttrs
from relay2relax.ops.tensor.masking import OneHotAttrs, RelaxTriangleAttrs, SequenceMaskAttrs, TriluAttrs
from relay2relax.ops.tensor.scatter import RelaxScatterNDAttrs, ScatterElementsAttrs, ScatterNDAttrs
from relay2relax.ops.tensor.searching import BucketizeAttrs, SearchSortedAttrs
from relay2relax.ops.tensor.sorting import TopkAttrs
from relay2relax.tir.extent import product, static, sub

_REDUCTIONS = {"update": "none", "add": "add", "mul": "mul", "min": "min", "max": "max"}
_LARGEST = 2**63 - 1


def _places(at: Site, indices: str, place: int) -> str:
    """Return indices as int64; ONNX takes no others but int32."""
    dtype = at.type(place).dtype
    return indices if dtype in ("int32", "int64") else at.cast(indices, dtype, "int64")


def take(at: Site, attrs: Any, data: str, indices: str) -> str:
    """Return what lies at places; those outside are moved to the edge, or counted round."""
    if getattr(attrs, "batch_dims", 0):
        at.refuse("places for each batch")
    axis = attrs.axis
    if axis is None:
        extent, axis = product(at.type().shape), 0
        data = at.node("Reshape", data, at.ints([-1]))
    else:
        extent = at.type().shape[axis]
    known, places = static(extent), at.constant_of(indices)
    if places is not None and known is not None and attrs.mode in ("clip", "wrap"):
        inside = np.clip(places, 0, known - 1) if attrs.mode == "clip" else places % known
        indices = at.const(inside, "int64")
    elif attrs.mode in ("clip", "wrap"):
        count = _scalar(at, extent)
        wide = at.cast(indices, at.type(1).dtype, "int64")
        if attrs.mode == "wrap":
            indices = at.node("Mod", wide, count)
        else:
            last = _scalar(at, sub(extent, 1))
            indices = at.node("Min", at.node("Max", wide, at.const(0, "int64")), last)
    else:
        indices = _places(at, indices, 1)
    return at.node("Gather", data, indices, axis=axis)


def gather_elements(at: Site, attrs: RelaxGatherElementsAttrs, data: str, indices: str) -> str:
    return at.node("GatherElements", data, _places(at, indices, 1), axis=int(attrs.axis))


def gather_nd(at: Site, attrs: RelaxGatherNDAttrs, data: str, indices: str) -> str:
    return at.node("GatherND", data, at.cast(indices, at.type(1).dtype, "int64"), batch_dims=int(attrs.batch_dims))


def index_tensor(at: Site, attrs: object, data: str, indices: tuple[str, ...]) -> str:
    given = at.args[1]
    assert isinstance(given, TupleType)
    types = [one for one in given.fields if isinstance(one, TensorType)]
    rank = max(one.rank for one in types)
    shape = at.result.shape[:rank]
    wide = [
        at.node("Expand", at.cast(one, type_.dtype, "int64"), at.extents(shape))
        for one, type_ in zip(indices, types, strict=True)
    ]
    columns = [at.node("Unsqueeze", one, at.ints([rank])) for one in wide]
    return at.node("GatherND", data, at.node("Concat", *columns, axis=rank))


def _reduction(at: Site, word: str) -> str:
    """Return ONNX's word for what becomes of what was there."""
    if word not in _REDUCTIONS:
        at.refuse(f"it scatters by {word}")
    return _REDUCTIONS[word]


def scatter_elements(at: Site, attrs: ScatterElementsAttrs, data: str, indices: str, updates: str) -> str:
    how = _reduction(at, attrs.reduction)
    return at.node("ScatterElements", data, _places(at, indices, 1), updates, axis=int(attrs.axis), reduction=how)


def scatter_nd(at: Site, attrs: RelaxScatterNDAttrs, data: str, indices: str, updates: str) -> str:
    places = at.cast(indices, at.type(1).dtype, "int64")
    return at.node("ScatterND", data, places, updates, reduction=_reduction(at, attrs.reduction))


def strided_slice(at: Site, attrs: RelaxStridedSliceAttrs, data: str, *rest: str) -> str:
    axes = [int(one) for one in attrs.axes]
    strides = at.static(attrs.strides, "a stride") if attrs.strides is not None else [1] * len(axes)
    strides = strides * len(axes) if len(strides) == 1 else strides
    return at.node("Slice", data, at.extents(attrs.begin), at.extents(attrs.end), at.ints(axes), at.ints(strides))


def dynamic_slice(at: Site, attrs: object, data: str, begin: str, end: str, strides: str) -> str:
    (count,) = at.static(at.type(1).shape, "the number of axes")
    given = [at.cast(one, at.type(place).dtype, "int64") for place, one in enumerate((begin, end, strides), 1)]
    return at.node("Slice", data, given[0], given[1], at.ints(list(range(count))), given[2])


def dynamic_strided_slice(at: Site, attrs: StridedSliceAttrs, data: str, begin: str, end: str, strides: str) -> str:
    if attrs.slice_mode == "end":
        return dynamic_slice(at, attrs, data, begin, end, strides)
    (count,) = at.static(at.type(1).shape, "the number of axes")
    starts, sizes = at.cast(begin, at.type(1).dtype, "int64"), at.cast(end, at.type(2).dtype, "int64")
    # A size of less than nothing stands for all that is left.
    left = at.node("Less", sizes, at.const(0, "int64"))
    ends = at.node("Where", left, at.const(_LARGEST, "int64"), at.node("Add", starts, sizes))
    return at.node("Slice", data, starts, ends, at.ints(list(range(count))))


def one_hot(at: Site, attrs: OneHotAttrs, indices: str, on: str, off: str) -> str:
    """Return a row for each place; Relay leaves out those that ONNX counts from the end."""
    dtype = at.type().dtype
    wide = at.cast(indices, dtype, "int64")
    inside = at.node("Where", at.node("Less", wide, at.const(0, "int64")), at.const(attrs.depth, "int64"), wide)
    values = [
        at.node("Unsqueeze", at.cast(one, at.type(place).dtype, at.result.dtype), at.ints([0]))
        for one, place in ((off, 2), (on, 1))
    ]
    if at.result.dtype not in ("float32", "int64"):
        return _compared(at, attrs, wide, on, off)
    pair = at.node("Concat", *values, axis=0)
    return at.node("OneHot", inside, at.ints([attrs.depth]), pair, axis=attrs.axis)


def _compared(at: Site, attrs: OneHotAttrs, indices: str, on: str, off: str) -> str:
    """Return rows of a dtype that ONNX Runtime has no OneHot of."""
    out, axis = at.result, attrs.axis % at.result.rank
    places = at.node("Unsqueeze", indices, at.ints([axis]))
    row = np.arange(attrs.depth).reshape([-1] + [1] * (out.rank - 1 - axis))
    found = at.node("Equal", places, at.const(row, "int64"))
    wide = {"bool": "uint8", "int8": "int32", "int16": "int32"}.get(out.dtype, out.dtype)
    arms = (at.cast(one, at.type(place).dtype, wide) for one, place in ((on, 1), (off, 2)))
    return at.cast(at.node("Where", found, *arms), wide, out.dtype)


def dynamic_one_hot(at: Site, attrs: OneHotAttrs, indices: str, on: str, off: str, depth: str) -> str:
    wide, count = at.cast(indices, at.type().dtype, "int64"), at.cast(depth, at.type(3).dtype, "int64")
    inside = at.node("Where", at.node("Less", wide, at.const(0, "int64")), count, wide)
    values = [
        at.node("Unsqueeze", at.cast(one, at.type(place).dtype, at.result.dtype), at.ints([0]))
        for one, place in ((off, 2), (on, 1))
    ]
    return at.node("OneHot", inside, count, at.node("Concat", *values, axis=0), axis=attrs.axis)


def relay_scatter_nd(at: Site, attrs: ScatterNDAttrs, data: str, indices: str, updates: str) -> str:
    """Relay's coordinates of a place lie along the first axis, ONNX's along the last."""
    rank = at.type(1).rank
    places = at.cast(indices, at.type(1).dtype, "int64")
    if rank > 1:
        places = at.node("Transpose", places, perm=[*range(1, rank), 0])
    dtype = at.type().dtype
    updates = at.cast(updates, at.type(2).dtype, dtype)
    return at.node("ScatterND", data, places, updates, reduction=_reduction(at, attrs.mode))


def searchsorted(at: Site, attrs: SearchSortedAttrs, sequence: str, values: str) -> str:
    """Return how many numbers of a row lie below each value."""
    row = at.node("Unsqueeze", sequence, at.ints([-2])) if at.type().rank > 1 else sequence
    column = at.node("Unsqueeze", values, at.ints([-1]))
    passed = at.node("LessOrEqual" if attrs.right else "Less", row, column)
    counts = at.node("ReduceSum", at.cast(passed, "bool", "int64"), at.ints([-1]), keepdims=0)
    return at.cast(counts, "int64", at.result.dtype)


def triangle(upper: bool) -> Form:
    def form(at: Site, attrs: RelaxTriangleAttrs, data: str) -> str:
        return at.node("Trilu", data, at.const(int(attrs.k), "int64"), upper=int(upper))

    return form


def trilu(at: Site, attrs: TriluAttrs, data: str, k: str) -> str:
    return at.node("Trilu", data, at.cast(k, at.type(1).dtype, "int64"), upper=int(attrs.upper))


def nonzero(at: Site, attrs: object, data: str) -> str:
    return at.node("NonZero", _countable(at, data))


def _countable(at: Site, data: str) -> str:
    dtype = at.type().dtype
    return data if dtype in ("float32", "int32", "int64", "uint8", "bool") else at.cast(data, dtype, "bool")


def argwhere(at: Site, attrs: object, data: str) -> str:
    return at.cast(
        at.node("Transpose", at.node("NonZero", _countable(at, data)), perm=[1, 0]), "int64", at.result.dtype
    )


def bucketize(at: Site, attrs: BucketizeAttrs, data: str, boundaries: str) -> str:
    """Return how many boundaries lie below each element."""
    column = at.node("Unsqueeze", data, at.ints([at.type().rank]))
    passed = at.node("GreaterOrEqual" if attrs.right else "Greater", column, boundaries)
    counts = at.node("ReduceSum", at.cast(passed, "bool", "int64"), at.ints([-1]), keepdims=0)
    return at.cast(counts, "int64", at.result.dtype)


def dynamic_topk(at: Site, attrs: TopkAttrs, data: str, k: str) -> Value:
    count = at.node("Reshape", at.cast(k, at.type(1).dtype, "int64"), at.ints([1]))
    values, places = at.nodes("TopK", 2, data, count, axis=attrs.axis, largest=int(not attrs.is_ascend))
    places = at.cast(places, "int64", attrs.dtype)
    found: dict[str, Value] = {"both": (values, places), "values": values, "indices": places}
    return found[attrs.ret_type]


def sequence_mask(at: Site, attrs: SequenceMaskAttrs, data: str, lengths: str) -> str:
    """Fill what lies past a sequence's length; sequences lie along one of the first two axes."""
    rank, axis = at.type().rank, attrs.axis
    steps = at.node("Range", at.const(0, "int64"), _scalar(at, at.type().shape[axis]), at.const(1, "int64"))
    limits = at.cast(lengths, at.type(1).dtype, "int64")
    steps, limits = (at.node("Unsqueeze", one, at.ints([place])) for one, place in ((steps, 1 - axis), (limits, axis)))
    kept = at.node("Less", steps, limits)
    if rank > 2:
        kept = at.node("Unsqueeze", kept, at.ints(list(range(2, rank))))
    return at.node("Where", kept, data, at.const(attrs.mask_value, at.type().dtype))


def _scalar(at: Site, extent: Any) -> str:
    known = static(extent)
    if known is not None:
        return at.const(known, "int64")
    return at.node("Reshape", at.extents([extent]), at.ints([]))


FORMS: dict[str, Form] = {
    "take": take,
    "R.take": take,
    "R.gather_elements": gather_elements,
    "R.gather_nd": gather_nd,
    "R.index_tensor": index_tensor,
    "scatter_elements": scatter_elements,
    "R.scatter_nd": scatter_nd,
    "R.strided_slice": strided_slice,
    "R.dynamic_strided_slice": dynamic_slice,
    "dyn.strided_slice": dynamic_strided_slice,
    "one_hot": one_hot,
    "R.triu": triangle(upper=True),
    "R.tril": triangle(upper=False),
    "trilu": trilu,
    "R.nonzero": nonzero,
    "argwhere": argwhere,
    "R.bucketize": bucketize,
    "dyn.topk": dynamic_topk,
    "dyn.one_hot": dynamic_one_hot,
    "scatter_nd": relay_scatter_nd,
    "searchsorted": searchsorted,
    "sequence_mask": sequence_mask,
}
