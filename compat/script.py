"""Running a legacy script, module or text of Python with the facade installed."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from multiprocessing import spawn
from pathlib import Path
from typing import Any

from relay2relax.compat.install import install
from relay2relax.core.errors import FileError, Relay2RelaxError

# TVM's tests have their fixtures in a plugin, which the root of its repository names.
_PLUGIN = {"pytest": ("-p", "tvm.testing.plugin")}
_TVMC = "tvm.driver.tvmc"
_USAGE = "usage: python -m relay2relax.compat [--tvm VERSION] (SCRIPT | -m MODULE | -c TEXT) [arguments…]"


def main(arguments: Sequence[str]) -> int:
    """Run what the arguments say, as Python does; return the exit code where nothing can be run."""
    rest = list(arguments)
    version = "0.18"
    if rest[:1] == ["--tvm"] and len(rest) > 1:
        version = rest[1]
        del rest[:2]
    if not rest or rest[0] in ("-h", "--help") or (rest[0] in ("-m", "-c") and len(rest) < 2):
        print(_USAGE, file=sys.stdout if rest[:1] in (["-h"], ["--help"]) else sys.stderr)
        return 0 if rest[:1] in (["-h"], ["--help"]) else 2
    try:
        if rest[0] not in ("-m", "-c") and not Path(rest[0]).exists():
            raise FileError(f"there is no script {rest[0]}")
        install(version)
        _install_in_children(version)
    except Relay2RelaxError as problem:
        print(problem, file=sys.stderr)
        return int(problem.first_kind.exit)
    run(rest)
    return 0


class _Facade:
    """What installs the facade where it is unpickled."""

    def __init__(self, version: str) -> None:
        self.version = version

    def __reduce__(self) -> tuple[object, ...]:
        return install, (self.version,)


def _install_in_children(version: str) -> None:
    """Let processes that the script starts with multiprocessing have the facade before they import
    the script again.
    """
    prepared = spawn.get_preparation_data

    def with_facade(name: str) -> dict[str, Any]:
        return {**prepared(name), "relay2relax": _Facade(version)}

    spawn.get_preparation_data = with_facade  # what new processes read first


def run(arguments: Sequence[str]) -> None:
    """Run a script, ``-m`` and a module, or ``-c`` and a text, with the arguments that follow.

    Raises whatever is raised by what runs.
    """
    first, *rest = arguments
    if first == "-m":
        sys.argv = [rest[0], *_PLUGIN.get(rest[0], ()), *rest[1:]]
        sys.path.insert(0, "")
        if rest[0] == _TVMC:
            from tvm.driver import tvmc

            sys.exit(tvmc.main(rest[1:]))
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif first == "-c":
        sys.argv = ["-c", *rest[1:]]
        sys.path.insert(0, "")
        runpy._run_code(compile(rest[0], "<string>", "exec"), {}, None, "__main__")  # type: ignore[attr-defined]
    else:
        sys.argv = [first, *rest]
        sys.path.insert(0, str(Path(first).resolve().parent))
        runpy.run_path(first, run_name="__main__")
