"""Numbers that are divided by a scale, rounded to an integer, and kept within bounds.

What is kept within bounds before it is rounded needs one instruction less, and becomes an integer
as it is rounded.

A division of vectors takes as long as thirty multiplications. With *y* next to 1 / *b*, *q* = *a* ·
*y* is off by two units in the last place; the rest *a* − *q* · *b*, multiplied by *y* and added to
*q*, leaves 2⁻⁴⁶ of it before it is rounded. The float next to *a* / *b*, which a division gives,
can only be another one where a number half between two floats lies so near to *a* / *b*, and the
integer next to it only if one of the two is half between integers. For each scale it is looked
whether there is such an *a* at all; mostly there is none.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from relay2relax.tir.ir.expr import Binary, Call, FloatImm, PrimExpr, binary, const

# What is called with the number, its divisor, and the float next to one over that; and with what
# becomes the integer next to it, halves the even one.
QUOTIENT, NEAREST = "quotient", "nearest"
# Bounds of the integers, and what is added to them.
_MOST = 512
# Scales for which nothing on the way is so small that digits are lost.
_LEAST, _GREATEST = 2.0**-60, 2.0**60


def nearest(value: PrimExpr) -> PrimExpr | None:
    """Return ``max(min(nearbyint(a / b) + c, d), e)`` of single precision as an integer of 32 bits,
    None where ``value`` is something else: all but ``a`` are constants, ``b`` and ``c`` may lack.
    """
    match value:
        case Binary("max", Binary("min", shifted, FloatImm(high)), FloatImm(low)) if value.dtype == "float32":
            pass
        case _:
            return None
    match shifted:
        case Binary("+", Call("nearbyint", (number,)), FloatImm(zero)):
            pass
        case Call("nearbyint", (number,)):
            zero = 0.0
        case _:
            return None
    if not all(abs(one) <= _MOST and one == int(one) for one in (high, low, zero)):
        return None
    found = _within(number, low - zero, high - zero)
    return binary("+", Call(NEAREST, (found,), "int32"), const(int(zero), "int32"))


def _within(number: PrimExpr, low: float, high: float) -> PrimExpr:
    """Return ``number`` where it lies between two integers, else the one that it lies beyond."""
    match number:
        case Binary("/", a, FloatImm(divisor) as b) if is_settled(divisor):
            scale = np.float32(divisor)
            least, most = (const(float(np.float32(one) * scale), "float32") for one in (low, high))
            y = const(float(np.float32(1) / scale), "float32")
            return Call(QUOTIENT, (binary("max", binary("min", a, most), least), b, y), "float32")
    return binary("max", binary("min", number, const(high, "float32")), const(low, "float32"))


@lru_cache(maxsize=1024)
def is_settled(scale: float) -> bool:
    """Whether no float divided by ``scale`` comes as near to half a unit beside a number half
    between integers as that the quotient may be rounded to another side.
    """
    b = np.float32(scale)
    if not _LEAST < b < _GREATEST:
        return False
    mantissa, _ = np.frexp(b)
    digits = int(np.ldexp(mantissa, 24))
    if digits == 1 << 23:
        return True  # Powers of two divide exactly.
    halves = np.arange(1, 4 * _MOST + 2, 2, dtype=np.int64)
    # As integers of 24 bits, and a quarter of their unit.
    quarters = (halves << (24 - np.frexp(halves)[1].astype(np.int64))) * 4
    beside = np.where(quarters == 1 << 25, 1, 2)
    products = np.concatenate([quarters + 2, quarters - beside]) * digits
    # The nearest number of 24 bits that could be divided: so far apart, in the products' own unit.
    unit = np.int64(1) << (np.frexp(products.astype(np.float64))[1].astype(np.int64) - 24)
    rest = products % unit
    return bool((np.minimum(rest, unit - rest) > products * 2.0**-45).all())
