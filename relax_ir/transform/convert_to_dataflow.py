"""ConvertToDataflow: what has neither effects nor branches is gathered in dataflow blocks."""

from __future__ import annotations

from dataclasses import dataclass, replace

from relay2relax.relax_ir.ir.expr import Binding, BindingBlock, Function, If, IRModule, MatchCast, SeqExpr
from relay2relax.relax_ir.transform.canonicalize_bindings import CanonicalizeBindings
from relay2relax.relax_ir.transform.rewriting.mutator import Mutator, RelaxPass


@dataclass(frozen=True, slots=True)
class ConvertToDataflow(RelaxPass):
    """Make dataflow blocks of the bindings that may stand in one, ``min_size`` or more in a row.

    Blocks that are dataflow blocks already stay, and take in what stands beside them. What a block
    need not show becomes its own, as :class:`CanonicalizeBindings` does it, which runs afterwards.
    """

    min_size: int = 2

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with its dataflow in blocks."""
        return CanonicalizeBindings().transform(_Gatherer(mod, self.min_size).module())


class _Gatherer(Mutator):
    def __init__(self, mod: IRModule, min_size: int) -> None:
        super().__init__(mod)
        self.min_size = min_size

    def fits(self, binding: Binding | MatchCast) -> bool:
        """Whether a binding may stand in a dataflow block."""
        return not isinstance(binding.value, If) and self.inference.is_pure(binding.value)

    def finish(self, seq: SeqExpr, owner: If | Function) -> SeqExpr:
        blocks: list[BindingBlock] = []
        ordinary: list[Binding | MatchCast] = []
        row: list[Binding | MatchCast] = []
        given = False

        def close() -> None:
            nonlocal given
            if given or len(row) >= max(self.min_size, 1):
                if ordinary:
                    blocks.append(BindingBlock(tuple(ordinary)))
                    ordinary.clear()
                blocks.append(BindingBlock(tuple(row), dataflow=True))
            else:
                ordinary.extend(row)
            row.clear()
            given = False

        for block in seq.blocks:
            given = given or block.dataflow
            for binding in block.bindings:
                if block.dataflow or self.fits(binding):
                    row.append(binding)
                else:
                    close()
                    ordinary.append(binding)
        close()
        if ordinary:
            blocks.append(BindingBlock(tuple(ordinary)))
        same = [(block.dataflow, len(block.bindings)) for block in blocks]
        if same == [(block.dataflow, len(block.bindings)) for block in seq.blocks]:
            return seq
        return replace(seq, blocks=tuple(blocks))
