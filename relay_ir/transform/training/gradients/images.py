"""The gradients of convolutions and pools over images."""

from __future__ import annotations

from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Expr
from relay2relax.relay_ir.transform.training.gradients.reductions import extremum
from relay2relax.relay_ir.transform.training.gradients.rules import Rules, op_name, static_shape, tensor


def _turned(value: Expr, source: str, result: str, call: Call) -> Expr:
    """Return a tensor with its axes in the order of another layout.

    Raises UnsupportedError for layouts that divide axes.
    """
    if source == result:
        return value
    if sorted(source) != sorted(result):
        raise UnsupportedError(f"the gradient of {op_name(call)} is not known in the layout {source}")
    turned: Expr = op.transpose(value, [source.index(axis) for axis in result])
    return turned


def _padding(call: Call) -> list[int]:
    """Return the padding at the top, left, bottom and right."""
    given = [int(one) for one in call.attrs.padding]
    return (given * 4)[:4] if len(given) < 4 else given


def _conv2d(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    """Differentiate by a transposed convolution of the gradient, and a convolution of it with the
    data.
    """
    attrs, (data, weight) = call.attrs, call.args
    layout, of_weight = attrs.data_layout, attrs.kernel_layout
    images = _turned(data, layout, "NCHW", call)
    kernels = _turned(weight, of_weight, "OIHW", call)
    above = op.cast_like(_turned(grad, attrs.out_layout or layout, "NCHW", call), data)
    shape, kernel = static_shape(data, types, call), static_shape(weight, types, call)
    result = static_shape(call, types, call)
    size = [kernel[of_weight.index(axis)] for axis in "HW"]
    channels = result[(attrs.out_layout or layout).index("C")]
    of_each = [kernel[of_weight.index(axis)] for axis in "OI"]
    if of_each[0] != channels:
        # The weight of a depthwise convolution: so many kernels for each channel.
        kernels = op.reshape(kernels, [channels, 1, *size])
    strides, dilation = ([int(one) for one in given] for given in (attrs.strides, attrs.dilation))
    padding = _padding(call)
    rest = [
        shape[layout.index(axis)]
        - (result[(attrs.out_layout or layout).index(axis)] - 1) * strides[place]
        + padding[place]
        + padding[place + 2]
        - (size[place] - 1) * dilation[place]
        - 1
        for place, axis in enumerate("HW")
    ]
    spread = op.nn.dilate(kernels, [1, 1, *dilation]) if dilation != [1, 1] else kernels
    of_data = op.nn.conv2d_transpose(
        above,
        spread,
        channels=shape[layout.index("C")],
        kernel_size=[(one - 1) * step + 1 for one, step in zip(size, dilation, strict=True)],
        strides=strides,
        padding=padding,
        groups=attrs.groups,
        output_padding=rest,
        out_dtype=tensor(data, types).dtype,
    )
    of_kernels = op.nn.conv2d_backward_weight(
        above,
        images,
        strides=strides,
        padding=padding,
        dilation=dilation,
        groups=attrs.groups,
        channels=channels,
        kernel_size=size,
        out_dtype=tensor(data, types).dtype,
    )
    if of_each[0] != channels:
        of_kernels = op.reshape(of_kernels, [*of_each, *size])
    found = op.cast_like(_turned(of_kernels, "OIHW", of_weight, call), weight)
    return [_turned(of_data, "NCHW", layout, call), found]


def _conv2d_transpose(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    """Differentiate by the convolution that this one is the transpose of."""
    attrs, (data, weight) = call.attrs, call.args
    layout = attrs.data_layout
    # What the transposed convolution takes in is what the other gives out.
    of_weight = attrs.kernel_layout.translate(str.maketrans("IO", "OI"))
    images = _turned(data, layout, "NCHW", call)
    kernels = _turned(weight, of_weight, "OIHW", call)
    above = op.cast_like(_turned(grad, attrs.out_layout or layout, "NCHW", call), data)
    kernel = static_shape(weight, types, call)
    options = {
        "strides": attrs.strides,
        "padding": _padding(call),
        "dilation": attrs.dilation,
        "groups": attrs.groups,
        "channels": kernel[of_weight.index("O")],
        "kernel_size": [kernel[of_weight.index(axis)] for axis in "HW"],
        "out_dtype": tensor(data, types).dtype,
    }
    of_data = op.nn.conv2d(above, kernels, **options)
    of_kernels = op.nn.conv2d_backward_weight(images, above, **options)
    found = op.cast_like(_turned(of_kernels, "OIHW", of_weight, call), weight)
    return [_turned(of_data, "NCHW", layout, call), found]


def _pool(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    attrs = call.attrs
    if any(int(one) != 1 for one in attrs.dilation):
        raise UnsupportedError(f"the gradient of {op_name(call)} is known without dilation only")
    options: dict[str, object] = {
        "pool_size": attrs.pool_size,
        "strides": attrs.strides,
        "padding": attrs.padding,
        "layout": attrs.layout,
        "ceil_mode": attrs.ceil_mode,
    }
    if op_name(call) == "nn.max_pool2d":
        return [op.nn.max_pool2d_grad(grad, call.args[0], **options)]
    return [op.nn.avg_pool2d_grad(grad, call.args[0], **options, count_include_pad=attrs.count_include_pad)]


def _global_average(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    data, layout = call.args[0], call.attrs.layout
    shape = static_shape(data, types, call)
    whole = [shape[layout.index(axis)] for axis in "HW"]
    return [op.nn.avg_pool2d_grad(grad, data, pool_size=whole, strides=(1, 1), padding=(0, 0), layout=layout)]


def _global_maximum(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    return [extremum(call, grad, [call.attrs.layout.index(axis) for axis in "HW"], call)]


def _adaptive_average(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    """Differentiate where all windows are of one size; raises UnsupportedError otherwise."""
    data, layout = call.args[0], call.attrs.layout
    shape, result = static_shape(data, types, call), static_shape(call, types, call)
    axes = [layout.index(axis) for axis in "HW"]
    if any(shape[axis] % result[axis] for axis in axes):
        raise UnsupportedError(f"the gradient of {op_name(call)} is known for windows of one size only")
    size = [shape[axis] // result[axis] for axis in axes]
    return [op.nn.avg_pool2d_grad(grad, data, pool_size=size, strides=size, padding=(0, 0), layout=layout)]


RULES: Rules = {
    "nn.adaptive_avg_pool2d": _adaptive_average,
    "nn.avg_pool2d": _pool,
    "nn.conv2d": _conv2d,
    "nn.conv2d_transpose": _conv2d_transpose,
    "nn.global_avg_pool2d": _global_average,
    "nn.global_max_pool2d": _global_maximum,
    "nn.max_pool2d": _pool,
}
