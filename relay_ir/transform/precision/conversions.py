"""Which operators compute in lower precision: TVM's lists, and what users register."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from relay2relax.relay_ir.ir.expr import Call, Op
from relay2relax.relay_ir.transform.layout.op_attrs import op_attr, register_op_attr

# Always in lower precision; where all operands are; never.
MIXED_PRECISION_ALWAYS, MIXED_PRECISION_FOLLOW, MIXED_PRECISION_NEVER = 0, 1, 2
CONVERSION = "FTVMMixedPrecisionConversionType"

# (call, dtype of lower precision) -> (category, dtype to add up in, dtype of the result)
Convert: TypeAlias = Callable[[Call, str], Sequence[object]]

_ALWAYS = """
    nn.batch_matmul nn.conv1d nn.conv1d_transpose nn.conv2d nn.conv2d_transpose nn.conv3d nn.conv3d_transpose nn.dense
"""
_FOLLOW = """
    add argmax argmin argwhere broadcast_to_like cast cast_like clip concatenate copy divide dyn.broadcast_to dyn.full
    dyn.reshape dyn.strided_slice dyn.tile expand_dims fast_erf fast_exp fast_tanh full greater greater_equal
    image.resize2d less less_equal max maximum min minimum multiply nn.adaptive_max_pool1d nn.adaptive_max_pool2d
    nn.adaptive_max_pool3d nn.avg_pool1d nn.avg_pool2d nn.avg_pool3d nn.batch_flatten nn.batch_norm nn.bias_add
    nn.depth_to_space nn.dropout nn.global_max_pool2d nn.leaky_relu nn.max_pool1d nn.max_pool2d nn.max_pool3d nn.pad
    nn.prelu nn.relu reshape scatter scatter_elements scatter_nd shape_of sigmoid split sqrt squeeze strided_slice
    subtract take tanh tile transpose where zeros
"""
# Their results are much larger than their operands, or are long sums.
_NEVER = """
    arange erf exp mean nn.adaptive_avg_pool1d nn.adaptive_avg_pool2d nn.adaptive_avg_pool3d nn.cross_entropy
    nn.cross_entropy_with_logits nn.global_avg_pool2d nn.l2_normalize nn.layer_norm nn.softmax power sum variance
"""
_CATEGORIES: Mapping[str, int] = {
    name: category
    for category, names in (
        (MIXED_PRECISION_ALWAYS, _ALWAYS),
        (MIXED_PRECISION_FOLLOW, _FOLLOW),
        (MIXED_PRECISION_NEVER, _NEVER),
    )
    for name in names.split()
}


@dataclass(frozen=True, slots=True)
class Conversion:
    """How one call is converted: its category, the dtype it adds up in, and that of its result."""

    category: int
    accumulation: str
    output: str


def register_mixed_precision_conversion(op_name: str, func: Convert | None = None) -> Any:
    """Register ``func(call, dtype)`` for ``ToMixedPrecision``, or decorate with it.

    It returns the category (0: always in ``dtype``, 1: where all operands are, 2: never), the dtype
    in which the operator adds up, and the dtype of the result.
    """
    return register_op_attr(op_name, CONVERSION, func)


def conversion_of(call: Call, dtype: str) -> Conversion | None:
    """Return how a call of an operator is converted to ``dtype``, None where nobody said.

    What users registered comes before TVM's lists.
    """
    assert isinstance(call.op, Op)
    registered = op_attr(call.op.name, CONVERSION)
    if registered is not None:
        category, accumulation, output = registered(call, dtype)
        return Conversion(int(category), str(accumulation), str(output))
    known = _CATEGORIES.get(call.op.name)
    return None if known is None else Conversion(known, dtype, dtype)
