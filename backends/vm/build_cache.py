"""Finished builds, kept in the cache: found again by the structure of a module, before anything of
it is lowered.

A build's name is a hash of the module's structure, of the compiler, and of this package's own
sources. What floating-point constants hold is not part of it, because the C text does not depend
on that (``c/codegen/program.py``); integers and single numbers may become part of a program, so
theirs is. A kept build has the machine's instructions and how the kernels are called; the machine
code is the shared object beside it. The kernels' programs in TensorIR are left out, for only a file
of the executable needs them, and reading them would take as long as making them. ``build_file.py``
says what the file is; what does not fit is built anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from functools import lru_cache
from operator import attrgetter
from typing import Any

import numpy as np

from relay2relax.backends.c.codegen.program import Entry
from relay2relax.backends.c.loaded_module import CompiledModule
from relay2relax.backends.c.loading import MachineCode
from relay2relax.backends.c.toolchain import content_key, find_compiler
from relay2relax.backends.cache import open_store, sources_digest
from relay2relax.backends.vm.build_file import Build, read_build, write_build
from relay2relax.backends.vm.bytecode import FunctionEntry, Kernel, OperatorCall
from relay2relax.backends.vm.executable import Executable
from relay2relax.core.dtype import Array
from relay2relax.core.errors import ParseError
from relay2relax.core.passes import PassContext
from relay2relax.ops.registry.record import OpDef
from relay2relax.ops.registry.table import relax_op, relay_op
from relay2relax.relax_ir.inference.op_signatures import ForeignOp
from relay2relax.relax_ir.ir.expr import IRModule
from relay2relax.tir.ir.stmt import PrimFunc, Seq

# What a build goes through.
_PACKAGES = ("core", "tir", "ops", "relax_ir", "backends")
_PLAIN = frozenset({str, bytes, int, float, bool, type(None)})


@dataclass(frozen=True, slots=True)
class Place:
    """Where the build of a module is kept; ``arrays`` are the module's constants, in order."""

    name: str
    arrays: tuple[Array, ...]

    def load(self) -> Executable | None:
        """Return the executable that was kept, on this module's constants.

        None where there is none.
        """
        store = open_store()
        content = store.read(self.name)
        if content is None:
            return None
        try:
            build = read_build(content, self.arrays)
        except ParseError:
            return None
        code = store.read(build.library)
        if code is None:
            return None
        weights = {buffer: self.arrays[number] for buffer, number in build.weights}
        native = CompiledModule(MachineCode(build.library, code), build.entries, weights)
        return Executable(build.functions, build.constants, "c", native, weights)

    def store(self, executable: Executable) -> None:
        """Keep ``executable``, unless it has what cannot be found again, or the cache folder is
        only to be read.
        """
        numbers = {id(array): number for number, array in enumerate(self.arrays)}
        native = executable.native
        if native is None or any(id(array) not in numbers for array in executable.weights.values()):
            return
        if not all(_is_found_again(one, native) for one in executable.functions):
            return
        functions = [replace(o, func=_signature(o.func)) if isinstance(o, Kernel) else o for o in executable.functions]
        entries = {name: _described(entry) for name, entry in native.entries.items()}
        weights = [(buffer, numbers[id(array)]) for buffer, array in executable.weights.items()]
        build = Build(native.name, tuple(functions), executable.constants, entries, tuple(weights))
        content = write_build(build, numbers)
        if content is not None:
            open_store().write(self.name, content)


def _is_found_again(entry: FunctionEntry, native: CompiledModule) -> bool:
    """Whether a file can say what ``entry`` is: no operator, and no program that runs as it is
    written.
    """
    return not isinstance(entry, OperatorCall) and (not isinstance(entry, Kernel) or entry.func.name in native.entries)


def _signature(func: PrimFunc) -> PrimFunc:
    return func.with_body(Seq(()), root_buffers=())


def _described(entry: Entry) -> Entry:
    stages = tuple(replace(stage, stmt=Seq(())) for stage in entry.stages)
    return replace(entry, func=_signature(entry.func), stages=stages)


def place_of(module: IRModule, checked: bool, strict_nan: bool = False) -> Place | None:
    """Return where the build of ``module``, ``checked`` and ``strict_nan`` or not, belongs.

    None for a module that has to be built anew.

    That is one with values of kinds that nothing is known about, one that is built within a
    ``PassContext``, whose passes are to be seen, and any one while the sources are not those that
    Python has loaded.
    """
    sources = _sources()
    if sources is None or PassContext.entered():
        return None
    found = structure(module)
    if found is None:
        return None
    text, arrays = found
    options = f"{'checked' if checked else ''}{' strict' if strict_nan else ''}"
    return Place(f"{content_key(find_compiler(), sources, text, options)}.build", arrays)


def _sources() -> str | None:
    return sources_digest(_PACKAGES)


@lru_cache(maxsize=None)
def _reader(kind: type) -> tuple[str, attrgetter[Any], int]:
    """Return the name of a dataclass, and what reads those of its fields that make a program."""
    names = [one.name for one in fields(kind) if one.init and one.name != "span"]
    return f"{kind.__qualname__} {len(names)}", attrgetter(*names) if names else attrgetter("__class__"), len(names)


def structure(module: IRModule) -> tuple[str, tuple[Array, ...]] | None:
    """Return what ``module`` is, without the content of its weights, and its constants in the order
    of the text.

    Modules of one text are built alike. None where there are values of kinds that nothing is known
    about. An object that comes again is the number of its first place.
    """
    text: list[str] = []
    arrays: list[Array] = []
    seen: dict[int, int] = {}
    stack: list[Any] = [module]
    while stack:
        value = stack.pop()
        kind = type(value)
        if kind in _PLAIN:
            text.append(repr(value))
        elif kind is tuple or kind is list:
            text.append(f"({len(value)}")
            stack += value
        elif id(value) in seen:
            text.append(f"#{seen[id(value)]}")
        else:
            seen[id(value)] = len(seen)
            if isinstance(value, np.ndarray):
                arrays.append(value)
                text.append(_constant(value))
            elif isinstance(value, OpDef):
                if not _of_this_package(value):
                    return None
                text.append(f"{kind.__qualname__} {value.name}")
            elif is_dataclass(kind):
                name, read, count = _reader(kind)
                text.append(name)
                stack += (read(value),) if count == 1 else read(value) if count else ()
            elif isinstance(value, Mapping):
                text.append(f"{{{len(value)}")
                for pair in value.items():
                    stack += pair
            elif isinstance(value, (str, int, float, Enum)):
                text.append(f"{kind.__qualname__} {value!r}")
            else:
                return None
    return "\n".join(text), tuple(arrays)


def _of_this_package(op: OpDef) -> bool:
    """Whether the operator is the one of its name, and what it does is told by our sources."""
    return isinstance(op, ForeignOp) or op is relay_op(op.name) or op is relax_op(op.name)


def _constant(array: Array) -> str:
    looked_at = array.size == 1 or array.dtype.kind in "iub"
    content = hashlib.sha256(np.ascontiguousarray(array).view(np.uint8).data).hexdigest() if looked_at else ""
    return f"array {array.dtype} {array.shape} {content}"
