"""Dense layers of one input as one layer, or as one batched product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

from relay2relax.core.passes import Pass
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.ir.expr import Call, Expr, TupleGetItem
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.transform.combine.branches import Branch, Combiner, combine_parallel
from relay2relax.relay_ir.transform.parts import is_call


@dataclass(frozen=True, slots=True)
class CombineParallelDense(Pass[IRModule]):
    """Compute ``nn.dense`` of one input in one call, where at least ``min_num_branches`` have it.

    With ``to_batch`` layers of equal size become ``nn.batch_matmul`` of the stacked weights, else
    layers of any size one ``nn.dense`` with more units. What follows them element by element is
    computed for all of them, too.
    """

    min_num_branches: int = 3
    to_batch: bool = True
    opt_level: ClassVar[int] = 4

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with such layers combined; infers types where ``mod`` has none."""
        return combine_parallel(mod, _Stacked if self.to_batch else _Widened, self.min_num_branches)


class _Stacked(Combiner):
    name = "nn.dense"

    def same_kind(self, one: Call, other: Call) -> bool:
        weights = self.tensor(one.args[1]).shape == self.tensor(other.args[1]).shape
        return weights and one.attrs.out_dtype == other.attrs.out_dtype

    def combined(self, calls: Sequence[Call]) -> Call:
        data, weight = (op.stack([call.args[place] for call in calls], axis=0) for place in (0, 1))
        out_dtype = calls[0].attrs.out_dtype
        result: Call = op.nn.batch_matmul(data, weight, out_dtype=out_dtype, transpose_a=False, transpose_b=True)
        return result

    def follows(self, call: Call) -> bool:
        # Axes are others in the stack.
        return super().follows(call) and not hasattr(call.attrs, "axis")

    def fits(self, one: Branch, other: Branch, depth: int, place: int) -> bool:
        return self.tensor(one[depth].args[place]) == self.tensor(other[depth].args[place])

    def combined_argument(self, branches: Sequence[Branch], depth: int, place: int) -> Expr:
        args = [branch[depth].args[place] for branch in branches]
        missing = len(self.tensor(branches[0][depth]).shape) - len(self.tensor(args[0]).shape)
        if missing:
            args = [op.expand_dims(arg, axis=0, num_newaxis=missing) for arg in args]
        result: Expr = op.stack(args, axis=0)
        return result

    def outputs(self, whole: Expr, branches: Sequence[Branch], depth: int) -> list[Expr]:
        parts = op.split(whole, indices_or_sections=len(branches), axis=0)
        call = parts if isinstance(parts, Call) else parts.astuple()
        return [op.squeeze(TupleGetItem(call, index), axis=[0]) for index in range(len(branches))]


class _Widened(Combiner):
    name = "nn.dense"

    def supports(self, call: Call) -> bool:
        return self.extent(call.args[1], 0) is not None and len(self.tensor(call).shape) == 2

    def same_kind(self, one: Call, other: Call) -> bool:
        depths = self.tensor(one.args[1]).shape[1] == self.tensor(other.args[1]).shape[1]
        return depths and one.attrs.out_dtype == other.attrs.out_dtype

    def combined(self, calls: Sequence[Call]) -> Call:
        weight = op.concatenate([call.args[1] for call in calls], axis=0)
        units = sum(self.extent(call.args[1], 0) or 0 for call in calls)
        return Call(calls[0].op, (calls[0].args[0], weight), replace(calls[0].attrs, units=units))

    def follows(self, call: Call) -> bool:
        return super().follows(call) or is_call(call, "expand_dims")

    def fits(self, one: Branch, other: Branch, depth: int, place: int) -> bool:
        first, second = (self.tensor(branch[depth].args[place]) for branch in (one, other))
        ranks = len(first.shape) == len(second.shape) <= len(self.tensor(one[depth]).shape)
        same = ranks and first.dtype == second.dtype and first.shape[:-1] == second.shape[:-1]
        return same and self._behind(one, depth) == 0

    def combined_argument(self, branches: Sequence[Branch], depth: int, place: int) -> Expr:
        rank = len(self.tensor(branches[0][depth].args[place]).shape)
        axis = max(rank - 1, 0)
        args: list[Expr] = []
        for branch in branches:
            arg, columns = branch[depth].args[place], self.extent(branch[depth - 1], -1)
            # One value for all columns of a branch is not one for those of the others.
            repeated = rank == 0 or (self.extent(arg, -1) == 1 and columns != 1)
            if rank == 0:
                arg = op.expand_dims(arg, axis=-1, num_newaxis=1)
            args.append(op.repeat(arg, repeats=columns, axis=axis) if repeated else arg)
        result: Expr = op.concatenate(args, axis=axis)
        return result

    def outputs(self, whole: Expr, branches: Sequence[Branch], depth: int) -> list[Expr]:
        found: list[Expr] = []
        start = 0
        for branch in branches:
            count = self.extent(branch[0].args[1], 0) or 0
            rank = len(self.tensor(branch[depth]).shape)
            axis = rank - 1 - self._behind(branch, depth)
            begin = [start if index == axis else 0 for index in range(rank)]
            size = [count if index == axis else -1 for index in range(rank)]
            found.append(op.strided_slice(whole, begin, size, [1] * rank, slice_mode="size"))
            start += count
        return found

    def _behind(self, branch: Branch, depth: int) -> int:
        """Return how many axes of the result at ``depth`` follow the one of the layer's units."""
        behind = 0
        for before, call in pairwise(branch[: depth + 1]):
            if is_call(call, "expand_dims"):
                rank = len(self.tensor(before).shape)
                behind += call.attrs.num_newaxis if call.attrs.axis % (rank + 1) >= rank - behind else 0
        return behind
