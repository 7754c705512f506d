"""Scalar expressions of TVMScript: the ``T.`` namespace, Python's operators, and literals that take
a dtype.

A number without a dtype takes that of the expression that it meets, as in TVM; alone it is of
``int_dtype`` or float32. Nothing is folded, so that what was printed prints alike.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from relay2relax.core.errors.table import script
from relay2relax.tir.ir.expr import BinaryOp, Buffer, BufferData, IntImm, PrimExpr, StringImm
from relay2relax.tir.script.calls import CallReader
from relay2relax.tir.script.context import ReadContext, Value
from relay2relax.tir.script.elements import ElementReader
from relay2relax.tir.script.operators import Operators

_OPERATORS: dict[type[ast.AST], BinaryOp] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.BitAnd: "&",
    ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">",
    ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip


class ExpressionReader:
    """Reads expressions; ``lookup`` says what a name stands for, None where it is not defined."""

    def __init__(self, context: ReadContext, lookup: Callable[[str], object], int_dtype: str) -> None:
        self.source = context.source
        self.scopes = context.scopes
        self.beside = context.beside
        self.lookup = lookup
        self.operators = Operators(context, int_dtype)
        self.elements = ElementReader(context, lookup, self.operators, self)
        self.calls = CallReader(context, lookup, self.operators, self.elements, self)

    def expr(self, node: ast.AST, dtype: str = "") -> PrimExpr:
        """Return ``node`` as an expression; a bare number is of ``dtype`` where that is given."""
        return self.operators.typed(self.value(node), node, dtype)

    def value(self, node: ast.AST) -> Value:
        """Return ``node`` as an expression, or as a Python number where it says no dtype."""
        match node:
            case ast.Constant(bool() | int() | float() | str() as literal):
                return literal
            case ast.Name(name):
                return self.name(node, name)
            case ast.BinOp(left, ast.Pow(), right):
                return self.operators.function("pow", [self.value(left), self.value(right)], node)
            case ast.BinOp(left, op, right) if type(op) in _OPERATORS:
                return self.operators.binary(_OPERATORS[type(op)], self.value(left), self.value(right), node)
            case ast.UnaryOp(op, operand):
                return self.operators.unary(op, self.value(operand), node)
            case ast.Compare(left, ops, comparators):
                return self.comparison(left, ops, comparators, node)
            case ast.BoolOp(op, values):
                joining: BinaryOp = "and" if isinstance(op, ast.And) else "or"
                result = self.value(values[0])
                for one in values[1:]:
                    result = self.operators.binary(joining, result, self.value(one), node)
                return result
            case ast.IfExp(test, body, orelse):
                return self.operators.function(
                    "if_then_else", [self.value(test), self.value(body), self.value(orelse)], node
                )
            case ast.Subscript(ast.Attribute(target, "shape" | "strides" as of), ast.Constant(int() as place)):
                parts = self.elements.buffer(target).shape if of == "shape" else self.elements.buffer(target).strides
                if not -len(parts) <= place < len(parts):
                    raise self.source.problem(node, f"there are {len(parts)} of them", "expected a smaller number")
                return parts[place]
            case ast.Subscript(
                ast.Subscript(ast.Name("metadata"), ast.Constant(str() as kind)), ast.Constant(int() as n)
            ):
                # Texts of several lines lie beside the script, where it is printed with
                # show_meta=True.
                beside = self.beside.get(kind, ())
                text = beside[n] if 0 <= n < len(beside) else None
                return StringImm(text if isinstance(text, str) else f"{kind} {n}")
            case ast.Subscript(target, index):
                return self.elements.load(target, index)
            case ast.Attribute(target, "data"):
                return BufferData(self.elements.buffer(target))
            case ast.Attribute(target, "elem_offset"):
                return self.elements.buffer(target).offset or IntImm(0, "int32")
            case ast.Call():
                return self.calls.call(node)
        raise self.source.problem(node, "this is no scalar expression", "expected a scalar expression")

    def name(self, node: ast.AST, name: str) -> Value:
        found = self.lookup(name)
        if found is None:
            raise self.source.undefined(node, name, self.scopes.names(), "variable")
        if isinstance(found, Buffer):
            raise self.source.problem(node, f"`{name}` is a buffer", "expected a scalar; an element is `buffer[index]`")
        if not isinstance(found, (PrimExpr, bool, int, float)):
            raise self.source.problem(node, f"`{name}` is no scalar", "expected a scalar")
        return found

    # Operators.

    def comparison(self, left: ast.AST, ops: Sequence[ast.cmpop], others: Sequence[ast.AST], node: ast.AST) -> Value:
        result: Value | None = None
        for op, right in zip(ops, others, strict=True):
            if type(op) not in _OPERATORS:
                raise self.source.problem(
                    node, "scalars have no such comparison", "expected < <= > >= == or !=", kind=script.NAME
                )
            one = self.operators.binary(_OPERATORS[type(op)], self.value(left), self.value(right), node)
            result = one if result is None else self.operators.binary("and", result, one, node)
            left = right
        assert result is not None
        return result
