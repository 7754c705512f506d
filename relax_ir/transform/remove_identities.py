"""RemoveIdentities: calls that only say something of a value, where it lies for one, become that
value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from relay2relax.relax_ir.inference.runtime_calls import identity
from relay2relax.relax_ir.ir.expr import Binding, IRModule, MatchCast
from relay2relax.relax_ir.transform.rewriting.mutator import Mutator, RelaxPass


@dataclass(frozen=True, slots=True)
class RemoveIdentities(RelaxPass):
    """Bind the argument itself in place of ``R.to_vdevice`` and its like: a program runs on one
    device here.
    """

    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` without such calls."""
        return _Remover(mod).module()


class _Remover(Mutator):
    def bind(self, binding: Binding | MatchCast) -> None:
        source = identity(binding.value) if isinstance(binding, Binding) else None
        self.keep(binding if source is None else replace(binding, value=source))
