"""A plugin of pytest for TVM 0.18's tests of importers: what they ask of older libraries.

Models of torchvision have random weights, since nothing is fetched.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import json
import os
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np


def _reshape() -> None:
    """Let numpy's reshape take ``newshape``, as it did until 2.4."""
    reshape = np.reshape

    def reshaped(a: Any, *args: Any, **given: Any) -> Any:
        if "newshape" in given:
            given["shape"] = given.pop("newshape")
        return reshape(a, *args, **given)

    np.reshape = reshaped


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
    """Let TVM find ONNX's own tests in the folder ``RELAY2RELAX_ONNX``, a checkout of onnx 1.12.

    They were files then; without the folder they are left out.
    """
    import onnx

    nodes = Path(os.environ.get("RELAY2RELAX_ONNX", "absent")).resolve() / "onnx/backend/test/data/node"
    listed, joined = os.listdir, os.path.join

    def listing(path: Any = ".") -> list[str]:
        return (listed(nodes) if nodes.is_dir() else []) if str(path) == str(nodes) else listed(path)

    def joining(first: Any, *others: Any) -> Any:
        here = first == os.path.dirname(onnx.__file__) and others == ("backend", "test", "data", "node")
        return str(nodes) if here else joined(first, *others)

    os.listdir, os.path.join = listing, joining  # type: ignore[assignment]


def _torchvision() -> None:
    """Let models be made without weights of theirs."""
    import torch
    from torchvision.models import densenet
    from torchvision.models._api import WeightsEnum

    load = torch.nn.Module.load_state_dict

    def loaded(self: Any, state: Any, *args: Any, **kwargs: Any) -> Any:
        return None if state is None else load(self, state, *args, **kwargs)

    densenet._load_state_dict = lambda *args, **kwargs: None
    WeightsEnum.get_state_dict = lambda self, *args, **kwargs: None
    torch.nn.Module.load_state_dict = loaded


def _exporter() -> None:
    """Export as PyTorch did in that time, by tracing."""
    import torch

    export = torch.onnx.export

    def exported(*args: Any, **kwargs: Any) -> Any:
        return export(*args, **{"dynamo": False, **kwargs})

    torch.onnx.export = exported


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Write every ONNX model's module into the file ``RELAY2RELAX_IMPORTS``, with its test."""
    path = os.environ.get("RELAY2RELAX_IMPORTS")
    if path is None or not items:
        return
    frontend = importlib.import_module("tvm.relay").frontend
    imported = frontend.from_onnx

    def importing(*args: Any, **kwargs: Any) -> Any:
        mod, params = imported(*args, **kwargs)
        test = os.environ.get("PYTEST_CURRENT_TEST", "").split("::")[-1].split("[")[0].split(" ")[0]
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"test": test, "text": str(mod)}) + "\n")
        return mod, params

    frontend.from_onnx = importing


def pytest_configure(config: Any) -> None:
    """Set the libraries up before tests are imported."""
    for name in ("bool", "int", "float", "object"):
        if not hasattr(np, name):
            setattr(np, name, getattr(builtins, name))
    _reshape()
    # Importing a library takes seconds: only where one of the files speaks of it.
    texts = [path.read_text(encoding="utf-8") for path in map(Path, config.args) if path.is_file()]
    if any("onnx" in text for text in texts):
        _onnx()
        _tests_of_onnx()
    if any("torch" in text for text in texts):
        if importlib.util.find_spec("torch") is not None:
            _exporter()
        if importlib.util.find_spec("torchvision") is not None:
            _torchvision()
