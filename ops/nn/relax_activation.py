"""Activations that Relax has as operators of their own, where Relay spelled them out: gelu, silu,
selu, softplus.

Source of the semantics: TVM 0.27, ``python/tvm/relax/transform/legalize_ops/nn.py`` and TOPI.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from relay2relax.core.dtype import is_float
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.formula import Formula, Kit, X, definition, kernel, number
from relay2relax.ops.common.shapes import tensor
from relay2relax.ops.registry.attributes import Double, NoAttrs
from relay2relax.ops.registry.record import A, OpDef, OpError, SameOp
from relay2relax.ops.registry.script import OLDEST, Script, Spread
from relay2relax.ops.registry.types import TensorType, Type

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
        raise OpError(
            f"the activation is defined for floating-point numbers, not for {found.dtype}", 0, kind=operators.DTYPE
        )
    return found


def gelu(k: Kit[X], attrs: NoAttrs, x: X) -> X:
    """Return ``x`` times the normal distribution's probability of less than ``x``:
    ``x * (0.5 + 0.5 * erf(x / sqrt(2)))``.
    """
    half = number(k, 0.5, x)
    error = k.unary("erf", k.binary("multiply", x, number(k, math.sqrt(0.5), x)))
    return k.binary("multiply", x, k.binary("add", half, k.binary("multiply", error, half)))


def gelu_tanh(k: Kit[X], attrs: NoAttrs, x: X) -> X:
    """Return ``0.5 * x * (1 + tanh(sqrt(2 / pi) * x * (1 + 0.044715 * x * x)))``."""
    one = number(k, 1, x)
    cube = k.binary("multiply", k.binary("multiply", number(k, 0.044715, x), x), x)
    scaled = k.binary("multiply", number(k, math.sqrt(2 / math.pi), x), x)
    inner = k.binary("multiply", scaled, k.binary("add", one, cube))
    halved = k.binary("multiply", number(k, 0.5, x), x)
    return k.binary("multiply", halved, k.binary("add", one, k.unary("tanh", inner)))


def silu(k: Kit[X], attrs: NoAttrs, x: X) -> X:
    """Return ``x * sigmoid(x)``."""
    return k.binary("multiply", x, k.unary("sigmoid", x))


def selu(k: Kit[X], attrs: NoAttrs, x: X) -> X:
    """Return ``scale * (max(x, 0) + min(0, alpha * (exp(x) - 1)))``."""
    zero = number(k, 0, x)
    power = k.binary("subtract", k.unary("exp", x), number(k, 1, x))
    below = k.binary("minimum", zero, k.binary("multiply", number(k, _SELU_ALPHA, x), power))
    total = k.binary("add", k.binary("maximum", x, zero), below)
    return k.binary("multiply", number(k, _SELU_SCALE, x), total)


def softplus(k: Kit[X], attrs: SoftplusAttrs, x: X) -> X:
    """Return ``log(1 + exp(beta * x)) / beta``, and ``x`` where that is the same."""
    scaled = k.binary("multiply", number(k, attrs.beta, x), x)
    power = k.binary("add", number(k, 1, x), k.unary("exp", scaled))
    smooth = k.binary("multiply", number(k, 1 / attrs.beta, x), k.unary("log", power))
    return k.where(k.binary("greater", scaled, number(k, attrs.threshold, x)), x, smooth)


def _activation(
    name: str,
    formula: Formula[A],
    doc: str,
    attrs: type[A] = NoAttrs,  # type: ignore[assignment]
    *,
    params: str = "data",
    since: str = OLDEST,
    spread: Spread | None = None,
) -> OpDef[A]:
    return OpDef(
        doc=doc,
        source=SOURCE,
        inputs=("data",),
        attrs=attrs,
        infer=floating_type,
        numpy=kernel(formula),
        compute=definition(formula, name),
        relax=SameOp(),
        script=Script(f"nn.{name}", params, since=since, spread=spread),
    )


OPS: tuple[OpDef, ...] = (
    _activation("gelu", gelu, "The element times the normal probability of less than it.", spread=Spread.ELEMENTS),
    _activation("gelu_tanh", gelu_tanh, "gelu, approximated by a hyperbolic tangent.", spread=Spread.ELEMENTS),
    _activation("silu", silu, "The element times its sigmoid.", spread=Spread.ELEMENTS),
    _activation("selu", selu, "An exponential unit that keeps mean 0 and variance 1.", since="0.20"),
    _activation(
        "softplus", softplus, "A smooth version of relu: `log(1 + exp(beta * x)) / beta`.", SoftplusAttrs,
        params="data, beta=1.0, threshold=20.0", since="0.20",
    ),
)  # fmt: skip
