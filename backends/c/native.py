"""Relax modules on the C backend: operators become PrimFuncs, PrimFuncs machine code."""

from __future__ import annotations

from collections.abc import Mapping

from relay2relax.backends.c.block import merge_blocks
from relay2relax.backends.c.module import CompiledModule, compile_prim_funcs
from relay2relax.core.dtype import Array
from relay2relax.relax_ir.expr import IRModule
from relay2relax.tir.expr import Buffer
from relay2relax.tir.stmt import PrimFunc


def compile_native(module: IRModule) -> tuple[IRModule, CompiledModule, Mapping[Buffer, Array]]:
    """Return ``module`` with all operators as PrimFuncs, those PrimFuncs compiled, and the constants that they read.

    What depends on constants alone is computed here, once."""
    from relay2relax.relax_ir.transform import LegalizeOps

    merged = merge_blocks(LegalizeOps()(module))
    funcs = [func for func in merged.module.functions.values() if isinstance(func, PrimFunc)]
    return merged.module, compile_prim_funcs(funcs, merged.constants), merged.constants
