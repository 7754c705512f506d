"""A prepared model, as the peers take it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from peers import Model, first_difference

from relay2relax import relay_ir
from relay2relax.relay_ir.frontend import from_onnx


class LargeModel(Model):
    """The files that ``prepare.py`` wrote into a folder; its name up to a hyphen is the model's."""

    def __init__(self, folder: Path) -> None:
        self.name, self.path = folder.name.partition("-")[0], folder / "model.onnx"
        with np.load(folder / "case.npz") as stored:
            arrays = {name: stored[name] for name in stored.files}
        self.given, self.expected, self.of_floats = (
            [array for name, array in arrays.items() if name.startswith(kind)] for kind in ("in", "out", "float")
        )
        self.of_bytes = bool(self.of_floats)

    @cached_property
    def _imported(self) -> tuple[relay_ir.IRModule, dict[str, np.ndarray]]:
        mod, weights = from_onnx(str(self.path))
        return relay_ir.infer_type(mod), weights

    @property
    def typed(self) -> relay_ir.IRModule:
        """The typed Relay module that ``from_onnx`` makes."""
        return self._imported[0]

    @property
    def weights(self) -> dict[str, np.ndarray]:
        """Its weights by name."""
        return self._imported[1]

    def onnx_file(self) -> str:
        """Return the path of the ONNX model."""
        return str(self.path)

    def torch(self) -> Callable[..., Any]:
        """Return the module of PyTorch; raises ValueError for a model that has none."""
        from large.models import MODELS, made

        if MODELS[self.name].bytes:
            raise ValueError("quantised in ONNX: no module of PyTorch")
        module, _ = made(self.name)
        run: Callable[..., Any] = module
        return run

    def wrong(self, found: Sequence[np.ndarray]) -> str:
        """Return in what ``found`` is not what was expected, "" where it is.

        Quantised models round in many places, and neither of two roundings is wrong: results have
        to be nearer to what is expected than those of the model of floats are.
        """
        if [one.shape for one in found] != [one.shape for one in self.expected]:
            return f"shapes {[one.shape for one in found]}, not {[one.shape for one in self.expected]}"
        if self.of_floats:
            pairs = zip(found, self.expected, self.of_floats, strict=True)
            apart = [(np.linalg.norm(one - wanted), np.linalg.norm(floats - wanted)) for one, wanted, floats in pairs]
            return next((f"{one:.3g} away, floats {floats:.3g}" for one, floats in apart if not one < floats), "")
        return first_difference(found, self.expected)
