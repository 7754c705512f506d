"""Reshapes and transpositions in a row."""

from __future__ import annotations

from collections.abc import Sequence

from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Expr
from relay2relax.relay_ir.transform.parts import is_call
from relay2relax.relay_ir.transform.simplify.rules.rule import Rule
from relay2relax.tir.extent import static

_RESHAPES = ("reshape", "contrib_reverse_reshape")
_TRANSPOSES = ("transpose", "layout_transform")


def _reshapes(call: Call, types: TypeTable) -> Expr:
    """The last of several reshapes is enough."""
    first = call.args[0]
    ty = types.tensor(call)
    if not isinstance(first, Call) or not is_call(first, *_RESHAPES) or ty is None:
        return call
    shape = [static(extent) for extent in ty.shape]
    if any(extent is None for extent in shape):
        return call
    result: Expr = op.reshape(first.args[0], shape)
    return result


def _transposes(call: Call, types: TypeTable) -> Expr:
    """Two transpositions are one; so are changes of layout that split or join axes."""
    first = call.args[0]
    ty = types.tensor(call)
    if not isinstance(first, Call) or not is_call(first, *_TRANSPOSES) or ty is None:
        return call
    if _changes_rank(call) or _changes_rank(first):
        return _one_layout_transform(first, call)
    inner, outer = _order(first, len(ty.shape)), _order(call, len(ty.shape))
    if inner is None or outer is None:
        both = is_call(first, "layout_transform") and is_call(call, "layout_transform")
        return _one_layout_transform(first, call) if both else call
    result: Expr = op.transpose(first.args[0], [inner[axis] for axis in outer])
    return result


def _one_layout_transform(first: Call, second: Call) -> Expr:
    """Return both as one ``layout_transform``; ``second`` where that cannot be said."""
    data = first.args[0]
    if is_call(first, "layout_transform") and is_call(second, "layout_transform"):
        before, after = first.attrs.src_layout, second.attrs.dst_layout
        return data if before == after else op.layout_transform(data, before, after)
    changing, other = (second, first) if _changes_rank(second) else (first, second)
    before, after = changing.attrs.src_layout, changing.attrs.dst_layout
    # The layout on the side of the transposition has to be plain: a letter for each axis.
    plain = before if changing is second else after
    order = _order(other, len(plain))
    if order is None or not plain.isalpha():
        return second
    if changing is second:
        before = "".join(plain[order.index(axis)] for axis in range(len(plain)))
    else:
        after = "".join(plain[axis] for axis in order)
    result: Expr = op.layout_transform(data, before, after)
    return result


def _changes_rank(call: Call) -> bool:
    return is_call(call, "layout_transform") and len(call.attrs.src_layout) != len(call.attrs.dst_layout)


def _order(call: Call, rank: int) -> Sequence[int] | None:
    """Return which axis of the input each axis of the result is; None where that is not all."""
    if is_call(call, "transpose"):
        axes = call.attrs.axes
        order = [int(axis) % rank for axis in axes] if axes is not None else list(reversed(range(rank)))
        return order if len(order) == rank else None
    before, after = _axes(call.attrs.src_layout), _axes(call.attrs.dst_layout)
    if sorted(before) != sorted(after) or len(before) != rank:
        return None
    return [before.index(axis) for axis in after]


def _axes(layout: str) -> list[str]:
    """Return the axes of a layout, those that are split off with their sizes: ``NCHW4c`` has N, C,
    H, W and 4c.
    """
    found: list[str] = []
    size = ""
    for letter in layout:
        if letter.isdigit():
            size += letter
            continue
        found.append(size + letter)
        size = ""
    return found


def _nothing(call: Call, types: TypeTable) -> Expr:
    """A transposition that leaves every axis in its place goes."""
    ty = types.tensor(call)
    if ty is None:
        return call
    rank = len(ty.shape)
    if is_call(call, "layout_transform") and call.attrs.src_layout != call.attrs.dst_layout:
        return call
    return call.args[0] if _order(call, rank) == list(range(rank)) else call


RESHAPES = Rule(_RESHAPES, _reshapes)
TRANSPOSES = Rule(_TRANSPOSES, _transposes)
NOTHING = Rule(_TRANSPOSES, _nothing)
