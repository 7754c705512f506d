"""ToNonDataflow: dataflow blocks become ordinary ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

from relay2relax.relax_ir.ir.expr import Binding, BindingBlock, Function, If, IRModule, MatchCast, SeqExpr, Var
from relay2relax.relax_ir.ir.visit import bindings
from relay2relax.relax_ir.transform.rewriting.mutator import Mutator, RelaxPass, rebound


@dataclass(frozen=True, slots=True)
class ToNonDataflow(RelaxPass):
    """Make every dataflow block an ordinary one, and blocks that follow each other one block."""

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` without dataflow blocks."""
        return _Flattener(mod).module()


class _Flattener(Mutator):
    def bind(self, binding: Binding | MatchCast) -> None:
        if binding.var.dataflow:
            var = binding.var
            plain = Var(var.name, var.info, span=var.span)
            self.values[var] = plain
            binding = rebound(binding, plain, binding.value)
        self.keep(binding)

    def finish(self, seq: SeqExpr, owner: If | Function) -> SeqExpr:
        if len(seq.blocks) <= 1 and not any(block.dataflow for block in seq.blocks):
            return seq
        found = tuple(bindings(seq))
        return replace(seq, blocks=(BindingBlock(found),) if found else ())
