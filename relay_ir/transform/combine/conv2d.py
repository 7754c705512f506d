"""Convolutions of one input as one convolution with more channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from relay2relax.core.passes import Pass
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.ir.expr import Call, Expr
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.transform.combine.branches import Branch, Combiner, combine_parallel


@dataclass(frozen=True, slots=True)
class CombineParallelConv2D(Pass[IRModule]):
    """Compute ``nn.conv2d`` of one input in one call, where at least ``min_num_branches`` agree in
    all but their channels.

    What follows them element by element is computed for all of them, too.
    """

    min_num_branches: int = 3
    opt_level: ClassVar[int] = 4

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with such convolutions combined; infers types where ``mod`` has none."""
        return combine_parallel(mod, _Convolutions, self.min_num_branches)


class _Convolutions(Combiner):
    name = "nn.conv2d"
    # The axis of the channels in the results of the group at hand.
    channel_axis = 1

    def supports(self, call: Call) -> bool:
        known = self.extent(call.args[1], _axis(call.attrs.kernel_layout, "O")) is not None
        return bool(call.attrs.groups == 1 and known)

    def same_kind(self, one: Call, other: Call) -> bool:
        # The number of channels, and the kernel's size as far as it is given, need not be said.
        same = replace(one.attrs, channels=None, kernel_size=None) == replace(
            other.attrs, channels=None, kernel_size=None
        )
        first, second = self.tensor(one.args[1]), self.tensor(other.args[1])
        places = [_axis(one.attrs.kernel_layout, letter) for letter in "HW"]
        return same and all(first.shape[place] == second.shape[place] for place in places)

    def combined(self, calls: Sequence[Call]) -> Call:
        attrs = calls[0].attrs
        weight = op.concatenate([call.args[1] for call in calls], axis=_axis(attrs.kernel_layout, "O"))
        self.channel_axis = _axis(attrs.out_layout or attrs.data_layout, "C")
        channels = sum(map(self._channels, calls))
        return Call(calls[0].op, (calls[0].args[0], weight), replace(attrs, channels=channels))

    def _channels(self, call: Call) -> int:
        found = self.extent(call.args[1], _axis(call.attrs.kernel_layout, "O"))
        assert found is not None
        return found

    def fits(self, one: Branch, other: Branch, depth: int, place: int) -> bool:
        calls = (one[depth], other[depth])
        first, second = (self.tensor(call.args[place]) for call in calls)
        axis = self.channel_axis - len(self.tensor(calls[0]).shape) + len(first.shape)
        if first.dtype != second.dtype or len(first.shape) != len(second.shape) or axis < 0:
            return False
        whole = all(
            self.extent(call.args[place], axis) == self.extent(call, self.channel_axis) is not None for call in calls
        )
        pairs = enumerate(zip(first.shape, second.shape, strict=True))
        return whole and all(a == b for index, (a, b) in pairs if index != axis)

    def combined_argument(self, branches: Sequence[Branch], depth: int, place: int) -> Expr:
        args = [branch[depth].args[place] for branch in branches]
        behind = len(self.tensor(branches[0][depth]).shape) - self.channel_axis
        result: Expr = op.concatenate(args, axis=len(self.tensor(args[0]).shape) - behind)
        return result

    def outputs(self, whole: Expr, branches: Sequence[Branch], depth: int) -> list[Expr]:
        found: list[Expr] = []
        start, lead = 0, self.channel_axis
        for branch in branches:
            count = self._channels(branch[0])
            begin, end = [*([0] * lead), start], [*([-1] * lead), count]
            found.append(op.strided_slice(whole, begin, end, [1] * (lead + 1), slice_mode="size"))
            start += count
        return found


def _axis(layout: str, letter: str) -> int:
    """Return the axis of a layout that has the letter; factors of packed layouts are no letters."""
    return [one for one in layout if one.isalpha()].index(letter)
