"""Activations that Relax has as operators of their own, where Relay spelled them out: gelu, silu,
selu, softplus.

Source of the semantics: TVM 0.27, ``python/tvm/relax/transform/legalize_ops/nn.py`` and TOPI.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array, is_float
from relay2relax.ops.common import erf
from relay2relax.ops.common.narrow_floats import in_single
from relay2relax.ops.common.shapes import tensor
from relay2relax.ops.registry.attributes import Double, NoAttrs
from relay2relax.ops.registry.record import OpDef, OpError, SameOp
from relay2relax.ops.registry.script import OLDEST, Script, Spread
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.tir import te
from relay2relax.tir.ir.expr import PrimExpr, Select, const, maximum, minimum
from relay2relax.tir.ir.intrinsics import call

SOURCE = "TVM 0.27 python/tvm/relax/transform/legalize_ops/nn.py"
# S. Klambauer et al., "Self-Normalizing Neural Networks", 2017: the fixed point of mean 0 and
# variance 1.
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


@dataclass(frozen=True, slots=True)
class SoftplusAttrs:
    """The steepness, and the ``beta * x`` above which the result is ``x`` itself."""

    beta: Double = 1.0
    threshold: Double = 20.0


def floating_type(attrs: object, data: Type) -> TensorType:
    """Return the type of the data; raises OpError where it is not of floating point."""
    found = tensor(data)
    if not is_float(found.dtype):
        raise OpError(f"the activation is defined for floating-point numbers, not for {found.dtype}", 0)
    return found


def gelu_element(attrs: NoAttrs, x: PrimExpr) -> PrimExpr:
    """Return ``x`` times the normal distribution's probability of less than ``x``."""
    scaled = x * const(math.sqrt(0.5), x.dtype)
    erf = in_single("erf")(scaled)
    return x * (const(0.5, x.dtype) + erf * const(0.5, x.dtype))


def gelu_numpy(attrs: NoAttrs, x: Any) -> Array:
    """Return ``x * (0.5 + 0.5 * erf(x / sqrt(2)))``."""
    half = x.dtype.type(0.5)
    return np.asarray(x * (half + erf.erf(x * x.dtype.type(math.sqrt(0.5))) * half))


def gelu_tanh_element(attrs: NoAttrs, x: PrimExpr) -> PrimExpr:
    """Return the approximation of gelu by a hyperbolic tangent."""

    def number(value: float) -> PrimExpr:
        return const(value, x.dtype)

    inner = number(math.sqrt(2 / math.pi)) * x * (number(1.0) + number(0.044715) * x * x)
    return number(0.5) * x * (number(1.0) + call("tanh", inner))


def gelu_tanh_numpy(attrs: NoAttrs, x: Any) -> Array:
    """Return ``0.5 * x * (1 + tanh(sqrt(2 / pi) * x * (1 + 0.044715 * x * x)))``."""
    number = x.dtype.type
    inner = number(math.sqrt(2 / math.pi)) * x * (number(1) + number(0.044715) * x * x)
    return np.asarray(number(0.5) * x * (number(1) + np.tanh(inner)))


def silu_numpy(attrs: NoAttrs, x: Any) -> Array:
    """Return ``x * sigmoid(x)``."""
    one = x.dtype.type(1)
    return np.asarray(x * (one / (one + np.exp(-x))))


def selu_element(attrs: NoAttrs, x: PrimExpr) -> PrimExpr:
    """Return ``scale * (max(x, 0) + min(alpha * (exp(x) - 1), 0))``."""
    zero, one = const(0, x.dtype), const(1, x.dtype)
    below = minimum(zero, const(_SELU_ALPHA, x.dtype) * (call("exp", x) - one))
    return const(_SELU_SCALE, x.dtype) * (maximum(x, zero) + below)


def selu_numpy(attrs: NoAttrs, x: Any) -> Array:
    """Return ``scale * (max(x, 0) + min(alpha * (exp(x) - 1), 0))``."""
    number = x.dtype.type
    below = np.minimum(number(0), number(_SELU_ALPHA) * (np.exp(x) - number(1)))
    return np.asarray(number(_SELU_SCALE) * (np.maximum(x, number(0)) + below))


def softplus_element(attrs: SoftplusAttrs, x: PrimExpr) -> PrimExpr:
    """Return ``log(1 + exp(beta * x)) / beta``, and ``x`` where that is the same."""
    scaled = const(attrs.beta, x.dtype) * x
    smooth = const(1 / attrs.beta, x.dtype) * call("log", const(1, x.dtype) + call("exp", scaled))
    return Select(scaled > const(attrs.threshold, x.dtype), x, smooth)


def softplus_numpy(attrs: SoftplusAttrs, x: Any) -> Array:
    """Return ``log(1 + exp(beta * x)) / beta``, and ``x`` where that is the same."""
    number = x.dtype.type
    scaled = number(attrs.beta) * x
    smooth = number(1 / attrs.beta) * np.log(number(1) + np.exp(scaled))
    return np.asarray(np.where(scaled > number(attrs.threshold), x, smooth))


def _activation(
    name: str,
    function: Callable[[Any, Any], Array],
    element: Callable[[Any, PrimExpr], PrimExpr],
    doc: str,
    attrs: type = NoAttrs,
    *,
    params: str = "data",
    since: str = OLDEST,
    spread: Spread | None = None,
) -> OpDef:
    def numpy(given: Any, data: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(function(given, data), data.dtype)

    def compute(given: Any, out: TensorType, data: te.Tensor) -> te.Tensor:
        return te.compute(out.shape, lambda *at: element(given, data[at]), name)

    return OpDef(
        doc=doc,
        source=SOURCE,
        inputs=("data",),
        attrs=attrs,
        infer=floating_type,
        numpy=numpy,
        compute=compute,
        relax=SameOp(),
        script=Script(f"nn.{name}", params, since=since, spread=spread),
    )


OPS: tuple[OpDef, ...] = (
    _activation(
        "gelu", gelu_numpy, gelu_element, "The element times the normal probability of less than it.",
        spread=Spread.ELEMENTS,
    ),
    _activation(
        "gelu_tanh", gelu_tanh_numpy, gelu_tanh_element, "gelu, approximated by a hyperbolic tangent.",
        spread=Spread.ELEMENTS,
    ),
    _activation(
        "silu", silu_numpy, lambda attrs, x: x * call("sigmoid", x), "The element times its sigmoid.",
        spread=Spread.ELEMENTS,
    ),
    _activation(
        "selu", selu_numpy, selu_element, "An exponential unit that keeps mean 0 and variance 1.", since="0.20",
    ),
    _activation(
        "softplus", softplus_numpy, softplus_element, "A smooth version of relu: `log(1 + exp(beta * x)) / beta`.",
        SoftplusAttrs, params="data, beta=1.0, threshold=20.0", since="0.20",
    ),
)  # fmt: skip
