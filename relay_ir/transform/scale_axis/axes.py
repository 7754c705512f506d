"""Scales along axes: what products and convolutions can take, and in which form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr
from relay2relax.relay_ir.ir.types import TensorType
from relay2relax.relay_ir.transform.parts import along, is_call
from relay2relax.tir.extent import static

CONVOLUTIONS = ("nn.conv2d", "nn.conv3d")
RELUS = ("nn.relu", "nn.leaky_relu")
SUMS = ("add", "subtract")


@dataclass(frozen=True, slots=True)
class Message:
    """Along which axes a tensor may be scaled, and whether only by positive numbers."""

    axes: tuple[int, ...]
    positive: bool = False


def layout_axes(layout: str) -> str:
    """Return a letter for each axis: those of ``NCHW4c`` are ``NCHWc``."""
    return "".join(letter for letter in layout if letter.isalpha())


def channels_of(conv: Call, layout: str, types: TypeTable) -> Message | None:
    """Return along which axes of a tensor in ``layout``, the convolution's input or result, the
    weight can take a scale.

    None where it cannot: for grouped convolutions that are not depthwise, and layouts that split
    the channels of some operands only.
    """
    weight = types.tensor(conv.args[1])
    if weight is None or not (conv.attrs.groups == 1 or is_depthwise(conv, types)):
        return None
    kernel, letters = layout_axes(conv.attrs.kernel_layout), layout_axes(layout)
    split = {"o" in kernel, "i" in kernel, "c" in letters}
    known = all(static(extent) is not None for extent in weight.shape)
    if len(split) > 1 or "C" not in letters or not known:
        return None
    return Message(tuple(letters.index(letter) for letter in "Cc" if letter in letters))


def is_depthwise(conv: Call, types: TypeTable) -> bool:
    """Whether each channel of the convolution is computed of one channel of its input."""
    weight = types.tensor(conv.args[1])
    kernel = layout_axes(conv.attrs.kernel_layout)
    if weight is None or len(kernel) != len(weight.shape):
        return False
    sizes = {"O": 1, "I": 1}
    for letter, extent in zip(kernel, weight.shape, strict=True):
        if letter in "OIoi":
            sizes[letter.upper()] *= static(extent) or 0
    return sizes == {"O": conv.attrs.groups, "I": 1}


def scaled_weight(conv: Call, weight: Expr, scale: Expr, inputs: bool, types: TypeTable) -> Expr:
    """Return ``weight`` multiplied by a scale of its outputs, or with ``inputs`` of its inputs."""
    attrs: Any = conv.attrs
    kernel = layout_axes(attrs.kernel_layout)
    letters = "Ii" if inputs and not is_depthwise(conv, types) else "Oo"
    ty = types.tensor(conv.args[1])
    assert ty is not None
    places = tuple(kernel.index(letter) for letter in letters if letter in kernel)
    result: Expr = op.multiply(weight, matching(scale, ty, places))
    return result


def matching(scale: Expr, ty: TensorType, axes: tuple[int, ...]) -> Expr:
    """Return ``scale`` in a shape that broadcasts along ``axes`` of a tensor of type ``ty``."""
    if len(axes) == 1:
        return along(scale, len(ty.shape), axes)
    shape = [static(extent) if axis in axes else 1 for axis, extent in enumerate(ty.shape)]
    result: Expr = op.reshape(scale, shape)
    return result


def broadcasts(left: TensorType, right: TensorType, axes: tuple[int, ...]) -> bool:
    """Whether ``right`` is repeated along all axes of ``left`` but ``axes``, where both agree."""
    lead = len(left.shape) - len(right.shape)
    if lead < 0 or any(axis < lead for axis in axes):
        return False
    return all(
        left.shape[axis] == right.shape[axis - lead] if axis in axes else static(right.shape[axis - lead]) == 1
        for axis in range(lead, len(left.shape))
    )


def as_scale(factor: Expr, left: TensorType, right: TensorType, axes: tuple[int, ...]) -> Expr | None:
    """Return ``factor``, of type ``right``, as a scale along ``axes`` of a tensor of type ``left``
    and of as many dimensions; None where it is not one.
    """
    if not right.shape:
        extents = [static(left.shape[axis]) for axis in axes]
        if any(extent is None for extent in extents):
            return None
        scale: Expr = op.expand_dims(factor, axis=0, num_newaxis=len(axes))
        for place, extent in enumerate(extents):
            scale = op.repeat(scale, repeats=extent, axis=place)
        return scale
    if not broadcasts(left, right, axes):
        return None
    lead = len(left.shape) - len(right.shape)
    ones = [axis - lead for axis in range(lead, len(left.shape)) if axis not in axes]
    result: Expr = op.squeeze(factor, axis=ones) if ones else factor
    return result


def allowed(message: Message, scale: Expr) -> bool:
    """Whether ``scale`` has no negative numbers, as far as that is asked for."""
    return not message.positive or _is_positive(scale)


def can_divide(scale: Expr) -> bool:
    """Whether nothing is known to be zero in ``scale``."""
    constant = _constant_of(scale)
    return constant is None or bool(constant.data.all())


def _is_positive(expr: Expr) -> bool:
    constant = _constant_of(expr)
    return constant is not None and not bool(np.any(np.less(constant.data, 0)))


def _constant_of(expr: Expr) -> Constant | None:
    """Return the constant that ``expr`` is another shape of, None where it is not."""
    while isinstance(expr, Call) and is_call(expr, "expand_dims", "repeat", "reshape", "squeeze", "transpose"):
        expr = expr.args[0]
    return expr if isinstance(expr, Constant) else None
