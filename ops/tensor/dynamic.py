"""The operators ``dyn.*``: shapes, axes and places are inputs, so the result's extents are known
when the program runs.

Their types have the right rank and unknown extents, which a tensor program of its own works out
when the program runs (``dynamic_kernels.py``). What is known of the inputs beforehand makes them
operators with attributes. Source of the semantics: TVM 0.18, ``src/relay/op/dyn`` and
``python/tvm/relay/op/dyn/_transform.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import numpy as np

from relay2relax.core.dtype import Array, is_int, numpy_dtype
from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.conversion import convert
from relay2relax.ops.common.places import FAR, NO_SUCH_SHAPE
from relay2relax.ops.common.reshape_rules import new_shape
from relay2relax.ops.common.shapes import check_squeezed, does_not_broadcast, normal_axes, normal_axis, tensor
from relay2relax.ops.registry import table
from relay2relax.ops.registry.attributes import Int, NoAttrs
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.precision import Precision
from relay2relax.ops.registry.record import (
    Definition,
    Emit,
    Expanded,
    Extents,
    Kernel,
    OpDef,
    OpError,
    Otherwise,
    SameOp,
    TypeRule,
    V,
)
from relay2relax.ops.registry.script import Script
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.ops.tensor import dynamic_kernels as kernels
from relay2relax.ops.tensor.coordinates import SparseToDenseAttrs, check_sparse, dense_values, sparse_to_dense_compute
from relay2relax.ops.tensor.create import InitOpAttrs, full_compute, static_shape
from relay2relax.ops.tensor.indexing import StridedSliceAttrs
from relay2relax.ops.tensor.masking import OneHotAttrs, one_hot_compute, one_hot_shape, one_hot_values
from relay2relax.ops.tensor.transform import ExpandDimsAttrs, ReshapeAttrs, SqueezeAttrs, TileAttrs
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import ANY, Shape, static

SOURCE = "TVM 0.18 src/relay/op/dyn/tensor/transform.cc"


@dataclass(frozen=True, slots=True)
class DynExpandDimsAttrs:
    """How many axes there are more."""

    num_newaxis: Int = 1


def _length(value: Type, argument: int, what: str) -> int:
    """Return how many numbers a vector of integers has; raises OpError where that is not known."""
    found = tensor(value, argument)
    if found.rank != 1 or not is_int(found.dtype):
        raise OpError(
            mistake(
                operators.DTYPE,
                what=what,
                dtype=f"{found.dtype} and rank {found.rank}",
                expected="a vector of integers",
            ),
            argument,
        )
    count = static(found.shape[0])
    if count is None:
        raise OpError(f"the length of {what} is unknown, and so the rank of the result", argument, kind=operators.RANK)
    return count


def _numbers(values: Array) -> tuple[int, ...]:
    return tuple(values.reshape(-1).astype(np.int64).tolist())


def unknown_type(rank: int, dtype: str) -> TensorType:
    """Return the type of a tensor of ``rank`` of which no extent is known."""
    return TensorType((ANY,) * rank, dtype)


# reshape, broadcast_to, tile


def reshape_type(attrs: ReshapeAttrs, data: Type, newshape: Type) -> Type:
    """Return a dimension for each number of ``newshape``."""
    return unknown_type(_length(newshape, 1, "newshape"), tensor(data).dtype)


def reshape_numpy(attrs: ReshapeAttrs, data: Array, newshape: Array) -> Array:
    """Return the same elements in another shape."""
    shape = static_shape(new_shape(data.shape, _numbers(newshape), attrs.allowzero))
    if len(shape) != newshape.size:
        raise OpError(f"{_numbers(newshape)} makes a tensor of rank {len(shape)}", 1, kind=operators.RANK)
    return data.reshape(shape)


def broadcast_to_type(attrs: InitOpAttrs, data: Type, shape: Type) -> Type:
    """Return a dimension for each number of ``shape``."""
    return unknown_type(_length(shape, 1, "shape"), tensor(data).dtype)


def broadcast_to_numpy(attrs: InitOpAttrs, data: Array, shape: Array) -> Array:
    """Return a view that repeats the data."""
    target = _numbers(shape)
    try:
        return np.broadcast_to(data, target)
    except ValueError:
        raise does_not_broadcast(data.shape, target) from None


def tile_type(attrs: TileAttrs, data: Type, reps: Type) -> Type:
    """Return a dimension for each of the data, or for each number of ``reps`` where these are
    more.
    """
    found = tensor(data)
    return unknown_type(max(found.rank, _length(reps, 1, "reps")), found.dtype)


def tile_numpy(attrs: TileAttrs, data: Array, reps: Array) -> Array:
    """Return the data repeated along each axis."""
    counts = _numbers(reps)
    shape = (1,) * (len(counts) - data.ndim) + data.shape
    for extent, count in zip(reversed(shape), reversed(counts), strict=False):
        if not 0 <= count <= FAR // max(extent, 1):
            raise OpError(f"an axis of extent {extent} is not repeated {count} times", 1, kind=operators.SHAPE)
    return np.tile(data, counts)


# zeros, ones, full


def init_type(attrs: InitOpAttrs, shape: Type) -> Type:
    """Return a dimension for each number of ``shape``."""
    return unknown_type(_length(shape, 0, "shape"), attrs.dtype)


def full_type(attrs: InitOpAttrs, fill_value: Type, shape: Type) -> Type:
    """Return a dimension for each number of ``shape``, with the dtype of the attributes or of the
    fill value.
    """
    value = tensor(fill_value)
    if value.rank:
        raise OpError(mistake(operators.RANK, what="the fill value", rank=value.rank, expected="0"), 0)
    return unknown_type(_length(shape, 1, "shape"), attrs.dtype or value.dtype)


def full_numpy(attrs: InitOpAttrs, fill_value: Array, shape: Array) -> Array:
    """Return the fill value everywhere."""
    value = convert(fill_value, attrs.dtype) if attrs.dtype else fill_value
    return np.full(_numbers(shape), value, value.dtype)


def _filled(name: str, value: int, doc: str) -> OpDef:
    return OpDef(
        relay=f"dyn.{name}",
        doc=doc,
        source=SOURCE,
        on_bad_values=NO_SUCH_SHAPE,
        inputs=("shape",),
        attrs=InitOpAttrs,
        infer=init_type,
        numpy=lambda attrs, shape: np.full(_numbers(shape), value, numpy_dtype(attrs.dtype)),
        compute=kernels.filled_compute(value),
        extents=kernels.given_extents(0),
        relax=_settled_relax(f"dyn.{name}", 0),
        settle=_settle(0, _init(name)),
        fusion=Fusion(OpPattern.ELEMWISE, reads_shape=True),
    )


# one_hot


def one_hot_type(attrs: OneHotAttrs, indices: Type, on_value: Type, off_value: Type, depth: Type) -> Type:
    """Return the shape of ``indices`` with an axis of unknown extent more."""
    return one_hot_shape(attrs, indices, ANY)


def one_hot_numpy(attrs: OneHotAttrs, indices: Array, on_value: Array, off_value: Array, depth: Array) -> Array:
    """Return ``on_value`` where the place along the new axis is the index, else ``off_value``."""
    (extent,) = _numbers(depth)
    if extent < 0:
        raise OpError(f"the new axis cannot have extent {extent}", 3, kind=operators.SHAPE)
    return one_hot_values(attrs, indices, on_value, off_value, extent)


# strided_slice


def strided_slice_type(attrs: StridedSliceAttrs, data: Type, begin: Type, end: Type, strides: Type) -> Type:
    """Return an unknown extent for each axis that has a place to begin at; the others stay."""
    found = tensor(data)
    count = _length(begin, 1, "begin")
    if count > found.rank:
        raise OpError(f"begin has {count} entries for a tensor of rank {found.rank}", 1, kind=operators.RANK)
    for argument, (name, one) in enumerate((("end", end), ("strides", strides)), 2):
        _length(one, argument, name)
    return TensorType((ANY,) * count + found.shape[count:], found.dtype)


def strided_slice_numpy(attrs: StridedSliceAttrs, data: Array, begin: Array, end: Array, strides: Array) -> Array:
    """Return a view; places outside are moved in, a slice that runs backwards is empty."""
    ends, steps = _numbers(end), _numbers(strides)
    places = []
    for axis, first in enumerate(_numbers(begin)):
        extent = data.shape[axis]
        step = steps[axis] if axis < len(steps) and attrs.slice_mode == "end" else 1
        if not step:
            raise OpError(
                mistake(
                    operators.ATTRIBUTE, name=f"the stride of axis {axis}", value=0, expected="a number other than 0"
                ),
                3,
            )
        last = ends[axis] if axis < len(ends) else extent if step > 0 else -extent - 1
        if attrs.slice_mode == "size":
            first = min(first + extent if first < 0 else first, extent)
            last = extent if last < 0 else first + min(last, extent)
        places.append(slice(first, last, step))
    return data[tuple(places)]


# squeeze, expand_dims


def squeeze_type(attrs: SqueezeAttrs, data: Type, axes: Type) -> Type:
    """Return as many dimensions fewer as there are axes, all unknown."""
    found, given = tensor(data), tensor(axes, 1)
    count = _length(axes, 1, "axes") if given.rank else 1
    if count > found.rank:
        raise OpError(f"{count} axes cannot go from a tensor of rank {found.rank}", 1, kind=operators.RANK)
    return unknown_type(found.rank - count, found.dtype)


def squeeze_numpy(attrs: SqueezeAttrs, data: Array, axes: Array) -> Array:
    """Return the view without the axes."""
    if axes.size == data.ndim and data.size == 1:
        return data.reshape(())  # Whatever the axes are called: all go.
    gone = normal_axes(_numbers(axes), data.ndim)
    check_squeezed(data.shape, gone, 1)
    return np.squeeze(data, axis=gone)


def expand_dims_type(attrs: DynExpandDimsAttrs, data: Type, axis: Type) -> Type:
    """Return as many dimensions more as there are new axes, all unknown."""
    found, given = tensor(data), tensor(axis, 1)
    if given.rank or not is_int(given.dtype):
        raise OpError(
            mistake(
                operators.DTYPE, what="the axis", dtype=f"{given.dtype} and rank {given.rank}", expected="one integer"
            ),
            1,
        )
    if attrs.num_newaxis < 0:
        raise OpError(
            mistake(operators.ATTRIBUTE, name="num_newaxis", value=attrs.num_newaxis, expected="at least 0"), 0
        )
    return unknown_type(found.rank + attrs.num_newaxis, found.dtype)


def expand_dims_numpy(attrs: DynExpandDimsAttrs, data: Array, axis: Array) -> Array:
    """Return the view with the new axes beside each other."""
    first = normal_axis(int(axis), data.ndim + 1)
    return data.reshape((*data.shape[:first], *(1,) * attrs.num_newaxis, *data.shape[first:]))


# sparse_to_dense


def sparse_to_dense_type(attrs: NoAttrs, indices: Type, values: Type, default: Type, output_shape: Type) -> Type:
    """Return a dimension for each number of ``output_shape``."""
    rank = _length(output_shape, 3, "output_shape")
    return unknown_type(rank, check_sparse(indices, values, default, rank).dtype)


# The same calls with attributes, once shapes and places are known

Settled: TypeAlias = "tuple[OpDef, Any, tuple[int, ...]] | None"
Settle: TypeAlias = Callable[[Any, tuple[Shape | None, ...]], Settled]


def _settle(index: int, rule: Callable[[Any, Shape], tuple[str, Any]]) -> Settle:
    """Return the facet of an operator with one computed input: ``rule`` gives the other one's name
    and attributes.
    """

    def settle(attrs: Any, numbers: tuple[Shape | None, ...]) -> Settled:
        given = numbers[index]
        if given is None:
            return None
        name, found = rule(attrs, given)
        return operator_named(name), found, tuple(i for i in range(len(numbers)) if i != index)

    return settle


def settle_static(index: int, rule: Callable[[Any, tuple[int, ...]], tuple[str, Any]]) -> Settle:
    """Return the facet of an operator whose attributes take no symbolic numbers."""
    symbolic = _settle(index, lambda attrs, given: rule(attrs, static_shape(given)))

    def settle(attrs: Any, numbers: tuple[Shape | None, ...]) -> Settled:
        given = numbers[index]
        return None if given is None or any(static(one) is None for one in given) else symbolic(attrs, numbers)

    return settle


def operator_named(name: str) -> OpDef:
    """Return the record of the Relay operator ``name``."""
    op = table.relay_op(name)
    assert op is not None
    return op


def _settle_slice(attrs: StridedSliceAttrs, numbers: tuple[Shape | None, ...]) -> Settled:
    begin, end, strides = numbers[1:]
    if begin is None or end is None or strides is None or any(static(one) is None for one in strides):
        return None
    found = StridedSliceAttrs(begin=begin, end=end, strides=strides, slice_mode=attrs.slice_mode, axes=None)
    return operator_named("strided_slice"), found, (0,)


def _init(name: str) -> Callable[[Any, Shape], tuple[str, Any]]:
    return lambda attrs, shape: (name, InitOpAttrs(shape=shape, dtype=attrs.dtype))


def _settled_relax(name: str, place: int) -> Expanded:
    """Return the Relax form of an operator whose input ``place`` is the result's shape, codes
    worked out or not.
    """

    def expand(e: Emit[V], attrs: Any, *args: V) -> V:
        op = operator_named(name)
        shape = e.extents_of(op, attrs, args)
        found = op.settle and op.settle(attrs, tuple(shape if i == place else None for i in range(len(args))))
        assert found is not None
        static_op, new, kept = found
        assert isinstance(static_op.relax, Expanded)
        result: V = static_op.relax.expand(e, new, *(args[i] for i in kept))
        return result

    return Expanded(expand)


# R.tensor_to_shape


def tensor_to_shape_type(attrs: NoAttrs, data: Type) -> Any:
    """Return a shape, as many unknown extents as the vector has elements."""
    found = tensor(data)
    if found.dtype != "int64":
        raise OpError(mistake(operators.DTYPE, what="the tensor of extents", dtype=found.dtype, expected="int64"), 0)
    return (ANY,) * _length(data, 0, "the vector")


def _no_program(*unused: object) -> NoReturn:
    raise UnsupportedError(
        mistake(operators.NOT_RUN, name="R.tensor_to_shape", reason="no tensor program gives a shape")
    )


# Records


def dynamic_operator(
    name: str,
    doc: str,
    inputs: tuple[str, ...],
    infer: TypeRule,
    numpy: Kernel,
    extents: Extents,
    compute: Definition,
    **rest: Any,
) -> OpDef:
    """Return the record of ``dyn.<name>``: what ``name`` has as attributes are inputs."""
    return OpDef(
        relay=f"dyn.{name}",
        doc=doc,
        source=SOURCE,
        inputs=inputs,
        infer=infer,
        numpy=numpy,
        compute=compute,
        extents=extents,
        **rest,
    )


OPS = (
    dynamic_operator(
        "reshape", "As reshape; the new shape with its codes is an input.", ("data", "newshape"),
        reshape_type, reshape_numpy, kernels.reshape_extents, kernels.flat_compute,
        relax=_settled_relax("dyn.reshape", 1), attrs=ReshapeAttrs,
        settle=_settle(1, lambda attrs, shape: ("reshape", ReshapeAttrs(shape, attrs.allowzero))),
        on_bad_values=NO_SUCH_SHAPE,
        fusion=Fusion(OpPattern.INJECTIVE, reshapes=True, reads_shape=True),
        precision=Precision.FOLLOW,
    ),
    dynamic_operator(
        "broadcast_to", "As broadcast_to; the shape is an input.", ("data", "shape"),
        broadcast_to_type, broadcast_to_numpy, kernels.broadcast_extents, kernels.broadcast_compute,
        relax=_settled_relax("dyn.broadcast_to", 1), attrs=InitOpAttrs,
        settle=_settle(1, _init("broadcast_to")),
        on_bad_values=NO_SUCH_SHAPE,
        fusion=Fusion(OpPattern.BROADCAST, reads_shape=True),
        precision=Precision.FOLLOW,
    ),
    dynamic_operator(
        "tile", "As tile; the repetitions are an input.", ("data", "reps"),
        tile_type, tile_numpy,
        kernels.tile_extents, kernels.tile_compute, attrs=TileAttrs,
        settle=settle_static(1, lambda attrs, reps: ("tile", TileAttrs(reps))),
        on_bad_values=NO_SUCH_SHAPE,
        fusion=Fusion(OpPattern.INJECTIVE, reads_shape=True),
        precision=Precision.FOLLOW,
    ),
    _filled("zeros", 0, "Zeros; the shape is an input."),
    _filled("ones", 1, "Ones; the shape is an input."),
    dynamic_operator(
        "full", "One number everywhere; the shape is an input.", ("fill_value", "shape"),
        full_type, full_numpy, kernels.given_extents(1),
        lambda attrs, out, fill_value, shape: full_compute(attrs, out, fill_value),
        attrs=InitOpAttrs, relax=_settled_relax("dyn.full", 1), settle=_settle(1, _init("full")),
        on_bad_values=NO_SUCH_SHAPE,
        fusion=Fusion(OpPattern.ELEMWISE, reads_shape=True),
        precision=Precision.FOLLOW,
    ),
    dynamic_operator(
        "one_hot", "As one_hot; the extent of the new axis is an input.",
        ("indices", "on_value", "off_value", "depth"),
        one_hot_type, one_hot_numpy, kernels.given_extents(3), one_hot_compute, attrs=OneHotAttrs,
        settle=settle_static(
            3, lambda attrs, depth: ("one_hot", OneHotAttrs(depth[0], attrs.axis, attrs.dtype))
        ),
        on_bad_values=NO_SUCH_SHAPE,
        fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE, reads_shape=True),
    ),
    dynamic_operator(
        "strided_slice", "As strided_slice; the places are inputs.", ("data", "begin", "end", "strides"),
        strided_slice_type, strided_slice_numpy, kernels.strided_slice_extents, kernels.strided_slice_compute,
        attrs=StridedSliceAttrs,
        relax=Otherwise("R.dynamic_strided_slice makes a negative extent of a slice that runs backwards"),
        settle=_settle_slice,
        on_bad_values="A slice is moved into the data; one that runs backwards is empty. A stride of 0 is refused.",
        fusion=Fusion(OpPattern.INJECTIVE, reads_shape=True),
        precision=Precision.FOLLOW,
    ),
    dynamic_operator(
        "squeeze", "As squeeze; the axes are an input.", ("data", "axes"),
        squeeze_type, squeeze_numpy, kernels.squeeze_extents, kernels.flat_compute,
        attrs=SqueezeAttrs,
        settle=settle_static(1, lambda attrs, axes: ("squeeze", SqueezeAttrs(axes))),
        on_bad_values="An axis that is not there, or whose extent is not 1, is refused.",
        fusion=Fusion(OpPattern.INJECTIVE, reshapes=True, reads_shape=True),
    ),
    dynamic_operator(
        "expand_dims", "As expand_dims; the place of the new axes is an input.", ("data", "axis"),
        expand_dims_type, expand_dims_numpy, kernels.expand_dims_extents, kernels.flat_compute,
        attrs=DynExpandDimsAttrs, declares_attrs=False,
        settle=settle_static(
            1, lambda attrs, axis: ("expand_dims", ExpandDimsAttrs(axis[0], attrs.num_newaxis))
        ),
        on_bad_values="An axis that is not there is refused.",
        fusion=Fusion(OpPattern.INJECTIVE, reads_shape=True),
    ),
    dynamic_operator(
        "sparse_to_dense", "As sparse_to_dense; the shape is an input.",
        ("sparse_indices", "sparse_values", "default_value", "output_shape"), sparse_to_dense_type,
        lambda attrs, indices, values, default, shape: dense_values(_numbers(shape), indices, values, default),
        kernels.given_extents(3), lambda attrs, out, *inputs: sparse_to_dense_compute(attrs, out, *inputs[:3]),
        settle=settle_static(3, lambda attrs, shape: ("sparse_to_dense", SparseToDenseAttrs(shape))),
        on_bad_values=NO_SUCH_SHAPE,
        fusion=Fusion(reads_shape=True),
    ),
    OpDef(
        doc="The numbers of a vector as a shape.",
        source="TVM 0.27 src/relax/op/op.cc, tensor_to_shape",
        inputs=("t",),
        infer=tensor_to_shape_type,
        numpy=lambda attrs, data: _numbers(data),
        compute=_no_program,
        relax=SameOp(),
        script=Script("tensor_to_shape", "expr"),
        builtin="vm.builtin.tensor_to_shape",
    ),
)  # fmt: skip
