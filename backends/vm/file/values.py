"""Operators, types and expressions of extents, to and from the forms of a file."""

from __future__ import annotations

from typing import Any

from relay2relax.backends.runtime.code_checks import check_array_dtype, unlike
from relay2relax.backends.vm.file import forms as f
from relay2relax.core.errors import ParseError, UnsupportedError
from relay2relax.core.errors.table import running
from relay2relax.ops.registry.attributes import attr_fields
from relay2relax.ops.registry.record import OpDef
from relay2relax.ops.registry.table import relax_op, relay_op
from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.tir.extent import ANY, Extent, Shape
from relay2relax.tir.ir.expr import AnyExtent, Binary, Cast, FloatImm, IntImm, PrimExpr, Var


class ValueWriter:
    """Writes values; variables are numbered as they are met."""

    def __init__(self) -> None:
        self._variables: dict[Var, int] = {}

    def table(self) -> tuple[tuple[str, str], ...]:
        """Return name and dtype of every variable."""
        return tuple((var.name, var.dtype) for var in self._variables)

    def value(self, value: object) -> f.Value:
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
                return f.Float(value.hex())
            case tuple():
                return f.Items(tuple(self.value(one) for one in value))
            case PrimExpr():
                return self.expr(value)
        raise UnsupportedError(
            f"an attribute of {type(value).__name__} cannot be written to a file", kind=running.NOT_ON_BACKEND
        )

    def variable(self, var: Var) -> int:
        """Return the number of a variable."""
        return self._variables.setdefault(var, len(self._variables))

    def expr(self, expr: PrimExpr) -> f.Expr:
        """Return an expression of extents."""
        match expr:
            case Var():
                return f.Variable(self.variable(expr))
            case IntImm(value, dtype):
                return f.Integer(value, dtype)
            case FloatImm(number, dtype):
                return f.Number(number.hex(), dtype)
            case AnyExtent():
                return f.AnyExtent()
            case Binary(op, a, b):
                return f.Binary(op, self.expr(a), self.expr(b))
            case Cast(dtype, inner):
                return f.Cast(dtype, self.expr(inner))
        raise UnsupportedError(f"the expression {expr!r} cannot be written to a file", kind=running.NOT_ON_BACKEND)

    def type(self, type_: Type | Shape) -> f.Type:
        """Return the type of an operator's argument; a shape stands as its extents."""
        match type_:
            case TensorType(shape, dtype):
                return f.TensorType(tuple(map(self._extent, shape)), dtype)
            case TupleType(fields):
                return f.TupleType(tuple(self.type(one) for one in fields))
            case tuple():
                return f.ShapeType(tuple(map(self._extent, type_)))
        raise UnsupportedError(f"the type {type_!r} cannot be written to a file", kind=running.NOT_ON_BACKEND)

    def operator(self, op: OpDef, attrs: Any) -> f.Operator:
        """Return an operator of the table with its attributes.

        Raises UnsupportedError for one that is not there.
        """
        values = {field.name: self.value(getattr(attrs, field.name)) for field in attr_fields(op.attrs)}
        if op.relay is not None and relay_op(op.relay) is op:
            return f.Operator("relay", op.relay, values)
        if op.script is not None and relax_op(op.script.name) is op:
            return f.Operator("relax", op.script.name, values)
        raise UnsupportedError(f"the operator {op.name} is not in the table of operators", kind=running.NOT_ON_BACKEND)

    def _extent(self, extent: Extent) -> int | f.Expr:
        return int(extent) if isinstance(extent, int) else self.expr(extent)


class ValueReader:
    """Reads what :class:`ValueWriter` wrote; raises ParseError for what cannot be."""

    def __init__(self, table: tuple[tuple[str, str], ...]) -> None:
        self._variables = [Var(name, check_array_dtype(dtype)) for name, dtype in table]

    def value(self, value: f.Value) -> object:
        """Return a value of an attribute."""
        match value:
            case f.Float(digits):
                return _number(digits)
            case f.Items(items):
                return tuple(self.value(one) for one in items)
            case None | bool() | int() | str():
                return value
        return self.expr(value)

    def variable(self, number: int) -> Var:
        """Return the variable of that number."""
        if number >= len(self._variables):
            raise ParseError(f"there is no variable {number}", kind=running.SAVED_FILE)
        return self._variables[number]

    def expr(self, expr: f.Expr) -> PrimExpr:
        """Return an expression of extents."""
        match expr:
            case f.Variable(number):
                return self.variable(number)
            case f.Integer(value, dtype):
                return IntImm(value, check_array_dtype(dtype))
            case f.Number(digits, dtype):
                return FloatImm(_number(digits), check_array_dtype(dtype))
            case f.AnyExtent():
                return ANY
            case f.Binary(op, a, b):
                return Binary(op, self.expr(a), self.expr(b))
            case f.Cast(dtype, inner):
                return Cast(check_array_dtype(dtype), self.expr(inner))

    def type(self, type_: f.Type) -> Type | Shape:
        """Return the type of an operator's argument."""
        match type_:
            case f.TensorType(shape, dtype):
                return TensorType(tuple(map(self._extent, shape)), check_array_dtype(dtype))
            case f.TupleType(fields):
                made = tuple(self.type(one) for one in fields)
                return TupleType(tuple(one for one in made if not isinstance(one, tuple)))
            case f.ShapeType(extents):
                return tuple(map(self._extent, extents))

    def operator(self, operator: f.Operator) -> tuple[OpDef, Any]:
        """Return an operator of the table, and its attributes."""
        op = relay_op(operator.name) if operator.table == "relay" else relax_op(operator.name)
        if op is None:
            raise ParseError(f"there is no operator {operator.name!r:.60}", kind=running.SAVED_FILE)
        try:
            return op, op.attrs(**{key: self.value(value) for key, value in operator.attrs.items()})
        except TypeError as problem:
            raise ParseError(f"{operator.name}: {problem}", kind=running.SAVED_FILE) from problem

    def _extent(self, extent: int | f.Expr) -> Extent:
        return extent if isinstance(extent, int) else self.expr(extent)


def _number(digits: str) -> float:
    try:
        return float.fromhex(digits)
    except (ValueError, OverflowError) as problem:
        raise unlike(f"{digits!r:.40}", "a number in hexadecimal digits") from problem
