"""Generated C under the address and undefined-behaviour sanitizers, in processes of their own.

A test names a file with a function that yields ``(name, action)`` pairs. A child process, whose C
compiler adds the sanitizers, runs the actions one after the other. The first report or signal ends
it; it is then started again behind the action that it ended with. Whatever compiles C does so
here: the machines of both IRs, ``compile_prim_funcs``, single kernels.

    findings(Path(__file__), "actions", ["sample"], tmp_path)

Errors of ours that an action raises are fine: a refused input is not an access outside. Any other
exception is found, too.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pytest

# What an action is called, and what it does.
Action = tuple[str, Callable[[], object]]

FLAGS = (
    "-g1",
    "-fsanitize=address,undefined,float-cast-overflow",
    "-fno-sanitize-recover=all",
    "-fno-omit-frame-pointer",
)
_BEGIN = "\x01begin "
_MOST_FINDINGS = 40
_MOST_SECONDS = 60
# Where every access is checked, optimising takes most of the time, and takes accesses out.
_COMPILER = """#!/bin/sh
for one do
  shift
  case $one in -O3) one=-O0 ;; esac
  set -- "$@" "$one"
done
exec {command} {flags} "$@"
"""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a sanitizer, a signal or a foreign exception said of an action."""

    name: str
    report: str

    def __str__(self) -> str:
        return f"{self.name}: {self.report}"


def findings(file: Path, function: str, arguments: Sequence[str], work: Path, seconds: float = 600) -> list[Finding]:
    """Return what goes wrong in the actions that ``function`` of ``file``, given ``arguments``,
    yields.

    ``work`` is an empty folder. Skips the test where the compiler has no sanitizers; that there is
    no action is a finding, and so is a child that takes longer than ``seconds``.
    """
    environment = sanitized(work)
    found: list[Finding] = []
    first = 0
    while len(found) < _MOST_FINDINGS:
        command = [sys.executable, __file__, str(file), function, str(first), json.dumps(list(arguments))]
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, errors="replace", timeout=seconds, check=False
            )
        except subprocess.TimeoutExpired as error:
            said = error.stdout.decode(errors="replace") if isinstance(error.stdout, bytes) else error.stdout or ""
            return [*found, Finding(_names(said)[-1], f"takes longer than {seconds} s")]
        if not done.returncode:
            return found if found or len(_names(done.stdout)) > 1 else [Finding("nothing", "there was no action")]
        names = _names(done.stdout)
        found.append(Finding(names[-1], _reason(done.returncode, done.stderr)))
        if len(names) == 1:
            return found
        first += len(names) - 1
    return found


def sanitized(work: Path) -> dict[str, str]:
    """Return the environment of a process whose C is compiled with sanitizers; it keeps its objects
    in ``work``.
    """
    compiler = os.environ.get("CC") or "gcc"
    runtime = _runtime(compiler)
    if runtime is None:
        pytest.skip("the compiler has no sanitizers")
    wrapper = work / "sanitizing-cc"
    wrapper.write_text(_COMPILER.format(command=compiler, flags=shlex.join(FLAGS)))
    wrapper.chmod(0o755)
    return {
        **os.environ,
        "CC": str(wrapper),
        "LD_PRELOAD": runtime,
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "RELAY2RELAX_CACHE": str(work / "objects"),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PYTHONMALLOC": "malloc",
        "PYTHONHASHSEED": "0",
    }


@lru_cache(maxsize=None)
def _runtime(compiler: str) -> str | None:
    """Return the path of the address sanitizer's library, None where there is none."""
    command = [*shlex.split(compiler), "-print-file-name=libasan.so"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    path = Path(done.stdout.strip())
    return str(path.resolve()) if path.is_absolute() and path.exists() else None


def _names(said: str) -> list[str]:
    begun = [line.removeprefix(_BEGIN) for line in said.splitlines() if line.startswith(_BEGIN)]
    return ["before the first action", *begun]


def _reason(code: int, said: str) -> str:
    """Return what ended a process: the line of the report and where it is, or its last lines."""
    lines = said.splitlines()
    for number, line in enumerate(lines):
        if "runtime error:" in line or "ERROR: AddressSanitizer" in line:
            places = [one.strip() for one in lines[number + 1 :] if "r2r_" in one]
            return " | ".join([line.strip(), *places[:2]])
    end = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    return " | ".join([end, *lines[-3:]])


def _child(file: str, function: str, first: int, arguments: Sequence[str]) -> None:
    from relay2relax.core.errors import Relay2RelaxError

    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    actions: Iterator[Action] = getattr(module, function)(*arguments)
    for number, (name, action) in enumerate(actions):
        if number < first:
            continue
        print(f"{_BEGIN}{name}", flush=True)
        # Whoever does not come back in time is ended, and the others have their turn.
        signal.alarm(_MOST_SECONDS)
        try:
            action()
        except Relay2RelaxError:
            continue
        finally:
            signal.alarm(0)


if __name__ == "__main__":
    _child(sys.argv[1], sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4]))
