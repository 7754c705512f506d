"""A Relax module in the form the virtual machine runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from relay2relax.backends.bytecode import (
    FunctionEntry,
    Pooled,
    VMFunction,
    constant_text,
    instruction_text,
)
from relay2relax.core.errors import UnsupportedError


@dataclass(frozen=True, slots=True)
class Executable:
    """Instructions, constants and kernels of a module, made by ``backends.build``.

    One executable serves every value of the symbolic extents. ``native`` is the compiled code of target c.
    """

    functions: tuple[FunctionEntry, ...]
    constants: tuple[Pooled, ...]
    target: str
    native: Any = field(default=None, compare=False)

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

    def save(self, path: str) -> None:
        """Raise UnsupportedError: an executable has no file format of its own; a module's script is what one keeps."""
        advice = "save the module's script and its params, and build again"
        raise UnsupportedError(f"an executable of target {self.target} cannot be written to {path}; {advice}")

    def names(self) -> Sequence[str]:
        """Return the names in the function table, in order."""
        return [entry.name for entry in self.functions]
