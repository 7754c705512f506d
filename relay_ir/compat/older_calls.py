"""Calls of operators as earlier versions of TVM made them, and what they are today.

An operator that was renamed, took fewer inputs or other attributes has a :class:`Form` here for
each way it was called. Text and JSON readers recognise an older call by its name, by an attribute
that exists no more, by the number of its inputs, or by the release that wrote the document, and go
on with the call of today. The forms are those of TVM's attribute declarations from 0.6 on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import MISSING, dataclass, fields, replace
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar, Union

import numpy as np

from relay2relax.core.errors import UnsupportedError
from relay2relax.ops.registry.attributes import NoAttrs, attr_fields
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir.compat import older_attrs as older
from relay2relax.relay_ir.ir.device import VirtualDevice
from relay2relax.relay_ir.ir.expr import Constant, Expr, Tuple
from relay2relax.tir.extent import Extent
from relay2relax.tir.ir.expr import FloatImm, IntImm

Release = tuple[int, int]
Args = tuple[Expr, ...]
# Operator, inputs and attributes.
Modern = tuple[str, Args, object]
# An attribute class of an earlier version.
Older = TypeVar("Older")


_Resize: TypeAlias = Union[older.Resize06Attrs, older.Resize07Attrs, older.ResizeAttrs, older.Resize3DAttrs]
_Suppression: TypeAlias = Union[older.Suppression06Attrs, older.Suppression07Attrs]
_Product: TypeAlias = Union[older.QnnConv2DAttrs, older.QnnDenseAttrs]


# --- what they are today --------------------------------------------------------------------------


def _float(value: float) -> Constant:
    return Constant(np.array(value, np.float32))


def _int(value: int) -> Constant:
    return Constant(np.array(value, np.int32))


def _class(name: str) -> type:
    record = relay_op(name)
    assert record is not None, name
    return record.attrs


def _attrs(name: str, given: object, **changed: object) -> object:
    """Return the attributes of today's operator ``name`` with the values of ``given`` that it still
    has.
    """
    cls = _class(name)
    before: type = type(given)
    known = {one.name for one in attr_fields(cls)}
    kept = {one.name: getattr(given, one.name) for one in attr_fields(before) if one.name in known}
    return cls(**(kept | changed))


def _renamed(name: str) -> Callable[[Args, object], Modern]:
    return lambda args, attrs: (name, args, _attrs(name, attrs))


def _pad(args: Args, attrs: older.PadAttrs) -> Modern:
    return "nn.pad", (*args, _float(attrs.pad_value)), _attrs("nn.pad", attrs)


def _reshape(name: str) -> Callable[[Args, older.ReshapeAttrs], Modern]:
    def modern(args: Args, attrs: older.ReshapeAttrs) -> Modern:
        today = "contrib_reverse_reshape" if attrs.reverse else name
        return today, args, _attrs(today, attrs)

    return modern


def _top_k(args: Args, attrs: object) -> Modern:
    return "topk", args, _attrs("topk", attrs)


_METHODS = {"bilinear": "linear", "trilinear": "linear", "bicubic": "cubic"}


def _resize(name: str) -> Callable[[Args, _Resize], Modern]:
    def modern(args: Args, attrs: _Resize) -> Modern:
        if isinstance(attrs, older.Resize06Attrs):
            mode = "align_corners" if attrs.align_corners else "asymmetric"
        else:
            mode = attrs.coordinate_transformation_mode
        changed: dict[str, object] = {
            "method": _METHODS.get(attrs.method, attrs.method),
            "coordinate_transformation_mode": mode,
            # Unless it says how: to the nearest where corners are aligned, down elsewhere.
            "rounding_method": "round" if mode == "align_corners" else "floor",
        }
        if isinstance(attrs, older.ResizeAttrs):
            changed |= {"cubic_alpha": attrs.bicubic_alpha, "cubic_exclude": attrs.bicubic_exclude}
            changed["rounding_method"] = attrs.rounding_method or changed["rounding_method"]
        region = (Constant(np.zeros(4, np.float32)),) if name.startswith("dyn.") else ()
        return name, (*args, *region), _attrs(name, attrs, **changed)

    return modern


def _dynamic_resize(args: Args, attrs: object) -> Modern:
    return "dyn.image.resize2d", (*args, Constant(np.zeros(4, np.float32))), attrs


def _valid_counts(args: Args, attrs: older.ValidCountsAttrs) -> Modern:
    name = "vision.get_valid_counts"
    return name, (*args, _float(attrs.score_threshold)), _attrs(name, attrs, score_threshold=None)


def _suppression(args: Args, attrs: _Suppression) -> Modern:
    name = "vision.non_max_suppression"
    if isinstance(attrs, older.Suppression06Attrs):
        if attrs.return_indices:
            raise UnsupportedError(f"{name} with return_indices of TVM 0.6 numbers other boxes than it does today")
        # What would be the indices of the boxes is not looked at.
        args = (*args, args[1], _int(attrs.max_output_size))
    return name, (*args, _float(attrs.iou_threshold)), _attrs(name, attrs)


def _on_device(args: Args, attrs: older.OnDeviceAttrs) -> Modern:
    device = VirtualDevice(attrs.device_type, 0) if attrs.device_type > 0 else None
    return "on_device", args, _attrs("on_device", attrs, virtual_device=device, constrain_result=attrs.is_fixed)


def _device_copy(args: Args, attrs: older.DeviceCopyAttrs) -> Modern:
    source, target = (VirtualDevice(code, 0) if code > 0 else None for code in (attrs.src_dev_type, attrs.dst_dev_type))
    changed = {"src_virtual_device": source, "dst_virtual_device": target}
    return "device_copy", args, _attrs("device_copy", attrs, **changed)


def _scatter(reduction: str) -> Callable[[Args, older.ScatterAttrs], Modern]:
    name = "scatter_elements"
    return lambda args, attrs: (name, args, _attrs(name, attrs, reduction=reduction))


def _argwhere(args: Args, attrs: object) -> Modern:
    return "argwhere", args, NoAttrs()


def _winograd(args: Args, attrs: object) -> Modern:
    name = "nn.contrib_conv2d_winograd_weight_transform"
    return name, args, _attrs(name, attrs)


def _gemm_transform(args: Args, attrs: older.GemmTransformAttrs) -> Modern:
    name = "nn.contrib_conv2d_gemm_weight_transform"
    return name, args, _attrs(name, attrs, tile_N=attrs.tile_rows, tile_K=attrs.tile_cols)


def _batch_matmul(args: Args, attrs: object) -> Modern:
    # The second operand was transposed before there was an attribute to say so.
    return "nn.batch_matmul", args, _attrs("nn.batch_matmul", attrs, transpose_b=True)


def _kernel_layout(name: str) -> Callable[[Args, Any], Modern]:
    def modern(args: Args, attrs: Any) -> Modern:
        # The weights were stored input channels first, whatever the attribute said by default.
        layout = {"OIW": "IOW", "OIHW": "IOHW", "OIDHW": "IODHW"}.get(attrs.kernel_layout, attrs.kernel_layout)
        return name, args, replace(attrs, kernel_layout=layout)

    return modern


def _quantize(args: Args, attrs: older.QuantizeAttrs) -> Modern:
    found = (*args, _float(attrs.output_scale), _int(attrs.output_zero_point))
    return "qnn.quantize", found, _attrs("qnn.quantize", attrs)


def _dequantize(args: Args, attrs: older.DequantizeAttrs) -> Modern:
    found = (*args, _float(attrs.input_scale), _int(attrs.input_zero_point))
    return "qnn.dequantize", found, _attrs("qnn.dequantize", attrs, out_dtype="float32")


def _requantize(args: Args, attrs: older.RequantizeAttrs) -> Modern:
    scales = ((attrs.input_scale, attrs.input_zero_point), (attrs.output_scale, attrs.output_zero_point))
    found = (*args, *(one for scale, zero in scales for one in (_float(scale), _int(zero))))
    return "qnn.requantize", found, _attrs("qnn.requantize", attrs)


def _number(value: Extent | FloatImm) -> float:
    """Return a number that is written down, which all of them are."""
    assert isinstance(value, (int, IntImm, FloatImm))
    return value if isinstance(value, int) else value.value


def _qnn_concatenate(args: Args, attrs: older.QnnConcatenateAttrs) -> Modern:
    scales = Tuple(tuple(_float(_number(one)) for one in attrs.input_scales))
    zeros = Tuple(tuple(_int(int(_number(one))) for one in attrs.input_zero_points))
    found = (*args, scales, zeros, _float(attrs.output_scale), _int(attrs.output_zero_point))
    return "qnn.concatenate", found, _attrs("qnn.concatenate", attrs)


def _qnn_product(name: str) -> Callable[[Args, _Product], Modern]:
    def modern(args: Args, attrs: _Product) -> Modern:
        zeros = (_int(attrs.input_zero_point), _int(attrs.kernel_zero_point))
        scales = (_float(attrs.input_scale), _float(attrs.kernel_scale))
        return name, (*args, *zeros, *scales), _attrs(name, attrs)

    return modern


def _qnn_binary(name: str) -> Callable[[Args, object], Modern]:
    def modern(args: Args, attrs: object) -> Modern:
        found = [*args]
        for side in ("lhs", "rhs", "output"):
            found += [_float(getattr(attrs, f"{side}_scale")), _int(getattr(attrs, f"{side}_zero_point"))]
        return name, tuple(found), _attrs(name, attrs)

    return modern


def _qnn_leaky_relu(args: Args, attrs: object) -> Modern:
    return "qnn.leaky_relu", (*args, *args[1:]), attrs


# --- the table ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Form:
    """One way in which an operator was called until release ``until``.

    ``inputs`` is the number of its inputs where it tells the form, ``attrs`` its attribute class
    (None: that of today) with the type key ``key``.
    """

    operator: str
    until: Release
    inputs: int | None
    attrs: type | None
    key: str
    modern: Callable[[Args, Any], Modern]


def _form(
    operator: str,
    until: Release,
    inputs: int | None,
    attrs: type[Older] | None,
    key: str,
    modern: Callable[[Args, Older], Modern],
) -> Form:
    return Form(operator, until, inputs, attrs, f"relay.attrs.{key}Attrs" if key else "", modern)


# Of a form that is known by its attributes only.
_NO_RELEASE = (0, 0)


@lru_cache(maxsize=1)
def _forms() -> tuple[Form, ...]:
    """Return all forms, earlier ones of an operator first."""
    v06, v07, v08, v09, v11, v14 = ((0, minor) for minor in (6, 7, 8, 9, 11, 14))
    return (
        *(
            _form(f"contrib.adaptive_{how}_pool2d", v06, None, _class(f"nn.adaptive_{how}_pool2d"), "",
             _renamed(f"nn.adaptive_{how}_pool2d"))
            for how in ("avg", "max")
        ),
        _form("nn.pad", v07, 1, older.PadAttrs, "Pad", _pad),
        _form("reshape", v07, None, older.ReshapeAttrs, "Reshape", _reshape("reshape")),
        _form("contrib_reverse_reshape", v07, None, older.ReshapeAttrs, "Reshape", _reshape("contrib_reverse_reshape")),
        _form("_contrib_reverse_reshape", v06, None, older.ReshapeAttrs, "Reshape",
              _reshape("contrib_reverse_reshape")),
        _form("topk", v06, None, older.TopKAttrs, "Topk", _top_k),
        _form("image.resize", v06, None, older.Resize06Attrs, "Resize", _resize("image.resize2d")),
        _form("image.resize", _NO_RELEASE, None, older.ResizeAttrs, "Resize", _resize("image.resize2d")),
        _form("image.resize", v07, None, older.Resize07Attrs, "Resize", _resize("image.resize2d")),
        _form("dyn.image.resize", v07, None, older.Resize07Attrs, "Resize", _resize("dyn.image.resize2d")),
        _form("dyn.image.resize2d", v08, 2, None, "", _dynamic_resize),
        _form("image.resize3d", v07, None, older.Resize3DAttrs, "Resize3d", _resize("image.resize3d")),
        _form("vision.get_valid_counts", v07, 1, older.ValidCountsAttrs, "GetValidCounts", _valid_counts),
        _form("vision.non_max_suppression", v06, 2, older.Suppression06Attrs, "NonMaximumSuppression", _suppression),
        _form("vision.non_max_suppression", v07, 4, older.Suppression07Attrs, "NonMaximumSuppression", _suppression),
        _form("on_device", v08, None, older.OnDeviceAttrs, "OnDevice", _on_device),
        _form("device_copy", v08, None, older.DeviceCopyAttrs, "DeviceCopy", _device_copy),
        _form("scatter", v11, None, older.ScatterAttrs, "Scatter", _scatter("update")),
        _form("scatter_add", v11, None, older.ScatterAttrs, "ScatterAdd", _scatter("add")),
        _form("argwhere", v06, None, older.NoFields, "ArgWhere", _argwhere),
        _form("nn.contrib_conv2d_winograd_weight_transform", v06, None, older.WinogradAttrs,
              "Conv2DWinogradWeightTransform", _winograd),
        _form("nn.contrib_conv2d_gemm_weight_transform", v14, None, older.GemmTransformAttrs,
              "ConvGemmWeightTransform", _gemm_transform),
        _form("nn.batch_matmul", v07, None, older.NoFields, "", _batch_matmul),
        *(_form(f"nn.conv{d}d_transpose", v11, None, None, "", _kernel_layout(f"nn.conv{d}d_transpose"))
          for d in (1, 2, 3)),
        _form("qnn.quantize", v06, 1, older.QuantizeAttrs, "Quantize", _quantize),
        _form("qnn.dequantize", v06, 1, older.DequantizeAttrs, "Dequantize", _dequantize),
        _form("qnn.requantize", v06, 1, older.RequantizeAttrs, "Requantize", _requantize),
        _form("qnn.concatenate", v06, 1, older.QnnConcatenateAttrs, "QnnConcatenate", _qnn_concatenate),
        _form("qnn.conv2d", v06, 2, older.QnnConv2DAttrs, "QnnConv2D", _qnn_product("qnn.conv2d")),
        _form("qnn.dense", v06, 2, older.QnnDenseAttrs, "QnnDense", _qnn_product("qnn.dense")),
        _form("qnn.add", v06, 2, older.QnnBinaryAttrs, "QnnBinaryOp", _qnn_binary("qnn.add")),
        _form("qnn.mul", v06, 2, older.QnnBinaryAttrs, "QnnBinaryOp", _qnn_binary("qnn.mul")),
        _form("qnn.leaky_relu", v09, 3, None, "", _qnn_leaky_relu),
    )  # fmt: skip


@lru_cache(maxsize=1)
def _by_operator() -> dict[str, tuple[Form, ...]]:
    return {form.operator: tuple(f for f in _forms() if f.operator == form.operator) for form in _forms()}


@lru_cache(maxsize=1)
def _by_key() -> dict[str, tuple[Form, ...]]:
    return {form.key: tuple(f for f in _forms() if f.key == form.key) for form in _forms() if form.key}


def has_older_forms(name: str) -> bool:
    """Whether the operator ``name`` was called otherwise in some earlier version."""
    return name in _by_operator()


def is_older_name(name: str) -> bool:
    """Whether an operator had the name ``name`` that has it no more."""
    return name in _by_operator() and relay_op(name) is None


def _names(cls: type | None) -> set[str]:
    return {one.name for one in fields(cls)} if cls is not None else set()


def form_of_call(name: str, inputs: int, given: Collection[str], release: Release | None) -> Form | None:
    """Return the older form that a call of operator ``name`` has, None where it is a call of today.

    ``given`` are the names of its attributes, ``release`` the version of TVM that wrote it, as far
    as known.
    """
    forms = _by_operator().get(name)
    if forms is None:
        return None
    today = relay_op(name)
    last = _names(today.attrs if today is not None else forms[-1].attrs)
    for form in forms:
        if today is not None and form.inputs not in (None, inputs):
            continue
        if release is not None and release <= form.until:
            return form
        if today is not None and form.inputs is not None and inputs != len(today.inputs):
            return form
        if any(one in given for one in _names(form.attrs) - last):
            return form
    return forms[-1] if today is None else None


def form_of_attrs(key: str, today: type | None, given: Collection[str], release: Release | None) -> Form | None:
    """Return the older form whose attributes have type key ``key`` and fields ``given``; ``today``
    is today's class.
    """
    forms = _by_key().get(key, ())
    last = _names(today if today is not None or not forms else forms[-1].attrs)
    for form in forms:
        known = release is not None and release <= form.until
        if known or any(one in given for one in _names(form.attrs) - last):
            return form
    return forms[-1] if forms and today is None else None


def modern_call(name: str, args: Args, attrs: object, release: Release | None) -> Modern | None:
    """Return operator, inputs and attributes of today for a call whose attributes have been read.

    None if it is one.

    Raises UnsupportedError where the operator of today does something else.
    """
    for form in _by_operator().get(name, ()):
        if form.attrs is not None and isinstance(attrs, form.attrs):
            return form.modern(args, attrs)
    found = form_of_call(name, len(args), (), release)
    if found is None or (found.attrs is not None and attrs is not None):
        return None
    return found.modern(args, _defaults(found) if attrs is None else attrs)


def is_older_attrs(name: str, attrs: object) -> bool:
    """Whether ``attrs`` are attributes that the operator ``name`` had in an earlier version."""
    return any(form.attrs is not None and isinstance(attrs, form.attrs) for form in _by_operator().get(name, ()))


def _defaults(form: Form) -> object:
    if form.attrs is not None:
        return form.attrs()
    record = relay_op(form.operator)
    return record.attrs() if record is not None else NoAttrs()


# What fields without default meant to versions that did not have or need them, by operator.
_DEFAULTS: dict[tuple[str, str], object] = {
    ("strided_slice", "strides"): (1,),
    ("strided_slice", "axes"): None,
    ("topk", "k"): 1,
    ("qnn.dequantize", "out_dtype"): "float32",
}


@lru_cache(maxsize=1)
def _class_defaults() -> dict[tuple[type, str], object]:
    found = {(relay_op(name), field): value for (name, field), value in _DEFAULTS.items()}
    return {(record.attrs, field): value for (record, field), value in found.items() if record is not None}


def older_default(cls: type, field: str) -> object:
    """Return what a field meant to versions that did not have or need it.

    MISSING where there was no such version.
    """
    return _class_defaults().get((cls, field), MISSING)
