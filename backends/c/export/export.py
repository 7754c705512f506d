"""A whole program as a C library that runs without Python: header, sources, weights, a command and
a Makefile.

The functions of ``NAME.h`` stand behind the last of the generated files, beside the entries that
they call. Constants lie in ``NAME_weights.bin``: 64 bytes that say which program they belong to,
those that are read on every call, then those from which others are computed ahead, each at a
multiple of 64 bytes.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from relay2relax.backends.c.codegen.header import with_includes
from relay2relax.backends.c.codegen.program import generate
from relay2relax.backends.c.codegen.threads import POOL
from relay2relax.backends.c.export.library import MARK_BYTES, Block, Library, Weights, c_name, describe
from relay2relax.backends.c.export.makefile import makefile_text
from relay2relax.backends.c.export.sets import levels, set_name, sets_text
from relay2relax.backends.c.export.text import header_text, library_text, main_text
from relay2relax.backends.c.export.webassembly import module_text
from relay2relax.backends.c.fusion.bytes.spans import spans_of_arrays
from relay2relax.backends.c.merge_calls import merge_blocks
from relay2relax.backends.c.platforms import platform_of
from relay2relax.backends.c.shape_checks import asked_conditions
from relay2relax.backends.c.toolchain import Compiler, find_compiler
from relay2relax.backends.c.unit import Unit
from relay2relax.backends.defined_results import with_defined_results
from relay2relax.core.dtype import of_array
from relay2relax.core.errors import UnsupportedError
from relay2relax.core.errors.table import running
from relay2relax.core.output import Content, Origin, OutputFolder
from relay2relax.relax_ir.ir import expr as rx
from relay2relax.tir.ir.stmt import PrimFunc

# What several libraries in one program would both define.
_OWN_NAMES = re.compile(r"\br2r_(?=entry_|stage_|parallel\b|set_threads\b|wrong\b)")


def export_c(
    program: rx.IRModule,
    folder: str | os.PathLike[str],
    name: str,
    march: str = "native",
    *,
    target: str = "",
    cpu: str = "",
    force: bool = False,
    checked: bool = False,
    strict_nan: bool = False,
) -> tuple[Path, ...]:
    """Write ``main`` of ``program`` as a C library into ``folder``, all files or none.

    Return their paths. Files that were not written here, or are another library's, are written over
    only with ``force``.

    Raises what :func:`library_files` does, and FileError where a file cannot be written.
    """
    output = OutputFolder(Path(folder), Origin("export_c", c_name(name)), force=force)
    output.check([])
    made = library_files(program, name, march, checked, target=target, cpu=cpu, strict_nan=strict_nan)
    return output.write(made)


def library_files(
    program: rx.IRModule,
    name: str,
    march: str = "native",
    checked: bool = False,
    *,
    embedded: bool = False,
    target: str = "",
    cpu: str = "",
    strict_nan: bool = False,
) -> dict[str, Content]:
    """Return the files of ``main`` of ``program`` as a C library, by their names.

    ``name`` becomes a C identifier and begins the names of functions and files. ``march`` is the
    instruction set that the code is laid out for and that the Makefile names, as the C compiler
    calls it; several levels of x86-64, or of AArch64, with commas between, make a library for each,
    among which the program chooses when it loads the model. For another machine, ``target`` is its
    triple, or a short name of it, and ``cpu`` its processor, in the place of ``march``; beside a
    library for ``wasm32`` there is ``NAME.js``, with which a web page runs it. Constants of the
    program become the file of weights; symbolic extents are int64 parameters. With ``checked``
    every access looks whether it is inside, not only those that data decide. ``embedded``
    weights are part of the library, as :func:`shared_objects` makes it. With ``strict_nan`` no
    convolution is transformed, as in :func:`relay2relax.backends.build`.

    Raises UnsupportedError where ``main`` is more than one block of tensor programs on tensors
    (branches, calls of functions, shapes that data decide) and for a list of other instruction
    sets, CompilerError where there is no compiler or it does not know ``march``.
    """
    from relay2relax.relax_ir.transform import LegalizeOps

    name = c_name(name)
    sets = levels(march, platform_of(target, cpu, "").arch) if "," in march else ()
    lowered = with_defined_results(LegalizeOps()(program))
    asked, merged = asked_conditions(lowered, "main"), merge_blocks(lowered)
    function = next((f for v, f in merged.module.functions.items() if v.name == "main"), None)
    if not isinstance(function, rx.Function):
        raise UnsupportedError("only a module with a Relax function `main` can be exported", kind=running.EXPORT)
    block = Block(function)
    func = None if block.call is None else merged.module.functions[block.call.func]
    kernels = [func] if isinstance(func, PrimFunc) else []
    compilers = {set_name(name, one) if sets else name: find_compiler(one, target, cpu) for one in sets or (march,)}
    machines = {own: replace(one.machine, transforms=not strict_nan) for own, one in compilers.items()}
    spans = spans_of_arrays(merged.constants)
    made = {own: generate(kernels, one, merged.constants, POOL, checked, spans) for own, one in machines.items()}
    # What one instruction set keeps, all of them do: they read one file.
    weights = Weights()
    for entry in (one for _, entries in made.values() for one in entries.values()):
        weights.keep([merged.constants[buffer] for buffer in entry.constants])
    described = {own: next(iter(entries.values()), None) for own, (_, entries) in made.items()}
    parts = [describe(own, block, entry, merged.constants, weights, asked) for own, entry in described.items()]
    parts = [replace(one, embedded=embedded) for one in parts]
    weights.mark = _mark([unit.text for units, _ in made.values() for unit in units], weights)
    whole = replace(parts[0], name=name, sets=sets)
    units = [own for own, _ in made.values()]
    texts = _texts(whole, parts, units, list(compilers.values()), "" if sets or target or cpu else march)
    contents: dict[str, Content] = {file: text.encode() for file, text in texts.items()}
    if weights.kept or weights.sources:
        contents[f"{name}_weights.bin"] = weights.content()
    return contents


def _texts(
    whole: Library, parts: Sequence[Library], units: Sequence[Sequence[Unit]], compilers: Sequence[Compiler], march: str
) -> dict[str, str]:
    """Return all files but the weights: of a library, or of one that chooses among ``parts``.

    ``march`` is the instruction set that whoever calls make may choose again, if any.
    """
    name, texts = whole.name, {"main.c": main_text(whole)}
    files: dict[str, list[str]] = {}
    for part, own, compiler in zip(parts, units, compilers, strict=True):
        sources = _sources(part, own)
        files[" ".join(compiler.target_flags)] = list(sources)
        texts |= {f"{part.name}.h": header_text(part), **sources}
    if whole.sets:
        texts |= {f"{name}.h": header_text(whole), f"{name}.c": sets_text(whole, parts)}
        files[""] = [f"{name}.c"]
    texts["Makefile"] = makefile_text(name, files, march, compilers[0])
    if compilers[0].platform.arch == "wasm32":
        texts[f"{name}.js"] = module_text(whole)
    return texts


def _sources(part: Library, units: Sequence[Unit]) -> dict[str, str]:
    """Return the kernels and functions of a library, which begin with its name."""
    *kernels, entry = [_OWN_NAMES.sub(f"{part.name}_", with_includes(unit.text)) for unit in units]
    sources = {f"{part.name}_kernels{number}.c": text for number, text in enumerate(kernels)}
    return {**sources, f"{part.name}.c": library_text(part, entry)}


def _mark(texts: Sequence[str], weights: Weights) -> bytes:
    """Return what tells weights of this program from those of others: they may be others of the
    same shapes.
    """
    key = hashlib.sha256()
    for text in texts:
        key.update(text.encode())
    for array in (*weights.kept, *weights.sources):
        key.update(f"{of_array(array)}{array.shape}".encode())
    return f"relay2relax weights {key.hexdigest()[: MARK_BYTES - 21]}\n".encode()
