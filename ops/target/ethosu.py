"""Operators of the Arm Ethos-U accelerator: typed, kept and written.

What they compute only its compiler knows.

Tensors are NHWC, or NHCWB16: batch, height, bricks of 16 channels, width, 16.
Source of the types: TVM 0.18 src/relay/op/contrib/ethosu.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.shapes import tensor
from relay2relax.ops.quantized.arithmetic import check_dtype
from relay2relax.ops.registry.attributes import (
    Bool,
    Double,
    IndexExpr,
    IndexExprArray,
    Int,
    OptionalIndexExpr,
    OptionalIndexExprArray,
    String,
)
from relay2relax.ops.registry.record import OpDef, OpError
from relay2relax.ops.registry.refusal import Refusal
from relay2relax.ops.registry.types import TensorType, Type, show
from relay2relax.tir.extent import Extent, Shape, add, ceildiv, equal, floordiv, mul, sub

BYTES = ("int8", "uint8")
WORDS = (*BYTES, "int16")
BRICKS = "NHCWB16"
REASON = "it runs on an Arm Ethos-U only, through TVM's code generator for it"


@dataclass(frozen=True, slots=True, kw_only=True)
class EthosuBinaryElementwiseAttrs:
    """Attributes of ``contrib.ethosu.binary_elementwise``."""

    operator_type: String
    ifm_scale: Double
    ifm_zero_point: Int
    ifm2_scale: Double
    ifm2_zero_point: Int
    ofm_scale: Double
    ofm_zero_point: Int
    ifm_channels: IndexExpr
    ifm2_channels: IndexExpr
    reversed_operands: Bool = False
    activation: String = "NONE"
    clip_min: Int = 0
    clip_max: Int = 0
    rounding_mode: String = "TFL"
    ifm_layout: String = "NHWC"
    ifm2_layout: String = "NHWC"
    ofm_layout: String = "NHWC"
    ofm_dtype: String
    use_rescale: Bool = False
    rescale_scale: Int = 0
    rescale_shift: Int = 0


@dataclass(frozen=True, slots=True)
class EthosuConv2DAttrs:
    """Attributes of ``contrib.ethosu.conv2d``."""

    ifm_scale: Double
    ifm_zero_point: Int
    weight_zero_point: Int
    ofm_scale: Double
    ofm_zero_point: Int
    kernel_shape: OptionalIndexExprArray = None
    ofm_channels: OptionalIndexExpr = None
    strides: IndexExprArray = (1, 1)
    padding: IndexExprArray = (0, 0, 0, 0)
    dilation: IndexExprArray = (1, 1)
    activation: String = "NONE"
    clip_min: Int = 0
    clip_max: Int = 0
    rounding_mode: String = "TFL"
    upscale: String = "NONE"
    ifm_layout: String = "NHWC"
    ofm_layout: String = "NHWC"


@dataclass(frozen=True, slots=True)
class EthosuDepthwiseConv2DAttrs(EthosuConv2DAttrs):
    """Attributes of ``contrib.ethosu.depthwise_conv2d``."""

    ofm_dtype: String = "int8"


@dataclass(frozen=True, slots=True)
class EthosuIdentityAttrs:
    """Attributes of ``contrib.ethosu.identity``."""

    ifm_scale: Double
    ifm_zero_point: Int
    ofm_scale: Double
    ofm_zero_point: Int
    activation: String = "NONE"
    rounding_mode: String = "TFL"


@dataclass(frozen=True, slots=True, kw_only=True)
class EthosuPoolingAttrs:
    """Attributes of ``contrib.ethosu.pooling``."""

    pooling_type: String
    ifm_scale: Double
    ifm_zero_point: Int
    ofm_scale: Double
    ofm_zero_point: Int
    pool_shape: OptionalIndexExprArray = None
    ofm_channels: OptionalIndexExpr = None
    ofm_dtype: String
    strides: IndexExprArray = (1, 1)
    padding: IndexExprArray = (0, 0, 0, 0)
    activation: String = "NONE"
    clip_min: Int = 0
    clip_max: Int = 0
    rounding_mode: String = "TFL"
    upscale: String = "NONE"
    ifm_layout: String = "NHWC"
    ofm_layout: String = "NHWC"


@dataclass(frozen=True, slots=True)
class EthosuUnaryElementwiseAttrs:
    """Attributes of ``contrib.ethosu.unary_elementwise``."""

    operator_type: String
    ifm_scale: Double
    ifm_zero_point: Int
    ofm_scale: Double
    ofm_zero_point: Int
    ofm_channels: IndexExpr
    activation: String = "NONE"
    clip_min: Int = 0
    clip_max: Int = 0
    rounding_mode: String = "TFL"
    ifm_layout: String = "NHWC"
    ofm_layout: String = "NHWC"


# Shapes


def _plane(data: TensorType, layout: str) -> tuple[Extent, Extent, Extent]:
    """Return batch, height and width."""
    wanted = 5 if layout == BRICKS else 4
    if data.rank != wanted:
        raise OpError(mistake(operators.LAYOUT, what="the input", rank=data.rank, layout=layout, needed=wanted), 0)
    shape = data.shape
    return shape[0], shape[1], shape[3] if layout == BRICKS else shape[2]


def _image(batch: Extent, height: Extent, width: Extent, channels: Extent, layout: str) -> Shape:
    """Return the shape in ``layout``."""
    if layout == BRICKS:
        return batch, height, ceildiv(channels, 16), width, 16
    return batch, height, width, channels


def _given(value: Any, name: str) -> Any:
    if value is None:
        raise OpError(f"{name} must be given", kind=operators.ATTRIBUTE)
    return value


def _under_kernel(
    attrs: EthosuConv2DAttrs | EthosuDepthwiseConv2DAttrs | EthosuPoolingAttrs,
    data: TensorType,
    kernel: Sequence[Extent],
    dilation: tuple[Extent, ...],
) -> Shape:
    """Return the shape of what a kernel gives, the input made twice as large first where
    ``upscale`` says so.
    """
    batch, height, width = _plane(data, attrs.ifm_layout)
    upscale = attrs.upscale
    if upscale not in ("NONE", "ZEROS", "NEAREST"):
        raise OpError(
            mistake(operators.ATTRIBUTE, name="upscale", value=repr(upscale), expected="'NONE', 'ZEROS' or 'NEAREST'")
        )
    factor = 1 if upscale == "NONE" or isinstance(attrs, EthosuDepthwiseConv2DAttrs) else 2
    padding = tuple(attrs.padding) * (4 // len(attrs.padding)) if len(attrs.padding) in (1, 2) else attrs.padding
    if len(padding) != 4:
        raise OpError(f"padding has {len(padding)} values; expected 1, 2 or 4", kind=operators.ATTRIBUTE)
    extents = []
    for axis, extent in enumerate((height, width)):
        padded = add(mul(extent, factor), add(padding[axis], padding[axis + 2]))
        reach = mul(sub(kernel[axis], 1), dilation[axis])
        extents.append(add(floordiv(sub(padded, add(reach, 1)), attrs.strides[axis]), 1))
    channels = _given(attrs.ofm_channels, "ofm_channels")
    return _image(batch, extents[0], extents[1], channels, attrs.ofm_layout)


def _weight(attrs: Any, weight: TensorType) -> Any:
    """Return the kernel's extents; raises OpError where the weight does not have them."""
    kernel = _given(attrs.kernel_shape, "kernel_shape")
    if weight.rank != 4:
        raise OpError(mistake(operators.RANK, what="the weight", rank=weight.rank, expected="4"), 1)
    wanted = (_given(attrs.ofm_channels, "ofm_channels"), *kernel, weight.shape[3])
    if any(equal(a, b) is False for a, b in zip(weight.shape, wanted, strict=True)):
        raise OpError(
            mistake(
                operators.SHAPE,
                what="the weight",
                shape=show(weight.shape),
                expected=f"{show(wanted)}, as the attributes say",
            ),
            1,
        )
    return kernel


def _result_dtype(name: str, dtypes: tuple[str, ...]) -> str:
    if name not in dtypes:
        raise OpError(mistake(operators.ATTRIBUTE, name="ofm_dtype", value=name, expected=", ".join(dtypes)))
    return name


def conv2d_type(attrs: EthosuConv2DAttrs, ifm: Type, weight: Type, scale_bias: Type, lut: Type) -> TensorType:
    """Return the type of the feature map."""
    data = check_dtype(ifm, BYTES, "the input")
    kernel = _weight(attrs, check_dtype(weight, BYTES, "the weight", 1))
    bias = check_dtype(scale_bias, ("uint8",), "scale_bias", 2)
    wanted = (tensor(weight).shape[0], 10)
    if bias.rank != 2 or any(equal(a, b) is False for a, b in zip(bias.shape, wanted, strict=True)):
        raise OpError(mistake(operators.SHAPE, what="scale_bias", shape=show(bias.shape), expected=show(wanted)), 2)
    return TensorType(_under_kernel(attrs, data, kernel, attrs.dilation), data.dtype)


def depthwise_type(
    attrs: EthosuDepthwiseConv2DAttrs, ifm: Type, weight: Type, scale_bias: Type, lut: Type
) -> TensorType:
    """Return the type of the feature map."""
    data = check_dtype(ifm, BYTES, "the input")
    kernel = _weight(attrs, check_dtype(weight, BYTES, "the weight", 1))
    check_dtype(scale_bias, ("uint8",), "scale_bias", 2)
    dtype = _result_dtype(attrs.ofm_dtype, (*WORDS, "int32"))
    return TensorType(_under_kernel(attrs, data, kernel, attrs.dilation), dtype)


def pooling_type(attrs: EthosuPoolingAttrs, ifm: Type, lut: Type) -> TensorType:
    """Return the type of the feature map."""
    sums = attrs.pooling_type == "SUM"
    if not sums and attrs.pooling_type not in ("AVG", "MAX"):
        raise OpError(
            mistake(
                operators.ATTRIBUTE,
                name="pooling_type",
                value=repr(attrs.pooling_type),
                expected="'AVG', 'MAX' or 'SUM'",
            )
        )
    data = check_dtype(ifm, (*WORDS, "int32") if sums else WORDS, "the input")
    dtype = _result_dtype(attrs.ofm_dtype, ("int32",) if sums else (data.dtype,))
    return TensorType(_under_kernel(attrs, data, _given(attrs.pool_shape, "pool_shape"), (1, 1)), dtype)


# The dtypes of input and result, by kind of operator; "=" stands for the input's.
_BINARY: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    **dict.fromkeys(("ADD", "SUB", "MUL"), ((*WORDS, "int32"), (*WORDS, "int32"))),
    **dict.fromkeys(("MIN", "MAX"), (BYTES, ("=",))),
    "SHR": (("int32",), (*BYTES, "int32")),
    "SHL": (("int32",), ("int32",)),
}


def binary_elementwise_type(attrs: EthosuBinaryElementwiseAttrs, ifm: Type, ifm2: Type, lut: Type) -> TensorType:
    """Return the type of the feature map."""
    if attrs.operator_type not in _BINARY:
        raise OpError(
            mistake(
                operators.ATTRIBUTE, name="operator_type", value=repr(attrs.operator_type), expected=", ".join(_BINARY)
            )
        )
    inputs, results = _BINARY[attrs.operator_type]
    data = check_dtype(ifm, inputs, "the first input")
    check_dtype(ifm2, (data.dtype,), "the second input", 1)
    dtype = _result_dtype(attrs.ofm_dtype, (data.dtype,) if results == ("=",) else results)
    batch, height, width = _plane(data, attrs.ifm_layout)
    return TensorType(_image(batch, height, width, attrs.ifm_channels, attrs.ofm_layout), dtype)


def unary_elementwise_type(attrs: EthosuUnaryElementwiseAttrs, ifm: Type, lut: Type) -> TensorType:
    """Return the type of the feature map."""
    if attrs.operator_type not in ("ABS", "CLZ"):
        raise OpError(
            mistake(
                operators.ATTRIBUTE, name="operator_type", value=repr(attrs.operator_type), expected="'ABS' or 'CLZ'"
            )
        )
    data = check_dtype(ifm, ("int32",) if attrs.operator_type == "CLZ" else BYTES, "the input")
    batch, height, width = _plane(data, attrs.ifm_layout)
    return TensorType(_image(batch, height, width, attrs.ofm_channels, attrs.ofm_layout), data.dtype)


def identity_type(attrs: EthosuIdentityAttrs, ifm: Type, lut: Type) -> TensorType:
    """Return the type of the input."""
    data = check_dtype(ifm, WORDS, "the input")
    if data.rank > 4:
        raise OpError(mistake(operators.RANK, what="the input", rank=data.rank, expected="at most 4"), 0)
    return TensorType(data.shape, data.dtype)


def _record(name: str, attrs: type, inputs: tuple[str, ...], infer: Callable[..., Type], doc: str) -> OpDef:
    full = f"contrib.ethosu.{name}"
    return OpDef(
        relay=full,
        doc=f"{doc} Runs on an Arm Ethos-U only.",
        source=f"TVM 0.18 src/relay/op/contrib/ethosu, {name}",
        inputs=inputs,
        attrs=attrs,
        infer=infer,
        numpy=Refusal(full, REASON),
        compute=Refusal(full, REASON),
    )


_KERNEL = ("ifm", "weight", "scale_bias", "lut")

OPS = (
    _record("conv2d", EthosuConv2DAttrs, _KERNEL, conv2d_type, "Convolution."),
    _record("depthwise_conv2d", EthosuDepthwiseConv2DAttrs, _KERNEL, depthwise_type, "Convolution channel by channel."),
    _record("pooling", EthosuPoolingAttrs, ("ifm", "lut"), pooling_type, "Pooling."),
    _record(
        "binary_elementwise", EthosuBinaryElementwiseAttrs, ("ifm", "ifm2", "lut"), binary_elementwise_type,
        "Arithmetic of two feature maps.",
    ),
    _record(
        "unary_elementwise", EthosuUnaryElementwiseAttrs, ("ifm", "lut"), unary_elementwise_type,
        "Absolute values, or counts of leading zeros.",
    ),
    _record("identity", EthosuIdentityAttrs, ("ifm", "lut"), identity_type, "A copy in another scale."),
)  # fmt: skip
