"""``relay2relax doctor``: what is installed, and what that makes possible."""

from __future__ import annotations

import importlib.metadata as metadata
import platform
from dataclasses import asdict, dataclass

from relay2relax.cli import outcome
from relay2relax.core import CompilerError


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked for: its name, what was found, and what it is for."""

    name: str
    found: str
    ok: bool
    purpose: str


def _package(name: str, purpose: str) -> Finding:
    try:
        return Finding(name, metadata.version(name), True, purpose)
    except metadata.PackageNotFoundError:
        return Finding(name, "not installed", False, purpose)


def _compiler() -> Finding:
    from relay2relax.backends.c.toolchain import find_compiler

    purpose = "backend c"
    try:
        compiler = find_compiler()
    except CompilerError as error:
        return Finding("C compiler", error.diagnostics[0].title, False, purpose)
    return Finding("C compiler", str(compiler), True, purpose)


def _tvm() -> Finding:
    from relay2relax.core.tvm_installation import installation_problem

    found = _package("apache-tvm", "backend tvm (extra: tvm)")
    problem = installation_problem() if found.ok else None
    return found if problem is None else Finding(found.name, problem, False, found.purpose)


def findings() -> tuple[Finding, ...]:
    """Look for everything that an optional part of the product needs."""
    return (
        Finding("python", platform.python_version(), True, "everything"),
        _package("numpy", "everything"),
        _compiler(),
        _tvm(),
        _package("apache-tvm-ffi", "backend tvm (extra: tvm)"),
        _package("onnx", "models for ONNX Runtime in the benchmark (extra: onnx)"),
        _package("onnxruntime", "comparison in the benchmark (extra: onnx)"),
        _package("torch", "comparison in the tests (extra: torch)"),
    )


def run(as_json: bool) -> None:
    """Print the findings."""
    found = findings()
    if as_json:
        outcome.deliver({"findings": [asdict(one) for one in found]})
        return
    width = max(len(f.name) for f in found)
    second = max(len(f.found) for f in found)
    for f in found:
        print(f"{'ok' if f.ok else '--'}  {f.name:<{width}}  {f.found:<{second}}  {f.purpose}")
