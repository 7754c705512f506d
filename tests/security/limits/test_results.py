"""No operator makes a result that does not fit: recorded calls run within their result's bytes less
one.

How many bytes that is, the recorded results say.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from recorded_cases import arguments, called, entry, has_data, value
from sweep import sampled

from relay2relax import Limits, backends, translator
from relay2relax.core.errors import LimitError
from relay2relax.core.errors.table import limits
from relay2relax.relay_ir import Function, infer_type, load_json, parse


def calls(recorded: Any, name: str) -> Iterator[dict[str, Any]]:
    """Yield the cases of one operator that gives one tensor."""
    for case in recorded(name):
        if has_data(case) and len(called(case["text"])) == 1 and "b64" in case["out"]:
            yield case


def refusal(run: Any, args: list[Any], size: int) -> str:
    """Return what is wrong with what ``run`` does where its result does not fit."""
    try:
        with Limits(memory=size):
            run(*args)
    except LimitError as error:
        return "" if error.code == limits.MEMORY.code else str(error)
    return f"ran, though its result takes {size + 1} bytes"


@pytest.mark.golden
@pytest.mark.sweep
@pytest.mark.parametrize("target", ["numpy", pytest.param("c", marks=pytest.mark.compiler)])
@pytest.mark.parametrize("name", ["operators", "dynamic"])
def test_results_that_do_not_fit(recorded: Any, name: str, target: str) -> None:
    wrong = []
    seen = 0
    for case in sampled(calls(recorded, name), 4 if target == "numpy" else 16):
        mod = infer_type(load_json(case["json"]) if "json" in case else parse(case["text"]), declare_results=True)
        function = mod[entry(case)]
        assert isinstance(function, Function)
        args = arguments(case, function)
        size = np.asarray(value(case["out"])).nbytes - 1
        if size < 1:
            continue
        executor = backends.create_executor("debug", mod, backend=target).evaluate(entry(case))
        machine = backends.VirtualMachine(backends.build(translator.lower_to_tir(mod), target=target))[entry(case)]
        for what, run in (("Relay", executor), ("Relax", machine)):
            problem = refusal(run, list(args), size)
            if problem:
                wrong.append(f"{case['id']} {called(case['text'])} {what}: {problem}")
            seen += 1
    assert not wrong, "\n".join(wrong)
    assert seen
