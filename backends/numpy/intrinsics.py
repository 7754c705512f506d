"""What the binary operators and intrinsics of tensor programs are on numpy arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from relay2relax.core import arithmetic
from relay2relax.core.dtype import is_float

# Arrays, or single elements of them, whose dtype is known when they are there.
Elements: TypeAlias = npt.NDArray[Any]


def _smaller(a: Elements, b: Elements) -> Elements:
    # The definition is ``a < b ? a : b``; numpy's minimum differs where one operand is NaN.
    return np.where(a < b, a, b) if is_float(np.asarray(a).dtype.name) else np.minimum(a, b)


def _larger(a: Elements, b: Elements) -> Elements:
    return np.where(a > b, a, b) if is_float(np.asarray(a).dtype.name) else np.maximum(a, b)


def _different(a: Elements, b: Elements) -> Elements:
    # TVM compares in an ordered way: a NaN is not different from anything.
    return (a < b) | (a > b) if is_float(np.asarray(a).dtype.name) else np.not_equal(a, b)


BINARY: Mapping[str, Callable[[Elements, Elements], Elements]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "//": arithmetic.floor_divide,
    "%": arithmetic.floor_modulo,
    "truncdiv": arithmetic.truncated_divide,
    "truncmod": arithmetic.truncated_modulo,
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
    "<<": arithmetic.shift_left,
    ">>": arithmetic.shift_right,
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


def _rsqrt(x: Elements) -> Elements:
    return np.reciprocal(np.sqrt(x))


def _sigmoid(x: Elements) -> Elements:
    one = x.dtype.type(1)
    found: Elements = one / (one + np.exp(-x))
    return found


def _erf(x: Elements) -> Elements:
    from relay2relax.ops.registry.attributes import NoAttrs
    from relay2relax.ops.registry.table import relay_op

    record = relay_op("erf")
    assert record is not None
    found = record.numpy(NoAttrs(), np.asarray(x))
    assert isinstance(found, np.ndarray)
    return found


def _exp10(x: Elements) -> Elements:
    found: Elements = np.power(x.dtype.type(10), x)
    return found


def _population_count(x: Elements) -> Elements:
    bits = np.unpackbits(np.ascontiguousarray(x)[..., None].view(np.uint8), axis=-1)
    found: Elements = bits.sum(axis=-1, dtype=x.dtype)
    return found


INTRINSICS: Mapping[str, Callable[..., Elements]] = {
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
