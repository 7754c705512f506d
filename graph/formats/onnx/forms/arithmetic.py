"""Element-wise operators. Source of the semantics: ONNX 1.15, ``docs/Operators.md`` of opset 20.

ONNX defines most of them for every type; ONNX Runtime computes small integers in few of them, so
those are computed in int32, which is the same where results wrap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relay2relax.core.dtype import bits, integer_range, is_float, is_int, is_unsigned
from relay2relax.graph.formats.onnx.builder import Form, Site
from relay2relax.ops.math.clipping import ClipAttrs
from relay2relax.ops.math.elementwise import CastAttrs

_SMALL = ("int8", "int16", "uint8", "uint16")


def _wide(dtype: str) -> str:
    """Return the dtype in which arithmetic of ``dtype`` is done."""
    return "int32" if dtype in _SMALL else "int64" if dtype in ("uint32", "uint64") else dtype


def same(kind: str, **fixed: Any) -> Form:
    """Return the form of an operator that ONNX has, with the same arguments."""
    return lambda at, attrs, *args: at.node(kind, *args, **fixed)


def widened(kind: str) -> Callable[..., str]:
    """Return the form of an operator that ONNX has, for all integers."""

    def form(at: Site, attrs: object, *args: str) -> str:
        dtype = at.type().dtype
        wide = _wide(dtype)
        made = at.node(kind, *(at.cast(arg, dtype, wide) for arg in args))
        if dtype == "uint32":
            # What is below nothing has no cast that ONNX defines.
            made = at.node("Mod", made, at.const(2**32, "int64"))
        return at.cast(made, wide, dtype)

    return form


def compared(kind: str, negated: bool = False) -> Form:
    """Return the form of a comparison."""

    def form(at: Site, attrs: object, lhs: str, rhs: str) -> str:
        dtype = at.type().dtype
        wide = "int32" if dtype == "bool" and kind != "Equal" else _wide(dtype)
        made = at.node(kind, at.cast(lhs, dtype, wide), at.cast(rhs, dtype, wide))
        return at.node("Not", made) if negated else made

    return form


def extreme(kind: str) -> Callable[..., str]:
    def form(at: Site, attrs: object, lhs: str, rhs: str) -> str:
        dtype = at.type().dtype
        if dtype == "bool":
            return at.node("Or" if kind == "Max" else "And", lhs, rhs)
        wide = "int32" if dtype in _SMALL else dtype
        return at.cast(at.node(kind, at.cast(lhs, dtype, wide), at.cast(rhs, dtype, wide)), wide, dtype)

    return form


maximum = extreme("Max")


def bitwise(kind: str) -> Form:
    def form(at: Site, attrs: object, *args: str) -> str:
        logical = {"BitwiseAnd": "And", "BitwiseOr": "Or", "BitwiseXor": "Xor", "BitwiseNot": "Not"}
        return at.node(logical[kind] if at.type().dtype == "bool" else kind, *args)

    return form


def power(at: Site, attrs: object, lhs: str, rhs: str) -> str:
    dtype = at.type().dtype
    return at.cast(at.node("Pow", at.cast(lhs, dtype, _wide(dtype)), rhs), _wide(dtype), dtype)


def modulo(at: Site, attrs: object, lhs: str, rhs: str) -> str:
    """Return the remainder with the sign of the dividend, as C has it."""
    return at.node("Mod", lhs, rhs, fmod=1)


def floor_modulo(at: Site, attrs: object, lhs: str, rhs: str) -> str:
    if is_int(at.type().dtype):
        return at.node("Mod", lhs, rhs)
    quotient = at.node("Floor", at.node("Div", lhs, rhs))
    return at.node("Sub", lhs, at.node("Mul", quotient, rhs))


def floor_divide(at: Site, attrs: object, lhs: str, rhs: str) -> str:
    dtype = at.type().dtype
    if not is_int(dtype):
        return at.node("Floor", at.node("Div", lhs, rhs))
    rest = at.node("Mod", lhs, rhs)
    return widened("Div")(at, attrs, widened("Sub")(at, attrs, lhs, rest), rhs)


def shifted(left: bool) -> Form:
    """Return the form of a shift; ONNX shifts what has no sign alone."""

    def form(at: Site, attrs: object, lhs: str, rhs: str) -> str:
        dtype = at.type().dtype
        if is_unsigned(dtype):
            return at.node("BitShift", lhs, rhs, direction="LEFT" if left else "RIGHT")
        wide, places = at.cast(lhs, dtype, "int64"), at.cast(rhs, dtype, "int64")
        factor = at.node("Pow", at.const(2, "int64"), places)
        if left:
            return at.cast(at.node("Mul", wide, factor), "int64", dtype)
        rest = at.node("Mod", wide, factor)
        return at.cast(at.node("Div", at.node("Sub", wide, rest), factor), "int64", dtype)

    return form


def logical(kind: str) -> Form:
    def form(at: Site, attrs: object, *args: str) -> str:
        return at.node(kind, *(at.cast(arg, at.type(i).dtype, "bool") for i, arg in enumerate(args)))

    return form


def where(at: Site, attrs: object, condition: str, x: str, y: str) -> str:
    """Return a choice; ONNX Runtime has none of bool, whose arms are bytes then."""
    chosen, dtype = at.cast(condition, at.type().dtype, "bool"), at.type(1).dtype
    wide = {"bool": "uint8", "int8": "int32", "int16": "int32", "uint16": "int32", "uint32": "int64"}.get(dtype, dtype)
    return at.cast(at.node("Where", chosen, at.cast(x, dtype, wide), at.cast(y, dtype, wide)), wide, dtype)


def clip(at: Site, attrs: ClipAttrs, data: str) -> str:
    dtype = at.type().dtype
    low, high = float(attrs.a_min), float(attrs.a_max)
    wide = {"int16": "int32", "uint16": "int32"}.get(dtype, dtype)
    bounds = ["", ""]
    for place, limit in enumerate((low, high)):
        if is_float(dtype):
            bounds[place] = "" if np.isinf(limit) else at.const(limit, wide)
        else:
            least, most = integer_range(dtype)
            bounds[place] = at.const(int(min(max(limit, least), most)), wide)
    return at.cast(at.node("Clip", at.cast(data, dtype, wide), *bounds), wide, dtype)


def cast(at: Site, attrs: CastAttrs, data: str) -> str:
    return (
        at.cast(data, at.type().dtype, at.result.dtype)
        if at.type().dtype != at.result.dtype
        else at.node("Identity", data)
    )


def rsqrt(at: Site, attrs: object, data: str) -> str:
    return at.node("Reciprocal", at.node("Sqrt", data))


def square(at: Site, attrs: object, data: str) -> str:
    return widened("Mul")(at, attrs, data, data)


def negative(at: Site, attrs: object, data: str) -> str:
    dtype = at.type().dtype
    if dtype in ("uint32", "uint64"):
        # As TVM compiles it.
        return at.node("BitwiseXor", data, data)
    if is_unsigned(dtype):
        return widened("Sub")(at, attrs, at.const(0, dtype), data)
    return at.cast(at.node("Neg", at.cast(data, dtype, _wide(dtype))), _wide(dtype), dtype)


def absolute(at: Site, attrs: object, data: str) -> str:
    return data if is_unsigned(at.type().dtype) else at.node("Abs", data)


def is_infinite(at: Site, attrs: object, data: str) -> str:
    dtype = at.type().dtype
    return at.node("IsInf", at.cast(data, dtype, "float32") if bits(dtype) == 16 else data)


def is_finite(at: Site, attrs: object, data: str) -> str:
    return at.node("Not", at.node("Or", is_infinite(at, attrs, data), at.node("IsNaN", data)))


def rounding(kind: str) -> Form:
    """Return the form of a rounding, which leaves integers as they are."""
    return lambda at, attrs, data: at.node(kind if is_float(at.type().dtype) else "Identity", data)


def trunc(at: Site, attrs: object, data: str) -> str:
    return at.node("Mul", at.node("Sign", data), at.node("Floor", at.node("Abs", data)))


def log_add_exp(at: Site, attrs: object, lhs: str, rhs: str) -> str:
    larger = at.node("Max", lhs, rhs)
    total = at.node("Add", *(at.node("Exp", at.node("Sub", one, larger)) for one in (lhs, rhs)))
    return at.node("Add", larger, at.node("Log", total))


def fused_multiply_add(at: Site, attrs: object, x: str, y: str, z: str) -> str:
    return at.node("Add", at.node("Mul", x, y), z)


FORMS: dict[str, Form] = {
    **{
        name: same(kind)
        for name, kind in {
            "copy": "Identity", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sigmoid": "Sigmoid", "tanh": "Tanh",
            "erf": "Erf", "sin": "Sin", "cos": "Cos", "tan": "Tan", "sinh": "Sinh", "cosh": "Cosh", "asin": "Asin",
            "acos": "Acos", "atan": "Atan", "asinh": "Asinh", "acosh": "Acosh", "atanh": "Atanh", "sign": "Sign",
            "isnan": "IsNaN", "logical_xor": "Xor",
        }.items()
    },
    **{
        name: widened(kind)
        for name, kind in {
            "add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div",
        }.items()
    },
    **{name: rounding(kind) for name, kind in {"floor": "Floor", "ceil": "Ceil", "R.round": "Round"}.items()},
    **{
        name: compared(kind)
        for name, kind in {
            "equal": "Equal", "less": "Less", "less_equal": "LessOrEqual", "greater": "Greater",
            "greater_equal": "GreaterOrEqual",
        }.items()
    },
    "negative": negative,
    "not_equal": compared("Equal", negated=True),
    "power": power,
    "maximum": maximum,
    "minimum": extreme("Min"),
    "mod": modulo,
    "floor_mod": floor_modulo,
    "floor_divide": floor_divide,
    "left_shift": shifted(left=True),
    "right_shift": shifted(left=False),
    "bitwise_and": bitwise("BitwiseAnd"),
    "bitwise_or": bitwise("BitwiseOr"),
    "bitwise_xor": bitwise("BitwiseXor"),
    "bitwise_not": bitwise("BitwiseNot"),
    "logical_and": logical("And"),
    "logical_or": logical("Or"),
    "logical_not": logical("Not"),
    "where": where,
    "clip": clip,
    "cast": cast,
    "trunc": trunc,
    "rsqrt": rsqrt,
    "R.square": square,
    "abs": absolute,
    "isinf": is_infinite,
    "isfinite": is_finite,
    "R.log_add_exp": log_add_exp,
    "R.ewise_fma": fused_multiply_add,
}  # fmt: skip
