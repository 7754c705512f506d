"""Who runs a model: our backends, apache-tvm on our plain and our scheduled script, ONNX Runtime,
OpenVINO, PyTorch as it is and compiled by inductor.

Weights are bound for everybody, as ``relay.build(mod, params=params)`` had them: packing them is
part of the build. No model is defined twice: the last four get what ``graph.to_onnx`` makes of
the Relay module; of the larger models (``large/``) ONNX Runtime and OpenVINO get the file that we
import, and PyTorch has the module of which it was made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from common import Case, timed
from threads import THREADS

from relay2relax import backends, graph, relay_ir, translator
from relay2relax.core.tolerance import LONGEST_CHAIN, difference
from relay2relax.relay_ir.ir.rewrite import nodes


class Model:
    """A case ready for everybody: typed, weights by name, and the arguments that are given on every
    run.
    """

    given: list[np.ndarray]
    # Whether it is quantised, so that its operations are not those on floats.
    of_bytes = False

    def __init__(self, case: Case) -> None:
        self.case = case
        self._typed = relay_ir.infer_type(relay_ir.parse(case.text))
        triples = list(zip(case.names, case.arguments, case.weights, strict=True))
        self._weights = {name: array for name, array, is_weight in triples if is_weight}
        self.given = [array for _, array, is_weight in triples if not is_weight]

    @property
    def typed(self) -> relay_ir.IRModule:
        """The typed Relay module."""
        return self._typed

    @property
    def weights(self) -> dict[str, np.ndarray]:
        """Its weights by name."""
        return self._weights

    def relax(self, schedule: str | None = None) -> Any:
        """Return the translation with weights bound."""
        return translator.via_graph(self.typed, self.weights, schedule=schedule)

    def onnx(self) -> Any:
        """Return the ONNX model with weights bound."""
        found, held = graph.from_relay(self.typed)
        return graph.to_onnx(found, {**held, **self.weights})

    def onnx_file(self) -> Any:
        """Return that as readers of ONNX take it: its bytes, or the path of a file."""
        return self.onnx().SerializeToString()

    def torch(self) -> Callable[..., Any]:
        """Return a function of PyTorch's tensors, to be called without gradients."""
        from torch_peer import run_by_torch

        return run_by_torch(self.onnx())

    def wrong(self, found: Sequence[np.ndarray]) -> str:
        """Return in what ``found`` is not what was recorded, or what numpy's kernels compute where
        nothing was; "" where it is that.
        """
        expected = self.case.expected
        if expected is None:
            run = backends.create_executor("graph", self.typed).evaluate()
            expected = translator.flatten(run(*self.case.arguments))
        return first_difference(found, expected)

    def moved(self, found: Sequence[np.ndarray]) -> int:
        """Return the bytes that a run reads and writes at least: inputs, results and weights; of
        those which are only tables the rows that are taken.
        """
        used: set[relay_ir.Expr] = set()
        moved = sum(array.nbytes for array in (*self.given, *found))
        arrays = {one: self.weights[one.name] for one in self.typed["main"].params if one.name in self.weights}
        for node in nodes(self.typed["main"]):
            table = node.args[0] if isinstance(node, relay_ir.Call) and node.op == relay_ir.Op("take") else None
            used |= {one for one in relay_ir.children(node) if one is not table}
            if isinstance(table, relay_ir.Var) and table in arrays:
                rows = self.typed.types[node]
                assert isinstance(rows, relay_ir.TensorType)
                moved += math.prod(one for one in rows.shape if isinstance(one, int)) * arrays[table].itemsize
        return moved + sum(array.nbytes for one, array in arrays.items() if one in used)


def first_difference(found: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> str:
    """Return what is said of the first result that is not as expected, "" where all are."""
    pairs = zip(found, expected, strict=True)
    return next((one.reason for one in (difference(*pair, LONGEST_CHAIN) for pair in pairs) if not one.agrees), "")


@dataclass
class Ready:
    """A built model: one run, the arrays in what a run returned, and the seconds of what came
    before; the operations on floats and the bytes of weights, inputs and results that one run comes
    to, where they are known.
    """

    run: Callable[[], Any]
    arrays: Callable[[Any], Sequence[np.ndarray]]
    seconds: dict[str, float] = field(default_factory=dict)
    operations: Callable[[], float] | None = None


def _ours(model: Model, target: str) -> Ready:
    translate, relax = timed(model.relax)
    build, executable = timed(lambda: backends.build(relax, target=target))
    main, given = backends.VirtualMachine(executable)["main"], model.given
    native = executable.native

    def operations() -> float:
        """Return what the stages of one run come to, as the schedules count it."""
        with native.profiled():
            main(*given)
        return float(sum(one.operations for one in native.kernel_times()))

    seconds = {"translate": translate, "build": build}
    return Ready(lambda: main(*given), translator.flatten, seconds, operations if native else None)


def _tvm(model: Model, schedule: str | None) -> Ready:
    """apache-tvm's default pipeline, for the instruction set of this processor."""
    import tvm
    from tvm import relax as tvm_relax

    from relay2relax.backends.tvm import to_tvm, within_limits

    translate, relax = timed(lambda: within_limits(model.relax(schedule)))
    read, module = timed(lambda: to_tvm(relax))
    target = tvm.target.Target({"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu()})
    build, built = timed(lambda: tvm_relax.build(module, target=target))
    main = tvm_relax.VirtualMachine(built, tvm.cpu())["main"]
    given = [tvm.runtime.tensor(array) for array in model.given]

    def arrays(result: Any) -> list[np.ndarray]:
        return [one.numpy() for one in ([result] if isinstance(result, tvm.runtime.Tensor) else result)]

    return Ready(lambda: main(*given), arrays, {"translate": translate, "read": read, "build": build})


def _onnx_runtime(model: Model) -> Ready:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    # Errors only: weights that a model does not use are no matter.
    options.log_severity_level = 3
    given = model.onnx_file()
    build, session = timed(lambda: onnxruntime.InferenceSession(given, options, providers=["CPUExecutionProvider"]))
    feed = {i.name: array for i, array in zip(session.get_inputs(), model.given, strict=True)}
    return Ready(lambda: session.run(None, feed), lambda result: result, {"build": build})


def _pytorch(model: Model, compiled: bool = False) -> Ready:
    import torch

    torch.set_num_threads(THREADS)
    plain = model.torch()
    # A module's weights are bound, and packed.
    run = torch.no_grad()(torch.compile(plain, options={"freezing": True}) if compiled else plain)
    given = [torch.from_numpy(array) for array in model.given]
    # What is to be compiled is so in the first run.
    build, _ = timed(lambda: run(*given))
    seconds = {"build": build} if compiled else {}

    def arrays(result: Any) -> list[np.ndarray]:
        return [one.numpy() for one in ((result,) if isinstance(result, torch.Tensor) else result)]

    return Ready(lambda: run(*given), arrays, seconds)


def _openvino(model: Model) -> Ready:
    import openvino

    given = model.onnx_file()
    options = {"INFERENCE_NUM_THREADS": THREADS, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    core = openvino.Core()
    build, compiled = timed(lambda: core.compile_model(core.read_model(given), "CPU", options))
    request, feed = compiled.create_infer_request(), dict(enumerate(model.given))
    return Ready(lambda: request.infer(feed), lambda result: list(result.values()), {"build": build})


PEERS: dict[str, Callable[[Model], Ready]] = {
    "numpy": lambda model: _ours(model, "numpy"),
    "c": lambda model: _ours(model, "c"),
    "tvm": lambda model: _tvm(model, None),
    "tvm_scheduled": lambda model: _tvm(model, "cpu"),
    "onnxruntime": _onnx_runtime,
    "openvino": _openvino,
    "pytorch": _pytorch,
    "inductor": lambda model: _pytorch(model, compiled=True),
}
# Compiling takes them minutes: they are measured where they are asked for by name.
SLOW = ("inductor",)


def chosen(names: Sequence[str]) -> list[str]:
    """Return the peers that ``names`` asks for: where it is empty, all but the slow ones."""
    return [one for one in PEERS if (one in names if names else one not in SLOW)]
