"""A whole program as a C library that runs without Python: header, sources, weights, a command and a Makefile.

The functions of ``NAME.h`` stand behind the last of the generated files, beside the entries that they call. Constants
lie in ``NAME_weights.bin``: 64 bytes that say which program they belong to, those that are read on every call, then
those from which others are computed ahead, each at a multiple of 64 bytes.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path

from relay2relax.backends.c.block import merge_blocks
from relay2relax.backends.c.compile import find_compiler
from relay2relax.backends.c.export_text import header_text, library_text, main_text, makefile_text
from relay2relax.backends.c.library import MARK_BYTES, Block, Weights, c_name, describe
from relay2relax.backends.c.program import generate
from relay2relax.core.dtype import of_array
from relay2relax.core.errors import UnsupportedError
from relay2relax.core.output import Content, write_all
from relay2relax.relax_ir import expr as rx
from relay2relax.tir.stmt import PrimFunc

# Flags of the shared objects that an exported library does without.
_OWN_FLAGS = ("-std=gnu11", "-fvisibility=hidden", "-w")


def export_c(
    program: rx.IRModule, folder: str | os.PathLike[str], name: str, march: str = "native"
) -> tuple[Path, ...]:
    """Write ``main`` of ``program`` as a C library into ``folder``, all files or none; return their paths.

    ``name`` becomes a C identifier and begins the names of functions and files. ``march`` is the instruction set that
    the code is laid out for and that the Makefile names, as the C compiler calls it. Constants of the program become
    the file of weights; symbolic extents are int64 parameters.

    Raises UnsupportedError where ``main`` is more than one block of tensor programs on tensors (branches, calls of
    functions, shapes that data decide), CompilerError where there is no compiler or it does not know ``march``,
    FileError where a file cannot be written.
    """
    from relay2relax.relax_ir.transform import LegalizeOps

    name = c_name(name)
    compiler = find_compiler(march)
    merged = merge_blocks(LegalizeOps()(program))
    function = next((f for v, f in merged.module.functions.items() if v.name == "main"), None)
    if not isinstance(function, rx.Function):
        raise UnsupportedError("only a module with a Relax function `main` can be exported")
    block = Block(function)
    funcs = [] if block.call is None else [merged.module.functions[block.call.func]]
    kernels = [func for func in funcs if isinstance(func, PrimFunc)]
    units, entries = generate(kernels, compiler.machine, merged.constants)
    units = [re.sub(r"\br2r_(?=entry_|stage_|parallel\b|set_threads\b)", f"{name}_", unit) for unit in units]
    library = describe(name, block, next(iter(entries.values()), None), merged.constants)
    library.weights.mark = _mark(units, library.weights)
    sources = {f"{name}_kernels{number}.c": unit for number, unit in enumerate(units[:-1])}
    sources[f"{name}.c"] = library_text(library, units[-1])
    flags = [flag for flag in compiler.flags if flag not in _OWN_FLAGS and not flag.startswith("-march=")]
    texts = {
        f"{name}.h": header_text(library),
        **sources,
        "main.c": main_text(library),
        "Makefile": makefile_text(name, list(sources), march, flags),
    }
    files: dict[Path, Content] = {Path(folder) / file: text.encode() for file, text in texts.items()}
    if library.has_weights:
        files[Path(folder) / f"{name}_weights.bin"] = library.weights.content()
    write_all(files)
    return tuple(files)


def _mark(units: Sequence[str], weights: Weights) -> bytes:
    """Return what tells weights of this program from those of others: they may be others of the same shapes."""
    key = hashlib.sha256()
    for unit in units:
        key.update(unit.encode())
    for array in (*weights.kept, *weights.sources):
        key.update(f"{of_array(array)}{array.shape}".encode())
    return f"relay2relax weights {key.hexdigest()[: MARK_BYTES - 21]}\n".encode()
