"""``tvm.contrib.cc``: objects of libraries linked by a compiler that scripts name."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence

from relay2relax.backends.c.toolchain import find_compiler
from relay2relax.core.errors import CompilerError, Diagnostic


def get_cc() -> str:
    """Return the C compiler; raises CompilerError where there is none."""
    return find_compiler().command[0]


def create_shared(
    output: str, objects: Sequence[str] | str, options: Sequence[str] | None = None, cc: str | None = None
) -> None:
    """Link objects into a shared object.

    Raises CompilerError where the compiler is missing, or refuses them.
    """
    _link(output, objects, ["-shared", "-fPIC", *(options or ())], cc)


def create_executable(
    output: str, objects: Sequence[str] | str, options: Sequence[str] | None = None, cc: str | None = None
) -> None:
    """Link objects into a program; raises CompilerError as :func:`create_shared`."""
    _link(output, objects, list(options or ()), cc)


def cross_compiler(
    compile_func: object, options: Sequence[str] | None = None, output_format: str = "so", **others: object
) -> Callable[..., None]:
    """Return what links as ``compile_func``, the command of a compiler or such a function."""
    fixed = list(options or ())

    def link(outputs: str, objects: Sequence[str] | str, options: Sequence[str] | None = None) -> None:
        given = [*fixed, *(options or ())]
        if callable(compile_func):
            compile_func(outputs, objects, options=given)
        else:
            create_shared(outputs, objects, given, str(compile_func))

    link.output_format = output_format  # type: ignore[attr-defined]
    return link


def _link(output: str, objects: Sequence[str] | str, options: Sequence[str], cc: str | None) -> None:
    given = [objects] if isinstance(objects, str) else list(objects)
    command = [cc or get_cc(), *options, "-o", output, *given, "-lm", "-pthread"]
    if shutil.which(command[0]) is None:
        raise CompilerError(f"the compiler {command[0]!r} was not found")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        notes = tuple(done.stderr.strip().splitlines()[:20])
        raise CompilerError(Diagnostic(f"{command[0]} could not link {output}", notes=notes))
