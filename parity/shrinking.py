"""The same program with smaller tensors: an extent that is wherever another one was.

Extents of parameters that are alike mostly belong together, a batch or a number of channels; what
is said of them in attributes (``units=64``) changes with them. Whether the result is a program at
all is asked of type inference, and whether it is of any use of the check.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.ops.registry.attributes import attr_fields
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Function, Let, Var
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, rewrite
from relay2relax.relay_ir.ir.types import TensorType, TupleType, Type
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import IntImm
from relay2relax.translator.subgraphs import RecordedPart, alone

# So many parameters have their extents tried one by one, where together they do not go.
_FEW = 8


def extents_of(part: RecordedPart) -> set[int]:
    """Return the extents of what comes in that may be smaller."""
    return {extent for value in part.inputs.values() for extent in value.shape if extent > 1}


def sizes(extent: int) -> list[int]:
    """Return what is tried in place of an extent, the smallest first."""
    return sorted({1, min(2, extent - 1), extent // 2})


def smaller(part: RecordedPart, extent: int, size: int) -> Iterator[RecordedPart]:
    """Yield programs like ``part`` that have ``size`` where an ``extent`` was.

    First everywhere in types and values, then in attributes as well, then in one dimension of one
    parameter. What is ill-typed is left out.
    """
    change = _Change(extent, size)
    for made in (change, _Change(extent, size, attributes=True)):
        values = {name: made.cut(value) for name, value in part.inputs.items()}
        yield from _typed(part.module, made, values)
    if len(part.inputs) > _FEW:
        return
    for name, value in part.inputs.items():
        places = [place for place, one in enumerate(value.shape) if one == extent]
        for place in places if len(part.inputs) > 1 or len(places) > 1 else ():
            made = _Change(extent, size, only=(name, place))
            yield from _typed(part.module, made, {**part.inputs, name: value.take(range(size), axis=place)})


def _typed(mod: IRModule, change: _Change, values: Mapping[str, Array]) -> Iterator[RecordedPart]:
    try:
        yield RecordedPart(alone(mod, change.of(mod["main"])), values, ())
    except Relay2RelaxError:
        return


class _Change:
    """A function with another extent, in all it says or in one dimension of one parameter."""

    def __init__(
        self, extent: int, size: int, *, attributes: bool = False, only: tuple[str, int] | None = None
    ) -> None:
        self.extent, self.size, self.attributes, self.only = extent, size, attributes, only

    def of(self, function: Function) -> Function:
        """Return the changed function."""
        inner = [var for node in nodes(function) for var in _bound(node) if var not in function.params]
        variables: dict[Expr, Var] = {
            var: replace(var, type_annotation=self._type(var.type_annotation)) for var in inner
        }
        variables |= {param: replace(param, type_annotation=self._own(param)) for param in function.params}

        def changed(node: Expr) -> Expr:
            match node:
                case Constant(data) if self.only is None:
                    return replace(node, data=self.cut(data))
                case Call(attrs=attrs) if self.attributes and attrs is not None:
                    return replace(node, attrs=self._attributes(attrs))
                case Let(var):
                    return replace(node, var=variables[var])
                case Function(params):
                    return replace(node, params=tuple(variables[one] for one in params), ret_type=None)
            return node

        made = rewrite(function, changed, dict(variables))
        assert isinstance(made, Function)
        return made

    def cut(self, value: Array) -> Array:
        """Return the first part of a value along every dimension that changes."""
        return np.ascontiguousarray(
            value[tuple(slice(self.size if one == self.extent else None) for one in value.shape)]
        ).reshape([self.size if one == self.extent else one for one in value.shape])

    def _own(self, param: Var) -> Type | None:
        """Return the type of a parameter of the function."""
        type_ = param.type_annotation
        if self.only is None or not isinstance(type_, TensorType):
            return self._type(type_)
        name, place = self.only
        if param.name != name:
            return type_
        return replace(type_, shape=(*type_.shape[:place], self.size, *type_.shape[place + 1 :]))

    def _type(self, type_: Type | None) -> Type | None:
        if self.only is not None:
            return type_
        match type_:
            case TensorType(shape):
                return replace(type_, shape=tuple(self.size if static(one) == self.extent else one for one in shape))
            case TupleType(fields):
                return TupleType(tuple(self._type(one) or one for one in fields))
        return type_

    def _attributes(self, attrs: Any) -> Any:
        found = {one.name: self._value(getattr(attrs, one.name)) for one in attr_fields(type(attrs))}
        shape = found.get("newshape")
        # A reshape computes its largest extent, which may be a product of what changes.
        if isinstance(shape, tuple) and shape and all(isinstance(one, int) and one > 0 for one in shape):
            found["newshape"] = (*shape[: (at := shape.index(max(shape)))], -1, *shape[at + 1 :])
        return replace(attrs, **found)

    def _value(self, value: object) -> object:
        match value:
            case bool():
                return value
            case int() if value == self.extent:
                return self.size
            case IntImm(number) if number == self.extent:
                return replace(value, value=self.size)
            case tuple():
                return tuple(self._value(one) for one in value)
        return value


def _bound(node: Expr) -> tuple[Var, ...]:
    match node:
        case Function(params):
            return params
        case Let(var):
            return (var,)
    return ()
