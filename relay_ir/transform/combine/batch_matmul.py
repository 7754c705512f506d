"""Batched products of one input as one product with more columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from relay2relax.core.passes import Pass
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.ir.expr import Call, Expr
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.transform.combine.branches import Branch, Combiner, combine_parallel


@dataclass(frozen=True, slots=True)
class CombineParallelBatchMatmul(Pass[IRModule]):
    """Compute ``nn.batch_matmul`` of one input in one call, if there are ``min_num_branches``.

    Only products with the second operand transposed, the default of Relay, are combined.
    """

    min_num_branches: int = 3
    opt_level: ClassVar[int] = 4

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with such products combined; infers types where ``mod`` has none."""
        return combine_parallel(mod, _Products, self.min_num_branches)


class _Products(Combiner):
    name = "nn.batch_matmul"

    def supports(self, call: Call) -> bool:
        return len(self.tensor(call.args[1]).shape) == 3 and self.extent(call.args[1], 1) is not None

    def same_kind(self, one: Call, other: Call) -> bool:
        usual = all(not call.attrs.transpose_a and call.attrs.transpose_b for call in (one, other))
        first, second = self.tensor(one.args[1]), self.tensor(other.args[1])
        batches = first.dtype == second.dtype and first.shape[0] == second.shape[0]
        results = self.tensor(one).dtype == self.tensor(other).dtype and one.attrs.out_dtype == other.attrs.out_dtype
        return usual and batches and results

    def combined(self, calls: Sequence[Call]) -> Call:
        weights = op.concatenate([call.args[1] for call in calls], axis=1)
        return Call(calls[0].op, (calls[0].args[0], weights), calls[0].attrs)

    def fits(self, one: Branch, other: Branch, depth: int, place: int) -> bool:
        """TVM combines any arguments; those that are repeated along the columns cannot be."""
        calls = (one[depth], other[depth])
        first, second = (self.tensor(call.args[place]) for call in calls)
        if not first.shape or len(first.shape) != len(second.shape) or first.shape[:-1] != second.shape[:-1]:
            return False
        return all(self.extent(call.args[place], -1) == self.extent(call, -1) is not None for call in calls)

    def combined_argument(self, branches: Sequence[Branch], depth: int, place: int) -> Expr:
        result: Expr = op.concatenate([branch[depth].args[place] for branch in branches], axis=-1)
        return result

    def outputs(self, whole: Expr, branches: Sequence[Branch], depth: int) -> list[Expr]:
        found: list[Expr] = []
        start = 0
        for branch in branches:
            count = self.extent(branch[0].args[1], 1)
            assert count is not None
            found.append(op.strided_slice(whole, [0, 0, start], [-1, -1, count], [1, 1, 1], slice_mode="size"))
            start += count
        return found
