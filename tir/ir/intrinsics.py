"""Intrinsic functions and limits, under the names of TVMScript's ``T.`` namespace."""

from __future__ import annotations

import math

from relay2relax.core import dtype as dt
from relay2relax.tir.ir.expr import FloatImm, IntImm, PrimExpr, const, intrinsic


def min_value(dtype: str) -> PrimExpr:
    """Return the smallest value of ``dtype`` (for floats the lowest finite one)."""
    if dtype == "bool":
        return IntImm(0, "bool")
    if dt.is_float(dtype):
        return FloatImm(-_float_max(dtype), dtype)
    return const(dt.integer_range(dtype)[0], dtype)


def max_value(dtype: str) -> PrimExpr:
    """Return the largest (finite) value of ``dtype``."""
    if dtype == "bool":
        return IntImm(1, "bool")
    if dt.is_float(dtype):
        return FloatImm(_float_max(dtype), dtype)
    return const(dt.integer_range(dtype)[1], dtype)


def _float_max(dtype: str) -> float:
    exponent, digits = {
        "float16": (16, 11),
        "bfloat16": (128, 8),
        "float32": (128, 24),
        "float64": (1024, 53),
    }[dtype]
    return math.ldexp(1.0 - math.ldexp(1.0, -digits), exponent)


def infinity(dtype: str) -> PrimExpr:
    """Return plus infinity of a floating dtype."""
    return FloatImm(math.inf, dtype)


def call(name: str, *args: PrimExpr, dtype: str = "") -> PrimExpr:
    """Return the intrinsic ``name`` of ``args``: exp, log, sqrt, rsqrt, tanh, sigmoid, erf, pow,
    isnan …
    """
    return intrinsic(name, *args, dtype=dtype)
