"""``relay.vm`` and ``tvm.runtime.vm``: modules compiled to bytecode, and what runs it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np

from relay2relax.backends.relay.executor import Executor, create_executor, load_executor
from relay2relax.compat.running import executors
from relay2relax.compat.running.graph_executor import BenchmarkResult, Module
from relay2relax.compat.running.library import write
from relay2relax.compat.running.ndarray import NDArray
from relay2relax.compat.running.results import legacy, plain
from relay2relax.compat.running.targets import backend_of
from relay2relax.core.dtype import of_array
from relay2relax.relay_ir.io.params import bind_params, load_params, save_params
from relay2relax.relay_ir.ir.expr import Call, Constant, Function, Op, Var
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, substitute
from relay2relax.relay_ir.ir.types import TensorType

_LATE = "late_constant_"
BYTECODE = "bytecode"

VMExecutor = executors.Executor


class Executable:
    """The bytecode of a module."""

    def __init__(self, mod: object) -> None:
        self.executor: Executor = mod.executor if isinstance(mod, Executable) else cast(Executor, mod)
        # Constants of `main` that are kept elsewhere: they are arguments of that name.
        self.late: dict[str, NDArray] = dict(mod.late) if isinstance(mod, Executable) else {}

    def __getitem__(self, name: str) -> object:
        return getattr(self, name)

    @property
    def mod(self) -> Executable:
        """The module of its functions, which is itself."""
        return self

    def get_late_bound_consts(self, byte_limit: int) -> dict[str, NDArray]:
        """Return the constants of ``main`` of so many bytes, and forget them: they have to be
        loaded again.
        """
        main = self.executor.mod["main"]
        large = [one for one in nodes(main) if isinstance(one, Constant) and one.data.nbytes >= byte_limit]
        params = [
            Var(f"{_LATE}{place}", TensorType(one.data.shape, of_array(one.data))) for place, one in enumerate(large)
        ]
        if params:
            body = substitute(main.body, dict(zip(large, params, strict=True)))
            mod = replace(self.executor.mod, types={})
            mod["main"] = Function((*main.params, *params), body, main.ret_type, main.type_params, main.attrs)
            self.executor = create_executor("vm", mod)
        return {var.name: one.data.view(NDArray) for var, one in zip(params, large, strict=True)}

    def load_late_bound_consts_from_map(self, constants: Mapping[str, NDArray]) -> None:
        """Take the constants that :meth:`get_late_bound_consts` gave."""
        self.late.update(constants)

    def move_late_bound_consts(self, path: str, byte_limit: int) -> None:
        """Write the constants of ``main`` of so many bytes into a file, and forget them."""
        Path(path).write_bytes(save_params(self.get_late_bound_consts(byte_limit)))

    def load_late_bound_consts(self, path: str) -> None:
        """Take the constants that :meth:`move_late_bound_consts` wrote."""
        self.late.update(
            {name: np.array(one).view(NDArray) for name, one in load_params(Path(path).read_bytes()).items()}
        )

    def save(self) -> tuple[bytearray, object]:
        """Return the bytecode as bytes, and the library of its kernels."""
        assert self.executor.executable is not None
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "code"
            self.executor.executable.save(path)
            return bytearray(path.read_bytes()), self.lib

    @staticmethod
    def load_exec(bytecode: bytes | bytearray, lib: object = None) -> Executable:
        """Return the executable that :meth:`save` gave as bytes."""
        if isinstance(lib, Executable):
            return lib
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "code"
            path.write_bytes(bytes(bytecode))
            return Executable(load_executor(path))

    @property
    def bytecode(self) -> str:
        """The instructions, behind the names of the functions and of their parameters."""
        assert self.executor.executable is not None
        heads = (f"{one}({', '.join(self.get_function_params(one))})" for one in self.globals)
        return "\n".join((*heads, "", self.executor.executable.as_text()))

    @property
    def lib(self) -> Module:
        """The library of its kernels: the bytecode is all there is to it."""
        return _Kernels(self)

    @property
    def primitive_ops(self) -> list[str]:
        """Names of kernels, as TVM makes them of operators that are called."""
        calls = (one for func in self.executor.mod.functions.values() for one in nodes(func) if isinstance(one, Call))
        names = dict.fromkeys(one.op.name.replace(".", "_") for one in calls if isinstance(one.op, Op))
        return [f"vm_mod_fused_{one}" for one in names]

    @property
    def globals(self) -> list[str]:
        """The names of its functions."""
        return [var.name for var in self.executor.mod.functions]

    def get_function_params(self, func_name: str) -> list[str]:
        """Return the names of a function's parameters."""
        return [one.name for one in self.executor.mod[func_name].params]

    def stats(self) -> str:
        """Return the names of its functions."""
        return f"Relay VM executable statistics:\n  Globals (#{len(self.globals)}): {self.globals}"

    def export_library(self, file_name: str, **others: object) -> None:
        """Write the bytecode into a shared object, which ``load_module`` reads."""
        write(file_name, {BYTECODE: bytes(self.save()[0])})


class _Kernels(Module):
    """What TVM keeps beside bytecode, which is the executable itself here."""

    def __init__(self, exe: Executable) -> None:
        super().__init__(exe.executor.evaluate, [], [], {})
        self.exe = exe

    def export_library(self, file_name: object, fcompile: object = None, **options: object) -> None:
        """Write the executable, which ``load_module`` reads."""
        self.exe.export_library(str(file_name))


class VirtualMachine:
    """Runs an executable."""

    NAIVE_ALLOCATOR, POOLED_ALLOCATOR = 1, 2

    def __init__(self, exe: Executable, device: object = None, memory_cfg: object = None) -> None:
        self._executor = exe.executor if isinstance(exe, Executable) else cast(Executor, exe)
        self._late = exe.late if isinstance(exe, Executable) else {}
        self._inputs: dict[str, tuple[tuple[object, ...], dict[str, object]]] = {}
        self._last: object = None

    def init(self, ctx: object) -> None:
        """Do nothing: it is where TVM up to 0.6 was told the device."""

    def set_input(self, func_name: str, *args: object, **kwargs: object) -> None:
        """Set the arguments of a function."""
        self._inputs[func_name] = args, dict(kwargs)

    def set_one_input(self, func_name: str, *args: object, **kwargs: object) -> None:
        """Set one argument of a function, by its place or its name."""
        names = [one.name for one in self._executor.mod[func_name].params]
        given = self._inputs.setdefault(func_name, ((), {}))[1]
        if args:
            kwargs = {str(args[0]) if not isinstance(args[0], int) else names[args[0]]: args[1]}
        given.update(kwargs)

    def invoke(self, func_name: str, *args: object, **kwargs: object) -> object:
        """Run a function, with the arguments given or set before."""
        if not args and not kwargs and func_name in self._inputs:
            args, kwargs = self._inputs[func_name]
        if func_name == "main":
            kwargs = {**kwargs, **self._late}
        run = self._executor.evaluate(func_name)
        self._last = legacy(run(*map(plain, args), **{name: plain(one) for name, one in kwargs.items()}), True)
        return self._last

    def run(self, *args: object, **kwargs: object) -> object:
        """Run ``main``."""
        return self.invoke("main", *args, **kwargs)

    def invoke_stateful(self, func_name: str, *args: object, **kwargs: object) -> None:
        """Run a function; :meth:`get_outputs` gives its results."""
        self.invoke(func_name, *args, **kwargs)

    def invoke_with_outputs(self, func_name: str, input_args: object, output_args: Sequence[NDArray]) -> None:
        """Run a function, with arguments by name or in order, and copy its results into arrays."""
        named = dict(input_args) if isinstance(input_args, Mapping) else {}
        args = () if isinstance(input_args, Mapping) else tuple(cast("Sequence[object]", input_args))
        self.invoke(func_name, *args, **named)
        for target, found in zip(output_args, self.get_outputs(), strict=True):
            target.copyfrom(found)

    def get_outputs(self) -> list[NDArray]:
        """Return what the last run gave."""
        found = self._last
        return cast("list[NDArray]", list(found) if isinstance(found, list) else [found])

    def get_input_index(self, input_name: str, func_name: str = "main") -> int:
        """Return the place of a parameter, -1 where there is none."""
        names = [one.name for one in self._executor.mod[func_name].params]
        return names.index(input_name) if input_name in names else -1

    def benchmark(
        self, device: object, *args: object, func_name: str = "main", repeat: int = 5, number: int = 5, **kwargs: object
    ) -> BenchmarkResult:
        """Measure runs: ``repeat`` times the mean of ``number`` runs."""
        self.invoke(func_name, *args, **kwargs)
        return Module.time_evaluator(self, func_name, device, number=number, repeat=repeat)(*args)

    def __getitem__(self, name: str) -> Callable[..., object]:
        return partial(self.invoke, name)


class VMCompiler:
    """Compiles modules to bytecode."""

    def __init__(self) -> None:
        self._params: dict[str, object] = {}
        self._exe: Executable | None = None

    def set_params(self, params: Mapping[str, object]) -> None:
        """Set parameters that are bound."""
        self._params = dict(params)

    def get_params(self) -> dict[str, object]:
        """Return the parameters that are bound."""
        return dict(self._params)

    def lower(self, mod: IRModule, target: object = None, target_host: object = None) -> None:
        """Compile a module."""
        self._exe = compile(mod, target, target_host, self._params)

    def codegen(self) -> None:
        """Do nothing: :meth:`lower` did it."""

    def optimize(
        self,
        mod: IRModule,
        target: object = None,
        target_host: object = None,
        params: Mapping[str, object] | None = None,
    ) -> tuple[IRModule, dict[str, object]]:
        """Return a module after the passes that come before bytecode, and its parameters."""
        from relay2relax.compat.running.factory import optimize

        self._params.update(params or {})
        return optimize(mod, target, self._params)

    def get_exec(self) -> Executable:
        """Return what was compiled; raises ValueError where nothing was."""
        if self._exe is None:
            raise ValueError("nothing was lowered")
        return self._exe


def compile(
    mod: IRModule | Function,
    target: object = None,
    target_host: object = None,
    params: Mapping[str, object] | None = None,
) -> Executable:
    """Return a module compiled to bytecode; ``params`` are bound.

    Raises UnsupportedError for a target that is not a processor.
    """
    backend_of(target)
    given = mod if isinstance(mod, IRModule) else IRModule.from_expr(mod)
    if params:
        given = bind_params(given, params)  # type: ignore[arg-type]
    return Executable(create_executor("vm", given))
