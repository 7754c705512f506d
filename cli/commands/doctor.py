"""``relay2relax doctor``: what is installed, what that makes possible, and how to mend the rest."""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib.metadata as metadata
import os
import platform
import shutil
import sys
import tempfile
from dataclasses import asdict, dataclass

from relay2relax.cli import outcome, screen
from relay2relax.core import CompilerError, FileError
from relay2relax.core.amounts import counted
from relay2relax.core.errors import ExitCode

# With less room than this, builds and converted models may not fit.
_LITTLE_ROOM = 500_000_000


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked for: its name, what was found, what it is for, and how it is mended.

    What is ``needed`` is part of the main job: to convert models, build them and compare them.
    """

    name: str
    found: str
    ok: bool
    purpose: str
    mend: str = ""
    needed: bool = False


def _package(name: str, purpose: str, extra: str) -> Finding:
    mend = f"pip install 'relay2relax[{extra}]'"
    try:
        return Finding(name, metadata.version(name), True, f"{purpose} (extra: {extra})")
    except metadata.PackageNotFoundError:
        return Finding(name, "not installed", False, f"{purpose} (extra: {extra})", mend)


def _compiler() -> Finding:
    from relay2relax.backends.c.toolchain import find_compiler

    name, purpose = "C compiler", "backend c, export; numpy does everything else"
    try:
        return Finding(name, str(find_compiler()), True, purpose, needed=True)
    except CompilerError as error:
        first = error.diagnostics[0]
        return Finding(name, first.title, False, purpose, first.help, needed=True)


def _processor() -> Finding:
    """Say what the schedules take the processor for, and what it was measured to do."""
    from relay2relax.backends.c.peak import peak_flops
    from relay2relax.backends.c.toolchain import find_compiler
    from relay2relax.backends.threads import thread_count

    purpose = "how kernels of backend c are cut"
    try:
        machine, rate = find_compiler().machine, peak_flops()
    except (CompilerError, FileError):
        return Finding("processor", platform.machine(), False, purpose, "see C compiler")
    caches = " and ".join(f"{size >> 10} KiB" for size in (machine.first_cache_bytes, machine.cache_bytes))
    said = f"{machine.registers} vectors of {machine.vector_bytes} bytes, caches of {caches}"
    return Finding(
        "processor", f"{said}, {rate / 1e9:.0f} GFLOP/s on {counted(thread_count(), 'thread')}", True, purpose
    )


def _cache() -> Finding:
    from relay2relax.backends.cache.place import VARIABLE, find_place

    place, purpose = find_place(), "keeps builds; without it each is made anew"
    writable = place.folder is not None and os.access(place.folder, os.W_OK | os.X_OK)
    problem = place.problem or ("" if writable else "it cannot be written to")
    if problem:
        mend = f"name a folder of your own in {VARIABLE}"
        return Finding("cache folder", f"{place}: {problem}", False, purpose, mend, needed=True)
    return Finding("cache folder", str(place), True, purpose, needed=True)


def _room() -> Finding:
    """Look where compilers work: the folder for temporary files, and how much room it has."""
    purpose = "the C compiler works there"
    try:
        folder = tempfile.gettempdir()
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Finding("temporary files", str(error), False, purpose, "name a folder in TMPDIR", needed=True)
    said = f"{folder}: {free / 1e9:.1f} GB are free"
    mend = "make room, or name another folder in TMPDIR"
    return Finding("temporary files", said, free >= _LITTLE_ROOM, purpose, mend, needed=True)


def _tvm() -> Finding:
    from relay2relax.core.tvm_installation import installation_problem

    found = _package("apache-tvm", "backend tvm", "tvm")
    problem = installation_problem() if found.ok else None
    if problem is None:
        return found
    return Finding(found.name, problem, False, found.purpose, "pip install 'relay2relax[tvm]'")


def _gpu() -> Finding:
    """Look for NVIDIA's driver, without which no kernel runs."""
    purpose = "runs what --schedule cuda makes"
    name = ctypes.util.find_library("cuda")
    if name is None:
        return Finding("GPU", "no driver", False, purpose, "a machine with one; kernels are checked without")
    try:
        driver = ctypes.CDLL(name)
    except OSError as error:
        return Finding("GPU", str(error), False, purpose, "install NVIDIA's driver anew")
    count = ctypes.c_int(0)
    status = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    return Finding("GPU", f"{count.value} of NVIDIA" if not status else "none", not status and count.value > 0, purpose)


def _nvrtc() -> Finding:
    from relay2relax.backends.tvm.cuda import nvrtc_problem

    found = _package("cuda-bindings", "compiles kernels without a GPU", "cuda")
    problem = nvrtc_problem() if found.ok else None
    return found if problem is None else Finding(found.name, problem, False, found.purpose, found.mend)


def findings() -> tuple[Finding, ...]:
    """Look for everything that the product needs, and that an optional part of it needs."""
    return (
        Finding("python", platform.python_version(), True, "everything", needed=True),
        Finding("numpy", metadata.version("numpy"), True, "everything", needed=True),
        _compiler(),
        _processor(),
        _cache(),
        _room(),
        _tvm(),
        _package("apache-tvm-ffi", "backend tvm", "tvm"),
        _nvrtc(),
        _gpu(),
        _package("onnx", "models for ONNX Runtime in the benchmark", "onnx"),
        _package("onnxruntime", "comparison in the benchmark", "onnx"),
        _package("torch", "reads .pt files; comparison in the tests", "torch"),
    )


def run(as_json: bool) -> None:
    """Print the findings; exit with 1 where the main job is impaired."""
    found = findings()
    if as_json:
        outcome.deliver({"findings": [asdict(one) for one in found]})
    else:
        _show(found)
    if any(one.needed and not one.ok for one in found):
        sys.exit(ExitCode.DIFFERS)


def _show(found: tuple[Finding, ...]) -> None:
    rows = [("ok" if one.ok else "--", one.name, one.found, one.purpose) for one in found]
    print(screen.table(("state", "what", "found", "needed for"), rows))
    mended = [one for one in found if one.mend and not one.ok]
    for title, needed in (("to mend", True), ("to have what is optional", False)):
        lines = [f"  {one.name}: {one.mend}" for one in mended if one.needed is needed]
        print(*([f"\n{title}:", *lines] if lines else []), sep="\n", end="\n" if lines else "")
