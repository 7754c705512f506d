"""ResNet-50 and BERT-base as files, with weights that are drawn: ``python -m starting.models NAME
FOLDER``, run in benchmarks/.

FOLDER gets ``model.relay`` and ``model.params``, ``model.onnx`` and ``inputs.npz``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from relay2relax import graph, relay_ir

_Made = tuple[relay_ir.IRModule, dict[str, np.ndarray], dict[str, np.ndarray]]


def _resnet50() -> _Made:
    from relay2relax.relay_ir.testing import resnet

    mod, params = resnet.get_workload(num_layers=50)
    return mod, params, {"data": np.random.default_rng(0).standard_normal((1, 3, 224, 224)).astype(np.float32)}


def _bert_base() -> _Made:
    """The twelve layers without the table of words: 128 words of 768 numbers, 340 MB of weights."""
    import torch

    from relay2relax.relay_ir.frontend import from_pytorch

    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, 0.0, "gelu", batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, 12, enable_nested_tensor=False).eval()
    given = torch.randn(1, 128, 768)
    mod, params = from_pytorch(torch.export.export(encoder, (given,)))
    (name,) = (one.name for one in mod["main"].params if one.name not in params)
    return mod, params, {name: given.numpy()}


MODELS: Mapping[str, Callable[[], _Made]] = {"resnet50": _resnet50, "bert_base": _bert_base}


def write(name: str, folder: Path) -> None:
    """Write the files of a model."""
    mod, params, inputs = MODELS[name]()
    typed = relay_ir.infer_type(mod)
    (folder / "model.relay").write_text(str(typed))
    (folder / "model.params").write_bytes(relay_ir.save_params(params))
    np.savez(folder / "inputs.npz", **inputs)  # type: ignore[arg-type]
    found, held = graph.from_relay(typed)
    (folder / "model.onnx").write_bytes(graph.to_onnx(found, {**held, **params}).SerializeToString())


if __name__ == "__main__":
    write(sys.argv[1], Path(sys.argv[2]))
