"""Recorded models on a GPU, where there is one: both translators, with our kernels and without."""

from __future__ import annotations

import importlib.util
import json
from functools import lru_cache
from types import ModuleType
from typing import Literal

import numpy as np
import pytest
from golden_folder import golden_root

from relay2relax import backends, relay_ir, translator
from relay2relax.backends import tvm as tvm_backend
from relay2relax.core.tolerance import difference


def gpu_problem() -> str | None:
    """Return why nothing runs on a GPU here, None where it does."""
    if importlib.util.find_spec("tvm") is None:
        return "apache-tvm is not installed"
    import tvm

    return None if tvm.cuda().exist else "there is no GPU"


RECORDED = golden_root()
MODELS = [] if RECORDED is None else sorted(one.name for one in (RECORDED / "models").iterdir())
PROBLEM = gpu_problem()
pytestmark = [pytest.mark.tvm, pytest.mark.golden, pytest.mark.skipif(PROBLEM is not None, reason=str(PROBLEM))]


@lru_cache
def seeded() -> ModuleType:
    assert RECORDED is not None
    spec = importlib.util.spec_from_file_location("seeded", RECORDED / "seeded.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("schedule", [None, "cuda:sm_80", "cuda:sm_90"])
@pytest.mark.parametrize("via", ["graph", "tir"])
@pytest.mark.parametrize("name", MODELS)
def test_recorded_outputs_agree(name: str, via: Literal["graph", "tir"], schedule: str | None) -> None:
    assert RECORDED is not None
    folder = RECORDED / "models" / name
    inputs = json.loads((folder / "case.json").read_text())["inputs"]
    weights = [one["name"] for one in inputs[1:] if one.get("role") == "param"]
    values = {one["name"]: seeded().tensor(one) for one in inputs}
    script = translator.translate(
        relay_ir.parse((folder / "model.relay").read_text()), via, weights=weights, schedule=schedule
    )
    given = [value for one, value in values.items() if one not in weights]
    held = [values[one] for one in weights]
    if schedule is not None and any(var.name == "main_transform_params" for var in script.functions):
        held = list(backends.transform_params(script, held).values())
    found = tvm_backend.build(script, device="cuda")["main"](*given, *held)
    outputs = found if isinstance(found, tuple) else (found,)
    with np.load(folder / "expected.npz") as stored:
        for number, output in enumerate(outputs):
            assert difference(output, stored[f"out{number}"], None).agrees
