"""A plugin of pytest for TVM 0.18's tests of importers: what they ask of older libraries.

Models of torchvision have random weights, since nothing is fetched.
"""

from __future__ import annotations

import builtins
import importlib.util
import sys
import types
from typing import Any

import numpy as np


def _onnx() -> None:
    """Give back what onnx had until 1.20."""
    import onnx

    # ONNX Runtime has not every operator of the newest opset.
    make = onnx.helper.make_model

    def made(graph: Any, **given: Any) -> Any:
        given.setdefault("opset_imports", [onnx.helper.make_opsetid("", 18)])
        return make(graph, **given)

    onnx.helper.make_model = made
    if not hasattr(onnx, "mapping"):
        mapping: Any = types.ModuleType("onnx.mapping")
        kinds = onnx.TensorProto.DataType.values()
        known = {kind: onnx.helper.tensor_dtype_to_np_dtype(kind) for kind in kinds if kind}
        mapping.TENSOR_TYPE_TO_NP_TYPE = known
        mapping.NP_TYPE_TO_TENSOR_TYPE = {dtype: kind for kind, dtype in reversed(known.items())}
        onnx.mapping = mapping
        sys.modules["onnx.mapping"] = mapping


def _tests_of_onnx() -> None:
    """Leave out ONNX's own tests, which `tools/onnx_tests_page.py` runs: they are not files now."""
    import os

    listed = os.listdir

    def listing(path: Any = ".") -> list[str]:
        return [] if str(path).endswith("backend/test/data/node") else listed(path)

    os.listdir = listing  # type: ignore[assignment]


def _torchvision() -> None:
    """Let models be made without weights of theirs."""
    import torch
    from torchvision.models import densenet
    from torchvision.models._api import WeightsEnum

    load = torch.nn.Module.load_state_dict

    def loaded(self: Any, state: Any, *args: Any, **kwargs: Any) -> Any:
        return None if state is None else load(self, state, *args, **kwargs)

    densenet._load_state_dict = lambda *args: None
    WeightsEnum.get_state_dict = lambda self, *args, **kwargs: None
    torch.nn.Module.load_state_dict = loaded


def _exporter() -> None:
    """Export as PyTorch did in that time, by tracing."""
    import torch

    export = torch.onnx.export

    def exported(*args: Any, **kwargs: Any) -> Any:
        return export(*args, **{"dynamo": False, **kwargs})

    torch.onnx.export = exported


def pytest_configure(config: Any) -> None:
    """Set the libraries up before tests are imported."""
    for name in ("bool", "int", "float", "object"):
        if not hasattr(np, name):
            setattr(np, name, getattr(builtins, name))
    _onnx()
    _tests_of_onnx()
    if importlib.util.find_spec("torch") is not None:
        _exporter()
    if importlib.util.find_spec("torchvision") is not None:
        _torchvision()
