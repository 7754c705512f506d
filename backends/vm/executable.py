"""A Relax module in the form the virtual machine runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from relay2relax.backends.runtime.extern_calls import is_interpreted
from relay2relax.backends.vm.bytecode import (
    FunctionEntry,
    Kernel,
    Pooled,
    Program,
    VMFunction,
    constant_text,
    instruction_text,
)
from relay2relax.core.dtype import Array
from relay2relax.tir.ir.expr import Buffer

if TYPE_CHECKING:
    from relay2relax.backends.c.loaded_module import CompiledModule
    from relay2relax.backends.vm.machine import BytecodeMachine


@dataclass(frozen=True, slots=True)
class Executable:
    """Instructions, constants and kernels of a module, made by ``backends.build``.

    One executable serves every value of the symbolic extents. ``native`` is the compiled code of
    target c, ``weights`` are the constants that its kernels read. One that was found in the cache
    has kernels without their programs in TensorIR, and ``complete``, which makes it anew with them.
    """

    functions: tuple[FunctionEntry, ...]
    constants: tuple[Pooled, ...]
    target: str
    native: CompiledModule | None = field(default=None, compare=False)
    weights: Mapping[Buffer, Array] = field(default_factory=dict, compare=False)
    complete: Callable[[], Executable] | None = field(default=None, compare=False)

    def stats(self) -> str:
        """Return the constant pool and the function names, in TVM's layout."""
        pool = ", ".join(constant_text(value) for value in self.constants)
        names = ", ".join(self.names())
        return (
            "Relax VM executable statistics:\n"
            f"  Constant pool (# {len(self.constants)}): [{pool}]\n"
            f"  Globals (#{len(self.functions)}): [{names}]\n"
        )

    def as_text(self) -> str:
        """Return the instructions of every function, in TVM's layout."""
        names = self.names()
        parts = []
        for entry in self.functions:
            if isinstance(entry, VMFunction):
                lines = [f"@{entry.name}:", *(instruction_text(one, names) for one in entry.code)]
                parts.append("\n".join(lines) + "\n")
            else:
                parts.append(f"@{entry.name} packed_func;\n")
        return "\n".join(parts)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the executable into one file, whole or not at all; :meth:`load` reads it.

        A file that is no executable is written over only with ``force``. Raises FileError where the
        file cannot be written, UnsupportedError for what has no form in a file.
        """
        from relay2relax.backends.vm.file.writer import write_program

        whole = self if self.complete is None else self.complete()
        write_program(Program(whole.functions, whole.constants, whole.target, whole.weights), path, force)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Executable:
        """Return the executable that :meth:`save` wrote; nothing of it is run.

        The kernels of target c are compiled again, or found in the cache. Raises FileError where
        the file cannot be read, ParseError where it is damaged or of another version, CompilerError
        where the C compiler is missing.
        """
        from relay2relax.backends.vm.file.reader import read_program

        program = read_program(path)
        native = None
        if program.target == "c":
            from relay2relax.backends.c.loaded_module import compile_prim_funcs

            kernels = [one.func for one in program.functions if isinstance(one, Kernel)]
            native = compile_prim_funcs([func for func in kernels if not is_interpreted(func)], program.weights)
        return Executable(program.functions, program.constants, program.target, native, program.weights)

    def machine(self) -> BytecodeMachine:
        """Return a new machine that runs the functions.

        Raises ExecutionError for all names of functions that nobody registered.
        """
        from relay2relax.backends.vm.machine import BytecodeMachine

        return BytecodeMachine(self.functions, self.constants, self.native)

    def names(self) -> Sequence[str]:
        """Return the names in the function table, in order."""
        return [entry.name for entry in self.functions]
