"""What every target offers: an executable, the machine that runs it, and the calls around them.

``build`` returns an :class:`AnyExecutable`, whose ``machine`` is the target's own; a
:class:`VirtualMachine` adds to it what does not depend on the target: calls in parts, as TVM's
machine offers them (inputs, run, outputs), and calls kept with their arguments.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol, TypeAlias

from relay2relax.core.collection import collection_paused
from relay2relax.core.errors import ExecutionError

# A function of a program, as callers see it: what it returns depends on the program.
Function: TypeAlias = Callable[..., Any]
# Called as ``instrument(function, name, before_run, result, *args)``.
Instrument: TypeAlias = Callable[..., object]


class Machine(Protocol):
    """Runs the functions of one executable."""

    def __getitem__(self, name: str, /) -> Function:
        """Return the function ``name``; raises ExecutionError where there is none."""

    def set_instrument(self, instrument: Instrument | None) -> None:
        """Let ``instrument`` see every call of a function of the table, as
        :meth:`VirtualMachine.set_instrument` says.
        """


class AnyExecutable(Protocol):
    """What ``build`` makes of a module, whatever its target."""

    @property
    def target(self) -> str:
        """One of ``targets.TARGETS``."""

    def stats(self) -> str:
        """Return the constant pool and the function names, in TVM's layout."""

    def as_text(self) -> str:
        """Return the instructions of every function, in TVM's layout."""

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the executable into a file, over another file only with ``force``.

        Raises FileError where that fails.
        """

    def machine(self) -> Machine:
        """Return a new machine that runs the functions.

        Raises ExecutionError for all names of functions that nobody registered.
        """


class VirtualMachine:
    """Runs the functions of an executable: ``vm["main"](*args)``.

    What is kept between calls is kept by the names of the functions.
    """

    @collection_paused()
    def __init__(self, executable: AnyExecutable) -> None:
        """Resolve every function the executable calls.

        Raises ExecutionError for all names that nobody registered.
        """
        self._machine = executable.machine()
        self._inputs: dict[str, tuple[tuple[object, ...], Mapping[str, object]]] = {}
        self._outputs: dict[str, Any] = {}
        self._saved: dict[str, Function] = {}

    def __getitem__(self, name: str) -> Function:
        """Return the function ``name``; raises ExecutionError where the executable has none."""
        return self._saved[name] if name in self._saved else self._machine[name]

    def set_instrument(self, instrument: Instrument | None) -> None:
        """Let ``instrument(function, name, before_run, result, *args)`` see every call of a
        function of the table.

        It is called before and after each; where it returns 1 before, the call is left out, with
        None as its result. Calls among the Relax functions themselves are not seen. None takes it
        away. Raises UnsupportedError on target tvm, whose machine has its own.
        """
        self._machine.set_instrument(instrument)

    def set_input(self, name: str, *args: object, **named: object) -> None:
        """Keep the arguments of ``name``, in order or by name, for ``invoke_stateful``; the
        function looks at them.
        """
        self[name]
        self._inputs[name] = args, named
        self._outputs.pop(name, None)

    def invoke_stateful(self, name: str) -> None:
        """Run ``name`` on what ``set_input`` kept; raises ExecutionError where that is nothing."""
        if name not in self._inputs:
            raise ExecutionError(f"{name} has no inputs; set_input({name!r}, …) gives them")
        args, named = self._inputs[name]
        self._outputs[name] = self[name](*args, **named)

    def get_outputs(self, name: str) -> Any:
        """Return the results of the last ``invoke_stateful``; raises ExecutionError where there was
        none.
        """
        if name not in self._outputs:
            raise ExecutionError(f"{name} has no outputs; invoke_stateful({name!r}) computes them")
        return self._outputs[name]

    def save_function(self, name: str, saved: str, *args: object, **named: object) -> None:
        """Let ``machine[saved]()`` be the call of ``name`` on these arguments.

        ExecutionError for a name in use.
        """
        if saved in self._saved or self._has(saved):
            raise ExecutionError(f"the machine has a function {saved!r} already")
        self._saved[saved] = partial(self[name], *args, **named)

    def _has(self, name: str) -> bool:
        try:
            self[name]
        except ExecutionError:
            return False
        return True
