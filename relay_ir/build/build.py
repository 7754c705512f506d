"""Making Relay by hand: variables, constants, and how Python values become expressions and
attributes.

Operators are called through ``relay_ir.op``; expressions carry Python's operators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any as AnyValue

import numpy as np

from relay2relax.core.dtype import Array, numpy_dtype
from relay2relax.core.errors import ParseError, Relay2RelaxError
from relay2relax.core.errors.table import types
from relay2relax.core.source import Span
from relay2relax.ops.registry.attributes import attr_fields
from relay2relax.ops.registry.record import OpDef
from relay2relax.relay_ir.compat.attrs_codec import coerce
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Op, RelayExpr, Tuple, Var
from relay2relax.relay_ir.ir.types import TensorType, Type
from relay2relax.tir.extent import ANY, Extent
from relay2relax.tir.ir.expr import AnyExtent


class BuildError(Relay2RelaxError):
    """An expression cannot be made of what was given."""

    kind = types.BUILD


def Any() -> AnyExtent:
    """Return ``?``, the extent about which nothing is known."""
    return ANY


def var(
    name: str,
    type_annotation: Type | str | None = None,
    shape: Sequence[Extent] | None = None,
    dtype: str = "float32",
    span: Span | None = None,
) -> Var:
    """Return a new variable.

    Its type is ``type_annotation`` (a dtype stands for a scalar), or the tensor of ``shape`` and
    ``dtype``; without either it is left to inference. Raises BuildError where both are given.
    """
    if type_annotation is not None and shape is not None:
        raise BuildError(f"variable %{name}: give a type annotation or a shape, not both")
    if isinstance(type_annotation, str):
        return Var(name, TensorType((), type_annotation), span)
    if shape is not None:
        return Var(name, TensorType(tuple(shape), dtype), span)
    return Var(name, type_annotation, span)


def const(value: Array | Sequence[AnyValue] | float | int | bool, dtype: str | None = None) -> Constant:
    """Return a constant.

    Without ``dtype`` an array keeps its own; Python integers become int32, floats float32, truth
    values bool, as in TVM. An array that already has ``dtype`` is not copied.
    """
    wanted = numpy_dtype(dtype) if dtype is not None else None
    array = np.asarray(value, dtype=wanted)
    if wanted is None and not isinstance(value, (np.ndarray, np.generic)):
        narrow = {np.dtype(np.int64): np.dtype(np.int32), np.dtype(np.float64): np.dtype(np.float32)}
        array = array.astype(narrow.get(array.dtype, array.dtype))
    if array.dtype == np.object_ or array.dtype.kind in "US":
        raise BuildError(f"cannot make a constant of {value!r}")
    return Constant(array)


def as_expr(value: AnyValue, like: AnyValue = None) -> Expr:
    """Return ``value`` as an expression: sequences become tuples, numbers and arrays constants.

    A Python number takes the dtype of ``like`` where that is a constant or a variable annotated as
    a tensor, and int32, float32 or bool otherwise. Raises BuildError for other objects.
    """
    if isinstance(value, RelayExpr):
        found: AnyValue = value
        return found  # type: ignore[no-any-return]
    if isinstance(value, (tuple, list)):
        return Tuple(tuple(as_expr(item) for item in value))
    if isinstance(value, (bool, int, float)):
        return const(value, _dtype_of(like))
    if isinstance(value, (np.ndarray, np.generic)):
        return const(np.asarray(value))
    raise BuildError(f"expected a Relay expression, a number or an array, found {type(value).__name__}")


def _dtype_of(like: AnyValue) -> str | None:
    if isinstance(like, Constant):
        return like.tensor_type.dtype
    if isinstance(like, Var) and isinstance(like.type_annotation, TensorType):
        return like.type_annotation.dtype
    return None


def call_op(record: OpDef, args: Sequence[AnyValue], attrs: Mapping[str, AnyValue], span: Span | None = None) -> Call:
    """Return a call of an operator: ``args`` are its inputs, ``attrs`` its attributes by name.

    An attribute that is absent takes Relay's default. Raises BuildError naming the input or
    attribute at fault.
    """
    name = record.name
    given = tuple(as_expr(arg) for arg in args)
    if not record.variadic and len(given) != len(record.inputs):
        wanted = ", ".join(record.inputs) or "no inputs"
        raise BuildError(f"{name} takes {len(record.inputs)} inputs ({wanted}), {len(given)} are given")
    values: dict[str, AnyValue] = {}
    declared = {field.name: field for field in attr_fields(record.attrs)}
    for key, value in attrs.items():
        if key not in declared:
            raise BuildError(f"{name} has no attribute {key!r}; it has: {', '.join(declared) or 'none'}")
        try:
            values[key] = coerce(declared[key], _plain(value))
        except ParseError as error:
            raise BuildError(f"{name}: {error.diagnostics[0].title}") from None
    missing = [field.name for field in declared.values() if field.required and field.name not in values]
    if missing:
        raise BuildError(f"{name} needs the attribute {', '.join(map(repr, missing))}")
    return Call(Op(name), given, record.attrs(**values), (), span)


def _plain(value: AnyValue) -> AnyValue:
    """Return ``value`` with numpy's scalars and arrays as Python's numbers and tuples."""
    if isinstance(value, np.generic):
        return value.item()
    return tuple(value.tolist()) if isinstance(value, np.ndarray) else value
