"""Numbers that are rounded to the nearest integer, halves to the even one, in one instruction.

Importers write this by operators that every program has: the floor of a number, or one more, chosen
by what is left over. That is five stages and two tensors of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from relay2relax.backends.c.fusion.bytes.makers import looked_into, makers_of, without_unread
from relay2relax.backends.c.stages import AnyStage, Stage
from relay2relax.tir.ir.expr import Binary, Buffer, BufferLoad, Call, PrimExpr, Select, const
from relay2relax.tir.ir.visit import map_expr

# So deep are stages looked into: rounding is written with four on top of each other.
_DEPTH = 5


def round_at_once(stages: Sequence[AnyStage], still: frozenset[Buffer]) -> list[AnyStage]:
    """Return the stages with halves rounded to even by one call each; buffers in ``still`` are made
    whoever reads them.

    What becomes zero from below has a sign then.
    """
    makers = makers_of(stages)
    found: list[AnyStage] = []
    changed = False
    for stage in stages:
        rounded = _rounded(stage, makers) if isinstance(stage, Stage) else None
        changed = changed or rounded is not None
        found.append(stage if rounded is None else rounded)
    return without_unread(found, stages, still) if changed else found


def _rounded(stage: Stage, makers: Mapping[Buffer, Stage]) -> Stage | None:
    """Return ``stage`` as one that rounds, None where it does not."""
    match stage.value:
        case Select(_, BufferLoad() as below, BufferLoad()) | Call(
            "if_then_else", (_, BufferLoad() as below, BufferLoad())
        ) if below.dtype in ("float32", "float64") and below.buffer in makers:
            pass
        case _:
            return None
    match looked_into(below, makers, 1):
        case Call("floor", (BufferLoad() as number,)):
            pass
        case _:
            return None
    value: PrimExpr = stage.value
    for _ in range(_DEPTH):
        value = map_expr(value, lambda node: _step(node, number, makers))
    if value not in _forms(number):
        return None
    return replace(stage, value=Call("nearbyint", (number,), number.dtype))


def _step(node: PrimExpr, number: BufferLoad, makers: Mapping[Buffer, Stage]) -> PrimExpr | None:
    if isinstance(node, BufferLoad):
        return node if node == number else looked_into(node, makers, 1)
    return None


def _forms(number: PrimExpr) -> tuple[PrimExpr, ...]:
    """Return the ways in which rounding of ``number`` is written."""
    floor, dtype = Call("floor", (number,), number.dtype), number.dtype
    rest = Binary("-", number, floor)
    half, two = const(0.5, dtype), const(2.0, dtype)
    odd = Binary("-", floor, Binary("*", Call("floor", (Binary("/", floor, two),), dtype), two))
    even = Binary("==", odd, const(0.0, dtype))
    down = Binary("or", Binary("<", rest, half), Binary("and", Binary("==", rest, half), even))
    up = Binary("+", floor, const(1.0, dtype))
    return Select(down, floor, up), Call("if_then_else", (down, floor, up), dtype)
