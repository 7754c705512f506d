"""``tvm.runtime.load_module``: libraries in files."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

from relay2relax.compat.running.graph_executor import Module
from relay2relax.compat.running.library import read_library
from relay2relax.compat.running.virtual_machine import Executable


def load_module(path: object, fmt: str = "") -> Module | Executable:
    """Return the library in a file that ``export_library`` wrote; its kernels are compiled again.

    What a virtual machine's executable wrote is such an executable. Raises FileError where there is
    no such file, ParseError for another file.
    """
    file = Path(os.fspath(path))  # type: ignore[call-overload]
    if file.is_file() and not zipfile.is_zipfile(file):
        return Executable.load_exec(file.read_bytes())
    read = read_library(path)
    return Module(read.executable, read.inputs, read.outputs, read.params)
