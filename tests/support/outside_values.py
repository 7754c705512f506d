"""Values from outside for records without a recorded case or an ONNX test: numpy's and PyTorch's of
random calls.

``OUTSIDE`` maps a record to a function of the attributes and arguments of a call. ``ELSEWHERE``
names the file of tests in tests/ops that holds a record's numbers against a witness of its own
(PyTorch, apache-tvm, numbers by hand).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

Outside: TypeAlias = Callable[..., Any]


def with_torch(function: Callable[..., Any]) -> Outside:
    """Return ``function`` of the module torch, attributes and tensors, as one of arrays."""

    def outside(attrs: dict[str, Any], *args: Any) -> Any:
        import torch

        # Half precision is computed in single precision, and rounded.
        wide = [torch.tensor(one.astype(np.float32) if one.dtype.itemsize == 2 else one) for one in args]
        found = function(torch, attrs, *wide)
        values = found if isinstance(found, tuple) else (found,)
        result = tuple(one.numpy().astype(args[0].dtype) if one.is_floating_point() else one.numpy() for one in values)
        return result if isinstance(found, tuple) else result[0]

    return outside


def kept(attrs: dict[str, Any]) -> dict[str, Any]:
    return {"axis": attrs["axis"], "keepdims": attrs["keepdims"]}


def wide(function: Callable[..., Any]) -> Outside:
    """Return a reduction, computed in double precision."""
    return lambda attrs, data: np.asarray(
        function(data if data.dtype.kind in "iu" else data.astype(np.float64), **kept(attrs))
    ).astype(data.dtype)


def averaged(data: np.ndarray, **options: Any) -> Any:
    """Return means; those of integers are cut off."""
    return np.trunc(np.mean(data, **options)) if data.dtype.kind in "iu" else np.mean(data, **options)


def parted(attrs: dict[str, Any], data: np.ndarray) -> Any:
    sections, extent = attrs["indices_or_sections"], data.shape[attrs["axis"]]
    length = -(-extent // sections) if isinstance(sections, int) else 0
    cuts = sections if isinstance(sections, tuple) else tuple(length * n for n in range(1, sections))
    parts = tuple(np.split(data, cuts, attrs["axis"]))
    return parts if len(parts) > 1 else parts[0]


def without_ones(attrs: dict[str, Any], data: np.ndarray) -> np.ndarray:
    axes = attrs["axis"] if attrs["axis"] is not None else range(data.ndim)
    return np.squeeze(data, tuple(axis for axis in axes if data.shape[axis] == 1))


def collapsed(attrs: dict[str, Any], data: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    import torch

    wide = data.astype(np.float64 if data.dtype.kind not in "iu" else np.int64)
    return np.asarray(torch.tensor(wide).sum_to_size(tuple(shape)).numpy(), data.dtype)


def median(torch: Any, attrs: dict[str, Any], data: Any) -> Any:
    if attrs["axis"] is None:
        found = torch.median(data)
        return found.reshape((1,) * data.ndim) if attrs["keepdims"] else found
    return tuple(torch.median(data, attrs["axis"][0], attrs["keepdims"]))


def sliced(data: np.ndarray, begin: Sequence[int], end: Sequence[int], strides: Sequence[int], axes: Any) -> np.ndarray:
    places = [slice(None)] * data.ndim
    for axis, low, high, step in zip(axes, begin, end, strides, strict=True):
        low, high = int(low) % data.shape[axis] if low < 0 else int(low), int(high)
        # Going down, an end before the first element is written as a negative number of Relay's.
        places[axis] = slice(low, high, int(step))
    return data[tuple(places)]


def taken(attrs: dict[str, Any], data: np.ndarray, places: np.ndarray) -> np.ndarray:
    mode: Any = "clip" if attrs["mode"] == "fast" else attrs["mode"]
    if mode == "nan":
        axis = (attrs["axis"] or 0) % data.ndim
        whole = np.concatenate([data, np.full_like(np.take(data, [0], axis), np.nan)], axis)
        extent = data.shape[axis]
        return np.take(whole, np.where((places < 0) | (places >= extent), extent, places), axis)
    return np.take(data, places, attrs["axis"], mode=mode)


def put(attrs: dict[str, Any], data: np.ndarray, indices: Any, values: np.ndarray) -> np.ndarray:
    result: np.ndarray = data.copy()
    if attrs["accumulate"]:
        np.add.at(result, indices, values)
    else:
        result[indices] = values
    return result


def scattered(attrs: dict[str, Any], data: np.ndarray, source: np.ndarray) -> np.ndarray:
    result: np.ndarray = data.copy()
    places = [slice(None)] * data.ndim
    places[attrs["axis"]] = slice(attrs["start"], attrs["end"], attrs["step"])
    result[tuple(places)] = source
    return result


def hot(attrs: dict[str, Any], places: np.ndarray) -> np.ndarray:
    axis = attrs["axis"] if attrs["axis"] >= 0 else places.ndim
    depth = np.arange(attrs["depth"]).reshape([-1 if d == axis else 1 for d in range(places.ndim + 1)])
    found = np.where(np.expand_dims(places, axis) == depth, attrs["on_value"].value, attrs["off_value"].value)
    return np.asarray(found, np.float32)


def dense(attrs: dict[str, Any], places: Any, values: Any, default: Any, shape: Any) -> np.ndarray:
    result = np.full(shape, default)
    result[tuple(places.reshape(len(places), -1).T)] = values
    return result


def attention(torch: Any, attrs: dict[str, Any], *args: Any) -> Any:
    query, key, value = (one.transpose(1, 2) for one in args[:3])
    mask = args[3] if len(args) > 3 else None
    if attrs["causal_mask"]:
        causal = torch.full((query.shape[2], key.shape[2]), float("-inf")).triu(1).to(query.dtype)
        mask = causal if mask is None else mask + causal
    found = torch.nn.functional.scaled_dot_product_attention(query, key, value, mask, scale=attrs["scale"])
    return found.transpose(1, 2)


def quantised(function: Callable[[Any], Any]) -> Outside:
    def outside(attrs: dict[str, Any], q: Any, scale: Any, zero: Any, out_scale: Any, out_zero: Any) -> Any:
        real = function((q.astype(np.float64) - zero) * np.float64(scale))
        info = np.iinfo(q.dtype)
        return np.clip(np.round(real / np.float64(out_scale)) + out_zero, info.min, info.max).astype(q.dtype)

    return outside


def in_order(array: Any, layout: str, order: str) -> Any:
    """Return a tensor of ``layout`` with its axes in ``order``."""
    return array.permute([layout.index(letter) for letter in order])


def convolved(torch: Any, attrs: dict[str, Any], data: Any, weight: Any) -> Any:
    rank = data.ndim - 2
    letters, around = "DHW"[3 - rank :], attrs["padding"]
    x = in_order(data, attrs["data_layout"], "NC" + letters)
    w = in_order(weight, attrs["kernel_layout"], "OI" + letters)
    sides = [side for axis in reversed(range(rank)) for side in (around[axis], around[rank + axis])]
    x, w = (torch.nn.functional.pad(x, sides).double(), w.double())
    convolve = getattr(torch.nn.functional, f"conv{rank}d")
    found = convolve(x, w, None, attrs["strides"], 0, attrs["dilation"], attrs["groups"])
    found = in_order(found, "NC" + letters, attrs["data_layout"])
    return found if data.is_floating_point() else found.to(torch.int32)


def convolved_back(torch: Any, attrs: dict[str, Any], data: Any, weight: Any) -> Any:
    rank = data.ndim - 2
    convolve = getattr(torch.nn.functional, f"conv_transpose{rank}d")
    around, extra = attrs["padding"][:rank], attrs["output_padding"]
    return convolve(data.double(), weight.double(), None, attrs["strides"], around, extra, attrs["groups"])


def adaptive(how: str) -> Outside:
    def pooled(torch: Any, attrs: dict[str, Any], data: Any) -> Any:
        rank = data.ndim - 2
        order = "NC" + "DHW"[3 - rank :]
        x = in_order(data, attrs["layout"], order)
        pool = getattr(torch.nn.functional, f"adaptive_{how}_pool{rank}d")
        return in_order(pool(x.double(), attrs["output_size"] or tuple(x.shape[2:])), order, attrs["layout"])

    return with_torch(pooled)


def dense_product(torch: Any, attrs: dict[str, Any], data: Any, weight: Any) -> Any:
    found = torch.nn.functional.linear(data.double(), weight.double())
    return found if data.is_floating_point() else found.to(torch.int32)


def single(epsilon: float) -> float:
    """Return the epsilon of normalisations, which TVM 0.18 holds in single precision."""
    return float(np.float32(epsilon))


def batch_norm(torch: Any, attrs: dict[str, Any], data: Any, gamma: Any, beta: Any, mean: Any, variance: Any) -> Any:
    x = data.double().movedim(attrs["axis"], 1)
    scale, offset = gamma.double() if attrs["scale"] else None, beta.double() if attrs["center"] else None
    found = torch.nn.functional.batch_norm(
        x, mean.double(), variance.double(), scale, offset, eps=single(attrs["epsilon"])
    )
    return found.movedim(1, attrs["axis"]), mean, variance


def layer_norm(torch: Any, attrs: dict[str, Any], data: Any, gamma: Any, beta: Any) -> Any:
    x = data.double().movedim(attrs["axis"], -1)
    scale, offset = gamma.double() if attrs["scale"] else None, beta.double() if attrs["center"] else None
    found = torch.nn.functional.layer_norm(x, x.shape[-1:], scale, offset, single(attrs["epsilon"]))
    return found.movedim(-1, attrs["axis"])


def shuffled(attrs: dict[str, Any], data: np.ndarray) -> np.ndarray:
    (n, c, h, w), r = data.shape, attrs["upscale_factor"]
    blocks = data.reshape(n, c // r**2, r, r, h, w)
    result: np.ndarray = blocks.transpose(0, 1, 4, 2, 5, 3).reshape(n, c // r**2, h * r, w * r)
    return result


def ascending(attrs: dict[str, Any], data: np.ndarray) -> np.ndarray:
    found = np.sort(data, attrs["axis"])
    return np.flip(found, attrs["axis"]) if attrs["descending"] else found


OUTSIDE: dict[str, Outside] = {
    **{f"nn.conv{rank}d": with_torch(convolved) for rank in (1, 2, 3)},
    **{f"nn.conv{rank}d_transpose": with_torch(convolved_back) for rank in (1, 2, 3)},
    **{f"nn.adaptive_{how}_pool{rank}d": adaptive(how) for how in ("avg", "max") for rank in (1, 2, 3)},
    "nn.dense": with_torch(dense_product),
    "nn.batch_norm": with_torch(batch_norm),
    "nn.layer_norm": with_torch(layer_norm),
    "nn.softmax": with_torch(lambda torch, attrs, x: torch.softmax(x.double(), attrs["axis"])),
    "nn.log_softmax": with_torch(lambda torch, attrs, x: torch.log_softmax(x.double(), attrs["axis"])),
    "nn.leaky_relu": with_torch(lambda torch, attrs, x: torch.nn.functional.leaky_relu(x, attrs["alpha"])),
    "R.square": lambda attrs, x: np.square(x),
    "R.atan2": lambda attrs, x, y: np.arctan2(x, y),
    "R.log_add_exp": lambda attrs, x, y: np.logaddexp(x.astype(np.float64), y.astype(np.float64)).astype(x.dtype),
    "R.argmax": lambda attrs, x: np.asarray(np.argmax(x, **kept(attrs)), np.int64),
    "R.argmin": lambda attrs, x: np.asarray(np.argmin(x, **kept(attrs)), np.int64),
    **{f"R.{name}": wide(getattr(np, name)) for name in ("sum", "prod", "max", "min")},
    "R.mean": wide(averaged),
    "R.split": parted,
    "R.squeeze": without_ones,
    "R.variance": wide(np.var),
    "R.std": wide(np.std),
    "R.median": with_torch(median),
    "R.reshape": lambda attrs, x, shape: x.reshape(shape),
    "R.collapse_sum_to": collapsed,
    "R.broadcast_to": lambda attrs, x, shape: np.broadcast_to(x, shape),
    "R.take": taken,
    "R.zeros": lambda attrs, shape: np.zeros(shape, attrs["dtype"]),
    "R.ones": lambda attrs, shape: np.ones(shape, attrs["dtype"]),
    # Memory of any content; here it is cleared.
    "R.builtin.alloc_tensor": lambda attrs, shape: np.zeros(shape, attrs["dtype"]),
    "R.full": lambda attrs, shape, value: np.full(shape, value, attrs["dtype"] or value.dtype),
    "R.full_like": lambda attrs, x, value: np.full_like(x, value, attrs["dtype"] or x.dtype),
    "R.arange": lambda attrs: np.arange(attrs["start"], attrs["end"], attrs["step"], dtype=attrs["dtype"]),
    "R.shape_to_tensor": lambda attrs, shape: np.array(shape, np.int64),
    "R.tensor_to_shape": lambda attrs, x: tuple(x.tolist()),
    "R.shape_of": lambda attrs, x: x.shape,
    "R.ewise_fma": lambda attrs, a, b, c: a * b + c,
    "R.wrap_param": lambda attrs, x: x.astype(attrs["dtype"]),
    "R.inspect.tensor_ndim": lambda attrs, x: x.ndim,
    "R.inspect.tensor_shape_i": lambda attrs, x, axis: x.shape[axis],
    "R.inspect.tensor_stride_i": lambda attrs, x, axis: np.empty(x.shape).strides[axis] // 8 if x.size else None,
    **{f"R.inspect.tensor_{what}_offset": lambda attrs, x: 0 for what in ("byte", "elem")},
    "R.inspect.tensor_dtype_code": lambda attrs, x: {"b": 6, "i": 0, "u": 1, "f": 2}[x.dtype.kind],
    "R.inspect.tensor_dtype_bits": lambda attrs, x: x.itemsize * 8,
    "R.inspect.tensor_dtype_lanes": lambda attrs, x: 1,
    "R.eye": lambda attrs: np.eye(attrs["n"], attrs["m"], attrs["k"], attrs["dtype"]),
    "R.one_hot": hot,
    "R.flatten": lambda attrs, x: np.ravel(x),
    "R.outer": lambda attrs, x, y: np.outer(x, y),
    "R.nn.silu": with_torch(lambda torch, attrs, x: torch.nn.functional.silu(x)),
    "R.nn.selu": with_torch(lambda torch, attrs, x: torch.nn.functional.selu(x)),
    "R.nn.attention": with_torch(attention),
    "R.nn.pixel_shuffle": shuffled,
    "R.sort": ascending,
    "R.bucketize": with_torch(
        lambda torch, a, x, bounds: torch.bucketize(x, bounds, out_int32=a["out_int32"], right=a["right"])
    ),
    "R.gather_elements": lambda attrs, x, places: np.take_along_axis(x, places.astype(np.int64), attrs["axis"]),
    "R.index_tensor": lambda attrs, x, indices: x[indices],
    "R.triu": lambda attrs, x: np.triu(x, attrs["k"]),
    "R.tril": lambda attrs, x: np.tril(x, attrs["k"]),
    "R.index_put": put,
    "R.slice_scatter": scattered,
    "R.nonzero": lambda attrs, x: np.stack(np.nonzero(x)).astype(np.int64),
    "R.dynamic_strided_slice": lambda attrs, x, begin, end, strides: sliced(x, begin, end, strides, range(x.ndim)),
    "dyn.squeeze": lambda attrs, x, axes: np.squeeze(x, tuple(axes.tolist())),
    "dyn.expand_dims": lambda attrs, x, axis: np.expand_dims(
        x, tuple(int(axis) + place for place in range(attrs["num_newaxis"]))
    ),
    "dyn.sparse_to_dense": dense,
    "qnn.tanh": quantised(np.tanh),
    "qnn.sigmoid": quantised(lambda x: 1 / (1 + np.exp(-x))),
    "qnn.hardswish": quantised(lambda x: x * np.clip(x + 3, 0, 6) / 6),
    "qnn.abs": quantised(np.abs),
}
ELSEWHERE: dict[str, str] = {
    **dict.fromkeys(("R.grad.nll_loss_backward", "R.grad.take_backward"), "test_gradient.py"),
    **dict.fromkeys(("fast_exp", "fast_tanh", "fast_erf", "fixed_point_multiply_per_axis"), "test_elementwise.py"),
    **dict.fromkeys(("R.hamming_window", "R.quantize", "R.dequantize"), "test_relax_only.py"),
    **dict.fromkeys(("R.image.affine_grid", "R.nn.nll_loss"), "test_relax_only.py"),
    "R.strided_slice": "test_transform.py",
    **{
        f"nn.contrib_{name}": "test_packed_convolution.py"
        for name in (
            "depthwise_conv2d_NCHWc", "conv2d_gemm_without_weight_transform", "conv2d_gemm_weight_transform",
            "dense_pack",
        )
    },
    **{
        f"nn.contrib_conv{rank}d_winograd_{what}": "test_winograd.py"
        for rank in (2, 3) for what in ("without_weight_transform", "weight_transform")
    },
    **{f"R.nn.{how}_pool{rank}d": "test_nn_compiled.py" for how in ("max", "avg") for rank in (1, 2, 3)},
    **dict.fromkeys(
        ("R.nn.batch_norm", "R.nn.dropout", "R.nn.instance_norm", "R.nn.group_norm"), "test_normalisation.py"
    ),
    "nn.fast_softmax": "test_nn_compiled.py",
    "R.nn.pad": "test_padding.py",
    **dict.fromkeys(
        (
            "R.vision.all_class_non_max_suppression", "vision.regular_non_max_suppression", "R.vision.get_valid_counts",
            "R.vision.non_max_suppression",
            "R.vision.roi_align", "R.vision.roi_pool", "vision.multibox_prior",
        ),
        "test_vision.py",
    ),
    "R.image.grid_sample": "test_grid_sample.py",
    **dict.fromkeys(("R.argsort", "R.topk", "R.unique"), "test_sorting.py"),
    **dict.fromkeys(("dyn.image.resize2d", "R.image.resize2d", "R.image.resize3d"), "test_resize.py"),
    **dict.fromkeys(("nn.max_pool2d_grad", "nn.avg_pool2d_grad", "nn.conv2d_backward_weight"), "test_gradient.py"),
    **dict.fromkeys(("nn.bitpack", "nn.bitserial_conv2d", "nn.bitserial_dense"), "test_bitserial.py"),
    **dict.fromkeys(
        (
            "nn.sparse_dense", "nn.internal.sparse_dense_padded", "nn.sparse_conv2d", "nn.sparse_add",
            "nn.sparse_transpose",
        ),
        "test_sparse.py",
    ),
    **dict.fromkeys(
        ("sliding_window", "sparse_fill_empty_rows", "dyn.nn.upsampling", "dyn.nn.upsampling3d"), "test_placing.py"
    ),
    **dict.fromkeys(("random.uniform", "random.normal"), "test_random.py"),
    **dict.fromkeys(
        (
            "qnn.add", "qnn.subtract", "qnn.mul", "qnn.leaky_relu", "qnn.conv2d_transpose", "qnn.contrib_dense_pack",
            "qnn.simulated_quantize", "qnn.simulated_dequantize", "relay.op.annotation.simulated_quantize",
        ),
        "test_quantized.py",
    ),
    **dict.fromkeys(("vm.shape_of", "vm.reshape_tensor"), "test_annotation.py"),
    **dict.fromkeys(
        ("auto_scheduler_layout_transform", "meta_schedule_layout_transform", "R.layout_transform"),
        "test_accelerators.py",
    ),
}  # fmt: skip
