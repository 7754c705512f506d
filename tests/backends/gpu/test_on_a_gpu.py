"""Recorded models on a GPU, where there is one: both translators, with our kernels and without."""

from __future__ import annotations

import importlib.util
from typing import Literal

import pytest
from golden_folder import golden_root
from model_cases import load_model_case

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


# apache-tvm's own kernels are wrong for the BERTs, and end the process for some scripts of
# lower_to_tir (docs/guide/gpu.md).
CASES = [
    (name, via, schedule)
    for name in MODELS
    for via in ("graph", "tir")
    for schedule in (None, "cuda:sm_80", "cuda:sm_90")
    if schedule is not None or (via == "graph" and not name.startswith("bert"))
]


@pytest.mark.parametrize(("name", "via", "schedule"), CASES)
def test_recorded_outputs_agree(name: str, via: Literal["graph", "tir"], schedule: str | None) -> None:
    case = load_model_case(name)
    module = relay_ir.parse(case.text)
    names = [param.name for param in module["main"].params]
    values = dict(zip(names, case.arguments(), strict=True))
    roles = zip(names[1:], case.specs()[1:], strict=True)
    weights = [param for param, spec in roles if spec.get("role") == "param"]
    script = translator.translate(module, via, weights=weights, schedule=schedule)
    given = [value for param, value in values.items() if param not in weights]
    held = [values[param] for param in weights]
    if schedule is not None and any(var.name == "main_transform_params" for var in script.functions):
        held = list(backends.transform_params(script, held).values())
    found = tvm_backend.build(script, device="cuda")["main"](*given, *held)
    outputs = found if isinstance(found, tuple) else (found,)
    for output, expected in zip(outputs, case.expected(), strict=True):
        assert difference(output, expected, None).agrees
