"""Memory in Relax: the operators that allocate tensors and let them go.

    storage = R.memory.alloc_storage(R.shape([96]), 0, "global", "uint8")
    x: R.Tensor((2, 12), dtype="float32") = R.memory.alloc_tensor(storage, 0, R.shape([2, 12]), "float32", 0)
    y: R.Tensor((2, 12), dtype="float32") = R.builtin.alloc_tensor(R.shape([2, 12]), "float32", 0, "global")
    R.memory.kill_tensor(x)
    R.memory.kill_storage(storage)

``read_memory_call`` says what one of them asks for. All but ``R.builtin.alloc_tensor`` are operators without a record:
nothing is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, Union

from relay2relax.core.errors import UnsupportedError
from relay2relax.ops.record import OpDef
from relay2relax.ops.table import relax_op
from relay2relax.relax_ir.expr import Call, Expr, PrimValue, ShapeExpr, StringImm, Var
from relay2relax.relax_ir.struct_info import ObjectStructInfo, StructInfo, TensorStructInfo, TupleStructInfo
from relay2relax.relax_ir.tvm_operators import REQUIRED, Argument, ForeignAttrs, foreign_op, signature
from relay2relax.tir.expr import IntImm
from relay2relax.tir.extent import Extent

_ALLOC_TENSOR = "builtin.alloc_tensor"
_NAMES = frozenset({"memory.alloc_storage", "memory.alloc_tensor", "memory.kill_storage", "memory.kill_tensor"})


@dataclass(frozen=True, slots=True)
class AllocTensor:
    """Memory of its own for a tensor."""

    shape: tuple[Extent, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class AllocStorage:
    """``size`` bytes for tensors to lie in; ``dtype`` says of which kind, and is not looked at when it runs."""

    size: Extent
    dtype: str


@dataclass(frozen=True, slots=True)
class PlaceTensor:
    """A tensor in a storage, ``offset`` bytes from its beginning."""

    storage: Var
    offset: int
    shape: tuple[Extent, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class Kill:
    """A tensor or a storage is not used any more."""

    var: Var


MemoryCall: TypeAlias = Union[AllocTensor, AllocStorage, PlaceTensor, Kill]


def memory_call(what: MemoryCall, tensor: bool = True) -> Call:
    """Return the call that asks for ``what``; of a :class:`Kill`, ``tensor`` tells a tensor from a storage."""
    match what:
        case AllocTensor(shape, dtype):
            op = relax_op(_ALLOC_TENSOR)
            assert op is not None
            return Call(op, (ShapeExpr(shape),), op.attrs(dtype))
        case AllocStorage(size, dtype):
            return _call("memory.alloc_storage", ShapeExpr((size,)), 0, "global", dtype)
        case PlaceTensor(storage, offset, shape, dtype):
            return _call("memory.alloc_tensor", storage, offset, ShapeExpr(shape), dtype, 0)
        case Kill(var):
            return _call("memory.kill_tensor" if tensor else "memory.kill_storage", var)


def _call(name: str, *given: Any) -> Call:
    args: list[Expr] = []
    layout: list[tuple[str, Any]] = []
    for value in given:
        if isinstance(value, (Var, ShapeExpr)):
            layout.append(("", Argument(len(args))))
            args.append(value)
        else:
            layout.append(("", value))
    op = foreign_op(name)
    assert op is not None
    return Call(op, tuple(args), ForeignAttrs(tuple(layout)))


def is_memory_call(expr: Expr) -> bool:
    """Whether ``expr`` allocates or releases memory."""
    return isinstance(expr, Call) and isinstance(expr.op, OpDef) and (_name(expr.op) in (_ALLOC_TENSOR, *_NAMES))


def _name(op: OpDef) -> str:
    return op.script.name if op.script is not None else ""


def read_memory_call(call: Call) -> MemoryCall | None:
    """Return what a call of a memory operator asks for, None for a call of anything else.

    Raises UnsupportedError for one that is written in a way that has no meaning here: a shape that is a variable,
    another device than the first.
    """
    if not is_memory_call(call):
        return None
    assert isinstance(call.op, OpDef)
    name = _name(call.op)
    if name == _ALLOC_TENSOR:
        match call.args:
            case (ShapeExpr(shape),):
                return AllocTensor(shape, call.attrs.dtype)
        return None  # The shape is known when it runs.
    given = _arguments(name, call.args, call.attrs)
    match name, given:
        case "memory.alloc_storage", {"size": ShapeExpr((size,)), "dtype": str(dtype)}:
            return AllocStorage(size, dtype)
        case "memory.alloc_tensor", {
            "storage": Var() as storage,
            "offset": int(offset),
            "shape": ShapeExpr(shape),
            "dtype": str(dtype),
        }:
            return PlaceTensor(storage, offset, shape, dtype)
        case ("memory.kill_tensor", {"tensor": Var() as var}) | ("memory.kill_storage", {"storage": Var() as var}):
            return Kill(var)
    raise UnsupportedError(f"R.{name} is not understood as it is written here")


def memory_info(name: str, args: Sequence[Expr], attrs: ForeignAttrs) -> StructInfo | None:
    """Return the struct info of the result of the operator ``name``, None where it is no memory operator."""
    if name not in _NAMES:
        return None
    if name.startswith("memory.kill_"):
        return TupleStructInfo()
    given = _arguments(name, args, attrs)
    match given.get("shape"), given.get("dtype"):
        case ShapeExpr(values), str(dtype):
            return TensorStructInfo(values, dtype)
    return ObjectStructInfo()


def _arguments(name: str, args: Sequence[Expr], attrs: ForeignAttrs) -> dict[str, Any]:
    """Return the arguments of a call by the names that TVM has for them, plain values as such."""
    form = signature(name)
    assert form is not None
    given = {p: d for p, d in zip(form.params, form.defaults, strict=True) if d is not REQUIRED}
    for place, (keyword, value) in enumerate(attrs.layout):
        key = keyword or (form.params[place] if place < len(form.params) else f"#{place}")
        given[key] = _plain(args[value.index] if isinstance(value, Argument) else value)
    return given


def _plain(value: Any) -> Any:
    match value:
        case StringImm(text):
            return text
        case PrimValue(IntImm(number)):
            return number
    return value
