"""The C compiler: found, asked what it can do, and run; shared objects are cached by content.

A shared object's name is a hash of its source, the flags, and what the compiler says of itself and
of the processor, so that an object is never loaded where it does not fit. Several processes may
compile the same module at once.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from relay2relax.backends.c.loading import MachineCode
from relay2relax.backends.c.machine import LEVELS, Machine, own_caches
from relay2relax.backends.c.platforms import NATIVE, TRIPLES, Platform, cross_compiler, platform_of
from relay2relax.backends.c.unit import Unit
from relay2relax.backends.cache import Store, open_store, remove_left_over, work_folder
from relay2relax.backends.processes import Running, started
from relay2relax.backends.threads import processors
from relay2relax.core.errors import CompilerError, Diagnostic, FileError
from relay2relax.core.errors.nearest import nearest
from relay2relax.core.errors.table.files import OPTION
from relay2relax.core.limits import Budget, active
from relay2relax.core.progress import going_on

_FLAGS = (
    "-std=gnu11",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=fast",
    "-fwrapv",
    "-w",
)
# What compilers say of vectors whose width is fixed, or at least so many bits; and the bytes of the
# widest that generated code has a type for.
_VECTOR_BITS = ("__ARM_FEATURE_SVE_BITS", "__riscv_v_min_vlen")
_WIDEST = 64
# So many steps of a sum are written out for NEON: registers are many and short there, and loads
# reach far from an address.
_STEPS = 4
_CANDIDATES = ("cc", "gcc", "clang")
_HELP = (
    "install gcc or clang, name a compiler in the environment variable CC, or install the extra: "
    "pip install 'relay2relax[cc]'"
)


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C compiler: how it is started, and the macros it predefines for a platform; whether what it
    makes runs ``here``, or on some machine.
    """

    command: tuple[str, ...]
    version: str
    macros: Mapping[str, str]
    identity: str
    platform: Platform = NATIVE
    here: bool = True

    def __str__(self) -> str:
        return f"{self.version} ({shlex.join(self.command)})"

    @property
    def machine(self) -> Machine:
        """What the schedules need to know of the processor."""
        wide = "__AVX512F__" in self.macros
        size = 64 if wide else 32 if "__AVX2__" in self.macros else 16
        for name in _VECTOR_BITS:
            size = max(size, min(int(self.macros.get(name, "0")) // 8, _WIDEST))
        # On AArch64 and RISC-V compilers load early, and need registers for that.
        many = not self.macros.keys().isdisjoint(("__aarch64__", "__riscv_v_min_vlen"))
        neon = "__aarch64__" in self.macros and size == 16
        registers = 32 if wide else 23 if neon else 24 if many else 16
        steps = _STEPS if neon else 1
        first, second = own_caches() if self.here else (Machine().first_cache_bytes, Machine().cache_bytes)
        byte = "int8" if "__ARM_FEATURE_DOTPROD" in self.macros else "uint8" if "__x86_64__" in self.macros else None
        fours = not self.macros.keys().isdisjoint(("__AVX512VNNI__", "__AVXVNNI__", "__ARM_FEATURE_DOTPROD"))
        found = Machine(size, registers, broadcasts=wide, steps=steps, byte=byte, fours=fours)
        return replace(found, first_cache_bytes=first, cache_bytes=second)

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags every file is compiled with."""
        return (*_FLAGS, *self.target_flags)

    @property
    def target_flags(self) -> tuple[str, ...]:
        """Those of the flags that choose the instruction set."""
        wide = ("-mprefer-vector-width=512",) if "__AVX512F__" in self.macros else ()
        return (*self.platform.flags(self.command), *wide)


def find_compiler(march: str = "native", target: str = "", cpu: str = "") -> Compiler:
    """Return the C compiler: ``CC``, else cc, gcc or clang, else the one in the ziglang wheel.

    ``march`` is the instruction set to compile for: by default the one that ``CC`` names with an
    option ``-march=``, else this machine's; ``cpu`` is a processor, in its place. For a ``target``,
    a triple such as ``aarch64-linux-gnu`` or one of the short names ``TRIPLES``, it is that
    triple's gcc, else the ziglang wheel's; ``CC`` is for this machine. Raises CompilerError where
    there is no compiler, where it does not run, or does not know what to compile for.
    """
    path, chosen = os.environ.get("PATH", ""), "" if march == "native" else march
    if target:
        platform = platform_of(target, cpu, chosen)
        return replace(_examine(cross_compiler(platform.triple, path), platform), here=False)
    command = _command(os.environ.get("CC", ""), path)
    if chosen or cpu:
        return replace(_examine(command, Platform("", cpu, chosen)), here=False)
    own = next((one.removeprefix("-march=") for one in command if one.startswith("-march=")), march)
    return _examine(command, Platform("", "", own))


@lru_cache(maxsize=None)
def _command(chosen: str, path: str) -> tuple[str, ...]:
    if chosen.strip():
        try:
            command = tuple(shlex.split(chosen))
        except ValueError as error:
            raise CompilerError(Diagnostic(f"CC is not a command: {chosen!r}: {error}", help=_HELP)) from None
        if shutil.which(command[0], path=path) is None:
            raise CompilerError(Diagnostic(f"the compiler {command[0]!r}, named by CC, was not found", help=_HELP))
        return command
    for name in _CANDIDATES:
        if shutil.which(name, path=path) is not None:
            return (name,)
    if importlib.util.find_spec("ziglang") is not None:
        return (sys.executable, "-m", "ziglang", "cc")
    raise CompilerError(Diagnostic("no C compiler was found", help=_HELP))


@lru_cache(maxsize=None)
def _examine(command: tuple[str, ...], platform: Platform) -> Compiler:
    arguments = [*command, *platform.flags(command), "-dM", "-E", "-x", "c", os.devnull]
    try:
        text = _run(arguments, "the C compiler does not run", active())
    except CompilerError as error:
        if platform == NATIVE or not error.diagnostics[0].notes:
            raise
        if platform != Platform(platform.triple):
            # A compiler that does nothing at all, or has no such target, is told as such.
            _examine(command, Platform(platform.triple) if platform.triple else NATIVE)
        raise _unknown(platform, error) from None
    words = [line.split(maxsplit=2) for line in text.splitlines() if line.startswith("#define ")]
    macros = {name: " ".join(value) for _, name, *value in words}
    said = macros.get("__VERSION__", '"of unknown version"').strip('"')
    version = said if "lang" in said.lower() else f"gcc {said}"
    return Compiler(command, version, macros, hashlib.sha256(text.encode()).hexdigest(), platform)


def _unknown(platform: Platform, error: CompilerError) -> CompilerError:
    """Return the error of a processor or instruction set that the compiler refuses, in our
    words.
    """
    named = platform.named
    if platform.triple:
        help = f"short names of targets are {', '.join(TRIPLES)}; processors are the compiler's own"
    else:
        known = f"native is this machine; levels of x86-64 are {', '.join(LEVELS)}; others are the compiler's own"
        help = " ".join(filter(None, (nearest(named, LEVELS), known)))
    what = "processor" if platform.cpu else "instruction set" if platform.march else "target"
    title, notes = f"the C compiler has no {what} {named!r}", error.diagnostics[0].notes[: 2 if platform.triple else 1]
    return CompilerError(Diagnostic(title, notes=notes, help=help, kind=OPTION))


def _run(arguments: Sequence[str], title: str, budget: Budget | None, running: Running | None = None) -> str:
    """Return what a command prints.

    It has as long as ``budget`` leaves, and ends with what it has started.
    """
    try:
        # Compilers start programs of their own: all of them end together.
        with started(arguments, running, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            printed, problem = process.communicate(timeout=None if budget is None else budget.remaining())
    except OSError as error:
        raise CompilerError(Diagnostic(f"{title}: {error}", help=_HELP)) from error
    except subprocess.TimeoutExpired:
        assert budget is not None
        raise budget.expired().located(None, None, f"ran: {shlex.join(arguments)}") from None
    if process.returncode:
        lines = (problem or printed).decode(errors="replace").strip().splitlines()[:20]
        raise CompilerError(Diagnostic(title, notes=(f"ran: {shlex.join(arguments)}", *lines), help=_HELP))
    return printed.decode(errors="replace")


def compile_object(units: Sequence[Unit]) -> MachineCode:
    """Compile C files into one shared object, unless it is in the cache, and return it.

    Files that run once are compiled in a hurry. Raises CompilerError where the compiler is missing
    or refuses the code, FileError where there is no folder in which it can work.
    """
    compiler, store = find_compiler(), open_store()
    contents = [part for unit in units for part in (unit.text, _level(unit))]
    name = f"{content_key(compiler, *contents)}{'.dll' if os.name == 'nt' else '.so'}"
    content = store.read(name)
    if content is None:
        content = _build(compiler, units, store)
        store.write(name, content)
    return MachineCode(name, content)


def content_key(compiler: Compiler, *parts: str) -> str:
    """Return a name for what ``compiler`` makes of ``parts`` on this processor."""
    key = hashlib.sha256(compiler.identity.encode())
    for part in (*compiler.command, *compiler.flags, *parts):
        key.update(part.encode())
        key.update(b"\0")
    return key.hexdigest()[:40]


def _level(unit: Unit) -> str:
    return "-O1" if unit.runs_once else "-O3"


def _build(compiler: Compiler, units: Sequence[Unit], store: Store) -> bytes:
    """Compile in the folder of the cache.

    Where that fails, be it only that the compiler could not write there, it is done again in the
    system's folder for temporary files, before anything is said.
    """
    try:
        with store.work() as work:
            return _built(compiler, units, work)
    except (OSError, CompilerError) as error:
        problem = str(error)
    try:
        root = Path(tempfile.gettempdir())
        remove_left_over(root)
        with work_folder(root) as work:
            return _built(compiler, units, work)
    except OSError as error:
        raise FileError(Diagnostic("there is no folder to compile in", notes=(problem, str(error)))) from error


def _built(compiler: Compiler, units: Sequence[Unit], work: Path) -> bytes:
    linked = work / "linked"
    link(compiler, compile_units(compiler, units, work), linked)
    return linked.read_bytes()


def compile_units(compiler: Compiler, units: Sequence[Unit], work: Path, *options: str) -> list[str]:
    """Return the paths of the objects of C files, compiled in a folder.

    Raises CompilerError where the compiler refuses the code.
    """
    # Threads that are started here do not see whose limits hold.
    budget, running = active(), Running()

    def compile_unit(number: int) -> str:
        source, product = work / f"unit{number}.c", work / f"unit{number}.o"
        source.write_text(units[number].text)
        flags = [*compiler.flags, *options, _level(units[number])]
        arguments = [*compiler.command, *flags, "-c", str(source), "-o", str(product)]
        _run(arguments, "the C compiler refused generated code", budget, running)
        return str(product)

    with ThreadPoolExecutor(processors()) as pool:
        # One file may be much longer than the others: it begins first.
        finished: list[str] = []
        order = sorted(range(len(units)), key=lambda number: len(units[number].text), reverse=True)
        try:
            with going_on("files of C", lambda: (len(finished), len(order))):
                finished.extend(pool.map(compile_unit, order))
        except BaseException:
            running.end()  # the pool waits for its threads, and these for the compilers
            raise
    return finished


def link(compiler: Compiler, objects: Sequence[str], target: Path, relocatable: bool = False) -> None:
    """Link objects into a shared object, or into one object that can be linked further.

    Raises CompilerError where that is refused.
    """
    kind = ["-r", "-nostdlib"] if relocatable else ["-shared", "-pthread"]
    libraries = [] if relocatable else ["-lm"]
    arguments = [*compiler.command, *kind, *objects, "-o", str(target), *libraries]
    _run(arguments, "the C compiler could not link generated code", active())
