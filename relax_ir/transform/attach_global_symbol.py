"""AttachGlobalSymbol: every function can be called from outside, under its name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from relay2relax.core.errors import UnsupportedError
from relay2relax.relax_ir.ir.expr import IRModule
from relay2relax.relax_ir.transform.rewriting.mutator import RelaxPass


@dataclass(frozen=True, slots=True)
class AttachGlobalSymbol(RelaxPass):
    """Make private functions public.

    Raises UnsupportedError for a module with the attribute ``system_lib_prefix``, which asks for
    other names.
    """

    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with public functions only."""
        if mod.attrs.get("system_lib_prefix"):
            raise UnsupportedError("functions are not renamed after `system_lib_prefix`")
        if not any(func.private for func in mod.functions.values()):
            return mod
        made = {var: replace(func, private=False) if func.private else func for var, func in mod.functions.items()}
        return replace(mod, functions=made)
