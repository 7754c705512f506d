"""Layers with weights of their own, named after the layer; their types are left to inference."""

from __future__ import annotations

from collections.abc import Sequence

from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.errors.table import translating
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.build.build import var
from relay2relax.relay_ir.ir.expr import Expr, TupleGetItem

# The layout of weights that TVM's networks have beside one of data.
KERNELS = {"NCHW": "OIHW", "NHWC": "HWIO", "NCDHW": "OIDHW", "NDHWC": "DHWIO"}


def channel_axis(layout: str, *known: str) -> int:
    """Return the axis of channels; raises Relay2RelaxError for a layout that is not among the
    ``known``.
    """
    if layout not in known:
        raise Relay2RelaxError(
            f"the network has the layouts {' and '.join(known)}, not {layout!r}", kind=translating.CHOICE
        )
    return layout.index("C")


def conv2d(
    data: Expr,
    name: str,
    channels: int,
    kernel: int,
    stride: int = 1,
    padding: int = 0,
    groups: int = 1,
    layout: str = "NCHW",
) -> Expr:
    """Return a convolution with a square window and the weight ``<name>_weight``."""
    return conv2d_window(data, name, channels, (kernel, kernel), stride, (padding, padding), groups, layout)


def conv2d_window(
    data: Expr,
    name: str,
    channels: int,
    kernel: tuple[int, int],
    stride: int = 1,
    padding: tuple[int, int] = (0, 0),
    groups: int = 1,
    layout: str = "NCHW",
) -> Expr:
    """Return a convolution with a window of any extents and the weight ``<name>_weight``.

    With groups it is depthwise.
    """
    result: Expr = op.nn.conv2d(
        data,
        var(f"{name}_weight"),
        strides=[stride, stride],
        padding=[*padding, *padding],
        channels=channels,
        kernel_size=kernel,
        groups=groups,
        data_layout=layout,
        kernel_layout="HWOI" if layout == "NHWC" and groups > 1 else KERNELS[layout],
    )
    return result


def conv2d_bias(
    data: Expr, name: str, channels: int, kernel: int, stride: int = 1, padding: int = 0, layout: str = "NCHW"
) -> Expr:
    """Return a convolution and the addition of ``<name>_bias``."""
    body = conv2d(data, name, channels, kernel, stride, padding, layout=layout)
    result: Expr = op.nn.bias_add(body, var(f"{name}_bias"), axis=layout.index("C"))
    return result


def batch_norm(data: Expr, name: str, **attrs: object) -> Expr:
    """Return the first result of a batch normalisation with parameters ``<name>_gamma``, ``_beta``
    and so on.
    """
    parameters = [var(f"{name}_{part}") for part in ("gamma", "beta", "moving_mean", "moving_var")]
    return item(op.nn.batch_norm(data, *parameters, **attrs), 0)


def item(value: Expr, index: int) -> Expr:
    """Return field ``index`` of a tuple."""
    return TupleGetItem(value, index)


def dense(data: Expr, name: str, units: int, axis: int = -1) -> Expr:
    """Return a product with ``<name>_weight`` and the addition of ``<name>_bias`` along
    ``axis``.
    """
    product = op.nn.dense(data, var(f"{name}_weight"), units=units)
    result: Expr = op.nn.bias_add(product, var(f"{name}_bias"), axis=axis)
    return result


def max_pool2d(data: Expr, size: int, stride: int, padding: int = 0, layout: str = "NCHW") -> Expr:
    """Return a maximum over square windows."""
    result: Expr = op.nn.max_pool2d(
        data, pool_size=[size, size], strides=[stride, stride], padding=[padding] * 4, layout=layout
    )
    return result


def avg_pool2d(data: Expr, size: int, stride: int, padding: int = 0) -> Expr:
    """Return a mean over square windows, what lies outside left out."""
    result: Expr = op.nn.avg_pool2d(data, pool_size=[size, size], strides=[stride, stride], padding=[padding] * 4)
    return result


def classifier(data: Expr, name: str, classes: int, axis: int = -1, layout: str = "NCHW") -> Expr:
    """Return global pooling, a fully connected layer and softmax."""
    flat = op.nn.batch_flatten(op.nn.global_avg_pool2d(data, layout=layout))
    result: Expr = op.nn.softmax(dense(flat, name, classes, axis))
    return result


def concatenate(parts: Sequence[Expr]) -> Expr:
    """Return the parts joined along the channels of NCHW."""
    result: Expr = op.concatenate(list(parts), axis=1)
    return result
