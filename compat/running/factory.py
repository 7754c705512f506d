"""``relay.build``: a program as a library of generated C."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from relay2relax import backends, translator
from relay2relax.backends.runtime.arguments import as_array
from relay2relax.backends.runtime.virtual_machine import VirtualMachine
from relay2relax.backends.vm.executable import Executable
from relay2relax.compat.running.graph_executor import GraphModule, Module
from relay2relax.compat.running.ndarray import NDArray
from relay2relax.compat.running.targets import RUNNING, backend_of, chosen
from relay2relax.core.dtype import Array
from relay2relax.core.passes import PassContext as build_config
from relay2relax.parity.beside.client import Served
from relay2relax.relay_ir.build.build_options import Executor, Runtime
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.io.params import bind_params
from relay2relax.relay_ir.ir.expr import Function
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.json.graph_json import graph_json, output_types


@dataclass(eq=False)
class GraphExecutorFactoryModule:
    """A built program: ``lib["default"](device)`` makes what runs it.

    ``mod`` has its types; ``bound`` are bound to the parameters of those names.
    """

    mod: IRModule
    target: object
    bound: Mapping[str, Array]
    libmod_name: str = "default"
    linked: bool = False
    _built: Module | None = None

    def library(self) -> Module:
        """Return the compiled program; it is compiled when it is asked for."""
        if self._built is None:
            main = self.mod["main"]
            inputs = [(one.name, self.mod.types[one]) for one in main.params if one.name not in self.bound]
            outputs = output_types(self.mod.types[main.body])
            if backend_of(self.target, RUNNING) == "tvm":
                serve = partial(Served, self.mod, self.bound, outputs)
                self._built = Module(serve, inputs, outputs, dict(self.bound), self.libmod_name)
                return self._built
            program = translator.translate(self.mod, params=self.bound)
            made = backends.build(program, "c")
            assert isinstance(made, Executable)
            march = chosen(self.target).mcpu or "native"
            self._built = Module(
                lambda: VirtualMachine(made)["main"], inputs, outputs, dict(self.bound),
                self.libmod_name, program, made, march,
            )  # fmt: skip
        return self._built

    def __getitem__(self, name: str) -> Callable[..., object]:
        if name == "remove_params":
            return lambda: self
        if name == self.libmod_name:
            return lambda *devices: GraphModule(self)
        return self.library()[name]

    @property
    def params(self) -> dict[str, NDArray]:
        """The parameters that are bound, none where they were linked into the library."""
        return {} if self.linked else {name: value.view(NDArray) for name, value in self.bound.items()}

    def get_params(self) -> dict[str, NDArray]:
        """Return the parameters that are bound."""
        return self.params

    def get_lib(self) -> Module:
        """Return the compiled program."""
        return self.library()

    lib = property(get_lib)

    @property
    def ir_mod(self) -> IRModule:
        """The program that was built."""
        return self.mod

    def get_graph_json(self) -> str:
        """Return the calls of the program as a graph, in the form of TVM's graph executor."""
        return graph_json(typed_module(optimize(self.mod, self.target)[0]))

    @property
    def graph_json(self) -> str:
        """The graph, as a text."""
        return self.get_graph_json()

    def export_library(self, file_name: object, fcompile: object = None, **others: object) -> None:
        """Write the library into one file, which ``tvm.runtime.load_module`` reads."""
        self.library().export_library(file_name, fcompile, **others)

    def __iter__(self) -> Iterator[object]:
        return iter((self.get_graph_json(), self.library(), self.get_params()))

    def __call__(self, *args: object) -> object:
        return self[str(args[0])](*args[1:]) if args and isinstance(args[0], str) else self["default"](*args)


def build(
    ir_mod: IRModule | Function,
    target: object = None,
    target_host: object = None,
    executor: object = None,
    runtime: object = None,
    workspace_memory_pools: object = None,
    constant_memory_pools: object = None,
    params: Mapping[str, object] | None = None,
    mod_name: str = "default",
) -> GraphExecutorFactoryModule:
    """Return a program built as generated C; targets ``llvm`` and ``c`` mean that.

    ``tvm`` is apache-tvm, in a process of its own. Raises UnsupportedError for other targets,
    TypeInferenceError for an ill-typed program.
    """
    backend_of(target, RUNNING)
    mod = ir_mod if isinstance(ir_mod, IRModule) else IRModule.from_expr(ir_mod)
    given = {name: as_array(np.asarray(value), "", f"the parameter `{name}`") for name, value in (params or {}).items()}
    typed = typed_module(mod)
    names = {one.name for one in typed["main"].params}
    bound = {name: np.asarray(value) for name, value in given.items() if name in names}
    linked = isinstance(executor, Executor) and executor.name == "graph" and bool(executor["link-params"])
    return GraphExecutorFactoryModule(typed, target, bound, mod_name or "default", linked)


def optimize(
    mod: IRModule, target: object = None, params: Mapping[str, object] | None = None
) -> tuple[IRModule, dict[str, object]]:
    """Return a program after the passes that TVM runs before it lowers one, and its parameters."""
    from relay2relax.relay_ir import pipeline, transform

    backend_of(target, RUNNING)
    given = bind_params(mod, params) if params else mod  # type: ignore[arg-type]
    return transform.Sequential(pipeline.passes_of_build())(typed_module(given)), dict(params or {})


__all__ = ["Executor", "GraphExecutorFactoryModule", "Runtime", "build", "build_config", "graph_json", "optimize"]
