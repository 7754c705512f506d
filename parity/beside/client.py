"""What starts a process of apache-tvm, and asks it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from relay2relax.core.dtype import Array, numpy_dtype
from relay2relax.core.errors import UnsupportedError
from relay2relax.parity.beside import served
from relay2relax.relay_ir.io.params import save_params
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.types import TensorType
from relay2relax.relay_ir.json.writer import save_json


class Served:
    """A program of Relay that apache-tvm runs, in a process of its own until nobody calls it."""

    def __init__(self, mod: IRModule, params: Mapping[str, Array], outputs: Sequence[TensorType]) -> None:
        """Start the process, which builds the program with ``params`` bound.

        Raises UnsupportedError where apache-tvm cannot do it.
        """
        self._dtypes = [numpy_dtype(one.dtype) for one in outputs]
        self._folder = tempfile.TemporaryDirectory(prefix="relay2relax-")
        folder = Path(self._folder.name)
        (folder / served.PROGRAM).write_text(save_json(mod), encoding="utf-8")
        (folder / served.PARAMS).write_bytes(save_params(params))
        self._said = folder / "said"
        command = [sys.executable, "-m", served.__name__, str(folder)]
        with open(self._said, "wb") as said:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said)
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._to, self._from = process, process.stdin, process.stdout
        weakref.finalize(self, _ended, process, self._folder)
        self._answer()

    def __call__(self, *inputs: Array) -> tuple[Array, ...]:
        """Return the outputs for inputs; raises UnsupportedError where the process fails."""
        try:
            served.send(self._to, [np.ascontiguousarray(one) for one in inputs])
        except BrokenPipeError:
            raise self._failed() from None
        return tuple(self._answer())

    def _answer(self) -> list[Array]:
        try:
            return served.receive(self._from, self._dtypes)
        except EOFError:
            raise self._failed() from None

    def _failed(self) -> UnsupportedError:
        code = self._process.wait()
        said = self._said.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return UnsupportedError(f"apache-tvm, in a process of its own, ended with {code}: {(said or ['nothing'])[-1]}")


def _ended(process: subprocess.Popen[bytes], folder: tempfile.TemporaryDirectory[str]) -> None:
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.close()
    process.wait()
    folder.cleanup()
