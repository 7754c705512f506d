"""Clip: both bounds applied to each element, in the element's dtype.

Source of the semantics: TVM 0.18, ``src/relay/op/tensor/unary.cc`` and
``include/tvm/topi/elemwise.h``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relay2relax.core.dtype import Array, is_float, numpy_dtype, of_array
from relay2relax.ops.common import layout_rules
from relay2relax.ops.common.limits import NO_BOOL
from relay2relax.ops.common.shapes import any_type, tensor
from relay2relax.ops.math.elementwise import identity_type
from relay2relax.ops.registry.attributes import Double
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.precision import Precision
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, V
from relay2relax.ops.registry.script import Script
from relay2relax.ops.registry.types import TensorType
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.ir.expr import IntImm, const, maximum, minimum
from relay2relax.tir.ir.intrinsics import max_value, min_value


@dataclass(frozen=True, slots=True)
class ClipAttrs:
    """The bounds, both inclusive."""

    a_min: Double
    a_max: Double


def _bounds(attrs: ClipAttrs, dtype: str) -> tuple[float | int, float | int]:
    """Return the bounds in the tensor's dtype: integers truncate them, and keep them inside their
    range.
    """
    if is_float(dtype):
        with np.errstate(over="ignore"):
            low_float, high_float = np.array([attrs.a_min, attrs.a_max]).astype(numpy_dtype(dtype)).tolist()
        return float(low_float), float(high_float)
    low, high = min_value(dtype), max_value(dtype)
    assert isinstance(low, IntImm)
    assert isinstance(high, IntImm)

    def inside(bound: float) -> int:
        return low.value if bound <= low.value else high.value if bound >= high.value else int(bound)

    return inside(attrs.a_min), inside(attrs.a_max)


def clip_numpy(attrs: ClipAttrs, data: Array) -> Array:
    """Return ``max(min(x, a_max), a_min)``; NaN becomes ``a_max``, as in TVM's compare and
    select.
    """
    low, high = (np.asarray(bound, data.dtype) for bound in _bounds(attrs, of_array(data)))
    result = np.fmin(data, high, out=np.empty_like(data))
    return np.asarray(np.fmax(result, low, out=result))


def clip_compute(attrs: ClipAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return the bounds applied to each element."""
    low, high = (const(bound, data.dtype) for bound in _bounds(attrs, data.dtype))
    return te.compute(out.shape, lambda *i: maximum(minimum(data[i], high), low), name="T_clip")


def clip_relax(e: Emit[V], attrs: ClipAttrs, data: V) -> V:
    """R.clip takes bounds that are finite numbers of float32.

    Others are constants of the data's dtype.
    """
    dtype = tensor(e.type_of(data)).dtype
    low, high = _bounds(attrs, dtype)
    largest = float(np.finfo(np.float32).max)
    # Integers are told apart by float32 up to 2**24.
    if max(abs(low), abs(high)) <= (largest if is_float(dtype) else 2**24):
        return e.call("clip", data, a_min=float(low), a_max=float(high))
    # An infinite bound leaves all numbers alone, and takes the place of NaN.
    return e.call("maximum", e.call("minimum", data, e.const(high, dtype)), e.const(low, dtype))


clip = OpDef(
    relay="clip",
    doc="``max(min(x, a_max), a_min)``; the bounds are converted to the tensor's dtype first, NaN becomes a_max.",
    source="TVM 0.18 src/relay/op/tensor/unary.cc, clip",
    inputs=("data",),
    attrs=ClipAttrs,
    infer=identity_type,
    relay_type=any_type,
    numpy=clip_numpy,
    compute=clip_compute,
    relax=Expanded(clip_relax),
    script=Script("clip", "x, min, max", positional=("a_min", "a_max"), limits=(NO_BOOL,)),
    layout=layout_rules.elementwise,
    fusion=Fusion(OpPattern.ELEMWISE),
    precision=Precision.FOLLOW,
)

OPS = (clip,)
