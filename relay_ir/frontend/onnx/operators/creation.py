"""Tensors that are made."""

from __future__ import annotations

import numpy as np

from relay2relax.core.dtype import of_array
from relay2relax.relay_ir.frontend.onnx.conversion import MOST_FOLDED, Conversion, Convert
from relay2relax.relay_ir.frontend.onnx.protos import array_of, dtype_of
from relay2relax.relay_ir.ir.expr import Expr


def _constant(at: Conversion) -> Expr:
    if "value" in at.node.attrs:
        found = array_of(at.node.attrs["value"], None)
        return at.const(found, of_array(found))
    for key, dtype in (("value_float", "float32"), ("value_floats", "float32"), ("value_int", "int64"),
                       ("value_ints", "int64")):  # fmt: skip
        if key in at.node.attrs:
            return at.const(at.node.attrs[key], dtype)
    at.refuse("it is no tensor of numbers")


def _constant_of_shape(at: Conversion) -> Expr:
    value = array_of(at.node.attrs["value"], None) if "value" in at.node.attrs else np.zeros(1, np.float32)
    filling = at.const(value.reshape(()), of_array(value))
    shape = at.known(0)
    if shape is None:
        return at.dynamic("full", filling, at.cast(at.arg(), "int64"), dtype=of_array(value))
    return at.call("full", filling, tuple(int(one) for one in shape), of_array(value))


def _range(at: Conversion) -> Expr:
    ends = [at.scalar(one) for one in at.tensors()]
    known = [at.data(one) for one in ends]
    dtype = at.dtype(ends[0])
    begin, end, step = (None if one is None else one.item() for one in known)
    if begin is not None and end is not None and step and (end - begin) / step <= MOST_FOLDED:
        return at.const(np.arange(begin, end, step), dtype)
    return at.call("arange", *ends, dtype=dtype)


def _eye_like(at: Conversion) -> Expr:
    x = at.arg()
    rows, columns = at.shape(x)
    dtype = dtype_of(at.node.attrs["dtype"]) if "dtype" in at.node.attrs else at.dtype(x)
    return at.const(np.eye(rows, columns, at.attr("k", 0)), dtype)


def _trilu(at: Conversion) -> Expr:
    k = at.cast(at.scalar(at.arg(1)), "int32") if at.has(1) else at.const(0, "int32")
    return at.call("trilu", at.arg(0), k, bool(at.attr("upper", 1)))


OPERATORS: dict[str, Convert] = {
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "Range": _range,
    "EyeLike": _eye_like,
    "Trilu": _trilu,
}
