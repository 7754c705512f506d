"""Memory in Relax: the operators that allocate tensors and let them go.

    storage = R.memory.alloc_storage(R.shape([96]), 0, "global", "uint8")
    x = R.memory.alloc_tensor(storage, 0, R.shape([2, 12]), "float32", 0)
    y = R.builtin.alloc_tensor(R.shape([2, 12]), "float32", 0, "global")
    z = R.memory.view(y, R.shape([24]), "float32", 0)
    R.memory.kill_tensor(x)
    R.memory.kill_storage(storage)

``read_memory_call`` says what one of them asks for. All but ``R.builtin.alloc_tensor`` are
operators without a record: nothing is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias, Union

from relay2relax.core.errors import UnsupportedError
from relay2relax.ops.registry.record import OpDef
from relay2relax.ops.registry.table import relax_op
from relay2relax.relax_ir.inference.op_signatures import Argument, ForeignAttrs, ForeignOp, foreign_op
from relay2relax.relax_ir.inference.runtime_calls import arguments
from relay2relax.relax_ir.ir.expr import Call, Expr, ShapeExpr, Var
from relay2relax.relax_ir.ir.struct_info import (
    ObjectStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from relay2relax.tir.extent import Extent

_NAMES = frozenset(
    {"memory.alloc_storage", "memory.alloc_tensor", "memory.kill_storage", "memory.kill_tensor", "memory.view",
     "memory.ensure_zero_offset", "vm.alloc_storage", "vm.alloc_tensor", "vm.kill_object"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class AllocTensor:
    """Memory of its own for a tensor."""

    shape: tuple[Extent, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class AllocStorage:
    """``size`` bytes for tensors to lie in.

    ``dtype`` says of which kind, and is not looked at when it runs.
    """

    size: Extent
    dtype: str


@dataclass(frozen=True, slots=True)
class PlaceTensor:
    """A tensor in a storage, or in the memory of another tensor, ``offset`` bytes from its
    beginning.
    """

    storage: Var
    offset: int
    shape: tuple[Extent, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class Kill:
    """A tensor, a storage or a tuple is not used any more."""

    var: Var


MemoryCall: TypeAlias = Union[AllocTensor, AllocStorage, PlaceTensor, Kill]


def memory_call(what: MemoryCall) -> Call:
    """Return the call that asks for ``what``."""
    match what:
        case AllocTensor(shape, dtype):
            op = _alloc_tensor()
            return Call(op, (ShapeExpr(shape),), op.attrs(dtype))
        case AllocStorage(size, dtype):
            return _call("memory.alloc_storage", ShapeExpr((size,)), 0, "global", dtype)
        case PlaceTensor(storage, offset, shape, dtype):
            return _call("memory.alloc_tensor", storage, offset, ShapeExpr(shape), dtype, 0)
        case Kill(var):
            match var.info:
                case TensorStructInfo():
                    return _call("memory.kill_tensor", var)
                case TupleStructInfo():
                    return _call("vm.kill_object", var)
            return _call("memory.kill_storage", var)


def _call(name: str, *given: object) -> Call:
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
    if not isinstance(expr, Call):
        return False
    return expr.op is _alloc_tensor() or (isinstance(expr.op, ForeignOp) and expr.op.name in _NAMES)


@lru_cache(maxsize=1)
def _alloc_tensor() -> OpDef:
    op = relax_op("builtin.alloc_tensor")
    assert op is not None
    return op


def viewed(expr: Expr) -> Expr | None:
    """Return the tensor that ``expr`` shows in another shape without memory of its own, None where
    it is none.
    """
    return expr.args[0] if isinstance(expr, Call) and expr.op is relax_op("reshape") else None


def read_memory_call(expr: Expr) -> MemoryCall | None:
    """Return what a call of a memory operator asks for, None for anything else.

    Raises UnsupportedError for one that is written in a way that has no meaning here: a shape that
    is a variable, an offset that is computed.
    """
    if not isinstance(expr, Call) or not isinstance(expr.op, OpDef):
        return None
    op, args = expr.op, expr.args
    if op is _alloc_tensor():
        # A shape that is a variable is known when it runs.
        return AllocTensor(args[0].values, expr.attrs.dtype) if isinstance(args[0], ShapeExpr) else None
    if not isinstance(op, ForeignOp) or op.name not in _NAMES:
        return None
    match op.name, arguments(op.name, args, expr.attrs):
        case "memory.alloc_storage", (ShapeExpr((size,)), _, _, str(dtype)):
            return AllocStorage(size, dtype)
        case "vm.alloc_storage", (ShapeExpr((size,)), int(), str(dtype), _) | (ShapeExpr((size,)), str(dtype), _, _):
            return AllocStorage(size, dtype)
        case "memory.alloc_tensor" | "vm.alloc_tensor", (
            Var() as storage, int(offset), ShapeExpr(shape), str(dtype), _,
        ):  # fmt: skip
            return PlaceTensor(storage, offset, shape, dtype)
        case "memory.view" | "memory.ensure_zero_offset", (Var() as data, *rest) if not rest or _is_place(rest[-1]):
            info = memory_info(op.name, args, expr.attrs)
            if isinstance(info, TensorStructInfo) and info.shape is not None:
                return PlaceTensor(data, rest[-1] or 0 if rest else 0, info.shape, info.dtype)
        case _, (Var() as var,) if "kill_" in op.name:
            return Kill(var)
    raise UnsupportedError(f"R.{op.name} is not understood as it is written here")


def memory_info(name: str, args: Sequence[Expr], attrs: ForeignAttrs) -> StructInfo | None:
    """Return the struct info of the result of the operator ``name``, None where it is not a memory
    operator.
    """
    if name not in _NAMES:
        return None
    if "kill_" in name:
        return TupleStructInfo()
    match name, arguments(name, args, attrs):
        case "memory.alloc_tensor" | "vm.alloc_tensor", (_, _, ShapeExpr(values), str(dtype), _):
            return TensorStructInfo(values, dtype)
        case "memory.view", (Var(_, TensorStructInfo() as info), shape, dtype, _):
            match shape:
                case ShapeExpr(values):
                    info = TensorStructInfo(values, info.dtype)
                case Var(_, ShapeStructInfo(extents, ndim)):
                    info = TensorStructInfo(extents, info.dtype, ndim)
            return replace(info, dtype=dtype) if isinstance(dtype, str) else info
        case "memory.ensure_zero_offset", (Var(_, info),):
            return info
    return ObjectStructInfo()


def _is_place(value: object) -> bool:
    return value is None or isinstance(value, int)
