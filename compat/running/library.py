"""Libraries: compiled programs with their parameters, kept in files and loaded again."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from relay2relax.backends.c.export.export import library_files
from relay2relax.backends.c.export.library import c_name
from relay2relax.backends.c.export.linking import create_shared
from relay2relax.backends.c.export.loaded import LoadedLibrary
from relay2relax.backends.c.export.shared import packed, read_linked, shared_objects, unpacked, write_linked
from relay2relax.backends.c.loading import MachineCode
from relay2relax.backends.runtime.virtual_machine import VirtualMachine
from relay2relax.backends.vm.executable import Executable
from relay2relax.compat.running.ndarray import NDArray
from relay2relax.core.dtype import Array
from relay2relax.core.errors import FileError, ParseError, UnsupportedError
from relay2relax.core.output import Content, reported
from relay2relax.relax_ir.ir.expr import IRModule as RelaxModule
from relay2relax.relay_ir.io.params import load_params, save_params
from relay2relax.relay_ir.ir.types import TensorType, Type
from relay2relax.tir.extent import ANY, static

_PROGRAM, _PARAMS, _ABOUT, _CODE = "program", "params", "about.json", "code"


@dataclass(eq=False, repr=False)
class Library:
    """A compiled program: its inputs and outputs, and the parameters that it holds.

    ``relax`` is what it was compiled from, None where it was loaded.
    """

    runner: Callable[[], Callable[..., object]]
    inputs: Sequence[tuple[str, Type]]
    outputs: Sequence[TensorType]
    params: Mapping[str, Array]
    name: str = "default"
    relax: RelaxModule | None = None
    executable: Executable | None = None
    march: str = "native"
    imported_modules: list[object] = field(default_factory=list)

    type_key = "GraphExecutorFactory"
    format = "c"

    def library(self) -> Library:
        """Return the library itself."""
        return self

    def get_params(self) -> dict[str, NDArray]:
        """Return the parameters that it holds."""
        return {name: value.view(NDArray) for name, value in self.params.items()}

    def get_source(self, fmt: str = "") -> str:
        """Return the instructions of the program."""
        return "" if self.executable is None else self.executable.as_text()

    def save(self, file_name: object, fmt: str = "") -> None:
        """Write the library into one file."""
        self.export_library(file_name)

    def export_library(self, file_name: object, fcompile: object = None, **options: object) -> None:
        """Write a shared object, which ``load_module`` reads; ``.tar`` and ``.o`` are its objects.

        Where the program is one block of tensor programs of known shapes, the file has the
        functions of an exported C library, weights inside; else the program, compiled when it is
        loaded.
        ``fcompile(file_name, objects, **options)`` links instead, as ``tvm.contrib.cc`` does.

        Raises FileError where it cannot be written, UnsupportedError for one that was loaded, or
        that apache-tvm runs.
        """
        if self.relax is None or self.executable is None:
            raise UnsupportedError("only a library that was built for llvm or c is exported; a loaded one is a file")
        try:
            known = all(None not in map(static, ty.shape) for _, ty in self.inputs if isinstance(ty, TensorType))
            files = library_files(self.relax, self.name, self.march, embedded=True) if known else {}
        except UnsupportedError:
            files = {}
        about = {
            "name": self.name,
            "native": bool(files),
            "inputs": [_described(name, ty) for name, ty in self.inputs],
            "outputs": [_described("", ty) for ty in self.outputs],
        }
        parts = {_ABOUT: json.dumps(about).encode(), _PARAMS: save_params(self.params)}
        if not files:
            with tempfile.TemporaryDirectory() as folder:
                self.executable.save(Path(folder) / _PROGRAM)
                parts[_PROGRAM] = (Path(folder) / _PROGRAM).read_bytes()
        write(file_name, parts, files, self.march, fcompile, options)


def write(
    file_name: object, parts: Mapping[str, bytes], files: Mapping[str, Content] = {}, march: str = "native",
    fcompile: object = None, options: Mapping[str, object] = {},
) -> None:  # fmt: skip
    """Write parts, and files of C, as one library; raises FileError where that fails."""
    path = Path(os.fspath(file_name))  # type: ignore[call-overload]
    with reported(path), tempfile.TemporaryDirectory(prefix="relay2relax-") as folder:
        objects = shared_objects(files, packed(parts), Path(folder), march)
        if "cc" in options and not callable(fcompile):
            fcompile = create_shared
        if callable(fcompile) and path.suffix not in (".tar", ".o"):
            known = {name: value for name, value in options.items() if name not in ("addons", "workspace_dir")}
            fcompile(str(path), list(objects), **known)
        else:
            write_linked(objects, path)


def read(file_name: object) -> tuple[MachineCode, Mapping[str, bytes]]:
    """Return the code and the parts of a library in a file; nothing of it is run.

    Raises FileError where there is no such file, ParseError for another file.
    """
    path = Path(os.fspath(file_name))  # type: ignore[call-overload]
    if not path.is_file():
        raise FileError(f"there is no library {path}")
    try:
        content, data = read_linked(path)
        return MachineCode(path.name, content), unpacked(data, path)
    except OSError as error:
        raise ParseError(f"{path} is no library that export_library of relay2relax wrote") from error


def loaded(code: MachineCode, parts: Mapping[str, bytes]) -> Library:
    """Return the library of what :func:`read` gave: its code is run in this process where it has
    functions for the whole program, else its kernels are compiled again.

    Raises ParseError where parts are missing or damaged.
    """
    try:
        about = json.loads(parts[_ABOUT])
        inputs = [(str(one["name"]), _type(one)) for one in about["inputs"]]
        outputs = [_type(one) for one in about["outputs"]]
        params = {name: np.array(value) for name, value in load_params(parts[_PARAMS]).items()}
        name = str(about["name"])
        if about["native"]:
            shapes = [(tuple(static(one) or 0 for one in ty.shape), ty.dtype) for ty in outputs]
            return Library(lambda: LoadedLibrary(code, c_name(name), shapes), inputs, outputs, params, name)
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / _PROGRAM
            program.write_bytes(parts[_PROGRAM])
            executable = Executable.load(program)
    except (KeyError, ValueError, TypeError) as error:
        raise ParseError(f"the library in {code.name} is damaged") from error
    return Library(lambda: VirtualMachine(executable)["main"], inputs, outputs, params, name, executable=executable)


def _described(name: str, ty: Type) -> dict[str, object]:
    shape = [static(one) for one in ty.shape] if isinstance(ty, TensorType) else []
    return {"name": name, "shape": shape, "dtype": ty.dtype if isinstance(ty, TensorType) else ""}


def _type(described: Mapping[str, object]) -> TensorType:
    shape = described["shape"]
    assert isinstance(shape, list)
    return TensorType(tuple(ANY if one is None else int(one) for one in shape), str(described["dtype"]))
