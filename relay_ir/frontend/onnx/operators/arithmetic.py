"""Arithmetic, comparison and logic, element by element."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from relay2relax.core.dtype import is_int
from relay2relax.relay_ir.frontend.onnx.conversion import Conversion, Convert, Value
from relay2relax.relay_ir.ir.expr import Expr, RelayExpr


def same(name: str) -> Convert:
    """The Relay operator takes the same arguments, and has no attributes."""
    return lambda at: at.call(name, *at.tensors())


def _joined(name: str) -> Convert:
    """Any number of arguments, one after the other."""
    return lambda at: reduce(lambda one, other: at.call(name, one, other), at.tensors())


def _placed(at: Conversion) -> tuple[Expr, Expr]:
    """Return two arguments as they meet; before opset 7 ``axis`` said where the second one lies."""
    left, right = at.arg(0), at.arg(1)
    if at.opset < 7 and at.attr("broadcast") and "axis" in at.node.attrs:
        behind = at.rank(left) - at.axis(left, 0) - at.rank(right)
        right = at.unsqueeze(right, [at.rank(right) + one for one in range(behind)]) if behind > 0 else right
    return left, right


def _binary(name: str) -> Convert:
    return lambda at: at.call(name, *_placed(at))


def _mean(at: Conversion) -> Expr:
    tensors = at.tensors()
    total = reduce(lambda one, other: at.call("add", one, other), tensors)
    return at.call("divide", total, at.like(len(tensors), total))


def _power(at: Conversion) -> Expr:
    """Relay has powers of floats; those of integers are exact in doubles up to 2**53."""
    base, exponent = at.arg(0), at.arg(1)
    dtype = at.dtype(base)
    wide = dtype if at.floating(base) else "float64"
    made = at.call("power", at.cast(base, wide), at.cast(exponent, wide))
    return at.cast(made, dtype)


def _modulo(at: Conversion) -> Expr:
    x, y = at.arg(0), at.arg(1)
    whole = bool(at.attr("fmod", 0))
    made = at.call("mod" if whole else "floor_mod", x, y)
    if not at.floating(x):
        return made
    # Relay takes a multiple of the divisor away, which an infinite one has not.
    rest = x
    if not whole:
        zero = at.like(0, x)
        turned = at.call("less", at.call("multiply", x, at.call("sign", y)), zero)
        rest = at.call("where", turned, y, x)
    finite = at.call("logical_and", at.call("isinf", y), at.call("isfinite", x))
    return at.call("where", finite, rest, made)


def _shift(at: Conversion) -> Expr:
    name = {"LEFT": "left_shift", "RIGHT": "right_shift"}.get(at.wanted("direction"))
    if name is None:
        at.refuse("its direction is neither LEFT nor RIGHT")
    return at.call(name, at.arg(0), at.arg(1))


def half_to_even(at: Conversion, x: Expr) -> Expr:
    """Return ``x`` rounded, halves to the even neighbour; Relay's own rounding takes them away from
    zero.
    """
    below = at.call("floor", x)
    rest = at.call("subtract", x, below)
    even = at.call("equal", at.call("floor_mod", below, at.like(2, x)), at.like(0, x))
    half = at.like(0.5, x)
    down = at.call(
        "logical_or", at.call("less", rest, half), at.call("logical_and", at.call("equal", rest, half), even)
    )
    return at.call("where", down, below, at.call("add", below, at.like(1, x)))


def _round(at: Conversion) -> Expr:
    x = at.arg()
    # An infinite number has no rest.
    return at.call("where", at.call("isfinite", x), half_to_even(at, x), x)


def _is_infinite(at: Conversion) -> Expr:
    x = at.arg()
    found = at.call("isinf", x)
    if not at.attr("detect_negative", 1):
        return at.call("logical_and", found, at.call("greater", x, at.like(0, x)))
    if not at.attr("detect_positive", 1):
        return at.call("logical_and", found, at.call("less", x, at.like(0, x)))
    return found


def _reciprocal(at: Conversion) -> Expr:
    return at.call("divide", at.like(1, at.arg()), at.arg())


# Integers up to here are floats, too.
_EXACT = 2.0**53


def _clip(at: Conversion) -> Expr:
    """Where the bounds cross, the upper one counts."""
    made = at.arg()
    low, high = (at.known(place, attr) for place, attr in ((1, "min"), (2, "max")))
    if low is not None and high is not None and low.size == high.size == 1:
        ends = float(low.item()), float(high.item())
        if ends[0] <= ends[1] and max(map(abs, ends)) <= _EXACT:
            return at.call("clip", made, a_min=ends[0], a_max=ends[1])
    for place, (attr, name) in enumerate((("min", "maximum"), ("max", "minimum")), 1):
        if attr in at.node.attrs:
            made = at.call(name, made, at.like(at.node.attrs[attr], made))
        elif at.has(place):
            made = at.call(name, made, at.cast(at.scalar(at.arg(place)), at.dtype(made)))
    return at.call("copy", made) if made is at.arg() else made


def _bitwise(name: str) -> Convert:
    return lambda at: at.call(name, *at.tensors())


def _sign(at: Conversion) -> Expr:
    x = at.arg()
    if at.dtype(x).startswith("uint"):
        return at.cast(at.call("greater", x, at.like(0, x)), at.dtype(x))
    return at.call("sign", x)


def _rounded(name: str) -> Convert:
    return lambda at: at.arg() if is_int(at.dtype(at.arg())) else at.call(name, at.arg())


def _swish(at: Conversion) -> Expr:
    x = at.arg()
    scaled = at.call("multiply", x, at.like(at.attr("alpha", 1.0), x))
    return at.call("multiply", x, at.call("sigmoid", scaled))


def _identity(at: Conversion) -> Value:
    return at.call("copy", at.arg()) if isinstance(at.args[0], RelayExpr) else at.args[0]


def _affine(at: Conversion) -> Expr:
    x = at.arg()
    scaled = at.call("multiply", x, at.like(at.attr("alpha", 1.0), x))
    return at.call("add", scaled, at.like(at.attr("beta", 0.0), x))


def _of_numbers(name: str) -> Callable[[Conversion], Expr]:
    """An operator that Relay has of floats; ONNX has it of them alone, too."""
    return lambda at: at.call(name, at.arg())


OPERATORS: dict[str, Convert] = {
    **{
        name: _of_numbers(relay)
        for name, relay in {
            "Exp": "exp", "Log": "log", "Sqrt": "sqrt", "Erf": "erf", "Sin": "sin", "Cos": "cos", "Tan": "tan",
            "Sinh": "sinh", "Cosh": "cosh", "Asin": "asin", "Acos": "acos", "Atan": "atan", "Asinh": "asinh",
            "Acosh": "acosh", "Atanh": "atanh", "Tanh": "tanh", "Sigmoid": "sigmoid", "IsNaN": "isnan", "Abs": "abs",
            "Neg": "negative", "Not": "logical_not",
        }.items()
    },
    **{
        name: _binary(relay)
        for name, relay in {
            "Add": "add", "Sub": "subtract", "Mul": "multiply", "Div": "divide", "And": "logical_and",
            "Or": "logical_or", "Xor": "logical_xor", "Equal": "equal", "Less": "less", "Greater": "greater",
            "LessOrEqual": "less_equal", "GreaterOrEqual": "greater_equal",
        }.items()
    },
    **{name: _joined(relay) for name, relay in {"Max": "maximum", "Min": "minimum", "Sum": "add"}.items()},
    **{name: _rounded(relay) for name, relay in {"Floor": "floor", "Ceil": "ceil"}.items()},
    **{f"Bitwise{word}": _bitwise(f"bitwise_{word.lower()}") for word in ("And", "Or", "Xor", "Not")},
    "Mean": _mean,
    "Pow": _power,
    "Mod": _modulo,
    "BitShift": _shift,
    "Round": _round,
    "IsInf": _is_infinite,
    "Reciprocal": _reciprocal,
    "Clip": _clip,
    "Sign": _sign,
    "Where": same("where"),
    "Swish": _swish,
    "Identity": _identity,
    "Affine": _affine,
}  # fmt: skip
