"""Tensors that are made."""

from __future__ import annotations

import zlib

import numpy as np

from relay2relax.core.dtype import of_array
from relay2relax.relay_ir.build.composed import threefry_key
from relay2relax.relay_ir.frontend.onnx.conversion import MOST_FOLDED, Conversion, Convert
from relay2relax.relay_ir.frontend.onnx.protos import array_of, dtype_of
from relay2relax.relay_ir.ir.expr import Constant, Expr


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


def _key(at: Conversion) -> Expr:
    """Return a key of the node's own: its numbers are the same in every run."""
    seed = at.attr("seed")
    chosen = zlib.crc32(at.node.place.encode()) if seed is None else int(np.float32(seed).view("uint32"))
    return Constant(threefry_key(chosen).data, at.span)


def _drawn(at: Conversion, name: str, shape: tuple[int, ...], own: str) -> Expr:
    """Return numbers of Relay's generator: the distribution is ONNX's, the values are not."""
    dtype = dtype_of(at.node.attrs["dtype"]) if "dtype" in at.node.attrs else own
    wide = dtype if dtype in ("float32", "float64") else "float32"
    ends = (("low", 0.0), ("high", 1.0)) if name == "uniform" else (("mean", 0.0), ("scale", 1.0))
    given = [at.const(at.attr(key, default), wide) for key, default in ends]
    made = at.call(f"random.{name}", _key(at), shape, wide, *given)
    return at.cast(at.fields(made)[1], dtype)


def _random(name: str) -> Convert:
    return lambda at: _drawn(at, name, tuple(at.wanted("shape")), "float32")


def _random_like(name: str) -> Convert:
    def convert(at: Conversion) -> Expr:
        own = at.dtype(at.arg())
        return _drawn(at, name, at.shape(at.arg()), own if own.startswith("float") else "float32")

    return convert


def _multinomial(at: Conversion) -> Expr:
    """Places that are drawn: where a number of [0, 1) falls among the sums of what they weigh."""
    weights = at.call("nn.softmax", at.cast(at.arg(), "float32"), axis=-1)
    rows, count = at.shape(weights)[0], at.attr("sample_size", 1)
    sums = at.call("cumsum", weights, axis=1, dtype="float32")
    ends = [at.const(one, "float32") for one in (0.0, 1.0)]
    made = at.fields(at.call("random.uniform", _key(at), (rows, count, 1), "float32", *ends))[1]
    below = at.call("less_equal", at.unsqueeze(sums, [1]), made)
    places = at.call("sum", at.cast(below, "int32"), axis=[2])
    dtype = dtype_of(at.node.attrs["dtype"]) if "dtype" in at.node.attrs else "int32"
    return at.cast(at.call("minimum", places, at.const(at.shape(weights)[1] - 1, "int32")), dtype)


OPERATORS: dict[str, Convert] = {
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "Range": _range,
    "EyeLike": _eye_like,
    "Trilu": _trilu,
    "RandomUniform": _random("uniform"),
    "RandomUniformLike": _random_like("uniform"),
    "RandomNormal": _random("normal"),
    "RandomNormalLike": _random_like("normal"),
    "Multinomial": _multinomial,
}
