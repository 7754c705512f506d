"""``tvm.runtime.load_module``: libraries in files."""

from __future__ import annotations

from relay2relax.compat.running.graph_executor import Module
from relay2relax.compat.running.library import loaded, read
from relay2relax.compat.running.virtual_machine import BYTECODE, Executable


def load_module(path: object, fmt: str = "") -> Module | Executable:
    """Return the library in a file that ``export_library`` wrote, objects linked first.

    What a virtual machine's executable wrote is such an executable. Other files are not loaded:
    only one that has relay2relax's section is run in this process, when the program is. Raises
    FileError where there is no such file, ParseError for another file.
    """
    code, parts = read(path)
    if BYTECODE in parts:
        return Executable.load_exec(parts[BYTECODE])
    return Module.of(loaded(code, parts))
