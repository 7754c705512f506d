"""Convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay2relax.relay_ir.frontend.onnx.conversion import Conversion, Convert
from relay2relax.relay_ir.ir.expr import Expr

LAYOUTS = {1: ("NCW", "OIW"), 2: ("NCHW", "OIHW"), 3: ("NCDHW", "OIDHW")}


def windows(at: Conversion, data: Expr, kernel: Sequence[int]) -> dict[str, Any]:
    """Return strides, dilation and padding of windows over the axes behind the first two."""
    rank = len(kernel)
    strides, dilation = at.attr("strides", [1] * rank), at.attr("dilations", [1] * rank)
    padding = at.attr("pads", [0] * (2 * rank))
    automatic = at.attr("auto_pad", "NOTSET")
    if automatic == "VALID":
        padding = [0] * (2 * rank)
    elif automatic.startswith("SAME"):
        reach = [(size - 1) * step + 1 for size, step in zip(kernel, dilation, strict=True)]
        if all(stride == 1 for stride in strides):
            over = [one - 1 for one in reach]
        else:
            # As many windows as strides demand, whatever the extent.
            extents = at.shape(data)[2:]
            over = [
                max((-(-extent // stride) - 1) * stride + one - extent, 0)
                for extent, stride, one in zip(extents, strides, reach, strict=True)
            ]
        less, more = [one // 2 for one in over], [one - one // 2 for one in over]
        padding = less + more if automatic == "SAME_UPPER" else more + less
    return {"strides": tuple(strides), "dilation": tuple(dilation), "padding": tuple(padding)}


def _convolution(at: Conversion) -> Expr:
    data, weight = at.arg(0), at.arg(1)
    shape = at.shape(weight)
    rank = len(shape) - 2
    if rank not in LAYOUTS:
        at.refuse(f"it has {rank} spatial axes")
    kernel = tuple(at.attr("kernel_shape", shape[2:]))
    made = at.call(
        f"nn.conv{rank}d", data, weight, groups=at.attr("group", 1), channels=shape[0], kernel_size=kernel,
        **windows(at, data, kernel),
    )  # fmt: skip
    return at.call("nn.bias_add", made, at.arg(2)) if at.has(2) else made


def _transposed(at: Conversion) -> Expr:
    data, weight = at.arg(0), at.arg(1)
    shape = at.shape(weight)
    rank, groups = len(shape) - 2, at.attr("group", 1)
    if rank not in LAYOUTS:
        at.refuse(f"it transposes {rank} spatial axes")
    kernel = tuple(at.attr("kernel_shape", shape[2:]))
    strides, dilation = at.attr("strides", [1] * rank), at.attr("dilations", [1] * rank)
    extra = at.attr("output_padding", [0] * rank)
    padding = at.attr("pads", [0] * (2 * rank))
    automatic, wanted = at.attr("auto_pad", "NOTSET"), at.attr("output_shape")
    reach = [(size - 1) * step + 1 for size, step in zip(kernel, dilation, strict=True)]
    if wanted or automatic.startswith("SAME"):
        extents = at.shape(data)[2:]
        wanted = wanted[-rank:] if wanted else [e * s for e, s in zip(extents, strides, strict=True)]
        over = [
            stride * (extent - 1) + more + one - out
            for stride, extent, more, one, out in zip(strides, extents, extra, reach, wanted, strict=True)
        ]
        extra = [more + max(-one, 0) for more, one in zip(extra, over, strict=True)]
        less = [max(one, 0) // 2 for one in over]
        rest = [max(one, 0) - half for one, half in zip(over, less, strict=True)]
        padding = less + rest if automatic == "SAME_UPPER" or not automatic.startswith("SAME") else rest + less
        if automatic == "NOTSET":
            padding = rest + less if at.opset < 11 else less + rest
    elif automatic == "VALID":
        padding = [0] * (2 * rank)
    given = {
        "strides": tuple(strides), "dilation": tuple(dilation), "padding": tuple(padding), "groups": groups,
        "channels": shape[1] * groups, "kernel_size": kernel,
    }  # fmt: skip
    # What is added behind may be more than Relay's output_padding may be: less than a stride.
    fits = all(more < stride for more, stride in zip(extra, strides, strict=True))
    given["output_padding"] = tuple(extra if fits else [0] * rank)
    made = at.call(f"nn.conv{rank}d_transpose", data, weight, **given)
    if not fits:
        widths = [(0, 0), (0, 0), *((0, more) for more in extra)]
        made = at.call("nn.pad", made, tuple(widths), at.like(0, made))
    return at.call("nn.bias_add", made, at.arg(2)) if at.has(2) else made


def _deformable(at: Conversion) -> Expr:
    data, weight, offset = at.arg(0), at.arg(1), at.arg(2)
    shape = at.shape(weight)
    if at.has(4):
        at.refuse("it has a mask")
    kernel = tuple(at.attr("kernel_shape", shape[2:]))
    made = at.call(
        "nn.deformable_conv2d", data, offset, weight, groups=at.attr("group", 1),
        deformable_groups=at.attr("offset_group", 1), channels=shape[0], kernel_size=kernel,
        **windows(at, data, kernel),
    )  # fmt: skip
    return at.call("nn.bias_add", made, at.arg(3)) if at.has(3) else made


OPERATORS: dict[str, Convert] = {"Conv": _convolution, "ConvTranspose": _transposed, "DeformConv": _deformable}
