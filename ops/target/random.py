"""Random numbers from an explicit key: every draw returns the key for the next one.

The bits are TVM's: equal keys give equal numbers in every version, target and order of evaluation.
Source of the semantics: TVM 0.18 src/relay/op/random/kernel.cc and
python/tvm/topi/random/kernel.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array, Numbers
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common import threefry
from relay2relax.ops.common.shapes import check_scalar, tensor
from relay2relax.ops.common.threefry import KEY
from relay2relax.ops.registry.attributes import DType, Integer, IntegerArray, NoAttrs
from relay2relax.ops.registry.record import OpDef, OpError
from relay2relax.ops.registry.types import TensorType, TupleType, Type, show
from relay2relax.tir import te
from relay2relax.tir.extent import Extent, Shape, as_prim, equal, mul, product
from relay2relax.tir.ir.expr import Buffer, PrimExpr, Select, Var, cast, const, maximum
from relay2relax.tir.ir.intrinsics import call
from relay2relax.tir.ir.stmt import BufferStore, For, If, Stmt

SOURCE = "TVM 0.18 src/relay/op/random/kernel.cc"


@dataclass(frozen=True, slots=True)
class ThreefryGenerateAttrs:
    """The shape of the words drawn."""

    out_shape: IntegerArray


@dataclass(frozen=True, slots=True)
class UniformAttrs:
    """Shape and dtype (float32 or float64) of the numbers drawn."""

    out_shape: IntegerArray
    out_dtype: DType = ""


@dataclass(frozen=True, slots=True)
class NormalAttrs:
    """Shape and dtype (float32 or float64) of the numbers drawn."""

    out_shape: IntegerArray
    out_dtype: DType = ""


@dataclass(frozen=True, slots=True)
class MultinomialAttrs:
    """How many indices are drawn for each row of probabilities."""

    num_samples: Integer = 1


def _is_key(key: Type) -> None:
    found = tensor(key)
    if found.dtype != KEY.dtype or found.rank != 1 or equal(found.shape[0], 10) is False:
        raise OpError(f"the key is {found.dtype}{show(found.shape)}; a generator's key is uint64(10)", 0)


def generate_type(attrs: ThreefryGenerateAttrs, key: Type) -> Type:
    """Return the type of the next key and of the words."""
    _is_key(key)
    return TupleType((KEY, TensorType(attrs.out_shape, "uint64")))


def split_type(attrs: NoAttrs, key: Type) -> Type:
    """Return the types of two keys."""
    _is_key(key)
    return TupleType((KEY, KEY))


def numbers_type(attrs: UniformAttrs | NormalAttrs, key: Type, first: Type, second: Type) -> Type:
    """Return the type of the next key and of the numbers."""
    if attrs.out_dtype not in ("float32", "float64"):
        raise OpError(
            mistake(
                operators.DTYPE,
                what="the result",
                dtype=attrs.out_dtype or "of no dtype",
                expected="float32 or float64",
            )
        )
    _is_key(key)
    check_scalar(first, attrs.out_dtype, 1)
    check_scalar(second, attrs.out_dtype, 2)
    return TupleType((KEY, TensorType(attrs.out_shape, attrs.out_dtype)))


def multinomial_type(attrs: MultinomialAttrs, key: Type, probs: Type) -> Type:
    """Return the type of the next key and of the indices: a row of them for each row of
    probabilities.
    """
    _is_key(key)
    found = tensor(probs, 1)
    if found.rank == 0:
        raise OpError("the probabilities need at least one dimension", 1, kind=operators.RANK)
    return TupleType((KEY, TensorType((*found.shape[:-1], attrs.num_samples), "int32")))


def key_operand(attrs: object, types: tuple[Type | None, ...]) -> tuple[Type | None, ...]:
    """Every key is ten words."""
    return KEY, *types[1:]


def numbers_operands(attrs: UniformAttrs | NormalAttrs, types: tuple[Type | None, ...]) -> tuple[Type | None, ...]:
    """Every key is ten words, and the parameters have the numbers' dtype."""
    scalar = TensorType((), attrs.out_dtype)
    return KEY, scalar, scalar


# Values


def generate_numpy(attrs: ThreefryGenerateAttrs, key: Array) -> tuple[Array, Array]:
    """Return the next key and the words."""
    later, words = threefry.draw(key, math.prod(attrs.out_shape))
    return later, words.reshape(attrs.out_shape)


def split_numpy(attrs: NoAttrs, key: Array) -> tuple[Array, Array]:
    """Return two keys."""
    return threefry.split(key)


def _units(key: Array, shape: Sequence[int], dtype: str) -> tuple[Array, Any]:
    later, words = threefry.draw(key, math.prod(shape))
    return later, threefry.unit(words, dtype).reshape(shape)


def uniform_numpy(attrs: UniformAttrs, key: Array, low: Numbers, high: Numbers) -> tuple[Array, Array]:
    """Return the next key and numbers from [low, high)."""
    later, numbers = _units(key, attrs.out_shape, attrs.out_dtype)
    return later, np.asarray(numbers * (high - low) + low)


def normal_numpy(attrs: NormalAttrs, key: Array, mean: Numbers, scale: Numbers) -> tuple[Array, Array]:
    """Return the next key and normal numbers, by the transform of Box and Muller on two uniform
    ones each.
    """
    later, (first, second) = _units(key, (2, *attrs.out_shape), attrs.out_dtype)
    one = first.dtype.type
    radius = np.sqrt(one(-2.0) * np.log(one(1.0) - first))
    return later, np.asarray(radius * np.sin(one(2.0 * math.pi) * second) * scale + mean)


def multinomial_numpy(attrs: MultinomialAttrs, key: Array, probs: Array) -> tuple[Array, Array]:
    """Return the next key and the indices at which the summed probabilities first exceed uniform
    numbers.
    """
    weights = np.maximum(probs.astype(np.float32), np.float32(0))
    with np.errstate(all="ignore"):
        # A running sum adds from left to right, as the kernel does.
        weights = weights / np.cumsum(weights, axis=-1, dtype=np.float32)[..., -1:]
    summed = np.cumsum(weights, axis=-1, dtype=np.float32)
    later, numbers = _units(key, (*probs.shape[:-1], attrs.num_samples), "float32")
    above = summed[..., :, None] - numbers[..., None, :]
    nearest = np.where(above > 0, above, np.float32(1))
    return later, np.argmin(nearest, axis=-2).astype(np.int32)


# Tensor expressions


def _flat_index(indices: Sequence[PrimExpr], shape: Sequence[Extent]) -> PrimExpr:
    place: PrimExpr = const(0, "int64")
    for index, extent in zip(indices, shape, strict=True):
        place = place * as_prim(extent) + index
    return place


def _shaped(shape: Shape, value: Callable[[PrimExpr], PrimExpr], name: str) -> te.Tensor:
    return te.compute(shape, lambda *i: value(_flat_index(i, shape)), name)


def generate_compute(attrs: ThreefryGenerateAttrs, out: TupleType, key: te.Tensor) -> tuple[te.Tensor, te.Tensor]:
    """Return the next key and the words."""
    later, words = threefry.draw_compute(key, math.prod(attrs.out_shape))
    return later, _shaped(attrs.out_shape, lambda i: words[i], "T_threefry_generate")


def split_compute(attrs: NoAttrs, out: TupleType, key: te.Tensor) -> tuple[te.Tensor, te.Tensor]:
    """Return two keys."""
    return threefry.split_compute(key)


def uniform_compute(
    attrs: UniformAttrs, out: TupleType, key: te.Tensor, low: te.Tensor, high: te.Tensor
) -> tuple[te.Tensor, te.Tensor]:
    """Return the next key and numbers from [low, high)."""
    later, words = threefry.draw_compute(key, math.prod(attrs.out_shape))
    number = threefry.unit_compute(words, attrs.out_dtype)
    return later, _shaped(attrs.out_shape, lambda i: number(i) * (high[()] - low[()]) + low[()], "T_uniform")


def normal_compute(
    attrs: NormalAttrs, out: TupleType, key: te.Tensor, mean: te.Tensor, scale: te.Tensor
) -> tuple[te.Tensor, te.Tensor]:
    """Return the next key and normal numbers."""
    count = math.prod(attrs.out_shape)
    later, words = threefry.draw_compute(key, 2 * count)
    number = threefry.unit_compute(words, attrs.out_dtype)
    dtype = attrs.out_dtype

    def element(i: PrimExpr) -> PrimExpr:
        radius = call("sqrt", const(-2.0, dtype) * call("log", const(1.0, dtype) - number(i)))
        angle = const(2.0 * math.pi, dtype) * number(i + count)
        return radius * call("sin", angle) * scale[()] + mean[()]

    return later, _shaped(attrs.out_shape, element, "T_normal")


def _running_sum(values: te.Tensor, name: str) -> te.Tensor:
    """Return the sums of the elements up to each, along the last axis of a matrix."""
    rows, columns = values.shape

    def build(inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> Stmt:
        (source,), (target,) = inputs, outputs
        row, column = Var("row"), Var("column")
        place = row, column
        first = BufferStore(target, place, source[row, column])
        longer = BufferStore(target, place, target[row, column - 1] + source[row, column])
        return For(row, rows, For(column, columns, If(column.equal(0), first, longer)))

    (result,) = te.extern([values.shape], [values.dtype], [values], build, name)
    return result


def multinomial_compute(
    attrs: MultinomialAttrs, out: TupleType, key: te.Tensor, probs: te.Tensor
) -> tuple[te.Tensor, te.Tensor]:
    """Return the next key and the indices."""
    *outer, depth = probs.shape
    rows, samples = product(outer), attrs.num_samples
    one = const(1.0, "float32")

    def row_of(row: PrimExpr) -> tuple[PrimExpr, ...]:
        place: list[PrimExpr] = []
        for extent in reversed(outer):
            place.append(row % extent)
            row = row // extent
        return tuple(reversed(place))

    weights: te.Tensor = te.compute(
        (rows, depth),
        lambda row, k: maximum(cast("float32", probs(*row_of(row), k)), const(0.0, "float32")),
        "weights",
    )
    totals = _running_sum(weights, "totals")
    shares: te.Tensor = te.compute((rows, depth), lambda row, k: weights[row, k] / totals[row, depth - 1], "shares")
    summed = _running_sum(shares, "summed")
    later, words = threefry.draw_compute(key, mul(rows, samples))
    number = threefry.unit_compute(words, "float32")
    axis = te.reduce_axis(depth, "k")

    def nearest(row: PrimExpr, sample: PrimExpr) -> te.Reduce:
        above = summed[row, axis.var] - number(row * samples + sample)
        return te.Reduce(
            _nearer,
            (const(-1, "int32"), const(2.0, "float32")),
            (cast("int32", axis.var), Select(above > 0.0, above, one)),
            (axis,),
        )

    chosen, _ = te.compute_several((rows, samples), nearest, "nearest")
    shape = tensor(out.fields[1]).shape
    drawn: te.Tensor = te.compute(shape, lambda *i: chosen[_flat_index(i[:-1], shape[:-1]), i[-1]], "T_multinomial")
    return later, drawn


def _nearer(best: Sequence[PrimExpr], new: Sequence[PrimExpr]) -> tuple[PrimExpr, PrimExpr]:
    closer = new[1] < best[1]
    return Select(closer, new[0], best[0]), Select(closer, new[1], best[1])


# Records

OPS = (
    OpDef(
        relay="random.threefry_generate",
        doc="Words of 64 bits, and the key for the next draw.",
        source=SOURCE,
        inputs=("key",),
        attrs=ThreefryGenerateAttrs,
        infer=generate_type,
        operands=key_operand,
        numpy=generate_numpy,
        compute=generate_compute,
    ),
    OpDef(
        relay="random.threefry_split",
        doc="Two keys whose draws have nothing in common.",
        source=SOURCE,
        inputs=("key",),
        infer=split_type,
        operands=key_operand,
        numpy=split_numpy,
        compute=split_compute,
    ),
    OpDef(
        relay="random.uniform",
        doc="Uniform numbers from [low, high), and the key for the next draw.",
        source=SOURCE,
        inputs=("key", "low", "high"),
        attrs=UniformAttrs,
        infer=numbers_type,
        operands=numbers_operands,
        numpy=uniform_numpy,
        compute=uniform_compute,
    ),
    OpDef(
        relay="random.normal",
        doc="Normal numbers of a mean and a standard deviation, and the key for the next draw.",
        source=SOURCE,
        inputs=("key", "mean", "scale"),
        attrs=NormalAttrs,
        infer=numbers_type,
        operands=numbers_operands,
        numpy=normal_numpy,
        compute=normal_compute,
    ),
    OpDef(
        relay="random.multinomial",
        doc="Indices drawn by the probabilities of each row (negative ones count as 0), and the key for the next draw.",
        source=SOURCE,
        inputs=("key", "probs"),
        attrs=MultinomialAttrs,
        infer=multinomial_type,
        operands=key_operand,
        numpy=multinomial_numpy,
        compute=multinomial_compute,
    ),
)
