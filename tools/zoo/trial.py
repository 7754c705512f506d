"""One model: imported by way of ``torch.export`` and of ONNX, translated both ways, run as C.

``python -m zoo.trial LIBRARY NAME`` prints a line of JSON for each road.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from relay2relax import backends, relay_ir, translator
from relay2relax.core.dtype import Array
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.relay_ir.frontend import from_onnx, from_pytorch
from zoo.model import Model

TRANSLATIONS = {"via_graph": translator.via_graph, "lower_to_tir": translator.lower_to_tir}
ROADS = ("export", "onnx")
# How rows begin whose ONNX model PyTorch does not make.
UNEXPORTED = "torch.onnx.export ends in"


def model_of(library: str, name: str) -> Model:
    """Return a model by what it is called."""
    return next(one for one in models(library) if one.name == name)


def models(library: str) -> list[Model]:
    """Return the models of a library."""
    if library == "torchvision":
        from zoo import torchvision_models

        return torchvision_models.models()
    if library == "timm":
        from zoo import timm_models

        return timm_models.models()
    from zoo import transformers_models

    return transformers_models.models()


class NoModel(Exception):
    """PyTorch's exporter of ONNX ended in an error of its own."""


def drawn(module: Any) -> None:
    """Draw what begins as zeros, so that no result is zero whatever comes before."""
    import torch

    with torch.no_grad():
        for one in module.parameters():
            if one.is_floating_point() and one.numel() and not one.any():
                one.uniform_(-0.1, 0.1)


def said(error: BaseException) -> str:
    """Return what an error began with, in a line."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [one for one in str(error).splitlines() if one.strip() and not one.startswith("(Refer")]
    return f"{type(error).__name__}: {lines[0][:200] if lines else ''}"


def results(found: object) -> list[Array]:
    """Return results of PyTorch, or of a program, as a list."""
    every = found if isinstance(found, (tuple, list)) else (found,)
    return [np.asarray(one) for one in every]


def apart(found: Sequence[Array], wanted: Sequence[Array]) -> float:
    """Return the greatest difference, relative to the greatest number that is wanted."""
    if [one.shape for one in found] != [one.shape for one in wanted]:
        return float("inf")
    errors = [
        np.abs(one.astype("float64") - other).max() / max(float(np.abs(other).max()), 1e-30)
        for one, other in zip(found, wanted, strict=True)
    ]
    worst = float(np.max(errors))
    return worst if np.isfinite(worst) else float("inf")


def measured(mod: relay_ir.IRModule, params: Mapping[str, Array], given: Sequence[Array], wanted: Sequence[Array],
             since: float) -> dict[str, object]:  # fmt: skip
    """Return what one road makes of a model."""
    typed = relay_ir.infer_type(mod)
    calls = sum(isinstance(one, relay_ir.Call) for one in cast(Any, typed.types))
    made: dict[str, object] = {"operators": calls, "import": time.perf_counter() - since}
    for name, translate in TRANSLATIONS.items():
        start = time.perf_counter()
        machine = backends.VirtualMachine(backends.build(translate(typed, dict(params)), target="c"))
        made[f"{name} build"] = time.perf_counter() - start
        made[name] = apart(results(machine["main"](*given)), wanted)
    return made


def main(library: str, name: str) -> None:
    """Run a model."""
    import torch

    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    module, inputs = model_of(library, name).make()
    module.eval()
    drawn(module)
    start = time.perf_counter()
    with torch.no_grad():
        wanted = results(module(*inputs))
        program = torch.export.export(module, tuple(inputs))
    exported = time.perf_counter() - start
    given = [one.numpy() for one in inputs]

    def by_export() -> tuple[relay_ir.IRModule, dict[str, Array]]:
        return from_pytorch(program)

    def by_onnx() -> tuple[relay_ir.IRModule, dict[str, Array]]:
        with tempfile.TemporaryDirectory(prefix="zoo") as folder:
            path = Path(folder) / "model.onnx"
            try:
                torch.onnx.export(program, dynamo=True, verbose=False).save(str(path))
            except Exception as error:
                raise NoModel(f"{UNEXPORTED} {said(error)}") from error
            return from_onnx(str(path))

    roads: dict[str, Callable[[], tuple[relay_ir.IRModule, dict[str, Array]]]] = {"export": by_export, "onnx": by_onnx}
    for road, importing in roads.items():
        start = time.perf_counter()
        try:
            found = measured(*importing(), given, wanted, start)
        except Relay2RelaxError as error:
            found = {"problem": str(error).splitlines()[0]}
        except NoModel as error:
            found = {"problem": str(error)}
        except Exception as error:  # noqa: BLE001 - what the row says
            found = {"problem": said(error)}
        print(json.dumps({"library": library, "model": name, "road": road, "exported": exported, **found}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
