"""Attributes, types and expressions of extents as JSON.

    value ::= null | bool | integer | string | {"f": hexadecimal float}
            | {"t": [value*]} | {"x": expr}
    expr  ::= {"i": [integer, dtype]} | {"v": number of a variable} | {"n": [float, dtype]}
            | {"?": 0}
            | {"b": [operation, expr, expr]} | {"c": [dtype, expr]}
    type  ::= {"tensor": [[value*], dtype]} | {"tuple": [type*]} | {"shape": [value*]}

Variables are numbered, and told apart by number. What is read is checked; nothing in it is
executed.
"""

from __future__ import annotations

from typing import Any, cast, get_args

from relay2relax.core.errors import ParseError, UnsupportedError
from relay2relax.ops.registry.attributes import attr_fields
from relay2relax.ops.registry.record import OpDef
from relay2relax.ops.registry.table import relax_op, relay_op
from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.tir.extent import ANY, Shape
from relay2relax.tir.ir.expr import AnyExtent, Binary, BinaryOp, Cast, FloatImm, IntImm, PrimExpr, Var

_OPERATIONS = frozenset(get_args(BinaryOp))


class Writer:
    """Writes values; ``variables`` are those met so far, with their numbers."""

    def __init__(self) -> None:
        self.variables: dict[Var, int] = {}

    def table(self) -> list[list[str]]:
        """Return name and dtype of every variable."""
        return [[var.name, var.dtype] for var in self.variables]

    def value(self, value: Any) -> Any:
        """Return a value of an attribute.

        Raises UnsupportedError for one that is no plain value.
        """
        match value:
            case None | bool():
                return value
            case int():
                return int(value)
            case str():
                return str(value)
            case float():
                return {"f": value.hex()}
            case tuple():
                return {"t": [self.value(one) for one in value]}
            case PrimExpr():
                return {"x": self.expr(value)}
        raise UnsupportedError(f"an attribute of {type(value).__name__} cannot be written to a file")

    def expr(self, expr: PrimExpr) -> Any:
        """Return an expression of extents."""
        match expr:
            case Var():
                return {"v": self.variables.setdefault(expr, len(self.variables))}
            case IntImm(value, dtype):
                return {"i": [value, dtype]}
            case FloatImm(value, dtype):
                return {"n": [value.hex(), dtype]}
            case AnyExtent():
                return {"?": 0}
            case Binary(op, a, b):
                return {"b": [op, self.expr(a), self.expr(b)]}
            case Cast(dtype, value):
                return {"c": [dtype, self.expr(value)]}
        raise UnsupportedError(f"the expression {expr!r} cannot be written to a file")

    def type(self, type_: Type | Shape) -> Any:
        """Return the type of an operator's argument; a shape stands as its extents."""
        match type_:
            case TensorType(shape, dtype):
                return {"tensor": [[self.value(extent) for extent in shape], dtype]}
            case TupleType(fields):
                return {"tuple": [self.type(one) for one in fields]}
            case tuple():
                return {"shape": [self.value(extent) for extent in type_]}
        raise UnsupportedError(f"the type {type_!r} cannot be written to a file")

    def operator(self, op: OpDef, attrs: Any) -> Any:
        """Return an operator of the table with its attributes.

        Raises UnsupportedError for one that is not there.
        """
        values = {field.name: self.value(getattr(attrs, field.name)) for field in attr_fields(op.attrs)}
        if op.relay is not None and relay_op(op.relay) is op:
            return {"relay": op.relay, "attrs": values}
        if op.script is not None and relax_op(op.script.name) is op:
            return {"relax": op.script.name, "attrs": values}
        raise UnsupportedError(f"the operator {op.name} is not in the table of operators")


class Reader:
    """Reads what :class:`Writer` wrote; raises ParseError for anything else."""

    def __init__(self, table: Any) -> None:
        self.variables = [Var(_text(name), _text(dtype)) for name, dtype in _list(table)]

    def value(self, value: Any) -> Any:
        """Return a value of an attribute."""
        match value:
            case None | bool() | int() | str():
                return value
            case {"f": str(number)}:
                return float.fromhex(number)
            case {"t": list(values)}:
                return tuple(self.value(one) for one in values)
            case {"x": inner}:
                return self.expr(inner)
        raise ParseError(f"expected a value, found {value!r:.60}")

    def expr(self, expr: Any) -> PrimExpr:
        """Return an expression of extents."""
        match expr:
            case {"v": int(number)} if 0 <= number < len(self.variables):
                return self.variables[number]
            case {"i": [int(value), str(dtype)]}:
                return IntImm(value, dtype)
            case {"n": [str(value), str(dtype)]}:
                return FloatImm(float.fromhex(value), dtype)
            case {"?": 0}:
                return ANY
            case {"b": [str(op), a, b]} if op in _OPERATIONS:
                return Binary(cast(BinaryOp, op), self.expr(a), self.expr(b))
            case {"c": [str(dtype), value]}:
                return Cast(dtype, self.expr(value))
        raise ParseError(f"expected an expression, found {expr!r:.60}")

    def type(self, type_: Any) -> Type | Shape:
        """Return the type of an operator's argument."""
        match type_:
            case {"tensor": [list(shape), str(dtype)]}:
                return TensorType(tuple(self.value(extent) for extent in shape), dtype)
            case {"tuple": list(fields)}:
                made = tuple(self.type(one) for one in fields)
                return TupleType(tuple(one for one in made if not isinstance(one, tuple)))
            case {"shape": list(values)}:
                return tuple(self.value(extent) for extent in values)
        raise ParseError(f"expected a type, found {type_!r:.60}")

    def operator(self, operator: Any) -> tuple[OpDef, Any]:
        """Return an operator of the table, and its attributes."""
        match operator:
            case {"relay": str(name), "attrs": dict(values)}:
                op = relay_op(name)
            case {"relax": str(name), "attrs": dict(values)}:
                op = relax_op(name)
            case _:
                raise ParseError(f"expected an operator, found {operator!r:.60}")
        if op is None:
            raise ParseError(f"there is no operator {name!r:.60}")
        try:
            return op, op.attrs(**{key: self.value(value) for key, value in values.items()})
        except TypeError as problem:
            raise ParseError(f"{name}: {problem}") from problem


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ParseError(f"expected a list, found {value!r:.60}")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ParseError(f"expected a string, found {value!r:.60}")
    return value
