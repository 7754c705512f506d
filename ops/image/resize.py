"""Resizing images: ``image.resize1d``, ``resize2d``, ``resize3d`` and ``dyn.image.resize2d``.

Every axis is resized on its own. Element ``x`` of the result lies at a place ``c`` of the source
that the coordinate transformation says; its value is that of the nearest element, or interpolated
between the 2 (linear) or 4 (cubic) around it. Places beyond the border count as the border. All of
it is done in float32, as TVM does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias, Union

from relay2relax.core.dtype import Array
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common import layout_rules
from relay2relax.ops.common.interpolation import SPATIAL, constants, resize_compute, resize_numpy, rounds, spatial_axes
from relay2relax.ops.common.layout import parse_layout
from relay2relax.ops.common.places import FAR
from relay2relax.ops.common.shapes import tensor
from relay2relax.ops.registry.attributes import (
    Double,
    DType,
    FloatImmArray,
    InlineString,
    Int,
    OptionalIndexExprArray,
    attr_fields,
)
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.precision import Precision
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, SameOp, V
from relay2relax.ops.registry.script import Limit, Script
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.ops.tensor.dynamic_kernels import given_extents
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import ANY, Extent, is_any, static
from relay2relax.tir.ir.expr import FloatImm, cast

SOURCE = "TVM 0.18 python/tvm/topi/image/resize.py"
RELAX_SOURCE = "TVM 0.27 src/relax/op/image/resize.cc"


@dataclass(frozen=True, slots=True)
class Resize1DAttrs:
    """``roi`` (start, end) is the part of the source that ``tf_crop_and_resize`` takes, in units of
    its extent.
    """

    size: OptionalIndexExprArray = None
    roi: FloatImmArray = None
    layout: InlineString = "NCW"
    method: InlineString = "linear"
    coordinate_transformation_mode: InlineString = "half_pixel"
    rounding_method: InlineString = "round"
    cubic_alpha: Double = -0.5
    cubic_exclude: Int = 0
    extrapolation_value: Double = 0.0
    out_dtype: DType = ""


@dataclass(frozen=True, slots=True)
class Resize2DAttrs(Resize1DAttrs):
    """As of one dimension; ``roi`` is (start of H, of W, end of H, of W)."""

    layout: InlineString = "NCHW"


@dataclass(frozen=True, slots=True)
class Resize3DAttrs(Resize1DAttrs):
    """As of one dimension; ``roi`` is (start of W, of H, of D, end of W, of H, of D)."""

    layout: InlineString = "NCDHW"


@dataclass(frozen=True, slots=True)
class RelaxResize2DAttrs:
    """Relax's fields of ``image.resize2d``; the size is an argument."""

    even: ClassVar[bool] = True
    roi: FloatImmArray = None
    layout: InlineString = "NCHW"
    method: InlineString = "linear"
    coordinate_transformation_mode: InlineString = "half_pixel"
    rounding_method: InlineString = "round"
    cubic_alpha: Double = -0.75
    cubic_exclude: Int = 0
    extrapolation_value: Double = 0.0
    out_dtype: DType = ""


@dataclass(frozen=True, slots=True)
class RelaxResize3DAttrs(RelaxResize2DAttrs):
    """Relax's fields of ``image.resize3d``; the size is an argument."""

    layout: InlineString = "NCDHW"
    rounding_method: InlineString = ""


ResizeAttrs: TypeAlias = Union[Resize1DAttrs, RelaxResize2DAttrs]


def resize_type(attrs: ResizeAttrs, data: Type, size: Sequence[Extent]) -> TensorType:
    """Return the data's type with the spatial extents ``size``."""
    x = tensor(data)
    axes = spatial_axes(attrs, x, len(size))
    shape = list(x.shape)
    for axis, extent in zip(axes, size, strict=True):
        shape[axis] = extent
    return TensorType(tuple(shape), attrs.out_dtype or x.dtype)


def given_size(attrs: Resize1DAttrs, rank: int) -> tuple[Extent, ...]:
    """Return the size among the attributes.

    Raises OpError where it is missing or has another length.
    """
    if attrs.size is None or len(attrs.size) != rank:
        found = "null" if attrs.size is None else f"of length {len(attrs.size)}"
        raise OpError(mistake(operators.ATTRIBUTE, name="size", value=found, expected=f"{rank} values"))
    return tuple(attrs.size)


def region(attrs: ResizeAttrs, rank: int) -> list[tuple[float, float]]:
    """Return start and end of each spatial axis, 0 where none are given.

    Raises OpError for another number of them.
    """
    if attrs.roi is None:
        return [(0.0, 0.0)] * rank
    if len(attrs.roi) != 2 * rank:
        raise OpError(f"roi needs {2 * rank} values, but has {len(attrs.roi)}", kind=operators.ATTRIBUTE)
    values = [float(one.value) for one in attrs.roi]
    # Three dimensions are listed from the last to the first.
    order = range(rank) if rank < 3 else reversed(range(rank))
    return [(values[axis], values[rank + axis]) for axis in order]


# Relax


def _rounding(attrs: ResizeAttrs) -> str:
    """Return Relax's word for Relay's rounding: its "round" takes halves to the even neighbour."""
    if attrs.rounding_method in ("", "round"):
        return "round_prefer_ceil" if rounds(attrs) else "floor"
    return str(attrs.rounding_method)


def _resize_relax(e: Emit[V], record: OpDef, attrs: Resize1DAttrs, data: V) -> V:
    """R.image has the size as an argument, and neither split layouts nor extents of 1 without a
    place.
    """
    rank = 2 if record is resize2d else 3
    layout = parse_layout(attrs.layout, "NC" + SPATIAL[rank])
    if layout.is_split or tensor(e.type_of(data)).dtype != "float32":
        return e.as_tir(record, attrs, (data,), "R.image resizes float32 in plain layouts")
    resized = e.call(
        record.name,
        data,
        e.shape(given_size(attrs, rank)),
        # TVM writes out what is left out.
        roi=attrs.roi or (FloatImm(0.0, "float32"),) * (2 * rank),
        layout=attrs.layout,
        method=attrs.method,
        coordinate_transformation_mode=attrs.coordinate_transformation_mode,
        rounding_method=_rounding(attrs),
        cubic_alpha=attrs.cubic_alpha,
        cubic_exclude=attrs.cubic_exclude,
        extrapolation_value=attrs.extrapolation_value,
    )
    # TVM's own lowering forgets the dtype of the result.
    return e.call("astype", resized, dtype=attrs.out_dtype) if attrs.out_dtype not in ("", "float32") else resized


# Transformations that leave an axis of one element as it is.
_STILL = ("half_pixel", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn")


def _line_relax(e: Emit[V], attrs: Resize1DAttrs, data: V) -> V:
    """Relax resizes images: a line becomes one of height 1."""
    layout = parse_layout(attrs.layout, "NCW")
    kept = attrs.coordinate_transformation_mode in _STILL and not layout.is_split
    if not kept or tensor(e.type_of(data)).dtype != "float32":
        return e.as_tir(
            resize1d, attrs, (data,), "R.image resizes float32 in plain layouts, and moves an axis of one element"
        )
    axis = layout.position("W")
    image = e.call("expand_dims", data, axis=(axis,))
    fields = {one.name: getattr(attrs, one.name) for one in attr_fields(Resize2DAttrs)}
    fields |= {"size": (1, *given_size(attrs, 1)), "roi": None, "layout": attrs.layout.replace("W", "HW")}
    resized = _resize_relax(e, resize2d, Resize2DAttrs(**fields), image)
    return e.call("squeeze", resized, axis=(axis,))


# Records


def _record(rank: int, attrs_class: type, form: Callable[[Emit[Any], Any, Any], Any]) -> OpDef:
    """Return the record of ``image.resize<rank>d``."""

    def infer(attrs: Resize1DAttrs, data: Type) -> TensorType:
        return resize_type(attrs, data, given_size(attrs, rank))

    def numpy(attrs: Resize1DAttrs, data: Array) -> Array:
        size = [static(one) or 0 for one in given_size(attrs, rank)]
        return resize_numpy(attrs, data, size, region(attrs, rank))

    def compute(attrs: Resize1DAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
        return resize_compute(attrs, out, data, constants(region(attrs, rank)))

    return OpDef(
        relay=f"image.resize{rank}d",
        doc=f"Resize the {rank} spatial {'axis' if rank == 1 else 'axes'} of an image.",
        source=SOURCE,
        inputs=("data",),
        attrs=attrs_class,
        infer=infer,
        numpy=numpy,
        compute=compute,
        relax=Expanded(form),
        layout=layout_rules.resize if rank < 3 else None,
        fusion=Fusion(OpPattern.INJECTIVE),
        precision=Precision.FOLLOW if rank == 2 else None,
    )


def _relax_record(rank: int, attrs_class: type, script: Script) -> OpDef:
    """Return the record of ``R.image.resize<rank>d``."""
    return OpDef(
        doc=f"Resize the {rank} spatial axes of an image.",
        source=RELAX_SOURCE,
        inputs=("data", "size"),
        attrs=attrs_class,
        infer=resize_type,
        numpy=lambda attrs, data, size: resize_numpy(attrs, data, size, region(attrs, rank)),
        compute=lambda attrs, out, data, size: resize_compute(attrs, out, data, constants(region(attrs, rank))),
        relax=SameOp(),
        script=script,
    )


def dyn_resize_type(attrs: Resize2DAttrs, data: Type, size: Type, roi: Type) -> TensorType:
    """Return the data's type with unknown height and width."""
    if tensor(size, 1).rank != 1:
        raise OpError("size is a tensor of two numbers", 1)
    return resize_type(attrs, data, (ANY, ANY))


def dyn_resize_numpy(attrs: Resize2DAttrs, data: Array, size: Array, roi: Array) -> Array:
    """Return the image in the size that the second input says, of the region that the third
    says.
    """
    ends = [(float(roi[axis]), float(roi[2 + axis])) if roi.size else (0.0, 0.0) for axis in range(2)]
    extents = [int(one) for one in size.astype("int64")]
    if not all(0 <= one < FAR for one in extents):
        raise OpError(f"no image has the size {extents}", 1, kind=operators.ATTRIBUTE)
    return resize_numpy(attrs, data, extents, ends)


def dyn_resize_compute(
    attrs: Resize2DAttrs, out: TensorType, data: te.Tensor, size: te.Tensor, roi: te.Tensor
) -> te.Tensor:
    """Return the image in the size of ``out``."""
    if any(is_any(extent) for extent in out.shape):
        raise OpError("the size of the result is not known", 1, kind=operators.ATTRIBUTE)
    if attrs.coordinate_transformation_mode != "tf_crop_and_resize":
        return resize_compute(attrs, out, data, constants([(0.0, 0.0)] * 2))
    ends = [(cast("float32", roi[axis]), cast("float32", roi[2 + axis])) for axis in range(2)]
    return resize_compute(attrs, out, data, ends)


resize1d = _record(1, Resize1DAttrs, _line_relax)
resize2d: OpDef = _record(2, Resize2DAttrs, lambda e, attrs, data: _resize_relax(e, resize2d, attrs, data))
resize3d: OpDef = _record(3, Resize3DAttrs, lambda e, attrs, data: _resize_relax(e, resize3d, attrs, data))


def dyn_resize_relax(e: Emit[V], attrs: Resize2DAttrs, data: V, size: V, roi: V) -> V:
    """A size that is a constant is like one among the attributes."""
    extents, region_ = e.constant_of(size), e.constant_of(roi)
    if extents is None or (region_ is None and attrs.coordinate_transformation_mode == "tf_crop_and_resize"):
        return e.as_tir(dyn_resize2d, attrs, (data, size, roi), "the size is not known beforehand")
    values = () if region_ is None or region_.size != 4 else tuple(FloatImm(float(one), "float32") for one in region_)
    given = replace(attrs, size=tuple(int(one) for one in extents), roi=values or None)
    return _resize_relax(e, resize2d, given, data)


dyn_resize2d = OpDef(
    relay="dyn.image.resize2d",
    doc="Resize height and width of an image to a size that is an input.",
    source=SOURCE,
    inputs=("data", "size", "roi"),
    attrs=Resize2DAttrs,
    infer=dyn_resize_type,
    on_bad_values="A size below 0, or larger than any image, is refused.",
    numpy=dyn_resize_numpy,
    compute=dyn_resize_compute,
    extents=given_extents(1),
    relax=Expanded(dyn_resize_relax),
    fusion=Fusion(OpPattern.INJECTIVE, reads_shape=True),
)


def _params(layout: str, rounding: str) -> str:
    return (
        f"data, size, roi=None, layout='{layout}', method='linear', coordinate_transformation_mode='half_pixel', "
        f"rounding_method='{rounding}', cubic_alpha=-0.75, cubic_exclude=0, extrapolation_value=0.0, out_dtype=None"
    )


_WEIGHS_WRONGLY = Limit(
    "apache-tvm weighs depths by widths where places outside are left out",
    lambda attrs, types: attrs.method == "cubic" and bool(attrs.cubic_exclude),
)

OPS = (
    resize1d,
    resize2d,
    resize3d,
    dyn_resize2d,
    _relax_record(2, RelaxResize2DAttrs, Script("image.resize2d", _params("NCHW", "round"))),
    _relax_record(
        3,
        RelaxResize3DAttrs,
        Script("image.resize3d", _params("NCDHW", ""), since="0.24", limits=(_WEIGHS_WRONGLY,)),
    ),
)
