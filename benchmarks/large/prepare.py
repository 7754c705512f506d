"""One model as files, made once: ``python -m large.prepare NAME FOLDER``, run in benchmarks/.

FOLDER gets ``model.onnx``, and ``case.npz`` with inputs and what PyTorch computes of them
(``in0``, ``out0`` …). Of a model that is quantised, ``out0`` is what ONNX Runtime computes of it,
node by node, and ``float0`` what PyTorch computes of the model of floats.
"""

from __future__ import annotations

import importlib
import shutil
import sys
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from large.models import MODELS, made


def prepare(name: str, folder: Path) -> None:
    """Write the files of a model; the folder is there when all of them are.

    Raises ImportError where its library is absent, or does not fit PyTorch.
    """
    import torch

    if MODELS[name].library:
        importlib.import_module(MODELS[name].library)
    warnings.simplefilter("ignore")
    module, inputs = made(name)
    with torch.no_grad():
        found = module(*inputs)
        program = torch.onnx.export(module, inputs, dynamo=True, verbose=False)
    arrays = {f"in{number}": one.numpy() for number, one in enumerate(inputs)}
    outputs = [one.numpy() for one in (found if isinstance(found, tuple) else (found,))]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        made_here = Path(work) / folder.name
        made_here.mkdir()
        path = made_here / "model.onnx"
        program.save(str(path), external_data=False)
        if MODELS[name].bytes:
            arrays |= {f"float{number}": one for number, one in enumerate(outputs)}
            outputs = _quantise(path, list(arrays.values())[: len(inputs)])
        arrays |= {f"out{number}": one for number, one in enumerate(outputs)}
        np.savez(made_here / "case.npz", **arrays)
        shutil.rmtree(folder, ignore_errors=True)
        made_here.rename(folder)


def _quantise(path: Path, given: Sequence[Any]) -> list[Any]:
    """Quantise a file in place, with calibration on the inputs; return what it then computes,
    without ONNX Runtime's optimisations.
    """
    import onnxruntime
    from quantised.speed import quantised

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    names = [one.name for one in onnxruntime.InferenceSession(str(path), options).get_inputs()]
    inputs = dict(zip(names, given, strict=True))
    path.write_bytes(quantised(path.read_bytes(), inputs, path.parent, "QDQ"))
    for left in path.parent.glob("*.onnx"):
        if left != path:
            left.unlink()
    return list(onnxruntime.InferenceSession(str(path), options).run(None, inputs))


if __name__ == "__main__":
    prepare(sys.argv[1], Path(sys.argv[2]))
