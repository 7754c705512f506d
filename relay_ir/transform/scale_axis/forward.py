"""Scales of inputs, folded into weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from relay2relax.core.passes import Pass
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, with_children
from relay2relax.relay_ir.transform.infrastructure import declared, left_alone, map_functions
from relay2relax.relay_ir.transform.parts import is_call
from relay2relax.relay_ir.transform.scale_axis.axes import (
    CONVOLUTIONS,
    RELUS,
    SUMS,
    Message,
    allowed,
    as_scale,
    broadcasts,
    can_divide,
    channels_of,
    matching,
    scaled_weight,
)


@dataclass(frozen=True, slots=True)
class ForwardFoldScaleAxis(Pass[IRModule]):
    """Multiply the weights of convolutions and dense layers by the scale of their input.

    Additions and ``nn.relu`` may stand between: what is added is divided by the scale, and where
    there is a relu the scale has to be positive.
    """

    opt_level: ClassVar[int] = 3

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with such scales folded; infers types where ``mod`` has none."""
        mod = declared(mod)
        types = TypeTable.inferred(mod)
        return map_functions(mod, lambda one: one if left_alone(one) else _folded(one, types))


@dataclass(frozen=True, slots=True)
class _Scaled:
    """``value * scale`` along axes, which is ``plain``."""

    value: Expr
    scale: Expr
    axes: tuple[int, ...]
    plain: Expr


def _folded(root: Function, types: TypeTable) -> Function:
    order = list(nodes(root))
    messages = _messages(order, types)
    if not any(messages.values()):
        return root
    plain: dict[Expr, Expr] = {}
    scaled: dict[Expr, _Scaled] = {}
    for node in order:
        made = with_children(node, [plain[child] for child in children(node)])
        if isinstance(node, Call):
            assert isinstance(made, Call)
            found = _step(node, made, messages.get(node), scaled, types)
            if isinstance(found, _Scaled):
                scaled[node] = found
            elif found is not None:
                made = found
        plain[node] = made
    result = plain[root]
    assert isinstance(result, Function)
    return result


def _messages(order: list[Expr], types: TypeTable) -> dict[Expr, Message | None]:
    """Return which scales the users of each node would all take."""
    found: dict[Expr, Message | None] = {}
    for node in reversed(order):
        asked = _asked(node, found.get(node), types) if isinstance(node, Call) else {}
        for place, part in enumerate(children(node)):
            message = asked.get(place - 1)
            found[part] = _both(found[part], message) if part in found else message
    return found


def _both(one: Message | None, other: Message | None) -> Message | None:
    if one is None or other is None:
        return None
    axes = tuple(axis for axis in one.axes if axis in other.axes)
    # As many axes as a scale for either has: a part of them would need another scale.
    return Message(axes, one.positive or other.positive) if axes == one.axes == other.axes else None


def _asked(call: Call, out: Message | None, types: TypeTable) -> Mapping[int, Message | None]:
    """Return which scale of each argument ``call`` takes, where its users take ``out`` of it."""
    if is_call(call, *CONVOLUTIONS):
        return {0: channels_of(call, call.attrs.data_layout, types)}
    if is_call(call, "nn.dense"):
        data = types.tensor(call.args[0])
        return {0: Message((1,))} if data is not None and len(data.shape) == 2 else {}
    if out is None:
        return {}
    if is_call(call, *RELUS):
        return {0: Message(out.axes, True)}
    if is_call(call, *SUMS):
        left, right = (types.tensor(arg) for arg in call.args)
        if left is not None and right is not None:
            if broadcasts(left, right, out.axes):
                return {0: out}
            return {1: out} if broadcasts(right, left, out.axes) else {}
    return {}


def _step(
    call: Call, made: Call, message: Message | None, scaled: Mapping[Expr, _Scaled], types: TypeTable
) -> _Scaled | Expr | None:
    """Return what ``call`` is of scaled arguments, None where they have no scale.

    ``made`` is the call with rebuilt arguments, their scales applied.
    """
    if is_call(call, "multiply"):
        return _begun(call, made, message, types)
    places = [place for place, arg in enumerate(call.args) if arg in scaled]
    if not places:
        return None
    place = places[0]
    given = scaled[call.args[place]]
    if is_call(call, *CONVOLUTIONS):
        weight = scaled_weight(call, made.args[1], given.scale, True, types)
        return replace(made, args=(given.value, weight)) if place == 0 else None
    if is_call(call, "nn.dense"):
        return replace(made, args=(given.value, op.multiply(made.args[1], given.scale))) if place == 0 else None
    if message is None:
        return None
    if is_call(call, *RELUS):
        return replace(given, value=replace(made, args=(given.value,)), plain=made)
    ty = types.tensor(call.args[place])
    if not is_call(call, *SUMS) or ty is None or len(places) > 1 or not can_divide(given.scale):
        return None
    other = op.divide(made.args[1 - place], matching(given.scale, ty, given.axes))
    args = (given.value, other) if place == 0 else (other, given.value)
    return replace(given, value=replace(made, args=args), plain=made)


def _begun(call: Call, made: Call, message: Message | None, types: TypeTable) -> _Scaled | None:
    """Return the product as a scaled tensor where all users of it take the scale."""
    if message is None or not message.axes:
        return None
    for place in (0, 1):
        left, right = types.tensor(call.args[place]), types.tensor(call.args[1 - place])
        if left is None or right is None:
            continue
        scale = as_scale(made.args[1 - place], left, right, message.axes)
        if scale is not None and allowed(message, scale):
            return _Scaled(made.args[place], scale, message.axes, made)
    return None
