"""The C backend beside ONNX Runtime and apache-tvm, which builds our plain and our scheduled script by its default
pipeline, on the recorded models and two threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from common import Case, median_seconds, model_cases, table, timed

from relay2relax import backends, relay_ir, translator
from relay2relax.core.tolerance import MODEL_REDUCTION, difference
from relay2relax.translator import flatten

# A build of apache-tvm that takes longer is not waited for.
BUILD_LIMIT = 60.0
THREADS = 2


def _onnx_runtime(typed: relay_ir.IRModule, case: Case) -> Callable[[], Any]:
    import onnxruntime
    from onnx_export import export

    triples = list(zip(case.names, case.arguments, case.weights, strict=True))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    model = export(typed, [a if weight else None for _, a, weight in triples]).SerializeToString()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    given = [a for _, a, weight in triples if not weight]
    feed = {i.name: a for i, a in zip(session.get_inputs(), given, strict=True)}
    return lambda: session.run(None, feed)


def _tvm(relax: Any, arguments: list[np.ndarray]) -> Callable[[], Any] | None:
    """Return a call of apache-tvm's build for this processor, or None where building takes longer than the limit."""
    import tvm
    from tvm import relax as tvm_relax

    built: list[Any] = []
    target = tvm.target.Target({"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu()})
    module = tvm.script.from_source(relax.script())
    builder = threading.Thread(target=lambda: built.append(tvm_relax.build(module, target=target)), daemon=True)
    builder.start()
    builder.join(BUILD_LIMIT)
    if not built:
        return None
    machine = tvm_relax.VirtualMachine(built[0], tvm.cpu())
    tensors = [tvm.runtime.tensor(a) for a in arguments]
    main = machine["main"]
    return lambda: main(*tensors)


def _ratio(one: float | None, other: float | None) -> str:
    return f"{one / other:.2f}" if one and other else ""


def run() -> dict[str, dict[str, float | None]]:
    """Print milliseconds per run and ratios to the C backend.

    Weights are bound for everybody, as ``relay.build(mod, params=params)`` had them: packing them is part of the build.
    """
    rows, results = [], {}
    for case in model_cases():
        typed = relay_ir.infer_type(relay_ir.parse(case.text))
        triples = list(zip(case.names, case.arguments, case.weights, strict=True))
        weights = {name: array for name, array, is_weight in triples if is_weight}
        given = [array for _, array, is_weight in triples if not is_weight]
        relax = translator.via_graph(typed, weights)
        build, executable = timed(lambda: backends.build(relax, target="c"))  # noqa: B023  (called at once)
        main = backends.VirtualMachine(executable)["main"]
        seconds: dict[str, float | None] = {"build c": build}
        seconds["c"] = median_seconds(lambda: main(*given))  # noqa: B023
        peer = _tvm(relax, given)
        seconds["tvm"] = median_seconds(peer) if peer else None
        peer = _tvm(backends.schedule_module(relax), given)
        seconds["tvm scheduled"] = median_seconds(peer) if peer else None
        peer = _onnx_runtime(typed, case)
        # A peer that computes something else is no peer.
        assert difference(peer()[0], flatten(main(*given))[0], MODEL_REDUCTION).agrees, case.name
        seconds["onnxruntime"] = median_seconds(peer)
        results[case.name] = seconds
        shown = ("c", "tvm", "tvm scheduled", "onnxruntime")
        ms = [f"{seconds[key] * 1e3:.3f}" if seconds[key] else f"build > {BUILD_LIMIT:.0f} s" for key in shown]
        ratios = [("tvm", "tvm scheduled"), ("tvm", "c"), ("onnxruntime", "c")]
        rows.append([case.name, f"{build:.1f}", *ms, *(_ratio(seconds[a], seconds[b]) for a, b in ratios)])
    head = ["model", "build c s", "c ms", "tvm ms", "sched ms", "ort ms", "tvm / sched", "tvm / c", "ort / c"]
    if rows:
        table("Milliseconds per run on two threads; ratios above 1: the C backend is ahead", head, rows)
    return results
