"""A C library that ``export`` wrote, built by its own Makefile and run as a command."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from relay2relax.core.dtype import Array, numpy_dtype
from relay2relax.core.errors import Diagnostic, ExecutionError, FileError, Relay2RelaxError
from relay2relax.core.errors.table import running as kinds
from relay2relax.translator.comparison import Trial

_TENSOR = re.compile(r"^ {5}(\w+): (\w+) \[(.*)\]")
_EXTENTS = re.compile(r"^ {3}Extents: (.*)\.$", re.MULTILINE)
_SECONDS = 600.0


class Library:
    """A library, built once: :meth:`run` starts its command with inputs in raw files."""

    def __init__(self, folder: Path) -> None:
        """Build a copy of ``folder``. Raises FileError and ExecutionError where that fails."""
        # Its folder is given back when nothing refers to the library any more.
        self._folder = tempfile.TemporaryDirectory(prefix="relay2relax-")
        self._place = Path(self._folder.name, "library")
        shutil.copytree(folder, self._place)
        headers = sorted(path for path in self._place.glob("*.h") if not path.stem.rpartition("_v")[2].isdigit())
        if not headers:
            raise FileError(Diagnostic(f"{folder} holds no header of a library"))
        text = headers[0].read_text()
        self.name = headers[0].stem
        found = _EXTENTS.search(text)
        self.extents = [one for one in (found[1].split(", ") if found else ()) if one.isidentifier()]
        before, _, behind = text.partition("Outputs:")
        self.inputs, self.outputs = _tensors(before.partition("Inputs:")[2]), _tensors(behind)
        self._do("make", "-s")

    def run(self, trial: Trial) -> list[Array]:
        """Return the outputs for the arguments of a trial, whose inputs are told by their names,
        else by their order.

        Raises ExecutionError where the command fails.
        """
        pairs = zip(trial.module["main"].params, trial.arguments, strict=True)
        given = {param.name: np.asarray(value) for param, value in pairs}
        arrays = [given[name] for name, _, _ in self.inputs if name in given]
        if len(arrays) != len(self.inputs):
            arrays = list(given.values())[: len(self.inputs)]
        sizes = {
            extent: size
            for (_, _, shape), value in zip(self.inputs, arrays, strict=True)
            for extent, size in zip(shape, value.shape, strict=False)
        }
        missing = [one for one in self.extents if one not in sizes]
        if missing:
            raise Relay2RelaxError(f"{self.name} has an extent {missing[0]} that no input has", kind=kinds.ARGUMENT)
        for number, value in enumerate(arrays):
            (self._place / f"in{number}.raw").write_bytes(np.ascontiguousarray(value).tobytes())
        names = [f"in{number}.raw" for number in range(len(arrays))]
        self._do(f"./{self.name}", "-o", "out", *(str(sizes[one]) for one in self.extents), *names)
        return [
            np.frombuffer((self._place / f"out{number}.raw").read_bytes(), numpy_dtype(dtype)).reshape(expected.shape)
            for number, ((_, dtype, _), expected) in enumerate(zip(self.outputs, trial.sheet.expected, strict=True))
        ]

    def _do(self, *line: str) -> None:
        try:
            done = subprocess.run(
                line, cwd=self._place, capture_output=True, stdin=subprocess.DEVNULL, timeout=_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise ExecutionError(f"{line[0]} takes more than {_SECONDS:g} s") from None
        except OSError as error:
            raise ExecutionError(f"{line[0]} does not start: {error.strerror}") from None
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise ExecutionError(f"{line[0]} ended with {done.returncode}: {said[-1] if said else 'it says nothing'}")


def library_run(folder: Path) -> Callable[[Trial], Sequence[Array]]:
    """Return what runs the library in ``folder``; raises what building it raises."""
    return Library(folder).run


def _tensors(text: str) -> list[tuple[str, str, list[str]]]:
    """Return names, dtypes and extents of the tensors that a header lists."""
    found = (_TENSOR.match(line) for line in text.splitlines())
    return [(one[1], one[2], [e.strip() for e in one[3].split(",") if e.strip()]) for one in found if one]
