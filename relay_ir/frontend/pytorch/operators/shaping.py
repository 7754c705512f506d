"""Changes of shape, and parts of tensors.

What they give may share memory with what they are given: those are views.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from relay2relax.relay_ir.frontend.pytorch.context import Conversion, Value
from relay2relax.relay_ir.frontend.pytorch.operators.record import records
from relay2relax.relay_ir.ir.expr import Expr, RelayExpr
from relay2relax.tir.extent import Extent, static
from relay2relax.tir.ir.expr import PrimExpr


def _reshape(at: Conversion) -> Value:
    if at.exact:
        wanted = at.extents_at(1)
        if 0 in wanted and all(isinstance(one, int) for one in wanted):
            # For Relay's operator 0 is the extent that was there.
            return at.call("zeros", shape=wanted, dtype=at.dtype(at.tensor(0)))
        return at.reshaped(at.tensor(0), wanted)
    shape = at.sizes(1)
    if 0 in shape:
        at.refuse_empty()
    return at.call("reshape", at.tensor(0), shape)


def _axis(at: Conversion, place: int, rank: int) -> int:
    """Return an argument that is an axis, counted from the front."""
    axis = at.integer(place)
    return axis + rank if axis < 0 else axis


def _flatten(at: Conversion) -> Value:
    data = at.tensor(0)
    rank = at.rank(data)
    if not rank:
        return at.call("reshape", data, [1])
    start, end = _axis(at, 1, rank), _axis(at, 2, rank)
    merged = list(range(start + 1, end + 1))
    made = at.call("reshape", data, [0] * start + [-1] + [1] * len(merged) + [0] * (rank - end - 1))
    return at.call("squeeze", made, axis=merged) if merged else made


def _unflatten(at: Conversion) -> Value:
    """``unflatten(data, axis, sizes)``."""
    data = at.tensor(0)
    axis = _axis(at, 1, at.rank(data))
    own, sizes = list(at.extents(data)), at.extents_at(2)
    return at.reshaped(data, [*own[:axis], *sizes, *own[axis + 1 :]])


def _permute(at: Conversion) -> Value:
    return at.call("transpose", at.tensor(0), axes=at.sizes(1))


def _transpose(at: Conversion) -> Value:
    data = at.tensor(0)
    rank = at.rank(data)
    axes = list(range(rank))
    if rank:
        one, other = _axis(at, 1, rank), _axis(at, 2, rank)
        axes[one], axes[other] = other, one
    return at.call("transpose", data, axes=axes)


def _t(at: Conversion) -> Value:
    data = at.tensor(0)
    return at.call("transpose", data, axes=[1, 0]) if at.rank(data) == 2 else data


def _expand(at: Conversion) -> Value:
    data = at.tensor(0)
    if at.exact:
        wanted = at.extents_at(1)
        own: list[Extent] = [1] * (len(wanted) - at.rank(data))
        own += at.extents(data)
        return at.spread_to(data, [had if one == -1 else one for one, had in zip(wanted, own, strict=True)])
    sizes, shape = at.sizes(1), list(at.shape(data))
    added = len(sizes) - len(shape)
    if added > 0:
        data = at.call("expand_dims", data, axis=0, num_newaxis=added)
        shape = [1] * added + shape
    for axis, (size, extent) in enumerate(zip(sizes, shape, strict=True)):
        if size != -1 and extent == 1:
            data = at.call("repeat", data, size, axis=axis)
    return data


def _unsqueeze(at: Conversion) -> Value:
    return at.call("expand_dims", at.tensor(0), at.integer(1), 1)


def _squeeze(at: Conversion) -> Value:
    data, axes = at.tensor(0), at.integers(1)
    if axes is None:
        return at.call("squeeze", data)
    shape = at.extents(data)
    ones = [axis for axis in axes if shape and shape[axis] == 1]
    return at.call("squeeze", data, axis=ones) if ones else data


def _unbind(at: Conversion) -> Value:
    data = at.tensor(0)
    axis = _axis(at, 1, at.rank(data))
    parts = at.fields(at.call("split", data, at.extent(data, axis), axis))
    return at.tuple([at.call("squeeze", one, axis=[axis]) for one in parts])


def _select(at: Conversion) -> Value:
    index = at.value(2)
    if isinstance(index, int) and index < 0 and at.exact:
        index += at.extent(at.tensor(0), at.integer(1))
    place = at.const(index, "int32") if isinstance(index, int) else at.tensor(2)
    return at.call("take", at.tensor(0), place, axis=at.integer(1), mode="wrap")


def _slice(at: Conversion) -> Value:
    data = at.tensor(0)
    if any(isinstance(at.plain(at.value(place)), RelayExpr) for place in (2, 3)):
        return _computed_slice(at, data)
    if at.exact:
        return _part(at, data)
    extents = list(at.shape(data))
    axis = _axis(at, 1, len(extents))
    start, end, step = at.integer(2, 0), at.integer(3, sys.maxsize), at.integer(4, 1)
    if start == 0 and end == sys.maxsize and step == 1:
        return data
    begin, strides = [0] * len(extents), [1] * len(extents)
    begin[axis], strides[axis] = start, step
    if end != sys.maxsize:
        extents[axis] = end
    return at.call("strided_slice", data, begin=begin, end=extents, strides=strides, slice_mode="end")


def _computed_slice(at: Conversion, data: Expr) -> Value:
    """A slice whose ends the program computes: how much it keeps is found out then."""
    rank = at.rank(data)
    axis = _axis(at, 1, rank)
    limits = []
    for place, whole in ((2, 0), (3, sys.maxsize)):
        value = at.value(place)
        here = at.tensor(place) if isinstance(value, RelayExpr) else at.const(at.integer(place, whole), "int64")
        line = at.call("reshape", at.cast(here, "int64"), [1])
        before, after = (at.const([whole] * count, "int64") for count in (axis, rank - axis - 1))
        parts = [one for one in (before, line, after) if at.extent(one, 0)]
        limits.append(at.call("concatenate", at.tuple(parts), axis=0) if len(parts) > 1 else line)
    strides = [1] * rank
    strides[axis] = at.integer(4, 1)
    return at.call("strided_slice", data, begin=limits[0], end=limits[1], strides=at.const(strides, "int64"))


def _narrow(at: Conversion) -> Value:
    """``narrow(data, axis, start, length)``."""
    start, length = (at.plain(at.value(place)) for place in (2, 3))
    if isinstance(start, int) and isinstance(length, int):
        if start < 0:
            start += at.extent(at.tensor(0), at.integer(1))
        return _slice(at.with_args([*at.args[:2], start, start + length, 1]))
    end = at.call("add", *at.promoted(start, length))
    return _slice(at.with_args([*at.args[:2], start, end, 1]))


def _tensor_split(at: Conversion) -> Value:
    """``tensor_split(data, sections, axis)``, ``tensor_split(data, places to cut at, axis)``."""
    data, places = at.tensor(0), at.value(1)
    axis = _axis(at, 2, at.rank(data)) if len(at.args) > 2 else 0
    extent = at.extent(data, axis)
    known = at.types.value(places) if isinstance(places, RelayExpr) else np.array(places)
    if known is None or known.dtype.kind not in "iu":
        at.refuse("where it cuts depends on the data")
    if not known.shape:
        size, more = divmod(extent, max(int(known), 1))
        return _parts(at, data, [size + (part < more) for part in range(int(known))], axis)
    cuts = [slice(None, int(one)).indices(extent)[1] for one in known]
    begin = [0, *cuts]
    given = {"strides": [1], "axes": [axis]}
    return [
        at.call("strided_slice", data, begin=[start], end=[max(start, end)], **given)
        for start, end in zip(begin, [*cuts, extent], strict=True)
    ]


def _part(at: Conversion, data: Expr) -> Value:
    """``slice(data, axis, start, end, step)``."""
    axis = _axis(at, 1, at.rank(data))
    extent, last = at.extents(data)[axis], at.value(3)
    if isinstance(last, PrimExpr) and last == extent:
        last = None
    if isinstance(extent, PrimExpr) and static(extent) is None:
        whole = last is None or (isinstance(last, int) and last >= sys.maxsize)
        if whole and at.integer(2, 0) == 0 and at.integer(4, 1) == 1:
            return data
        end = sys.maxsize if last is None else at.integer(3)
        limits = [max(min(one, 2**31 - 1), -(2**31)) for one in (at.integer(2, 0), end)]
        return at.call("strided_slice", data, begin=limits[:1], end=limits[1:], strides=[at.integer(4, 1)], axes=[axis])
    bounds = slice(at.integer(2, 0), None if last is None else at.integer(3), at.integer(4, 1))
    start, end, step = bounds.indices(at.extent(data, axis))
    if (start, end, step) == (0, at.extent(data, axis), 1):
        return data
    return at.call("strided_slice", data, begin=[start], end=[max(end, start)], strides=[step], axes=[axis])


def _parts(at: Conversion, data: Expr, sizes: Sequence[int], axis: int) -> Value:
    """Return parts of these extents along ``axis``."""
    if 0 in sizes:
        # Relay's places to cut at grow.
        ends = list(accumulate(sizes))
        given = {"strides": [1], "axes": [axis]}
        return [
            at.call("strided_slice", data, begin=[end - size], end=[end], **given)
            for end, size in zip(ends, sizes, strict=True)
        ]
    return at.call("split", data, list(accumulate(sizes[:-1])), axis) if len(sizes) > 1 else [data]


def _split_with_sizes(at: Conversion) -> Value:
    return _parts(at, at.tensor(0), at.sizes(1), at.integer(2, 0))


def _split(at: Conversion) -> Value:
    if isinstance(at.value(1), list):
        return _split_with_sizes(at)
    data, size = at.tensor(0), at.integer(1)
    axis = _axis(at, 2, at.rank(data))
    extent = at.extent(data, axis)
    return _parts(at, data, _equal_parts(extent, size), axis)


def _chunk(at: Conversion) -> Value:
    data, count = at.tensor(0), at.integer(1)
    axis = _axis(at, 2, at.rank(data))
    extent = at.extent(data, axis)
    return _parts(at, data, _equal_parts(extent, -(-extent // count)), axis)


def _equal_parts(extent: int, size: int) -> list[int]:
    """Return extents of ``size`` that make ``extent``, the last one what is left."""
    full, rest = divmod(extent, max(size, 1))
    return [size] * full + [rest] * bool(rest)


def _cat(at: Conversion) -> Value:
    tensors = at.tensors(0)
    # PyTorch passes by an empty vector, whatever the others' rank is.
    some = [one for one in tensors if at.rank(one) != 1 or static(at.extents(one)[0]) != 0]
    found = at.promoted(*(some or tensors[:1]))
    return at.call("concatenate", at.tuple(found), axis=at.integer(1)) if len(found) > 1 or not some else found[0]


def _size(at: Conversion) -> Value:
    extents = list(at.shape(at.tensor(0)))
    return list(extents) if at.value(1) is None else extents[at.integer(1)]


def _to(at: Conversion) -> Value:
    """``to(data, dtype, …)``, ``to(data, device, dtype, …)``, ``to(data, other, …)``."""
    number, other = at.value(0), at.value(1)
    if isinstance(other, RelayExpr):
        return at.cast(at.tensor(0), at.dtype(other))
    # Truth values are other arguments.
    stated = next((place for place in (1, 2) if type(at.value(place)) is int), None)
    dtype = None if stated is None else at.dtype_at(stated)
    if dtype is None:
        return number
    if isinstance(number, (int, float)) and dtype in ("float32", "int64"):
        # What a number of Python's is without a dtype.
        return float(number) if dtype == "float32" else int(number)
    return at.cast(at.tensor(0), dtype)


def _same(at: Conversion) -> Value:
    return at.value(0)


def _to_copy(at: Conversion) -> Value:
    """``_to_copy(data, dtype, …)``."""
    dtype = at.dtype_at(1)
    return at.tensor(0) if dtype is None else _converted(at, at.tensor(0), dtype)


def _converted(at: Conversion, data: Expr, dtype: str) -> Value:
    """Return ``data`` as ``dtype``; all numbers but 0 are true."""
    if dtype == "bool" and at.dtype(data) != "bool":
        return at.call("not_equal", data, at.const(0, at.dtype(data)))
    return at.cast(data, dtype)


def _stack(at: Conversion) -> Value:
    return at.call("stack", at.tuple(at.promoted(*at.tensors(0))), axis=at.integer(1, 0))


def _item(at: Conversion) -> Value:
    data = at.tensor(0)
    return at.call("reshape", data, ()) if at.rank(data) else data


def _nothing(at: Conversion) -> Value:
    return None


RECORDS = [
    *records({
        "expand": _expand, "flatten": _flatten, "permute": _permute, "reshape": _reshape, "select": _select,
        "slice": _slice, "split": _split, "split_with_sizes": _split_with_sizes, "chunk": _chunk, "squeeze": _squeeze,
        "t": _t, "to": _to, "transpose": _transpose, "unbind": _unbind, "unsqueeze": _unsqueeze, "view": _reshape,
        "contiguous": _same, "detach": _same, "narrow": _narrow, "tensor_split": _tensor_split,
        "unflatten": _unflatten,
    }, view=True),
    *records({
        "unsafe_chunk": _chunk, "unsafe_split": _split, "unsafe_split_with_sizes": _split_with_sizes,
    }),
    *records({"cat": _cat, "clone": _same, "size": _size}),
    *records({
        "_to_copy": _to_copy, "_unsafe_view": _reshape, "alias": _same, "lift_fresh_copy": _same, "stack": _stack,
        "item": _item, "_local_scalar_dense": _item, "squeeze_copy": _squeeze, "view_copy": _reshape,
        "expand_copy": _expand, "slice_copy": _slice, "permute_copy": _permute, "unsqueeze_copy": _unsqueeze,
        "_assert_tensor_metadata": _nothing, "_assert_async": _nothing, "_assert_scalar": _nothing,
        "sym_constrain_range_for_size": _nothing, "sym_constrain_range": _nothing,
    }),
]  # fmt: skip
