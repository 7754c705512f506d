"""What a reduction looks for: a check says in a word how a module fails, "" where it does not.

A part that fails in another way than the whole is none of what is looked for.
"""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from relay2relax import translator
from relay2relax.core.dtype import Array
from relay2relax.core.errors import Diagnostic, FileError, Relay2RelaxError
from relay2relax.core.npz import npz_bytes
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.text.printer import print_module

# (a module with types, values of its parameters by name) -> how it fails, or ""
Check: TypeAlias = Callable[[IRModule, Mapping[str, Array]], str]

MODEL, INPUTS = "model.relay", "inputs.npz"


def comparison_check(backends: Sequence[str] = ("numpy", "c")) -> Check:
    """Return the check that compares Relay with both translations on ``backends``.

    It fails as ``differs on c``, or with the code of an error.
    """

    def check(module: IRModule, inputs: Mapping[str, Array]) -> str:
        try:
            report = translator.compare(module, inputs=inputs, backends=tuple(backends))
        except Relay2RelaxError as error:
            return f"error {error.code}"
        wrong = [row for row in report.rows if not row.difference.agrees]
        if not wrong:
            return ""
        failure = wrong[0].failure
        return f"error {failure.code}" if failure is not None else f"differs on {wrong[0].backend}"

    return check


def command_check(line: str, seconds: float = 600.0) -> Check:
    """Return the check that runs a command, without a shell: ``python mine.py {model} {inputs}``.

    ``{model}`` becomes the path of the module's text, ``{inputs}`` that of an npz file of its
    values. It fails as the command ends: ``exit 1``, ``signal 11``, ``over 600 s``.

    Raises FileError where there is no such command.
    """
    words = shlex.split(line)
    if not words:
        raise Relay2RelaxError("--check names no command")

    def check(module: IRModule, inputs: Mapping[str, Array]) -> str:
        with tempfile.TemporaryDirectory(prefix="relay2relax-") as folder:
            places = {"{model}": Path(folder, MODEL), "{inputs}": Path(folder, INPUTS)}
            places["{model}"].write_bytes(print_module(module, exact_floats=True).encode())
            places["{inputs}"].write_bytes(npz_bytes(dict(inputs)))
            given = [_filled(word, places) for word in words]
            try:
                done = subprocess.run(
                    given, capture_output=True, stdin=subprocess.DEVNULL, timeout=seconds, check=False
                )
            except subprocess.TimeoutExpired:
                return f"over {seconds:g} s"
            except OSError as error:
                raise FileError(Diagnostic(f"cannot run {words[0]!r}: {error.strerror}")) from None
        if done.returncode == 0:
            return ""
        return f"exit {done.returncode}" if done.returncode > 0 else f"signal {-done.returncode}"

    return check


def _filled(word: str, places: Mapping[str, Path]) -> str:
    for name, path in places.items():
        word = word.replace(name, str(path))
    return word
