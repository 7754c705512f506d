"""Libraries: compiled programs with their parameters, kept in files and loaded again."""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from relay2relax.backends.runtime.virtual_machine import VirtualMachine
from relay2relax.backends.vm.executable import Executable
from relay2relax.compat.running.ndarray import NDArray
from relay2relax.core.dtype import Array
from relay2relax.core.errors import FileError, ParseError
from relay2relax.core.output.content import reported
from relay2relax.relay_ir.io.params import load_params, save_params
from relay2relax.relay_ir.ir.types import TensorType, Type
from relay2relax.tir.extent import static

_PROGRAM, _PARAMS, _ABOUT = "program", "params", "about.json"


class Library:
    """A compiled program: its inputs and outputs, and the parameters that it holds."""

    type_key = "GraphExecutorFactory"
    format = "c"

    def __init__(
        self,
        executable: Executable,
        inputs: Sequence[tuple[str, Type]],
        outputs: Sequence[TensorType],
        params: Mapping[str, Array],
    ) -> None:
        self.executable = executable
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.params = dict(params)

    def machine(self) -> VirtualMachine:
        """Return a new machine that runs the program."""
        return VirtualMachine(self.executable)

    def library(self) -> Library:
        """Return the library itself."""
        return self

    def get_params(self) -> dict[str, NDArray]:
        """Return the parameters that it holds."""
        return {name: value.view(NDArray) for name, value in self.params.items()}

    def get_source(self, fmt: str = "") -> str:
        """Return the instructions of the program."""
        return self.executable.as_text()

    def save(self, file_name: object, fmt: str = "") -> None:
        """Write the library into one file."""
        self.export_library(file_name)

    def export_library(self, file_name: object, fcompile: object = None, **others: object) -> None:
        """Write the library into one file, which ``load_module`` reads.

        Raises FileError where it cannot be written.
        """
        about = {
            "inputs": [_described(name, ty) for name, ty in self.inputs],
            "outputs": [_described("", ty) for ty in self.outputs],
        }
        path = Path(os.fspath(file_name))  # type: ignore[call-overload]
        with reported(path), tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(path, "w") as archive:
            self.executable.save(Path(folder) / _PROGRAM)
            archive.write(Path(folder) / _PROGRAM, _PROGRAM)
            archive.writestr(_PARAMS, save_params(self.params))
            archive.writestr(_ABOUT, json.dumps(about))


def read_library(path: object) -> Library:
    """Return the library in a file that ``export_library`` wrote; its kernels are compiled again.

    Raises FileError where there is no such file, ParseError for another file.
    """
    file = Path(os.fspath(path))  # type: ignore[call-overload]
    if not file.is_file():
        raise FileError(f"there is no library {file}")
    try:
        with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(file) as archive:
            about = json.loads(archive.read(_ABOUT))
            params = load_params(archive.read(_PARAMS))
            program = Path(folder) / _PROGRAM
            program.write_bytes(archive.read(_PROGRAM))
            executable = Executable.load(program)
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise ParseError(f"{file} is no library that export_library of relay2relax wrote") from error
    inputs = [(str(one["name"]), _type(one)) for one in about["inputs"]]
    held = {name: np.array(value) for name, value in params.items()}
    return Library(executable, inputs, [_type(one) for one in about["outputs"]], held)


def _described(name: str, ty: Type) -> dict[str, object]:
    shape = [static(one) for one in ty.shape] if isinstance(ty, TensorType) else []
    return {"name": name, "shape": shape, "dtype": ty.dtype if isinstance(ty, TensorType) else ""}


def _type(described: Mapping[str, object]) -> TensorType:
    from relay2relax.tir.extent import ANY

    shape = described["shape"]
    assert isinstance(shape, list)
    return TensorType(tuple(ANY if one is None else int(one) for one in shape), str(described["dtype"]))
