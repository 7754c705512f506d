"""How TVM's Python functions take the arguments of operators, where that is not "inputs, then
attributes".

A program built by ``relay_ir.op`` prints as one that TVM's functions of the same names built:
arguments may be given by position or by name, in TVM's order and with its defaults, and are brought
into the form that TVM stores: ``padding`` for both sides of every axis, an integer for each axis
where one number stands for all.

Facts: the modules under ``tvm.relay.op`` and ``tvm.relay.qnn.op`` of TVM 0.18.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from relay2relax.ops.registry.attributes import attr_fields
from relay2relax.ops.registry.record import OpDef
from relay2relax.relay_ir.ir.expr import Constant, RelayExpr, TupleGetItem, as_expr, const

Arguments: TypeAlias = dict[str, Any]

_POOL = "data pool_size strides dilation padding layout out_layout ceil_mode count_include_pad"
_TRANSPOSED = (
    "data weight strides padding dilation groups channels kernel_size data_layout kernel_layout out_layout "
    "output_padding out_dtype"
)
_QNN_PRODUCT = "data weight input_zero_point weight_zero_point input_scale weight_scale"
_CONV_TAIL = "strides padding dilation groups data_layout kernel_layout out_layout out_dtype"

# Parameters in TVM's order, for operators where it is not that of the record.
_ORDER = {
    "argmax": "data axis keepdims exclude select_last_index",
    "argmin": "data axis keepdims exclude select_last_index",
    "arange": "start stop step dtype",
    "gather": "data axis indices",
    "nn.avg_pool2d_grad": "out_grad data pool_size strides padding layout out_layout ceil_mode count_include_pad",
    "nn.max_pool2d_grad": "out_grad data pool_size strides padding layout out_layout ceil_mode",
    "nn.contrib_dense_pack": "data weight weight_layout units out_dtype",
    "nn.avg_pool1d": _POOL,
    "nn.avg_pool2d": _POOL,
    "nn.avg_pool3d": _POOL,
    "nn.bitserial_conv2d": (
        "data weight strides padding channels kernel_size activation_bits weight_bits data_layout kernel_layout "
        "pack_dtype out_dtype unipolar"
    ),
    "nn.conv1d_transpose": _TRANSPOSED,
    "nn.conv2d_transpose": _TRANSPOSED,
    "nn.conv3d_transpose": _TRANSPOSED,
    "nn.lrn": "data size axis bias alpha beta",
    "nn.max_pool1d": _POOL,
    "nn.max_pool2d": _POOL,
    "nn.max_pool3d": _POOL,
    "nn.mirror_pad": "data pad_width mode",
    "nn.pad": "data pad_width pad_value pad_mode",
    "one_hot": "indices on_value off_value depth axis dtype",
    "qnn.conv2d": f"{_QNN_PRODUCT} kernel_size channels {_CONV_TAIL}",
    "qnn.conv2d_transpose": (
        f"{_QNN_PRODUCT} strides padding dilation groups channels kernel_size data_layout kernel_layout out_layout "
        "output_padding out_dtype"
    ),
    "qnn.dense": f"{_QNN_PRODUCT} units out_dtype",
    "qnn.contrib_dense_pack": f"{_QNN_PRODUCT} weight_layout units out_dtype",
    "qnn.avg_pool2d": (
        "data input_scale input_zero_point output_scale output_zero_point pool_size strides padding dilation ceil_mode "
        "count_include_pad layout out_layout"
    ),
    "qnn.simulated_quantize": "data output_scale output_zero_point axis out_dtype",
    "qnn.simulated_dequantize": "data input_scale input_zero_point axis in_dtype",
    "qnn.leaky_relu": "data alpha input_scale input_zero_point output_scale output_zero_point",
    "qnn.dequantize": "data input_scale input_zero_point axis out_dtype",
    "qnn.quantize": "data output_scale output_zero_point axis out_dtype",
    "random.normal": "key out_shape out_dtype mean scale",
    "random.uniform": "key out_shape out_dtype low high",
    "sparse_to_dense": "sparse_indices output_shape sparse_values default_value",
    "stft": "data n_fft hop_length win_length window normalized onesided",
    "strided_slice": "data begin end strides axes slice_mode",
    "take": "data indices axis batch_dims mode",
}

# What TVM's functions take for an argument that is left out, where that is not the attribute's
# default.
_DEFAULTS: dict[str, Arguments] = {
    "arange": {"stop": None, "step": None, "dtype": "float32"},
    "argsort": {"dtype": "int32"},
    "full": {"shape": ()},
    "nn.avg_pool1d": {"pool_size": 1},
    "nn.avg_pool2d": {"pool_size": 1},
    "nn.avg_pool3d": {"pool_size": 1},
    "nn.batch_matmul": {"transpose_b": True},
    "nn.bitserial_conv2d": {"pack_dtype": "uint32", "out_dtype": "int16"},
    "nn.bitserial_dense": {"units": None, "pack_dtype": "uint32", "out_dtype": "int16"},
    "nn.dense": {"units": None},
    "nn.leaky_relu": {"alpha": 0.01},
    "nn.lrn": {"alpha": 1e-5},
    "nn.matmul": {"units": None},
    "nn.max_pool1d": {"pool_size": 1},
    "nn.max_pool2d": {"pool_size": 1},
    "nn.max_pool3d": {"pool_size": 1},
    "nn.mirror_pad": {"mode": "SYMMETRIC"},
    "nn.pad": {"pad_value": 0},
    "nn.upsampling": {"scale_h": 1, "scale_w": 1},
    "nn.upsampling3d": {"scale_d": 1, "scale_h": 1, "scale_w": 1},
    "ndarray_size": {"dtype": "int32"},
    "qnn.batch_matmul": {"transpose_b": True, "out_dtype": "int32"},
    "qnn.conv2d": {"out_dtype": "int32"},
    "qnn.dense": {"out_dtype": "int32"},
    "qnn.dequantize": {"out_dtype": "float32"},
    "qnn.quantize": {"out_dtype": "int8"},
    "qnn.requantize": {"out_dtype": "int8"},
    "qnn.simulated_dequantize": {"out_dtype": "float32"},
    "random.normal": {"out_dtype": "float32", "mean": 0.0, "scale": 1.0},
    "random.uniform": {"out_dtype": "float32", "low": 0.0, "high": 1.0},
    "searchsorted": {"dtype": "int32"},
    "shape_of": {"dtype": "int32"},
    "sparse_to_dense": {"default_value": 0},
    "strided_slice": {"strides": None, "axes": None},
    "topk": {"k": 1, "dtype": "int32"},
    "transpose": {"axes": None},
    "vision.all_class_non_max_suppression": {
        "max_output_boxes_per_class": -1,
        "iou_threshold": -1.0,
        "score_threshold": -1.0,
    },
    "vision.non_max_suppression": {"max_output_size": -1, "iou_threshold": 0.5},
    **{name: {"roi": None, "rounding_method": ""} for name in ("image.resize1d", "image.resize2d", "image.resize3d")},
}


# What TVM's functions call a parameter, and the record calls otherwise.
_CALLED = {
    "a": "data", "data": "x", "dtype": "out_dtype", "indices": "data", "is_sorted": "sorted", "kernel": "weight",
    "kernel_layout": "weight_layout", "kernel_scale": "weight_scale", "kernel_zero_point": "weight_zero_point",
    "predictions": "x", "shape": "out_shape", "targets": "y", "x": "data",
}  # fmt: skip


def our_name(name: str, names: Sequence[str]) -> str:
    """Return which of ``names`` TVM's function calls ``name``; itself where it is one of them."""
    other = _CALLED.get(name, name)
    return other if other in names and name not in names else name


@lru_cache(maxsize=None)
def parameters(record: OpDef) -> tuple[str, ...]:
    """Return the names of an operator's parameters, inputs and attributes, in the order of TVM's
    function.
    """
    own = [name.lstrip("*") for name in record.inputs]
    fields = [one.name for one in attr_fields(record.attrs)]
    given = _ORDER.get(record.name, "").split()
    known = [name for name in given if name in own or name in fields]
    return tuple(dict.fromkeys([*known, *own, *fields]))


def defaults(record: OpDef) -> Mapping[str, Any]:
    """Return what TVM's function takes for parameters that are left out, beside the attributes' own
    defaults.
    """
    return _DEFAULTS.get(record.name.removeprefix("dyn."), {})


# --- the form of the values -----------------------------------------------------------------------


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _both_sides(padding: object, rank: int) -> Any:
    """Return ``padding`` before every axis, then after it.

    A number or one per axis stands for both sides.
    """
    if _is_number(padding):
        padding = (padding,) * rank
    if isinstance(padding, (tuple, list)) and len(padding) == rank:
        return (*padding, *padding)
    return padding


def _padded(rank: int) -> Callable[[Arguments, OpDef], None]:
    def normalise(values: Arguments, record: OpDef) -> None:
        default = next(one.default for one in attr_fields(record.attrs) if one.name == "padding")
        values["padding"] = _both_sides(values.get("padding", default), rank)

    return normalise


def _window(rank: int) -> Callable[[Arguments, OpDef], None]:
    padded = _padded(rank)

    def normalise(values: Arguments, record: OpDef) -> None:
        for name in ("kernel_size", "pool_size", "strides", "dilation"):
            if _is_number(values.get(name)):
                values[name] = (values[name],) * rank
        padded(values, record)

    return normalise


def _as_array(*names: str) -> Callable[[Arguments, OpDef], None]:
    def normalise(values: Arguments, record: OpDef) -> None:
        for name in names:
            if _is_number(values.get(name)):
                values[name] = (values[name],)

    return normalise


def _number_of(dtypes: Mapping[str, str]) -> Callable[[Arguments, OpDef], None]:
    """Numbers that are inputs become constants of these dtypes.

    Where it is the name of a parameter, of its value.
    """

    def normalise(values: Arguments, record: OpDef) -> None:
        for name, dtype in dtypes.items():
            if isinstance(values.get(name), (int, float)):
                values[name] = const(values[name], values.get(dtype, dtype))

    return normalise


def _arange(values: Arguments, record: OpDef) -> None:
    dtype = values["dtype"]
    if values["stop"] is None:
        values["start"], values["stop"] = const(0, dtype), values.get("start")
    if values["step"] is None:
        values["step"] = const(1, dtype)
    for name in ("start", "stop", "step"):
        if isinstance(values.get(name), (int, float)):
            values[name] = const(values[name], dtype)


def _strided_slice(values: Arguments, record: OpDef) -> None:
    values["strides"] = values["strides"] or (1,)


def _resize(sides: int) -> Callable[[Arguments, OpDef], None]:
    def normalise(values: Arguments, record: OpDef) -> None:
        values["roi"] = (0.0,) * sides if values["roi"] is None else values["roi"]

    return normalise


def _shape_as_constant(values: Arguments, record: OpDef) -> None:
    if isinstance(values["shape"], (list, tuple)):
        values["shape"] = const(list(values["shape"]), "int32")


_REDUCTIONS = ("all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "sum", "variance", "squeeze")
_SHAPED = ("zeros", "ones", "full", "broadcast_to")
_NORMALISE: dict[str, Callable[[Arguments, OpDef], None]] = {
    **dict.fromkeys(_REDUCTIONS, _as_array("axis")),
    **dict.fromkeys(_SHAPED, _as_array("shape")),
    **{f"nn.{name}{rank}d": _window(rank) for name in ("conv", "max_pool", "avg_pool") for rank in (1, 2, 3)},
    **{
        name: _padded(2)
        for name in (
            "nn.conv2d_transpose", "nn.deformable_conv2d", "nn.bitserial_conv2d", "nn.contrib_conv2d_NCHWc",
            "nn.contrib_depthwise_conv2d_NCHWc", "nn.contrib_conv2d_winograd_without_weight_transform",
            "nn.contrib_conv2d_gemm_without_weight_transform", "qnn.conv2d", "qnn.conv2d_transpose",
        )
    },
    "nn.conv2d_backward_weight": _window(2),
    "nn.conv3d_transpose": _window(3),
    "nn.contrib_conv3d_winograd_without_weight_transform": _padded(3),
    "nn.adaptive_avg_pool1d": _as_array("output_size"),
    "nn.adaptive_max_pool1d": _as_array("output_size"),
    "nn.correlation": lambda values, record: values.update(padding=_correlation(values.get("padding"))),
    "arange": _arange,
    "collapse_sum_to": _shape_as_constant,
    "contrib_reverse_reshape": _as_array("newshape"),
    "reshape": _as_array("newshape"),
    "image.resize1d": _resize(2),
    "image.resize2d": _resize(4),
    "image.resize3d": _resize(6),
    "random.normal": _number_of({"mean": "out_dtype", "scale": "out_dtype"}),
    "random.uniform": _number_of({"low": "out_dtype", "high": "out_dtype"}),
    "strided_slice": _strided_slice,
    "trilu": _number_of({"k": "int32"}),
    "vision.all_class_non_max_suppression": _number_of(
        {"max_output_boxes_per_class": "int32", "iou_threshold": "float32", "score_threshold": "float32"}
    ),
    "vision.get_valid_counts": _number_of({"score_threshold": "float32"}),
    "vision.non_max_suppression": _number_of({"max_output_size": "int32", "iou_threshold": "float32"}),
}  # fmt: skip


def _correlation(padding: object) -> Any:
    return (padding, padding) if _is_number(padding) else padding


def normalise(values: Arguments, record: OpDef) -> None:
    """Bring arguments, by name, into the form in which TVM stores them.

    What is left out is filled in.
    """
    for name, default in defaults(record).items():
        values.setdefault(name, default)
    change = _NORMALISE.get(record.name)
    if change is not None:
        change(values, record)


def split_inputs(values: Arguments, record: OpDef) -> tuple[list[Any], Arguments]:
    """Return the inputs in order and the attributes by name.

    Where the two share a name, TVM fills the attribute in.

    ``arange`` keeps its inputs as attributes once more, ``collapse_sum_to`` a constant shape;
    elsewhere such an attribute is null, empty or zero.
    """
    own = [name.lstrip("*") for name in record.inputs]
    inputs = [values[name] for name in own if name in values]
    attrs = {name: value for name, value in values.items() if name not in own}
    for one in attr_fields(record.attrs):
        if one.name in own and (one.optional or one.required):
            empty = None if one.optional else () if one.kind.startswith("Array") else 0
            attrs[one.name] = values.get(one.name) if one.kind == "Expr" else empty
            if record.name == "collapse_sum_to" and isinstance(values.get(one.name), Constant):
                attrs[one.name] = tuple(values[one.name].data.reshape(-1).tolist())
    return inputs, attrs


# --- functions that are no operators of their own -------------------------------------------------

# TVM's functions that are not called as their operator is.
_SPELLINGS = {
    "nn.contrib_conv2d_nchwc": "nn.contrib_conv2d_NCHWc",
    "nn.contrib_depthwise_conv2d_nchwc": "nn.contrib_depthwise_conv2d_NCHWc",
}
_GLOBAL_POOL = re.compile(r"nn\.global_(avg|max)_pool([13])d")


def derived(name: str) -> tuple[str, Arguments] | None:
    """Return operator and arguments that TVM's function ``name`` stands for, None where it is an
    operator.
    """
    if name in _SPELLINGS:
        return _SPELLINGS[name], {}
    found = _GLOBAL_POOL.fullmatch(name)
    return (f"nn.adaptive_{found[1]}_pool{found[2]}d", {"output_size": (1,) * int(found[2])}) if found else None


def result(name: str, made: RelayExpr) -> RelayExpr:
    """Return what TVM's function returns of the call that it made."""
    if name != "nn.dropout":
        return made
    return TupleGetItem(as_expr(made), 0)
