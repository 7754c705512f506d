"""Normalize: programs that were put together by hand, in the form that every other pass expects."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from relay2relax.relax_ir.build.builder import BlockBuilder
from relay2relax.relax_ir.ir.expr import Function, GlobalVar, IRModule
from relay2relax.relax_ir.transform.rewriting.mutator import RelaxPass
from relay2relax.tir.ir.stmt import PrimFunc


@dataclass(frozen=True, slots=True)
class Normalize(RelaxPass):
    """Bring functions into A-normal form: what is nested is bound, and blocks of one kind that
    follow are one.

    What is normal already is left as it is. Raises what ``BlockBuilder.normalize`` raises.
    """

    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with its functions in normal form."""
        builder = BlockBuilder(mod)
        functions: dict[GlobalVar, Function | PrimFunc] = {}
        for var, func in mod.functions.items():
            normal = builder.normalize(func) if isinstance(func, Function) else func
            assert isinstance(normal, (Function, PrimFunc))
            functions[var] = normal
        if all(functions[var] is func for var, func in mod.functions.items()):
            return mod
        return replace(mod, functions=functions)
