"""Products of integers with the quotient of two scales.

Source of the semantics: TVM 0.18 src/relay/quantize/realize.cc and src/relay/qnn/utils.cc.
"""

from __future__ import annotations

import math

import numpy as np

from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Expr
from relay2relax.relay_ir.quantize.config import current_qconfig
from relay2relax.relay_ir.transform.parts import scalar


def multiplier_and_shift(ratio: float) -> tuple[int, int]:
    """Return ``m`` of 31 bits and ``s`` such that ``m / 2**31 * 2**s`` is nearest to ``ratio``."""
    fraction, exponent = math.frexp(ratio)
    # Halves go away from zero, and quotients of scales are not below it.
    multiplier = math.floor(fraction * (1 << 31) + 0.5)
    return (multiplier // 2, exponent + 1) if multiplier == 1 << 31 else (multiplier, exponent)


def multiplied(data: Expr, ratio: np.float32, shaped_as: Expr, types: TypeTable) -> Expr:
    """Return integers times a ratio in fixed point, rounded as the configuration says.

    ``shaped_as`` has their shape.
    """
    multiplier, shift = multiplier_and_shift(float(ratio))
    if current_qconfig().rounding == "UPWARD":
        moved: Expr = op.fixed_point_multiply(data, multiplier=multiplier, shift=shift)
        return moved
    return _to_nearest(op.cast(data, dtype="int64"), multiplier, shift, shaped_as, types)


def _to_nearest(wide: Expr, multiplier: int, shift: int, shaped_as: Expr, types: TypeTable) -> Expr:
    ty = types.tensor(shaped_as)
    if ty is None:
        raise UnsupportedError("products with fixed-point numbers to the nearest need the shape of the operand")
    if shift > 0:
        wide = op.left_shift(wide, scalar(shift, "int64"))
    wide = op.multiply(wide, scalar(multiplier, "int64"))
    right = 31 + max(-shift, 0)
    half = 1 << (right - 1)
    up, down = (op.full(scalar(one, "int64"), shape=ty.shape, dtype="int64") for one in (half, half - 1))
    rounder = op.where(op.greater_equal(wide, op.zeros(shape=ty.shape, dtype="int64")), up, down)
    shifted = op.right_shift(op.add(wide, rounder), scalar(right, "int64"))
    result: Expr = op.cast(shifted, dtype="int32")
    return result


def scaled_up(
    data: Expr, present: np.float32, wanted: np.float32, dtype: str, shaped_as: Expr, types: TypeTable
) -> Expr:
    """Return integers of the scale ``present`` as integers of the finer scale ``wanted``.

    Raises UnsupportedError where that is not finer.
    """
    if present == wanted:
        return data
    factor = present / wanted
    places = np.log2(factor)
    if not places > 0:
        raise UnsupportedError(f"integers of the scale {present} lose digits at the scale {wanted}")
    result: Expr
    if int(places) == places:
        result = op.left_shift(data, scalar(int(places), dtype))
    elif int(factor) == factor:
        result = op.multiply(data, scalar(float(factor), dtype))
    else:
        result = op.cast(multiplied(data, factor, shaped_as, types), dtype=dtype)
    return result
