"""PrimFuncs as C files: what runs ahead, what runs on every call, and where everything lies in
memory.

A PrimFunc becomes one exported C function that calls one C function per stage, in order; stages
that print alike share it. What depends on constants alone is computed by a second exported
function, which is called once: packed weights, folded scales, concatenated matrices. The text does
not depend on the values of floating-point constants.

An entry takes four tables: the parameters' buffers, then the arena of temporaries; the variables'
values; the constants that it reads, then the memory of what was computed ahead, then (ahead only)
an arena; and seconds by stage, or null. It returns 0; where an index lies outside its tensor it
stops behind that stage and returns the number of the place among ``Entry.sites``, from 1 on.
``r2r_wrong`` then has the index and the extent, for the thread that called. It returns the number
below zero where there is no memory, and ``STOPPED`` where it asked, and was told to end. An entry
with memory of its own is told behind the variables how many bytes it may have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from relay2relax.backends.c.codegen.codegen import Kernel, stage_kernel
from relay2relax.backends.c.codegen.dots import with_dots
from relay2relax.backends.c.codegen.expression import operand, whole
from relay2relax.backends.c.codegen.header import HEADER
from relay2relax.backends.c.codegen.names import Site
from relay2relax.backends.c.codegen.plan import Arena, plan_memory
from relay2relax.backends.c.codegen.threads import ASKING, DECLARATION, ENDED, POOL
from relay2relax.backends.c.fusion.bytes.spans import Span
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.schedule.schedule import Schedule, Scheduled, fused, scheduled
from relay2relax.backends.c.stages import owners_of, settled_of
from relay2relax.backends.c.unit import Unit
from relay2relax.core.dtype import bits, is_float
from relay2relax.core.errors import ExecutionError, UnsupportedError
from relay2relax.core.errors.table import running
from relay2relax.tir.analysis.relations import Relation, extent_relations
from relay2relax.tir.arith.evaluate import no_extent
from relay2relax.tir.ir.expr import Binary, Buffer, IntImm, PrimExpr, Var, binary
from relay2relax.tir.ir.stmt import PrimFunc
from relay2relax.tir.ir.visit import shape_variables, subexpressions, variables

# Kernels of about this much text make one file; files are compiled side by side.
_UNIT_CHARACTERS = 24000

CLOCK = r"""
#include <time.h>
/* Seconds since the last lap are added to *sum; t[0] is when that was. */
static __attribute__((unused, noinline)) void r2r_lap(double* t, double* sum) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  const double seconds = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
  if (sum) *sum += seconds - t[0];
  t[0] = seconds;
}
"""

REPORT = r"""
static _Thread_local int64_t r2r_last[2];
static __attribute__((unused, noinline, cold)) int64_t r2r_report(const int64_t* wrong, int64_t before) {
  r2r_last[0] = wrong[1];
  r2r_last[1] = wrong[2];
  if (wrong[0] < 0) return -0x7fffffffffffffff;
  return wrong[2] < 0 ? -before - wrong[0] : before + wrong[0];
}
R2R_EXPORT void r2r_wrong(int64_t* found) { memcpy(found, r2r_last, sizeof r2r_last); }
"""

# Bytes that nobody limits.
ANY_SIZE = 0x7FFFFFFFFFFFFFFF

# A loop over so many empty ones is soon over.
_FEW = 1 << 20
# What ``size_text`` writes.
_SIZES = ("+", "-", "*", "//", "%", "min", "max")


@dataclass(frozen=True, slots=True)
class Entry:
    """How the C functions of one PrimFunc are called, and what they do, stage by stage.

    ``written`` are the places of the parameters that it writes. ``constants`` are read on every
    call; ``sources`` only by the function that runs ahead, ``ahead``, which fills ``prepared`` (of
    static size). There is no such function where nothing can be computed ahead. ``relations`` are
    what a call has to satisfy before it is made. ``sites`` are where indices are looked at, those
    of the function that runs ahead behind the others. ``steps`` are those of its loops that are
    known beforehand, ``steps_ahead`` of the function that runs ahead. An entry ``asks`` where it
    may run long, and has memory of its ``own``. Calls look whether what it writes
    lies ``apart`` from the other arguments, unless results are always new.
    """

    func: PrimFunc
    symbol: str
    variables: tuple[Var, ...]
    arena: Arena
    stages: tuple[Scheduled, ...]
    constants: tuple[Buffer, ...] = ()
    sources: tuple[Buffer, ...] = ()
    prepared: Arena = Arena({}, IntImm(0))
    scratch: Arena = Arena({}, IntImm(0))
    ahead: str | None = None
    written: tuple[int, ...] = ()
    relations: tuple[Relation, ...] = ()
    sites: tuple[Site, ...] = ()
    steps: PrimExpr = IntImm(0, "int64")
    steps_ahead: PrimExpr = IntImm(0, "int64")
    asks: bool = False
    own: bool = False
    apart: bool = True


@dataclass(frozen=True, slots=True)
class _Stage:
    scheduled: Scheduled
    kernel: Kernel


@dataclass(slots=True)
class _Function:
    """A kernel by its name; ``often`` says whether it runs on every call."""

    name: str
    text: str
    declaration: str
    often: bool


def generate(
    funcs: Sequence[PrimFunc],
    machine: Machine,
    constants: Iterable[Buffer] = (),
    pool: str = POOL,
    checked: bool = False,
    spans: Mapping[Buffer, Span] | None = None,
) -> tuple[list[Unit], dict[str, Entry]]:
    """Return the C files of ``funcs``, scheduled for ``machine``, and by name how each is called.

    ``constants`` are buffers of known content, ``spans`` says between which integers it lies;
    ``pool`` is the text of the pool of threads, or of the way to it.
    """
    known = frozenset(constants)
    planned = [(func, scheduled(fused(func, machine, known, native=True, spans=spans), machine)) for func in funcs]
    return write_units(planned, known, pool, checked)


def write_units(
    planned: Sequence[tuple[PrimFunc, Schedule]],
    constants: frozenset[Buffer],
    pool: str = POOL,
    checked: bool = False,
) -> tuple[list[Unit], dict[str, Entry]]:
    """Return the C files of functions with their schedules, and by name how each is called.

    The last file holds the entries and the kernels that only run ahead; nothing in it is worth a
    compiler's time. Raises ExecutionError where two functions have one name.
    """
    kernels: dict[str, _Function] = {}
    bodies: list[str] = []
    entries: dict[str, Entry] = {}
    for number, (func, plan) in enumerate(planned):
        entry, body = _entry(func, plan, f"r2r_entry_{number}", kernels, constants, checked, pool != POOL)
        if func.name in entries:
            raise ExecutionError(f"two functions are called {func.name!r}")
        entries[func.name] = entry
        bodies.append(body)
    asks = any(entry.asks for entry in entries.values())
    head = HEADER + DECLARATION + (ASKING if asks and pool != POOL else "")
    often = [function.text for function in kernels.values() if function.often]
    units = [Unit("\n\n".join([with_dots(head, texts), *texts]) + "\n") for texts in _in_files(often)]
    declarations = [function.declaration for function in kernels.values() if function.often]
    once = [function.text for function in kernels.values() if not function.often]
    # Whoever loads an exported library says on how many threads it runs, even one without loops.
    threads = [pool] if pool == POOL or any("r2r_parallel(" in one.text for one in kernels.values()) else []
    report = [REPORT] if asks else []
    if asks and pool != POOL:
        report.append(ENDED)
    last = "\n\n".join([with_dots(head, once), CLOCK, *report, *threads, *declarations, *once, *bodies]) + "\n"
    return [*units, Unit(last, runs_once=True)], entries


def _in_files(texts: Sequence[str]) -> list[list[str]]:
    """Return ``texts`` in order, in files of about one length."""
    whole = sum(map(len, texts))
    count = -(-whole // _UNIT_CHARACTERS)
    units: list[list[str]] = [[] for _ in range(count)]
    begin = 0
    for text in texts:
        units[begin * count // whole].append(text)
        begin += len(text)
    return [unit for unit in units if unit]


def _entry(
    func: PrimFunc,
    plan: Schedule,
    symbol: str,
    kernels: dict[str, _Function],
    constants: frozenset[Buffer],
    checked: bool,
    polled: bool,
) -> tuple[Entry, str]:
    params = func.buffers
    extents = shape_variables([*params, *func.root_buffers])
    scalars = [p for p in func.params if p not in func.buffer_map]
    variables = tuple(dict.fromkeys([*scalars, *(e for b in params for e in b.shape if isinstance(e, Var))]))
    numbers = [one for one in variables if not is_float(one.dtype)]
    owners = owners_of(func)
    around = extents, plan.memory, plan.begin, checked, numbers, polled
    stages = [_Stage(one, _owned(stage_kernel(one.stmt, *around), owners)) for one in plan.stages]
    stages = _without_repetitions(stages, frozenset(params))
    ahead, later = _split_ahead(stages, frozenset(params), constants)
    made = {buffer for stage in ahead for buffer in stage.kernel.written}
    wanted = {buffer for stage in later for buffer in stage.kernel.buffers}
    last = len(ahead)
    prepared = plan_memory({buffer: (0, last) for buffer in _used(ahead) if buffer in made & wanted})
    scratch = plan_memory(_lifetimes(ahead, constants | (made & wanted)))
    arena = plan_memory(_lifetimes(later, constants | made | set(params)))
    read_always = tuple(buffer for buffer in _used(later) if buffer in constants)
    sources = tuple(buffer for buffer in _used(ahead) if buffer in constants)
    names = {var: f"n{number}" for number, var in enumerate(variables)}
    places = {buffer: f"a[{number}]" for number, buffer in enumerate(params)}
    places |= {buffer: f"k[{number}]" for number, buffer in enumerate(read_always)}
    places |= _places(prepared, f"k[{len(read_always)}]", names) | _places(arena, f"a[{len(params)}]", names)
    lines = _entry_text(symbol, later, places, names, _named(later, kernels, often=True), 0)
    sites = _sites(later)
    if ahead:
        places = {buffer: f"k[{number}]" for number, buffer in enumerate(sources)}
        places |= _places(prepared, f"k[{len(sources)}]", names) | _places(scratch, f"k[{len(sources) + 1}]", names)
        named = _named(ahead, kernels, often=False)
        lines += _entry_text(f"{symbol}_ahead", ahead, places, {}, named, len(sites))
        sites += _sites(ahead)
    entry = Entry(
        func,
        symbol,
        variables,
        arena,
        tuple(stage.scheduled for stage in later),
        read_always,
        sources,
        prepared,
        scratch,
        f"{symbol}_ahead" if ahead else None,
        tuple(number for number, buffer in enumerate(params) if any(buffer in one.kernel.written for one in later)),
        extent_relations(func, owners, settled_of(func)),
        sites,
        _steps(later),
        _steps(ahead),
        any(stage.kernel.asks for stage in stages),
        any(site.memory for site in sites),
    )
    return entry, "\n".join(lines)


def _owned(kernel: Kernel, owners: Mapping[Buffer, str]) -> Kernel:
    """Return a kernel whose sites name the function whose result it writes, where they name none:
    memory that it asks for, and accesses that are looked at without a guard.
    """
    names = {owners.get(buffer, "") for buffer in kernel.written}
    if len(names) != 1:
        return kernel
    (name,) = names
    return replace(kernel, sites=tuple(one if one.function else replace(one, function=name) for one in kernel.sites))


def _without_repetitions(stages: Sequence[_Stage], params: frozenset[Buffer]) -> list[_Stage]:
    """Return the stages without those that do what one before them has done: packing one matrix for
    several products.

    Only buffers that are written once hold at the second place what they held at the first.
    """
    writers: dict[Buffer, int] = {}
    for stage in stages:
        for buffer in stage.kernel.written:
            writers[buffer] = writers.get(buffer, 0) + 1
    same: dict[Buffer, Buffer] = {}
    seen: dict[object, Buffer] = {}
    found: list[_Stage] = []
    for stage in stages:
        kernel = stage.kernel
        if not same.keys().isdisjoint(kernel.buffers):
            kernel = replace(kernel, buffers=tuple(same.get(buffer, buffer) for buffer in kernel.buffers))
        written = list(kernel.written)
        steady = all(writers.get(b, 0) <= (b not in params) for b in kernel.buffers)
        if len(written) == 1 and written[0] not in params and steady:
            operands = tuple(None if buffer is written[0] else buffer for buffer in kernel.buffers)
            first = seen.setdefault((kernel.text, operands, kernel.begins, kernel.scalars), written[0])
            if first is not written[0]:
                same[written[0]] = first
                continue
        found.append(_Stage(stage.scheduled, kernel))
    return found


def _split_ahead(
    stages: Sequence[_Stage], params: frozenset[Buffer], constants: frozenset[Buffer]
) -> tuple[list[_Stage], list[_Stage]]:
    """Return the stages that depend on constants alone, and the others, each in order."""
    writers: dict[Buffer, int] = {}
    for stage in stages:
        for buffer in stage.kernel.written:
            writers[buffer] = writers.get(buffer, 0) + 1
    known = set(constants)
    ahead: list[_Stage] = []
    later: list[_Stage] = []
    for stage in stages:
        kernel = stage.kernel
        read = set(kernel.buffers) - kernel.written
        fixed = read <= known and not kernel.scalars and bool(read) and not stage.scheduled.anew
        if fixed and all(writers[buffer] == 1 and buffer not in params for buffer in kernel.written):
            ahead.append(stage)
            known |= kernel.written
        else:
            later.append(stage)
    # A stage in whose result nobody is interested any more is not run.
    wanted: set[Buffer] = {buffer for stage in later for buffer in stage.kernel.buffers}
    needed: list[_Stage] = []
    for stage in reversed(ahead):
        if stage.kernel.written & wanted:
            needed.append(stage)
            wanted |= set(stage.kernel.buffers)
    return needed[::-1], later


def _used(stages: Iterable[_Stage]) -> list[Buffer]:
    return list(dict.fromkeys(buffer for stage in stages for buffer in stage.kernel.buffers))


def _sites(stages: Iterable[_Stage]) -> tuple[Site, ...]:
    return tuple(site for stage in stages for site in stage.kernel.sites)


def _steps(stages: Iterable[_Stage]) -> PrimExpr:
    count: PrimExpr = IntImm(0, "int64")
    for stage in stages:
        count = binary("+", count, stage.kernel.steps.count)
    return count


def _lifetimes(stages: Sequence[_Stage], elsewhere: Iterable[Buffer]) -> dict[Buffer, tuple[int, int]]:
    """Return the first and last stage of every buffer that does not lie elsewhere."""
    found: dict[Buffer, tuple[int, int]] = {}
    skipped = set(elsewhere)
    for step, stage in enumerate(stages):
        for buffer in stage.kernel.buffers:
            if buffer not in skipped:
                found[buffer] = (found.get(buffer, (step, step))[0], step)
    return found


def _places(arena: Arena, base: str, names: Mapping[Var, str]) -> dict[Buffer, str]:
    return {buffer: f"(void*)((char*){base} + {size_text(offset, names)})" for buffer, offset in arena.offsets.items()}


def _named(stages: Sequence[_Stage], kernels: dict[str, _Function], often: bool) -> list[str]:
    """Return the names of the stages' functions, which are shared with stages that print alike."""
    names = []
    for stage in stages:
        text, declaration = stage.kernel.text, stage.kernel.declaration
        found = kernels.get(text)
        if found is None:
            name = f"r2r_stage_{len(kernels)}"
            found = kernels[text] = _Function(name, text.replace("@", name), declaration.replace("@", name), often)
        found.often = found.often or often
        names.append(found.name)
    return names


def _entry_text(
    symbol: str,
    stages: Sequence[_Stage],
    places: Mapping[Buffer, str],
    names: Mapping[Var, str],
    functions: Sequence[str],
    before: int,
) -> list[str]:
    """Return the text of an entry; ``before`` so many sites are those of another one."""
    lines = [f"R2R_EXPORT int64_t {symbol}(void* const* a, const int64_t* s, void* const* k, double* t) {{"]
    lines += [f"  {_value(var, name, number)} (void){name};" for number, (var, name) in enumerate(names.items())]
    lines += ["  (void)a; (void)s; (void)k;", "  if (t) r2r_lap(t, 0);"]
    if any(stage.kernel.asks for stage in stages):
        left = f"s ? s[{len(names)}] : {ANY_SIZE}" if any(site.memory for site in _sites(stages)) else "0"
        lines.append(f"  int64_t wrong[6] = {{0, 0, 0, {left}, (int64_t)(size_t)&r2r_last, 0}};")
    for number, (stage, function) in enumerate(zip(stages, functions, strict=True)):
        filled = _filled(stage.kernel, names)
        lines.append(f"  {filled}{function}({_arguments(stage.kernel, places, names)});")
        lines.append(f"  if (t) r2r_lap(t, t + {number + 1});")
        if stage.kernel.asks:
            lines.append(f"  if (wrong[0]) return r2r_report(wrong, {before});")
            before += len(stage.kernel.sites)
    return [*lines, "  return 0;", "}"]


def _filled(kernel: Kernel, names: Mapping[Var, str]) -> str:
    """Return, as C, the condition that a kernel writes anything; nothing where loops find out soon.

    A tensor without elements may have an extent of any size, and a loop over it would never end.
    """
    asked = [_asked(buffer.shape, names) for buffer in kernel.written]
    if not asked or not all(asked):
        return ""
    return f"if ({' || '.join(asked)}) " if len(asked) == 1 else f"if ({' || '.join(f'({one})' for one in asked)}) "


def _asked(shape: Sequence[PrimExpr], names: Mapping[Var, str]) -> str:
    """Return, as C, the condition that a tensor has elements; nothing where loops find out soon."""
    far = [extent for extent in shape if not isinstance(extent, IntImm) or extent.value > _FEW]
    if IntImm(0) in shape:
        return "0" if far else ""
    asked = [extent for extent in far if names.keys() >= {*variables(extent)} and _is_size(extent)]
    return " && ".join(f"{size_text(one, names)} > 0" for one in asked) if len(far) > 1 else ""


def _is_size(extent: PrimExpr) -> bool:
    return all(
        isinstance(one, (IntImm, Var)) or (isinstance(one, Binary) and one.op in _SIZES)
        for one in subexpressions(extent)
    )


def _value(var: Var, name: str, number: int) -> str:
    """Return the declaration of a variable: an extent, or a scalar whose bits stand among the
    integers.
    """
    if not is_float(var.dtype):
        return f"const int64_t {name} = s[{number}];"
    if bits(var.dtype) < 32:
        raise UnsupportedError(
            f"scalars of {var.dtype} are not passed to compiled code; pass float32", kind=running.NOT_ON_BACKEND
        )
    return f"double {name}; memcpy(&{name}, s + {number}, sizeof {name});"


def _arguments(kernel: Kernel, names: Mapping[Buffer, str], scalars: Mapping[Var, str]) -> str:
    """Return the arguments of a call of ``kernel``, given what buffers and variables are called
    there.
    """
    places = []
    for buffer, begin in zip(kernel.buffers, kernel.begins, strict=True):
        places.append(f"(void*)((char*){names[buffer]} + {begin})" if begin else names[buffer])
    return ", ".join([*places, *(scalars[var] for var in kernel.scalars), *(["wrong"] if kernel.asks else [])])


def size_text(size: PrimExpr, names: Mapping[Var, str]) -> str:
    """Return an extent as C; numbers beyond 64 bits wrap around."""
    match size:
        case IntImm(value):
            return operand(whole(value))
        case Var():
            return names[size]
        case Binary(("+" | "-" | "*") as op, a, b):
            return f"({size_text(a, names)} {op} {size_text(b, names)})"
        case Binary(("//" | "%") as op, a, b):
            # Simplification may leave a negative part to divide, of a size that is not.
            name = "r2r_floordiv_int64_t" if op == "//" else "r2r_floormod_int64_t"
            return f"{name}({size_text(a, names)}, {size_text(b, names)})"
        case Binary(("min" | "max") as op, a, b):
            left, right = size_text(a, names), size_text(b, names)
            return f"({left} {'<' if op == 'min' else '>'} {right} ? {left} : {right})"
    raise no_extent(size)
