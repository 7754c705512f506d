"""``tvm.relax`` as scripts about Relay use it: translation, building, the virtual machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np

from relay2relax import backends, translator
from relay2relax.compat.running.printing import teach_printing
from relay2relax.compat.running.results import legacy, plain
from relay2relax.compat.running.targets import backend_of
from relay2relax.relax_ir.ir.expr import IRModule as RelaxModule
from relay2relax.relay_ir.ir.expr import Function
from relay2relax.relay_ir.ir.module import IRModule


def from_relay(
    func: Function | IRModule,
    target: object = None,
    relay_params: Mapping[str, object] | None = None,
    **options: object,
) -> RelaxModule:
    """Return the Relax module of a function of Relay, whose operators are TensorIR."""
    teach_printing()
    params = {name: np.asarray(value) for name, value in (relay_params or {}).items()}
    return translator.lower_to_tir(func, params)


def build(mod: RelaxModule, target: object = None, *others: object, **options: object) -> backends.Executable:
    """Return the executable of a module as generated C.

    Raises UnsupportedError for a target that is not a processor.
    """
    backend_of(target)
    return backends.build(mod, "c")


class VirtualMachine:
    """Runs the functions of an executable."""

    def __init__(self, rt_mod: object, device: object = None, *others: object, **options: object) -> None:
        self._machine = backends.VirtualMachine(cast(backends.Executable, rt_mod))

    def __getitem__(self, name: str) -> object:
        function = self._machine[name]
        return lambda *args: legacy(function(*map(plain, args)))

    def set_input(self, func_name: str, *args: object, **kwargs: object) -> None:
        """Set the arguments of a function."""
        self._machine.set_input(func_name, *args, **kwargs)

    def invoke_stateful(self, func_name: str) -> None:
        """Run a function with the arguments that were set."""
        self._machine.invoke_stateful(func_name)

    def get_outputs(self, func_name: str) -> object:
        """Return what the last run of a function gave."""
        return legacy(self._machine.get_outputs(func_name))


def transform(name: str) -> object:
    """Return a pass over Relax; raises AttributeError where there is none of the name."""
    from relay2relax.relax_ir import transform as passes

    return getattr(passes, name)
