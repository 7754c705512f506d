"""Scales of results, folded into weights."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import ClassVar

from relay2relax.core.passes import Pass, Sequential
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, with_children
from relay2relax.relay_ir.transform.fold_constant import FoldConstant
from relay2relax.relay_ir.transform.infrastructure import declared, left_alone, map_functions
from relay2relax.relay_ir.transform.parts import along, is_call
from relay2relax.relay_ir.transform.scale_axis.axes import (
    CONVOLUTIONS,
    RELUS,
    SUMS,
    Message,
    allowed,
    as_scale,
    broadcasts,
    channels_of,
    matching,
    scaled_weight,
)
from relay2relax.relay_ir.transform.scale_axis.forward import ForwardFoldScaleAxis


@dataclass(frozen=True, slots=True)
class BackwardFoldScaleAxis(Pass[IRModule]):
    """Multiply the weights of convolutions and dense layers by the scale of their result.

    Additions and ``nn.relu`` may stand between, of one user each: what is added is scaled, too, and
    where there is a relu the scale has to be positive.
    """

    opt_level: ClassVar[int] = 3

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with such scales folded; infers types where ``mod`` has none."""
        mod = declared(mod)
        types = TypeTable.inferred(mod)
        return map_functions(mod, lambda one: one if left_alone(one) else _Backward(one, types).run())


@dataclass(frozen=True, slots=True)
class FoldScaleAxis(Pass[IRModule]):
    """Fold scales backwards, then forwards, then what is constant of the weights.

    The first two run in contexts of level 3, as in TVM.
    """

    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with scales folded."""
        return Sequential((BackwardFoldScaleAxis(), ForwardFoldScaleAxis(), FoldConstant()))(mod)


class _Backward:
    """Folds the scales of one function."""

    def __init__(self, root: Function, types: TypeTable) -> None:
        self.root, self.types = root, types
        self.order = list(nodes(root))
        self.messages = self._messages()
        # What the result of a node is to be multiplied by, and the products that then go.
        self.scales: dict[Expr, Expr] = {}
        self.gone: dict[Expr, Expr] = {}

    def _messages(self) -> dict[Expr, Message]:
        """Return which scales each node would take."""
        uses = Counter(child for node in self.order for child in children(node))
        found: dict[Expr, Message] = {}
        for node in self.order:
            if isinstance(node, Call) and uses[node] == 1:
                message = self._takes(node, [found.get(arg) for arg in node.args])
                if message is not None:
                    found[node] = message
        return found

    def _takes(self, call: Call, given: list[Message | None]) -> Message | None:
        if is_call(call, *CONVOLUTIONS):
            return channels_of(call, call.attrs.out_layout or call.attrs.data_layout, self.types)
        if is_call(call, "nn.dense"):
            ty = self.types.tensor(call)
            return Message((1,)) if ty is not None and len(ty.shape) == 2 else None
        if is_call(call, *RELUS):
            return replace(given[0], positive=True) if given[0] is not None else None
        if is_call(call, "nn.bias_add"):
            return given[0] if given[0] is not None and given[0].axes == (call.attrs.axis,) else None
        return self._sum_takes(call, given[0], given[1]) if is_call(call, *SUMS) else None

    def _sum_takes(self, call: Call, first: Message | None, second: Message | None) -> Message | None:
        left, right = (self.types.tensor(arg) for arg in call.args)
        if left is None or right is None:
            return None
        if first is not None and second is not None:
            same = first.axes == second.axes and left.shape == right.shape
            return Message(first.axes, first.positive or second.positive) if same else None
        if first is not None:
            return first if broadcasts(left, right, first.axes) else None
        return second if second is not None and broadcasts(right, left, second.axes) else None

    def run(self) -> Function:
        """Return the function with its scales folded."""
        for node in reversed(self.order):
            if isinstance(node, Call):
                self._send(node)
        if not self.scales:
            return self.root
        done: dict[Expr, Expr] = {}
        for node in self.order:
            if node in self.gone:
                done[node] = done[self.gone[node]]
                continue
            made = with_children(node, [done[child] for child in children(node)])
            done[node] = self._scaled(node, made, self.scales[node]) if node in self.scales else made
        result = done[self.root]
        assert isinstance(result, Function)
        return result

    def _send(self, call: Call) -> None:
        """Send the scale of ``call``, or that which it is, to the arguments that take it."""
        if call in self.scales:
            self.scales.update((arg, self.scales[call]) for arg in self._takers(call))
        elif is_call(call, "multiply"):
            # As in TVM: where the first takes scales, the second is not asked.
            place = 0 if call.args[0] in self.messages else 1
            message = self.messages.get(call.args[place])
            left, right = self.types.tensor(call.args[place]), self.types.tensor(call.args[1 - place])
            if message is None or left is None or right is None:
                return
            scale = as_scale(call.args[1 - place], left, right, message.axes)
            if scale is not None and allowed(message, scale):
                self.scales[call.args[place]] = scale
                self.gone[call] = call.args[place]

    def _takers(self, call: Call) -> list[Expr]:
        """Return the arguments that are scaled where ``call`` is."""
        weighs = is_call(call, *CONVOLUTIONS, "nn.dense")
        return [] if weighs else [arg for arg in call.args if arg in self.messages]

    def _scaled(self, node: Expr, made: Expr, scale: Expr) -> Expr:
        """Return ``made``, which is ``node`` of arguments that are scaled already, scaled."""
        assert isinstance(node, Call)
        assert isinstance(made, Call)
        if is_call(node, *CONVOLUTIONS):
            return replace(made, args=(made.args[0], scaled_weight(node, made.args[1], scale, False, self.types)))
        if is_call(node, "nn.dense"):
            return replace(made, args=(made.args[0], op.multiply(made.args[1], along(scale, 2, [0]))))
        if is_call(node, "nn.bias_add"):
            return replace(made, args=(made.args[0], op.multiply(made.args[1], scale)))
        if is_call(node, *RELUS):
            return made
        args = list(made.args)
        for place in (0, 1):
            if node.args[place] not in self.messages:
                ty = self.types.tensor(node.args[1 - place])
                assert ty is not None
                args[place] = op.multiply(args[place], matching(scale, ty, self.messages[node].axes))
        return replace(made, args=tuple(args))
