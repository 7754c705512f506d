"""What guards cost: programs without any, as they are built, and with every access looked at."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from common import Options, model_cases, shown, table

from relay2relax import relay_ir, translator
from relay2relax.backends.c.codegen.program import write_units
from relay2relax.backends.c.codegen.threads import LOADED
from relay2relax.backends.c.fusion.pipeline import fuse
from relay2relax.backends.c.fusion.rule import Fusion
from relay2relax.backends.c.loaded_module import CompiledModule
from relay2relax.backends.c.merge_calls import merge_blocks
from relay2relax.backends.c.schedule.schedule import RULES, fused, scheduled
from relay2relax.backends.c.stages import Program, stages_of
from relay2relax.backends.c.toolchain import compile_object, find_compiler
from relay2relax.core.dtype import Array, numpy_dtype
from relay2relax.relax_ir.transform import LegalizeOps
from relay2relax.tir import te
from relay2relax.tir.arith.evaluate import integer
from relay2relax.tir.ir.expr import Buffer, Var
from relay2relax.tir.ir.stmt import PrimFunc

FORMS = ("unguarded", "as built", "checked")
_ROUNDS = 5


def run(options: Options) -> dict[str, dict[str, float]]:
    """Print milliseconds of processor time per run of each form, and how many places are
    guarded.
    """
    results = {}
    for name, (func, constants, arguments) in _programs(options).items():
        modules = {form: _compiled(func, constants, form) for form in FORMS}
        times = _milliseconds({form: _call(one, func, arguments) for form, one in modules.items()}, options.seconds)
        results[name] = {"places": float(len(modules["as built"].entries[func.name].sites)), **times}
    rows = []
    for name, found in results.items():
        cost = found["as built"] / found["unguarded"] - 1
        rows.append([name, shown(found["places"]), *(shown(found[form]) for form in FORMS), f"{cost * 100:+.1f} %"])
    title = "Milliseconds of processor time per run: what guards cost"
    table(title, ["program", "guarded places", *FORMS, "cost as built"], rows)
    return results


def _programs(options: Options) -> dict[str, tuple[PrimFunc, Mapping[Buffer, Array], list[Array]]]:
    found: dict[str, tuple[PrimFunc, Mapping[Buffer, Array], list[Array]]] = {}
    for case in model_cases(options):
        typed = relay_ir.infer_type(relay_ir.parse(case.text))
        given = list(zip(case.names, case.arguments, case.weights, strict=True))
        weights = {name: value for name, value, is_weight in given if is_weight}
        merged = merge_blocks(LegalizeOps()(translator.lower_to_tir(typed, weights)))
        funcs = [f for f in merged.module.functions.values() if isinstance(f, PrimFunc)]
        if len(funcs) == 1:
            found[case.name] = funcs[0], merged.constants, [a for _, a, is_weight in given if not is_weight]
    if options.wants("rows by index"):
        random = np.random.default_rng(1)
        places, rows = te.placeholder((4096,), "int64", "places"), te.placeholder((30000, 256), "float32", "rows")
        func = te.create_prim_func([places, rows], [te.compute((4096, 256), lambda i, j: rows[places[i], j])])
        data = random.standard_normal((30000, 256)).astype(np.float32)
        found["rows by index"] = func, {}, [random.integers(0, 30000, 4096), data]
    return found


def _compiled(func: PrimFunc, constants: Mapping[Buffer, Array], form: str) -> CompiledModule:
    machine, known = find_compiler().machine, frozenset(constants)
    if form == "unguarded":
        results = frozenset(func.buffers[len(func.buffers) - func.num_outputs :])
        start = Fusion(Program(tuple(stages_of(func)), {}), machine, results, frozenset(func.buffers), known)
        program = fuse(start, [rule for rule in RULES if rule.name != "c.GuardAccesses"])
    else:
        program = fused(func, machine, known, native=True)
    units, entries = write_units([(func, scheduled(program, machine))], known, LOADED, form == "checked")
    return CompiledModule(compile_object(units), entries, constants)


def _call(module: CompiledModule, func: PrimFunc, arguments: list[Array]) -> Callable[[], Any]:
    kernel = module.kernel(func.name)
    inputs = [np.ascontiguousarray(one) for one in arguments]
    known = {
        extent: size
        for buffer, one in zip(func.buffers, inputs, strict=False)
        for extent, size in zip(buffer.shape, one.shape, strict=True)
        if isinstance(extent, Var)
    }
    outputs = [
        np.empty([integer(extent, known) for extent in buffer.shape], numpy_dtype(buffer.dtype))
        for buffer in func.buffers[len(inputs) :]
    ]
    return lambda: kernel(*inputs, *outputs)


def _milliseconds(calls: Mapping[str, Callable[[], Any]], seconds: float) -> dict[str, float]:
    """Return the least milliseconds of processor time of each call; they take turns."""
    found = dict.fromkeys(calls, float("inf"))
    for call in calls.values():
        call()
    for _ in range(_ROUNDS):
        for form, call in calls.items():
            count, start = 0, time.process_time()
            while (spent := time.process_time() - start) < seconds / (_ROUNDS * len(calls)) or not count:
                call()
                count += 1
            found[form] = min(found[form], spent / count * 1e3)
    return found
