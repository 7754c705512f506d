"""Tensors that are made."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from relay2relax.core.dtype import of_array
from relay2relax.relay_ir.build.composed import threefry_key
from relay2relax.relay_ir.frontend.onnx.conversion import MOST_FOLDED, Conversion, Convert
from relay2relax.relay_ir.frontend.onnx.lengths import lengths
from relay2relax.relay_ir.frontend.onnx.protos import dtype_of
from relay2relax.relay_ir.frontend.onnx.tensors import array_of
from relay2relax.relay_ir.ir.expr import Constant, Expr


def _constant(at: Conversion) -> Expr:
    if "value" in at.node.attrs:
        found = array_of(at.node.attrs["value"], at.importer.folder)
        return at.const(found, of_array(found))
    for key, dtype in (("value_float", "float32"), ("value_floats", "float32"), ("value_int", "int64"),
                       ("value_ints", "int64")):  # fmt: skip
        if key in at.node.attrs:
            return at.const(at.node.attrs[key], dtype)
    at.refuse("it is no tensor of numbers")


def _constant_of_shape(at: Conversion) -> Expr:
    value = (
        array_of(at.node.attrs["value"], at.importer.folder) if "value" in at.node.attrs else np.zeros(1, np.float32)
    )
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
    dtype = dtype_of(at.node.attrs["dtype"]) if "dtype" in at.node.attrs else at.dtype(x)
    known, diagonal = at.static(x), at.attr("k", 0)
    if known is not None:
        return at.const(np.eye(known[0], known[1], diagonal), dtype)
    begin, step = at.const(0, "int64"), at.const(1, "int64")
    ends = [at.const(one, "int64") if isinstance(one, int) else at.scalar(one) for one in lengths(at, x)]
    rows, columns = (at.call("arange", begin, end, step, dtype="int64") for end in ends)
    places = at.unsqueeze(at.call("add", rows, at.const(diagonal, "int64")), [1])
    return at.cast(at.call("equal", places, columns), dtype)


def _trilu(at: Conversion) -> Expr:
    k = at.cast(at.scalar(at.arg(1)), "int32") if at.has(1) else at.const(0, "int32")
    return at.call("trilu", at.arg(0), k, bool(at.attr("upper", 1)))


def _key(at: Conversion) -> Expr:
    """Return the key of a seed, or one of the node's own: numbers are the same in every run."""
    seed = at.attr("seed")
    if seed is None:
        chosen = zlib.crc32(at.node.place.encode())
    else:
        # TVM's importer cuts fractions off: seeds that are none give its numbers.
        chosen = int(seed) if float(seed).is_integer() else int(np.float32(seed).view("uint32"))
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


def _bernoulli(at: Conversion) -> Expr:
    """One where a number of [0, 1) is below the probability."""
    chance = at.arg()
    dtype = dtype_of(at.node.attrs["dtype"]) if "dtype" in at.node.attrs else at.dtype(chance)
    wide = chance if at.dtype(chance) in ("float32", "float64") else at.cast(chance, "float32")
    drawn = _uniform(at, at.shape(chance), at.dtype(wide))
    return at.cast(at.call("less", drawn, wide), dtype)


def _uniform(at: Conversion, shape: Sequence[int], dtype: str) -> Expr:
    ends = [at.const(one, dtype) for one in (0.0, 1.0)]
    return at.fields(at.call("random.uniform", _key(at), tuple(shape), dtype, *ends))[1]


def _multinomial(at: Conversion) -> Expr:
    """Places that are drawn: where a number of [0, 1) falls among the sums of what they weigh."""
    weights = at.call("nn.softmax", at.cast(at.arg(), "float32"), axis=-1)
    shape, last = at.shape(weights), at.rank(weights) - 1
    sums = at.call("cumsum", weights, axis=last, dtype="float32")
    made = _uniform(at, (*shape[:-1], at.attr("sample_size", 1), 1), "float32")
    below = at.call("less_equal", at.unsqueeze(sums, [last]), made)
    places = at.call("sum", at.cast(below, "int32"), axis=[last + 1])
    dtype = dtype_of(at.node.attrs["dtype"]) if "dtype" in at.node.attrs else "int32"
    return at.cast(at.call("minimum", places, at.const(shape[-1] - 1, "int32")), dtype)


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
    "Bernoulli": _bernoulli,
}
