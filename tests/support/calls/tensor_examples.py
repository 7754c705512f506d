"""Random calls of the operators on tensors: element-wise, broadcast, reductions, transforms,
creation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from operator_draws import ALL, FLOATS, INTS, NUMBERS, PLACES, Call, Draw, Example

from relay2relax.core.dtype import bits, is_unsigned


@dataclass(frozen=True, eq=False)
class Scalar:
    """A constant as attributes of kind Expr hold it."""

    data: Any


def unary(dtypes: Sequence[str], low: float = -2, high: float = 2, special: bool = True, **attrs: Any) -> Example:
    """Return an operator of one input of any shape."""
    return lambda d: (attrs, [d.array(d.shape(), d.dtype(dtypes), low, high, special)])


def binary(dtypes: Sequence[str], special: bool = True) -> Example:
    """Return an operator of two inputs that broadcast."""

    def example(d: Draw) -> Call:
        shape, dtype = d.shape(), d.dtype(dtypes)
        shapes = [shape, d.broadcast(shape)]
        if d.flag():
            shapes.reverse()
        return {}, [d.array(one, dtype, special=special) for one in shapes]

    return example


def quotient(d: Draw) -> Call:
    """Integers are never divided by 0, nor the smallest one by -1: the result is not defined."""
    attrs, (a, b) = binary(NUMBERS)(d)
    if b.dtype.kind in "iu":
        b = np.where(b == 0, b.dtype.type(3), b)
        b = np.where(b == b.dtype.type(-1), b.dtype.type(5), b) if b.dtype.kind == "i" else b
    return attrs, [a, np.asarray(b)]


def power(d: Draw) -> Call:
    attrs, (a, b) = binary(FLOATS, special=False)(d)
    return attrs, [np.abs(a), b]


def shift(d: Draw) -> Call:
    attrs, (a, b) = binary(INTS)(d)
    return attrs, [a, np.asarray(b % b.dtype.type(bits(b.dtype.name)))]


def multiply_add(d: Draw) -> Call:
    shape, dtype = d.shape(), d.dtype(NUMBERS)
    return {}, [d.array(shape, dtype) for _ in range(3)]


def inspected(d: Draw) -> Call:
    return {}, [d.array(d.shape(), d.dtype())]


def inspected_axis(d: Draw) -> Call:
    shape = d.shape(1)
    return {}, [d.array(shape, d.dtype()), np.array(d.number(0, len(shape) - 1))]


def comparison(d: Draw) -> Call:
    return binary(ALL, special=d.flag())(d)


def cast(d: Draw) -> Call:
    target = d.dtype()
    data = d.array(d.shape(), d.dtype(), 0 if is_unsigned(target) else -2, 100)
    return {"dtype": target}, [data]


def reinterpret(d: Draw) -> Call:
    dtype = d.dtype(NUMBERS)
    target = d.pick([one for one in NUMBERS if bits(one) == bits(dtype)])
    return {"dtype": target}, [d.array(d.shape(), dtype, special=True)]


def clip(d: Draw) -> Call:
    low = d.pick((-np.inf, -1.5, 0.0, -200.0))
    return {"a_min": low, "a_max": d.pick((np.inf, 1.25, 1.0, 300.0))}, [
        d.array(d.shape(), d.dtype(NUMBERS), -5, 5, True)
    ]


def fixed_point(d: Draw) -> Call:
    data = d.array(d.shape(), "int32", -5000, 5000)
    return {"multiplier": d.number(1 << 30, (1 << 31) - 1), "shift": d.number(-5, 4)}, [data]


def fixed_point_per_axis(d: Draw) -> Call:
    shape = d.shape(1, 3)
    axis = d.number(0, len(shape) - 1)
    count = (shape[axis],)
    factors = [
        d.array(count, "int32", 1 << 30, (1 << 31) - 1),
        d.array(count, "int32", 0, 3),
        d.array(count, "int32", 0, 5),
    ]
    attrs = {"axes": (axis,), "is_lshift_required": d.flag(), "is_rshift_required": d.flag()}
    return attrs, [d.array(shape, "int32", -5000, 5000), *factors]


def where(d: Draw) -> Call:
    shape, dtype = d.shape(), d.dtype()
    condition = d.array(d.broadcast(shape), d.dtype(), 0, 1)
    return {}, [condition, d.array(shape, dtype, special=True), d.array(d.broadcast(shape), dtype, special=True)]


# Reductions


def reduced(d: Draw, dtypes: Sequence[str], least: int = 0, high: float = 2) -> Call:
    shape = d.shape(least=least)
    axis = d.axes(len(shape)) if d.flag() else None
    attrs = {"axis": axis, "keepdims": d.flag(), "exclude": axis is not None and d.number(0, 3) == 0}
    return attrs, [d.array(shape, d.dtype(dtypes), -high, high)]


def reduction(dtypes: Sequence[str], least: int = 0, high: float = 2) -> Example:
    return lambda d: reduced(d, dtypes, least, high)


def relax_reduction(dtypes: Sequence[str], least: int = 1) -> Example:
    def example(d: Draw) -> Call:
        attrs, args = reduced(d, dtypes, least)
        return {"axis": attrs["axis"], "keepdims": attrs["keepdims"]}, args

    return example


def median(d: Draw) -> Call:
    shape = d.shape(1, 4, 1)
    return {"axis": d.pick((None, (d.axis(len(shape)),))), "keepdims": d.flag()}, [d.array(shape, d.dtype(FLOATS))]


def variance(d: Draw) -> Call:
    attrs, (data,) = reduced(d, FLOATS, 2)
    if not data.ndim:
        attrs["axis"] = None
    kept = {axis % data.ndim for axis in attrs["axis"]} if attrs["axis"] is not None else set(range(data.ndim))
    over = set(range(data.ndim)) - kept if attrs["exclude"] else kept
    mean = data.astype(np.float64).mean(axis=tuple(over), keepdims=True).astype(data.dtype)
    return {**attrs, "unbiased": bool(over) and d.flag()}, [data, mean]


def extreme_place(d: Draw) -> Call:
    attrs, args = reduced(d, NUMBERS, 1)
    if not args[0].ndim:
        attrs, args = {}, [args[0].reshape(1)]
    return {**attrs, "select_last_index": d.flag()}, args


def relax_extreme_place(d: Draw) -> Call:
    shape = d.shape(1, 4, 1)
    return {"axis": d.pick((None, d.axis(len(shape)))), "keepdims": d.flag()}, [d.array(shape, d.dtype(NUMBERS))]


def scan(d: Draw) -> Call:
    shape = d.shape(1)
    attrs = {"axis": d.pick((None, d.axis(len(shape)))), "exclusive": d.flag()}
    data = d.array(shape, d.dtype())
    return {**attrs, "dtype": d.pick(("", "int64")) if data.dtype.kind in "iub" else ""}, [data]


# Shapes


def split_shape(d: Draw, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return another shape of as many elements."""
    rest, found = int(np.prod(shape)), []
    for factor in (2, 3):
        if rest and rest % factor == 0 and d.flag():
            found.append(factor)
            rest //= factor
    found.insert(d.number(0, len(found)), rest)
    return tuple(found)


def reshape(d: Draw) -> Call:
    shape = d.shape()
    new = split_shape(d, shape)
    if d.flag() and 0 not in shape:
        new = tuple(-1 if n == 0 else e for n, e in enumerate(new))
    return {"newshape": new, "allowzero": 0 in new}, [d.array(shape, d.dtype())]


def relax_reshape(d: Draw) -> Call:
    shape = d.shape()
    return {}, [d.array(shape, d.dtype()), split_shape(d, shape)]


def reverse_reshape(d: Draw) -> Call:
    shape = d.shape(1, 3, 1)
    return {"newshape": (-1, 0)}, [d.array(shape, d.dtype())]


def reshape_like(d: Draw) -> Call:
    shape = d.shape()
    return {}, [d.array(shape, d.dtype()), d.array(split_shape(d, shape), d.dtype())]


def transpose(d: Draw) -> Call:
    shape = d.shape()
    axes = d.pick((None, tuple(int(a) for a in d.rng.permutation(len(shape)))))
    return {"axes": axes}, [d.array(shape, d.dtype())]


def squeeze(d: Draw) -> Call:
    shape = tuple(d.pick((1, d.extent())) for _ in range(d.number(0, 4)))
    ones = [axis for axis, extent in enumerate(shape) if extent == 1]
    return {"axis": d.pick((None, tuple(axis for axis in ones if d.flag())))}, [d.array(shape, d.dtype())]


def expand_dims(d: Draw) -> Call:
    shape = d.shape()
    return {"axis": d.number(-len(shape) - 1, len(shape)), "num_newaxis": d.number(0, 2)}, [d.array(shape, d.dtype())]


def relax_expand_dims(d: Draw) -> Call:
    shape = d.shape(0, 3)
    return {"axis": d.pick(((0,), (-1,), (0, -1)))}, [d.array(shape, d.dtype())]


def broadcast_to(d: Draw) -> Call:
    shape = d.shape()
    return {"shape": shape}, [d.array(d.broadcast(shape), d.dtype())]


def relax_broadcast_to(d: Draw) -> Call:
    attrs, (data,) = broadcast_to(d)
    return {}, [data, attrs["shape"]]


def broadcast_to_like(d: Draw) -> Call:
    attrs, (data,) = broadcast_to(d)
    return {}, [data, d.array(attrs["shape"], d.dtype())]


def tile(d: Draw) -> Call:
    return {"reps": tuple(d.number(1, 3) for _ in range(d.number(1, 4)))}, [d.array(d.shape(), d.dtype())]


def repeat(d: Draw) -> Call:
    shape = d.shape(1)
    return {"repeats": d.number(1, 3), "axis": d.pick((None, d.axis(len(shape))))}, [d.array(shape, d.dtype())]


def along_axis(d: Draw, least: int = 0) -> Call:
    shape = d.shape(1, 4, least)
    return {"axis": d.axis(len(shape))}, [d.array(shape, d.dtype())]


def concatenate(d: Draw) -> Call:
    shape, dtype = list(d.shape(1)), d.dtype()
    axis = d.axis(len(shape))
    parts = []
    for _ in range(d.number(1, 3)):
        shape[axis] = d.extent()
        parts.append(d.array(shape, dtype))
    return {"axis": axis}, [tuple(parts)]


def stack(d: Draw) -> Call:
    shape, dtype = d.shape(0, 3), d.dtype()
    return {"axis": d.number(-len(shape) - 1, len(shape))}, [
        tuple(d.array(shape, dtype) for _ in range(d.number(1, 3)))
    ]


def split(d: Draw) -> Call:
    shape, parts = list(d.shape(1)), d.number(1, 3)
    axis = d.axis(len(shape))
    if d.flag():
        shape[axis] = parts * d.number(0, 3)
        return {"indices_or_sections": parts, "axis": axis}, [d.array(shape, d.dtype())]
    shape[axis] = parts + 1 + d.number(0, 3)
    cuts = tuple(sorted(int(place) + 1 for place in d.rng.permutation(shape[axis] - 1)[:parts]))
    return {"indices_or_sections": cuts, "axis": axis}, [d.array(shape, d.dtype())]


def relax_split(d: Draw) -> Call:
    shape = d.shape(1)
    axis = d.axis(len(shape))
    if d.flag():
        return {"indices_or_sections": d.number(1, 3), "axis": axis}, [d.array(shape, d.dtype())]
    cuts = tuple(sorted({d.number(1, 9) for _ in range(d.number(0, 3))}))
    return {"indices_or_sections": cuts, "axis": axis}, [d.array(shape, d.dtype())]


def relax_take(d: Draw) -> Call:
    shape = d.shape(1, 3, 1)
    mode = d.pick(("clip", "wrap", "fast", "nan"))
    axis = None if len(shape) == 1 and d.flag() else d.axis(len(shape))
    extent = shape[axis or 0]
    inside = d.places(d.shape(0, 2), extent)
    dtype = d.dtype(FLOATS) if mode == "nan" else d.dtype()
    return {"axis": axis, "mode": mode}, [d.array(shape, dtype), inside if mode == "fast" else inside * 3 - extent]


def take(d: Draw) -> Call:
    shape = d.shape(1, 3, 1)
    axis, mode = d.pick((None, d.axis(len(shape)))), d.pick(("clip", "wrap", "fast"))
    extent = int(np.prod(shape)) if axis is None else shape[axis]
    inside = d.places(d.shape(0, 2), extent)
    places = inside if mode == "fast" else inside * 3 - extent
    return {"axis": axis, "mode": mode}, [d.array(shape, d.dtype()), places]


def strided_slice(d: Draw) -> Call:
    shape = d.shape(1, 3)
    axes = tuple(sorted(axis % len(shape) for axis in d.axes(len(shape), 1)))
    begin, end, strides = [], [], []
    for axis in axes:
        extent = shape[axis]
        step = d.pick((1, 2, -1, -2))
        low, high = sorted(d.number(0, extent) for _ in range(2))
        first, last = (low, high) if step > 0 else (max(high - 1, 0), max(low - 1, 0))
        first, last = (first, last + d.pick((0, 9)) * (last == extent)) if step > 0 else (first, last)
        begin.append(first - extent if d.flag() and first < extent else first)
        end.append(last)
        strides.append(step)
    attrs = {"begin": tuple(begin), "end": tuple(end), "strides": tuple(strides), "axes": axes}
    return attrs, [d.array(shape, d.dtype())]


def slice_like(d: Draw) -> Call:
    shape = d.shape(1, 3)
    return {"axes": None}, [d.array(shape, d.dtype()), d.array([d.number(0, extent) for extent in shape], "float32")]


# Creation


def filled(d: Draw) -> Call:
    return {"shape": d.shape(), "dtype": d.dtype()}, []


def relax_filled(d: Draw) -> Call:
    return {"dtype": d.dtype()}, [d.shape()]


def full(d: Draw) -> Call:
    return {"shape": d.shape(), "dtype": d.pick(("", d.dtype()))}, [d.array((), d.dtype(), 0, 2)]


def relax_full(d: Draw) -> Call:
    return {"dtype": d.pick(("", d.dtype()))}, [d.shape(), d.array((), d.dtype(), 0, 2)]


def full_like(d: Draw) -> Call:
    return {}, [d.array(d.shape(), d.dtype()), d.array((), d.dtype(), 0, 2)]


def relax_full_like(d: Draw) -> Call:
    return {"dtype": d.pick(("", d.dtype()))}, full_like(d)[1]


def arange(d: Draw) -> Call:
    dtype = d.pick(("int32", "int64", "float32", "float64"))
    step = d.pick((1, 2, 3, -1, -2)) if dtype.startswith("int") else d.pick((0.5, 1.0, -0.25))
    start = d.number(-3, 3)
    bounds = [np.array(one, dtype) for one in (start, start + step * d.number(0, 7), step)]
    return {**dict(zip(("start", "stop", "step"), map(Scalar, bounds), strict=True)), "dtype": dtype}, bounds


def relax_arange(d: Draw) -> Call:
    start, step = d.number(-3, 3), d.pick((1, 2, -1))
    return {
        "start": start,
        "end": start + step * d.number(0, 7),
        "step": step,
        "dtype": d.pick(("int64", "float32")),
    }, []


TENSOR_EXAMPLES: dict[str, Example] = {
    **{name: unary(NUMBERS) for name in ("floor", "ceil", "trunc", "round", "R.round", "abs", "negative", "sign")},
    **{name: unary(ALL) for name in ("copy", "isnan", "isinf", "isfinite", "logical_not", "zeros_like", "ones_like")},
    **{name: binary(NUMBERS) for name in ("subtract", "maximum", "minimum")},
    **{name: binary(ALL) for name in ("add", "multiply", "logical_and", "logical_or")},
    **dict.fromkeys(("divide", "mod", "floor_divide", "floor_mod", "trunc_divide", "trunc_mod"), quotient),
    **dict.fromkeys(("left_shift", "right_shift"), shift),
    **{name: binary((*INTS, "bool")) for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "logical_xor")},
    **dict.fromkeys(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"), comparison),
    **{name: reduction(NUMBERS) for name in ("sum", "prod")},
    **{name: reduction(NUMBERS, 1) for name in ("max", "min")},
    **{name: reduction(("bool",)) for name in ("all", "any")},
    **{name: relax_reduction(FLOATS) for name in ("R.variance", "R.std")},
    **{name: relax_reduction(NUMBERS) for name in ("R.sum", "R.prod", "R.max", "R.min")},
    "R.mean": relax_reduction(tuple(one for one in NUMBERS if one not in ("int8", "uint8"))),
    "R.median": median,
    **dict.fromkeys(("argmax", "argmin"), extreme_place),
    **dict.fromkeys(("R.argmax", "R.argmin"), relax_extreme_place),
    **dict.fromkeys(("cumsum", "cumprod"), scan),
    **dict.fromkeys(("zeros", "ones"), filled),
    **dict.fromkeys(("R.zeros", "R.ones"), relax_filled),
    "bitwise_not": unary((*INTS, "bool")),
    "cast": cast,
    "cast_like": lambda d: ({}, [cast(d)[1][0], d.array(d.shape(), d.dtype(("int32", *FLOATS)))]),
    "reinterpret": reinterpret,
    "clip": clip,
    "mean": reduction(tuple(one for one in NUMBERS if one not in ("int8", "uint8")), 1),
    "fixed_point_multiply": fixed_point,
    "fixed_point_multiply_per_axis": fixed_point_per_axis,
    "power": power,
    "R.atan2": binary(FLOATS, special=False),
    "R.log_add_exp": binary(FLOATS, special=False),
    "where": where,
    "variance": variance,
    "reshape": reshape,
    "R.reshape": relax_reshape,
    "contrib_reverse_reshape": reverse_reshape,
    "reshape_like": reshape_like,
    "transpose": transpose,
    "squeeze": squeeze,
    "expand_dims": expand_dims,
    "R.expand_dims": relax_expand_dims,
    "broadcast_to": broadcast_to,
    "R.broadcast_to": relax_broadcast_to,
    "broadcast_to_like": broadcast_to_like,
    "tile": tile,
    "repeat": repeat,
    "reverse": along_axis,
    "concatenate": concatenate,
    "stack": stack,
    "split": split,
    "take": take,
    "R.take": relax_take,
    "R.split": relax_split,
    "R.squeeze": squeeze,
    "strided_slice": strided_slice,
    "slice_like": slice_like,
    "full": full,
    "R.full": relax_full,
    "full_like": full_like,
    "R.full_like": relax_full_like,
    "arange": arange,
    "R.arange": relax_arange,
    "shape_of": lambda d: ({"dtype": d.pick(PLACES)}, [d.array(d.shape(), d.dtype())]),
    "R.ewise_fma": multiply_add,
    "R.wrap_param": lambda d: ({"dtype": d.pick(FLOATS)}, [d.array(d.shape(), d.dtype(FLOATS))]),
    **{f"R.inspect.tensor_{what}": inspected_axis for what in ("shape_i", "stride_i")},
    **{
        f"R.inspect.tensor_{what}": inspected
        for what in ("ndim", "byte_offset", "elem_offset", "dtype_code", "dtype_bits", "dtype_lanes")
    },
    "vm.shape_of": lambda d: ({"dtype": d.pick(PLACES)}, [d.array(d.shape(), d.dtype())]),
    "R.shape_to_tensor": lambda d: ({}, [d.shape()]),
    "ndarray_size": lambda d: ({"dtype": d.pick(PLACES)}, [d.array(d.shape(), d.dtype())]),
    "R.size": lambda d: ({}, [d.array(d.shape(), d.dtype())]),
    "R.strided_slice": strided_slice,
    "R.builtin.alloc_tensor": relax_filled,
}
