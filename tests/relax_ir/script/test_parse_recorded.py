"""Scripts that TVM 0.18 printed are read, and compute what TVM computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sweep import sampled

from relay2relax import backends, relay_ir, translator
from relay2relax import relax_ir as rx
from relay2relax.core.errors import Relay2RelaxError, UnsupportedError
from relay2relax.core.tolerance import LONGEST_CHAIN, difference

pytestmark = pytest.mark.golden


@pytest.mark.sweep(every=4)
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
        found = difference(np.asarray(one), other, LONGEST_CHAIN)
        assert found.agrees, found


def test_every_script_of_msc_comes_back(recorded: Any) -> None:
    """Also those that TVM printed without their constants, whose types it recorded beside."""
    count = 0
    for case in recorded("msc"):
        told = {f'metadata["relax.expr.Constant"][{i}]': one for i, one in enumerate(case["weights"].values())}
        left_out = {word: one for word, one in told.items() if word in case["relax"]}
        mod = rx.parse(case["relax"], case["id"], attrs=left_out)
        for dialect in ("tvm", "tvm-0.18"):
            printed = mod.script(dialect)
            again = rx.parse(printed)
            assert rx.first_difference(mod, again) is None, case["id"]
            assert again.script(dialect) == printed, case["id"]
            count += 1
    assert count == 2 * 83


# Every so many of the recorded programs, where the sweep is not asked for in full.
SAMPLE = {"operators": 90, "language": 60, "dynamic": 90, "frontend_onnx": 90, "random": 40}


@pytest.mark.sweep
@pytest.mark.parametrize("name", list(SAMPLE))
def test_translations_of_recorded_programs_come_back(recorded: Any, name: str) -> None:
    count = 0
    for case in sampled(recorded(name), SAMPLE[name]):
        try:
            mod = relay_ir.infer_type(relay_ir.parse(case["text"]))
            modules = [translator.lower_to_tir(mod), translator.via_graph(mod)]
            for module in modules:
                rx.check_well_formed(module)
        except Relay2RelaxError:
            continue  # What cannot be translated is a matter of other tests.
        for module in modules:
            for dialect in ("tvm", "tvm-0.18"):
                try:
                    text = module.script(dialect)
                except UnsupportedError:
                    continue
                assert rx.parse(text).script(dialect) == text, case["id"]
                count += 1
    assert count
