"""Arguments of calls in TVMScript: leaves in A-normal form, extents, and numbers as constants.

A call that stands in another one is bound to a variable of its own.
"""

from __future__ import annotations

import ast

import numpy as np

from relay2relax.core.dtype import DTypeError, integer_range, numpy_dtype
from relay2relax.core.errors.table import script
from relay2relax.relax_ir.ir.expr import (
    Call,
    CallDPSPacked,
    CallTIR,
    Constant,
    Expr,
    GlobalVar,
    PrimValue,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relax_ir.ir.struct_info import StructInfo, TupleStructInfo
from relay2relax.relax_ir.ir.visit import LEAVES
from relay2relax.relax_ir.script.bindings import Bindings
from relay2relax.relax_ir.script.context import Require
from relay2relax.relax_ir.script.types import as_dimension
from relay2relax.tir.extent import Extent, as_prim
from relay2relax.tir.ir.expr import FloatImm, IntImm, PrimExpr

EXPRESSIONS = (*LEAVES, Call, CallTIR, CallDPSPacked, Tuple, TupleGetItem)


class Arguments:
    """Makes arguments of what was read; ``require`` is told of functions among them."""

    def __init__(self, bindings: Bindings, require: Require) -> None:
        self.source = bindings.source
        self.bindings = bindings
        self.require = require

    def leaf(self, value: object, node: ast.AST) -> Expr:
        """Return ``value`` as a leaf, or a tuple of leaves."""
        match value:
            case Tuple(fields):
                return Tuple(tuple(self.leaf(field, node) for field in fields))
            case tuple() | list():
                return Tuple(tuple(self.leaf(one, node) for one in value))
            case PrimExpr():
                return PrimValue(value)
            case bool():
                return PrimValue(IntImm(int(value), "bool"))
            case int():
                return PrimValue(IntImm(value, "int64"))
            case float():
                return PrimValue(FloatImm(value, "float32"))
            case str():
                return StringImm(value)
            case GlobalVar():
                self.require(value, node)
                return value
        if isinstance(value, LEAVES):
            return value
        if isinstance(value, EXPRESSIONS):
            return self.bindings.bound(value, node)
        what = "struct info" if isinstance(value, StructInfo) else "None" if value is None else "this"
        raise self.source.problem(node, f"{what} is no argument", "expected a value", kind=script.ARGUMENTS)

    def scalars(self, value: object, node: ast.AST) -> list[PrimExpr]:
        """Return ``tir_vars``, the scalars of a PrimFunc, which are written as a shape."""
        row = value.values if isinstance(value, ShapeExpr) else value
        if not isinstance(row, (tuple, list)):
            raise self.source.problem(node, "`tir_vars` is a shape", "expected R.shape([…])")
        return [as_prim(self.extent_of(one, node)) for one in row]

    def fields_of(self, value: object, node: ast.AST) -> object:
        """Return a tuple that is a variable as a tuple of its fields, another value alone as a
        tuple of it.
        """
        if not isinstance(value, Var):
            return value
        if not isinstance(value.info, TupleStructInfo):
            return Tuple((value,))
        return Tuple(
            tuple(self.bindings.bound(TupleGetItem(value, place), node) for place in range(len(value.info.fields)))
        )

    def extent_of(self, value: object, node: ast.AST) -> Extent:
        """Return ``value`` as an extent."""
        value = as_dimension(value)
        if isinstance(value, PrimValue):
            value = value.value
        if isinstance(value, bool) or not isinstance(value, (int, PrimExpr)):
            raise self.source.problem(node, script.MALFORMED.message(what="extent"), "expected integers and dimensions")
        return value.value if isinstance(value, IntImm) and value.dtype == "int64" else value

    def numbers(self, value: object, dtype: str, node: ast.AST) -> Constant:
        """Return a number, or lists of numbers, as a constant.

        Raises ScriptProblem where ``dtype`` cannot hold it.
        """
        try:
            return Constant(np.array(value, numpy_dtype(dtype)))
        except OverflowError as error:
            low, high = integer_range(dtype)
            title, label = f"this number does not fit in {dtype}", f"expected {low} to {high}"
            raise self.source.problem(node, title, label) from error
        except (ValueError, TypeError, DTypeError) as error:
            label = "expected numbers, in lists of one length each" if isinstance(value, list) else "expected a number"
            raise self.source.problem(node, f"this is no constant of dtype {dtype!r}", label) from error


def plain(value: object) -> object:
    """Return an attribute's value without the wrappers of Relax; lists become tuples."""
    value = as_dimension(value)
    match value:
        case PrimValue(FloatImm() as literal):
            return literal
        case PrimValue(inner):
            return plain(inner)
        case IntImm(number, ("bool" | "int64") as dtype):
            return bool(number) if dtype == "bool" else number
        case FloatImm(number, "float64"):
            return number
        case StringImm(text):
            return text
        case ShapeExpr(values) | Tuple(values):
            return tuple(plain(one) for one in values)
        case list() | tuple():
            return tuple(plain(one) for one in value)
    return value
