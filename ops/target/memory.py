"""What TVM's passes lower programs to: explicit memory (``memory.*``), the VM dialect (``vm.*``),
``call_lowered``.

Such programs are read, typed and written. Shapes are computed; memory that a planner laid out, and
calls of functions that were compiled already, are refused when something asks to run them: the
program from before the lowering says all. Source of the semantics: TVM 0.18
src/relay/op/memory/memory.cc, src/relay/op/vm/vm.cc, src/relay/op/call/call.cc.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from relay2relax.core.dtype import Array, Numbers
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.reshape_rules import reshaped_index
from relay2relax.ops.common.shapes import tensor
from relay2relax.ops.registry.attributes import (
    Constant,
    DType,
    IndexExprArray,
    NoAttrs,
    ObjectMap,
    OptionalIndexExprArray,
    VirtualDevice,
)
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, TypeRule, V
from relay2relax.ops.registry.refusal import Refusal
from relay2relax.ops.registry.types import NamedType, TensorType, TupleType, Type, show
from relay2relax.ops.tensor.create import shape_of, static_shape
from relay2relax.tir import te
from relay2relax.tir.extent import static

PLANNED = "its memory was planned by TVM; use the program from before that pass"
COMPILED = "it calls a function that TVM compiled; use the program from before that pass"
STORAGE = NamedType("Storage")


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocStorageAttrs:
    """The dtype that the storage is meant for, and where it lies."""

    dtype: DType = "float32"
    virtual_device: VirtualDevice


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocTensorAttrs:
    """The dtype, and the shape: a constant, or extents that the program promises."""

    dtype: DType = "float32"
    const_shape: Constant
    assert_shape: OptionalIndexExprArray


@dataclass(frozen=True, slots=True)
class ReshapeTensorAttrs:
    """The shape of the result."""

    newshape: IndexExprArray


@dataclass(frozen=True, slots=True)
class CallLoweredAttrs:
    """What TVM's compiler noted about the call, by name."""

    metadata: ObjectMap = ()


@runtime_checkable
class FunctionLike(Protocol):
    """A function type, whichever IR it belongs to."""

    @property
    def arg_types(self) -> tuple[Type, ...]:
        """The types of the parameters."""

    @property
    def ret_type(self) -> Type:
        """The type of the result."""


def _scalar(value: Type, argument: int) -> None:
    found = tensor(value, argument)
    if found.rank or found.dtype != "int64":
        raise OpError(
            f"one int64 is expected, this is {found.dtype}{show(found.shape)}", argument, kind=operators.DTYPE
        )


def alloc_storage_type(attrs: AllocStorageAttrs, size: Type, shape: Type, alignment: Type) -> Type:
    """Return the module's type Storage."""
    _scalar(size, 0)
    tensor(shape, 1)
    _scalar(alignment, 2)
    return STORAGE


def alloc_tensor_type(attrs: AllocTensorAttrs, storage: Type, offset: Type, shape: Type) -> Type:
    """Return the type of the tensor that is laid into ``storage``."""
    definition = getattr(storage, "func", None)
    if getattr(definition, "name", None) != STORAGE.name:
        raise OpError("a Storage is expected", 0, kind=operators.SHAPE)
    tensor(offset, 1)
    extents = tensor(shape, 2)
    if attrs.const_shape is not None:
        found = tuple(int(extent) for extent in np.asarray(attrs.const_shape.data).ravel())
        rank = static(extents.shape[0]) if extents.rank else 0
        if rank is not None and rank != len(found):
            raise OpError(f"const_shape has {len(found)} extents, the shape given {rank}", 2, kind=operators.SHAPE)
        return TensorType(found, attrs.dtype)
    if attrs.assert_shape is None:
        raise OpError("assert_shape must be given where const_shape is not", kind=operators.ATTRIBUTE)
    return TensorType(attrs.assert_shape, attrs.dtype)


def nothing_type(attrs: object, value: Type) -> Type:
    """Return the unit type."""
    return TupleType(())


def reshape_tensor_type(attrs: ReshapeTensorAttrs, data: Type, shape: Type) -> Type:
    """Return the type of the same elements in another shape."""
    return TensorType(attrs.newshape, tensor(data).dtype)


def reshape_tensor_numpy(attrs: ReshapeTensorAttrs, data: Array, shape: Numbers) -> Array:
    """Return the same elements in the shape that ``shape`` holds."""
    return data.reshape(static_shape(attrs.newshape))


def reshape_tensor_compute(attrs: ReshapeTensorAttrs, out: TensorType, data: te.Tensor, shape: te.Tensor) -> te.Tensor:
    """Return the same elements in the shape of ``out``."""
    return te.compute(out.shape, lambda *i: data[reshaped_index(data.shape, out.shape, i)], "T_reshape_tensor")


def reshape_tensor_relax(e: Emit[V], attrs: ReshapeTensorAttrs, data: V, shape: V) -> V:
    """R.reshape takes the shape as extents."""
    return e.call("reshape", data, e.shape(attrs.newshape))


def _function(value: Type) -> FunctionLike:
    if not isinstance(value, FunctionLike):
        raise OpError("a function is expected", 0, kind=operators.SHAPE)
    return value


def _tuple(value: Type, argument: int) -> TupleType:
    if not isinstance(value, TupleType):
        raise OpError("a tuple is expected", argument, kind=operators.SHAPE)
    return value


def invoke_type(attrs: object, function: Type, inputs: Type, outputs: Type) -> Type:
    """Return the unit type: the function writes its results into ``outputs``."""
    callee = _function(function)
    results = callee.ret_type if isinstance(callee.ret_type, TupleType) else TupleType((callee.ret_type,))
    if _tuple(inputs, 1) != TupleType(callee.arg_types):
        raise OpError("the inputs are not what the function takes", 1)
    if _tuple(outputs, 2) != results:
        raise OpError("the outputs are not what the function returns", 2)
    return TupleType(())


def call_lowered_type(attrs: CallLoweredAttrs, function: Type, arguments: Type) -> Type:
    """Return the result of ``function``, which takes the fields of the tuple ``arguments``."""
    callee = _function(function)
    if _tuple(arguments, 1) != TupleType(callee.arg_types):
        raise OpError("the arguments are not what the function takes", 1)
    return callee.ret_type


def _lowered(
    name: str, doc: str, inputs: tuple[str, ...], infer: TypeRule, attrs: type, source: str, why: str
) -> OpDef:
    """Return the record of an operator that is typed, but not run."""
    return OpDef(
        relay=name,
        doc=doc,
        source=f"TVM 0.18 src/relay/op/{source}",
        inputs=inputs,
        attrs=attrs,
        infer=infer,
        numpy=Refusal(name, why),
        compute=Refusal(name, why),
        fusion=Fusion(computes=False),
    )


OPS = (
    _lowered(
        "memory.alloc_storage", "A piece of memory of ``size`` bytes.", ("size", "shape", "alignment"),
        alloc_storage_type, AllocStorageAttrs, "memory/memory.cc", PLANNED,
    ),
    _lowered(
        "memory.alloc_tensor", "A tensor that lies in a piece of memory.", ("storage", "offset", "shape"),
        alloc_tensor_type, AllocTensorAttrs, "memory/memory.cc", PLANNED,
    ),
    _lowered(
        "memory.kill", "The value is not used any more.", ("to_free",), nothing_type, NoAttrs,
        "memory/memory.cc", PLANNED,
    ),
    _lowered(
        "vm.invoke_tvm_op", "Call a compiled function that writes its results into tensors it is given.",
        ("op", "ins", "outs"), invoke_type, NoAttrs, "vm/vm.cc", COMPILED,
    ),
    _lowered(
        "call_lowered", "Call a function that was lowered to TensorIR.", ("func", "call_args"),
        call_lowered_type, CallLoweredAttrs, "call/call.cc", COMPILED,
    ),
    replace(
        shape_of,
        relay="vm.shape_of",
        doc="The extents as a tensor; the VM has an instruction for it.",
        source="TVM 0.18 src/relay/op/vm/vm.cc",
        inputs=("tensor",),
        fusion=Fusion(computes=False),
        precision=None,
    ),
    OpDef(
        relay="vm.reshape_tensor",
        doc="The same elements in another shape, without a copy.",
        source="TVM 0.18 src/relay/op/vm/vm.cc",
        inputs=("data", "shape"),
        attrs=ReshapeTensorAttrs,
        infer=reshape_tensor_type,
        numpy=reshape_tensor_numpy,
        compute=reshape_tensor_compute,
        relax=Expanded(reshape_tensor_relax),
        fusion=Fusion(computes=False),
    ),
)  # fmt: skip
