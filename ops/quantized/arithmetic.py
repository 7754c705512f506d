"""The arithmetic of quantised operators, written once: on arrays, on single elements, and as Relax
operators.

A quantised tensor stands for ``scale * (q - zero_point)``. A ratio of scales multiplies integers as
a fixed-point number of 31 bits: ``round(x * scale / 2**total)`` in int64, where a half goes up
("UPWARD") or away from zero ("TONEAREST"). :class:`Arrays`, :class:`Elements` and
:class:`RelaxValues` are what the formulas are carried out with.

Source of the semantics: TVM 0.18 src/relay/qnn/op/requantize.cc, src/relay/qnn/utils.cc.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic

import numpy as np

from relay2relax.core.dtype import Array, Numbers
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.formula import Kit, X
from relay2relax.ops.common.shapes import tensor
from relay2relax.ops.registry.record import Emit, OpError, V
from relay2relax.ops.registry.types import TensorType, Type, show
from relay2relax.tir import te
from relay2relax.tir.extent import Extent, equal, static
from relay2relax.tir.ir.expr import IntImm, PrimExpr, Select, binary, cast, const, maximum, minimum
from relay2relax.tir.ir.intrinsics import call, max_value, min_value

# A shift further than this leaves nothing of the product of an int32 and a multiplier of 31 bits.
FARTHEST = 62
_MANTISSA = (1 << 52) - 1


@dataclass(frozen=True, slots=True)
class Factor(Generic[X]):
    """A fixed-point number: ``scale / 2**total``; ``half`` is ``2**(total - 1)``. All three are
    int64.
    """

    scale: X
    half: X
    total: X


# The formulas


def add(k: Kit[X], a: X, b: X) -> X:
    """Return ``a + b``."""
    return a if k.is_all(b, 0) else k.binary("add", a, b)


def subtract(k: Kit[X], a: X, b: X) -> X:
    """Return ``a - b``."""
    return a if k.is_all(b, 0) else k.binary("subtract", a, b)


def scaled(k: Kit[X], x: X, factor: Factor[X], rounding: str) -> X:
    """Return ``x * factor`` of int32, rounded."""
    if k.is_all(factor.scale, 1 << 31) and k.is_all(factor.total, 31):
        return x
    wide = k.binary("multiply", k.cast(x, "int64"), factor.scale)
    half = factor.half
    if rounding == "TONEAREST":
        below = k.cast(k.binary("less", wide, k.const(0, "int64")), "int64")
        half = k.binary("subtract", half, below)
    return k.cast(k.binary("right_shift", k.binary("add", wide, half), factor.total), "int32")


def requantised(k: Kit[X], q: X, zero: X, factor: Factor[X], out_zero: X, rounding: str = "UPWARD") -> X:
    """Return ``(q - zero) * factor + out_zero`` as int32."""
    shifted = subtract(k, k.cast(q, "int32"), zero)
    return add(k, scaled(k, shifted, factor, rounding), out_zero)


def requantised_float(k: Kit[X], q: X, zero: X, factor: X, out_zero: X, rounding: str, dtype: str) -> X:
    """Return ``(q - zero) * factor + out_zero`` as int32, computed in the floating ``dtype``."""
    shifted = subtract(k, k.cast(q, dtype), k.cast(zero, dtype))
    moved = add(k, k.binary("multiply", shifted, factor), k.cast(out_zero, dtype))
    half = k.const(0.5, dtype)
    if rounding == "UPWARD":
        return k.cast(k.unary("floor", k.binary("add", moved, half)), "int32")
    below = k.binary("less", moved, k.const(0, dtype))
    away = k.where(below, k.binary("subtract", moved, half), k.binary("add", moved, half))
    return k.cast(away, "int32")


def saturated(k: Kit[X], x: X, dtype: str) -> X:
    """Return int32 as ``dtype``, what is outside of its range at the range's ends."""
    if dtype == "int32":
        return x
    low, high = limits(dtype)
    held = k.binary("maximum", k.binary("minimum", x, k.const(high, "int32")), k.const(low, "int32"))
    return k.cast(held, dtype)


def rounded(k: Kit[X], x: X, dtype: str) -> X:
    """Return floats rounded to whole numbers, halves away from zero."""
    whole = k.unary("trunc", x)
    near = k.binary("less", k.unary("abs", k.binary("subtract", x, whole)), k.const(0.5, dtype))
    below = k.binary("less", x, k.const(0, dtype))
    one = k.const(1, dtype)
    away = k.where(below, k.binary("subtract", whole, one), k.binary("add", whole, one))
    return k.where(near, whole, away)


def quantised(k: Kit[X], x: X, scale: X, zero: X, dtype: str) -> X:
    """Return ``round(x / scale) + zero`` as the integer ``dtype``, computed in float32 and held
    inside its range.
    """
    low, high = limits(dtype)
    moved = add(k, rounded(k, k.binary("divide", x, scale), "float32"), k.cast(zero, "float32"))
    held = k.binary("minimum", moved, k.const(high, "float32"))
    return k.cast(k.binary("maximum", held, k.const(low, "float32")), dtype)


def dequantised(k: Kit[X], q: X, scale: X, zero: X) -> X:
    """Return ``(q - zero) * scale`` as float32."""
    return k.binary("multiply", k.cast(subtract(k, k.cast(q, "int32"), zero), "float32"), scale)


def limits(dtype: str) -> tuple[int, int]:
    """Return the smallest and the largest integer of ``dtype``; raises OpError where it has
    others.
    """
    low, high = min_value(dtype), max_value(dtype)
    if not (isinstance(low, IntImm) and isinstance(high, IntImm)):
        raise OpError(mistake(operators.DTYPE, what="the quantised tensor", dtype=dtype, expected="integers"), 0)
    return low.value, high.value


# Fixed-point factors of ratios


def fixed_point(ratio: Any) -> Factor[Array]:
    """Return the fixed-point numbers nearest to the float64 ``ratio``.

    What is infinite or no number becomes 0, as its bits do when a program runs.
    """
    given = np.asarray(ratio, np.float64)
    fraction, exponent = np.frexp(np.where(np.isfinite(given), given, 0.0))
    size = np.floor(np.abs(fraction) * 2.0**31 + 0.5).astype(np.int64)
    carried = size == 1 << 31
    size = np.where(carried, 1 << 30, size)
    exponent = exponent.astype(np.int64) + carried
    total = np.minimum(31 + np.maximum(-exponent, 0), FARTHEST)
    multiplier = np.left_shift(np.where(fraction < 0, -size, size), np.maximum(exponent, 0))
    return Factor(multiplier, np.left_shift(np.int64(1), total - 1), np.asarray(total))


def ratio_of(scale: Array, out_scale: Array) -> Array:
    """Return the quotient of two float32 scales in float64."""
    with np.errstate(all="ignore"):
        return np.asarray(scale.astype(np.float64) / out_scale.astype(np.float64))


def fixed_point_compute(ratio: te.Tensor) -> Factor[te.Tensor]:
    """Return the fixed-point numbers nearest to a float64 tensor, from its bits, when the program
    runs.
    """

    def parts(*i: PrimExpr) -> tuple[PrimExpr, PrimExpr, PrimExpr]:
        value = ratio(*i)
        pattern = call("reinterpret", value, dtype="int64")
        zero, one = const(0, "int64"), const(1, "int64")
        exponent = binary("&", binary(">>", pattern, 52), 0x7FF) - 1022
        mantissa = binary("|", binary("&", pattern, _MANTISSA), _MANTISSA + 1)
        size = binary(">>", mantissa + (1 << 21), 22)
        carried = size.equal(1 << 31)
        none = value.equal(const(0.0, "float64"))
        size = Select(none, zero, Select(carried, const(1 << 30, "int64"), size))
        exponent = Select(none, zero, Select(carried, exponent + 1, exponent))
        total = minimum(maximum(zero, zero - exponent) + 31, const(FARTHEST, "int64"))
        signed = Select(value < 0.0, zero - size, size)
        return binary("<<", signed, maximum(exponent, zero)), binary("<<", one, total - 1), total

    return Factor(*te.compute_several(ratio.shape, parts, "fixed_point"))


def ratio_compute(scale: te.Tensor, out_scale: te.Tensor) -> te.Tensor:
    """Return the quotients of float32 scales and one output scale in float64."""
    return te.compute(scale.shape, lambda *i: cast("float64", scale(*i)) / cast("float64", one_of(out_scale)), "ratio")


# Parameters: one for the whole tensor, or one for each place along an axis.


def channel_axis(axis: int, rank: int) -> int:
    """Return the axis that parameters lie along, counted from the front.

    0 for a tensor of rank 0.
    """
    return (axis + rank if rank else 0) if axis < 0 else axis


def check_axis(axis: int, rank: int, name: str = "axis") -> None:
    """Raise OpError where a tensor of ``rank`` has no axis ``axis``."""
    if not 0 <= channel_axis(axis, rank) < max(rank, 1):
        raise OpError(mistake(operators.AXIS, name=name, axis=axis, rank=rank), 0)


def check_parameter(value: Type, dtype: str, channels: Extent | None, argument: int) -> None:
    """Raise OpError unless ``value`` is one number of ``dtype``, or a vector of one for each of
    ``channels``.
    """
    found = tensor(value, argument)
    if found.dtype != dtype:
        raise OpError(mistake(operators.DTYPE, what="the parameter", dtype=found.dtype, expected=dtype), argument)
    if found.rank > 1:
        raise OpError(
            mistake(operators.SHAPE, what="the parameter", shape=show(found.shape), expected="a number or a vector"),
            argument,
        )
    if found.rank and channels is not None and equal(found.shape[0], channels) is False:
        raise OpError(
            f"{show(found.shape)} parameters for {show((channels,))} channels", argument, kind=operators.SHAPE
        )


def spread(parameter: Numbers, rank: int, axis: int) -> Array:
    """Return a parameter in a shape that broadcasts along ``axis`` of a tensor of ``rank``."""
    array = np.asarray(parameter)
    if array.ndim == 0 or array.size == 1:
        return array.reshape(())
    return array.reshape((-1,) + (1,) * (rank - 1 - channel_axis(axis, rank)))


def one_of(parameter: te.Tensor, index: PrimExpr | None = None) -> PrimExpr:
    """Return the parameter of place ``index``, or the only one."""
    if parameter.rank == 0:
        return parameter()
    if index is None or static(parameter.shape[0]) == 1:
        return parameter[0]
    return parameter[index]


def factor_at(factor: Factor[te.Tensor], index: PrimExpr | None = None) -> Factor[PrimExpr]:
    """Return the fixed-point number of place ``index``."""
    return Factor(one_of(factor.scale, index), one_of(factor.half, index), one_of(factor.total, index))


def spread_value(e: Emit[V], parameter: V, rank: int, axis: int) -> V:
    """Return a Relax value in a shape that broadcasts along ``axis`` of a tensor of ``rank``."""
    found = tensor(e.type_of(parameter))
    if found.rank == 0:
        return parameter
    known = e.constant_of(parameter)
    if known is not None:
        return e.const(spread(known, rank, axis), found.dtype)
    trailing = rank - 1 - channel_axis(axis, rank)
    return e.call("reshape", parameter, e.shape((*found.shape, *(1,) * trailing) if rank else ()))


def one_value(e: Emit[V], parameter: V) -> V:
    """Return a parameter of one element as a tensor of rank 0; another stays a vector."""
    found = tensor(e.type_of(parameter))
    if not found.rank or static(found.shape[0]) != 1:
        return parameter
    known = e.constant_of(parameter)
    return e.call("reshape", parameter, e.shape(())) if known is None else e.const(known.reshape(()), found.dtype)


UNKNOWN_SCALES = "fixed-point multipliers need scales that are known beforehand"


def constants(e: Emit[V], *values: V) -> list[Array] | None:
    """Return the data of ``values``, None unless all of them are constants."""
    found = [e.constant_of(value) for value in values]
    return None if any(one is None for one in found) else [one for one in found if one is not None]


def factor_values(e: Emit[V], scale: Array, out_scale: Array, rank: int, axis: int) -> Factor[V]:
    """Return the fixed-point number of constant scales as Relax constants."""
    found = fixed_point(ratio_of(spread(scale, rank, axis), spread(out_scale, 0, 0)))
    return Factor(*(e.const(one, "int64") for one in (found.scale, found.half, found.total)))


def check_dtype(value: Type, dtypes: tuple[str, ...], what: str, argument: int = 0) -> TensorType:
    """Return the tensor type of ``value``; raises OpError where its dtype is not among
    ``dtypes``.
    """
    found = tensor(value, argument)
    if found.dtype not in dtypes:
        raise OpError(mistake(operators.DTYPE, what=what, dtype=found.dtype, expected=", ".join(dtypes)), argument)
    return found


def is_integer_result(dtype: str, dtypes: tuple[str, ...]) -> None:
    """Raise OpError unless ``dtype`` is one of ``dtypes``."""
    if dtype not in dtypes:
        shown = dtype or "void"
        raise OpError(mistake(operators.DTYPE, what="the result", dtype=shown, expected=", ".join(dtypes)))
