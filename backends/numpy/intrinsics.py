"""What the binary operators and intrinsics of tensor programs are on numpy arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from relay2relax.core.dtype import is_float


def _floor_divide(a: Any, b: Any) -> Any:
    return np.floor_divide(a, b)


def _truncated_divide(a: Any, b: Any) -> Any:
    quotient = np.floor_divide(np.abs(a), np.abs(b))
    return np.where((a < 0) != (b < 0), -quotient, quotient)


def _truncated_modulo(a: Any, b: Any) -> Any:
    return a - _truncated_divide(a, b) * b


def _smaller(a: Any, b: Any) -> Any:
    # The definition is ``a < b ? a : b``; numpy's minimum differs where one operand is NaN.
    return np.where(a < b, a, b) if is_float(np.asarray(a).dtype.name) else np.minimum(a, b)


def _larger(a: Any, b: Any) -> Any:
    return np.where(a > b, a, b) if is_float(np.asarray(a).dtype.name) else np.maximum(a, b)


def _different(a: Any, b: Any) -> Any:
    # TVM compares in an ordered way: a NaN is not different from anything.
    return (a < b) | (a > b) if is_float(np.asarray(a).dtype.name) else np.not_equal(a, b)


BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "//": _floor_divide,
    "%": np.mod,
    "truncdiv": _truncated_divide,
    "truncmod": _truncated_modulo,
    "min": _smaller,
    "max": _larger,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": _different,
    "and": np.logical_and,
    "or": np.logical_or,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
    "<<": np.left_shift,
    ">>": np.right_shift,
}
# The reductions that numpy does whole axes at a time.
REDUCE: Mapping[str, np.ufunc] = {
    "+": np.add,
    "*": np.multiply,
    "min": np.fmin,
    "max": np.fmax,
    "and": np.logical_and,
    "or": np.logical_or,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
}


def _rsqrt(x: Any) -> Any:
    return np.reciprocal(np.sqrt(x))


def _sigmoid(x: Any) -> Any:
    one = x.dtype.type(1)
    return one / (one + np.exp(-x))


def _erf(x: Any) -> Any:
    from relay2relax.ops.registry.attributes import NoAttrs
    from relay2relax.ops.registry.table import relay_op

    record = relay_op("erf")
    assert record is not None
    return record.numpy(NoAttrs(), np.asarray(x))


def _exp10(x: Any) -> Any:
    return np.power(x.dtype.type(10), x)


def _population_count(x: Any) -> Any:
    bits = np.unpackbits(np.ascontiguousarray(x)[..., None].view(np.uint8), axis=-1)
    return bits.sum(axis=-1, dtype=x.dtype)


INTRINSICS: Mapping[str, Callable[..., Any]] = {
    "abs": np.abs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "bitwise_not": np.invert,
    "ceil": np.ceil,
    "copysign": np.copysign,
    "cos": np.cos,
    "cosh": np.cosh,
    "erf": _erf,
    "exp": np.exp,
    "exp10": _exp10,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "fabs": np.abs,
    "floor": np.floor,
    "fmod": np.fmod,
    "hypot": np.hypot,
    "isfinite": np.isfinite,
    "isinf": np.isinf,
    "isnan": np.isnan,
    "likely": lambda x: x,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "nearbyint": np.rint,
    "popcount": _population_count,
    "pow": np.power,
    "power": np.power,
    # Halves go to the even neighbour, as in the code that TVM makes of T.round.
    "round": np.rint,
    "rsqrt": _rsqrt,
    "sigmoid": _sigmoid,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "trunc": np.trunc,
}
