"""Padding before convolutions and pools, as padding of their own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.core.passes import Pass
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Op
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.transform.infrastructure import rewrite_calls
from relay2relax.relay_ir.transform.parts import is_call, scalar_value

_CONVOLUTIONS = ("nn.conv1d", "nn.conv2d", "nn.conv3d", "qnn.conv2d")
_AVERAGES = ("nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d")
_MAXIMA = ("nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d")
_SPATIAL = frozenset("DHW")


@dataclass(frozen=True, slots=True)
class FoldExplicitPadding(Pass[IRModule]):
    """Let convolutions and pools do what an ``nn.pad`` before them does.

    That is possible where only spatial axes are padded, and with the value that the operator itself
    takes for elements outside: 0 for convolutions and averages, the least number for maxima, the
    zero point for quantised convolutions. An average then counts what is padded.
    """

    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with such paddings folded; infers types where ``mod`` has none."""
        return rewrite_calls(mod, _folded)


def _folded(call: Call, types: TypeTable) -> Expr:
    while is_call(call, *_CONVOLUTIONS, *_AVERAGES, *_MAXIMA) and is_call(call.args[0], "nn.pad"):
        pad = call.args[0]
        assert isinstance(pad, Call)
        attrs = _with_padding(call, pad) if _pads_with_neutral(call, pad) else None
        if attrs is None:
            break
        call = replace(call, args=(pad.args[0], *call.args[1:]), attrs=attrs)
    return call


def _pads_with_neutral(call: Call, pad: Call) -> bool:
    """Whether ``pad`` pads with what ``call`` takes for elements outside."""
    value = pad.args[1]
    if pad.attrs.pad_mode != "constant" or not isinstance(value, Constant):
        return False
    if is_call(call, "qnn.conv2d"):
        zero_point = call.args[2]
        known = isinstance(zero_point, Constant) and zero_point.tensor_type == value.tensor_type
        return known and scalar_value(zero_point) == scalar_value(value) is not None
    number = value.data.reshape(-1)[0]
    return bool(number == (_least(value.data) if is_call(call, *_MAXIMA) else 0))


def _least(data: Array) -> float:
    """Return the least finite number of the dtype of ``data``."""
    kinds = {"f": np.finfo, "i": np.iinfo, "u": np.iinfo}
    limits: Any = kinds.get(data.dtype.kind)
    return limits(data.dtype).min if limits is not None else 0


def _with_padding(call: Call, pad: Call) -> Any:
    """Return the attributes of ``call`` with the widths of ``pad`` added, None where they cannot
    be.
    """
    assert isinstance(call.op, Op)
    attrs = call.attrs
    widths = _spatial_widths(pad, attrs.layout if hasattr(attrs, "layout") else attrs.data_layout)
    own = tuple(attrs.padding)
    if widths is None or len(widths) % len(own):
        return None
    own = own * (len(widths) // len(own))
    given = {"padding": tuple(first + second for first, second in zip(widths, own, strict=True))}
    if call.op.name not in _AVERAGES or attrs.count_include_pad:
        return replace(attrs, **given)
    # The divisor counts what the pad made, and would not have counted what the pool pads itself.
    return None if any(own) else replace(attrs, count_include_pad=True, **given)


def _spatial_widths(pad: Call, layout: str) -> tuple[int, ...] | None:
    """Return the widths before the spatial axes, then those behind them; None where other axes are
    padded.
    """
    widths = pad.attrs.pad_width
    if len(layout) != len(widths):
        return None
    pairs = list(zip(layout, widths, strict=True))
    if any(letter not in _SPATIAL and any(pair) for letter, pair in pairs):
        return None
    return tuple(pair[end] for end in (0, 1) for letter, pair in pairs if letter in _SPATIAL)
