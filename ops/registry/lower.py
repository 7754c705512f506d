"""From an operator call to a PrimFunc: the record's ``compute`` applied to placeholders.

Both translators, both executors and Relax's LegalizeOps lower through this one function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.registry.attributes import attr_fields
from relay2relax.ops.registry.record import A, Definition, OpDef
from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern, op_pattern
from relay2relax.tir.extent import Extent, Shape, as_prim, is_any
from relay2relax.tir.ir.expr import IntImm, PrimExpr
from relay2relax.tir.ir.stmt import FuncOrigin, PrimFunc


@dataclass(frozen=True, slots=True)
class Origin(FuncOrigin):
    """The operator call that a PrimFunc computes, kept while its body is the record's own.

    ``args`` are the argument types; an argument that is a shape stands as a tuple of extents.
    """

    op: OpDef
    attrs: Any
    args: tuple[Type | Shape, ...]


def lower_call(
    op: OpDef[A],
    attrs: A,
    args: Sequence[Type | Shape],
    out: Type,
    name: str,
    compute: Definition[A] | None = None,
) -> PrimFunc:
    """Return the PrimFunc ``name`` that computes one call of ``op``.

    Parameters of the PrimFunc: the tensors among ``args`` (tuples flattened), then the tensors of
    ``out``; every symbolic extent is a variable of the buffers' shapes. The function's attributes
    ``op_name`` and ``op_attrs`` say what it computes, so that a reader of the printed script knows.
    ``args`` hold tensor and tuple types, and extents for arguments that are shapes; no extent may
    be ``ANY``. ``compute`` is another definition, whose PrimFunc has no origin: its body is what is
    run.
    """
    inputs, given = _placeholders(op, args)
    result = (compute or op.compute)(attrs, out, *given)
    outputs = list(result) if isinstance(result, tuple) else [result]
    origin = Origin(op, attrs, tuple(args)) if compute is None else None
    func = te.create_prim_func(inputs, outputs, name=name, origin=origin)
    return replace(func, attrs={**func.attrs, **describe(op, attrs), **_alone(func)})


def _alone(func: PrimFunc) -> dict[str, int]:
    """Return the attribute that keeps several element-wise results out of other functions.

    apache-tvm would fuse them with the product before, of which its schedules for GPUs bind one
    result to threads: the host would write the others, into memory of the device.
    """
    fused = func.num_outputs > 1 and op_pattern(func) <= OpPattern.BROADCAST
    return {"op_pattern": int(OpPattern.OPAQUE)} if fused else {}


def lower_extents(op: OpDef[A], attrs: A, args: Sequence[Type | Shape], out: Type, name: str) -> PrimFunc:
    """Return the PrimFunc ``name`` that computes the extents which ``out``, the result of a call,
    leaves unknown.

    Its parameters are the tensors among ``args``, then an int64 vector with an element for each
    ``ANY`` of ``out``. Raises UnsupportedError where data do not decide them.
    """
    if op.extents is None:
        raise UnsupportedError(
            mistake(operators.NOT_RUN, name=op.name, reason="a shape is not known, and the inputs do not tell it")
        )
    inputs, given = _placeholders(op, args)
    func = te.create_prim_func(inputs, [op.extents(attrs, out, *given)], name=name)
    return replace(func, attrs={**func.attrs, **describe(op, attrs), "op_part": "extents"})


def unknown_extents(out: Type) -> int:
    """Return how many extents of an operator's result are ``ANY``."""
    match out:
        case TensorType(shape):
            return sum(map(is_any, shape))
        case TupleType(fields):
            return sum(map(unknown_extents, fields))
    return 0


def with_extents(out: Type, extents: Sequence[Extent]) -> Type:
    """Return ``out`` with ``extents`` in place of its ``ANY``, in order."""
    rest = iter(extents)

    def known(one: Type) -> Type:
        match one:
            case TensorType(shape, dtype):
                return TensorType(tuple(next(rest) if is_any(e) else e for e in shape), dtype)
            case TupleType(fields):
                return TupleType(tuple(known(field) for field in fields))
        return one

    return known(out)


def _placeholders(op: OpDef, args: Sequence[Type | Shape]) -> tuple[list[te.Tensor], list[Any]]:
    """Return a tensor for each tensor among ``args``, and what the facets take for each
    argument.
    """
    inputs: list[te.Tensor] = []

    def placeholder(arg: Type | Shape, hint: str) -> Any:
        match arg:
            case TensorType(shape, dtype):
                inputs.append(te.placeholder(tuple(as_prim(e) for e in shape), dtype, hint))
                return inputs[-1]
            case TupleType(fields):
                return tuple(placeholder(one, f"{hint}_{i}") for i, one in enumerate(fields))
            case tuple():
                return arg
        raise TypeError(f"no placeholder stands for {arg!r}")

    names = list(op.inputs)
    if op.variadic:
        names = names[:-1] + [f"{names[-1][1:]}_{i}" for i in range(len(args) - len(names) + 1)]
    return inputs, [placeholder(arg, hint) for arg, hint in zip(args, names, strict=True)]


def describe(op: OpDef[A], attrs: A) -> dict[str, Any]:
    """Return operator name and attributes as plain values.

    Attributes that are null are left out, and those that hold an expression of the program: its
    operands are the arguments.
    """
    values = {field.name: (field.kind, getattr(attrs, field.name)) for field in attr_fields(op.attrs)}
    plain = {name: _plain(value) for name, (kind, value) in values.items() if _is_plain(kind, value)}
    return {"op_name": op.name, **({"op_attrs": plain} if plain else {})}


def _is_plain(kind: str, value: object) -> bool:
    return value is not None and (kind != "Expr" or isinstance(value, (int, float, str, tuple, PrimExpr)))


def _plain(value: object) -> object:
    match value:
        case tuple():
            return [_plain(one) for one in value]
        case bool() | float() | str():
            return value
        case int():
            return int(value)
        case IntImm(number):
            return number
    return repr(value)
