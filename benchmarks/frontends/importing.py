"""Processor seconds per thousand nodes of importing ONNX and programs of PyTorch's, beside
apache-tvm's importers; and the peak memory of importing a large ONNX model.

Each importer has read the model once before it is measured.
"""

from __future__ import annotations

import importlib.util
import math
import time
import warnings
from collections.abc import Callable
from typing import Any

import memory
from common import Case, Options, model_cases, table

from relay2relax import graph, relay_ir

_REPEATS = 3


def _seconds(call: Callable[[], Any]) -> float:
    """Return the least processor time of a call that was made once before; NaN where it raises."""
    found = []
    for _ in range(_REPEATS + 1):
        start = time.process_time()
        try:
            call()
        except Exception as error:  # noqa: BLE001 - an importer raises what it likes
            print(f"  not imported: {type(error).__name__}: {str(error)[:200]}")
            return math.nan
        found.append(time.process_time() - start)
    return min(found[1:])


def of_onnx(case: Case) -> dict[str, float]:
    """Return the seconds per thousand nodes in which ONNX becomes Relay here, and Relax there."""
    from tvm.relax.frontend.onnx import from_onnx

    typed = relay_ir.infer_type(relay_ir.parse(case.text))
    triples = zip(case.names, case.arguments, case.weights, strict=True)
    found, held = graph.from_relay(typed)
    model = graph.to_onnx(found, {**held, **{name: array for name, array, is_weight in triples if is_weight}})
    nodes = len(model.graph.node) / 1000
    return {
        "nodes": nodes * 1000,
        "ours": _seconds(lambda: relay_ir.frontend.from_onnx(model)) / nodes,
        "tvm": _seconds(lambda: from_onnx(model, keep_params_in_input=True)) / nodes,
    }


def of_torch(module: Any, inputs: tuple[Any, ...]) -> dict[str, float]:
    """Return the same of an exported program."""
    import torch
    from tvm.relax.frontend.torch import from_exported_program

    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.export(module.eval(), inputs)
        nodes = len(program.graph.nodes) / 1000
        return {
            "nodes": nodes * 1000,
            "ours": _seconds(lambda: relay_ir.frontend.from_pytorch(program)) / nodes,
            "tvm": _seconds(lambda: from_exported_program(program, keep_params_as_input=True)) / nodes,
        }


def _shown(title: str, results: dict[str, dict[str, float]]) -> None:
    rows = [[name, *(f"{value:.3g}" for value in found.values())] for name, found in results.items()]
    if rows:
        table(title, ["model", "nodes", "ours s/1000", "tvm s/1000"], rows)


def run(options: Options) -> dict[str, Any]:
    """Print processor seconds per thousand nodes of importing, ours and apache-tvm's, and the peak
    memory of importing a large model.
    """
    absent = [one for one in ("tvm", "onnx", "torch") if importlib.util.find_spec(one) is None]
    if absent:
        print(f"\nfrontends: {' and '.join(absent)} not installed: section skipped")
        return {}
    from frontends.torch_models import MODELS

    onnx = {case.name: of_onnx(case) for case in model_cases(options)}
    _shown("Importing ONNX", onnx)
    torch = {name: of_torch(*make()) for name, make in MODELS.items() if options.wants(name)}
    _shown("Importing programs of torch.export", torch)
    return {"importing": onnx, "torch": torch, "memory": memory.run_onnx()}
