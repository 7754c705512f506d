"""Functions, comparisons and logic over elements, as exported programs have them."""

from __future__ import annotations

import math
from collections.abc import Callable

from relay2relax.core.dtype import integer_range, is_float
from relay2relax.relay_ir.frontend.pytorch.context import Conversion, Value
from relay2relax.relay_ir.frontend.pytorch.operators.record import Convert, records
from relay2relax.relay_ir.ir.expr import Expr

# Makes the value of a function of numbers that are floats.
Formula = Callable[[Conversion, Expr], Expr]


def floats(at: Conversion, place: int = 0) -> Expr:
    """Return an argument as floats: integers become those of the default dtype."""
    data = at.tensor(place)
    return data if is_float(at.dtype(data)) else at.cast(data, at.default_dtype)


def _of_floats(formula: Formula) -> Convert:
    return lambda at: formula(at, floats(at))


def _named(name: str) -> Formula:
    return lambda at, x: at.call(name, x)


def like(at: Conversion, value: float, x: Expr) -> Expr:
    """Return a constant of the dtype of ``x``."""
    return at.const(value, at.dtype(x))


def _log1p(at: Conversion, x: Expr) -> Expr:
    """What ``1 + x`` loses near 0 is put back by how much of ``x`` it kept."""
    one = like(at, 1.0, x)
    whole = at.call("add", one, x)
    kept = at.call("subtract", whole, one)
    exact = at.call("equal", kept, like(at, 0.0, x))
    safe = at.call("where", exact, one, kept)
    made = at.call("multiply", at.call("log", whole), at.call("divide", x, safe))
    made = at.call("where", at.call("isinf", whole), at.call("log", whole), made)
    return at.call("where", exact, x, made)


def _expm1(at: Conversion, x: Expr) -> Expr:
    one = like(at, 1.0, x)
    whole = at.call("exp", x)
    less = at.call("subtract", whole, one)
    plain = at.call("greater", at.call("abs", x), like(at, 0.5, x))
    tiny = at.call("equal", less, like(at, 0.0, x))
    inside = at.call("where", at.call("logical_or", plain, tiny), like(at, 2.0, x), whole)
    near = at.call("divide", at.call("multiply", at.call("subtract", inside, one), x), at.call("log", inside))
    return at.call("where", plain, less, at.call("where", tiny, x, near))


def _exp2(at: Conversion, x: Expr) -> Expr:
    return at.call("power", like(at, 2.0, x), x)


def _erfc(at: Conversion, x: Expr) -> Expr:
    return at.call("subtract", like(at, 1.0, x), at.call("erf", x))


def _reciprocal(at: Conversion, x: Expr) -> Expr:
    return at.call("divide", like(at, 1.0, x), x)


def softplus(at: Conversion, x: Expr) -> Expr:
    """Return ``log(1 + exp(x))``, which does not overflow."""
    rest = _log1p(at, at.call("exp", at.call("negative", at.call("abs", x))))
    return at.call("add", at.call("maximum", x, like(at, 0.0, x)), rest)


def _log_sigmoid(at: Conversion, x: Expr) -> Expr:
    return at.call("negative", softplus(at, at.call("negative", x)))


def _whole(name: str) -> Convert:
    """What integers are already."""

    def convert(at: Conversion) -> Value:
        data = at.tensor(0)
        return at.call(name, data) if is_float(at.dtype(data)) else data

    return convert


def _truths(name: str) -> Convert:
    """Logic: all but 0 is true."""

    def convert(at: Conversion) -> Value:
        given = [truth(at, at.tensor(place)) for place in range(len(at.args))]
        return at.call(name, *given)

    return convert


def truth(at: Conversion, x: Expr) -> Expr:
    """Return where ``x`` is not 0."""
    return x if at.dtype(x) == "bool" else at.call("not_equal", x, like(at, 0, x))


def _bitwise(name: str) -> Convert:
    def convert(at: Conversion) -> Value:
        values = at.promoted(*at.args)
        if at.dtype(values[0]) == "bool":
            return at.call(name.replace("bitwise", "logical"), *values)
        return at.call(name, *values)

    return convert


def _shift(name: str) -> Convert:
    return lambda at: at.call(name, *at.promoted(at.value(0), at.value(1)))


def _sign(at: Conversion) -> Value:
    data = at.tensor(0)
    if at.dtype(data) == "bool":
        return data
    return at.call("sign", data)


def _of_floats_only(name: str, otherwise: bool) -> Convert:
    """A question that integers answer one way."""

    def convert(at: Conversion) -> Value:
        data = at.tensor(0)
        if is_float(at.dtype(data)):
            return at.call(name, data)
        return at.call("full", at.const(otherwise, "bool"), shape=list(at.shape(data)), dtype="bool")

    return convert


def _remainder(at: Conversion) -> Value:
    """The sign is that of the divisor."""
    one, other = at.promoted(at.value(0), at.value(1))
    made = at.call("floor_mod", one, other)
    if not is_float(at.dtype(one)):
        return made
    turned = at.call("less", at.call("multiply", one, at.call("sign", other)), like(at, 0.0, one))
    rest = at.call("where", turned, other, one)
    return at.call("where", _only_second_infinite(at, one, other), rest, made)


def _fmod(at: Conversion) -> Value:
    """The sign is that of the number."""
    one, other = at.promoted(at.value(0), at.value(1))
    made = at.call("mod", one, other)
    if not is_float(at.dtype(one)):
        return made
    return at.call("where", _only_second_infinite(at, one, other), one, made)


def _only_second_infinite(at: Conversion, one: Expr, other: Expr) -> Expr:
    return at.call("logical_and", at.call("isinf", other), at.call("isfinite", one))


def _atan2(at: Conversion) -> Value:
    y, x = (at.cast(one, at.default_dtype) if not is_float(at.dtype(one)) else one
            for one in at.promoted(at.value(0), at.value(1)))  # fmt: skip
    zero = like(at, 0.0, x)
    size, other = at.call("abs", y), at.call("abs", x)
    # The quotient of the smaller by the larger is finite; what is infinite both ways is 1.
    steep = at.call("greater", size, other)
    low, high = at.call("minimum", size, other), at.call("maximum", size, other)
    none = at.call("equal", high, zero)
    quotient = at.call("divide", low, at.call("where", none, like(at, 1.0, x), high))
    both = at.call("logical_and", at.call("isinf", low), at.call("isinf", high))
    angle = at.call("atan", at.call("where", both, like(at, 1.0, x), quotient))
    angle = at.call("where", steep, at.call("subtract", like(at, math.pi / 2, x), angle), angle)
    behind = _negative(at, x)
    angle = at.call("where", behind, at.call("subtract", like(at, math.pi, x), angle), angle)
    made = at.call("where", _negative(at, y), at.call("negative", angle), angle)
    return at.call("where", at.call("logical_or", at.call("isnan", x), at.call("isnan", y)), at.call("add", x, y), made)


def _negative(at: Conversion, x: Expr) -> Expr:
    """Return where the sign of ``x`` is that of numbers below 0, of a zero too."""
    kind = {"float32": "int32", "float64": "int64", "float16": "int16", "bfloat16": "int16"}[at.dtype(x)]
    return at.call("less", at.call("reinterpret", x, dtype=kind), at.const(0, kind))


def _copysign(at: Conversion) -> Value:
    one, other = at.promoted(at.value(0), at.value(1))
    if not is_float(at.dtype(one)):
        one, other = at.cast(one, at.default_dtype), at.cast(other, at.default_dtype)
    size = at.call("abs", one)
    return at.call("where", _negative(at, other), at.call("negative", size), size)


def _signbit(at: Conversion) -> Value:
    data = at.tensor(0)
    return _negative(at, data) if is_float(at.dtype(data)) else at.call("less", data, like(at, 0, data))


def _hypot(at: Conversion) -> Value:
    one, other = at.promoted(at.value(0), at.value(1))
    return at.call("sqrt", at.call("add", at.call("multiply", one, one), at.call("multiply", other, other)))


def _masked_fill(at: Conversion) -> Value:
    data, mask = at.tensor(0), truth(at, at.tensor(1))
    value = at.cast(at.tensor(2), at.dtype(data))
    return at.call("where", mask, value, data)


def _addcmul(name: str) -> Convert:
    def convert(at: Conversion) -> Value:
        data, one, other, factor = at.promoted(at.value(0), at.value(1), at.value(2), at.number(3, 1))
        made = at.call(name, one, other)
        scaled = made if at.number(3, 1) == 1 else at.call("multiply", factor, made)
        return at.call("add", data, scaled)

    return convert


def _lerp(at: Conversion) -> Value:
    """As PyTorch has it: from the end that is nearer."""
    start, end, weight = at.promoted(at.value(0), at.value(1), at.value(2))
    step = at.call("subtract", end, start)
    near = at.call("add", start, at.call("multiply", weight, step))
    rest = at.call("subtract", like(at, 1.0, weight), weight)
    far = at.call("subtract", end, at.call("multiply", step, rest))
    return at.call("where", at.call("less", at.call("abs", weight), like(at, 0.5, weight)), near, far)


def _nan_to_num(at: Conversion) -> Value:
    import numpy as np

    data = at.tensor(0)
    dtype = at.dtype(data)
    if not is_float(dtype):
        return data
    largest = float(np.finfo(dtype).max) if dtype != "bfloat16" else 3.3895313892515355e38
    nan, above, below = at.number(1, 0.0), at.number(2, largest), at.number(3, -largest)
    made = at.call("where", at.call("isnan", data), like(at, nan, data), data)
    made = at.call("where", at.call("equal", data, like(at, math.inf, data)), like(at, above, data), made)
    return at.call("where", at.call("equal", data, like(at, -math.inf, data)), like(at, below, data), made)


def _clamp_end(name: str) -> Convert:
    return lambda at: at.call(name, *at.promoted(at.value(0), at.value(1)))


def _passing_nan(name: str) -> Convert:
    """The other number where one is NaN."""

    def convert(at: Conversion) -> Value:
        one, other = at.promoted(at.value(0), at.value(1))
        made = at.call(name, one, other)
        if not is_float(at.dtype(one)):
            return made
        made = at.call("where", at.call("isnan", one), other, made)
        return at.call("where", at.call("isnan", other), one, made)

    return convert


def _ldexp(at: Conversion) -> Value:
    one, other = floats(at, 0), floats(at, 1)
    return at.call("multiply", one, at.call("power", like(at, 2.0, other), other))


def _copy(at: Conversion) -> Value:
    """``copy(data, source)``: the source in the shape and dtype of the data."""
    data, source = at.tensor(0), at.tensor(1)
    return at.spread_to(at.cast(source, at.dtype(data)), at.extents(data))


def _distances(at: Conversion) -> Value:
    """``_cdist_forward(one, other, p, mode)``: between all rows of both."""
    one, other, power = at.tensor(0), at.tensor(1), float(at.number(2))
    apart = [at.call("expand_dims", one, axis=at.rank(one) - 1), at.call("expand_dims", other, axis=at.rank(other) - 2)]
    rest = at.call("abs", at.call("subtract", *apart))
    last = at.rank(rest) - 1
    if power == math.inf:
        return at.call("max", rest, axis=[last], keepdims=False)
    if power == 0:
        return at.call("sum", at.cast(truth(at, rest), at.dtype(rest)), axis=[last], keepdims=False)
    if power == 1:
        return at.call("sum", rest, axis=[last], keepdims=False)
    total = at.call("sum", at.call("power", rest, like(at, power, rest)), axis=[last], keepdims=False)
    return at.call("power", total, like(at, 1 / power, rest))


def _euclidean(at: Conversion) -> Value:
    return _distances(at.with_args([at.value(0), at.value(1), 2.0]))


def _heaviside(at: Conversion) -> Value:
    data, value = at.promoted(at.value(0), at.value(1))
    above = at.cast(at.call("greater", data, like(at, 0, data)), at.dtype(data))
    made = at.call("where", at.call("equal", data, like(at, 0, data)), value, above)
    return at.call("where", at.call("isnan", data), data, made) if is_float(at.dtype(data)) else made


def _logaddexp(two: bool) -> Convert:
    def convert(at: Conversion) -> Value:
        one, other = at.promoted(at.value(0), at.value(1))
        scale = math.log(2) if two else 1.0
        high, low = at.call("maximum", one, other), at.call("minimum", one, other)
        same = at.call("equal", high, low)
        apart = at.call("where", same, like(at, 0.0, one), at.call("subtract", low, high))
        if two:
            apart = at.call("multiply", apart, like(at, scale, one))
        rest = _log1p(at, at.call("exp", apart))
        return at.call("add", high, at.call("divide", rest, like(at, scale, one)) if two else rest)

    return convert


def _prelu(at: Conversion) -> Value:
    data, slope = at.tensor(0), at.tensor(1)
    if at.rank(slope) == 1 and at.rank(data) > 2:
        slope = at.call("expand_dims", slope, axis=1, num_newaxis=at.rank(data) - 2)
    return at.call("where", at.call("greater", data, like(at, 0, data)), data, at.call("multiply", slope, data))


def lowest(dtype: str) -> float:
    """Return the least number of a dtype."""
    return -math.inf if is_float(dtype) else integer_range(dtype)[0]


RECORDS = [
    *records({
        name: _of_floats(_named(name))
        for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh", "tan", "log2", "log10")
    }),
    *records({
        "log1p": _of_floats(_log1p), "expm1": _of_floats(_expm1), "exp2": _of_floats(_exp2),
        "erfc": _of_floats(_erfc), "reciprocal": _of_floats(_reciprocal), "log_sigmoid": _of_floats(_log_sigmoid),
        "floor": _whole("floor"), "ceil": _whole("ceil"), "trunc": _whole("trunc"),
        "logical_not": _truths("logical_not"), "logical_and": _truths("logical_and"),
        "logical_or": _truths("logical_or"), "logical_xor": _truths("logical_xor"),
        "bitwise_and": _bitwise("bitwise_and"), "__and__": _bitwise("bitwise_and"), "__or__": _bitwise("bitwise_or"),
        "__xor__": _bitwise("bitwise_xor"), "bitwise_or": _bitwise("bitwise_or"),
        "bitwise_xor": _bitwise("bitwise_xor"), "bitwise_not": _bitwise("bitwise_not"),
        "bitwise_left_shift": _shift("left_shift"), "bitwise_right_shift": _shift("right_shift"),
        "__lshift__": _shift("left_shift"), "__rshift__": _shift("right_shift"), "sign": _sign,
        "isnan": _of_floats_only("isnan", False), "isinf": _of_floats_only("isinf", False),
        "isfinite": _of_floats_only("isfinite", True), "remainder": _remainder, "fmod": _fmod, "atan2": _atan2,
        "copysign": _copysign, "signbit": _signbit, "hypot": _hypot, "masked_fill": _masked_fill,
        "addcmul": _addcmul("multiply"), "addcdiv": _addcmul("divide"), "lerp": _lerp, "nan_to_num": _nan_to_num,
        "clamp_min": _clamp_end("maximum"), "clamp_max": _clamp_end("minimum"), "heaviside": _heaviside,
        "fmax": _passing_nan("maximum"), "fmin": _passing_nan("minimum"), "ldexp": _ldexp, "copy": _copy,
        "_cdist_forward": _distances, "_euclidean_dist": _euclidean, "sgn": _sign,
        "logaddexp": _logaddexp(False), "logaddexp2": _logaddexp(True), "prelu": _prelu, "_prelu_kernel": _prelu,
    }),
]  # fmt: skip
