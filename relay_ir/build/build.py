"""Making Relay by hand: variables, and calls whose attributes are Python's values.

Operators are called through ``relay_ir.op``; expressions carry Python's operators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any as AnyValue

import numpy as np

from relay2relax.core.errors import Diagnostic, ParseError
from relay2relax.core.source import Span
from relay2relax.ops.registry.attributes import attr_fields
from relay2relax.ops.registry.record import OpDef
from relay2relax.relay_ir.compat.attrs_codec import coerce
from relay2relax.relay_ir.ir.expr import BuildError, Call, Op, Var, as_expr
from relay2relax.relay_ir.ir.types import TensorType, Type
from relay2relax.tir.extent import ANY, Extent
from relay2relax.tir.ir.expr import AnyExtent


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
            problem = error.diagnostics[0]
            raise BuildError(Diagnostic(f"{name}: {problem.title}", help=problem.help)) from None
    missing = [field.name for field in declared.values() if field.required and field.name not in values]
    if missing:
        raise BuildError(f"{name} needs the attribute {', '.join(map(repr, missing))}")
    return Call(Op(name), given, record.attrs(**values), (), span)


def _plain(value: AnyValue) -> AnyValue:
    """Return ``value`` with numpy's scalars and arrays as Python's numbers and tuples."""
    if isinstance(value, np.generic):
        return value.item()
    return tuple(value.tolist()) if isinstance(value, np.ndarray) else value
