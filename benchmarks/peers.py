"""Who runs a model: our backends, apache-tvm on our plain and our scheduled script, ONNX Runtime,
OpenVINO, PyTorch as it is and compiled by inductor.

Weights are bound for everybody, as ``relay.build(mod, params=params)`` had them: packing them is
part of the build. No model is defined twice: The last four get what ``graph.to_onnx`` makes of
the Relay module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from common import Case, timed
from threads import THREADS

from relay2relax import backends, graph, relay_ir, translator


class Model:
    """A case ready for everybody: typed, weights by name, and the arguments that are given on every
    run.
    """

    def __init__(self, case: Case) -> None:
        self.case = case
        self.typed = relay_ir.infer_type(relay_ir.parse(case.text))
        triples = list(zip(case.names, case.arguments, case.weights, strict=True))
        self.weights = {name: array for name, array, is_weight in triples if is_weight}
        self.given = [array for _, array, is_weight in triples if not is_weight]

    def relax(self, schedule: str | None = None) -> Any:
        """Return the translation with weights bound."""
        return translator.via_graph(self.typed, self.weights, schedule=schedule)

    def onnx(self) -> Any:
        """Return the ONNX model with weights bound."""
        found, held = graph.from_relay(self.typed)
        return graph.to_onnx(found, {**held, **self.weights})


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
    content = model.onnx().SerializeToString()
    build, session = timed(lambda: onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"]))
    feed = {i.name: array for i, array in zip(session.get_inputs(), model.given, strict=True)}
    return Ready(lambda: session.run(None, feed), lambda result: result, {"build": build})


def _pytorch(model: Model, compiled: bool = False) -> Ready:
    import torch
    from torch_peer import run_by_torch

    torch.set_num_threads(THREADS)
    plain = torch.inference_mode()(run_by_torch(model.onnx()))
    run = torch.compile(plain) if compiled else plain
    given = [torch.from_numpy(array) for array in model.given]
    # What is to be compiled is so in the first run.
    build, _ = timed(lambda: run(*given))
    seconds = {"build": build} if compiled else {}
    return Ready(lambda: run(*given), lambda result: [one.numpy() for one in result], seconds)


def _openvino(model: Model) -> Ready:
    import openvino

    content = model.onnx().SerializeToString()
    options = {"INFERENCE_NUM_THREADS": THREADS, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    core = openvino.Core()
    build, compiled = timed(lambda: core.compile_model(core.read_model(content), "CPU", options))
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
