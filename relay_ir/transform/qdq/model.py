"""What the rewriting of quantised operators finds and shares.

A *quantum* is one step of a quantised result. Differences are bounded for the same quantised
operands, and where no sum of the program's integer arithmetic wraps around: page
``docs/reference/qdq.md`` derives the bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from relay2relax.core.dtype import Numbers
from relay2relax.ops.quantized.arithmetic import limits
from relay2relax.ops.quantized.qnn import DequantizeAttrs, QuantizeAttrs
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Op
from relay2relax.relay_ir.ir.types import TensorType, Type

# The unit of rounding of float32.
UNIT = 2.0**-24
# Roundings around those of the sum itself: of scales, dequantisation, bias and quotient.
AROUND = 8


@dataclass(frozen=True, slots=True)
class InFloats:
    """What became of one quantised operator.

    ``quanta`` is by how many quanta its result can be off; None where it stays in integers, and
    ``why`` says why. Where the operator makes a sum that another one quantises, ``why`` names that.
    ``quantum`` is what one of them is in real numbers: the scale of the result.
    """

    operator: str
    quanta: float | None
    why: str = ""
    quantum: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Sum:
    """An int32 tensor ``q`` as floats: ``real`` is nearly ``q * scale``.

    ``scale`` is one number, or one for each place along ``axis``. ``terms`` is how many products
    an element adds up, and ``size`` what their magnitudes add up to at most, in units of ``q``: one
    number or one for each place.
    """

    real: Expr
    scale: Numbers
    axis: int
    terms: int
    size: Numbers


class Stays(Exception):
    """An operator stays in integers; the argument says why."""


def gamma(count: int) -> float:
    """Return the relative error of ``count`` roundings in float32; infinite where there are too
    many.
    """
    return count * UNIT / (1 - count * UNIT) if count * UNIT < 0.5 else float("inf")


@dataclass(slots=True, eq=False)
class Around:
    """The function that is rewritten: types of its nodes, and what was dequantised already."""

    types: Mapping[Expr, Type]
    dequantised: dict[tuple[object, ...], Expr] = field(default_factory=dict)

    def tensor(self, expr: Expr) -> TensorType:
        """Return the type of ``expr``; raises Stays where it is no tensor of known rank."""
        found = self.types.get(expr)
        if not isinstance(found, TensorType):
            raise Stays("its operands are not tensors")
        return found

    def dequantise(self, data: Expr, scale: Numbers, zero: Numbers, axis: int) -> Expr:
        """Return the real values of ``data``, the same for the same parameters."""
        key = (data, scale.shape, scale.tobytes(), zero.shape, zero.tobytes(), axis)
        if key not in self.dequantised:
            args = (data, Constant(scale), Constant(zero))
            self.dequantised[key] = Call(Op("qnn.dequantize"), args, DequantizeAttrs("float32", axis))
        return self.dequantised[key]


def constant(expr: Expr, dtype: str) -> Numbers:
    """Return a constant parameter with one dimension at most; raises Stays for any other value, and
    for a scale that is not a positive number.
    """
    if not isinstance(expr, Constant):
        raise Stays("a scale or zero point is known only when the program runs")
    found = np.asarray(expr.data, dtype)
    found = found.reshape(()) if found.size == 1 else found
    if dtype == "float32" and not bool((np.isfinite(found) & (found > 0)).all()):
        raise Stays("a scale is not a positive number")
    return found


def quantise(real: Expr, scale: Numbers, zero: Numbers, dtype: str, like: Call) -> Call:
    """Return ``real`` as integers of ``dtype``, in the place of ``like``."""
    return Call(Op("qnn.quantize"), (real, Constant(scale), Constant(zero)), QuantizeAttrs(dtype, -1), span=like.span)


def span_of(dtype: str, zero: Numbers) -> Numbers:
    """Return the largest distance of a number of ``dtype`` from each zero point."""
    low, high = limits(dtype)
    return np.maximum(np.abs(low - zero.astype(np.float64)), np.abs(high - zero.astype(np.float64)))


def narrow(dtype: str) -> None:
    """Raise Stays for a result that float32 does not hold exactly."""
    if dtype not in ("int8", "uint8", "int16", "uint16"):
        raise Stays(f"R.quantize gives no {dtype}")


def moved(one: Sum, made: Expr) -> Sum:
    """Return ``one`` with other floats, of the same magnitudes at most."""
    return replace(one, real=made)
