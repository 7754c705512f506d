"""``relay.build``: a program as a library of generated C."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relay2relax import backends, translator
from relay2relax.backends.runtime.arguments import as_array
from relay2relax.compat.running.graph_executor import GraphModule, Module
from relay2relax.compat.running.ndarray import NDArray
from relay2relax.compat.running.targets import backend_of
from relay2relax.core.dtype import Array
from relay2relax.core.passes import PassContext as build_config
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.io.params import bind_params
from relay2relax.relay_ir.ir.expr import Function
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.json.graph_json import graph_json, output_types


@dataclass(frozen=True, slots=True)
class Option:
    """How TVM runs a program, ``Executor("graph")`` or ``Runtime("cpp")``; here it says nothing."""

    name: str
    options: Mapping[str, object] = field(default_factory=dict)

    def __getitem__(self, name: str) -> object:
        return self.options[name]


Executor = Runtime = Option


@dataclass(eq=False)
class GraphExecutorFactoryModule:
    """A built program: ``lib["default"](device)`` makes what runs it.

    ``mod`` has its types; ``params`` are bound to the parameters of those names.
    """

    mod: IRModule
    target: object
    params: Mapping[str, Array]
    libmod_name: str = "default"
    _built: Module | None = None

    def library(self) -> Module:
        """Return the compiled program; it is compiled when it is asked for."""
        if self._built is None:
            main = self.mod["main"]
            inputs = [(one.name, self.mod.types[one]) for one in main.params if one.name not in self.params]
            outputs = output_types(self.mod.types[main.body])
            program = translator.translate(self.mod, params=self.params)
            self._built = Module(backends.build(program, "c"), inputs, outputs, dict(self.params))
        return self._built

    def __getitem__(self, name: str) -> Callable[..., object]:
        if name == self.libmod_name:
            return lambda *devices: GraphModule(self)
        return self.library()[name]

    def get_params(self) -> dict[str, NDArray]:
        """Return the parameters that are bound."""
        return {name: value.view(NDArray) for name, value in self.params.items()}

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
        return graph_json(optimize(self.mod, self.target)[0])

    @property
    def graph_json(self) -> str:
        """The graph, as a text."""
        return self.get_graph_json()

    def export_library(self, file_name: object, fcompile: object = None, **others: object) -> None:
        """Write the library into one file, which ``tvm.runtime.load_module`` reads."""
        self.library().export_library(file_name)

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

    Raises UnsupportedError for other targets, TypeInferenceError for an ill-typed program.
    """
    backend_of(target)
    mod = ir_mod if isinstance(ir_mod, IRModule) else IRModule.from_expr(ir_mod)
    given = {name: as_array(np.asarray(value), "", f"the parameter `{name}`") for name, value in (params or {}).items()}
    typed = typed_module(mod)
    names = {one.name for one in typed["main"].params}
    bound = {name: np.asarray(value) for name, value in given.items() if name in names}
    return GraphExecutorFactoryModule(typed, target, bound, mod_name or "default")


def optimize(
    mod: IRModule, target: object = None, params: Mapping[str, object] | None = None
) -> tuple[IRModule, dict[str, object]]:
    """Return a program after the passes that TVM runs before it lowers one, and its parameters."""
    from relay2relax.relay_ir import transform

    backend_of(target)
    passes: Sequence[Any] = (
        transform.RemoveUnusedFunctions(), transform.SimplifyInference(), transform.EliminateCommonSubexpr(),
        transform.CombineParallelConv2D(), transform.CombineParallelDense(), transform.CombineParallelBatchMatmul(),
        transform.FoldConstant(), transform.FoldScaleAxis(), transform.CanonicalizeCast(), transform.CanonicalizeOps(),
        transform.FlattenAtrousConv(), transform.AlterOpLayout(), transform.FastMath(), transform.FoldConstant(),
        transform.FuseOps(),
    )  # fmt: skip
    given = bind_params(mod, params) if params else mod  # type: ignore[arg-type]
    return transform.Sequential(passes)(typed_module(given)), dict(params or {})


__all__ = ["Executor", "GraphExecutorFactoryModule", "Runtime", "build", "build_config", "graph_json", "optimize"]
