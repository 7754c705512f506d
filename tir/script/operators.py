"""Operators and functions of scalar expressions: what two operands become beside each other.

A number without a dtype takes that of the expression that it meets, as in TVM; alone it is of
``int_dtype`` or float32. A scalar beside a vector is in each of its lanes.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from relay2relax.core import dtype as dt
from relay2relax.core.errors.table import script
from relay2relax.tir.ir import intrinsics
from relay2relax.tir.ir.expr import (
    COMPARISONS,
    Binary,
    BinaryOp,
    Broadcast,
    Call,
    Cast,
    FloatImm,
    IntImm,
    Not,
    PrimExpr,
    Select,
    StringImm,
    cast,
    const,
    vector_dtype,
)
from relay2relax.tir.script.context import ReadContext, Value
from relay2relax.tir.script.dialect import INTRINSICS

_CALLED: dict[str, BinaryOp] = {
    "max": "max", "min": "min", "truncdiv": "truncdiv", "truncmod": "truncmod", "floordiv": "//", "floormod": "%",
    "indexdiv": "//", "indexmod": "%", "FloorDiv": "//", "FloorMod": "%", "Add": "+", "Sub": "-", "Mul": "*",
    "Min": "min", "Max": "max", "And": "and", "Or": "or", "EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">",
    "GE": ">=", "shift_left": "<<", "shift_right": ">>", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
    "Div": "/", "Mod": "truncmod",
}  # fmt: skip
# The bits of the largest number that any type holds, a float.
_WIDEST = 1024
_NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift,
    ">>": operator.rshift, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne, "max": max, "min": min,
}  # fmt: skip
_PREDICATES = frozenset({"isnan", "isinf", "isfinite"})
_ARITIES = {
    "atan2": 2, "pow": 2, "fmod": 2, "copysign": 2, "hypot": 2, "if_then_else": 3, "fma": 3,
}  # fmt: skip


class Operators:
    """Puts operands together; a mistake in the text is told of those that do not go together."""

    def __init__(self, context: ReadContext, int_dtype: str) -> None:
        self.source = context.source
        self.dialect = context.dialect
        self.int_dtype = int_dtype

    def typed(self, value: Value, node: ast.AST, dtype: str = "") -> PrimExpr:
        """Return ``value`` with a dtype of its own."""
        match value:
            case PrimExpr():
                return value
            case str():
                return StringImm(value)
            case bool():
                return IntImm(int(value), "bool") if dtype in ("", "bool") else const(value, dtype)
            case int():
                return self.integer(value, node, dtype)
        if dt.is_float(dtype or "float32"):
            return FloatImm(value, dtype or "float32")
        raise self.source.problem(node, f"{value!r} is not of dtype {dtype}", f"expected {dtype}")

    def integer(self, value: int, node: ast.AST, dtype: str) -> PrimExpr:
        """Return a number as it stands in the text: of int64 where it has no dtype and int32 does
        not hold it.
        """
        dtype = dtype or (self.int_dtype if _holds("int32", value) else "int64")
        widest = "uint64" if dt.is_unsigned(dtype) else "int64"
        if dt.is_int(dtype):
            self.check_fits(value, widest, node)
        return const(value, dtype)

    def check_fits(self, value: int, dtype: str, node: ast.AST) -> None:
        """Raise ParseError where an integer type does not have a number."""
        if not _holds(dtype, value):
            low, high = dt.integer_range(dtype)
            raise self.source.problem(node, f"this number does not fit in {dtype}",
                                      f"expected {low} to {high}", kind=script.STRUCT_INFO)  # fmt: skip

    def unary(self, op: ast.unaryop, value: Value, node: ast.AST) -> Value:
        match op:
            case ast.USub() if isinstance(value, PrimExpr):
                return Binary("*", value, const(-1, value.dtype))
            case ast.USub() if isinstance(value, (int, float)):
                return -value
            case ast.UAdd():
                return value
            case ast.Not():
                return Not(self.boolean(value, node))
            case ast.Invert():
                operand = self.typed(value, node)
                if dt.element_dtype(operand.dtype) == "bool":
                    return Not(operand)
                every_bit = intrinsics.max_value if dt.is_unsigned(operand.dtype) else partial(const, -1)
                return Binary("^", operand, every_bit(operand.dtype))
        raise self.source.problem(node, "this operator takes a number", "expected a number", kind=script.ARGUMENTS)

    def boolean(self, value: Value, node: ast.AST) -> PrimExpr:
        expr = self.typed(value, node, "bool" if isinstance(value, bool) else "")
        return expr if dt.element_dtype(expr.dtype) == "bool" else Binary("!=", expr, const(0, expr.dtype))

    def binary(self, op: BinaryOp, a: Value, b: Value, node: ast.AST) -> Value:
        """Return ``a op b`` with operands of one dtype."""
        if isinstance(a, str) or isinstance(b, str):
            raise self.source.problem(node, "a string has no arithmetic", "expected numbers")
        if not isinstance(a, PrimExpr) and not isinstance(b, PrimExpr):
            return self.numbers(op, a, b, node)
        if op in ("and", "or"):
            return Binary(op, self.boolean(a, node), self.boolean(b, node))
        left, right = self.matched(a, b, node)
        if op in COMPARISONS and left.dtype == "uint8":
            # Bools are compared as bytes for the sake of TVM's compiler.
            match left, right:
                case Cast(_, first), Cast(_, second) if first.dtype == second.dtype == "bool":
                    return Binary(op, first, second)
        if op == "/" and not dt.is_float(left.dtype):
            raise self.source.problem(node, f"'/' takes floats, not {left.dtype}", "expected floats",
                                      help="use `//` or `T.truncdiv`", kind=script.OPERATOR)  # fmt: skip
        if op in ("//", "%") and dt.is_float(left.dtype):
            raise self.source.problem(
                node, f"{op!r} takes integers, not {left.dtype}", "expected integers", kind=script.ARGUMENTS
            )
        return Binary(op, left, right)

    def numbers(self, op: BinaryOp, a: Any, b: Any, node: ast.AST) -> Value:
        if op in ("and", "or"):
            return bool(a and b) if op == "and" else bool(a or b)
        if op == "<<" and isinstance(b, int) and b >= _WIDEST:
            raise self.source.problem(node, f"no type has the {b} bits that this shifts by", "expected fewer")
        try:
            result: Value = _NUMBERS[op](a, b)
        except (ArithmeticError, TypeError, KeyError, ValueError) as error:
            raise self.source.not_computed(node, error) from None
        if isinstance(result, int) and result.bit_length() > _WIDEST:
            raise self.source.problem(node, "the result has more bits than any type", "expected a smaller number")
        return result

    def matched(self, a: PrimExpr | int | float, b: PrimExpr | int | float, node: ast.AST) -> tuple[PrimExpr, PrimExpr]:
        """Return both operands in the dtype that they have in common."""
        if isinstance(a, PrimExpr) and isinstance(b, PrimExpr):
            a, b = self.lanes_alike(a, b.dtype), self.lanes_alike(b, a.dtype)
            dtype = self.common(a.dtype, b.dtype, node)
            return cast(dtype, a), cast(dtype, b)
        if isinstance(a, PrimExpr):
            left = self.meets(a, b)
            return left, self.typed(b, node, left.dtype)
        assert isinstance(b, PrimExpr)
        right = self.meets(b, a)
        return self.typed(a, node, right.dtype), right

    def meets(self, expr: PrimExpr, number: object) -> PrimExpr:
        if isinstance(number, float) and not dt.is_float(expr.dtype):
            return cast("float32", expr)
        if expr.dtype == "bool" and not isinstance(number, bool):
            return cast(self.int_dtype, expr)
        if expr.dtype == "int32" and isinstance(number, int) and not _holds("int32", number):
            return cast("int64", expr)
        return expr

    def lanes_alike(self, expr: PrimExpr, dtype: str) -> PrimExpr:
        """Return ``expr``, a scalar in each lane where ``dtype`` is of vectors."""
        lanes = dt.lanes_of(dtype)
        if lanes == 1 or dt.lanes_of(expr.dtype) != 1:
            return expr
        if isinstance(lanes, int):
            return Broadcast(expr, IntImm(lanes, "int32"))
        count = int(lanes.partition("x")[2])
        return Broadcast(expr, Binary("*", Call("vscale", (), "int32"), IntImm(count, "int32")))

    def common(self, a: str, b: str, node: ast.AST) -> str:
        if a == b:
            return a
        if "x" in a or "x" in b:
            if dt.lanes_of(a) != dt.lanes_of(b):
                raise self.source.problem(node, f"the vectors {a} and {b} differ in lanes", "expected as many lanes")
            return vector_dtype(self.common(dt.element_dtype(a), dt.element_dtype(b), node), dt.lanes_of(a))
        if "handle" in (a, b):
            raise self.source.problem(node, f"operands are {a} and {b}", "expected numbers")
        for one, other in ((a, b), (b, a)):
            if other == "bool" or (dt.is_float(one) and not dt.is_float(other)):
                return one
        width = max(dt.bits(a), dt.bits(b))
        if dt.is_float(a):
            return a if dt.bits(a) == width else b
        both_unsigned = dt.is_unsigned(a) and dt.is_unsigned(b)
        return f"{'uint' if both_unsigned else 'int'}{width}"

    def function(self, name: str, values: Sequence[Value], node: ast.AST) -> PrimExpr:
        """Return the function ``T.<name>`` of ``values``."""
        if name in _CALLED:
            return self.called(name, values, node)
        if name in ("Not", "bitwise_not") and len(values) == 1:
            op = ast.Not() if name == "Not" else ast.Invert()
            return self.typed(self.unary(op, values[0], node), node)
        if name == "ceildiv" and len(values) == 2:
            above = self.binary("+", values[0], self.binary("-", values[1], 1, node), node)
            return self.typed(self.binary("//", above, values[1], node), node)
        if name in ("Select", "if_then_else") and len(values) == 3:
            condition = self.boolean(values[0], node)
            then, otherwise = self.alike(values[1], values[2], node)
            if name == "Select":
                return Select(condition, then, otherwise)
            return Call(name, (condition, then, otherwise), then.dtype)
        if name not in INTRINSICS:
            at = node.func if isinstance(node, ast.Call) else node
            raise self.source.undefined(at, f"T.{name}", [f"T.{one}" for one in sorted(INTRINSICS)], "function")
        if len(values) != _ARITIES.get(name, 1):
            raise self.source.problem(
                node,
                f"`T.{name}` takes {_ARITIES.get(name, 1)} arguments",
                f"{len(values)} given",
                kind=script.ARGUMENTS,
            )
        return self.intrinsic(name, values, node)

    def intrinsic(self, name: str, values: Sequence[Value], node: ast.AST) -> PrimExpr:
        if len(values) == 2:
            args: tuple[PrimExpr, ...] = self.alike(values[0], values[1], node)
        else:
            args = tuple(self.typed(value, node) for value in values)
        if name == "round" and name in self.dialect.intrinsics:
            return _round_away(args[0])
        return Call(name, args, "bool" if name in _PREDICATES else "int32" if name == "clz" else args[0].dtype)

    def alike(self, a: Value, b: Value, node: ast.AST) -> tuple[PrimExpr, PrimExpr]:
        if isinstance(a, str) or isinstance(b, str):
            raise self.source.problem(node, "a string is no scalar", "expected scalars")
        if isinstance(a, PrimExpr) or isinstance(b, PrimExpr):
            return self.matched(a, b, node)
        if isinstance(a, float) or isinstance(b, float):
            return FloatImm(float(a)), FloatImm(float(b))
        return self.typed(a, node), self.typed(b, node)

    def called(self, name: str, values: Sequence[Value], node: ast.AST) -> PrimExpr:
        if len(values) < 2 or (len(values) > 2 and name not in ("max", "min", "And", "Or")):
            raise self.source.problem(
                node, f"`T.{name}` takes 2 arguments", f"{len(values)} given", kind=script.ARGUMENTS
            )
        result = values[0]
        if name[0].isupper():
            # The names of nodes stand for nodes, of numbers too; the others compute.
            result = self.alike(values[0], values[1], node)[0]
        for one in values[1:]:
            dtypes = {value.dtype for value in (result, one) if isinstance(value, PrimExpr)}
            if name == "truncmod" and any(map(dt.is_float, dtypes)):
                # What TVM calls truncmod is C's fmod on floats.
                result = Call("fmod", (args := self.alike(result, one, node)), args[0].dtype)
            elif name == "Div" and dtypes and not any(map(dt.is_float, dtypes)):
                result = self.binary("truncdiv", result, one, node)
            else:
                result = self.binary(_CALLED[name], result, one, node)
        return self.typed(result, node)


def _round_away(x: PrimExpr) -> PrimExpr:
    """Return ``x`` rounded with halves going away from zero, as ``T.round`` did until 0.23."""
    if not dt.is_float(x.dtype):
        return x
    whole = Call("trunc", (x,), x.dtype)
    rest = Call("fabs", (Binary("-", x, whole),), x.dtype)
    one = Call("copysign", (const(1, x.dtype), x), x.dtype)
    return Select(Binary(">=", rest, const(0.5, x.dtype)), Binary("+", whole, one), whole)


def _holds(dtype: str, value: int) -> bool:
    low, high = dt.integer_range(dtype)
    return low <= value <= high
