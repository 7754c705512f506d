"""Calls in parts, as TVM's machine offers them (inputs, run, outputs), and calls kept with their
arguments.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from relay2relax.core.errors import ExecutionError


class StatefulCalls(ABC):
    """What a machine keeps between calls, by the names of its functions."""

    def __init__(self) -> None:
        self._inputs: dict[str, tuple[tuple[Any, ...], Mapping[str, Any]]] = {}
        self._outputs: dict[str, Any] = {}
        self._saved: dict[str, Callable[[], Any]] = {}

    @abstractmethod
    def __getitem__(self, name: str) -> Callable[..., Any]:
        """Return the function ``name``; raises ExecutionError where there is none."""

    def set_input(self, name: str, *args: Any, **named: Any) -> None:
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

    def save_function(self, name: str, saved: str, *args: Any, **named: Any) -> None:
        """Let ``machine[saved]()`` be the call of ``name`` on these arguments.

        ExecutionError for a name in use.
        """
        if saved in self._saved or self._has(saved):
            raise ExecutionError(f"the machine has a function {saved!r} already")
        self._saved[saved] = partial(self[name], *args, **named)

    def _has(self, name: str) -> bool:
        try:
            self[name]
        except (ExecutionError, AttributeError):  # TVM's machine raises the latter.
            return False
        return True
