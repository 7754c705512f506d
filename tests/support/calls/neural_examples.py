"""Random calls of operators of neural networks: convolutions, products, pooling, normalisation,
activation, loss.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from operator_draws import FLOATS, NUMBERS, Call, Draw, Example

DATA = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC", "HWCN"), 3: ("NCDHW", "NDHWC")}
KERNEL = {1: ("OIW", "WIO"), 2: ("OIHW", "HWIO", "HWOI", "OHWI"), 3: ("OIDHW", "DHWIO")}


def arranged(layout: str, plain: str, extents: Sequence[int]) -> tuple[int, ...]:
    """Return extents, given in the order of ``plain``, in that of ``layout``."""
    return tuple(extents[plain.index(letter)] for letter in layout)


def window(d: Draw, rank: int, extents: Sequence[int], kernel: Sequence[int]) -> dict[str, Any]:
    """Return strides, dilation and padding with which the kernel fits."""
    dilation = tuple(d.number(1, 2) for _ in range(rank))
    reach = [(k - 1) * s + 1 for k, s in zip(kernel, dilation, strict=True)]
    before = [d.number(0, 2) for _ in range(rank)]
    after = [max(d.number(0, 2), r - e - b) for r, e, b in zip(reach, extents, before, strict=True)]
    return {"strides": tuple(d.number(1, 2) for _ in range(rank)), "dilation": dilation, "padding": (*before, *after)}


def convolution(rank: int) -> Example:
    def example(d: Draw) -> Call:
        groups = d.pick((1, 1, 2))
        inputs, outputs = groups * d.number(1, 3), groups * d.number(1, 3)
        extents, kernel = [d.number(1, 6) for _ in range(rank)], [d.number(1, 3) for _ in range(rank)]
        data_layout, kernel_layout = d.pick(DATA[rank][:2]), d.pick(KERNEL[rank])
        dtype = d.dtype((*FLOATS, "int8", "int32"))
        attrs = {
            **window(d, rank, extents, kernel), "groups": groups, "channels": d.pick((None, outputs)),
            "kernel_size": tuple(kernel), "data_layout": data_layout, "kernel_layout": kernel_layout,
            "out_dtype": "int32" if dtype == "int8" else d.pick(("", dtype)),
        }  # fmt: skip
        data = d.array(arranged(data_layout, DATA[rank][0], (d.extent(), inputs, *extents)), dtype)
        return attrs, [
            data, d.array(arranged(kernel_layout, KERNEL[rank][0], (outputs, inputs // groups, *kernel)), dtype)
        ]  # fmt: skip

    return example


def transposed_convolution(rank: int) -> Example:
    def example(d: Draw) -> Call:
        groups = d.pick((1, 1, 2)) if rank < 3 else 1
        inputs, outputs = groups * d.number(1, 3), d.number(1, 3)
        extents, kernel = [d.number(1, 4) for _ in range(rank)], [d.number(1, 3) for _ in range(rank)]
        strides = tuple(d.number(1, 2) for _ in range(rank))
        padding = [d.number(0, k - 1) for k in kernel]
        # Nothing is left of a single point by a padding of its whole window.
        padding = [min(p, (k - 1) // 2) for p, k in zip(padding, kernel, strict=True)]
        plain = DATA[rank][0]
        attrs = {
            "channels": groups * outputs, "kernel_size": tuple(kernel), "strides": strides,
            "padding": (*padding, *padding), "output_padding": tuple(d.number(0, s - 1) for s in strides),
            "groups": groups, "data_layout": plain, "kernel_layout": "IO" + plain[2:],
        }  # fmt: skip
        dtype = d.dtype(FLOATS)
        return attrs, [d.array((d.extent(1), inputs, *extents), dtype), d.array((inputs, outputs, *kernel), dtype)]

    return example


def blocked(data: np.ndarray, axis: int, size: int) -> np.ndarray:
    """Return ``data`` with blocks of ``size`` along ``axis`` as a last axis."""
    shape = (*data.shape[:axis], data.shape[axis] // size, size, *data.shape[axis + 1 :])
    return np.ascontiguousarray(np.moveaxis(data.reshape(shape), axis + 1, -1))


def packed_convolution(d: Draw) -> Call:
    inputs, outputs, extents, kernel = (
        2 * d.number(1, 2),
        3 * d.number(1, 2),
        [d.number(3, 6)] * 2,
        [d.number(1, 3)] * 2,
    )
    attrs = {
        **window(d, 2, extents, kernel), "channels": outputs, "kernel_size": tuple(kernel), "data_layout": "NCHW2c",
        "out_layout": "NCHW3c", "kernel_layout": "OIHW2i3o",
    }  # fmt: skip
    dtype = d.dtype(("float32", "float64", "float16"))
    weight = blocked(blocked(d.array((outputs, inputs, *kernel), dtype), 1, 2), 0, 3)
    return attrs, [blocked(d.array((d.extent(1), inputs, *extents), dtype), 1, 2), weight]


def packed_depthwise_convolution(d: Draw) -> Call:
    channels, extents, kernel = 2 * d.number(1, 3), [d.number(3, 6)] * 2, [d.number(1, 3)] * 2
    attrs = {
        **window(d, 2, extents, kernel), "groups": channels, "channels": channels, "kernel_size": tuple(kernel),
        "data_layout": "NCHW2c", "kernel_layout": "OIHW1i2o",
    }  # fmt: skip
    weight = blocked(d.array((channels, 1, *kernel), "float32"), 0, 2)[:, :, :, :, None, :]
    return attrs, [blocked(d.array((d.extent(1), channels, *extents), "float32"), 1, 2), weight]


def tiled_weight(d: Draw) -> Call:
    shape = (d.number(1, 3), d.number(1, 3), d.number(1, 3), d.number(1, 6))
    return {"tile_N": d.number(1, 4), "tile_K": d.number(1, 4)}, [
        d.array(shape, d.dtype(("float32", "int8", "float16")))
    ]


def tiled_convolution(d: Draw) -> Call:
    kernel, inputs, outputs = (d.number(1, 3), d.number(1, 3)), d.number(1, 3), d.number(1, 6)
    extents = [d.number(3, 6), d.number(3, 6)]
    rows = -(-kernel[0] * kernel[1] * inputs // 2)
    weight = d.array((-(-outputs // 4), rows, 2, 4), "float32")
    attrs = {
        **window(d, 2, extents, kernel), "channels": outputs, "kernel_size": kernel, "data_layout": "NHWC",
        "kernel_layout": "HWIO",
    }  # fmt: skip
    return attrs, [d.array((d.extent(1), *extents, inputs), "float32"), weight]


def packed_dense(d: Draw) -> Call:
    units, inputs, dtype = 4 * d.number(1, 3), d.extent(1), d.dtype(FLOATS)
    return {"units": units, "weight_layout": "NC4n"}, [
        d.array((d.extent(), inputs), dtype), d.array((units // 4, inputs, 4), dtype)
    ]  # fmt: skip


def winograd(rank: int) -> Example:
    """Return a convolution by a transformed weight, of which every element may be anything."""

    def example(d: Draw) -> Call:
        inputs, outputs = d.number(1, 3), d.number(1, 3)
        extents = [d.number(3, 6) for _ in range(rank)]
        attrs = {
            "tile_size": 2, "padding": tuple(d.number(0, 2) for _ in range(rank)), "channels": outputs,
            "kernel_size": (3,) * rank,
        }  # fmt: skip
        weight = d.array((4,) * rank + (outputs, inputs), "float32")
        return attrs, [d.array((d.extent(1), inputs, *extents), "float32"), weight]

    return example


def weight_transform(rank: int) -> Example:
    def example(d: Draw) -> Call:
        return {"tile_size": d.pick((2, 4))}, [d.array((d.number(1, 4), d.number(1, 4), *[3] * rank), "float32")]

    return example


def deformable(d: Draw) -> Call:
    inputs, outputs, height, width = d.number(1, 3), d.number(1, 3), d.number(3, 6), d.number(3, 6)
    kernel = (d.number(1, 3), d.number(1, 3))
    data = d.array((d.extent(1), inputs, height, width), "float32")
    offset = d.array((len(data), 2 * kernel[0] * kernel[1], height - kernel[0] + 1, width - kernel[1] + 1), "float32")
    attrs = {"channels": outputs, "kernel_size": kernel}
    return attrs, [data, offset + np.float32(0.05), d.array((outputs, inputs, *kernel), "float32")]


def correlation(d: Draw) -> Call:
    shape = (d.extent(1), d.number(1, 3), d.number(3, 6), d.number(3, 6))
    attrs = {
        "kernel_size": d.pick((1, 3)), "max_displacement": d.number(1, 2), "stride1": d.number(1, 2),
        "stride2": d.number(1, 2), "padding": (3, 3), "is_multiply": d.flag(),
    }  # fmt: skip
    return attrs, [d.array(shape, "float32"), d.array(shape, "float32")]


# Products


def dense(d: Draw) -> Call:
    units, inputs, dtype = d.extent(1), d.extent(1), d.dtype((*FLOATS, "int8", "int32"))
    attrs = {"units": d.pick((None, units)), "out_dtype": "int32" if dtype == "int8" else ""}
    return attrs, [d.array((*d.shape(1, 1), inputs), dtype), d.array((units, inputs), dtype)]


def matmul(d: Draw) -> Call:
    rows, inner, columns, dtype = d.extent(), d.extent(1), d.extent(1), d.dtype(FLOATS)
    a, b = d.flag(), d.flag()
    left, right = d.array((rows, inner), dtype), d.array((inner, columns), dtype)
    args = [np.ascontiguousarray(left.T) if a else left, np.ascontiguousarray(right.T) if b else right]
    return {"units": None, "transpose_a": a, "transpose_b": b}, args


def batch_matmul(d: Draw) -> Call:
    attrs, (left, right) = matmul(d)
    batch = d.extent(1)
    return {"transpose_a": attrs["transpose_a"], "transpose_b": attrs["transpose_b"]}, [
        np.stack([left] * d.pick((1, batch))), np.stack([right * right.dtype.type(2)] * batch)
    ]  # fmt: skip


def relax_matmul(d: Draw) -> Call:
    rows, inner, columns, dtype = d.extent(), d.extent(1), d.extent(1), d.dtype((*FLOATS, "int32"))
    batch = d.shape(0, 2)
    shapes = [(*batch, rows, inner), (*d.broadcast(batch), inner, columns)]
    if d.number(0, 3) == 0:
        shapes[d.number(0, 1)] = (inner,)
    return {}, [d.array(shape, dtype) for shape in shapes]


def outer(d: Draw) -> Call:
    dtype = d.dtype(FLOATS)
    return {}, [d.array((d.extent(),), dtype), d.array((d.extent(),), dtype)]


def bias_add(d: Draw) -> Call:
    shape, dtype = d.shape(1), d.dtype(NUMBERS)
    axis = d.axis(len(shape))
    return {"axis": axis}, [d.array(shape, dtype), d.array((shape[axis],), dtype)]


def attention(d: Draw) -> Call:
    batch, heads, places, keys = d.extent(1), d.number(1, 2), d.number(1, 4), d.number(1, 4)
    inner, dtype = d.number(1, 4), d.dtype(FLOATS)
    args = [d.array((batch, places, heads, inner), dtype)]
    args += [d.array((batch, keys, heads, e), dtype) for e in (inner, d.number(1, 4))]
    bias = [d.array((batch, heads, places, keys), dtype)] if d.flag() else []
    mask = d.pick((None, "TopLeft", "BottomRight")) if places == keys else None
    return {"causal_mask": mask, "scale": d.pick((None, 0.5))}, [*args, *bias]


# Pooling


def pooling(rank: int, average: bool) -> Example:
    def example(d: Draw) -> Call:
        layout = d.pick(DATA[rank])
        extents = [d.number(1, 7) for _ in range(rank)]
        pool = [d.number(1, min(3, extent)) for extent in extents]
        dilation = [d.number(1, 2) if (p - 1) * 2 < e else 1 for p, e in zip(pool, extents, strict=True)]
        padding = [d.number(0, p - 1) for p in pool * 2]
        attrs = {
            "pool_size": tuple(pool), "strides": tuple(d.number(1, 3) for _ in pool), "dilation": tuple(dilation),
            "padding": tuple(padding), "layout": layout, "ceil_mode": d.flag(),
            **({"count_include_pad": d.flag()} if average else {}),
        }  # fmt: skip
        shape = arranged(layout, DATA[rank][0], (d.extent(), d.extent(1), *extents))
        return attrs, [d.array(shape, d.dtype(FLOATS if average else (*FLOATS, "int8", "int32", "uint8")))]

    return example


def global_pooling(d: Draw) -> Call:
    return {"layout": "NCHW"}, [d.array((d.extent(), d.extent(1), d.number(1, 5), d.number(1, 5)), d.dtype(FLOATS))]


def adaptive_pooling(rank: int) -> Example:
    def example(d: Draw) -> Call:
        size = d.pick(((), tuple(d.number(1, 4) for _ in range(rank))))
        layout = d.pick(DATA[rank][:2])
        extents = (d.extent(), d.extent(1), *(d.number(1, 6) for _ in range(rank)))
        attrs = {"output_size": size or None, "layout": layout}
        return attrs, [d.array(arranged(layout, DATA[rank][0], extents), d.dtype(FLOATS))]

    return example


def pooling_gradient(average: bool) -> Example:
    def example(d: Draw) -> Call:
        height, width, pool = d.number(3, 6), d.number(3, 6), (d.number(1, 3), d.number(1, 3))
        strides = (d.number(1, 2), d.number(1, 2))
        size = tuple((e - p) // s + 1 for e, p, s in zip((height, width), pool, strides, strict=True))
        batch, channels, dtype = d.extent(1), d.extent(1), d.dtype(("float32", "float64"))
        attrs = {"pool_size": pool, "strides": strides, "padding": (0, 0, 0, 0)}
        data = d.distinct((batch, channels, height, width), dtype)
        return attrs, [d.array((batch, channels, *size), dtype), data]

    return example


def weight_gradient(d: Draw) -> Call:
    batch, inputs, outputs, height, width = d.extent(1), d.number(1, 3), d.number(1, 3), d.number(3, 6), d.number(3, 6)
    kernel = (d.number(1, 3), d.number(1, 3))
    grad = d.array((batch, outputs, height - kernel[0] + 1, width - kernel[1] + 1), "float32")
    attrs = {"strides": (1, 1), "padding": (0, 0, 0, 0), "kernel_size": kernel}
    return attrs, [grad, d.array((batch, inputs, height, width), "float32")]


# Normalisation, activation, loss


def normalised(d: Draw, count: int, positive: int = 0) -> Call:
    """Return data, and ``count`` vectors along one axis.

    The last ``positive`` of them are not negative.
    """
    shape, dtype = d.shape(2, 4, 1), d.dtype(FLOATS)
    axis = d.axis(len(shape))
    vectors = [d.array((shape[axis],), dtype, 0.5 if n >= count - positive else -2) for n in range(count)]
    attrs = {"axis": axis, "epsilon": 1e-3, "center": d.flag(), "scale": d.flag()}
    return attrs, [d.array(shape, dtype), *vectors]


def group_norm(d: Draw) -> Call:
    groups, dtype = d.number(1, 3), d.dtype(("float32", "float64", "float16"))
    shape = (d.extent(1), groups * d.number(1, 2), *d.shape(0, 2, 1))
    attrs = {"num_groups": groups, "axis": 1, "epsilon": 1e-3, "center": d.flag(), "scale": d.flag()}
    return attrs, [d.array(shape, dtype), d.array((shape[1],), dtype), d.array((shape[1],), dtype)]


def instance_norm(d: Draw) -> Call:
    attrs, args = group_norm(d)
    del attrs["num_groups"]
    return attrs, args


def relax_group_norm(d: Draw) -> Call:
    attrs, args = group_norm(d)
    del attrs["axis"]
    return {**attrs, "channel_axis": 1, "axes": tuple(range(2, args[0].ndim))}, args


def relax_instance_norm(d: Draw) -> Call:
    attrs, args = relax_group_norm(d)
    del attrs["num_groups"]
    return attrs, args


def relax_layer_norm(d: Draw) -> Call:
    shape, dtype = d.shape(2, 4, 1), d.dtype(FLOATS)
    count = d.number(1, 2)
    vectors = [d.array(shape[-count:], dtype) for _ in range(2)]
    attrs = {"axes": tuple(range(-count, 0)), "epsilon": 1e-3, "center": d.flag(), "scale": d.flag()}
    return attrs, [d.array(shape, dtype), *vectors]


def rms_norm(d: Draw) -> Call:
    shape, dtype = d.shape(1, 3, 1), d.dtype(FLOATS)
    return {"axes": (-1,), "epsilon": 1e-3}, [d.array(shape, dtype), d.array(shape[-1:], dtype)]


def relax_batch_norm(d: Draw) -> Call:
    attrs, args = normalised(d, 4, 1)
    return {**attrs, "training": d.flag()}, args


def local_response(d: Draw) -> Call:
    shape = d.shape(4, 4, 1)
    return {"size": d.pick((1, 3, 5)), "axis": d.number(1, 3), "alpha": 0.25}, [
        d.array(shape, d.dtype(("float32", "float64")))
    ]


def l2_normalize(d: Draw) -> Call:
    shape = d.shape(1, 4, 1)
    return {"eps": 1e-3, "axis": d.axes(len(shape), 1)}, [d.array(shape, d.dtype(FLOATS))]


def softmax(d: Draw) -> Call:
    shape = d.shape(1, 4)
    return {"axis": d.axis(len(shape))}, [d.array(shape, d.dtype(FLOATS))]


def any_float(d: Draw) -> np.ndarray:
    return d.array(d.shape(), d.dtype(FLOATS), special=True)


def prelu(d: Draw) -> Call:
    shape, dtype = d.shape(2, 4, 1), d.dtype(FLOATS)
    axis = d.number(0, len(shape) - 1)
    return {"axis": axis}, [d.array(shape, dtype), d.array((shape[axis],), dtype)]


def nll_loss(d: Draw) -> Call:
    batch, classes, places, dtype = d.extent(1), d.number(1, 4), d.shape(0, 1, 1), d.dtype(("float32", "float64"))
    attrs = {"reduction": d.pick(("mean", "sum", "none")), "ignore_index": d.pick((-100, 0))}
    targets = d.places((batch, *places), classes, "int32")
    if attrs["reduction"] == "mean":
        attrs["ignore_index"] = -100  # The mean of nothing is not a number.
    weights = d.array((classes,), dtype, 0.5, 2)
    return attrs, [d.array((batch, classes, *places), dtype), targets, weights]


def relax_nll_loss(d: Draw) -> Call:
    attrs, (logs, targets, _) = nll_loss(d)
    return attrs, [logs, targets]


def nll_loss_backward(d: Draw) -> Call:
    attrs, (logs, targets, weights) = nll_loss(d)
    grad = d.array(targets.shape if attrs["reduction"] == "none" else (), logs.dtype.name)
    return attrs, [grad, logs, targets, *([weights] if d.flag() else [])]


def take_backward(d: Draw) -> Call:
    shape, dtype = d.shape(1, 3, 1), d.dtype(("float32", "float64", "int32"))
    axis = d.pick((None, *range(-len(shape), len(shape))))
    extent = math.prod(shape) if axis is None else shape[axis]
    places = d.places(d.shape(0, 2), extent, d.pick(("int32", "int64")))
    place = 0 if axis is None else axis % len(shape)
    taken = places.shape if axis is None else (*shape[:place], *places.shape, *shape[place + 1 :])
    return {"axis": axis}, [d.array(taken, dtype), d.array(shape, dtype), places]


def cross_entropy(d: Draw) -> Call:
    shape, dtype = (d.extent(1), d.extent(1)), d.dtype(("float32", "float64"))
    return {}, [d.array(shape, dtype, 0.125, 2), d.array(shape, dtype)]


# Padding and blocks


def pad(d: Draw) -> Call:
    shape, dtype = d.shape(1, 4, 2), d.dtype(NUMBERS)
    mode = d.pick(("constant", "constant", "edge", "reflect"))
    widths = tuple((d.number(0, 1), d.number(0, 1)) for _ in shape)
    return {"pad_width": widths, "pad_mode": mode}, [d.array(shape, dtype), d.array((), dtype)]


def relax_pad(d: Draw) -> Call:
    attrs, (data, _) = pad(d)
    widths = tuple(w for pair in attrs["pad_width"] for w in pair)
    mode = d.pick(("constant", "replicate", "reflect", "circular"))
    return {"pad_width": widths, "pad_mode": mode, "pad_value": float(d.number(0, 2))}, [data]


def mirror_pad(d: Draw) -> Call:
    shape = d.shape(1, 4, 2)
    widths = tuple((d.number(0, 1), d.number(0, 1)) for _ in shape)
    return {"mode": d.pick(("SYMMETRIC", "REFLECT")), "pad_width": widths}, [d.array(shape, d.dtype(FLOATS))]


def depth_to_space(d: Draw) -> Call:
    block, layout = d.number(1, 2), d.pick(("NCHW", "NHWC"))
    shape = arranged(layout, "NCHW", (d.extent(), block * block * d.number(1, 2), d.extent(), d.extent()))
    return {"block_size": block, "layout": layout, "mode": d.pick(("DCR", "CDR"))}, [d.array(shape, d.dtype())]


def space_to_depth(d: Draw) -> Call:
    block, layout = d.number(1, 2), d.pick(("NCHW", "NHWC"))
    shape = arranged(layout, "NCHW", (d.extent(), d.extent(1), block * d.number(1, 2), block * d.number(1, 2)))
    return {"block_size": block, "layout": layout}, [d.array(shape, d.dtype())]


def pixel_shuffle(d: Draw) -> Call:
    block = d.number(1, 2)
    return {"upscale_factor": block}, [d.array((d.extent(), block * block * d.number(1, 2), 2, 3), d.dtype())]


def space_to_batch(d: Draw) -> Call:
    block = (d.number(1, 2), d.number(1, 2))
    shape = (d.extent(1), block[0] * d.number(1, 2) - 1, block[1] * d.number(1, 3), d.extent(1))
    attrs = {"block_shape": block, "paddings": ((1, 0), (0, block[1])), "pad_value": float(d.number(0, 1))}
    return attrs, [d.array(shape, d.dtype(FLOATS))]


def batch_to_space(d: Draw) -> Call:
    block = (d.number(1, 2), d.number(1, 2))
    shape = (block[0] * block[1] * d.number(1, 2), d.number(1, 3), d.number(1, 3), d.extent(1))
    crops = tuple((d.number(0, b - 1), 0) for b in block)
    return {"block_shape": block, "crops": crops}, [d.array(shape, d.dtype(FLOATS))]


def dilate(d: Draw) -> Call:
    shape = d.shape(1, 4, 1)
    attrs = {"strides": tuple(d.number(1, 3) for _ in shape), "dilation_value": float(d.number(0, 1))}
    return attrs, [d.array(shape, d.dtype(FLOATS))]


def fifo_buffer(d: Draw) -> Call:
    shape = list(d.shape(1, 3, 1))
    axis, dtype = d.number(0, len(shape) - 1), d.dtype(FLOATS)
    buffer = d.array(shape, dtype)
    shape[axis] = d.number(1, shape[axis])
    return {"axis": axis}, [d.array(shape, dtype), buffer]


# Bits and sparse matrices


def bitpack(d: Draw) -> Call:
    attrs = {
        "bits": d.number(1, 3),
        "pack_axis": 1,
        "bit_axis": d.number(0, 2),
        "pack_type": d.pick(("uint8", "uint32")),
    }
    return attrs, [d.array((d.extent(1), 32), "int16", 0, 7)]


def bits_dense(d: Draw) -> Call:
    units = d.extent(1)
    attrs = {
        "units": units, "data_bits": d.number(1, 2), "weight_bits": d.number(1, 3), "unipolar": d.flag(),
        "pack_dtype": "uint8", "out_dtype": "int16",
    }  # fmt: skip
    return attrs, [d.array((d.extent(1), 16), "int16", 0, 7), d.array((units, 16), "int16", 0, 7)]


def bits_convolution(d: Draw) -> Call:
    outputs = d.number(1, 3)
    attrs = {
        "strides": (d.number(1, 2), 1), "padding": (1, 1, 1, 1), "channels": outputs, "weight_bits": d.number(1, 2),
        "pack_dtype": "uint8", "out_dtype": "int32", "unipolar": d.flag(),
    }  # fmt: skip
    data, weight = (
        d.array((d.extent(1), 8, d.number(3, 5), 5), "int16", 0, 7),
        d.array((outputs, 8, 3, 3), "int16", 0, 7),
    )
    return attrs, [data, weight]


def by_rows(matrix: np.ndarray) -> list[np.ndarray]:
    """Return a matrix as its elements, their columns, and where each row begins."""
    rows, columns = np.nonzero(matrix)
    starts = np.concatenate(([0], np.cumsum((matrix != 0).sum(axis=1))))
    return [matrix[rows, columns], columns.astype(np.int32), starts.astype(np.int32)]


def sparse(d: Draw, rows: int, columns: int, dtype: str = "float32") -> list[np.ndarray]:
    matrix = d.array((rows, columns), dtype, -1, 1) * (d.rng.random((rows, columns)) < 0.5)
    matrix = matrix.astype(dtype)
    matrix[0, 0] = 1
    return by_rows(matrix)


def sparse_dense(d: Draw) -> Call:
    inputs = d.number(1, 6)
    return {"sparse_lhs": d.flag()}, [d.array((d.extent(1), inputs), "float32"), *sparse(d, d.number(1, 6), inputs)]


def sparse_convolution(d: Draw) -> Call:
    inputs = 2 * d.number(1, 3)
    elements, columns, starts = sparse(d, d.number(1, 4), inputs)
    image = d.array((d.extent(1), d.number(1, 4), d.number(1, 4), inputs), "float32")
    return {"layout": "NHWC"}, [image, elements[:, None, None], columns, starts]


def sparse_add(d: Draw) -> Call:
    rows, columns = d.number(1, 6), d.number(1, 6)
    return {}, [d.array((rows, columns), "float32"), *sparse(d, rows, columns)]


def sparse_transpose(d: Draw) -> Call:
    size = d.number(1, 6)
    return {}, sparse(d, size, size)


NEURAL_EXAMPLES: dict[str, Example] = {
    **{f"nn.conv{rank}d": convolution(rank) for rank in (1, 2, 3)},
    **{f"nn.conv{rank}d_transpose": transposed_convolution(rank) for rank in (1, 2, 3)},
    **{f"nn.max_pool{rank}d": pooling(rank, False) for rank in (1, 2, 3)},
    **{f"nn.avg_pool{rank}d": pooling(rank, True) for rank in (1, 2, 3)},
    **{f"R.nn.max_pool{rank}d": pooling(rank, False) for rank in (1, 2, 3)},
    **{f"R.nn.avg_pool{rank}d": pooling(rank, True) for rank in (1, 2, 3)},
    **{f"nn.adaptive_{how}_pool{rank}d": adaptive_pooling(rank) for rank in (1, 2, 3) for how in ("avg", "max")},
    **{f"nn.global_{how}_pool2d": global_pooling for how in ("avg", "max")},
    **{f"nn.contrib_conv{rank}d_winograd_without_weight_transform": winograd(rank) for rank in (2, 3)},
    **{f"nn.contrib_conv{rank}d_winograd_weight_transform": weight_transform(rank) for rank in (2, 3)},
    **dict.fromkeys(("nn.softmax", "nn.log_softmax", "nn.fast_softmax"), softmax),
    **dict.fromkeys(("nn.cross_entropy", "nn.cross_entropy_with_logits"), cross_entropy),
    **dict.fromkeys(("nn.sparse_dense", "nn.internal.sparse_dense_padded"), sparse_dense),
    "nn.contrib_conv2d_NCHWc": packed_convolution,
    "nn.contrib_depthwise_conv2d_NCHWc": packed_depthwise_convolution,
    "nn.contrib_conv2d_gemm_weight_transform": tiled_weight,
    "nn.contrib_conv2d_gemm_without_weight_transform": tiled_convolution,
    "nn.contrib_dense_pack": packed_dense,
    "nn.deformable_conv2d": deformable,
    "nn.correlation": correlation,
    "nn.dense": dense,
    "nn.matmul": matmul,
    "nn.batch_matmul": batch_matmul,
    "R.matmul": relax_matmul,
    "R.outer": outer,
    "nn.bias_add": bias_add,
    "R.flatten": lambda d: ({}, [d.array(d.shape(), d.dtype())]),
    "nn.batch_flatten": lambda d: ({}, [d.array(d.shape(1), d.dtype())]),
    "R.nn.attention": attention,
    "nn.max_pool2d_grad": pooling_gradient(False),
    "nn.avg_pool2d_grad": pooling_gradient(True),
    "nn.conv2d_backward_weight": weight_gradient,
    "nn.batch_norm": lambda d: normalised(d, 4, 1),
    "R.nn.batch_norm": relax_batch_norm,
    "nn.layer_norm": lambda d: normalised(d, 2),
    "R.nn.layer_norm": relax_layer_norm,
    "nn.instance_norm": instance_norm,
    "nn.group_norm": group_norm,
    "R.nn.instance_norm": relax_instance_norm,
    "R.nn.group_norm": relax_group_norm,
    "R.nn.rms_norm": rms_norm,
    "nn.lrn": local_response,
    "nn.l2_normalize": l2_normalize,
    "nn.dropout": lambda d: ({"rate": 0.5}, [any_float(d)]),
    "R.nn.dropout": lambda d: ({"rate": 0.5}, [any_float(d)]),
    "nn.relu": lambda d: ({}, [d.array(d.shape(), d.dtype(NUMBERS), special=True)]),
    "nn.leaky_relu": lambda d: ({"alpha": 0.25}, [any_float(d)]),
    "nn.prelu": prelu,
    "nn.nll_loss": nll_loss,
    "R.nn.nll_loss": relax_nll_loss,
    "R.grad.nll_loss_backward": nll_loss_backward,
    "R.grad.take_backward": take_backward,
    "nn.pad": pad,
    "R.nn.pad": relax_pad,
    "nn.mirror_pad": mirror_pad,
    "nn.depth_to_space": depth_to_space,
    "nn.space_to_depth": space_to_depth,
    "R.nn.pixel_shuffle": pixel_shuffle,
    "nn.space_to_batch_nd": space_to_batch,
    "nn.batch_to_space_nd": batch_to_space,
    "nn.dilate": dilate,
    "nn.fifo_buffer": fifo_buffer,
    "nn.bitpack": bitpack,
    "nn.bitserial_dense": bits_dense,
    "nn.bitserial_conv2d": bits_convolution,
    "nn.sparse_conv2d": sparse_convolution,
    "nn.sparse_add": sparse_add,
    "nn.sparse_transpose": sparse_transpose,
}
