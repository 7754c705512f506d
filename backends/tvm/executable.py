"""Building in apache-tvm."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from relay2relax.backends.tvm.cuda import device_for, host_is_watched, refuse_touching
from relay2relax.backends.tvm.limits import within_limits
from relay2relax.backends.tvm.machine import Built, TvmFunction, TvmMachine
from relay2relax.core.errors import ExecutionError
from relay2relax.core.errors.table import running
from relay2relax.core.output import OutputFile, marked
from relay2relax.relax_ir.ir.expr import Function, IRModule
from relay2relax.relax_ir.ir.visit import all_sequences, bindings
from relay2relax.relax_ir.tvm_bridge import to_tvm, tvm_errors

# Where apache-tvm runs unless it is told.
DEVICE_VARIABLE = "RELAY2RELAX_TVM_DEVICE"


def build(mod: IRModule, target: str = "llvm", device: str | None = None) -> TvmExecutable:
    """Build ``mod`` with apache-tvm's default pipeline for its ``target``, to run on ``device``, by
    default that which ``RELAY2RELAX_TVM_DEVICE`` names, or the processor.

    On the device ``"cuda"`` the target is that of the GPU that is there. What apache-tvm is known
    not to build is lowered to TensorIR before. Raises TvmError, UnsupportedError for what cannot be
    lowered, and ExecutionError where there is no such device.
    """
    device = device or os.environ.get(DEVICE_VARIABLE, "cpu")
    found: Any = target
    if device == "cpu":
        mod = within_limits(mod)
    else:
        import tvm

        if not tvm.device(device, 0).exist:
            raise ExecutionError(f"apache-tvm finds no device {device!r} here", kind=running.TVM)
        found = tvm.target.Target.from_device(tvm.device(device, 0))
        mod = within_limits(mod, device_for(found.attrs))
    module = to_tvm(mod)
    from tvm import relax

    with tvm_errors(f"apache-tvm cannot build the module for {target}"):
        if _has_local_functions(mod):
            module = relax.transform.LambdaLift()(module)
        watch: AbstractContextManager[list[str]] = host_is_watched() if device != "cpu" else nullcontext([])
        with watch as touching:
            built = relax.build(module, target=found)
    refuse_touching(touching)
    return TvmExecutable(mod, built, device)


@contextmanager
def on_device(device: str) -> Iterator[None]:
    """Let apache-tvm run on ``device`` where it is not told, in processes that are started as
    well.
    """
    before = os.environ.get(DEVICE_VARIABLE)
    os.environ[DEVICE_VARIABLE] = device
    try:
        yield
    finally:
        del os.environ[DEVICE_VARIABLE]
        if before is not None:
            os.environ[DEVICE_VARIABLE] = before


class TvmExecutable:
    """A module built by apache-tvm.

    ``module`` is what it was given, ``built`` its ``relax.VMExecutable``.
    """

    target = "tvm"

    def __init__(self, module: IRModule, built: Built, device: str = "cpu") -> None:
        self.module = module
        self.built = built
        self.device = device
        self._machine = self.machine()

    def __getitem__(self, name: str) -> TvmFunction:
        """Return the function ``name``; raises ExecutionError where the module has no such Relax
        function.
        """
        return self._machine[name]

    def machine(self) -> TvmMachine:
        """Return a new machine that runs the functions."""
        return TvmMachine(self.module, self.built, self.device)

    def stats(self) -> str:
        """Return TVM's summary of the executable."""
        return str(self.built.stats())

    def as_text(self) -> str:
        """Return TVM's listing of the executable's instructions."""
        return str(self.built.as_text())

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write a shared library (``.so``) or archive (``.tar``), as the name of ``path`` says.

        A file that was not written here is written over only with ``force``.
        """
        target = OutputFile(Path(path), force=force, parents=False)
        target.check()
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder) / target.path.name
            with tvm_errors(f"apache-tvm cannot write {path}"):
                self.built.export_library(str(made))
            # Who loads a library or an archive looks at nothing behind its end.
            target.write(marked(made.read_bytes()))


def _has_local_functions(mod: IRModule) -> bool:
    roots = [func.body for func in mod.functions.values() if isinstance(func, Function)]
    return any(isinstance(binding.value, Function) for seq in all_sequences(roots) for binding in bindings(seq))
