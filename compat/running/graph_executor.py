"""``tvm.contrib.graph_executor``: a built program, its inputs set one by one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, cast

import numpy as np

from relay2relax.backends.runtime.arguments import convert
from relay2relax.compat.running.library import Library
from relay2relax.compat.running.ndarray import NDArray, empty
from relay2relax.core.dtype import Array
from relay2relax.core.errors import ExecutionError
from relay2relax.core.errors.table import running
from relay2relax.relay_ir.ir.types import TensorType, Type
from relay2relax.tir.extent import static


class Built(Protocol):
    """A library, or what makes one when it is asked to."""

    def library(self) -> Library:
        """Return the library."""


@dataclass(frozen=True, slots=True)
class BenchmarkResult:
    """Times of repeated runs, in seconds."""

    results: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Return the mean."""
        return float(np.mean(self.results))

    @property
    def median(self) -> float:
        """Return the median."""
        return float(np.median(self.results))

    @property
    def std(self) -> float:
        """Return the standard deviation."""
        return float(np.std(self.results))

    @property
    def min(self) -> float:
        """Return the shortest time."""
        return min(self.results)

    @property
    def max(self) -> float:
        """Return the longest time."""
        return max(self.results)

    def __str__(self) -> str:
        words = ("mean", "median", "max", "min", "std")
        head = "Execution time summary:\n" + "".join(f"{f'{word} (ms)':^14}" for word in words)
        return head + "\n" + "".join(f"{1000 * getattr(self, word):^14.4f}" for word in words)


Timer: TypeAlias = Callable[..., BenchmarkResult]


class GraphModule:
    """Runs a built program: ``set_input``, ``run``, ``get_output``."""

    def __init__(self, module: Built | GraphModule) -> None:
        built = module._library if isinstance(module, GraphModule) else module.library()
        self._library: Library = built
        self.module = self
        self._run = built.runner()
        self._values: dict[str, Array] = {}
        self._outputs: list[Array] = []
        self._names = [name for name, _ in built.inputs]

    def set_input(self, key: object = None, value: object = None, **params: object) -> None:
        """Set an input by its name or its place, others by their names.

        Parameters that the library holds are known; raises ExecutionError for another value of one,
        and for an input that there is none of.
        """
        if key is not None:
            self._set(self._named(key), value)
        for name, given in params.items():
            if name in self._names or name in self._library.params:
                self._set(name, given)

    set_input_zero_copy = set_input

    def _named(self, key: object) -> str:
        if isinstance(key, int):
            return self._names[key]
        if key not in self._names and key not in self._library.params:
            known = ", ".join(self._names)
            raise ExecutionError(f"the program has no input `{key}`; it has: {known}", kind=running.ARGUMENT)
        return str(key)

    def _set(self, name: str, value: object) -> None:
        if name in self._library.params:
            if not np.array_equal(np.asarray(value), self._library.params[name]):
                raise ExecutionError(
                    f"`{name}` was bound when the program was built; build it without to set it", kind=running.ARGUMENT
                )
            return
        ty = dict(self._library.inputs)[name]
        found = convert(value, ty, f"the input `{name}`", {})
        assert isinstance(found, np.ndarray)
        self._values[name] = found

    def run(self, **inputs: object) -> None:
        """Run the program; inputs that were not set are zero."""
        self.set_input(**inputs)
        result = self._run(*(self._value(name, ty) for name, ty in self._library.inputs))
        self._outputs = list(_flat(result))

    def _value(self, name: str, ty: Type) -> Array:
        if name not in self._values:
            assert isinstance(ty, TensorType)
            self._values[name] = empty([static(one) or 1 for one in ty.shape], ty.dtype)
        return self._values[name]

    def get_num_outputs(self) -> int:
        """Return how many tensors the program gives."""
        return len(self._library.outputs)

    def get_num_inputs(self) -> int:
        """Return how many inputs there are, parameters included."""
        return len(self._names) + len(self._library.params)

    def get_input(self, index: object, out: NDArray | None = None) -> NDArray:
        """Return an input as it is set."""
        name = self._named(index)
        held = self._library.params.get(name)
        value = held if held is not None else self._value(name, dict(self._library.inputs)[name])
        return _copied(value, out)

    def get_input_index(self, name: str) -> int:
        """Return the place of an input, -1 where there is none."""
        order = [*self._names, *self._library.params]
        return order.index(name) if name in order else -1

    def get_input_info(self) -> tuple[dict[str, tuple[int | None, ...]], dict[str, str]]:
        """Return the shapes and the dtypes of the inputs, by name."""
        types = {name: ty for name, ty in self._library.inputs if isinstance(ty, TensorType)}
        return (
            {name: tuple(map(static, ty.shape)) for name, ty in types.items()},
            {name: ty.dtype for name, ty in types.items()},
        )

    def get_output(self, index: int, out: NDArray | None = None) -> NDArray:
        """Return a tensor that the last run gave."""
        return _copied(self._outputs[index], out)

    def get_input_name(self, index: int) -> str:
        """Return the name of an input."""
        return self._names[index]

    def load_params(self, params: bytes) -> None:
        """Set inputs to the parameters of the bytes of a ``.params`` file."""
        from relay2relax.relay_ir.io.params import load_params

        self.set_input(**load_params(bytes(params)))

    def benchmark(
        self, device: object = None, func_name: str = "run", repeat: int = 5, number: int = 5,
        min_repeat_ms: int | None = None, end_to_end: bool = False, **inputs: object,
    ) -> BenchmarkResult:  # fmt: skip
        """Measure runs: ``repeat`` times the mean of ``number`` runs."""
        self.run(**inputs)
        return self.time_evaluator("run", device, number, repeat)()

    def time_evaluator(
        self, func_name: str, dev: object = None, number: int = 10, repeat: int = 1, **others: object
    ) -> Timer:
        """Return what measures runs of a method, as a module of TVM does it."""
        return Module.time_evaluator(self, func_name, dev, number, repeat)

    def __getitem__(self, name: str) -> object:
        return getattr(self, name)


def _flat(value: object) -> list[Array]:
    if isinstance(value, (tuple, list)):
        return [inner for one in value for inner in _flat(one)]
    return [np.asarray(value)]


def _copied(value: Array, out: NDArray | None) -> NDArray:
    return value.view(NDArray) if out is None else out.copyfrom(value)


def create(
    graph_json_str: object, libmod: Built, device: object = None, dump_root: object = None, ctx: object = None
) -> GraphModule:
    """Return what runs a library; the graph is the library's own, and nothing is dumped."""
    return GraphModule(libmod)


class _Functions(Protocol):
    """What has functions by name."""

    def __getitem__(self, name: str) -> object: ...


class Module(Library):
    """A library that makes what runs it: ``lib["default"](device)``."""

    def time_evaluator(
        self: _Functions, func_name: str, dev: object = None, number: int = 10, repeat: int = 1, **others: object
    ) -> Timer:
        """Return what measures a function: ``repeat`` times the mean of ``number`` calls."""
        function = cast("Callable[..., object]", self[func_name])

        def measure(*args: object) -> BenchmarkResult:
            found = []
            for _ in range(repeat):
                begin = time.perf_counter()
                for _ in range(number):
                    function(*args)
                found.append((time.perf_counter() - begin) / number)
            return BenchmarkResult(tuple(found))

        return measure

    @classmethod
    def of(cls, library: Library) -> Module:
        """Return a library as such a module."""
        return cls(**vars(library))

    def __getitem__(self, name: str) -> Callable[..., object]:
        if name not in (self.name, "default"):
            raise AttributeError(f"Module has no function {name!r}")
        return lambda *devices: GraphModule(self)

    def get_function(self, name: str, query_imports: bool = False) -> Callable[..., object]:
        """Return a function of the library: what makes what runs it, or the entry of it all."""
        if name == "list_module_names":
            return lambda: [self.name]
        return self[self.name if name == "TVMSystemLibEntryPoint" else name]
