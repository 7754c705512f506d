"""Arithmetic over elements.

Of numbers that are known beforehand, such as extents, the result is a number again.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from relay2relax.core.dtype import is_float
from relay2relax.relay_ir.frontend.pytorch.context import Conversion, Number, Value
from relay2relax.relay_ir.frontend.pytorch.operators.record import Convert, records
from relay2relax.relay_ir.ir.expr import Expr, RelayExpr

_NUMBERS: Mapping[str, Callable[[Number, Number], Number]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
    "floor_divide": operator.floordiv,
}  # fmt: skip


def _known(at: Conversion, name: str) -> Number | None:
    """Return the result over two numbers, None where an operand is a tensor."""
    one, other = at.value(0), at.value(1)
    if name not in _NUMBERS or not isinstance(one, (int, float)) or not isinstance(other, (int, float)):
        return None
    if name in ("divide", "floor_divide") and not other:
        at.refuse("it divides by 0")
    return _NUMBERS[name](one, other)


def _binary(name: str) -> Convert:
    """The Relay operator over operands of one dtype."""

    def convert(at: Conversion) -> Value:
        known = _known(at, name)
        return known if known is not None else at.call(name, *at.promoted(at.value(0), at.value(1)))

    return convert


def _add(at: Conversion) -> Value:
    alpha = at.number(2, 1)
    if alpha == 1:
        return _binary("add")(at)
    one, other, scale = at.promoted(at.value(0), at.value(1), alpha)
    return at.call("add", one, at.call("multiply", scale, other))


def _subtract(turned: bool) -> Convert:
    """``a - alpha * b``; ``turned``: ``b - alpha * a``."""

    def convert(at: Conversion) -> Value:
        known = None if turned else _known(at, "subtract")
        if known is not None and at.number(2, 1) == 1:
            return known
        one, other, scale = at.promoted(at.value(0), at.value(1), at.number(2, 1))
        if turned:
            one, other = other, one
        # TVM's importer has the product whatever the factor is.
        return at.call("subtract", one, at.call("multiply", scale, other) if len(at.args) > 2 else other)

    return convert


def _divide(at: Conversion) -> Value:
    mode = at.value(2)
    if mode == "floor":
        return _binary("floor_divide")(at)
    if mode == "trunc":
        one, other = at.promoted(at.value(0), at.value(1))
        dtype = at.dtype(one)
        # Relay's quotient of integers is rounded towards 0 already.
        made = at.call("divide", one, other)
        return at.call("trunc", made) if is_float(dtype) else made
    if mode is not None:
        at.refuse(f"rounding {mode!r} is not known")
    known = _known(at, "divide")
    if known is not None:
        return known
    one, other = at.promoted(*(_of_floats(at, at.value(place)) for place in (0, 1)))
    return at.call("divide", one, other)


def _power(at: Conversion) -> Value:
    one, other = at.promoted(at.value(0), at.value(1))
    if is_float(at.dtype(one)):
        return at.call("power", one, other)
    if at.exact and not isinstance(at.value(1), int):
        # Exact below 2**53.
        wide = at.call("power", at.cast(one, "float64"), at.cast(other, "float64"))
        return at.cast(wide, at.dtype(one))
    exponent = at.integer(1)
    if exponent < 0:
        at.refuse("an integer has no negative power")
    # Relay's operator has no integers: the product of the squares that make the exponent.
    made, square = at.call("ones_like", one), one
    for bit in f"{exponent:b}"[::-1]:
        made = at.call("multiply", made, square) if bit == "1" else made
        square = at.call("multiply", square, square)
    return made


def _of_floats(at: Conversion, value: Value) -> Value:
    """Return an operand of what computes in floats: integers become those."""
    if isinstance(value, RelayExpr):
        return value if is_float(at.dtype(value)) else at.cast(value, "float32")
    return float(value) if isinstance(value, (bool, int)) else value


def _float_unary(name: str) -> Convert:
    """An operator that computes in floats."""

    def convert(at: Conversion) -> Value:
        data = at.tensor(0)
        return at.call(name, data if is_float(at.dtype(data)) else at.cast(data, "float32"))

    return convert


def _unary(name: str) -> Convert:
    def convert(at: Conversion) -> Value:
        return at.call(name, at.tensor(0))

    return convert


def _round(at: Conversion) -> Value:
    # As in TVM's import, halves are rounded away from 0; PyTorch takes the even neighbour.
    if len(at.args) > 1 and at.integer(1, 0) and at.exact:
        factor = at.const(10.0 ** at.integer(1), at.dtype(at.tensor(0)))
        return at.call("divide", half_to_even(at, at.call("multiply", at.tensor(0), factor)), factor)
    if len(at.args) > 1 and at.integer(1, 0):
        at.refuse(f"it rounds to {at.integer(1)} decimals")
    data = at.tensor(0)
    if not at.exact:
        return at.call("round", data)
    return half_to_even(at, data) if is_float(at.dtype(data)) else data


def half_to_even(at: Conversion, x: Expr) -> Expr:
    """Return ``x`` rounded, halves to the even neighbour."""
    below, one = at.call("floor", x), at.const(1.0, at.dtype(x))
    rest, half = at.call("subtract", x, below), at.const(0.5, at.dtype(x))
    odd = at.call("not_equal", at.call("floor_mod", below, at.const(2.0, at.dtype(x))), at.const(0.0, at.dtype(x)))
    up = at.call(
        "logical_or", at.call("greater", rest, half), at.call("logical_and", at.call("equal", rest, half), odd)
    )
    return at.call("where", up, at.call("add", below, one), below)


# Integers up to here are floats, too.
_EXACT = 2**53


def _clamp(at: Conversion) -> Value:
    low, high = at.value(1), at.value(2)
    known = [one for one in (low, high) if one is not None]
    data, *limits = at.promoted(at.value(0), *known)
    # The limits of Relay's operator are floats.
    if all(isinstance(one, float) or (isinstance(one, int) and abs(one) <= _EXACT) for one in (low, high)):
        return at.call("clip", data, at.number(1), at.number(2))
    for name, limit, place in (("maximum", low, 0), ("minimum", high, -1)):
        data = data if limit is None else at.call(name, data, limits[place])
    return data


def _number(at: Conversion) -> Value:
    """A number as a tensor, or the other way round: itself."""
    return at.value(0)


RECORDS = records({
    "add": _add, "sub": _subtract(False), "rsub": _subtract(True), "mul": _binary("multiply"), "div": _divide,
    "floor_divide": _binary("floor_divide"), "pow": _power, "lt": _binary("less"),
    "le": _binary("less_equal"), "gt": _binary("greater"), "ge": _binary("greater_equal"),
    "eq": _binary("equal"), "ne": _binary("not_equal"), "maximum": _binary("maximum"),
    "minimum": _binary("minimum"), "neg": _unary("negative"), "abs": _unary("abs"), "round": _round,
    "sqrt": _float_unary("sqrt"), "rsqrt": _float_unary("rsqrt"), "exp": _float_unary("exp"),
    "log": _float_unary("log"), "sin": _float_unary("sin"), "cos": _float_unary("cos"),
    "erf": _float_unary("erf"), "clamp": _clamp, "floordiv": _binary("floor_divide"), "ScalarImplicit": _number,
    "prim::NumToTensor": _number,
})  # fmt: skip
