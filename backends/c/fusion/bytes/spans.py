"""Between which integers the elements of buffers lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from relay2relax.backends.c.stages import AnyStage, Stage
from relay2relax.core.dtype import Array, bits, integer_range, is_int
from relay2relax.tir.ir.expr import Binary, Buffer, BufferLoad, Call, Cast, IntImm, PrimExpr, Select
from relay2relax.tir.ir.visit import subexpressions

# The least and the greatest.
Span: TypeAlias = tuple[int, int]


def spans_of_arrays(constants: Mapping[Buffer, Array]) -> dict[Buffer, Span]:
    """Return between which integers constants lie, those of floats left out."""
    return {
        buffer: (int(array.min()), int(array.max()))
        for buffer, array in constants.items()
        if is_int(buffer.dtype) and array.size
    }


def spans_of(stages: Sequence[AnyStage], given: Mapping[Buffer, Span]) -> dict[Buffer, Span]:
    """Return between which integers the elements of buffers lie that stages write.

    ``given`` are those of buffers of known content. A buffer whose elements may be any of its dtype
    is left out.
    """
    found = dict(given)
    unknown = {buffer for stage in stages if not isinstance(stage, Stage) for buffer in stage.writes()}
    for stage in stages:
        if not isinstance(stage, Stage) or not is_int(stage.target.dtype) or stage.target in unknown:
            continue
        span = span_of(stage.value, found)
        if stage.target in found:
            span = _of_two("or", span, found[stage.target])
        if span is None:
            unknown.add(stage.target)
            found.pop(stage.target, None)
        else:
            found[stage.target] = span
    return found


def span_of(expr: PrimExpr, spans: Mapping[Buffer, Span]) -> Span | None:
    """Return between which integers ``expr`` lies, None where they may be any of int32 or wider."""
    found: dict[int, Span | None] = {}
    # Operands come before what is made of them.
    for node in reversed(subexpressions(expr)):
        found[id(node)] = _span(node, found, spans)
    return found[id(expr)]


def _span(expr: PrimExpr, known: Mapping[int, Span | None], spans: Mapping[Buffer, Span]) -> Span | None:
    if not is_int(expr.dtype):
        return None
    found: Span | None = None
    match expr:
        case IntImm(value):
            found = (value, value)
        case BufferLoad(buffer):
            found = spans.get(buffer)
        case Cast(_, value):
            found = known[id(value)]
        case Select(_, a, b) | Call("if_then_else", (_, a, b)):
            found = _of_two("or", known[id(a)], known[id(b)])
        case Binary(("min" | "max" | "+" | "-") as op, a, b):
            found = _of_two(op, known[id(a)], known[id(b)])
    least, most = integer_range(expr.dtype)
    if found is not None and least <= found[0] and found[1] <= most:
        return found
    # What wraps around may be anything.
    return (least, most) if bits(expr.dtype) <= 8 else None


def _of_two(op: str, a: Span | None, b: Span | None) -> Span | None:
    if a is None or b is None:
        return None
    match op:
        case "min":
            return min(a[0], b[0]), min(a[1], b[1])
        case "max":
            return max(a[0], b[0]), max(a[1], b[1])
        case "+":
            return a[0] + b[0], a[1] + b[1]
        case "-":
            return a[0] - b[1], a[1] - b[0]
    return min(a[0], b[0]), max(a[1], b[1])
