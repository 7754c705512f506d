"""ConvertToDataflow: what has neither effects nor branches is gathered in dataflow blocks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import groupby

from relay2relax.relax_ir.expr import (
    Binding,
    BindingBlock,
    Function,
    GlobalVar,
    IRModule,
    MatchCast,
    SeqExpr,
    Var,
)
from relay2relax.relax_ir.transform.mutator import Mutator, RelaxPass
from relay2relax.relax_ir.visit import all_sequences, bindings, sequences, variables


@dataclass(frozen=True, slots=True)
class ConvertToDataflow(RelaxPass):
    """Make dataflow blocks of the bindings that may stand in one, ``min_size`` or more in a row.

    Blocks that are dataflow blocks already stay.
    """

    min_size: int = 2

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with its dataflow in blocks."""
        return _Gatherer(mod, self.min_size).module()


class _Gatherer(Mutator):
    """``runs`` numbers the bindings that become one block, by variable; ``inner`` are used in theirs alone."""

    def __init__(self, mod: IRModule, min_size: int) -> None:
        super().__init__(mod)
        self.min_size = min_size
        self.runs: dict[Var, int] = {}
        self.inner: set[Var] = set()

    def function(self, var: GlobalVar, func: Function) -> Function:
        self.look(func)
        return super().function(var, func)

    def look(self, func: Function) -> None:
        """Find the runs of ``func``, and who uses what."""
        runs: dict[Var, int] = {}
        number = 0
        for seq in all_sequences([func.body]):
            for block in seq.blocks:
                number += 1
                for binding in block.bindings:
                    if not block.dataflow and self.fits(binding):
                        runs[binding.var] = number
                    else:
                        number += 1
        outside: set[Var] = set()
        for seq in all_sequences([func.body]):
            for binding in bindings(seq):
                home = runs.get(binding.var)
                outside.update(one for one in variables(binding.value) if runs.get(one) != home)
            outside.update(variables(seq.body))
        sizes = Counter(runs.values())
        open_runs = {run for var, run in runs.items() if var in outside}
        self.runs.update((var, run) for var, run in runs.items() if run in open_runs and sizes[run] >= self.min_size)
        self.inner.update(var for var in self.runs if var not in outside)

    def fits(self, binding: Binding | MatchCast) -> bool:
        """Whether a binding may stand in a dataflow block."""
        return not sequences(binding.value) and self.inference.is_pure(binding.value)

    def bind(self, binding: Binding | MatchCast) -> None:
        if binding.var in self.inner:
            var = replace(binding.var, dataflow=True)
            self.runs[var] = self.runs[binding.var]
            self.values[binding.var] = var
            binding = replace(binding, var=var)
        self.keep(binding)

    def finish(self, seq: SeqExpr) -> SeqExpr:
        if not any(binding.var in self.runs for binding in bindings(seq)):
            return seq
        blocks: list[BindingBlock] = []
        for block in seq.blocks:
            if block.dataflow:
                blocks.append(block)
                continue
            grouped = groupby(block.bindings, lambda binding: self.runs.get(binding.var))
            blocks += (BindingBlock(tuple(found), run is not None) for run, found in grouped)
        return replace(seq, blocks=tuple(blocks))
