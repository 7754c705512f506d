"""Updates put to places that a tensor names.

The places are called ``indices``. ``scatter_elements`` counts a negative place from the end; an
update whose place lies outside is left out, where TVM writes to memory that is not the tensor's.
Updates of one place are applied one after the other, in the order of the indices. Source of the
semantics: TVM 0.18, ``python/tvm/topi/scatter_elements.py`` and ``scatter.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from relay2relax.core.dtype import Array, Numbers, is_float, of_array
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.conversion import convert, convert_element
from relay2relax.ops.common.limits import NO_BOOL, shapes_of
from relay2relax.ops.common.places import LEFT_OUT
from relay2relax.ops.common.shapes import ask_equal, normal_axis, tensor
from relay2relax.ops.common.stmt_builders import nested
from relay2relax.ops.registry.attributes import Integer, String
from relay2relax.ops.registry.precision import Precision
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, SameOp, V
from relay2relax.ops.registry.script import Limit, Script
from relay2relax.ops.registry.types import TensorType, Type, show
from relay2relax.ops.tensor.gather import (
    check_coordinates,
    columns_last,
    coordinate_place,
    integer_places,
    open_grid,
    signed_places,
)
from relay2relax.tir import te
from relay2relax.tir.extent import Extent, Shape, equal, static
from relay2relax.tir.ir.expr import (
    Buffer,
    PrimExpr,
    Select,
    Var,
    binary,
    cast,
    const,
    logical_and,
)
from relay2relax.tir.ir.stmt import BufferStore, For, If, Let, Seq, Stmt

RELAX_SOURCE = "TVM 0.27 src/relax/op/tensor/manipulate.cc"
Update: TypeAlias = Callable[[PrimExpr, PrimExpr], PrimExpr]


@dataclass(frozen=True, slots=True)
class ScatterElementsAttrs:
    """The axis that is indexed, and how an update meets what is there."""

    axis: Integer = 0
    reduction: String = "update"


@dataclass(frozen=True, slots=True)
class ScatterNDAttrs:
    """How an update meets what is there."""

    mode: String = "update"


@dataclass(frozen=True, slots=True)
class RelaxScatterNDAttrs:
    """How an update meets what is there."""

    reduction: String = "update"


def _quotient(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return binary("/" if is_float(a.dtype) else "truncdiv", a, b)


_UPDATES: dict[str, Update] = {
    "update": lambda old, new: new,
    "add": lambda old, new: binary("or", old, new) if old.dtype == "bool" else old + new,
    "mul": lambda old, new: binary("and", old, new) if old.dtype == "bool" else old * new,
    "mean": lambda old, new: _quotient(old + new, const(2, old.dtype)),
    "min": lambda old, new: Select(old < new, old, new),
    "max": lambda old, new: Select(old > new, old, new),
}
_FUNCTIONS: dict[str, np.ufunc] = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def _known(mode: str, allowed: Sequence[str]) -> str:
    if mode not in allowed:
        raise OpError(
            mistake(
                operators.ATTRIBUTE,
                name="the way to update",
                value=repr(mode),
                expected=f"one of {', '.join(map(repr, allowed))}",
            )
        )
    return mode


def _scattered(data: Type, indices: Type, updates: Type) -> tuple[TensorType, TensorType, TensorType]:
    return tensor(data), integer_places(indices, 1), tensor(updates, 2)


def _put(result: Numbers, where: tuple[Numbers, ...], values: Array, mode: str) -> None:
    """Combine ``values`` into ``result`` at ``where``, one after the other where a place is met
    again.
    """
    with np.errstate(all="ignore"):
        if mode == "update":
            result[where] = values
        elif mode in _FUNCTIONS:
            _FUNCTIONS[mode].at(result, where, values)
        else:
            _put_means(result, where, values)


def _put_means(result: Numbers, where: tuple[Numbers, ...], values: Numbers) -> None:
    shape = np.broadcast_shapes(*(one.shape for one in where))
    flat = np.ravel_multi_index([np.broadcast_to(one, shape) for one in where], result.shape).reshape(-1)
    new = values.reshape(-1)
    order = np.argsort(flat, kind="stable")
    starts = np.flatnonzero(np.diff(flat[order], prepend=-1))
    turn = np.empty(flat.size, np.int64)
    # How often the place was met before.
    turn[order] = np.arange(flat.size) - np.repeat(starts, np.diff(starts, append=flat.size))
    target = result.reshape(-1)
    for number in range(int(turn.max(initial=-1)) + 1):
        chosen = turn == number
        total = target[flat[chosen]] + new[chosen]
        half = total / total.dtype.type(2) if is_float(of_array(total)) else (total - np.fmod(total, 2)) // 2
        target[flat[chosen]] = half


def _filled(sources: Sequence[Buffer], target: Buffer) -> Stmt:
    """Return the loops that copy the first source to ``target``."""
    loops = [Var(f"c{d}") for d in range(len(target.shape))]
    place: tuple[PrimExpr, ...] = tuple(loops)
    return nested(loops, target.shape, BufferStore(target, place, sources[0][place]))


def scatter_elements_type(attrs: ScatterElementsAttrs, data: Type, indices: Type, updates: Type) -> Type:
    """Return the type of ``data``."""
    found, places, values = _scattered(data, indices, updates)
    _known(attrs.reduction, tuple(_UPDATES))
    normal_axis(attrs.axis, found.rank)
    if places.rank != found.rank or values.rank != found.rank:
        raise OpError(
            f"data, indices and updates have ranks {found.rank}, {places.rank} and {values.rank}",
            1,
            kind=operators.RANK,
        )
    return found


def scatter_elements_relay_type(attrs: ScatterElementsAttrs, data: Type, indices: Type, updates: Type) -> Type:
    """Return the type of ``data``; TVM's inference looks at nothing but the indices' element
    type.
    """
    found, _, _ = _scattered(data, indices, updates)
    return found


def scatter_elements_relax_type(attrs: ScatterElementsAttrs, data: Type, indices: Type, updates: Type) -> Type:
    """Return the type of ``data``; in Relax there is one update for each index, of the data's
    element type.
    """
    found, places, values = tensor(data), tensor(indices, 1), tensor(updates, 2)
    if values.dtype != found.dtype:
        raise OpError(
            mistake(
                operators.DTYPE,
                what="the tensor of updates",
                dtype=values.dtype,
                expected=f"{found.dtype}, as the data has",
            ),
            2,
        )
    result = scatter_elements_type(attrs, data, indices, updates)
    if any(equal(a, b) is False for a, b in zip(places.shape, values.shape, strict=True)):
        raise OpError(
            f"updates of shape {show(values.shape)} do not fit indices of {show(places.shape)}", 2, kind=operators.SHAPE
        )
    return result


def scatter_elements_numpy(attrs: ScatterElementsAttrs, data: Array, indices: Array, updates: Array) -> Array:
    """Return the data with each update put to the place that its index names, in the line it lies
    in.
    """
    axis = normal_axis(attrs.axis, data.ndim)
    extent = data.shape[axis]
    places = indices.astype(np.int64)
    places = np.where(places < 0, places + extent, places)
    lines = np.broadcast_arrays(*open_grid(indices.shape, indices.ndim))
    grid = [*lines[:axis], places, *lines[axis + 1 :]]
    inside = (places >= 0) & (places < extent)
    result = np.array(data)
    # Updates beyond the indices are not used.
    updates = updates[tuple(slice(n) for n in indices.shape)]
    if updates.shape != indices.shape:
        raise OpError(
            f"updates of shape {show(updates.shape)} do not cover indices of {show(indices.shape)}",
            2,
            kind=operators.SHAPE,
        )
    _put(result, tuple(one[inside] for one in grid), convert(updates[inside], of_array(data)), attrs.reduction)
    return result


def scatter_elements_compute(
    attrs: ScatterElementsAttrs, out: TensorType, data: te.Tensor, indices: te.Tensor, updates: te.Tensor
) -> te.Tensor:
    """Return a copy of the data, then the updates, line by line along the axis."""
    axis = normal_axis(attrs.axis, data.rank)
    update = _UPDATES[attrs.reduction]

    def build(sources: Sequence[Buffer], targets: Sequence[Buffer]) -> Stmt:
        _, places, values = sources
        target = targets[0]
        extent = target.shape[axis]
        loops = [Var(f"i{d}") for d in range(len(places.shape))]
        here: tuple[PrimExpr, ...] = tuple(loops)
        given, place = Var("given"), Var("place")
        at = (*here[:axis], place, *here[axis + 1 :])
        store: Stmt = BufferStore(target, at, update(target[at], convert_element(values[here], out.dtype)))
        inside = logical_and(place >= 0, place < extent)
        body: Stmt = Let(place, Select(given < 0, given + extent, given), If(inside, store))
        body = For(loops[axis], places.shape[axis], Let(given, cast("int64", places[here]), body))
        outer = [d for d in range(len(loops)) if d != axis]
        body = nested([loops[d] for d in outer], [places.shape[d] for d in outer], body)
        return Seq((_filled(sources, target), body))

    return te.extern([out.shape], [out.dtype], [data, indices, updates], build, name="T_scatter_elements")[0]


def _scatter_nd_type(found: TensorType, count: Extent, lines: Shape, values: TensorType) -> Type:
    known = static(count)
    if known is None:
        # The dimensions of the updates say how many the places leave over.
        known = found.rank - (values.rank - len(lines))
        ask_equal(count, known)
    if not 0 <= known <= found.rank:
        raise OpError(f"{known} coordinates do not fit data of rank {found.rank}", 1, kind=operators.RANK)
    want = (*lines, *found.shape[known:])
    # TVM looks at as many dimensions of the updates as it needs; values and kernels refuse further
    # ones.
    if len(want) > values.rank or any(equal(a, b) is False for a, b in zip(want, values.shape, strict=False)):
        raise OpError(
            f"the updates have shape {show(values.shape)}; the indices ask for {show(want)}", 2, kind=operators.SHAPE
        )
    return found


def scatter_nd_type(attrs: ScatterNDAttrs, data: Type, indices: Type, updates: Type) -> Type:
    """Return the type of ``data``; the first extent of ``indices`` is the number of coordinates."""
    found, places, values = _scattered(data, indices, updates)
    _known(attrs.mode, _ND_MODES)
    check_coordinates(places)
    return _scatter_nd_type(found, places.shape[0], places.shape[1:], values)


def scatter_nd_relay_type(attrs: ScatterNDAttrs, data: Type, indices: Type, updates: Type) -> Type:
    """Return the type of ``data``; TVM counts the dimensions of the updates and does not look at
    their extents.
    """
    found, places, values = _scattered(data, indices, updates)
    count = static(places.shape[0]) if places.rank else None
    if count is None or not 0 <= count <= found.rank or values.rank < places.rank - 1 + found.rank - count:
        return scatter_nd_type(attrs, data, indices, updates)
    return found


def relax_scatter_nd_type(attrs: RelaxScatterNDAttrs, data: Type, indices: Type, updates: Type) -> Type:
    """Return the type of ``data``; the last extent of ``indices`` is the number of coordinates."""
    found, places, values = _scattered(data, indices, updates)
    _known(attrs.reduction, _ND_MODES)
    check_coordinates(places)
    return _scatter_nd_type(found, places.shape[-1], places.shape[:-1], values)


_ND_MODES = ("update", "add", "mul", "min", "max")


def _nd_form(attrs: Any) -> tuple[str, bool]:
    """Return the mode, and whether the coordinates of a place lie along the first axis."""
    return (attrs.mode, True) if isinstance(attrs, ScatterNDAttrs) else (attrs.reduction, False)


def _check_updates(count: Extent, lines: int, data_rank: int, updates_rank: int) -> None:
    known = static(count)
    if known is not None and updates_rank != lines + data_rank - known:
        raise OpError(
            f"updates of rank {updates_rank} do not fit {known} coordinates in a tensor of rank {data_rank}",
            2,
            kind=operators.RANK,
        )


def scatter_nd_numpy(attrs: RelaxScatterNDAttrs | ScatterNDAttrs, data: Array, indices: Array, updates: Array) -> Array:
    """Return the data with each update, an element or a slice, put to the place that a column of
    indices names.
    """
    mode, first = _nd_form(attrs)
    rows = indices if first else np.moveaxis(indices, -1, 0)
    rows = rows.astype(np.int64)
    count = rows.shape[0]
    _check_updates(count, rows.ndim - 1, data.ndim, updates.ndim)
    result = np.array(data)
    if not count:
        for one in updates.reshape(-1, *data.shape):
            _put(result, (np.asarray(...),) if data.ndim else (), convert(one, of_array(data)), mode)
        return result
    inside = np.ones(rows.shape[1:], np.bool_)
    for row, extent in zip(rows, data.shape[:count], strict=True):
        inside &= (row >= 0) & (row < extent)
    _put(result, tuple(row[inside] for row in rows), convert(updates[inside], of_array(data)), mode)
    return result


def scatter_nd_compute(
    attrs: RelaxScatterNDAttrs | ScatterNDAttrs,
    out: TensorType,
    data: te.Tensor,
    indices: te.Tensor,
    updates: te.Tensor,
) -> te.Tensor:
    """Return a copy of the data, then the updates, place by place."""
    mode, first = _nd_form(attrs)
    update = _UPDATES[mode]
    lines = indices.rank - 1
    count = data.rank - (updates.rank - lines)
    _check_updates(indices.shape[0 if first else -1], lines, data.rank, updates.rank)

    def build(sources: Sequence[Buffer], targets: Sequence[Buffer]) -> Stmt:
        _, places, values = sources
        target = targets[0]
        loops = [Var(f"i{d}") for d in range(len(values.shape))]
        here: tuple[PrimExpr, ...] = tuple(loops)
        line = here[:lines]
        names = [Var(f"place{m}") for m in range(count)]
        at = (*names, *here[lines:])
        store: Stmt = BufferStore(target, at, update(target[at], convert_element(values[here], out.dtype)))
        body = nested(loops[lines:], values.shape[lines:], store)
        body = If(logical_and(*(c for m, v in enumerate(names) for c in (v >= 0, v < target.shape[m]))), body)
        for m, name in reversed(list(enumerate(names))):
            body = Let(name, cast("int64", places[coordinate_place(m, line, first)]), body)
        return Seq((_filled(sources, target), nested(loops[:lines], values.shape[:lines], body)))

    return te.extern([out.shape], [out.dtype], [data, indices, updates], build, name="T_scatter_nd")[0]


def scatter_nd_relax(e: Emit[V], attrs: ScatterNDAttrs, data: V, indices: V, updates: V) -> V:
    """R.scatter_nd of places that are known to lie inside, their coordinates along the last
    axis.
    """
    target, given = tensor(e.type_of(data)), (data, indices, updates)
    if target.dtype != tensor(e.type_of(updates), 2).dtype or target.dtype == "bool":
        return e.as_tir(scatter_nd, attrs, given, "R.scatter_nd takes updates of the data's dtype, and no bool")
    places = e.constant_of(indices)
    if places is None or not _are_inside(places, target.shape):
        return e.as_tir(scatter_nd, attrs, given, "R.scatter_nd writes beside its tensor where a place is not inside")
    return e.call("scatter_nd", data, columns_last(e, indices), updates, reduction=attrs.mode)


def _are_inside(places: Array, shape: Shape) -> bool:
    """Whether every place, a column of coordinates, is known to lie inside a tensor of
    ``shape``.
    """
    if not places.size:
        return True
    extents = [static(extent) for extent in shape[: len(places)]]
    return all(
        extent is not None and row.min() >= 0 and row.max() < extent
        for row, extent in zip(places, extents, strict=True)
    )


def scatter_elements_relax(e: Emit[V], attrs: ScatterElementsAttrs, data: V, indices: V, updates: V) -> V:
    """R.scatter_elements takes signed places, names the axis from the front, and has no kernel for
    bool.
    """
    found = tensor(e.type_of(data))
    places, values = tensor(e.type_of(indices), 1), tensor(e.type_of(updates), 2)
    types = found.dtype, values.dtype
    same = all(equal(a, b) for a, b in zip(places.shape, values.shape, strict=True))
    # R wants exactly one update for each place.
    if types[0] != types[1] or "bool" in types or not same:
        return e.as_tir(
            scatter_elements,
            attrs,
            (data, indices, updates),
            "R.scatter_elements takes one update of the data's dtype for each place, and no bool",
        )
    axis = normal_axis(attrs.axis, found.rank)
    return e.call("scatter_elements", data, signed_places(e, indices), updates, axis=axis, reduction=attrs.reduction)


# Records

scatter_elements = OpDef(
    relay="scatter_elements",
    doc="The data with each update put to the place that its index names along an axis, in the line it lies in.",
    source="TVM 0.18 python/tvm/topi/scatter_elements.py",
    inputs=("data", "indices", "updates"),
    attrs=ScatterElementsAttrs,
    infer=scatter_elements_type,
    on_bad_values=LEFT_OUT,
    relax_type=scatter_elements_relax_type,
    relay_type=scatter_elements_relay_type,
    numpy=scatter_elements_numpy,
    compute=scatter_elements_compute,
    relax=Expanded(scatter_elements_relax),
    script=Script("scatter_elements", "data, indices, updates, axis=0, reduction='update'", limits=(NO_BOOL,)),
    declares_attrs=False,
    precision=Precision.FOLLOW,
)

scatter_nd = OpDef(
    relay="scatter_nd",
    doc="The data with updates put to places whose coordinates lie along the first axis of the indices.",
    source="TVM 0.18 python/tvm/topi/scatter.py",
    inputs=("data", "indices", "updates"),
    attrs=ScatterNDAttrs,
    infer=scatter_nd_type,
    on_bad_values=LEFT_OUT,
    relay_type=scatter_nd_relay_type,
    numpy=scatter_nd_numpy,
    compute=scatter_nd_compute,
    relax=Expanded(scatter_nd_relax),
    declares_attrs=False,
    precision=Precision.FOLLOW,
)


def _updates_fit(data: Shape, indices: Shape, updates: Shape) -> bool:
    """Whether the updates are proved to be one slice of the data for each place."""
    depth = static(indices[-1])
    wanted = (*indices[:-1], *data[depth:]) if depth is not None else ()
    return len(wanted) == len(updates) and all(equal(a, b) is True for a, b in zip(wanted, updates, strict=True))


_OPEN_UPDATES = Limit(
    "apache-tvm wants to prove the shape of the updates", lambda attrs, types: not _updates_fit(*shapes_of(types))
)


relax_scatter_nd = OpDef(
    doc="The data with updates put to places whose coordinates lie along the last axis of the indices.",
    source=RELAX_SOURCE,
    inputs=("data", "indices", "updates"),
    attrs=RelaxScatterNDAttrs,
    infer=relax_scatter_nd_type,
    on_bad_values=LEFT_OUT,
    numpy=scatter_nd_numpy,
    compute=scatter_nd_compute,
    relax=SameOp(),
    script=Script(
        "scatter_nd",
        "data, indices, updates, reduction='update'",
        limits=(
            NO_BOOL,
            _OPEN_UPDATES,
        ),
    ),
)

OPS = (scatter_elements, scatter_nd, relax_scatter_nd)
