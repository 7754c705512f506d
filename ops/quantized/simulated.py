"""Quantisation simulated on floating-point numbers, as calibration and training write it.

Source of the semantics: TVM 0.18 python/tvm/topi/nn/qnn.py and src/relay/quantize/quantize.cc.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from relay2relax.core.dtype import Array, Numbers
from relay2relax.ops.common import layout_rules
from relay2relax.ops.common.formula import ARRAYS, ELEMENTS, Kit, RelaxValues, X
from relay2relax.ops.common.shapes import check_scalar, tensor
from relay2relax.ops.quantized.arithmetic import channel_axis, limits, one_of, rounded, spread
from relay2relax.ops.quantized.qnn import DequantizeAttrs
from relay2relax.ops.registry.attributes import Bool, InlineString, Int
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, V
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.ir.expr import PrimExpr

# The codes by which a program chooses, while it runs, what is simulated; 0 is nothing.
DTYPES = {1: "int8", 2: "uint8", 3: "int32"}


@dataclass(frozen=True, slots=True)
class SimulatedQuantizeAttrs:
    """The axis that vectors of parameters lie along."""

    axis: Int = -1


@dataclass(frozen=True, slots=True)
class AnnotatedQuantizeAttrs:
    """``kind``: 0 leaves the value as it is, 1 an input, 2 a weight, 3 an activation.

    ``rounding`` is "round".
    """

    # qnn.simulated_quantize has attributes of the same key.
    type_key: ClassVar[str] = "relay.attrs.SimulatedQuantizeAttrs"
    kind: Int
    sign: Bool = True
    rounding: InlineString = "round"


def simulated_type(attrs: object, data: Type, code: Type, scale: Type, zero: Type) -> TensorType:
    """Return the type of the data."""
    for argument, one in enumerate((code, scale, zero), 1):
        tensor(one, argument)
    return tensor(data)


def _quantised(k: Kit[X], x: X, code: X, scale: X, zero: X, dtype: str) -> X:
    """Return ``clip(round(x / scale) + zero)`` by the range that ``code`` names, ``x`` where it
    names none.
    """
    moved = k.binary("add", rounded(k, k.binary("divide", x, scale), dtype), k.cast(zero, dtype))
    result = x
    for number, name in DTYPES.items():
        low, high = limits(name)
        held = k.binary("maximum", k.binary("minimum", moved, k.const(high, dtype)), k.const(low, dtype))
        result = k.where(_is(k, code, number), held, result)
    return result


def _is(k: Kit[X], code: X, number: int) -> X:
    return k.binary("equal", code, k.const(number, "int32"))


def _dequantised(k: Kit[X], x: X, code: X, scale: X, zero: X, dtype: str) -> X:
    """Return ``(x - zero) * scale``, ``x`` where ``code`` names no integers."""
    value = k.binary("multiply", k.binary("subtract", x, k.cast(zero, dtype)), scale)
    chosen = x
    for number in DTYPES:
        chosen = k.where(_is(k, code, number), value, chosen)
    return chosen


class _Formula(Protocol):
    """A formula of a kit, data, code, scale, zero point and the dtype to compute in."""

    def __call__(self, k: Kit[X], x: X, code: X, scale: X, zero: X, dtype: str, /) -> X: ...


def _record(name: str, formula: _Formula, attrs_class: type, inputs: tuple[str, ...], doc: str) -> OpDef:
    def numpy(
        attrs: DequantizeAttrs | SimulatedQuantizeAttrs, data: Array, code: Numbers, scale: Numbers, zero: Numbers
    ) -> Array:
        scale, zero = (spread(one, data.ndim, attrs.axis) for one in (scale, zero))
        with np.errstate(all="ignore"):
            return np.asarray(formula(ARRAYS, data, np.reshape(code, ()), scale, zero, data.dtype.name))

    def compute(
        attrs: Any, out: TensorType, data: te.Tensor, code: te.Tensor, scale: te.Tensor, zero: te.Tensor
    ) -> te.Tensor:
        def element(*i: PrimExpr) -> PrimExpr:
            place = i[channel_axis(attrs.axis, len(i))] if i else None
            parameters = one_of(scale, place), one_of(zero, place)
            return formula(ELEMENTS, data(*i), one_of(code), *parameters, out.dtype)

        return te.compute(out.shape, element, f"T_qnn_{name}")

    return OpDef(
        relay=f"qnn.{name}",
        doc=doc,
        source=f"TVM 0.18 python/tvm/topi/nn/qnn.py, {name}",
        inputs=inputs,
        attrs=attrs_class,
        infer=simulated_type,
        numpy=numpy,
        compute=compute,
        fusion=Fusion(OpPattern.ELEMWISE),
    )


# relay.op.annotation.simulated_quantize


def annotated_type(attrs: AnnotatedQuantizeAttrs, data: Type, scale: Type, low: Type, high: Type) -> TensorType:
    """Return the type of the data."""
    for argument, one in enumerate((scale, low, high), 1):
        check_scalar(one, "float32", argument)
    return tensor(data)


def annotated_operands(attrs: AnnotatedQuantizeAttrs, types: tuple[Type | None, ...]) -> tuple[Type | None, ...]:
    """Scale and bounds are numbers."""
    number = TensorType((), "float32")
    return types[0], number, number, number


def _annotated(k: Kit[X], attrs: AnnotatedQuantizeAttrs, x: X, scale: X, low: X, high: X) -> X:
    """Return ``round(clip(x / scale, low, high)) * scale``."""
    if attrs.rounding != "round" or not attrs.sign:
        raise OpError('only signed numbers and rounding="round" are defined')
    if attrs.kind == 0:
        return x
    held = k.binary("maximum", k.binary("minimum", k.binary("divide", x, scale), high), low)
    return k.binary("multiply", rounded(k, held, "float32"), scale)


def annotated_numpy(attrs: AnnotatedQuantizeAttrs, data: Array, scale: Numbers, low: Numbers, high: Numbers) -> Array:
    """Return the values that quantised numbers could stand for."""
    return _annotated(ARRAYS, attrs, data, scale, low, high)


def annotated_compute(
    attrs: AnnotatedQuantizeAttrs, out: TensorType, data: te.Tensor, scale: te.Tensor, low: te.Tensor, high: te.Tensor
) -> te.Tensor:
    """Return the value that a quantised number could stand for, of each element."""
    return te.compute(
        out.shape,
        lambda *i: _annotated(ELEMENTS, attrs, data(*i), scale(), low(), high()),
        "T_simulated_quantize",
    )


def annotated_relax(e: Emit[V], attrs: AnnotatedQuantizeAttrs, data: V, scale: V, low: V, high: V) -> V:
    """The steps one by one."""
    return _annotated(RelaxValues(e), attrs, data, scale, low, high)


OPS = (
    _record(
        "simulated_quantize",
        _quantised,
        SimulatedQuantizeAttrs,
        ("data", "out_dtype", "output_scale", "output_zero_point"),
        "``qnn.quantize`` in floats; the second input chooses: 0 nothing, 1 int8, 2 uint8, 3 int32.",
    ),
    _record(
        "simulated_dequantize",
        _dequantised,
        DequantizeAttrs,
        ("data", "in_dtype", "input_scale", "input_zero_point"),
        "``qnn.dequantize`` in floats; the second input chooses: 0 nothing, 1 int8, 2 uint8, 3 int32.",
    ),
    OpDef(
        relay="relay.op.annotation.simulated_quantize",
        doc="Round the data to what quantised numbers could stand for; TVM's quantisation pass measures with it.",
        source="TVM 0.18 src/relay/quantize/quantize.cc and python/tvm/relay/quantize/_annotate.py",
        inputs=("data", "dom_scale", "clip_min", "clip_max"),
        attrs=AnnotatedQuantizeAttrs,
        infer=annotated_type,
        operands=annotated_operands,
        numpy=annotated_numpy,
        compute=annotated_compute,
        relax=Expanded(annotated_relax),
        layout=layout_rules.simulated_quantize,
        fusion=Fusion(OpPattern.ELEMWISE),
    ),
)
