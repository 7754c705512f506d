"""Building and running in apache-tvm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from relay2relax.backends.runtime.arguments import bind_arguments
from relay2relax.backends.runtime.registry import registered
from relay2relax.backends.tvm.limits import within_limits
from relay2relax.core.dtype import Array
from relay2relax.core.errors import ExecutionError
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
from relay2relax.relax_ir.tvm_bridge import to_tvm, tvm_errors


def build(mod: IRModule, target: str = "llvm") -> TvmExecutable:
    """Build ``mod`` with apache-tvm's default pipeline for its ``target``.

    What apache-tvm is known not to build is lowered to TensorIR before. Raises TvmError, and
    UnsupportedError for what cannot be lowered.
    """
    mod = within_limits(mod)
    module = to_tvm(mod)
    from tvm import relax

    with tvm_errors(f"apache-tvm cannot build the module for {target}"):
        if _has_local_functions(mod):
            module = relax.transform.LambdaLift()(module)
        built = relax.build(module, target=target)
    return TvmExecutable(mod, built)


class TvmExecutable:
    """A module built by apache-tvm.

    ``module`` is what it was given, ``built`` its ``relax.VMExecutable``.
    """

    def __init__(self, module: IRModule, built: Any) -> None:
        self.module = module
        self.built = built
        self._machine: Any = None

    def __getitem__(self, name: str) -> TvmFunction:
        """Return the function ``name``; raises ExecutionError where the module has no such Relax
        function.
        """
        import tvm
        from tvm import relax

        functions = {var.name: (var, f) for var, f in self.module.functions.items() if isinstance(f, Function)}
        if name not in functions:
            known = ", ".join(functions) or "none"
            raise ExecutionError(f"the module has no function {name!r}; it has: {known}")
        var, func = functions[name]
        if self._machine is None:
            _lend_functions(self.module)
            with tvm_errors("apache-tvm cannot load what it built"):
                self._machine = relax.VirtualMachine(self.built, tvm.cpu())
        return TvmFunction(name, func, self._machine[global_names(self.module)[var]])

    def stats(self) -> str:
        """Return TVM's summary of the executable."""
        return str(self.built.stats())

    def as_text(self) -> str:
        """Return TVM's listing of the executable's instructions."""
        return str(self.built.as_text())

    def save(self, path: str | Path) -> None:
        """Write a shared library (``.so``) or archive (``.tar``), as the name of ``path`` says."""
        with tvm_errors(f"apache-tvm cannot write {path}"):
            self.built.export_library(str(path))


class TvmFunction:
    """A function of a built module.

    Calling it does three steps that a caller who measures time takes one by one: ``prepare`` copies
    arguments to TVM, ``invoke`` runs, ``fetch`` copies results back.
    """

    def __init__(self, name: str, func: Function, packed: Any) -> None:
        self.name = name
        self._infos = [param.info for param in func.params]
        self._parameters = [(param.name, _type(param.info)) for param in func.params]
        self._packed = packed

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run the function; tensors are arrays or have ``__dlpack__``, tuples are tuples of those.

        Arguments are given in order or by parameter name, and take the dtype of their parameter.
        Raises ExecutionError for arguments that do not fit, and for what fails while it runs.
        """
        return self.fetch(self.invoke(self.prepare(*args, **named)))

    def prepare(self, *args: Any, **named: Any) -> list[Any]:
        """Return the arguments as TVM's values."""
        values = bind_arguments(self.name, self._parameters, args, named)
        return [_to_tvm(value, info) for value, info in zip(values, self._infos, strict=True)]

    def invoke(self, values: Sequence[Any]) -> Any:
        """Run on what ``prepare`` returned; the result is TVM's."""
        with tvm_errors(f"{self.name} failed in apache-tvm", ExecutionError):
            return self._packed(*values)

    def fetch(self, result: Any) -> Any:
        """Return a result of ``invoke`` as numpy arrays, tuples and numbers."""
        return _from_tvm(result)


def _type(info: StructInfo) -> Type:
    try:
        return to_type(info)
    except TypeError:
        # Shapes, scalars and functions are checked by TVM itself.
        return Type()


def _to_tvm(value: Any, info: StructInfo) -> Any:
    import tvm
    import tvm_ffi

    match info:
        case TensorStructInfo() if isinstance(value, np.ndarray):
            return tvm.runtime.tensor(value)
        case TupleStructInfo(fields) if isinstance(value, tuple):
            return [_to_tvm(one, field) for one, field in zip(value, fields, strict=True)]
        case ShapeStructInfo() if isinstance(value, (tuple, list)):
            return tvm_ffi.Shape(tuple(value))
    return value


def _from_tvm(value: Any) -> Any:
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


def _lent(function: Callable[..., Any]) -> Callable[..., Any]:
    import tvm

    def call(*args: Any) -> Any:
        found = function(*(np.from_dlpack(arg) if isinstance(arg, tvm.runtime.Tensor) else arg for arg in args))
        return tvm.runtime.tensor(found) if isinstance(found, np.ndarray) else found

    return call


def _has_local_functions(mod: IRModule) -> bool:
    roots = [func.body for func in mod.functions.values() if isinstance(func, Function)]
    return any(isinstance(binding.value, Function) for seq in all_sequences(roots) for binding in bindings(seq))
