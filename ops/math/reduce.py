"""Reductions over axes.

``axis`` lists the axes that go (none or an empty list: all of them), ``exclude`` makes it the list
of those that stay. The result keeps the input's dtype, small integers wrap; argmax and argmin give
int32. Source of the semantics: TVM 0.18, ``src/relay/op/tensor/reduce.cc`` and
``include/tvm/topi/reduction.h``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, Union

import numpy as np

from relay2relax.core.dtype import Array, Numbers, is_float, of_array
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common import layout_rules
from relay2relax.ops.common.limits import NO_BFLOAT16, NO_BOOL, ONLY_FLOAT_MEANS
from relay2relax.ops.common.shapes import extent_value, normal_axes, normal_axis, operand_indices, tensor
from relay2relax.ops.registry.attributes import Bool, OptionalInteger, OptionalIntegerArray
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.precision import Precision
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, SameOp, V
from relay2relax.ops.registry.script import Limit, Script, Spread
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import Extent, Shape, as_prim, ask, is_any, is_symbolic, product, static, sub
from relay2relax.tir.ir.expr import IntImm, PrimExpr, Select, binary, cast, const, logical_and
from relay2relax.tir.ir.intrinsics import max_value, min_value

SOURCE = "TVM 0.18 src/relay/op/tensor/reduce.cc"


@dataclass(frozen=True, slots=True)
class ReduceAttrs:
    """The axes that go.

    Whether they stay as extents of 1; whether ``axis`` lists the others instead.
    """

    axis: OptionalIntegerArray = None
    keepdims: Bool = False
    exclude: Bool = False


@dataclass(frozen=True, slots=True)
class ArgReduceAttrs:
    """As ReduceAttrs.

    ``select_last_index`` takes the last of equal elements instead of the first.
    """

    axis: OptionalIntegerArray = None
    keepdims: Bool = False
    select_last_index: Bool = False
    exclude: Bool = False


@dataclass(frozen=True, slots=True)
class VarianceAttrs:
    """As ReduceAttrs; ``unbiased`` divides by one less than the count."""

    axis: OptionalIntegerArray = None
    keepdims: Bool = False
    exclude: Bool = False
    unbiased: Bool = False


@dataclass(frozen=True, slots=True)
class RelaxReduceAttrs:
    """The axes that go, None for all of them: of an empty list none goes.

    Whether they stay as extents of 1.
    """

    axis: OptionalIntegerArray = None
    keepdims: Bool = False


@dataclass(frozen=True, slots=True)
class RelaxArgReduceAttrs:
    """One axis, or the flattened tensor."""

    axis: OptionalInteger = None
    keepdims: Bool = False


ReducingAttrs: TypeAlias = Union[ReduceAttrs, ArgReduceAttrs, VarianceAttrs, RelaxReduceAttrs, RelaxArgReduceAttrs]
Index: TypeAlias = tuple[PrimExpr, ...]


def reduced_axes(attrs: ReducingAttrs, rank: int) -> tuple[int, ...]:
    """Return the axes that a reduction removes, in order.

    Raises OpError for axes that do not exist.
    """
    if isinstance(attrs, RelaxArgReduceAttrs):
        return tuple(range(rank)) if attrs.axis is None else (normal_axis(attrs.axis, rank),)
    if isinstance(attrs, RelaxReduceAttrs):
        return tuple(range(rank)) if attrs.axis is None else tuple(sorted(normal_axes(attrs.axis, rank)))
    if not attrs.axis:
        return tuple(range(rank))
    listed = set(normal_axes(attrs.axis, rank))
    return tuple(axis for axis in range(rank) if (axis in listed) != attrs.exclude)


def reduced_shape(shape: Shape, axes: tuple[int, ...], keepdims: bool) -> Shape:
    """Return ``shape`` without ``axes``, or with 1 in their place."""
    if keepdims:
        return tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
    return tuple(extent for axis, extent in enumerate(shape) if axis not in axes)


def reduce_type(attrs: ReduceAttrs | RelaxReduceAttrs, data: Type) -> Type:
    """Return the reduced shape with the dtype of ``data``."""
    found = tensor(data)
    return TensorType(reduced_shape(found.shape, reduced_axes(attrs, found.rank), attrs.keepdims), found.dtype)


E = TypeVar("E", bound=PrimExpr)

# Extents are int64.
_MOST_ELEMENTS = 2**63 - 1


def reduced_element(
    attrs: ReducingAttrs, data: te.Tensor, body: Callable[[Index, tuple[te.ReduceAxis, ...], PrimExpr], E]
) -> Callable[..., E]:
    """Return the element of a compute that reduces ``data``.

    ``body(index, axes, place)`` is given a full index into ``data``, the axes of the reduction, and
    the index of the reduced element flattened over those axes.
    """
    axes = reduced_axes(attrs, data.rank)

    def element(*i: PrimExpr) -> E:
        loops = {axis: te.reduce_axis(data.shape[axis], f"k{axis}") for axis in axes}
        kept = iter(i if not attrs.keepdims else [v for axis, v in enumerate(i) if axis not in loops])
        index = tuple(loops[axis].var if axis in loops else next(kept) for axis in range(data.rank))
        place: PrimExpr = IntImm(0)
        for axis, loop in loops.items():
            place = place * data.shape[axis] + loop.var
        return body(index, tuple(loops.values()), place)

    return element


def _relax_axes(e: Emit[V], attrs: ReducingAttrs, data: V) -> list[int]:
    rank = tensor(e.type_of(data)).rank
    return list(reduced_axes(attrs, rank))


def reduce_relax(name: str) -> Expanded:
    """Return the form of a reduction that Relax has, with the axes written out."""

    def expand(e: Emit[V], attrs: ReduceAttrs, data: V) -> V:
        axes = _relax_axes(e, attrs, data)
        return e.call(name, data, axis=tuple(axes), keepdims=attrs.keepdims) if axes else data

    return Expanded(expand)


def reducer(
    name: str,
    function: Callable[[Array, tuple[int, ...], bool], Numbers],
    body: Callable[[PrimExpr, tuple[te.ReduceAxis, ...]], PrimExpr],
    doc: str,
    relax: Expanded | None = None,
    flags: bool = False,
    precision: Precision | None = None,
) -> OpDef:
    """Return the record of ``function(data, axes, keepdims)`` on arrays and ``body(element, axes)``
    on elements.

    ``flags``: its kernels take bool alone, and R has no such operator.
    """

    def numpy(attrs: ReduceAttrs, data: Array) -> Array:
        if flags:
            _check_flags(of_array(data))
        axes = reduced_axes(attrs, data.ndim)
        with np.errstate(all="ignore"):
            return np.asarray(function(data, axes, attrs.keepdims), data.dtype)

    def compute(attrs: ReduceAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
        if flags:
            _check_flags(data.dtype)

        def element(index: tuple[PrimExpr, ...], axes: tuple[te.ReduceAxis, ...], place: PrimExpr) -> PrimExpr:
            return body(data[index], axes) if axes else data[index]

        return te.compute(out.shape, reduced_element(attrs, data, element), f"T_{name}")

    return OpDef(
        relay=name,
        doc=doc,
        source=SOURCE,
        inputs=("data",),
        attrs=ReduceAttrs,
        infer=reduce_type,
        numpy=numpy,
        compute=compute,
        relax=relax or reduce_relax(name),
        layout=layout_rules.reduction,
        fusion=Fusion(OpPattern.COMM_REDUCE),
        precision=precision,
    )


_PARAMS = "x, axis=None, keepdims=False"


def in_relax(record: OpDef, *limits: Limit) -> OpDef:
    """Return the record of Relax's reduction of the same name."""
    return OpDef(
        doc=record.doc,
        source="TVM 0.27 src/relax/op/tensor/statistical.cc",
        inputs=("x",),
        attrs=RelaxReduceAttrs,
        infer=reduce_type,
        numpy=record.numpy,
        compute=record.compute,
        relax=SameOp(),
        script=Script(record.name, _PARAMS, limits=limits, spread=Spread.REDUCTION),
    )


def _check_flags(dtype: str) -> None:
    if dtype != "bool":
        raise OpError(mistake(operators.DTYPE, what="the data", dtype=dtype, expected="bool"), 0)


def _any(element: PrimExpr, axes: tuple[te.ReduceAxis, ...]) -> te.Reduce:
    return te.Reduce(lambda x, y: (binary("or", x[0], y[0]),), (const(0, "bool"),), (element,), axes)


def _all(element: PrimExpr, axes: tuple[te.ReduceAxis, ...]) -> te.Reduce:
    return te.Reduce(lambda x, y: (binary("and", x[0], y[0]),), (const(1, "bool"),), (element,), axes)


def _sum_element(element: PrimExpr, axes: tuple[te.ReduceAxis, ...]) -> te.Reduce:
    return _any(element, axes) if element.dtype == "bool" else te.sum(element, axes)


def _prod_element(element: PrimExpr, axes: tuple[te.ReduceAxis, ...]) -> te.Reduce:
    return _all(element, axes) if element.dtype == "bool" else te.prod(element, axes)


def _max_element(element: PrimExpr, axes: tuple[te.ReduceAxis, ...]) -> te.Reduce:
    return _any(element, axes) if element.dtype == "bool" else te.max(element, axes)


def _min_element(element: PrimExpr, axes: tuple[te.ReduceAxis, ...]) -> te.Reduce:
    return _all(element, axes) if element.dtype == "bool" else te.min(element, axes)


def _sum(data: Array, axes: tuple[int, ...], keepdims: bool) -> Any:
    return np.sum(data, axis=axes, dtype=data.dtype, keepdims=keepdims)


def _prod(data: Numbers, axes: tuple[int, ...], keepdims: bool) -> Numbers:
    return np.asarray(np.prod(data, axis=axes, dtype=data.dtype, keepdims=keepdims))


def _limit(value: PrimExpr, dtype: np.dtype[Any]) -> Any:
    return np.asarray(value.value, dtype)[()]  # type: ignore[attr-defined]


def extreme(function: np.ufunc, data: Array, axes: tuple[int, ...], keepdims: bool = False, initial: Any = None) -> Any:
    """Return the largest (``fmax``) or smallest (``fmin``) elements along ``axes`` as comparing one
    by one finds them.

    ``a > b ? a : b`` forgets a NaN as soon as a number follows: only the last element can leave
    one.
    """
    found = function.reduce(data, axis=axes, keepdims=keepdims, initial=initial)
    if not is_float(of_array(data)) or any(data.shape[axis] == 0 for axis in axes):
        return np.asarray(found)
    last = data[tuple(slice(-1, None) if axis in axes else slice(None) for axis in range(data.ndim))]
    last = last if keepdims else np.squeeze(last, axes)
    return np.where(np.isnan(last), last, found)


def _max(data: Array, axes: tuple[int, ...], keepdims: bool) -> Numbers:
    # The identity of the reduction is the lowest finite number, as in TVM.
    return np.asarray(extreme(np.fmax, data, axes, keepdims, _limit(min_value(of_array(data)), data.dtype)))


def _min(data: Array, axes: tuple[int, ...], keepdims: bool) -> Numbers:
    return np.asarray(extreme(np.fmin, data, axes, keepdims, _limit(max_value(of_array(data)), data.dtype)))


# Mean


def _largest(dtype: str) -> int:
    """Return the largest number of elements that a mean of ``dtype`` can be divided by."""
    largest = max_value(dtype)
    return min(largest.value, _MOST_ELEMENTS) if isinstance(largest, IntImm) else _MOST_ELEMENTS


def _may_exceed(count: Extent, dtype: str) -> bool:
    """Whether integers of ``dtype`` may not reach to ``count``, which only a run tells."""
    return static(count) is None and _largest(dtype) < _MOST_ELEMENTS


def _counted(count: int, dtype: str) -> int:
    """Return the divisor ``count``; raises OpError where integers of ``dtype`` do not reach so far,
    as in TVM.
    """
    if count > _largest(dtype):
        raise OpError(
            f"the mean of {count} elements needs that number, which {dtype} cannot hold", 0, kind=operators.SHAPE
        )
    return count


def mean_type(attrs: ReduceAttrs | RelaxReduceAttrs, data: Type) -> Type:
    """Return the type of the mean; of open extents it asks that the dtype holds their number."""
    found, result = tensor(data), reduce_type(attrs, data)
    count = product(found.shape[axis] for axis in reduced_axes(attrs, found.rank))
    if _may_exceed(count, found.dtype) and not is_any(count):
        ask(binary("<=", as_prim(count), as_prim(_largest(found.dtype))))
    return result


def mean_numpy(attrs: ReduceAttrs | RelaxReduceAttrs, data: Numbers) -> Array:
    """Return the sum divided by the count.

    Integers divide towards zero, half precision sums in float32.
    """
    axes = reduced_axes(attrs, data.ndim)
    with np.errstate(all="ignore"):
        if is_float(of_array(data)):
            wide = data.dtype if data.dtype.itemsize > 2 else np.dtype(np.float32)
            # numpy's own mean warns where there is nothing to count.
            whole = np.sum(data, axis=axes, dtype=wide, keepdims=attrs.keepdims)
            return np.asarray(whole / wide.type(math.prod(data.shape[axis] for axis in axes)), data.dtype)
        total = np.sum(data, axis=axes, dtype=data.dtype, keepdims=attrs.keepdims)
        count = data.dtype.type(_counted(math.prod(data.shape[axis] for axis in axes), of_array(data)))
        return np.asarray((total - np.fmod(total, count)) // count, data.dtype)


def mean_compute(attrs: ReduceAttrs | RelaxReduceAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return the sum, then its quotient by the count."""
    axes = reduced_axes(attrs, data.rank)
    if not axes:
        return data
    wide = "float32" if data.dtype in ("float16", "bfloat16") else data.dtype
    element = reduced_element(attrs, data, lambda index, loops, place: te.sum(cast(wide, data[index]), loops))
    total = te.compute(out.shape, element, "T_mean_sum")
    extent = as_prim(product(data.shape[axis] for axis in axes))
    count = cast(wide, IntImm(_counted(extent.value, wide)) if isinstance(extent, IntImm) else extent)
    return te.compute(
        out.shape,
        lambda *i: cast(out.dtype, binary("/" if is_float(wide) else "truncdiv", total[i], count)),
        name="T_mean",
    )


def mean_relax(e: Emit[V], attrs: ReduceAttrs, data: V) -> V:
    """R.mean of integers would give int64: the sum is divided by a constant instead."""
    found = tensor(e.type_of(data))
    axes = reduced_axes(attrs, found.rank)
    if not axes:
        return data
    count = product(found.shape[axis] for axis in axes)
    if found.dtype in ("float16", "bfloat16"):
        # R.mean would add up in half precision.
        wide = e.call("astype", data, dtype="float32")
        return e.call("astype", e.call("mean", wide, axis=axes, keepdims=attrs.keepdims), dtype=found.dtype)
    if is_float(found.dtype):
        return e.call("mean", data, axis=axes, keepdims=attrs.keepdims)
    if _may_exceed(count, found.dtype):
        return e.as_tir(mean, attrs, (data,), f"the number of elements may be more than {found.dtype} holds")
    total = e.call("sum", data, axis=axes, keepdims=attrs.keepdims)
    return e.call("divide", total, extent_value(e, count, found.dtype))


# all, any


def flag_relax(name: str) -> Expanded:
    """Relax cannot reduce bool: as int32, ``all`` is the minimum and ``any`` the maximum."""

    def expand(e: Emit[V], attrs: ReduceAttrs, data: V) -> V:
        axes = _relax_axes(e, attrs, data)
        if not axes:
            return data
        _check_flags(tensor(e.type_of(data)).dtype)
        numbers = e.call("astype", data, dtype="int32")
        extents = tensor(e.type_of(data)).shape
        # The greatest of nothing is the least of int32, which is not 0.
        none = name == "max" and any(static(extents[axis]) == 0 for axis in axes)
        found = e.call("sum" if none else name, numbers, axis=tuple(axes), keepdims=attrs.keepdims)
        return e.call("astype", found, dtype="bool")

    return Expanded(expand)


def extremum_relax(name: str) -> Expanded:
    """R.max and R.min cannot be compiled for bool."""
    regular, flags = reduce_relax(name), flag_relax(name)

    def expand(e: Emit[V], attrs: ReduceAttrs, data: V) -> V:
        form = flags if tensor(e.type_of(data)).dtype == "bool" else regular
        return form.expand(e, attrs, data)

    return Expanded(expand)


# argmax, argmin


def arg_type(attrs: ArgReduceAttrs, data: Type) -> Type:
    """Return the reduced shape with dtype int32, or int64 where Relay writes the extents as
    int64.
    """
    found = tensor(data)
    if not found.shape:
        raise OpError("a tensor of rank 0 has no axis to search", 0, kind=operators.RANK)
    wide = isinstance(found.shape[0], IntImm) and found.shape[0].dtype == "int64"
    shape = reduced_shape(found.shape, reduced_axes(attrs, found.rank), attrs.keepdims)
    return TensorType(shape, "int64" if wide else "int32")


def relax_arg_type(attrs: RelaxArgReduceAttrs, data: Type) -> Type:
    """Return the reduced shape with dtype int64."""
    found = tensor(data)
    shape = reduced_shape(found.shape, reduced_axes(attrs, found.rank), attrs.keepdims)
    return TensorType(shape, "int64")


def _require_elements(name: str, attrs: ArgReduceAttrs | RelaxArgReduceAttrs, data: Type) -> None:
    """See that there is an element to be found, which TVM's inference does not ask for; raises
    OpError for axes without any.
    """
    found = tensor(data)
    for axis in reduced_axes(attrs, found.rank):
        extent = found.shape[axis]
        if static(extent) == 0:
            raise OpError(f"{name} finds no element along axis {axis}, whose extent is 0", 0, kind=operators.SHAPE)
        if is_symbolic(extent):
            ask(binary("!=", as_prim(extent), 0))


def _arg_numpy(
    attrs: ArgReduceAttrs | RelaxArgReduceAttrs, data: Array, largest: bool, dtype: type[np.generic]
) -> Array:
    axes = reduced_axes(attrs, data.ndim)
    kept = tuple(axis for axis in range(data.ndim) if axis not in axes)
    # The place of an element is counted over all reduced axes together.
    count = math.prod(data.shape[axis] for axis in axes)
    rows = np.transpose(data, kept + axes).reshape(*(data.shape[axis] for axis in kept), count)
    if is_float(of_array(data)):
        # NaN never wins.
        rows = np.where(np.isnan(rows), data.dtype.type(-np.inf if largest else np.inf), rows)
    last = getattr(attrs, "select_last_index", False)
    if last:
        rows = rows[..., ::-1]
    found = np.asarray((np.argmax if largest else np.argmin)(rows, axis=-1))
    if last:
        found = rows.shape[-1] - 1 - found
    return np.asarray(found, dtype).reshape(reduced_shape(data.shape, axes, attrs.keepdims))


def _arg_compute(attrs: Any, out: TensorType, data: te.Tensor, largest: bool) -> te.Tensor:
    last = getattr(attrs, "select_last_index", False)
    # TVM of today cannot reduce pairs that hold a bfloat16.
    dtype = "float32" if data.dtype == "bfloat16" else data.dtype
    if is_float(dtype):
        # The infinity that every other number beats.
        edge = const(float("-inf" if largest else "inf"), dtype)
    else:
        edge = min_value(dtype) if largest else max_value(dtype)

    def combine(x: Sequence[PrimExpr], y: Sequence[PrimExpr]) -> tuple[PrimExpr, PrimExpr]:
        better = y[1] > x[1] if largest else y[1] < x[1]
        tie = logical_and(y[1].equal(x[1]), y[0] > x[0] if last else y[0] < x[0])
        take = binary("or", better, tie)
        return Select(take, y[0], x[0]), Select(take, y[1], x[1])

    def element(index: tuple[PrimExpr, ...], axes: tuple[te.ReduceAxis, ...], place: PrimExpr) -> te.Reduce:
        sources = (cast(out.dtype, place), cast(dtype, data[index]))
        return te.Reduce(combine, (const(0, out.dtype), edge), sources, axes)

    name = "T_argmax" if largest else "T_argmin"
    if not reduced_axes(attrs, data.rank):
        return te.compute(out.shape, lambda *i: const(0, out.dtype), name=name)
    indices, _ = te.compute_several(out.shape, reduced_element(attrs, data, element), f"{name}_search")
    return te.compute(out.shape, lambda *i: indices[i], name=name)


def arg_relax(name: str, largest: bool) -> Expanded:
    """R searches one axis, finds the first, and answers in int64.

    The rest is arranged around it.
    """

    def expand(e: Emit[V], attrs: ArgReduceAttrs, data: V) -> V:
        found = tensor(e.type_of(data))
        out = tensor(arg_type(attrs, found))
        axes = reduced_axes(attrs, found.rank)
        kept = tuple(axis for axis in range(found.rank) if axis not in axes)
        if not axes:
            return e.call("astype", e.call("zeros_like", data), dtype=out.dtype)
        axis = axes[0]
        extent = product(found.shape[a] for a in axes)
        flat = len(axes) > 1
        if flat:
            # Several axes: side by side at the end, then as one.
            if kept + axes != tuple(range(found.rank)):
                data = e.call("permute_dims", data, axes=kept + axes)
            shape = (*(found.shape[a] for a in kept), extent)
            data, axis = e.call("reshape", data, e.shape(shape)), len(kept)
        if attrs.select_last_index:
            data = e.call("flip", data, axis=axis)
        index = e.call("astype", e.call(name, data, axis=axis, keepdims=attrs.keepdims and not flat), dtype=out.dtype)
        if attrs.select_last_index:
            index = e.call("subtract", extent_value(e, sub(extent, 1), out.dtype), index)
        return e.call("reshape", index, e.shape(out.shape)) if flat and attrs.keepdims else index

    return Expanded(expand)


def arg_records(name: str, largest: bool, doc: str) -> tuple[OpDef, OpDef]:
    """Return Relay's operator and Relax's, which differ in attributes and result dtype."""

    def infer(attrs: ArgReduceAttrs, data: Type) -> Type:
        """Return the reduced shape with dtype int32, or int64 where Relay writes the extents as
        int64; an axis of extent 0 is refused.
        """
        _require_elements(name, attrs, data)
        return arg_type(attrs, data)

    def relax_infer(attrs: RelaxArgReduceAttrs, data: Type) -> Type:
        """Return the reduced shape with dtype int64; an axis of extent 0 is refused."""
        _require_elements(name, attrs, data)
        return relax_arg_type(attrs, data)

    def numpy(attrs: ArgReduceAttrs, data: Array) -> Array:
        return _arg_numpy(attrs, data, largest, np.int32)

    def relax_numpy(attrs: RelaxArgReduceAttrs, data: Array) -> Array:
        return _arg_numpy(attrs, data, largest, np.int64)

    def compute(
        attrs: ArgReduceAttrs | ReduceAttrs | RelaxArgReduceAttrs, out: TensorType, data: te.Tensor
    ) -> te.Tensor:
        return _arg_compute(attrs, out, data, largest)

    in_relay = OpDef(
        relay=name,
        doc=f"{doc} (int32), the first of equal ones unless select_last_index; NaN never wins.",
        source=SOURCE,
        inputs=("data",),
        attrs=ArgReduceAttrs,
        infer=infer,
        relay_type=arg_type,
        numpy=numpy,
        compute=compute,
        relax=arg_relax(name, largest),
        layout=layout_rules.reduction,
        fusion=Fusion(OpPattern.COMM_REDUCE),
        precision=Precision.FOLLOW,
    )
    in_relax = OpDef(
        doc=f"{doc} (int64), the first of equal ones.",
        source="TVM 0.27 src/relax/op/tensor/search.cc",
        inputs=("x",),
        attrs=RelaxArgReduceAttrs,
        infer=relax_infer,
        relax_type=relax_arg_type,
        numpy=relax_numpy,
        compute=compute,
        relax=SameOp(),
        script=Script(name, _PARAMS, limits=(NO_BFLOAT16, NO_BOOL)),
    )
    return in_relay, in_relax


# Variance


def variance_type(attrs: VarianceAttrs, data: Type, mean: Type) -> Type:
    """Return the reduced shape with the dtype of ``data``."""
    found, center = tensor(data), tensor(mean, 1)
    if center.rank != found.rank:
        raise OpError(
            mistake(
                operators.RANK,
                what="the mean",
                rank=center.rank,
                expected=f"{found.rank}, as the data has: reduced axes are kept as 1",
            ),
            1,
        )
    return TensorType(reduced_shape(found.shape, reduced_axes(attrs, found.rank), attrs.keepdims), found.dtype)


def variance_numpy(attrs: VarianceAttrs, data: Numbers, mean: Numbers) -> Array:
    """Return the mean of the squared distances from ``mean``."""
    axes = reduced_axes(attrs, data.ndim)
    count = int(np.prod([data.shape[axis] for axis in axes])) - int(attrs.unbiased)
    with np.errstate(all="ignore"):
        total = np.sum(np.square(data - mean), axis=axes, dtype=data.dtype, keepdims=attrs.keepdims)
        return np.asarray(total / data.dtype.type(count), data.dtype)


def variance_compute(attrs: VarianceAttrs, out: TensorType, data: te.Tensor, mean: te.Tensor) -> te.Tensor:
    """Return the sum of squared distances, then its quotient by the count."""

    def element(index: tuple[PrimExpr, ...], axes: tuple[te.ReduceAxis, ...], place: PrimExpr) -> PrimExpr:
        distance = data[index] - mean[operand_indices(mean.shape, data.shape, index)]
        return te.sum(distance * distance, axes) if axes else distance * distance

    total = te.compute(out.shape, reduced_element(attrs, data, element), "T_variance_sum")
    number = product(data.shape[axis] for axis in reduced_axes(attrs, data.rank))
    count = cast(data.dtype, as_prim(number) - int(attrs.unbiased))
    return te.compute(out.shape, lambda *i: binary("/", total[i], count), name="T_variance")


def variance_relax(e: Emit[V], attrs: VarianceAttrs, data: V, mean: V) -> V:
    """The mean of the squared distances: R.variance would compute another mean."""
    found = tensor(e.type_of(data))
    axes = reduced_axes(attrs, found.rank)
    distance = e.call("subtract", data, mean)
    square = e.call("multiply", distance, distance)
    if not axes:
        return square
    if not attrs.unbiased:
        return e.call("mean", square, axis=axes, keepdims=attrs.keepdims)
    count = product(found.shape[axis] for axis in axes)
    total = e.call("sum", square, axis=axes, keepdims=attrs.keepdims)
    return e.call("divide", total, extent_value(e, sub(count, 1), found.dtype))


mean = OpDef(
    relay="mean",
    doc="The sum divided by the count; integers divide towards zero, half precision is added up in float32.",
    source=SOURCE,
    inputs=("data",),
    attrs=ReduceAttrs,
    infer=mean_type,
    numpy=mean_numpy,
    compute=mean_compute,
    relax=Expanded(mean_relax),
    layout=layout_rules.reduction,
    fusion=Fusion(OpPattern.COMM_REDUCE),
    precision=Precision.NEVER,
)

variance = OpDef(
    relay="variance",
    doc="The mean of the squared distances from the second input, which keeps the reduced axes as 1.",
    source=SOURCE,
    inputs=("data", "mean"),
    attrs=VarianceAttrs,
    infer=variance_type,
    numpy=variance_numpy,
    compute=variance_compute,
    relax=Expanded(variance_relax),
    layout=layout_rules.reduction,
    fusion=Fusion(OpPattern.COMM_REDUCE),
    precision=Precision.NEVER,
)

_sum_record = reducer("sum", _sum, _sum_element, "The sum; whether any is true on bool.", precision=Precision.NEVER)
_prod_record = reducer("prod", _prod, _prod_element, "The product; whether all are true on bool.")
_max_record = reducer("max", _max, _max_element, "The largest.", extremum_relax("max"), precision=Precision.FOLLOW)
_min_record = reducer("min", _min, _min_element, "The smallest.", extremum_relax("min"), precision=Precision.FOLLOW)
OPS = (
    _sum_record,
    _prod_record,
    _max_record,
    _min_record,
    mean,
    in_relax(_sum_record),
    in_relax(_prod_record),
    in_relax(_max_record, NO_BOOL),
    in_relax(_min_record, NO_BOOL),
    in_relax(mean, ONLY_FLOAT_MEANS),
    reducer("all", lambda x, axes, keep: np.all(x, axis=axes, keepdims=keep), _all, "Whether all are true.",
            flag_relax("min"), flags=True),
    reducer("any", lambda x, axes, keep: np.any(x, axis=axes, keepdims=keep), _any, "Whether one is true.",
            flag_relax("max"), flags=True),
    variance,
    *arg_records("argmax", True, "The place of the largest element"),
    *arg_records("argmin", False, "The place of the smallest element"),
)  # fmt: skip
