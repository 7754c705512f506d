"""Relax modules on target c: operators become PrimFuncs, PrimFuncs machine code.

:data:`STEPS` has the steps of a build in the order in which they run. ``print(steps_text(STEPS))``
shows them; the rules within ``c.FuseStages`` are ``backends.c.schedule.schedule.RULES``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field, replace

from relay2relax.backends.c.codegen.program import Entry, write_units
from relay2relax.backends.c.codegen.threads import LOADED
from relay2relax.backends.c.fixed_extents import with_fixed_extents
from relay2relax.backends.c.fusion.bytes.spans import spans_of_arrays
from relay2relax.backends.c.loaded_module import CompiledModule
from relay2relax.backends.c.loading import MachineCode
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.merge_calls import merge_blocks
from relay2relax.backends.c.schedule.schedule import Schedule, fused, scheduled
from relay2relax.backends.c.shape_checks import with_extent_checks
from relay2relax.backends.c.stages import Program
from relay2relax.backends.c.step import Step
from relay2relax.backends.c.toolchain import compile_object, find_compiler
from relay2relax.backends.c.unit import Unit
from relay2relax.backends.defined_results import with_defined_results
from relay2relax.backends.runtime.extern_calls import is_interpreted, may_not_end
from relay2relax.backends.vm.build_cache import place_of
from relay2relax.backends.vm.compiler import compile_module
from relay2relax.backends.vm.executable import Executable
from relay2relax.core.dtype import Array
from relay2relax.core.errors import ExecutionError
from relay2relax.core.limits import active
from relay2relax.core.passes import Sequential
from relay2relax.relax_ir.ir.expr import IRModule
from relay2relax.tir.ir.expr import Buffer
from relay2relax.tir.ir.stmt import PrimFunc


def build_native(module: IRModule, checked: bool = False, strict_nan: bool = False) -> Executable:
    """Return the executable of ``module`` on target c, found in the cache where one of its
    structure was built before.

    What depends on constants alone is computed here, once. With ``checked`` every access looks
    whether it is inside.
    """
    # What is kept was built without limits, or with them: such loops are compiled, or are not.
    unbounded = any(isinstance(one, PrimFunc) and may_not_end(one) for one in module.functions.values())
    place = None if active() is not None and unbounded else place_of(module, checked, strict_nan)
    if place is None:
        return _build(module, checked, strict_nan)
    found = place.load()
    if found is not None:
        return replace(found, complete=lambda: _build(module, checked, strict_nan))
    executable = _build(module, checked, strict_nan)
    place.store(executable)
    return executable


@dataclass(frozen=True, slots=True, eq=False)
class NativeBuild:
    """What steps have made so far of a module; ``beside`` runs the C compiler.

    ``programs`` and ``schedules`` are those of ``funcs``, ``entries`` say how these are called;
    results of those in ``merged`` are always new.
    With ``checked`` every access of theirs is looked at.
    """

    module: IRModule
    machine: Machine
    beside: Executor
    constants: Mapping[Buffer, Array] = field(default_factory=dict)
    funcs: tuple[PrimFunc, ...] = ()
    merged: frozenset[str] = frozenset()
    programs: tuple[Program, ...] = ()
    schedules: tuple[Schedule, ...] = ()
    units: Sequence[Unit] = ()
    entries: Mapping[str, Entry] = field(default_factory=dict)
    compiled: Future[MachineCode] | None = None
    executable: Executable | None = None
    checked: bool = False

    def __str__(self) -> str:
        return "\n".join(unit.text for unit in self.units) or str(self.module)


def _build(module: IRModule, checked: bool, strict_nan: bool) -> Executable:
    machine = replace(find_compiler().machine, transforms=not strict_nan)
    with ThreadPoolExecutor(1) as beside:
        build = Sequential(STEPS, "c.Build")(NativeBuild(module, machine, beside, checked=checked))
    assert build.executable is not None
    return build.executable


def _lower(build: NativeBuild) -> NativeBuild:
    from relay2relax.relax_ir.transform import LegalizeOps

    return replace(build, module=with_defined_results(LegalizeOps()(build.module)))


def _merge(build: NativeBuild) -> NativeBuild:
    merged = merge_blocks(build.module)
    functions = merged.module.functions.values()
    # What was put together is made of functions that are compiled.
    funcs = tuple(f for f in functions if isinstance(f, PrimFunc) and (f.name in merged.made or not is_interpreted(f)))
    return replace(build, module=merged.module, constants=merged.constants, funcs=funcs, merged=merged.made)


def _fuse(build: NativeBuild) -> NativeBuild:
    known, spans = frozenset(build.constants), spans_of_arrays(build.constants)
    programs = tuple(fused(func, build.machine, known, native=True, spans=spans) for func in build.funcs)
    return replace(build, programs=programs)


def _schedule(build: NativeBuild) -> NativeBuild:
    return replace(build, schedules=tuple(scheduled(program, build.machine) for program in build.programs))


def _write(build: NativeBuild) -> NativeBuild:
    planned = list(zip(build.funcs, build.schedules, strict=True))
    units, entries = write_units(planned, frozenset(build.constants), LOADED, build.checked)
    entries = {name: replace(entry, apart=name not in build.merged) for name, entry in entries.items()}
    return replace(build, units=units, entries=entries)


def _compile(build: NativeBuild) -> NativeBuild:
    return replace(build, compiled=build.beside.submit(copy_context().run, compile_object, build.units))


def _link(build: NativeBuild) -> NativeBuild:
    functions, pool = compile_module(build.module)
    if build.compiled is None:
        raise ExecutionError("c.Link runs after c.Compile")
    native = CompiledModule(build.compiled.result(), build.entries, build.constants)
    return replace(build, executable=Executable(functions, pool, "c", native, build.constants))


STEPS: tuple[Step[NativeBuild], ...] = (
    Step("c.Lower", "Operators become PrimFuncs (LegalizeOps); all later steps look at those.", _lower, required=True),
    Step(
        "c.CheckShapes",
        "What operators ask of symbolic extents becomes assertions; while it is still known which operator asks "
        "(shape_checks.py).",
        lambda build: replace(build, module=with_extent_checks(build.module)),
    ),
    Step(
        "c.FixExtents",
        "Extents that assertions say are one number are that number from there on (fixed_extents.py).",
        lambda build: replace(build, module=with_fixed_extents(build.module)),
    ),
    Step(
        "c.MergeCalls",
        "Every run of calls becomes one PrimFunc, so that rules see all that is computed together (merge_calls.py).",
        _merge,
        required=True,
    ),
    Step(
        "c.FuseStages",
        "The stages of every PrimFunc become fewer, rule by rule (fusion/pipeline.py, schedule/schedule.py).",
        _fuse,
        required=True,
    ),
    Step("c.ScheduleLoops", "Every stage becomes loops for the machine (schedule/).", _schedule, required=True),
    Step("c.WriteC", "Loops become C functions, memory is planned (codegen/program.py).", _write, required=True),
    Step(
        "c.Compile",
        "The C compiler is started; it runs beside the next step (toolchain.py).",
        _compile,
        required=True,
    ),
    Step(
        "c.Link",
        "What is left of the Relax functions becomes instructions of the virtual machine, and the compiled object "
        "is loaded (vm/compiler.py, loaded_module.py).",
        _link,
        required=True,
    ),
)
