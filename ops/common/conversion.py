"""Conversion of elements from one dtype to another."""

from __future__ import annotations

import numpy as np

from relay2relax.core.arithmetic import converted
from relay2relax.core.dtype import Array, is_float, numpy_dtype
from relay2relax.tir.ir.expr import PrimExpr, cast, const


def convert(data: Array, dtype: str) -> Array:
    """Return ``data`` as ``dtype``, itself where it is that already.

    Floats truncate, integers wrap, bool is x != 0.
    """
    target = numpy_dtype(dtype)
    if data.dtype == target:
        return data
    if dtype == "bool":
        return np.asarray(data != data.dtype.type(0))
    return converted(data, target)


# Compilers leave open what a negative float is as an unsigned number, and one that is too large:
# wider ones wrap.
BY_WAY_OF = {"int8": "int32", "int16": "int32", "uint8": "int32", "uint16": "int32", "uint32": "int64"}


def convert_element(value: PrimExpr, dtype: str) -> PrimExpr:
    """Return one element as ``dtype``."""
    if value.dtype == dtype:
        return value
    if is_float(value.dtype) and dtype in BY_WAY_OF:
        return cast(dtype, cast(BY_WAY_OF[dtype], value))
    # A NaN is true; TVM finds it not different from 0.
    if dtype == "bool" and not is_float(value.dtype):
        return value.not_equal(const(0, value.dtype))
    return cast(dtype, value)
