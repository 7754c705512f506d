"""Padding: a border around a tensor, of one value or made from the tensor's own elements.

Negative widths crop. Relax writes the widths as one flat list, calls ``edge`` ``replicate``, and
has the value as an attribute: its ``R.nn.pad`` is a record of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array, is_int
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common import layout_rules
from relay2relax.ops.common.places import FAR
from relay2relax.ops.common.shapes import tensor
from relay2relax.ops.common.windows import integers, pad_array, padded
from relay2relax.ops.registry.attributes import Double, IndexExprPairs, InlineString, IntegerArray, PadWidth, String
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.precision import Precision
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, V
from relay2relax.ops.registry.script import Script
from relay2relax.ops.registry.types import TensorType, Type, show
from relay2relax.ops.tensor import dynamic_kernels
from relay2relax.ops.tensor.dynamic import dynamic_operator, settle_static, unknown_type
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import Extent, add, is_symbolic, static
from relay2relax.tir.ir.expr import PrimExpr, Select, binary, cast, const, maximum, minimum


@dataclass(frozen=True, slots=True)
class PadAttrs:
    """``pad_width`` lists (before, after) for each axis.

    ``pad_mode`` is constant, edge or reflect.
    """

    pad_width: PadWidth
    pad_mode: String = "constant"


@dataclass(frozen=True, slots=True)
class RelaxPadAttrs:
    """``pad_width`` lists before and after of each axis in turn.

    Modes are constant, replicate, reflect, circular.
    """

    pad_width: IntegerArray
    pad_mode: String = "constant"
    pad_value: Double = 0.0


@dataclass(frozen=True, slots=True)
class MirrorPadAttrs:
    """``mode`` SYMMETRIC repeats the outermost elements, REFLECT does not."""

    mode: InlineString = field(default="SYMMETRIC", kw_only=True)
    pad_width: IndexExprPairs


Widths = Sequence[tuple[int, int]]
# Relax's name of each mode, and numpy's.
_RELAX_MODES = {"constant": "constant", "edge": "replicate", "reflect": "reflect"}
_NUMPY_MODES = {"replicate": "edge", "reflect": "reflect", "circular": "wrap"}


def _relay_widths(attrs: PadAttrs) -> Widths:
    for pair in attrs.pad_width:
        if len(pair) != 2:
            raise OpError(
                mistake(
                    operators.ATTRIBUTE, name="pad_width", value=list(pair), expected="(before, after) for each axis"
                )
            )
    return [(pair[0], pair[1]) for pair in attrs.pad_width]


def _relax_widths(attrs: RelaxPadAttrs) -> Widths:
    return list(zip(attrs.pad_width[::2], attrs.pad_width[1::2], strict=False))


def _relay_mode(attrs: PadAttrs) -> str:
    if attrs.pad_mode not in _RELAX_MODES:
        raise OpError(
            mistake(
                operators.ATTRIBUTE,
                name="pad_mode",
                value=repr(attrs.pad_mode),
                expected=f"one of {', '.join(_RELAX_MODES)}",
            )
        )
    return _RELAX_MODES[attrs.pad_mode]


def _padded_type(widths: Widths, data: Type) -> TensorType:
    x = tensor(data)
    if len(widths) != x.rank:
        raise OpError(f"pad_width has pairs for {len(widths)} axes, the data has {x.rank}", 0, kind=operators.AXIS)
    shape = tuple(add(extent, before + after) for extent, (before, after) in zip(x.shape, widths, strict=True))
    for extent, (before, after), result in zip(x.shape, widths, shape, strict=True):
        known = static(result)
        if known is not None and known < 0:
            raise OpError(
                f"an axis of {extent} elements cannot be padded by {before} and {after}", 0, kind=operators.AXIS
            )
    return TensorType(shape, x.dtype)


def _pad_array(data: Array, widths: Widths, mode: str, value: Any) -> Array:
    if mode == "constant":
        return pad_array(data, [b for b, _ in widths], [a for _, a in widths], value)
    cropped = pad_array(data, [min(b, 0) for b, _ in widths], [min(a, 0) for _, a in widths], 0)
    rest = [(max(b, 0), max(a, 0)) for b, a in widths]
    return np.pad(cropped, rest, mode=_NUMPY_MODES[mode])  # type: ignore[call-overload, no-any-return]


def _pad_tensor(out: TensorType, data: te.Tensor, widths: Widths, mode: str, value: PrimExpr) -> te.Tensor:
    if mode == "constant":
        return padded(data, [b for b, _ in widths], [a for _, a in widths], value)

    def source(at: PrimExpr, extent: PrimExpr, before: int, after: int) -> PrimExpr:
        """Return which element stands at ``at`` along one axis.

        Borders mirror what is left after cropping.
        """
        if before <= 0 and after <= 0:
            return at - before
        first, last = const(max(0, -before), "int64"), extent + (min(0, after) - 1)
        place = at - before
        if mode == "replicate":
            return minimum(maximum(place, first), last)
        if mode == "circular":
            return (place - first) % (last - first + 1) + first
        below = Select(place < first, first * 2 - place, place)
        return Select(place > last, last * 2 - place, below)

    def element(*at: PrimExpr) -> PrimExpr:
        columns = zip(at, data.shape, widths, strict=True)
        return data[tuple(source(i, extent, before, after) for i, extent, (before, after) in columns)]

    return te.compute(out.shape, element, "pad")


def pad_type(attrs: PadAttrs, data: Type, pad_value: Type) -> TensorType:
    """Return the padded shape; ``pad_value`` is a scalar."""
    _relay_mode(attrs)
    value = tensor(pad_value, 1)
    if value.rank:
        raise OpError(mistake(operators.RANK, what="pad_value", rank=value.rank, expected="0"), 1)
    return _padded_type(_relay_widths(attrs), data)


def pad_relay_type(attrs: PadAttrs, data: Type, pad_value: Type) -> TensorType:
    """Return the type.

    TVM looks neither at the mode nor at the value, and writes ``n + -2`` where that is symbolic.
    """
    tensor(pad_value, 1)
    result = _padded_type(_relay_widths(attrs), data)
    added = (before + after for before, after in _relay_widths(attrs))
    shape = (
        binary("+", old, number) if is_symbolic(new) and number else new
        for old, new, number in zip(tensor(data).shape, result.shape, added, strict=True)
    )
    return TensorType(tuple(shape), result.dtype)


def pad_numpy(attrs: PadAttrs, data: Array, pad_value: Array) -> Array:
    """Return the padded data; the value is converted to its dtype."""
    return _pad_array(data, _relay_widths(attrs), _relay_mode(attrs), pad_value.astype(data.dtype))


def pad_compute(attrs: PadAttrs, out: TensorType, data: te.Tensor, pad_value: te.Tensor) -> te.Tensor:
    """Return the padded data."""
    return _pad_tensor(out, data, _relay_widths(attrs), _relay_mode(attrs), cast(data.dtype, pad_value[()]))


def pad_relax(e: Emit[V], attrs: PadAttrs, data: V, pad_value: V) -> V:
    """R.nn.pad takes its value as an attribute: a value that is not known beforehand is lowered
    here.
    """
    value, mode = e.constant_of(pad_value), _relay_mode(attrs)
    if value is None and mode == "constant":
        return e.as_tir(pad, attrs, (data, pad_value), "R.nn.pad takes a value that is known beforehand")
    number = float(value) if value is not None and mode == "constant" else 0.0
    flat = tuple(width for pair in _relay_widths(attrs) for width in pair)
    return e.call("nn.pad", data, pad_width=flat, pad_mode=mode, pad_value=number)


def relax_pad_type(attrs: RelaxPadAttrs, data: Type) -> TensorType:
    """Return the padded shape."""
    if attrs.pad_mode not in ("constant", *_NUMPY_MODES):
        raise OpError(
            mistake(
                operators.ATTRIBUTE,
                name="pad_mode",
                value=repr(attrs.pad_mode),
                expected="'constant', 'replicate', 'reflect' or 'circular'",
            )
        )
    if len(attrs.pad_width) % 2:
        raise OpError(f"pad_width needs two values for each axis, but has {len(attrs.pad_width)}", kind=operators.AXIS)
    return _padded_type(_relax_widths(attrs), data)


def relax_pad_numpy(attrs: RelaxPadAttrs, data: Array) -> Array:
    """Return the padded data."""
    return _pad_array(data, _relax_widths(attrs), attrs.pad_mode, attrs.pad_value)


def relax_pad_compute(attrs: RelaxPadAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return the padded data."""
    return _pad_tensor(out, data, _relax_widths(attrs), attrs.pad_mode, const(attrs.pad_value, data.dtype))


# A border that mirrors the tensor.

_MIRRORS = {"SYMMETRIC": "symmetric", "REFLECT": "reflect"}


def _mirror_widths(attrs: MirrorPadAttrs) -> Widths:
    if attrs.mode not in _MIRRORS:
        raise OpError(
            mistake(operators.ATTRIBUTE, name="mode", value=repr(attrs.mode), expected=f"one of {', '.join(_MIRRORS)}")
        )
    if any(len(pair) != 2 for pair in attrs.pad_width):
        raise OpError(
            mistake(
                operators.ATTRIBUTE,
                name="pad_width",
                value=list(attrs.pad_width),
                expected="(before, after) for each axis",
            )
        )
    flat = integers([width for pair in attrs.pad_width for width in pair], "pad_width")
    if min(flat, default=0) < 0:
        raise OpError(
            mistake(operators.ATTRIBUTE, name="pad_width", value=list(attrs.pad_width), expected="at least 0")
        )
    return list(zip(flat[::2], flat[1::2], strict=True))


def mirror_pad_type(attrs: MirrorPadAttrs, data: Type) -> TensorType:
    """Return the padded shape."""
    return _padded_type(_mirror_widths(attrs), data)


def _check_mirror(attrs: MirrorPadAttrs, shape: Sequence[Extent]) -> None:
    """Raise OpError where a border is longer than what it mirrors."""
    own = 1 if attrs.mode == "REFLECT" else 0
    for extent, widths in zip(shape, _mirror_widths(attrs), strict=True):
        known = static(extent)
        if known is not None and max(widths) > max(known - own, 0):
            raise OpError(
                f"{attrs.mode} of {known} elements cannot give a border of {max(widths)}", 0, kind=operators.SHAPE
            )


def mirror_pad_numpy(attrs: MirrorPadAttrs, data: Array) -> Array:
    """Return the data with its mirror image on both sides."""
    _check_mirror(attrs, data.shape)
    return np.pad(data, _mirror_widths(attrs), mode=_MIRRORS[attrs.mode])  # type: ignore[call-overload, no-any-return]


def mirror_pad_compute(attrs: MirrorPadAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return the data with its mirror image on both sides.

    A place is kept inside where its extent is not known.
    """
    _check_mirror(attrs, data.shape)
    again = 0 if attrs.mode == "REFLECT" else 1

    def source(at: PrimExpr, extent: PrimExpr, before: int, after: int) -> PrimExpr:
        place = at - before
        if before:
            place = Select(place < 0, -place - again, place)
        if after:
            place = Select(at - before >= extent, extent * 2 - (2 - again) - (at - before), place)
        if static(extent) is None and (before or after):
            place = maximum(minimum(place, extent - 1), 0)
        return place

    def element(*at: PrimExpr) -> PrimExpr:
        columns = zip(at, data.shape, _mirror_widths(attrs), strict=True)
        return data[tuple(source(i, extent, before, after) for i, extent, (before, after) in columns)]

    return te.compute(out.shape, element, "mirror_pad")


def mirror_pad_relax(e: Emit[V], attrs: MirrorPadAttrs, data: V) -> V:
    """R.nn.pad reflects; the symmetric border is taken by a list of places for each axis."""
    x, widths = tensor(e.type_of(data)), _mirror_widths(attrs)
    _check_mirror(attrs, x.shape)
    if attrs.mode == "REFLECT":
        return e.call("nn.pad", data, pad_width=tuple(w for pair in widths for w in pair), pad_mode="reflect")
    if any(static(extent) is None for extent, pair in zip(x.shape, widths, strict=True) if any(pair)):
        return e.as_tir(
            mirror_pad, attrs, (data,), "R.nn.pad has no symmetric border, and the extent is not known beforehand"
        )
    for axis, (extent, pair) in enumerate(zip(x.shape, widths, strict=True)):
        if any(pair):
            places = np.pad(np.arange(static(extent) or 0, dtype=np.int64), pair, mode="symmetric")
            data = e.call("take", data, e.const(places, "int64"), axis=axis)
    return data


mirror_pad = OpDef(
    relay="nn.mirror_pad",
    doc="Put a mirror image of the tensor around it, with or without its outermost elements.",
    source="Relay's MirrorPad relation and TOPI's mirror_pad of TVM 0.18",
    inputs=("data",),
    attrs=MirrorPadAttrs,
    infer=mirror_pad_type,
    numpy=mirror_pad_numpy,
    compute=mirror_pad_compute,
    relax=Expanded(mirror_pad_relax),
    fusion=Fusion(OpPattern.INJECTIVE),
)

pad = OpDef(
    relay="nn.pad",
    doc="Put a border around a tensor, of one value, of its outermost elements, or mirrored; negative widths crop.",
    source="Relay's Pad relation and TOPI's pad and mirror_pad of TVM 0.18",
    inputs=("data", "pad_value"),
    attrs=PadAttrs,
    infer=pad_type,
    relay_type=pad_relay_type,
    numpy=pad_numpy,
    compute=pad_compute,
    relax=Expanded(pad_relax),
    layout=layout_rules.pad,
    fusion=Fusion(OpPattern.INJECTIVE),
    precision=Precision.FOLLOW,
)

# The widths as an input


def dynamic_pad_type(attrs: PadAttrs, data: Type, pad_width: Type, pad_value: Type) -> Type:
    """Return the rank of ``data``, all extents unknown."""
    found, widths = tensor(data), tensor(pad_width, 1)
    if widths.rank != 2 or not is_int(widths.dtype):
        raise OpError(
            mistake(
                operators.DTYPE,
                what="pad_width",
                dtype=f"{widths.dtype} and rank {widths.rank}",
                expected="a matrix of integers",
            ),
            1,
        )
    return unknown_type(found.rank, found.dtype)


def dynamic_pad_numpy(attrs: PadAttrs, data: Array, pad_width: Array, pad_value: Array) -> Array:
    """Return the data with a border of the given widths."""
    if pad_width.shape != (data.ndim, 2):
        raise OpError(
            mistake(operators.SHAPE, what="pad_width", shape=show(pad_width.shape), expected=show((data.ndim, 2))), 1
        )
    wide = np.clip(pad_width.astype(np.int64), -FAR, FAR)
    widths = tuple((int(before), int(after)) for before, after in wide)
    return pad_numpy(PadAttrs(widths, attrs.pad_mode), data, pad_value)


def _pairs(numbers: Sequence[int]) -> tuple[tuple[int, int], ...]:
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


OPS: tuple[OpDef, ...] = (
    pad,
    mirror_pad,
    OpDef(
        script=Script("nn.pad", "data, pad_width, pad_mode='constant', pad_value=0.0"),
        doc="Put a border around a tensor, of one value, of its outermost elements, mirrored, or of its other end.",
        source="R.nn.pad of TVM 0.25-0.27",
        inputs=("data",),
        attrs=RelaxPadAttrs,
        infer=relax_pad_type,
        numpy=relax_pad_numpy,
        compute=relax_pad_compute,
    ),
    dynamic_operator(
        "nn.pad", "As nn.pad; the widths are an input.", ("data", "pad_width", "pad_value"),
        dynamic_pad_type, dynamic_pad_numpy, dynamic_kernels.pad_extents, dynamic_kernels.pad_compute, attrs=PadAttrs,
        on_bad_values="Widths that leave fewer than no elements are refused, and so is a border of nothing.",
        settle=settle_static(1, lambda attrs, widths: ("nn.pad", PadAttrs(_pairs(widths), attrs.pad_mode))),
        fusion=Fusion(OpPattern.INJECTIVE, reads_shape=True),
    ),
)  # fmt: skip
