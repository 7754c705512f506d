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


def _dft(at: Conversion) -> Expr:
    """One axis of complex numbers, which are pairs along the last one."""
    x = at.arg(0)
    axis = at.attr("axis", 1)
    if at.opset >= 20:
        found = at.ints(2)
        axis = -2 if found is None else found[0]
    length = at.ints(1)
    rank = at.rank(x)
    axis %= rank
    if at.attr("onesided", 0) and at.attr("inverse", 0):
        at.refuse("it makes the whole of half")
    parts = [at.squeeze(one, [rank - 1]) for one in _split_last(at, x)]
    order = [one for one in range(rank - 1) if one != axis] + [axis]
    turned = [at.transpose(one, order) for one in parts]
    if length is not None:
        had = at.shape(turned[0])[-1]
        more = length[0] - had
        if more > 0:
            widths = tuple([(0, 0)] * (rank - 2) + [(0, more)])
            turned = [at.call("nn.pad", one, widths, at.like(0, one)) for one in turned]
        elif more < 0:
            turned = [at.slice(one, rank - 2, 0, length[0]) for one in turned]
    made = at.fields(at.call("dft", *turned, bool(at.attr("inverse", 0))))
    if at.attr("onesided", 0):
        count = at.shape(turned[0])[-1] // 2 + 1
        made = [at.slice(one, rank - 2, 0, count) for one in made]
    back = [order.index(one) for one in range(rank - 1)]
    return at.call("stack", at.tuple([at.transpose(one, back) for one in made]), axis=-1)


def _split_last(at: Conversion, x: Expr) -> list[Expr]:
    """Return real and imaginary parts; real numbers have no others."""
    if at.shape(x)[-1] == 1:
        return [x, at.call("zeros_like", x)]
    return at.fields(at.call("split", x, 2, axis=-1))


OPERATORS: dict[str, Convert] = {
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "Range": _range,
    "EyeLike": _eye_like,
    "Trilu": _trilu,
    "DFT": _dft,
}
