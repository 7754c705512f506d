"""Annotations: operators that are their input, whatever its type, and tell a pass something about
it.

``R.wrap_param`` alone changes something, the dtype. Source of the semantics: TVM 0.18
src/relay/op/annotation/annotation.cc, src/relay/op/memory and src/relay/op/debug.cc; TVM 0.27
src/relax/op.
"""

from __future__ import annotations

from dataclasses import dataclass

from relay2relax.ops.common import layout_rules
from relay2relax.ops.common.limits import NOT_LOWERED
from relay2relax.ops.math.elementwise import CastAttrs, cast_compute, cast_numpy, cast_type
from relay2relax.ops.registry.attributes import Bool, DType, EnvFunc, InlineString, Int, NoAttrs, VirtualDevice
from relay2relax.ops.registry.fusion import OPAQUE, Fusion
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, Tensors, V, Value
from relay2relax.ops.registry.script import Script, Spread
from relay2relax.ops.registry.types import Type
from relay2relax.tir import te

SOURCE = "TVM 0.18 src/relay/op/annotation/annotation.cc"


@dataclass(frozen=True, slots=True)
class CastHintAttrs:
    """The dtype that the value is meant to get."""

    dtype: DType


# What AnnotateTarget calls the compiler of operators that TVM itself compiles.
OWN_COMPILER = "default"


@dataclass(frozen=True, slots=True)
class CompilerAttrs:
    """The external compiler that the region is for."""

    compiler: InlineString


@dataclass(frozen=True, slots=True)
class WithFuncIdAttrs:
    """The number of the function, as partial evaluation counts them."""

    fid: Int = -1


@dataclass(frozen=True, slots=True)
class OnDeviceAttrs:
    """Where the value lives; whether that binds the result and the body."""

    virtual_device: VirtualDevice = None
    constrain_result: Bool = False
    constrain_body: Bool = True


@dataclass(frozen=True, slots=True)
class DeviceCopyAttrs:
    """From where to where."""

    src_virtual_device: VirtualDevice
    dst_virtual_device: VirtualDevice


@dataclass(frozen=True, slots=True)
class DebugAttrs:
    """The function that TVM's interpreter calls with the value."""

    debug_func: EnvFunc


def same_type(attrs: object, body: Type) -> Type:
    """Return the type of the input."""
    return body


def same_numpy(attrs: object, body: Value) -> Value:
    """Return the input."""
    return body


def same_compute(attrs: object, out: Type, body: Tensors) -> Tensors:
    """Return a copy of each tensor: a PrimFunc writes its result."""

    def copied(tensor: te.Tensor) -> te.Tensor:
        return te.compute(tensor.shape, lambda *i: tensor(*i), "T_copy")

    return tuple(map(copied, body)) if isinstance(body, tuple) else copied(body)


def same_relax(e: Emit[V], attrs: object, body: V) -> V:
    """Return the input."""
    return body


def annotation(
    name: str,
    doc: str,
    attrs: type = NoAttrs,
    *,
    source: str = SOURCE,
    declares: bool = True,
    input_name: str = "data",
    fusion: Fusion = OPAQUE,
) -> OpDef:
    """Return the record of an operator that is its input."""
    return OpDef(
        relay=name,
        doc=doc,
        source=source,
        inputs=(input_name,),
        attrs=attrs,
        infer=same_type,
        numpy=same_numpy,
        compute=same_compute,
        relax=Expanded(same_relax),
        declares_attrs=declares,
        passes_through=True,
        fusion=fusion,
        layout=layout_rules.elementwise,
    )


@dataclass(frozen=True, slots=True)
class WrapParamAttrs(CastAttrs):
    """The dtype that the program computes in, where parameters are stored in another."""

    dtype: DType = "float32"


def _relax_marker(script: Script, doc: str, input_name: str) -> OpDef:
    """Return the record of an operator of Relax that is its input."""
    return OpDef(
        script=script,
        doc=doc,
        source="TVM 0.27 src/relax/op/tensor/grad.cc and src/relax/op/op.cc",
        inputs=(input_name,),
        infer=same_type,
        numpy=same_numpy,
        compute=same_compute,
        passes_through=True,
    )


OPS = (
    annotation("annotation.stop_fusion", "What uses the value is not fused with what makes it."),
    annotation("annotation.checkpoint", "The gradient computes the value again instead of keeping it."),
    annotation("annotation.bitpack_start", "Here begins what is computed on packed bits."),
    annotation("annotation.bitpack_end", "Here ends what is computed on packed bits."),
    annotation("annotation.cast_hint", "The value is meant to be converted to a dtype.", CastHintAttrs, declares=False),
    annotation(
        "annotation.compiler_begin", "An input of a region for an external compiler.", CompilerAttrs, declares=False
    ),
    annotation(
        "annotation.compiler_end", "An output of a region for an external compiler.", CompilerAttrs, declares=False
    ),
    annotation(
        "annotation.with_funcid", "A function with the number that partial evaluation gave it.", WithFuncIdAttrs,
        source="TVM 0.18 src/relay/transforms/partial_eval.cc", declares=False, input_name="func",
    ),
    annotation(
        "on_device", "The value is computed, or kept, on a device.", OnDeviceAttrs,
        source="TVM 0.18 src/relay/op/memory/on_device.cc", input_name="body",
        fusion=Fusion(computes=False),
    ),
    annotation(
        "device_copy", "The value is copied from one device to another; here there is one device.", DeviceCopyAttrs,
        source="TVM 0.18 src/relay/op/memory/device_copy.cc",
    ),
    annotation(
        "debug", "TVM's interpreter calls a function with the value; here it is passed on.", DebugAttrs,
        source="TVM 0.18 src/relay/op/debug.cc", input_name="program",
    ),
    _relax_marker(Script("grad.no_grad", "input"), "The input, through which no gradient is passed on.", "input"),
    _relax_marker(
        Script("grad.start_checkpoint", "input"), "From here on the gradient computes again what it needs.",
        "input",
    ),
    _relax_marker(Script("grad.end_checkpoint", "input"), "Here ends what the gradient computes again.", "input"),
    _relax_marker(
        Script("builtin.stop_lift_params", "x", limits=(NOT_LOWERED,), spread=Spread.ELEMENTS),
        "What uses the value is not computed ahead from parameters.", "x"),
    OpDef(
        script=Script("wrap_param", "data, dtype='float32'", limits=(NOT_LOWERED,)),
        doc="A parameter in the dtype that the program computes in.",
        source="TVM 0.27 src/relax/op/op.cc, wrap_param",
        inputs=("data",),
        attrs=WrapParamAttrs,
        infer=cast_type,
        numpy=cast_numpy,
        compute=cast_compute,
    ),
)  # fmt: skip
