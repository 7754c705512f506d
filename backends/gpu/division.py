"""Products as several stages: weights laid out ahead, sums in parts where there are few results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from relay2relax.backends.c.access import coefficient
from relay2relax.backends.c.schedule.elementwise import collapse
from relay2relax.backends.c.stages import Axis, Reduction, Stage, tidy
from relay2relax.backends.gpu.device import Device
from relay2relax.backends.gpu.factors import Parts, factors_of, narrowed
from relay2relax.backends.gpu.kernel import count
from relay2relax.backends.gpu.tiles import best_tile, cycles
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import Binary, Buffer, BufferLoad, IntImm, PrimExpr, Var, binary, cast, const
from relay2relax.tir.ir.visit import loads, substitute

# A sum is done in at most so many parts, each of at least so many terms.
_MOST_PARTS = 32
_FEWEST_TERMS = 32
# What another launch costs, in cycles: a call took the host of an H200 4 to 8 µs.
_LAUNCH = 10_000
# Sums that a multiprocessor's share of the cache stores and loads in a cycle.
_ADDED = 2


def divided(stage: Stage, known: Callable[[Buffer], bool], device: Device) -> list[Stage]:
    """Return the stages that a flattened stage becomes; ``known`` says what depends on weights
    alone.
    """
    if factors_of(collapse(stage)) is None:
        return [stage]
    stages = _laid_out(collapse(stage), known)
    return [*stages[:-1], *_in_parts(stages[-1], device)]


def _laid_out(stage: Stage, known: Callable[[Buffer], bool]) -> list[Stage]:
    """Return a product of weights as two stages: they lie as tiles read them, rows innermost."""
    parts, own = factors_of(stage), stage.reduction
    assert parts is not None
    assert own is not None
    before: list[Stage] = []
    factors = {"left": (parts.left, parts.rows), "right": (parts.right, parts.columns)}
    for side, (value, axes) in factors.items():
        order = (*_used(value, parts.batch), *parts.terms, *axes)
        sizes = [static(axis.extent) for axis in order]
        read = list(loads(value))
        if not all(known(load.buffer) for load in read) or None in sizes or len(read) != 1:
            continue
        index = read[0].indices[0]
        if loads(index) or _position(order) == index:
            continue
        narrow = narrowed(value)
        target = Buffer(f"{read[0].buffer.name}_packed", (count(order),), narrow.dtype)
        renamed = [Axis(Var(axis.var.name), axis.extent) for axis in order]
        values: dict[Var, PrimExpr] = {old.var: new.var for old, new in zip(order, renamed, strict=True)}
        before.append(Stage(tuple(renamed), target, (_position(renamed),), substitute(narrow, values)))
        factors[side] = (cast(value.dtype, BufferLoad(target, (_position(order),))), axes)
    if not before:
        return [stage]
    return [*before, replace(stage, reduction=replace(own, source=_again(own, parts, factors)))]


def _again(own: Reduction, parts: Parts, factors: dict[str, tuple[PrimExpr, tuple[Axis, ...]]]) -> PrimExpr:
    """Return the product of factors, in the order in which they stood."""
    left, right = factors["left"][0], factors["right"][0]
    assert isinstance(own.source, Binary)
    return binary("*", left, right) if own.source.a is parts.left else binary("*", right, left)


def _used(value: PrimExpr, axes: Sequence[Axis]) -> list[Axis]:
    return [axis for axis in axes if any(coefficient(load.indices[0], axis.var) != 0 for load in loads(value))]


def _position(axes: Sequence[Axis]) -> PrimExpr:
    """Return the number of a point, the last axis innermost."""
    found: PrimExpr = IntImm(0)
    for axis in axes:
        found = binary("+", binary("*", found, axis.extent), axis.var)
    return simplify(found)


def _in_parts(stage: Stage, device: Device) -> list[Stage]:
    """Return a product as the parts of its sums, and the stage that adds them, where that is
    faster.
    """
    parts, own = factors_of(stage), stage.reduction
    assert parts is not None
    assert own is not None
    results = static(count(stage.axes))
    longest = max(parts.terms, key=lambda axis: static(axis.extent) or 0)
    extent, terms = static(longest.extent), static(count(parts.terms))
    if results is None or extent is None or terms is None:
        return [stage]
    choices = [
        number
        for number in range(2, _MOST_PARTS + 1)
        if extent % number == 0 and extent // number > 1 and terms // number >= _FEWEST_TERMS
    ]
    best, least = (stage, 1), _cycles(parts, device)
    for number in choices:
        part = _part(stage, own, longest, number)
        inner = factors_of(part)
        added = _LAUNCH + results * number / (device.multiprocessors * _ADDED)
        if inner is not None and _cycles(inner, device) + added < least:
            best, least = (part, number), _cycles(inner, device) + added
    found, number = best
    return [stage] if number == 1 else [found, _added(stage, own, found)]


def _cycles(parts: Parts, device: Device) -> float:
    return cycles(parts, best_tile(parts, device), device)


def _part(stage: Stage, own: Reduction, axis: Axis, number: int) -> Stage:
    """Return the stage of the sums over each of ``number`` parts of an axis.

    Parts lie as the results do, so that these are added in order.
    """
    ordered = sorted(stage.axes, key=lambda one: -(coefficient(stage.indices[0], one.var) or 0))
    outer = Axis(Var("part"), IntImm(number))
    inner = Axis(Var(axis.var.name), simplify(binary("//", axis.extent, IntImm(number))))
    value = binary("+", binary("*", outer.var, inner.extent), inner.var)
    size = simplify(binary("*", IntImm(number), count(ordered)))
    target = Buffer(f"{stage.target.name}_parts", (size,), own.result.dtype)
    source = substitute(own.source, {axis.var: value})
    axes = tuple(inner if one is axis else one for one in own.axes)
    reduction = Reduction(axes, own.op, own.identity, tidy(source, {}), own.result)
    return Stage((outer, *ordered), target, (_position((outer, *ordered)),), own.result, reduction)


def _added(stage: Stage, own: Reduction, part: Stage) -> Stage:
    """Return the stage that adds the parts, and does what is done to the sums."""
    outer = part.axes[0]
    source = BufferLoad(part.target, (part.indices[0],))
    reduction = Reduction((outer,), "+", const(0, own.result.dtype), source, own.result)
    return replace(stage, reduction=reduction)
