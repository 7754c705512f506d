"""Running what apache-tvm built, on TVM's own machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from relay2relax.backends.runtime.arguments import bind_arguments
from relay2relax.backends.runtime.registry import registered
from relay2relax.backends.runtime.virtual_machine import Instrument
from relay2relax.core.dtype import Array
from relay2relax.core.errors import ExecutionError, UnsupportedError, mistake
from relay2relax.core.errors.table import running
from relay2relax.ops.registry.types import Type
from relay2relax.relax_ir.ir.expr import Call, CallDPSPacked, ExternFunc, Function, IRModule
from relay2relax.relax_ir.ir.struct_info import (
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
    to_type,
)
from relay2relax.relax_ir.ir.visit import all_sequences, bindings
from relay2relax.relax_ir.script.printer import global_names
from relay2relax.relax_ir.tvm_bridge import tvm_errors


class Built(Protocol):
    """What we use of TVM's ``relax.VMExecutable``."""

    def stats(self) -> str:
        """Return a summary."""

    def as_text(self) -> str:
        """Return the instructions."""

    def export_library(self, file_name: str) -> object:
        """Write a library."""


class TvmMachine:
    """Runs the functions of a module that apache-tvm built, which is loaded when the first is asked
    for.
    """

    def __init__(self, module: IRModule, built: Built, device: str = "cpu") -> None:
        self._module = module
        self._built = built
        self._device = device
        self._loaded: Mapping[str, Callable[..., object]] | None = None

    def __getitem__(self, name: str) -> TvmFunction:
        """Return the function ``name``; raises ExecutionError where the module has no such Relax
        function, or keeps it for itself.
        """
        import tvm
        from tvm import relax

        functions = {var.name: (var, f) for var, f in self._module.functions.items() if isinstance(f, Function)}
        if name not in functions:
            known = ", ".join(functions) or "none"
            raise ExecutionError(mistake(running.NO_FUNCTION, owner="the module", name=repr(name), known=known))
        var, func = functions[name]
        if self._loaded is None:
            _lend_functions(self._module)
            with tvm_errors("apache-tvm cannot load what it built"):
                self._loaded = relax.VirtualMachine(self._built, tvm.device(self._device, 0))
        try:
            return TvmFunction(name, func, self._loaded[global_names(self._module)[var]], self._device)
        except AttributeError as problem:
            raise ExecutionError(f"apache-tvm offers no function {name!r}: {problem}", kind=running.TVM) from problem

    def set_instrument(self, instrument: Instrument | None) -> None:
        """Raise UnsupportedError: TVM's machine has an instrument of its own."""
        raise UnsupportedError(
            "on target tvm the machine of apache-tvm runs; it has a set_instrument of its own",
            kind=running.NOT_ON_BACKEND,
        )


class TvmFunction:
    """A function of a built module.

    Calling it does three steps that a caller who measures time takes one by one: ``prepare`` copies
    arguments to TVM, ``invoke`` runs, ``fetch`` copies results back.
    """

    def __init__(self, name: str, func: Function, packed: Callable[..., object], device: str = "cpu") -> None:
        self.name = name
        self._device = device
        self._infos = [param.info for param in func.params]
        self._parameters = [(param.name, _type(param.info)) for param in func.params]
        self._packed = packed

    def __call__(self, *args: object, **named: object) -> Any:
        """Run the function; tensors are arrays or have ``__dlpack__``, tuples are tuples of those.

        Arguments are given in order or by parameter name, and take the dtype of their parameter.
        Raises ExecutionError for arguments that do not fit, and for what fails while it runs.
        """
        return self.fetch(self.invoke(self.prepare(*args, **named)))

    def prepare(self, *args: object, **named: object) -> list[object]:
        """Return the arguments as TVM's values."""
        values = bind_arguments(self.name, self._parameters, args, named)
        return [_to_tvm(value, info, self._device) for value, info in zip(values, self._infos, strict=True)]

    def invoke(self, values: Sequence[object]) -> object:
        """Run on what ``prepare`` returned; the result is TVM's."""
        with tvm_errors(f"{self.name} failed in apache-tvm", ExecutionError):
            return self._packed(*values)

    def fetch(self, result: object) -> Any:
        """Return a result of ``invoke`` as numpy arrays, tuples and numbers."""
        return _from_tvm(result)


def _type(info: StructInfo) -> Type:
    try:
        return to_type(info)
    except TypeError:
        # Shapes, scalars and functions are checked by TVM itself.
        return Type()


def _to_tvm(value: object, info: StructInfo, device: str) -> object:
    import tvm
    import tvm_ffi

    match info:
        case TensorStructInfo() if isinstance(value, np.ndarray):
            return tvm.runtime.tensor(value, tvm.device(device, 0))
        case TupleStructInfo(fields) if isinstance(value, tuple):
            return [_to_tvm(one, field, device) for one, field in zip(value, fields, strict=True)]
        case ShapeStructInfo() if isinstance(value, (tuple, list)):
            return tvm_ffi.Shape(tuple(value))
    return value


def _from_tvm(value: object) -> object:
    import tvm
    import tvm_ffi

    if isinstance(value, tvm.runtime.Tensor):
        array: Array = value.numpy()
        return array
    if isinstance(value, tvm_ffi.Shape):
        return tuple(int(extent) for extent in value)
    if isinstance(value, (tvm_ffi.Array, tuple, list)):
        return tuple(_from_tvm(one) for one in value)
    return value


def _lend_functions(mod: IRModule) -> None:
    """Register the functions that ``mod`` finds by name, and that are registered here, with TVM as
    well.

    Tensors are exchanged through DLPack, without copies; what such a function writes is written for
    TVM.
    """
    import tvm

    roots = [func.body for func in mod.functions.values() if isinstance(func, Function)]
    for seq in all_sequences(roots):
        for binding in bindings(seq):
            match binding.value:
                case CallDPSPacked(name) | Call(ExternFunc(name)):
                    function = registered(name)
                    if function is not None:
                        tvm.register_global_func(name, _lent(function), override=True)


def _lent(function: Callable[..., object]) -> Callable[..., object]:
    import tvm

    def call(*args: object) -> object:
        found = function(*(np.from_dlpack(arg) if isinstance(arg, tvm.runtime.Tensor) else arg for arg in args))
        return tvm.runtime.tensor(found) if isinstance(found, np.ndarray) else found

    return call
