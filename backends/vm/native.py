"""Relax modules on target c: operators become PrimFuncs, PrimFuncs machine code."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from relay2relax.backends.c.codegen.program import generate
from relay2relax.backends.c.loaded_module import CompiledModule
from relay2relax.backends.c.merge_calls import merge_blocks
from relay2relax.backends.c.shape_checks import with_extent_checks
from relay2relax.backends.c.toolchain import compile_object, find_compiler
from relay2relax.backends.runtime.extern_calls import is_interpreted
from relay2relax.backends.vm.build_cache import place_of
from relay2relax.backends.vm.compiler import compile_module
from relay2relax.backends.vm.executable import Executable
from relay2relax.relax_ir.ir.expr import IRModule
from relay2relax.tir.ir.stmt import PrimFunc


def build_native(module: IRModule) -> Executable:
    """Return the executable of ``module`` on target c, found in the cache where one of its
    structure was built before.

    What depends on constants alone is computed here, once.
    """
    place = place_of(module)
    if place is None:
        return _build(module)
    found = place.load()
    if found is not None:
        return replace(found, complete=lambda: _build(module))
    executable = _build(module)
    place.store(executable)
    return executable


def _build(module: IRModule) -> Executable:
    from relay2relax.relax_ir.transform import LegalizeOps

    merged = merge_blocks(with_extent_checks(LegalizeOps()(module)))
    funcs = [f for f in merged.module.functions.values() if isinstance(f, PrimFunc) and not is_interpreted(f)]
    units, entries = generate(funcs, find_compiler().machine, merged.constants)
    with ThreadPoolExecutor(1) as beside:
        compiled = beside.submit(compile_object, units)
        functions, pool = compile_module(merged.module)
    native = CompiledModule(compiled.result(), entries, merged.constants)
    return Executable(functions, pool, "c", native, merged.constants)
