"""Attributes of operators as earlier versions of TVM declared them, where they declared others than
0.18.
"""

from __future__ import annotations

from dataclasses import dataclass

from relay2relax.ops.registry.attributes import (
    Bool,
    Double,
    DType,
    IndexExpr,
    IndexExprArray,
    InlineString,
    Int,
    Integer,
    OptionalIndexExpr,
    OptionalIndexExprArray,
    OptionalInteger,
    PadWidth,
    String,
)


@dataclass(frozen=True, slots=True)
class NoFields:
    """Attributes without a field."""


@dataclass(frozen=True, slots=True)
class PadAttrs:
    """``nn.pad`` until 0.7."""

    pad_width: PadWidth
    pad_value: Double = 0.0
    pad_mode: String = "constant"


@dataclass(frozen=True, slots=True)
class ReshapeAttrs:
    """``reshape`` and its reverse until 0.7."""

    newshape: IndexExprArray
    reverse: Bool = False


@dataclass(frozen=True, slots=True)
class TopKAttrs:
    """``topk`` of 0.6."""

    k: Int = 1
    axis: Int = -1
    is_ascend: Bool = False
    ret_type: InlineString = "both"
    dtype: DType = ""


@dataclass(frozen=True, slots=True)
class Resize06Attrs:
    """``image.resize`` of 0.6."""

    size: OptionalIndexExprArray = None
    layout: InlineString = "NCHW"
    method: InlineString = "bilinear"
    align_corners: Bool = True
    out_dtype: DType = ""


@dataclass(frozen=True, slots=True)
class Resize07Attrs:
    """``image.resize`` of 0.7."""

    size: OptionalIndexExprArray = None
    layout: InlineString = "NCHW"
    method: InlineString = "bilinear"
    coordinate_transformation_mode: InlineString = "half_pixel"
    out_dtype: DType = ""


@dataclass(frozen=True, slots=True)
class ResizeAttrs:
    """``image.resize`` on the way from 0.7 to 0.8, in spring 2021: no release has it."""

    size: OptionalIndexExprArray = None
    layout: InlineString = "NCHW"
    method: InlineString = "bilinear"
    coordinate_transformation_mode: InlineString = "half_pixel"
    rounding_method: InlineString = "round"
    bicubic_alpha: Double = -0.5
    bicubic_exclude: Int = 0
    out_dtype: DType = ""


@dataclass(frozen=True, slots=True)
class Resize3DAttrs:
    """``image.resize3d`` of 0.7."""

    size: OptionalIndexExprArray = None
    layout: String = "NCDHW"
    method: String = "trilinear"
    coordinate_transformation_mode: String = "half_pixel"
    out_dtype: DType = ""


@dataclass(frozen=True, slots=True)
class ValidCountsAttrs:
    """``vision.get_valid_counts`` until 0.7."""

    score_threshold: Double = 0.0
    id_index: Int = 0
    score_index: Int = 1


@dataclass(frozen=True, slots=True)
class Suppression06Attrs:
    """``vision.non_max_suppression`` of 0.6."""

    max_output_size: Int = -1
    iou_threshold: Double = 0.5
    force_suppress: Bool = False
    top_k: Int = -1
    coord_start: Int = 2
    score_index: Int = 1
    id_index: Int = 0
    return_indices: Bool = True
    invalid_to_bottom: Bool = False


@dataclass(frozen=True, slots=True)
class Suppression07Attrs:
    """``vision.non_max_suppression`` of 0.7."""

    max_output_size: OptionalInteger = None
    iou_threshold: Double = 0.5
    force_suppress: Bool = False
    top_k: Int = -1
    coord_start: Int = 2
    score_index: Int = 1
    id_index: Int = 0
    return_indices: Bool = True
    invalid_to_bottom: Bool = False


@dataclass(frozen=True, slots=True)
class OnDeviceAttrs:
    """``on_device`` until 0.8."""

    device_type: Int = 0
    is_fixed: Bool = False


@dataclass(frozen=True, slots=True)
class DeviceCopyAttrs:
    """``device_copy`` until 0.8."""

    src_dev_type: Int = 0
    dst_dev_type: Int = 0


@dataclass(frozen=True, slots=True)
class ScatterAttrs:
    """``scatter`` and ``scatter_add`` until 0.11."""

    axis: Integer = 0


@dataclass(frozen=True, slots=True)
class WinogradAttrs:
    """The transformation of weights for Winograd's convolution in 0.6."""

    tile_size: Int


@dataclass(frozen=True, slots=True)
class GemmTransformAttrs:
    """The transformation of weights for convolution by matrix products until 0.14."""

    tile_rows: Int
    tile_cols: Int


@dataclass(frozen=True, slots=True)
class QuantizeAttrs:
    """``qnn.quantize`` of 0.6."""

    output_zero_point: Int
    output_scale: Double
    out_dtype: DType = "uint8"


@dataclass(frozen=True, slots=True)
class DequantizeAttrs:
    """``qnn.dequantize`` of 0.6."""

    input_zero_point: Int
    input_scale: Double


@dataclass(frozen=True, slots=True)
class RequantizeAttrs:
    """``qnn.requantize`` of 0.6."""

    input_scale: Double
    input_zero_point: Int
    output_scale: Double
    output_zero_point: Int
    rounding: InlineString = "UPWARD"
    out_dtype: DType = ""


@dataclass(frozen=True, slots=True)
class QnnConcatenateAttrs:
    """``qnn.concatenate`` of 0.6."""

    input_scales: IndexExprArray
    input_zero_points: IndexExprArray
    output_scale: Double
    output_zero_point: Int
    axis: Int = 0


@dataclass(frozen=True, slots=True)
class QnnConv2DAttrs:
    """``qnn.conv2d`` of 0.6."""

    input_zero_point: Int
    kernel_zero_point: Int
    input_scale: Double
    kernel_scale: Double
    strides: IndexExprArray = (1, 1)
    padding: IndexExprArray = (0, 0)
    dilation: IndexExprArray = (1, 1)
    groups: Int = 1
    channels: OptionalIndexExpr = None
    kernel_size: OptionalIndexExprArray = None
    data_layout: String = "NCHW"
    kernel_layout: String = "OIHW"
    out_layout: String = ""
    out_dtype: DType = ""


@dataclass(frozen=True, slots=True)
class QnnDenseAttrs:
    """``qnn.dense`` of 0.6."""

    units: IndexExpr
    out_dtype: DType
    input_zero_point: Int
    kernel_zero_point: Int
    input_scale: Double
    kernel_scale: Double


@dataclass(frozen=True, slots=True)
class QnnBinaryAttrs:
    """``qnn.add`` and ``qnn.mul`` of 0.6."""

    lhs_zero_point: Int
    lhs_scale: Double
    rhs_zero_point: Int
    rhs_scale: Double
    output_zero_point: Int
    output_scale: Double
