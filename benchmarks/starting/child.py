"""One who runs a model, from its files to the first result: ``python child.py PEER FOLDER``.

Prints a line of JSON: seconds of ``imports``, of the ``parts`` before the first result, and the
processor's seconds of the programs that were started, compilers.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

Laps = dict[str, float]
_last = [time.perf_counter()]


def _lap(laps: Laps, name: str) -> None:
    now = time.perf_counter()
    laps[name], _last[0] = now - _last[0], now


def _opened(folder: str, laps: Laps) -> None:
    """Open a model by its files, and run it."""
    import numpy as np

    from relay2relax import translator

    open_program = translator.open_program
    _lap(laps, "imports")
    program = open_program(f"{folder}/model.relay", f"{folder}/model.params")
    _lap(laps, "opening")
    with np.load(f"{folder}/inputs.npz") as stored:
        program(**{name: stored[name] for name in stored.files})
    _lap(laps, "first run")


def _built(folder: str, laps: Laps) -> None:
    """Read, translate and build a model, step by step."""
    import numpy as np

    from relay2relax import backends, relay_ir, translator

    # Packages load when they are used.
    text = '#[version = "0.0.5"] def @main(%x: Tensor[(1), float32]) { nn.relu(%x) }'
    tiny = translator.via_graph(relay_ir.infer_type(relay_ir.parse(text)))
    backends.VirtualMachine(backends.build(tiny, target="c"))
    _lap(laps, "imports")
    module = relay_ir.infer_type(relay_ir.load(f"{folder}/model.relay"))
    params = relay_ir.load_params(f"{folder}/model.params")
    _lap(laps, "reading")
    program = translator.via_graph(module, params)
    _lap(laps, "translating")
    executable = backends.build(program, target="c")
    _lap(laps, "building")
    with np.load(f"{folder}/inputs.npz") as stored:
        backends.VirtualMachine(executable)["main"](**{name: stored[name] for name in stored.files})
    _lap(laps, "first run")


def _onnx_runtime(folder: str, laps: Laps) -> None:
    import numpy as np
    import onnxruntime

    _lap(laps, "imports")
    session = onnxruntime.InferenceSession(f"{folder}/model.onnx", providers=["CPUExecutionProvider"])
    _lap(laps, "building")
    with np.load(f"{folder}/inputs.npz") as stored:
        names = zip(session.get_inputs(), stored.files, strict=True)
        session.run(None, {one.name: stored[name] for one, name in names})
    _lap(laps, "first run")


def _openvino(folder: str, laps: Laps) -> None:
    import numpy as np
    import openvino

    _lap(laps, "imports")
    core = openvino.Core()
    options = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}
    compiled = core.compile_model(core.read_model(f"{folder}/model.onnx"), "CPU", options)
    _lap(laps, "building")
    with np.load(f"{folder}/inputs.npz") as stored:
        compiled.create_infer_request().infer([stored[name] for name in stored.files])
    _lap(laps, "first run")


def _inductor(folder: str, laps: Laps) -> None:
    import numpy as np
    import onnx
    import torch
    from torch_peer import run_by_torch

    _lap(laps, "imports")
    run = torch.compile(torch.inference_mode()(run_by_torch(onnx.load(f"{folder}/model.onnx"))))
    _lap(laps, "reading")
    with np.load(f"{folder}/inputs.npz") as stored:
        given = [torch.from_numpy(stored[name]) for name in stored.files]
    run(*given)
    _lap(laps, "building")


PEERS: dict[str, Callable[[str, Laps], Any]] = {
    "opened": _opened,
    "built": _built,
    "onnxruntime": _onnx_runtime,
    "openvino": _openvino,
    "inductor": _inductor,
}


def main() -> None:
    """Measure one peer."""
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    laps: Laps = {}
    PEERS[sys.argv[1]](sys.argv[2], laps)
    children = os.times()
    compilers = children.children_user + children.children_system
    print(json.dumps({"imports": laps.pop("imports"), "parts": laps, "compilers": compilers}))


if __name__ == "__main__":
    main()
