"""Recorded modules in a real apache-tvm: scripts of both translations are read, built, agree, and
come back the same.

One case in so many is taken, and all of them with RELAY2RELAX_SWEEP=full (hours).
"""

from __future__ import annotations

from typing import Any

import pytest
from known_differences import IN_TVM, TRANSLATIONS, VALUES
from recorded_cases import VALUED_FILES, arguments, entry, has_data, problem, problems
from sweep import sampled

from relay2relax import backends, translator
from relay2relax import relax_ir as rx
from relay2relax.relay_ir import Function, infer_type, load_json, parse

pytestmark = [pytest.mark.golden, pytest.mark.sweep, pytest.mark.tvm]
STEPS = {"operators": 120, "dynamic": 30, "language": 80, "frontend_onnx": 90, "frontend_torch": 150, "random": 40}


@pytest.mark.parametrize("translate", [translator.lower_to_tir, translator.via_graph])
@pytest.mark.parametrize("name", VALUED_FILES)
@pytest.mark.sweep(every=2)
def test_there_computed_and_back(recorded: Any, name: str, translate: Any) -> None:
    def check(case: dict[str, Any]) -> str:
        mod = infer_type(load_json(case["json"]) if "json" in case else parse(case["text"], case["id"]))
        function = mod[entry(case)]
        assert isinstance(function, Function)
        relax = translate(mod)
        difference = rx.first_difference(rx.from_tvm(rx.to_tvm(relax)), relax)
        if difference is not None:
            return f"comes back with another {difference}"
        for dialect in ("tvm", "tvm-0.18"):
            text = relax.script(dialect)
            if rx.parse(text).script(dialect) != text:
                return f"the script of dialect {dialect} is printed otherwise after reading"
        machine = backends.VirtualMachine(backends.build(relax, target="tvm"))
        return problem(machine[entry(case)](*arguments(case, function)), case, mod)

    cases = (case for case in recorded(name) if has_data(case))
    agreeing, wrong = problems(sampled(cases, STEPS[name]), check, VALUES | TRANSLATIONS | IN_TVM)
    assert not wrong, "\n".join(wrong)
    assert agreeing
