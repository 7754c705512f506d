"""Products of bytes: four at a time, which is one instruction where processors have one.

Four neighbouring bytes of the reduced axis are a *quad*, an int32 in memory and in registers. The
factor that is packed has quads in its panels, of the other one a quad is read for all lanes.
"""

from __future__ import annotations

from dataclasses import replace

from relay2relax.backends.c.access import DOTS, MULTIPLY_ADD, READ, clamp_start, coefficient
from relay2relax.backends.c.fusion.bytes.forms import QUAD
from relay2relax.backends.c.schedule.loops import put
from relay2relax.backends.c.schedule.product import Product, Quads, can_pack, stride
from relay2relax.backends.c.stages import Axis, Stage
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import Binary, BufferLoad, Call, Cast, IntImm, PrimExpr, Var, binary, const


def byte_product(stage: Stage, around: frozenset[Var]) -> tuple[Stage, Product] | None:
    """Return a sum of products of bytes as tiles have it, None where the stage is none, or has no
    axis for it: its reduced axis goes in fours, or both factors have an axis of lanes.
    """
    reduction = stage.reduction
    if reduction is None or reduction.op != "+" or reduction.identity != const(0, "int32"):
        return None
    match reduction.source:
        case Binary("*", Cast("int32", BufferLoad() as single), Cast("int32", BufferLoad() as vector)) if (
            vector.dtype == "int8" and single.dtype in DOTS
        ):
            pass
        case _:
            return None
    if not can_pack(stage, vector):
        return None
    along, run = _along(stage, single, vector, around), _run(stage, single, vector)
    if along is None or run is None:
        both = _along(stage, single, vector, around, beside=1)
        return None if both is None else (stage, Product(single, vector, both, True, 1.0, paired=True))
    extent = static(run.extent) or 0
    step = Axis(Var("quad"), IntImm(-(-extent // QUAD)))
    quads = Quads(run.var, extent, step, clamp_start(step.var, QUAD, run.extent))
    first = {run.var: quads.first}
    single = BufferLoad(single.buffer, tuple(put(index, first) for index in single.indices))
    axes = (*(axis for axis in reduction.axes if axis is not run), step)
    stage = replace(stage, reduction=replace(reduction, axes=axes))
    return stage, Product(single, vector, along, True, 1.0, quads=quads)


def _along(
    stage: Stage, single: BufferLoad, vector: BufferLoad, around: frozenset[Var], beside: int = 0
) -> Axis | None:
    """Return the axis of the lanes: the longest along which vectors differ, and single numbers lie
    so far from each other; results beside each other rather than not.
    """
    found = None
    best = (False, 0)
    for axis in stage.axes:
        extent = static(axis.extent)
        if extent is None or axis.var in around or stride(single, axis) != beside or not stride(vector, axis):
            continue
        value = (stride(BufferLoad(stage.target, stage.indices), axis) == 1, extent)
        if found is None or value > best:
            found, best = axis, value
    return found


def _run(stage: Stage, single: BufferLoad, vector: BufferLoad) -> Axis | None:
    """Return the longest reduced axis along which single numbers lie beside each other."""
    reduction = stage.reduction
    assert reduction is not None
    found = [
        axis
        for axis in reduction.axes
        if stride(single, axis) == 1 and stride(vector, axis) and (static(axis.extent) or 0) >= QUAD
    ]
    return max(found, key=lambda axis: static(axis.extent) or 0, default=None)


def read(load: BufferLoad) -> PrimExpr:
    """Return the quad that begins at ``load``."""
    return Call(READ, (load,), "int32")


def _quad(quads: Quads, load: BufferLoad) -> PrimExpr:
    """Return the quad of the factor that is packed, ``load`` at a step of the quads."""
    if coefficient(load.indices[0], quads.axis) == 1 and not quads.extent % QUAD:
        return read(BufferLoad(load.buffer, (put(load.indices[0], {quads.axis: quads.first}),)))
    whole: PrimExpr | None = None
    for number in range(QUAD):
        place = binary("+", quads.first, IntImm(number))
        byte: PrimExpr = Cast("int32", put(load, {quads.axis: place}))
        if quads.extent % QUAD:
            # The last quad begins early: what was multiplied before counts as zero.
            begin = binary("*", quads.step.var, IntImm(QUAD))
            byte = Call("if_then_else", (binary(">=", place, begin), byte, const(0, "int32")), "int32")
        byte = Binary("&", byte, const(255, "int32"))
        if number:
            byte = Binary("<<", byte, const(8 * number, "int32"))
        whole = byte if whole is None else Binary("|", whole, byte)
    assert whole is not None
    return whole


def multiplied(product: Product, total: PrimExpr, single: BufferLoad, vector: PrimExpr) -> PrimExpr:
    """Return ``total`` and the products of two quads, or of two bytes, of ``product``."""
    if product.quads is None:
        return Call(MULTIPLY_ADD, (total, Cast("int32", single), vector), "int32")
    return Call(DOTS[single.dtype], (total, read(single), vector), "int32")


def panel_element(product: Product, load: BufferLoad) -> PrimExpr:
    """Return what stands in a panel for the factor ``load`` of bytes."""
    return Cast("int32", load) if product.quads is None else _quad(product.quads, load)
