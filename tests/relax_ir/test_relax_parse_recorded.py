"""Scripts that TVM 0.18 printed are read, and compute what TVM computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax import backends, translator
from relay2relax import relax_ir as rx
from relay2relax.core.tolerance import MODEL_REDUCTION, difference

pytestmark = pytest.mark.golden


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("mlp", "numpy"),
        ("mlp_dynamic_batch", "numpy"),
        ("dqn", "numpy"),
        ("dcgan", "numpy"),
        ("bert_tiny", "numpy"),
        pytest.param("squeezenet", "c", marks=pytest.mark.compiler),
        pytest.param("unet", "c", marks=pytest.mark.compiler),
    ],
)
def test_recorded_scripts(get_model_case: Any, name: str, target: str) -> None:
    case = get_model_case(name)
    text = (case.folder.parent.parent / "relax_classic" / f"{name}.relax.txt").read_text()
    mod = rx.parse(text, name)
    for dialect in ("tvm", "tvm-0.18"):
        printed = mod.script(dialect)
        assert rx.first_difference(mod, rx.parse(printed)) is None
        assert rx.parse(printed).script(dialect) == printed
    result = backends.VirtualMachine(backends.build(mod, target=target))["main"](*case.arguments())
    for one, other in zip(translator.flatten(result), case.expected(), strict=True):
        found = difference(np.asarray(one), other, MODEL_REDUCTION)
        assert found.agrees, found
