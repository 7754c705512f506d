"""From files to a function that runs: the files are read once, and found by their digests later.

    program = translator.open_program("model.relay", "model.params")
    program(image)

The first process reads, translates and compiles the model. The next one finds what was compiled,
and weights as the kernels read them, and does none of that (``backends/ready``).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from relay2relax.backends.ready.kept import Place, place_of
from relay2relax.backends.ready.program import Program
from relay2relax.core.errors import FileError

if TYPE_CHECKING:
    from relay2relax.backends.vm.executable import Executable


def open_program(
    model: str | os.PathLike[str],
    params: str | os.PathLike[str] | None = None,
    *,
    via: Literal["tir", "graph"] = "graph",
    strict_nan: bool = False,
) -> Program:
    """Return the function ``main`` of the Relay module in a file, translated and compiled by the C
    compiler, with the values of a file of params bound.

    Files are as ``relay_ir.load`` and ``relay_ir.load_params`` read them. ``via`` is the way of
    ``translate``, ``strict_nan`` is that of ``backends.build``. A program that is one kernel of
    known shapes is kept in the cache, beside its weights as kernels read them; a cache that has it
    answers without reading the model. Raises FileError for a file that cannot be read, what reading
    and building raise, and CompilerError where there is no C compiler.
    """
    files = [Path(model), *(() if params is None else (Path(params),))]

    def place() -> Place | None:
        try:
            return place_of(files, f"main via {via}{' strict' if strict_nan else ''}")
        except OSError as error:
            raise FileError.unread(error.filename or model, error) from None

    def built() -> Executable:
        from relay2relax import backends, relay_ir
        from relay2relax.translator.pipeline import translate

        module = relay_ir.infer_type(relay_ir.load(model))
        values = {} if params is None else relay_ir.load_params(params)
        program = translate(module, via, params=values)
        return backends.build(program, target="c", strict_nan=strict_nan)

    def whole() -> Callable[..., Any]:
        if place() != found:
            raise FileError(f"{os.fspath(model)!r}, or its params, changed since it was opened")
        return _main(built())

    found = place()
    if found is None:
        return Program(lambda: _main(built()))
    ready = found.load()
    if ready is None:
        executable = built()
        # What was read is what was looked at before.
        if place() == found:
            found.keep(executable)
            ready = found.load()
        if ready is None:
            main = _main(executable)
            return Program(lambda: main)
    return Program(whole, ready)


def _main(executable: Executable) -> Callable[..., Any]:
    from relay2relax.backends import VirtualMachine

    return VirtualMachine(executable)["main"]
