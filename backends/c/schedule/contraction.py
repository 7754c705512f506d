"""The schedule of sums of products: matrix products and convolutions.

One factor is read as vectors along a spatial axis, the other as single numbers, and a tile of
accumulators stays in registers (``tiles.py``). Where no spatial axis offers neighbouring elements,
the vector factor is packed into panels first, if each of its elements is used often enough; else
the sum itself is split over the lanes (``dot.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from relay2relax.backends.c.access import coefficient
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.schedule.dot import dot_axis, run_axis, split_over_lanes, turned_factor
from relay2relax.backends.c.schedule.product import Product, can_pack, stride, vector_width
from relay2relax.backends.c.schedule.quads import byte_product
from relay2relax.backends.c.schedule.tiles import tiled
from relay2relax.backends.c.stages import Stage, points
from relay2relax.core.dtype import is_float
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import Binary, Buffer, BufferLoad, Var, const
from relay2relax.tir.ir.stmt import Stmt
from relay2relax.tir.ir.visit import loads

# Packing one element costs about as much as so many multiplications in registers.
_PACKING = 40


# A panel is packed only for factors that are used at least so often.
_LEAST_REUSE = 8


# Storing one result away from its neighbours costs about as much as so many multiplications in
# registers.
_SCATTERING = 24


def schedule_contraction(
    stage: Stage,
    machine: Machine,
    is_constant: Callable[[Buffer], bool] = lambda buffer: False,
    around: frozenset[Var] = frozenset(),
) -> list[Stmt] | None:
    """Return the stages of a sum of products of two loads, or None where the stage is something
    else.

    Packing factors for which ``is_constant`` holds costs nothing: it is done ahead. Loops over the
    axes ``around`` are the caller's, who shares their work out: the last stage has the other axes
    only.
    """
    reduction = stage.reduction
    if reduction is None or reduction.op != "+" or reduction.identity != const(0, reduction.result.dtype):
        return None
    if any(static(axis.extent) == 0 for axis in (*stage.axes, *reduction.axes)):
        return None  # Tiles are made of what there is.
    bytes_ = byte_product(stage, around)
    if bytes_ is not None:
        return tiled(*bytes_, machine, around)
    source = reduction.source
    if not isinstance(source, Binary) or source.op != "*" or not _has_tiles(source.dtype):
        return None
    if not isinstance(source.a, BufferLoad) or not isinstance(source.b, BufferLoad):
        return None
    if loads(source.a.indices[0]) or loads(source.b.indices[0]):
        return None
    found = [one for one in _candidates(stage, source.a, source.b, machine, is_constant) if one.along.var not in around]
    best = max(found, key=lambda one: one.score, default=None)
    if best is None or best.score < 0.45:
        for a, b in ((source.a, source.b), (source.b, source.a)):
            run = dot_axis(stage, a, b)
            if run is not None:
                return [split_over_lanes(stage, a, b, run, machine, around)]
            run = run_axis(stage, a, b) if is_constant(b.buffer) else None
            if run is not None:
                turned, pack = turned_factor(stage, b, run, machine)
                return [pack, split_over_lanes(stage, a, turned, run, machine, around)]
    if best is None:
        return None
    return tiled(_deepest_last(stage, best), best, machine, around)


def _has_tiles(dtype: str) -> bool:
    return is_float(dtype) or dtype == "int32"


def _deepest_last(stage: Stage, product: Product) -> Stage:
    """Return ``stage`` with its reduced axes in an order in which single numbers lie beside each
    other.
    """
    reduction = stage.reduction
    assert reduction is not None
    strides = {axis.var: stride(product.single, axis) for axis in reduction.axes}
    if not product.packed or any(stride is None for stride in strides.values()):
        return stage
    axes = sorted(reduction.axes, key=lambda axis: -abs(strides[axis.var] or 0))
    return replace(stage, reduction=replace(reduction, axes=tuple(axes)))


def _candidates(
    stage: Stage, a: BufferLoad, b: BufferLoad, machine: Machine, is_constant: Callable[[Buffer], bool]
) -> list[Product]:
    found = []
    lanes = machine.lanes(a.dtype)
    reduction = stage.reduction
    assert reduction is not None
    depth = static(points(reduction.axes)) or _SCATTERING
    for single, vector in ((a, b), (b, a)):
        for axis in stage.axes:
            extent, step = static(axis.extent), stride(vector, axis)
            if extent is None or extent < 4:
                continue
            reuse = 1
            for other in stage.axes:
                if other is not axis and stride(vector, other) == 0:
                    reuse *= static(other.extent) or 1
            constant = is_constant(vector.buffer)
            apart = 1.0 if coefficient(stage.indices[0], axis.var) == 1 else depth / (depth + _SCATTERING)
            packs = step is not None and (constant or reuse >= _LEAST_REUSE) and can_pack(stage, vector)
            cost = 0.0 if constant else _PACKING / reuse
            width = vector_width(extent, lanes)
            used = extent / (-(-extent // width) * width) * min(1.0, width / lanes) * apart
            if stride(single, axis) == 1 and step and packs:
                found.append(Product(single, vector, axis, True, used / (1 + cost), True))
            if stride(single, axis) != 0:
                continue
            if step == 1:
                found.append(Product(single, vector, axis, False, used * (0.95 if reuse > 1 else 0.5)))
            if packs and (step != 1 or constant):
                padded = -(-extent // lanes) * lanes
                found.append(Product(single, vector, axis, True, extent / padded / (1 + cost) * apart))
    return found
