"""Sequences and optionals, which exist only while a model is read: their lengths are known."""

from __future__ import annotations

import numpy as np

from relay2relax.relay_ir.frontend.onnx.conversion import Conversion, Convert, Value
from relay2relax.relay_ir.ir.expr import Expr, RelayExpr


def _construct(at: Conversion) -> Value:
    return list(at.args)


def _empty(at: Conversion) -> Value:
    return []


def _position(at: Conversion, place: int, length: int) -> int:
    found = at.wanted_ints(place)
    position = found[0] + length if found[0] < 0 else found[0]
    if not 0 <= position <= length:
        at.refuse(f"a sequence of {length} has no place {found[0]}")
    return position


def _at(at: Conversion) -> Value:
    whole = at.sequence()
    return whole[_position(at, 1, len(whole))]


def _insert(at: Conversion) -> Value:
    whole = list(at.sequence())
    whole.insert(_position(at, 2, len(whole)) if at.has(2) else len(whole), at.args[1])
    return whole


def _erase(at: Conversion) -> Value:
    whole = list(at.sequence())
    del whole[_position(at, 1, len(whole)) if at.has(1) else -1]
    return whole


def _length(at: Conversion) -> Value:
    return at.const(len(at.sequence()), "int64")


def _concat(at: Conversion) -> Value:
    parts = [one for one in at.sequence() if isinstance(one, RelayExpr)]
    if at.attr("new_axis", 0):
        return at.call("stack", at.tuple(parts), axis=at.wanted("axis"))
    return at.call("concatenate", at.tuple(parts), axis=at.wanted("axis"))


def _split(at: Conversion) -> Value:
    x = at.arg(0)
    axis, sizes = at.axis(x, 0), at.known(1)
    extent = at.shape(x)[axis]
    keep = bool(at.attr("keepdims", 1)) or at.has(1)
    if sizes is None and at.has(1):
        at.refuse("its lengths are computed")
    if sizes is not None and sizes.ndim:
        ends = [int(one) for one in np.cumsum(sizes)]
    else:
        step = 1 if sizes is None else int(sizes)
        places = range(step, extent + step, step)
        ends = [min(places[number], extent) for number in at.steps(len(places))]
    parts: list[Value] = []
    for begin, end in zip([0, *ends], ends, strict=False):
        part: Expr = at.slice(x, axis, begin, end)
        parts.append(part if keep else at.squeeze(part, [axis]))
    return parts


def _optional(at: Conversion) -> Value:
    return at.args[0] if at.args else None


def _has_element(at: Conversion) -> Value:
    return at.const(bool(at.args) and at.args[0] is not None, "bool")


def _element(at: Conversion) -> Value:
    if at.args[0] is None:
        at.refuse("the optional has no value")
    return at.args[0]


OPERATORS: dict[str, Convert] = {
    "SequenceConstruct": _construct,
    "SequenceEmpty": _empty,
    "SequenceAt": _at,
    "SequenceInsert": _insert,
    "SequenceErase": _erase,
    "SequenceLength": _length,
    "ConcatFromSequence": _concat,
    "SplitToSequence": _split,
    "Optional": _optional,
    "OptionalHasElement": _has_element,
    "OptionalGetElement": _element,
}
