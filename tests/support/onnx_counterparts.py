"""ONNX operators and the records that compute the same: what the tests over ONNX's own node tests
need.

Each entry turns the attributes and inputs of a node into a call of a record, or into None where the
record has no such form. Records of Relax are named ``R.name``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Optional, TypeAlias

import numpy as np

# The record's name, its attributes, its arguments, and what is done to its value to compare it.
Converted: TypeAlias = "Optional[tuple[str, dict[str, Any], list[Any], Callable[[Any], Any]]]"
Converter: TypeAlias = Callable[[dict[str, Any], list[Any]], Converted]


def same(value: Any) -> Any:
    return value


def wide(value: Any) -> Any:
    """Return places as ONNX has them, as int64."""
    return np.asarray(value).astype(np.int64)


def plain(name: str, count: int = 1) -> Converter:
    """Return an operator without attributes, of ``count`` inputs of one dtype."""

    def convert(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
        if len(inputs) != count or any(one.dtype != inputs[0].dtype for one in inputs):
            return None
        return name, {}, inputs, same

    return convert


def ints(value: Any) -> tuple[int, ...]:
    return tuple(int(one) for one in np.asarray(value).reshape(-1))


def mod(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    return "mod" if attrs.get("fmod") else "floor_mod", {}, inputs, same


def power(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    # TVM has powers of floats only.
    return plain("power", 2)(attrs, inputs) if inputs[0].dtype.kind == "f" else None


def shift(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    return f"{attrs['direction'].lower()}_shift", {}, inputs, same


def clip(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    bounds = [None if one is None else float(one) for one in (*inputs[1:], None, None)[:2]]
    low, high = -np.inf if bounds[0] is None else bounds[0], np.inf if bounds[1] is None else bounds[1]
    # Where the bounds cross, ONNX ends with the upper one, Relay with the lower.
    return None if low > high else ("clip", {"a_min": low, "a_max": high}, inputs[:1], same)


def softmax(name: str) -> Converter:
    return lambda attrs, inputs: (name, {"axis": attrs.get("axis", -1)}, inputs, same)


def transpose(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    return "transpose", {"axes": attrs.get("perm")}, inputs, same


def reshape(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    return "reshape", {"newshape": ints(inputs[1]), "allowzero": bool(attrs.get("allowzero"))}, inputs[:1], same


def squeeze(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    axis = ints(inputs[1]) if len(inputs) > 1 else None
    return "squeeze", {"axis": axis}, inputs[:1], same


def unsqueeze(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    return "R.expand_dims", {"axis": ints(inputs[1])}, inputs[:1], same


def concat(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    return "concatenate", {"axis": attrs["axis"]}, [tuple(inputs)], same


def split(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    axis = attrs.get("axis", 0)
    if len(inputs) < 2:
        return None
    cuts = tuple(int(one) for one in np.cumsum(inputs[1])[:-1])
    return "split", {"indices_or_sections": cuts, "axis": axis}, inputs[:1], same


def slice_(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    data, begin, end, *rest = inputs
    axes = ints(rest[0]) if rest else tuple(range(len(begin)))
    strides = ints(rest[1]) if len(rest) > 1 else (1,) * len(axes)
    # ONNX cuts off what lies outside of the tensor.
    limits = [min(one, data.shape[axis]) for one, axis in zip(ints(begin), axes, strict=True)]
    if any(low >= data.shape[axis] for low, axis in zip(limits, axes, strict=True)) or min(strides) < 0:
        return None
    given = {"begin": tuple(limits), "end": ints(end), "strides": strides, "axes": tuple(a % data.ndim for a in axes)}
    return "strided_slice", given, [data], same


def gather(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    axis = attrs.get("axis", 0)
    places = np.where(inputs[1] < 0, inputs[1] + inputs[0].shape[axis], inputs[1])
    return "take", {"axis": axis}, [inputs[0], places], same


def gather_elements(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    if inputs[0].shape != inputs[1].shape:
        return None
    return "gather", {"axis": attrs.get("axis", 0)}, inputs, same


def gather_nd(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    return "R.gather_nd", {"batch_dims": attrs.get("batch_dims", 0)}, inputs, same


def scatter_elements(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    how = {"none": "update"}.get(attrs.get("reduction", "none"), attrs.get("reduction"))
    return "scatter_elements", {"axis": attrs.get("axis", 0), "reduction": how}, inputs, same


def scatter_nd(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    how = {"none": "update"}.get(attrs.get("reduction", "none"), attrs.get("reduction"))
    return "R.scatter_nd", {"reduction": how}, inputs, same


def tile(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    return "tile", {"reps": ints(inputs[1])}, inputs[:1], same


def expand(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    shape = np.broadcast_shapes(inputs[0].shape, ints(inputs[1]))
    return "broadcast_to", {"shape": shape}, inputs[:1], same


def pad(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    data, widths, *rest = inputs
    if len(rest) > 1 or attrs.get("mode") == "wrap" or min(ints(widths)) < 0:
        return None
    count = data.ndim
    pairs = tuple(zip(ints(widths)[:count], ints(widths)[count:], strict=True))
    value = rest[0].reshape(()) if rest else np.zeros((), data.dtype)
    return "nn.pad", {"pad_width": pairs, "pad_mode": attrs.get("mode", "constant")}, [data, value], same


def reduction(name: str) -> Converter:
    def convert(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
        axes = ints(inputs[1]) if len(inputs) > 1 and inputs[1] is not None else None
        if not axes and attrs.get("noop_with_empty_axes"):
            return "copy", {}, inputs[:1], same
        given = {"axis": axes or None, "keepdims": bool(attrs.get("keepdims", 1))}
        return name, given, inputs[:1], same

    return convert


def extreme_place(name: str) -> Converter:
    def convert(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
        last = {"select_last_index": bool(attrs.get("select_last_index", 0))}
        given = {"axis": (attrs.get("axis", 0),), "keepdims": bool(attrs.get("keepdims", 1)), **last}
        return name, given, inputs, wide

    return convert


def cumulative_sum(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    if attrs.get("reverse"):
        return None
    return "cumsum", {"axis": int(inputs[1]), "exclusive": bool(attrs.get("exclusive"))}, inputs[:1], same


def topk(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    given = {"k": int(inputs[1][0]), "axis": attrs.get("axis", -1), "is_ascend": not attrs.get("largest", 1)}
    return "topk", {**given, "dtype": "int64"}, inputs[:1], same


def one_hot(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    places, depth, values = inputs
    depth = int(np.reshape(depth, ()))
    places = places.astype(np.int64)
    given = {"depth": depth, "axis": attrs.get("axis", -1), "dtype": values.dtype.name}
    # ONNX counts negative places from the end.
    return "one_hot", given, [np.where(places < 0, places + depth, places), values[1], values[0]], same


def trilu(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    k = inputs[1] if len(inputs) > 1 else np.array(0, np.int64)
    return "trilu", {"upper": bool(attrs.get("upper", 1))}, [inputs[0], k.reshape(())], same


def eye_like(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    return "R.eye_like", {"k": attrs.get("k", 0), "dtype": dtype_of(attrs.get("dtype"))}, inputs, same


def dtype_of(code: int | None) -> str:
    import onnx

    return "" if code is None else onnx.helper.tensor_dtype_to_np_dtype(code).name


def depth_to_space(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    return "nn.depth_to_space", {"block_size": attrs["blocksize"], "mode": attrs.get("mode", "DCR")}, inputs, same


def space_to_depth(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    if attrs.get("mode", "DCR") != "DCR":
        return None
    return "nn.space_to_depth", {"block_size": attrs["blocksize"]}, inputs, same


def windows(attrs: dict[str, Any], rank: int) -> dict[str, Any] | None:
    """Return strides, dilation and padding, None where the padding is to be found."""
    if attrs.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        return None
    ones = (1,) * rank
    return {
        "strides": tuple(attrs.get("strides", ones)),
        "dilation": tuple(attrs.get("dilations", ones)),
        "padding": tuple(attrs.get("pads", (0,) * 2 * rank)),
    }


def convolution(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    rank = inputs[0].ndim - 2
    given = windows(attrs, rank)
    if given is None or len(inputs) > 2:
        return None
    kernel = inputs[1].shape
    sizes = {"groups": attrs.get("group", 1), "channels": kernel[0], "kernel_size": kernel[2:]}
    return f"nn.conv{rank}d", {**given, **sizes}, inputs, same


def transposed_convolution(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    rank = inputs[0].ndim - 2
    given = windows(attrs, rank)
    if given is None or len(inputs) > 2 or "output_shape" in attrs:
        return None
    groups, kernel = attrs.get("group", 1), inputs[1].shape
    sizes = {"groups": groups, "channels": kernel[1] * groups, "kernel_size": kernel[2:]}
    extra = tuple(attrs.get("output_padding", (0,) * rank))
    return f"nn.conv{rank}d_transpose", {**given, **sizes, "output_padding": extra}, inputs, same


def pooling(how: str) -> Converter:
    def convert(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
        rank = inputs[0].ndim - 2
        given = windows(attrs, rank)
        if given is None or attrs.get("storage_order") or attrs.get("ceil_mode"):
            return None
        more = {"count_include_pad": bool(attrs.get("count_include_pad", 0))} if how == "avg" else {}
        return f"nn.{how}_pool{rank}d", {"pool_size": tuple(attrs["kernel_shape"]), **given, **more}, inputs, same

    return convert


def global_pooling(how: str) -> Converter:
    return lambda attrs, inputs: (f"nn.global_{how}_pool2d", {}, inputs, same) if inputs[0].ndim == 4 else None


def batch_norm(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    if attrs.get("training_mode"):
        return None
    return "nn.batch_norm", {"epsilon": attrs.get("epsilon", 1e-5)}, inputs, lambda value: value[0]


def instance_norm(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    return "nn.instance_norm", {"epsilon": attrs.get("epsilon", 1e-5)}, inputs, same


def group_norm(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    given = {"num_groups": attrs["num_groups"], "epsilon": attrs.get("epsilon", 1e-5)}
    return "nn.group_norm", given, inputs, same


def layer_norm(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    rank = inputs[0].ndim
    if len(inputs) < 3 or attrs.get("stash_type", 1) != 1:
        return None
    first = attrs.get("axis", -1) % rank
    given = {"axes": tuple(range(first - rank, 0)), "epsilon": attrs.get("epsilon", 1e-5)}
    return "R.nn.layer_norm", given, inputs, same


def rms_norm(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    rank = inputs[0].ndim
    first = attrs.get("axis", -1) % rank
    given = {"axes": tuple(range(first - rank, 0)), "epsilon": attrs.get("epsilon", 1e-5)}
    return "R.nn.rms_norm", given, inputs, same


def local_response(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    given = {name: attrs.get(name, default) for name, default in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0))}
    return "nn.lrn", {**given, "size": attrs["size"], "axis": 1}, inputs, same


def argwhere(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    return "argwhere", {}, inputs, lambda value: wide(value).T


def suppression(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    if attrs.get("center_point_box") or len(inputs) < 5:
        return None
    limits = [one.reshape(()) for one in inputs[2:]]
    # The number of rows that are meant comes beside them.
    return "vision.all_class_non_max_suppression", {}, [*inputs[:2], *limits], lambda v: v[0][: int(v[1][0])]


def quantize(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    if len(inputs) < 3 or inputs[2].dtype.name not in ("uint8", "int8") or "block_size" in attrs:
        return None
    data, scale, zero = inputs
    given = {"out_dtype": zero.dtype.name, "axis": attrs.get("axis", 1)}
    return "qnn.quantize", given, [data, scale, zero.astype(np.int32)], same


def dequantize(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    if len(inputs) < 3 or inputs[0].dtype.name not in ("uint8", "int8") or inputs[1].ndim > 1:
        return None
    data, scale, zero = inputs
    given = {"out_dtype": "float32", "axis": attrs.get("axis", 1)}
    return "qnn.dequantize", given, [data, scale, zero.astype(np.int32)], same


def einsum(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    return "einsum", {"equation": attrs["equation"].replace(" ", "")}, [tuple(inputs)], same


def reverse_sequence(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    given = {"seq_axis": attrs.get("time_axis", 0), "batch_axis": attrs.get("batch_axis", 1)}
    return "reverse_sequence", given, inputs, same


def grid_sample(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    methods = {"linear": "bilinear", "bilinear": "bilinear", "nearest": "nearest", "cubic": "bicubic"}
    if inputs[0].ndim != 4:
        return None
    given = {
        "method": methods[attrs.get("mode", "linear")],
        "padding_mode": attrs.get("padding_mode", "zeros"),
        "align_corners": bool(attrs.get("align_corners", 0)),
    }
    return "image.grid_sample", given, [inputs[0], np.ascontiguousarray(inputs[1].transpose(0, 3, 1, 2))], same


def nll_loss(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    data, targets, *weights = inputs
    if data.ndim < 2 or targets.min() < 0:
        return None
    weight = weights[0] if weights else np.ones(data.shape[1], data.dtype)
    given = {"reduction": attrs.get("reduction", "mean"), "ignore_index": attrs.get("ignore_index", -100)}
    return "nn.nll_loss", given, [data, targets, weight], same


def arange(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    from tensor_examples import Scalar

    values = dict(zip(("start", "stop", "step"), map(Scalar, inputs), strict=True))
    return "arange", {**values, "dtype": inputs[0].dtype.name}, inputs, same


def hamming(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    given = {"window_size": int(inputs[0]), "periodic": bool(attrs.get("periodic", 1)), "dtype": "float32"}
    return "R.hamming_window", {**given, "alpha": 25 / 46, "beta": 21 / 46}, [], same


def gelu(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    return "R.nn.gelu_tanh" if attrs.get("approximate") == "tanh" else "R.nn.gelu", {}, inputs, same


def cast(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    target = dtype_of(attrs["to"])
    known = ("float16", "float32", "float64", "bfloat16")
    return ("cast", {"dtype": target}, inputs, same) if {target, inputs[0].dtype.name} <= set(known) else None


def leaky_relu(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    return "nn.leaky_relu", {"alpha": attrs.get("alpha", 0.01)}, inputs, same


def is_infinite(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    return ("isinf", {}, inputs, same) if set(attrs.values()) <= {1} else None


def flatten(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    return ("nn.batch_flatten", {}, inputs, same) if attrs.get("axis", 1) == 1 and inputs[0].ndim > 1 else None


def shape_of(attrs: dict[str, Any], inputs: list[Any]) -> Converted:
    return ("shape_of", {"dtype": "int64"}, inputs, same) if not attrs else None


_UNARY: Sequence[tuple[str, str]] = (
    ("Abs", "abs"), ("Acos", "acos"), ("Acosh", "acosh"), ("Asin", "asin"), ("Asinh", "asinh"), ("Atan", "atan"),
    ("Atanh", "atanh"), ("Ceil", "ceil"), ("Cos", "cos"), ("Cosh", "cosh"), ("Erf", "erf"), ("Exp", "exp"),
    ("Floor", "floor"), ("Identity", "copy"), ("IsNaN", "isnan"), ("Log", "log"), ("Neg", "negative"),
    ("Not", "logical_not"), ("BitwiseNot", "bitwise_not"), ("Relu", "nn.relu"), ("Round", "R.round"),
    ("Sigmoid", "sigmoid"), ("Sign", "sign"), ("Sin", "sin"), ("Sinh", "sinh"), ("Softplus", "R.nn.softplus"),
    ("Sqrt", "sqrt"), ("Tan", "tan"), ("Tanh", "tanh"), ("Size", "R.size"),
)  # fmt: skip
_BINARY: Sequence[tuple[str, str]] = (
    ("Add", "add"), ("And", "logical_and"), ("BitwiseAnd", "bitwise_and"), ("BitwiseOr", "bitwise_or"),
    ("BitwiseXor", "bitwise_xor"), ("Div", "divide"), ("Equal", "equal"), ("Greater", "greater"),
    ("GreaterOrEqual", "greater_equal"), ("Less", "less"), ("LessOrEqual", "less_equal"), ("MatMul", "R.matmul"),
    ("Max", "maximum"), ("Min", "minimum"), ("Mul", "multiply"), ("Or", "logical_or"),
    ("Sub", "subtract"), ("Xor", "logical_xor"),
)  # fmt: skip
COUNTERPARTS: dict[str, Converter] = {
    **{onnx: plain(ours) for onnx, ours in _UNARY},
    **{onnx: plain(ours, 2) for onnx, ours in _BINARY},
    **{f"Reduce{how}": reduction(how.lower()) for how in ("Sum", "Mean", "Max", "Min", "Prod")},
    **{f"Arg{how}": extreme_place(f"arg{how.lower()}") for how in ("Max", "Min")},
    "AveragePool": pooling("avg"),
    "MaxPool": pooling("max"),
    "GlobalAveragePool": global_pooling("avg"),
    "GlobalMaxPool": global_pooling("max"),
    "BatchNormalization": batch_norm,
    "BitShift": shift,
    "Cast": cast,
    "Clip": clip,
    "Concat": concat,
    "Conv": convolution,
    "ConvTranspose": transposed_convolution,
    "CumSum": cumulative_sum,
    "DepthToSpace": depth_to_space,
    "DequantizeLinear": dequantize,
    "Einsum": einsum,
    "Expand": expand,
    "EyeLike": eye_like,
    "Flatten": flatten,
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "Gelu": gelu,
    "GridSample": grid_sample,
    "GroupNormalization": group_norm,
    "HammingWindow": hamming,
    "InstanceNormalization": instance_norm,
    "IsInf": is_infinite,
    "LRN": local_response,
    "LayerNormalization": layer_norm,
    "LeakyRelu": leaky_relu,
    "LogSoftmax": softmax("nn.log_softmax"),
    "Mod": mod,
    "NegativeLogLikelihoodLoss": nll_loss,
    "NonMaxSuppression": suppression,
    "NonZero": argwhere,
    "OneHot": one_hot,
    "Pad": pad,
    "Pow": power,
    "QuantizeLinear": quantize,
    "RMSNormalization": rms_norm,
    "Range": arange,
    "Reshape": reshape,
    "ReverseSequence": reverse_sequence,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
    "Shape": shape_of,
    "Slice": slice_,
    "Softmax": softmax("nn.softmax"),
    "SpaceToDepth": space_to_depth,
    "Split": split,
    "Squeeze": squeeze,
    "Tile": tile,
    "TopK": topk,
    "Transpose": transpose,
    "Trilu": trilu,
    "Unsqueeze": unsqueeze,
    "Where": lambda attrs, inputs: ("where", {}, inputs, same),
}
