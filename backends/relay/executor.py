"""Relay modules run directly: ``create_executor(kind, mod, backend).evaluate(entry)(*args,
**params)``.

The kinds are TVM's ``debug``, ``graph`` and ``vm``. All run the same code on the same machine
(``code.py``, ``machine.py``). ``graph`` admits only first-order dataflow, which TVM's
graph executor would run, and says of everything else why it cannot; ``vm`` compiles the whole
module beforehand; its code can be shown and kept in a file.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from relay2relax.backends.relay.dataflow import check_dataflow
from relay2relax.backends.relay.executable import RelayExecutable, compile_executable, load_executable
from relay2relax.backends.relay.kernels import (
    CKernels,
    NumpyKernels,
    Signature,
    SignatureKernels,
    is_static,
    static_signatures,
    type_of,
    typed,
)
from relay2relax.backends.relay.machine import Closure, Machine, Observer
from relay2relax.backends.relay.values import admitted
from relay2relax.backends.runtime.arguments import bind_arguments
from relay2relax.core.collection import collection_paused
from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import running, translating
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.ir.module import IRModule

KINDS = ("debug", "graph", "vm")
BACKENDS = ("numpy", "c")


def create_executor(kind: str, mod: IRModule, backend: str = "numpy") -> Executor:
    """Return an executor for ``mod``; types are inferred if they are not known yet.

    ``kind`` is "debug" (the whole language), "graph" (first-order dataflow) or "vm" (the whole
    language, with an ``executable``); ``backend`` is "numpy" or "c". Raises TypeInferenceError for
    an ill-typed module, UnsupportedError for a kind or backend that does not exist, for a module
    with functions that are no Relay, and for what "vm" cannot compile.
    """
    if kind not in KINDS:
        raise UnsupportedError(
            mistake(translating.CHOICE, what="executor of Relay", name=repr(kind), known=", ".join(KINDS))
        )
    _check_backend(backend)
    mod.refuse_opaque("the executors run Relay only; use the program from before it was lowered")
    typed_mod = typed_module(mod)
    return Executor(kind, typed_mod, backend, compile_executable(typed_mod) if kind == "vm" else None)


def load_executor(path: str | os.PathLike[str], backend: str = "numpy") -> Executor:
    """Return a "vm" executor for the executable in the file ``path``, which ``executable.save``
    wrote.

    Raises FileError where the file cannot be read, ParseError where it is damaged or of another
    version.
    """
    _check_backend(backend)
    executable = load_executable(path)
    return Executor("vm", executable.module, backend, executable)


def _check_backend(backend: str) -> None:
    if backend not in BACKENDS:
        raise UnsupportedError(
            mistake(
                translating.CHOICE, what="backend of the Relay executors", name=repr(backend), known=", ".join(BACKENDS)
            )
        )


@dataclass(frozen=True, slots=True)
class Executor:
    """An executor for one module.

    ``mod`` has its types, ``executable`` is the code of kind "vm".
    """

    kind: str
    mod: IRModule
    backend: str
    executable: RelayExecutable | None = None

    @collection_paused()
    def evaluate(self, entry: str = "main", observe: Observer | None = None) -> Evaluation:
        """Return a function that runs ``entry``.

        ``observe(expr, value)`` is called with every value that is computed, in order. Raises
        Relay2RelaxError where the module has no such function, UnsupportedError where the executor
        cannot run it, CompilerError where "c" finds no compiler.
        """
        if self.executable is not None and observe is not None:
            raise UnsupportedError(
                "the vm executor does not show the values of nodes; use the debug executor", kind=running.NOT_ON_BACKEND
            )
        var = self.mod.get_global_var(entry)
        types = self.mod.types
        if self.kind == "graph":
            check_dataflow(self.mod, var)
        kernels: NumpyKernels | CKernels = NumpyKernels(types)
        if self.backend == "c":
            kernels = CKernels()
            kernels.prepare(static_signatures(types))
        parameters = tuple((param.name, types[param]) for param in self.mod[var].params)
        # Open extents become known with the arguments; where nothing branches, so do all shapes.
        open_shapes = self.kind == "graph" and not all(is_static(ty) for _, ty in parameters)
        codes = None if self.executable is None else self.executable.codes
        machine = Machine(self.mod, kernels, observe, codes)
        return Evaluation(entry, parameters, machine.function(entry), open_shapes)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A function of a module, ready to run; calling it runs it.

    Arguments are given by position, then by parameter name, and converted as
    ``arguments.bind_arguments`` says. Tensors are returned as numpy arrays, tuples as Python
    tuples, ADT values and references as ``values`` declares them. Results may share memory with
    arguments and constants.
    """

    name: str
    parameters: tuple[tuple[str, Type], ...]
    closure: Closure
    open_shapes: bool
    _prepared: set[tuple[Type, ...]] = field(default_factory=set)

    def __call__(self, *args: Any, **params: Any) -> Any:
        bound = bind_arguments(self.name, self.parameters, args, params)
        values = [
            value if isinstance(ty, TensorType) else admitted(value, f"{self.name}: argument `{name}`")
            for (name, ty), value in zip(self.parameters, bound, strict=True)
        ]
        machine = self.closure.machine
        if self.open_shapes and isinstance(machine.kernels, CKernels):
            given = tuple(map(type_of, values))
            if given not in self._prepared:
                machine.kernels.prepare(_signatures(machine.mod, self.name, values))
                self._prepared.add(given)
        return machine.run(self.closure, values)


def _signatures(mod: IRModule, name: str, values: Sequence[Any]) -> list[Signature]:
    """Return what a straight-line function calls for these arguments, found by running it on their
    types.
    """
    listing = SignatureKernels()
    machine = Machine(mod, listing)
    # Where a shape comes to depend on data the list ends; what comes after is compiled when it is
    # met.
    with suppress(UnsupportedError):
        machine.run(machine.function(name), [typed(value) for value in values])
    return listing.signatures
