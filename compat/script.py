"""Running a legacy script, module or text of Python with the facade installed."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
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
        sys.meta_path.insert(0, _Children(version))
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


class _Children(MetaPathFinder):
    """Lets processes that the script starts with multiprocessing have the facade before they import
    the script again; nothing of multiprocessing is imported for it.
    """

    def __init__(self, version: str) -> None:
        self.facade = _Facade(version)

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname != "multiprocessing.spawn":
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None and spec.origin is not None:
            spec.loader = _Spawning(fullname, spec.origin)
            spec.loader.facade = self.facade
        return spec


class _Spawning(SourceFileLoader):
    facade: _Facade

    def exec_module(self, module: Any) -> None:
        super().exec_module(module)
        prepared = module.get_preparation_data
        # What new processes read first.
        module.get_preparation_data = lambda name: {**prepared(name), "relay2relax": self.facade}


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
