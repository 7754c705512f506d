"""A column of a comparison: a program, and what runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from relay2relax import backends as running
from relay2relax.core.errors import Diagnostic, Relay2RelaxError
from relay2relax.core.errors.nearest import nearest
from relay2relax.core.errors.table.files import OPTION
from relay2relax.parity.programs.apart import onnx_run, torch_run, tvm_run, tvm_script_run
from relay2relax.parity.programs.library import library_run
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.translator.comparison import Trial
from relay2relax.translator.delivered import Script
from relay2relax.translator.pipeline import lower_to_tir, via_graph

# What runs a program for the arguments of a trial, and returns its outputs.
Runner: TypeAlias = Callable[[Trial], object]
_TRANSLATIONS = {"lower_to_tir": lower_to_tir, "via_graph": via_graph}
_EXECUTORS = {"relay": "debug", "relay-graph": "graph", "relay-vm": "vm"}


@dataclass(frozen=True, slots=True)
class Program:
    """One way to compute what a model computes.

    ``prepare`` takes the typed module and returns what runs it, so that a program is built once for
    all inputs. A function of your own is a program too:

    >>> Program("mine", "python", lambda mod: lambda trial: mine(*trial.arguments))
    """

    name: str
    backend: str
    prepare: Callable[[IRModule], Runner]

    def __str__(self) -> str:
        return f"{self.name} on {self.backend}"


def relay_program(name: str = "relay", backend: str = "numpy") -> Program:
    """Return Relay itself on the executor that ``name`` says: ``relay``, operator by operator,
    ``relay-graph`` or ``relay-vm``.
    """

    def prepare(mod: IRModule) -> Runner:
        evaluate = running.create_executor(_EXECUTORS[name], mod, backend=backend).evaluate()
        return lambda trial: evaluate(*trial.arguments)

    return Program(name, backend, prepare)


def translated_program(name: str, backend: str = "numpy") -> Program:
    """Return the translation ``name``, ``lower_to_tir`` or ``via_graph``, on Relax's virtual
    machine; on ``tvm`` in a process of its own.
    """

    def prepare(mod: IRModule) -> Runner:
        if backend == "tvm":
            return lambda trial: tvm_run(name, trial)
        machine = running.VirtualMachine(running.build(_TRANSLATIONS[name](mod), target=backend))
        return lambda trial: machine["main"](*trial.arguments)

    return Program(name, backend, prepare)


def script_program(script: Script, backend: str = "numpy") -> Program:
    """Return a script of Relax, on ``tvm`` in a process of its own; raises nothing, its rows say
    what fails.
    """

    def prepare(_: IRModule) -> Runner:
        if backend == "tvm":
            return lambda trial: tvm_script_run(script, trial)
        machine = running.VirtualMachine(running.build(script.module, target=backend))
        return lambda trial: machine[script.entry](*script.arguments(trial.module, trial.arguments))

    return Program(script.name, backend, prepare)


def onnx_program(path: Path) -> Program:
    """Return the ONNX model in ``path``, which ONNX Runtime runs in a process of its own.

    Its inputs are told by their names, else by their order among those that are no weights.
    """
    return Program(path.name, "onnxruntime", lambda _: lambda trial: onnx_run(path, trial))


def torch_program(path: Path) -> Program:
    """Return what ``torch.export.save`` wrote into ``path``, run by PyTorch in a process of its
    own.

    Its inputs are those that are no weights, in their order. PyTorch reads the file, so it has to
    be one that you trust.
    """
    return Program(path.name, "torch", lambda _: lambda trial: torch_run(path, trial))


def library_program(folder: Path) -> Program:
    """Return the C library that ``export`` wrote into ``folder``, built by its Makefile."""
    return Program(folder.name, "library", lambda _: library_run(folder))


def named_program(word: str, backend: str) -> Program:
    """Return the program that a command line calls ``word``: a name, or the path of a file or
    folder.

    Raises Relay2RelaxError for what is neither.
    """
    if word in _EXECUTORS:
        return relay_program(word, backend)
    if word in _TRANSLATIONS:
        return translated_program(word, backend)
    path = Path(word)
    if path.suffix == ".onnx" and path.exists():
        return onnx_program(path)
    if path.suffix == ".pt2" and path.exists():
        return torch_program(path)
    if path.is_dir() and (path / "Makefile").exists():
        return library_program(path)
    names = (*_EXECUTORS, *_TRANSLATIONS)
    title = f"--program {word!r} is no program: expected {', '.join(names)}, an .onnx or .pt2 file, or a C library"
    raise Relay2RelaxError(Diagnostic(title, help=nearest(word, names), kind=OPTION))


def backends_of(word: str, backends: tuple[str, ...]) -> tuple[str, ...]:
    """Return on which of the ``backends`` the program ``word`` can run: what others run runs once,
    and Relay has no machine of Relax's.
    """
    if word in _TRANSLATIONS:
        return backends
    if word in _EXECUTORS:
        return tuple(one for one in backends if one in ("numpy", "c"))
    return ("",)
