"""Upsampling: resizing by factors instead of to a size.

Everything but the size is that of ``image.resize2d`` and ``image.resize3d``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from relay2relax.core.dtype import Array
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common import layout_rules
from relay2relax.ops.common.layout import parse_layout
from relay2relax.ops.common.shapes import tensor
from relay2relax.ops.image import resize
from relay2relax.ops.image.resize import Resize2DAttrs, Resize3DAttrs
from relay2relax.ops.registry.attributes import Bool, Double, InlineString, String
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, Tensors, V, Value
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.ops.tensor import dynamic_kernels
from relay2relax.ops.tensor.dynamic import dynamic_operator, operator_named
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import ANY, Extent, Shape, add, floordiv, is_any, mul, static
from relay2relax.tir.ir.expr import Binary, Call, Cast, FloatImm, PrimExpr

# The largest denominator that a factor is read with where an extent is not known.
_DENOMINATOR = 4096
_METHODS = {
    "nearest_neighbor": "nearest_neighbor",
    "bilinear": "linear",
    "trilinear": "linear",
    "bicubic": "cubic",
}


@dataclass(frozen=True, slots=True)
class UpSamplingAttrs:
    """``align_corners`` maps the corners of the image onto each other, else only the first
    elements.
    """

    scale_h: Double
    scale_w: Double
    layout: String = "NCHW"
    method: String = "nearest_neighbor"
    align_corners: Bool = False


@dataclass(frozen=True, slots=True)
class UpSampling3DAttrs:
    """``coordinate_transformation_mode`` is that of ``image.resize3d``."""

    scale_d: Double
    scale_h: Double
    scale_w: Double
    layout: InlineString = "NCDHW"
    method: InlineString = "nearest_neighbor"
    coordinate_transformation_mode: InlineString = "half_pixel"


UpAttrs = UpSamplingAttrs | UpSampling3DAttrs
_RESIZE: dict[str, OpDef] = {op.relay: op for op in resize.OPS if op.relay is not None}


def scaled(extent: Extent, factor: float) -> Extent:
    """Return ``extent * factor`` rounded, halves to even as TVM folds them.

    Of an unknown extent, halves up.
    """
    if factor <= 0:
        raise OpError(mistake(operators.ATTRIBUTE, name="the scale", value=factor, expected="a positive number"))
    if is_any(extent):
        return extent
    known = static(extent)
    if known is not None:
        return round(known * factor)
    ratio = Fraction(factor).limit_denominator(_DENOMINATOR)
    if float(ratio) != factor:
        raise OpError(
            f"an extent that is not known cannot be scaled by {factor}: it is no simple fraction",
            kind=operators.ATTRIBUTE,
        )
    if ratio.denominator == 1:
        return mul(extent, ratio.numerator)
    return floordiv(add(mul(extent, 2 * ratio.numerator), ratio.denominator), 2 * ratio.denominator)


def _letters(attrs: UpAttrs) -> str:
    return "HW" if isinstance(attrs, UpSamplingAttrs) else "DHW"


def _resized(attrs: UpAttrs, shape: Shape) -> Resize2DAttrs | Resize3DAttrs:
    """Return the attributes of the resizing that this is."""
    letters = _letters(attrs)
    layout = parse_layout(attrs.layout, "NC" + letters)
    if len(shape) != layout.rank:
        raise OpError(
            mistake(operators.LAYOUT, what="the data", rank=len(shape), layout=attrs.layout, needed=layout.rank), 0
        )
    if attrs.method not in _METHODS:
        raise OpError(
            mistake(
                operators.ATTRIBUTE, name="method", value=repr(attrs.method), expected=f"one of {', '.join(_METHODS)}"
            )
        )
    factors = {"H": attrs.scale_h, "W": attrs.scale_w}
    if isinstance(attrs, UpSampling3DAttrs):
        factors["D"] = attrs.scale_d
    size = tuple(scaled(shape[layout.position(letter)], factors[letter]) for letter in letters)
    method = _METHODS[attrs.method]
    if isinstance(attrs, UpSampling3DAttrs):
        mode = attrs.coordinate_transformation_mode
        return Resize3DAttrs(size, None, attrs.layout, method, mode, rounding_method="")
    mode = "align_corners" if attrs.align_corners else "asymmetric"
    return Resize2DAttrs(size, None, attrs.layout, method, mode, rounding_method="")


def upsampling_type(attrs: UpAttrs, data: Type) -> TensorType:
    """Return the data's type with the spatial extents multiplied and rounded."""
    x = tensor(data)
    found = _resized(attrs, x.shape)
    return resize.resize_type(found, x, found.size or ())


def enlarged(attrs: UpAttrs, out: TensorType, data: te.Tensor) -> Tensors:
    """Return the tensor program of an enlargement to the extents of ``out``, whatever the
    factors.
    """
    letters = "hw" if isinstance(attrs, UpSamplingAttrs) else "dhw"
    same = replace(attrs, **{f"scale_{letter}": 1.0 for letter in letters})  # type: ignore[arg-type]
    record = _RESIZE["image.resize2d" if isinstance(attrs, UpSamplingAttrs) else "image.resize3d"]
    return record.compute(_resized(same, data.shape), out, data)


def upsampling_relay_type(attrs: UpAttrs, data: Type) -> TensorType:
    """Return the type.

    TVM takes any scale and method, and writes a symbolic extent as a rounded product of floats.
    """
    x, letters = tensor(data), _letters(attrs)
    layout = parse_layout(attrs.layout, "NC" + letters)
    if x.rank != layout.rank:
        raise OpError(
            mistake(operators.LAYOUT, what="the data", rank=x.rank, layout=attrs.layout, needed=layout.rank), 0
        )
    shape = list(x.shape)
    for letter in letters:
        place = layout.position(letter)
        extent, scale = shape[place], getattr(attrs, f"scale_{letter.lower()}")
        known = static(extent)
        if known is not None:
            shape[place] = round(known * scale)
        elif isinstance(extent, PrimExpr) and not is_any(extent):
            product = Binary("*", Cast("float64", extent), FloatImm(scale, "float64"))
            shape[place] = Cast(extent.dtype, Call("round", (product,), "float64"))
    return TensorType(tuple(shape), x.dtype)


def _record(name: str, attrs_class: type, inner: str, doc: str) -> OpDef:
    resizing = _RESIZE[inner]
    form = resizing.relax
    assert isinstance(form, Expanded)
    expand = form.expand

    def numpy(attrs: UpAttrs, data: Array) -> Value:
        return resizing.numpy(_resized(attrs, data.shape), data)

    def compute(attrs: UpAttrs, out: TensorType, data: te.Tensor) -> Tensors:
        return resizing.compute(_resized(attrs, data.shape), out, data)

    def relax(e: Emit[V], attrs: UpAttrs, data: V) -> V:
        return expand(e, _resized(attrs, tensor(e.type_of(data)).shape), data)

    return OpDef(
        relay=f"nn.{name}",
        doc=doc,
        source=f"Relay's upsampling relations and TOPI's {name} of TVM 0.18",
        inputs=("data",),
        attrs=attrs_class,
        infer=upsampling_type,
        relay_type=upsampling_relay_type,
        numpy=numpy,
        compute=compute,
        relax=Expanded(relax),
        layout=layout_rules.upsampling,
        fusion=Fusion(OpPattern.INJECTIVE),
    )


# The factors as inputs


_FACTORS = "A factor that is not above 0, or larger than any image, is refused."


def _dynamic(name: str, attrs_class: type, letters: str) -> OpDef:
    """Return the record of an enlargement whose factors, one for each of the axes ``letters``, are
    inputs.
    """

    def infer(
        attrs: Resize2DAttrs | Resize3DAttrs | UpSampling3DAttrs | UpSamplingAttrs, data: Type, *scales: Type
    ) -> Type:
        found = tensor(data)
        for argument, one in enumerate(scales, 1):
            if tensor(one, argument).rank:
                raise OpError(
                    mistake(operators.RANK, what="the factor", rank=tensor(one, argument).rank, expected="0"), argument
                )
        layout = parse_layout(attrs.layout, "NC" + letters)
        if layout.rank != found.rank:
            raise OpError(
                mistake(operators.LAYOUT, what="the data", rank=found.rank, layout=attrs.layout, needed=layout.rank), 0
            )
        shape = list(found.shape)
        for letter in letters:
            shape[layout.position(letter)] = ANY
        return TensorType(tuple(shape), found.dtype)

    def numpy(attrs: Any, data: Array, *scales: Array) -> Value:
        factors = {f"scale_{letter.lower()}": float(one) for letter, one in zip(letters, scales, strict=True)}
        return operator_named(f"nn.{name}").numpy(replace(attrs, **factors), data)

    inputs = ("data", *(f"scale_{letter.lower()}" for letter in letters))

    def axes(attrs: Resize2DAttrs | Resize3DAttrs | UpSampling3DAttrs | UpSamplingAttrs) -> list[int]:
        layout = parse_layout(attrs.layout, "NC" + letters)
        return [layout.position(letter) for letter in letters]

    def compute(attrs: Any, out: TensorType, data: te.Tensor, *scales: te.Tensor) -> Tensors:
        return enlarged(attrs, out, data)

    extents = dynamic_kernels.scaled_extents(axes)
    doc = f"As nn.{name}; the factors are inputs."
    return dynamic_operator(
        f"nn.{name}",
        doc,
        inputs,
        infer,
        numpy,
        extents,
        compute,
        attrs=attrs_class,
        on_bad_values=_FACTORS,
        fusion=Fusion(OpPattern.INJECTIVE, reads_shape=True),
    )


OPS: tuple[OpDef, ...] = (
    _record("upsampling", UpSamplingAttrs, "image.resize2d", "Enlarge images by a factor for each axis."),
    _record("upsampling3d", UpSampling3DAttrs, "image.resize3d", "Enlarge volumes by a factor for each axis."),
    _dynamic("upsampling", UpSamplingAttrs, "HW"),
    _dynamic("upsampling3d", UpSampling3DAttrs, "DHW"),
)
