"""Scalar expressions that Relay's JSON stores: extents of shapes and elements of attributes."""

from __future__ import annotations

from typing import TypeGuard

from relay2relax.core.dtype import is_float, is_int, to_code
from relay2relax.core.errors import ParseError, mistake
from relay2relax.core.errors.table import reading
from relay2relax.relay_ir.ir import expr as ir
from relay2relax.relay_ir.json.schema import BINARY, Values
from relay2relax.tir.extent import ANY, Extent
from relay2relax.tir.ir import expr as tir


def prim(value: int | tir.PrimExpr) -> tir.PrimExpr:
    """Return a scalar expression, of int32 for a plain integer."""
    return tir.IntImm(value, "int32") if isinstance(value, int) else value


def is_extent(value: object) -> TypeGuard[Extent]:
    """Whether ``value`` may be an extent: an integer, or an expression of an integer dtype."""
    return isinstance(value, int) or (isinstance(value, tir.PrimExpr) and is_int(value.dtype))


def make_scalar(key: str, v: Values) -> Extent:
    """Return a scalar expression.

    An int32 constant becomes a plain int, which is what extents hold.
    """
    dtype = v["dtype"]
    to_code(dtype)  # raises for what is none
    match key:
        case "IntImm":
            if not is_int(dtype) and dtype != "bool":
                raise ParseError(
                    mistake(
                        reading.JSON_DOCUMENT, place="field 'dtype': ", expected="one of integers", found=repr(dtype)
                    )
                )
            return v["value"] if dtype == "int32" else tir.IntImm(v["value"], dtype)
        case "FloatImm":
            if not is_float(dtype):
                raise ParseError(
                    mistake(reading.JSON_DOCUMENT, place="field 'dtype': ", expected="one of floats", found=repr(dtype))
                )
            return tir.FloatImm(v["value"], dtype)
        case "tir.Any":
            return ANY
        case "tir.Var":
            return tir.Var(v["name"], dtype)
        case "tir.SizeVar":
            return tir.SizeVar(v["name"], dtype)
        case "tir.StringImm":
            return tir.StringImm(v["value"])
        case "tir.Not":
            return tir.Not(prim(v["a"]))
        case "tir.Cast":
            value = prim(v["value"])
            return _over_unknown(tir.Cast(dtype, _inside(value)), value)
        case "tir.Select":
            return tir.Select(prim(v["condition"]), prim(v["true_value"]), prim(v["false_value"]))
        case "tir.Call":
            if not isinstance(v["op"], ir.Op):
                raise ParseError("field 'op': expected an intrinsic", kind=reading.JSON_DOCUMENT)
            return tir.Call(v["op"].name.removeprefix("tir."), tuple(prim(arg) for arg in v["args"]), dtype)
    a, b = prim(v["a"]), prim(v["b"])
    if key == "tir.Div" and a.dtype.startswith(("float", "bfloat")):
        return tir.Binary("/", a, b)
    return _over_unknown(tir.Binary(BINARY[key], _inside(a), _inside(b)), a, b)


def _inside(operand: tir.PrimExpr) -> tir.PrimExpr:
    """Return ``operand`` as it stands in an expression: what is known to be computed from ``?`` in
    its own words.
    """
    return operand.written or operand if isinstance(operand, tir.AnyExtent) else operand


def _over_unknown(expr: tir.PrimExpr, *operands: tir.PrimExpr) -> tir.PrimExpr:
    """Return ``expr``, or ``?`` that is written so where an operand is unknown."""
    return tir.AnyExtent(expr) if any(isinstance(one, tir.AnyExtent) for one in operands) else expr
