"""The whole models that were recorded: their modules, what they are called with, and what they give
then.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from golden_folder import golden_root, seeded

MODEL_NAMES = (
    "mlp", "mlp_dynamic_batch", "dqn", "dcgan", "squeezenet", "mobilenet", "mobilenetv2", "resnet18_cifar",
    "resnet18_imagenet", "resnet18_onnx_small", "unet", "unet_128", "lstm", "lstm_relay", "bert_tiny", "bert_mini",
)  # fmt: skip


@dataclass(frozen=True)
class ModelCase:
    """A whole model as TVM 0.18 recorded it."""

    name: str
    folder: Path
    seeded: ModuleType

    @property
    def text(self) -> str:
        """The typed text with its metadata section."""
        return (self.folder / "model.relay").read_text()

    @property
    def typed(self) -> str:
        """The typed text without the metadata section."""
        return self.text.split("\n#[metadata]")[0].rstrip("\n") + "\n"

    @property
    def json(self) -> str:
        """The module as ``save_json`` wrote it."""
        return (self.folder / "model.json").read_text()

    @property
    def params(self) -> bytes | None:
        """The binary params, where they were recorded."""
        path = self.folder / "model.params"
        return path.read_bytes() if path.exists() else None

    def arguments(self) -> list[np.ndarray]:
        """The arguments of ``main``, in order."""
        return [self.seeded.tensor(spec) for spec in self.specs()]

    def specs(self) -> list[dict[str, Any]]:
        """What ``case.json`` says of each argument."""
        specs: list[dict[str, Any]] = json.loads((self.folder / "case.json").read_text())["inputs"]
        return specs

    def expected(self) -> list[np.ndarray]:
        """The recorded outputs."""
        with np.load(self.folder / "expected.npz") as stored:
            return [stored[f"out{i}"] for i in range(len(stored.files))]


def load_model_case(name: str) -> ModelCase:
    """Return a model case; skips the test where the recorded cases are absent."""
    root = golden_root()
    if root is None:
        pytest.skip("recorded cases are absent (RELAY2RELAX_GOLDEN, or ../shared/golden beside the checkout)")
    return ModelCase(name, root / "models" / name, seeded(root))


def recorded_models() -> Iterator[dict[str, Any]]:
    """Yield the models in the form of recorded cases."""
    for name in MODEL_NAMES:
        case = load_model_case(name)
        given, out = (list(map(_data, arrays)) for arrays in (case.arguments(), case.expected()))
        yield {"id": name, "text": case.typed, "json": case.json, "args": given, "out": {"tuple": out}}


def _data(array: np.ndarray) -> dict[str, Any]:
    found = np.ascontiguousarray(array)
    data = base64.b64encode(found.tobytes()).decode("ascii")
    return {"shape": list(found.shape), "dtype": str(found.dtype), "b64": data}
