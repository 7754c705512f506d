"""Random calls of the remaining operators: images and boxes, quantised numbers, shapes that are
data.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from neural_examples import convolution, dense, pooling, transposed_convolution
from operator_draws import NUMBERS, Call, Draw, Example
from placing_examples import one_hot, sparse_to_dense, topk
from tensor_examples import broadcast_to, reshape, squeeze, strided_slice, tile

from relay2relax.tir.ir.expr import FloatImm

# Images


def floats(*values: float) -> tuple[FloatImm, ...]:
    return tuple(FloatImm(value, "float32") for value in values)


def resize(rank: int) -> Example:
    plain = ("NCW", "NCHW", "NCDHW")[rank - 1]

    def example(d: Draw) -> Call:
        method = d.pick(("linear", "nearest_neighbor", "cubic"))
        layout = d.pick((plain, "N" + plain[2:] + "C"))
        mode = d.pick(("half_pixel", "align_corners", "asymmetric"))
        # The corners of a single element are one: they cannot be aligned.
        least = 2 if mode == "align_corners" else 1
        extents = {"N": d.extent(1), "C": d.extent(1), **{letter: d.number(1, 5) for letter in plain[2:]}}
        attrs = {
            "size": tuple(d.number(least, 7) for _ in range(rank)), "layout": layout, "method": method,
            "coordinate_transformation_mode": mode, "cubic_exclude": d.number(0, 1),
            "rounding_method": d.pick(("round", "floor", "ceil")) if method == "nearest_neighbor" else "",
        }  # fmt: skip
        return attrs, [d.array([extents[letter] for letter in layout], d.dtype(("float32", "float16")))]

    return example


def relax_resize(rank: int) -> Example:
    def example(d: Draw) -> Call:
        attrs, args = resize(rank)(d)
        return {name: value for name, value in attrs.items() if name != "size"}, [*args, attrs["size"]]

    return example


def dynamic_resize(d: Draw) -> Call:
    attrs, (data,) = resize(2)(d)
    size = np.array(attrs.pop("size"), np.int64)
    return {**attrs, "size": None, "roi": None}, [data, size, np.zeros(4, np.float32)]


def upsampling(rank: int) -> Example:
    names, layouts = ("scale_d", "scale_h", "scale_w")[3 - rank :], (("NCHW", "NHWC"), ("NCDHW", "NDHWC"))[rank - 2]

    def example(d: Draw) -> Call:
        method = d.pick(("nearest_neighbor", "bilinear" if rank == 2 else "trilinear"))
        attrs = {**{name: float(d.number(1, 3)) for name in names}, "layout": d.pick(layouts), "method": method}
        return attrs, [d.array((d.extent(1), *(d.number(1, 4) for _ in range(rank)), d.extent(1)), "float32")]

    return example


def dynamic_upsampling(rank: int) -> Example:
    def example(d: Draw) -> Call:
        attrs, args = upsampling(rank)(d)
        scales = [np.array(value, np.float32) for name, value in attrs.items() if name.startswith("scale")]
        return attrs, [*args, *scales]

    return example


def grid_sample(d: Draw) -> Call:
    batch, dtype = d.extent(1), "float32"
    data = d.array((batch, d.extent(1), d.number(1, 5), d.number(1, 5)), dtype)
    grid = d.rng.uniform(-1.4, 1.4, (batch, 2, d.number(1, 4), d.number(1, 4))).astype(dtype)
    attrs = {
        "method": d.pick(("bilinear", "nearest", "bicubic")), "align_corners": d.flag(),
        "padding_mode": d.pick(("zeros", "border", "reflection")),
    }  # fmt: skip
    return attrs, [data, grid]


def affine_grid(d: Draw) -> Call:
    return {"target_shape": (d.number(2, 5), d.number(2, 5))}, [d.array((d.extent(), 2, 3), "float32")]


def relax_affine_grid(d: Draw) -> Call:
    attrs, args = affine_grid(d)
    return {}, [*args, attrs["target_shape"]]


def crop_and_resize(d: Draw) -> Call:
    batch, boxes = d.extent(1), d.number(1, 3)
    data = d.array((batch, d.number(1, 3), d.number(2, 5), d.number(2, 5)), "float32")
    corners = d.rng.uniform(-0.1, 1.1, (boxes, 4)).astype(np.float32)
    attrs = {"crop_size": (d.number(1, 4), d.number(1, 4)), "extrapolation_value": float(d.number(0, 1))}
    return attrs, [data, corners, d.places((boxes,), batch, "int32")]


def dilation(d: Draw) -> Call:
    channels = d.number(1, 3)
    attrs = {"padding": (1, 0), "strides": (d.number(1, 2), 1), "dilations": (1, d.number(1, 2))}
    return attrs, [d.array((d.extent(1), channels, 5, 6), "float32"), d.array((channels, 3, 2), "float32")]


# Boxes


def corners(d: Draw, batch: int, count: int) -> np.ndarray:
    low = d.rng.uniform(0, 1, (batch, count, 2))
    return np.concatenate([low, low + d.rng.uniform(0.2, 0.8, (batch, count, 2))], axis=2).astype(np.float32)


def scores(d: Draw, *shape: int) -> np.ndarray:
    return d.rng.uniform(0, 1, shape).astype(np.float32)


def detections(d: Draw, batch: int, count: int) -> np.ndarray:
    """Return boxes with a class and a score in front."""
    head = np.stack([d.rng.integers(0, 3, (batch, count)).astype(np.float32), scores(d, batch, count)], axis=2)
    return np.concatenate([head, corners(d, batch, count)], axis=2)


def valid_counts(d: Draw) -> Call:
    return {"score_threshold": None}, [detections(d, d.number(1, 2), d.extent(1)), np.array(0.4, np.float32)]


def relax_valid_counts(d: Draw) -> Call:
    return {"score_threshold": 0.4}, valid_counts(d)[1][:1]


def suppression(d: Draw) -> Call:
    batch, count = d.number(1, 2), d.extent(1)
    places = np.tile(np.arange(count, dtype=np.int32), (batch, 1))
    valid = d.array((batch,), "int32", 0, count)
    limits = [np.array(d.pick((-1, 2)), np.int32), np.array(0.3, np.float32)]
    attrs = {
        "force_suppress": d.flag(), "top_k": d.pick((-1, 3)), "return_indices": d.flag(), "invalid_to_bottom": d.flag(),
    }  # fmt: skip
    return attrs, [detections(d, batch, count), valid, places, *limits]


def relax_suppression(d: Draw) -> Call:
    attrs, (boxes, valid, places, most, threshold) = suppression(d)
    limits = {"max_output_size": int(most), "iou_threshold": float(threshold)}
    return {**attrs, **limits}, [boxes, valid, places]


def class_suppression(d: Draw) -> Call:
    batch, count = d.number(1, 2), d.extent(1)
    limits = [np.array(2, np.int64), np.array(0.3, np.float32), np.array(0.1, np.float32)]
    attrs = {"output_format": d.pick(("onnx", "tensorflow"))}
    return attrs, [corners(d, batch, count), scores(d, batch, d.number(1, 3), count), *limits]


def regular_suppression(d: Draw) -> Call:
    count, classes = d.number(3, 6), d.number(1, 3)
    attrs = {
        "max_detections_per_class": 2, "max_detections": 5, "num_classes": classes, "iou_threshold": 0.3,
        "score_threshold": 0.2,
    }  # fmt: skip
    return attrs, [corners(d, 1, count), scores(d, 1, count, classes + 1)]


def regions(d: Draw) -> Call:
    data = d.array((1, d.number(1, 3), 6, 7), "float32")
    low = d.rng.uniform(-2, 5, (d.number(1, 3), 2))
    rois = np.concatenate([np.zeros((len(low), 1)), low, low + d.rng.uniform(1, 6, low.shape)], 1).astype(np.float32)
    return {"pooled_size": (d.number(1, 3), d.number(1, 3)), "spatial_scale": d.pick((1.0, 0.5))}, [data, rois]


def aligned_regions(d: Draw) -> Call:
    attrs, args = regions(d)
    return {**attrs, "mode": d.pick(("avg", "max")), "sample_ratio": d.pick((-1, 2))}, args


def proposal(d: Draw) -> Call:
    attrs = {
        "scales": floats(0.5, 2), "ratios": floats(1), "rpn_post_nms_top_n": 5, "rpn_min_size": 4, "threshold": 0.3,
        "iou_loss": d.flag(),
    }  # fmt: skip
    return attrs, [scores(d, 1, 4, 3, 2), 0.1 * d.array((1, 8, 3, 2), "float32"), np.array([[48, 32, 1]], np.float32)]


def multibox_prior(d: Draw) -> Call:
    attrs = {"sizes": floats(0.5, 0.25), "ratios": floats(1, 2), "clip": d.flag()}
    return attrs, [d.array((1, 2, d.number(1, 4), d.number(1, 4)), "float32")]


def multibox_transform(d: Draw) -> Call:
    count = d.number(1, 5)
    attrs = {"threshold": 0.4, "clip": d.flag(), "keep_background": d.flag()}
    return attrs, [scores(d, 1, 3, count), d.array((1, 4 * count), "float32"), corners(d, 1, count)]


def reorganised(d: Draw) -> Call:
    stride = d.number(1, 2)
    return {"stride": stride}, [d.array((d.extent(1), 4 * d.number(1, 2), stride * 2, stride * 2), "float32")]


# Quantised numbers


def scale(value: float) -> np.ndarray:
    return np.array(value, np.float32)


def zero(value: int) -> np.ndarray:
    return np.array(value, np.int32)


def parameters(d: Draw) -> list[np.ndarray]:
    return [scale(d.pick((0.5, 0.25, 0.03, 1.5))), zero(d.number(-5, 9))]


def quantised(d: Draw, shape: Sequence[int], dtype: str = "") -> np.ndarray:
    return d.array(shape, dtype or d.pick(("int8", "uint8")), special=True)


def quantize(d: Draw) -> Call:
    shape = d.shape(1, 3, 1)
    axis = d.number(0, len(shape) - 1)
    each = [d.array((shape[axis],), "float32", 0.125, 1), d.array((shape[axis],), "int32", -5, 5)]
    return {"out_dtype": d.pick(("int8", "uint8")), "axis": axis}, [
        d.array(shape, "float32", -90, 90), *d.pick((each, parameters(d)))
    ]  # fmt: skip


def dequantize(d: Draw) -> Call:
    attrs, (data, *given) = quantize(d)
    return {**attrs, "out_dtype": d.pick(("float32", "float16"))}, [quantised(d, data.shape), *given]


def requantize(d: Draw) -> Call:
    attrs, (data, *given) = quantize(d)
    attrs = {**attrs, "rounding": d.pick(("UPWARD", "TONEAREST"))}
    source = d.array(data.shape, "int32", -5000, 5000) if d.flag() else quantised(d, data.shape)
    return attrs, [source, *given, *parameters(d)]


def quantised_concatenate(d: Draw) -> Call:
    parts = tuple(quantised(d, (2, d.extent(1)), "int8") for _ in range(2))
    given = [parameters(d) for _ in parts]
    return {"axis": 1}, [parts, tuple(one[0] for one in given), tuple(one[1] for one in given), *parameters(d)]


def quantised_arithmetic(d: Draw) -> Call:
    shape, dtype = d.shape(), d.pick(("int8", "uint8"))
    args = [quantised(d, shape, dtype), quantised(d, d.broadcast(shape), dtype)]
    return {}, [*args, *parameters(d), *parameters(d), *parameters(d)]


def quantised_function(d: Draw) -> Call:
    return {}, [quantised(d, d.shape()), *parameters(d), *parameters(d)]


def quantised_positive(d: Draw) -> Call:
    return {}, [d.array(d.shape(), "uint8", 20, 200), scale(0.25), zero(1), *parameters(d)]


def quantised_softmax(d: Draw) -> Call:
    shape = d.shape(1, 3, 1)
    return {"axis": d.axis(len(shape))}, [quantised(d, shape, "int8"), scale(0.05), zero(4), scale(1 / 256), zero(-128)]


def quantised_product(plain: Example, first: Sequence[str] = ("int8", "uint8")) -> Example:
    """Return the quantised form of a product: its data and weight of bytes, and their
    parameters.
    """

    def example(d: Draw) -> Call:
        attrs, (data, weight) = plain(d)
        left, right = quantised(d, data.shape, d.pick(first)), quantised(d, weight.shape, "int8")
        given = [zero(d.number(-5, 9)), zero(d.number(-5, 9)), scale(0.5), scale(0.25)]
        return {**attrs, "out_dtype": "int32"}, [left, right, *given]

    return example


def quantised_matrices(d: Draw) -> Call:
    batch, rows, inner, columns = d.extent(1), d.extent(1), d.extent(1), d.extent(1)
    args = [quantised(d, (batch, rows, inner)), quantised(d, (batch, columns, inner)), zero(4), zero(-6)]
    return {"out_dtype": "int32", "transpose_b": True}, [*args, scale(1), scale(1)]


def quantised_packed(d: Draw) -> Call:
    inputs, units = 2 * d.number(1, 3), 2 * d.number(1, 3)
    weight = quantised(d, (units // 2, inputs // 2, 2, 2), "int8")
    attrs = {"units": units, "out_dtype": "int32", "weight_layout": "NC2n2c"}
    return attrs, [quantised(d, (d.extent(1), inputs)), weight, zero(9), zero(1), scale(1), scale(1)]


def quantised_pooling(d: Draw) -> Call:
    attrs, _ = pooling(2, True)(d)
    attrs = {**attrs, "dilation": (1, 1), "layout": "NCHW"}
    return attrs, [quantised(d, (1, 2, 7, 7), "uint8"), *parameters(d), *parameters(d)]


def simulated(d: Draw) -> Call:
    shape = d.shape(1, 3, 1)
    each = [d.array(shape[-1:], "float32", 0.25, 2), d.array(shape[-1:], "float32", 0, 0) + np.float32(d.number(-3, 3))]
    return {}, [d.array(shape, "float32", -90, 90), zero(d.number(0, 3)), *each]


def simulated_back(d: Draw) -> Call:
    return {"out_dtype": "float32"}, simulated(d)[1]


def annotated(d: Draw) -> Call:
    attrs = {"kind": d.number(0, 2), "rounding": "round"}
    return attrs, [d.array(d.shape(), "float32", -9, 9), scale(0.5), scale(-8), scale(7)]


# Shapes that are data


def given_shape(d: Draw) -> Call:
    shape = d.shape(1)
    return {"shape": None, "dtype": d.dtype()}, [np.array(shape, np.int64)]


def given_full(d: Draw) -> Call:
    return {"shape": None, "dtype": d.pick(("", d.dtype()))}, [
        d.array((), d.dtype(), 0, 2),
        np.array(d.shape(1), np.int64),
    ]


def with_data(plain: Example, name: str, least: int = 0) -> Example:
    """Return a call of which the attribute ``name`` comes as data."""

    def example(d: Draw) -> Call:
        attrs, args = plain(d)
        while attrs[name] is None or len(attrs[name]) < least:
            attrs, args = plain(d)
        return {**attrs, name: None}, [*args, np.array(attrs[name], np.int64)]

    return example


def given_slice(d: Draw) -> Call:
    attrs, (data,) = strided_slice(d)
    while attrs["axes"] != tuple(range(data.ndim)):
        attrs, (data,) = strided_slice(d)
    places = [np.array(attrs[name], np.int64) for name in ("begin", "end", "strides")]
    return {"begin": None, "end": None, "strides": None, "axes": None}, [data, *places]


def given_one_hot(d: Draw) -> Call:
    attrs, args = one_hot(d)
    return {"axis": attrs["axis"], "dtype": attrs["dtype"]}, [*args, np.array(attrs["depth"], np.int32)]


def given_topk(d: Draw) -> Call:
    attrs, args = topk(d)
    return {**attrs, "k": None}, [*args, np.array(attrs["k"], np.int32)]


def given_squeeze(d: Draw) -> Call:
    attrs, args = squeeze(d)
    while not attrs["axis"]:
        attrs, args = squeeze(d)
    return {"axis": None}, [*args, np.array(attrs["axis"], np.int64)]


def given_dims(d: Draw) -> Call:
    shape = d.shape()
    return {"num_newaxis": d.number(1, 2)}, [d.array(shape, d.dtype()), np.array(d.number(0, len(shape)), np.int64)]


def given_dense(d: Draw) -> Call:
    attrs, args = sparse_to_dense(d)
    return {}, [*args, np.array(attrs["output_shape"], np.int64)]


def given_pad(d: Draw) -> Call:
    shape, dtype = d.shape(1, 4, 1), d.dtype(NUMBERS)
    widths = d.array((len(shape), 2), "int64", 0, 2)
    return {"pad_width": None}, [d.array(shape, dtype), widths, d.array((), dtype)]


def reshaped(d: Draw) -> Call:
    attrs, args = reshape(d)
    while not attrs["newshape"]:
        attrs, args = reshape(d)
    return {**attrs, "newshape": None}, [*args, np.array(attrs["newshape"], np.int64)]


def reshaped_by_machine(d: Draw) -> Call:
    attrs, args = reshape(d)
    while -1 in attrs["newshape"] or not attrs["newshape"]:
        attrs, args = reshape(d)
    return {"newshape": attrs["newshape"]}, [*args, np.array(attrs["newshape"], np.int64)]


IMAGE_EXAMPLES: dict[str, Example] = {
    **{f"image.resize{rank}d": resize(rank) for rank in (1, 2, 3)},
    **{f"R.image.resize{rank}d": relax_resize(rank) for rank in (2, 3)},
    **dict.fromkeys(("image.grid_sample", "R.image.grid_sample"), grid_sample),
    **dict.fromkeys(("vision.roi_pool", "R.vision.roi_pool"), regions),
    **dict.fromkeys(("vision.roi_align", "R.vision.roi_align"), aligned_regions),
    **{f"qnn.{name}": quantised_function for name in ("tanh", "exp", "erf", "sigmoid", "hardswish", "abs")},
    **{f"qnn.{name}": quantised_positive for name in ("sqrt", "rsqrt", "log")},
    **{f"qnn.{name}": quantised_arithmetic for name in ("add", "subtract", "mul")},
    **dict.fromkeys(("qnn.quantize", "R.quantize"), quantize),
    **dict.fromkeys(("qnn.dequantize", "R.dequantize"), dequantize),
    **dict.fromkeys(("dyn.zeros", "dyn.ones"), given_shape),
    "dyn.image.resize2d": dynamic_resize,
    "nn.upsampling": upsampling(2),
    "nn.upsampling3d": upsampling(3),
    "dyn.nn.upsampling": dynamic_upsampling(2),
    "dyn.nn.upsampling3d": dynamic_upsampling(3),
    "image.affine_grid": affine_grid,
    "R.image.affine_grid": relax_affine_grid,
    "image.crop_and_resize": crop_and_resize,
    "image.dilation2d": dilation,
    "vision.get_valid_counts": valid_counts,
    "R.vision.get_valid_counts": relax_valid_counts,
    "vision.non_max_suppression": suppression,
    "R.vision.non_max_suppression": relax_suppression,
    "vision.all_class_non_max_suppression": class_suppression,
    "R.vision.all_class_non_max_suppression": class_suppression,
    "vision.regular_non_max_suppression": regular_suppression,
    "vision.proposal": proposal,
    "vision.multibox_prior": multibox_prior,
    "vision.multibox_transform_loc": multibox_transform,
    "vision.yolo_reorg": reorganised,
    "qnn.requantize": requantize,
    "qnn.concatenate": quantised_concatenate,
    "qnn.leaky_relu": lambda d: ({"alpha": 0.125}, quantised_function(d)[1]),
    "qnn.softmax": quantised_softmax,
    "qnn.conv2d": quantised_product(convolution(2)),
    "qnn.conv2d_transpose": quantised_product(transposed_convolution(2)),
    "qnn.dense": quantised_product(dense),
    "qnn.batch_matmul": quantised_matrices,
    "qnn.contrib_dense_pack": quantised_packed,
    "qnn.avg_pool2d": quantised_pooling,
    "qnn.simulated_quantize": simulated,
    "qnn.simulated_dequantize": simulated_back,
    "relay.op.annotation.simulated_quantize": annotated,
    "dyn.full": given_full,
    "dyn.reshape": reshaped,
    "vm.reshape_tensor": reshaped_by_machine,
    "dyn.broadcast_to": with_data(broadcast_to, "shape", 1),
    "dyn.tile": with_data(tile, "reps", 1),
    "dyn.strided_slice": given_slice,
    "dyn.one_hot": given_one_hot,
    "dyn.topk": given_topk,
    "dyn.squeeze": given_squeeze,
    "dyn.expand_dims": given_dims,
    "dyn.sparse_to_dense": given_dense,
    "dyn.nn.pad": given_pad,
    "R.tensor_to_shape": lambda d: ({}, [np.array(d.shape(1), np.int64)]),
}
