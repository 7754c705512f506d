"""Relax modules on the C backend: operators become PrimFuncs, PrimFuncs machine code."""

from __future__ import annotations

from relay2relax.backends.c.block import merge_blocks
from relay2relax.backends.c.module import CompiledModule, compile_prim_funcs
from relay2relax.relax_ir.expr import IRModule
from relay2relax.tir.stmt import PrimFunc


def compile_native(module: IRModule) -> tuple[IRModule, CompiledModule]:
    """Return ``module`` with all operators as PrimFuncs, and those PrimFuncs compiled.

    What depends on constants alone is computed here, once."""
    from relay2relax.relax_ir.transform import LegalizeOps

    merged = merge_blocks(LegalizeOps()(module))
    funcs = [func for func in merged.module.functions.values() if isinstance(func, PrimFunc)]
    return merged.module, compile_prim_funcs(funcs, merged.constants)
