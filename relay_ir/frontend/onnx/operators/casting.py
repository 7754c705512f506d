"""Changes of dtype."""

from __future__ import annotations

from relay2relax.core.dtype import bits, is_float, is_unsigned
from relay2relax.relay_ir.frontend.onnx.conversion import Conversion, Convert
from relay2relax.relay_ir.frontend.onnx.elements import LARGEST, Element, element_of
from relay2relax.relay_ir.frontend.onnx.operators.arithmetic import half_to_even
from relay2relax.relay_ir.frontend.onnx.protos import dtype_of, element_numbered
from relay2relax.relay_ir.ir.expr import Expr


def converted(at: Conversion, x: Expr, to: Element, saturate: bool = True) -> Expr:
    """Return ``x`` as ``to``. Floats of few bits end at their largest number, of integers the lower
    bits count.
    """
    if to == at.element(x):
        return at.call("copy", x)
    if to.name == "bool":
        return at.call("not_equal", x, at.like(0, x))
    if to.name == "float4_e2m1fn":
        return at.holding(_of_four_bits(at, at.cast(x, "float32")), to)
    if to.narrow:
        return at.holding(_of_lower_bits(at, x, to), to)
    if to.name not in LARGEST or not saturate:
        return at.cast(x, to.dtype)
    limit, wide = LARGEST[to.name], at.cast(x, "float32")
    inside = at.call("clip", wide, a_min=-limit, a_max=limit)
    return at.cast(at.call("where", at.call("isnan", wide), wide, inside), to.dtype)


def _of_lower_bits(at: Conversion, x: Expr, to: Element) -> Expr:
    """Return ``x`` as an integer of few bits."""
    wide = at.cast(x, "int32")
    count = 1 << bits(to.name)
    lowest = at.const(0 if is_unsigned(to.name) else count // 2, "int32")
    turned = at.call("floor_mod", at.call("add", wide, lowest), at.const(count, "int32"))
    return at.cast(at.call("subtract", turned, lowest), to.dtype)


def _of_four_bits(at: Conversion, x: Expr) -> Expr:
    """Return ``x`` as the nearest float of two bits of exponent and one of mantissa, which has no
    NaN.
    """
    inside = at.call("clip", x, a_min=-6.0, a_max=6.0)
    size = at.call("abs", inside)
    steps: Expr = at.like(0.5, x)
    for limit, step in ((2.0, 1.0), (4.0, 2.0)):
        steps = at.call("where", at.call("less", size, at.like(limit, x)), steps, at.like(step, x))
    made = at.call("multiply", half_to_even(at, at.call("divide", inside, steps)), steps)
    return at.cast(at.call("where", at.call("isnan", x), at.like(0, x), made), "float16")


def _cast(at: Conversion) -> Expr:
    to = at.wanted("to")
    element = element_of(to.lower()) if isinstance(to, str) else element_numbered(to)
    x = at.arg()
    if element.name == "float8_e8m0fnu" and is_float(at.dtype(x)) and at.dtype(x) != element.name:
        return _power_of_two(at, x, str(at.attr("round_mode", "up")))
    return converted(at, x, element, bool(at.attr("saturate", 1)))


def _power_of_two(at: Conversion, x: Expr, mode: str) -> Expr:
    """Return positive ``x`` as the power of two that is next to it: above, below, or the nearer."""
    if mode not in ("up", "down", "nearest"):
        at.refuse(f"it rounds {mode}")
    wide = at.cast(x, "float32")
    whole = at.call("reinterpret", wide, dtype="int32")
    mantissa = at.call("bitwise_and", whole, at.const((1 << 23) - 1, "int32"))
    least = {"up": 1, "nearest": 1 << 22, "down": 1 << 23}[mode]
    more = at.cast(at.call("greater_equal", mantissa, at.const(least, "int32")), "int32")
    exponent = at.call("right_shift", at.call("subtract", whole, mantissa), at.const(23, "int32"))
    # All bits set are NaN; infinity becomes it as well.
    made = at.call("clip", at.call("add", exponent, more), a_min=0.0, a_max=254.0)
    made = at.call("where", at.call("isnan", wide), at.const(255, "int32"), made)
    return at.call("reinterpret", at.cast(made, "uint8"), dtype="float8_e8m0fnu")


def _cast_like(at: Conversion) -> Expr:
    return converted(at, at.arg(0), at.element(at.arg(1)), bool(at.attr("saturate", 1)))


def _bit_cast(at: Conversion) -> Expr:
    return at.call("reinterpret", at.arg(), dtype=dtype_of(at.wanted("to")))


OPERATORS: dict[str, Convert] = {"Cast": _cast, "CastLike": _cast_like, "BitCast": _bit_cast}
