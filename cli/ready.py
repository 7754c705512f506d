"""Models that ``run`` ran before: found in the cache by their files, and run without being read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from relay2relax.backends.ready.kept import Place, place_of
from relay2relax.backends.ready.program import Ready
from relay2relax.cli import files
from relay2relax.core.dtype import Array, of_array
from relay2relax.core.errors import CompilerError
from relay2relax.core.file_kinds import is_onnx
from relay2relax.core.limits import read_file
from relay2relax.core.npz import is_npz, read_npz
from relay2relax.translator.drawing import Drawn, DrawnValue, drawn_tensor

if TYPE_CHECKING:
    from relay2relax.backends.vm.executable import Executable
    from relay2relax.relay_ir import IRModule

# Stands in models of ONNX whose weights lie in other files, which nobody looks at here.
_ELSEWHERE = b"location"


def place(model: Path, params: Path | None, options: str) -> Place | None:
    """Return where the program is kept that is made of these files; None where one of them can be
    read only once, and where options of the command have a part in what is read.
    """
    told = files.entry.get() or files.attributes.get() or files.recovering.get() or files.verifying.get()
    paths = [model, *(() if params is None else (params,))]
    if told or not all(path.is_file() for path in paths):
        return None
    try:
        return place_of(paths, f"run {options}")
    except (OSError, CompilerError):
        return None  # whoever reads the model, or builds it, says so


def keep(where: Place, model: Path, module: IRModule, bound: Mapping[str, Array], executable: Executable) -> None:
    """Keep what was made of a model that is all in its file."""
    from relay2relax import translator

    content = read_file(model)
    if not is_onnx(memoryview(content)) or _ELSEWHERE not in content:
        where.keep(executable, *translator.drawn_as(module, bound))


def arguments(ready: Ready, inputs: Path | None, seed: int, required: bool) -> tuple[list[Array], Drawn | None] | None:
    """Return the arguments of a program, and which were drawn; None where ``inputs`` are not as it
    takes them, or are missing and ``required``.
    """
    given: dict[str, Array] = {}
    if inputs is not None:
        content = memoryview(read_file(inputs))
        if not is_npz(content):
            return None
        given = read_npz(content)
    wanted = ready.document.inputs
    if not given.keys() <= {one.name for one in wanted} or (required and len(given) < len(wanted)):
        return None
    made: list[Array] = []
    drawn: list[DrawnValue] = []
    for one in wanted:
        value = given.get(one.name)
        if value is None:
            value = drawn_tensor(one.shape, one.dtype, one.name, seed, one.weight, one.shift)
            drawn.append(DrawnValue(one.name, one.shape, one.dtype))
        if value.shape != one.shape or of_array(value) != one.dtype:
            return None
        made.append(value)
    return made, Drawn(seed, tuple(drawn)) if drawn else None
