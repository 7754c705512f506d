"""Quantised operators and random numbers against what TVM 0.18 recorded: types, and values to the bit."""

from __future__ import annotations

import base64
import os
import re
from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relay_ir, translator
from relay2relax.core.dtype import numpy_dtype
from relay2relax.core.tolerance import difference
from relay2relax.ops import relay_op

OURS = re.compile(r"\b(?:qnn|random)\.\w+(?=\()")
FILES = ["operators", "language", "frontend_onnx", "frontend_torch"]
# Every case with RELAY2RELAX_SWEEP=full; else one in so many.
STEP = 1 if os.environ.get("RELAY2RELAX_SWEEP") == "full" else 6
_CALLED = re.compile(r"(?<![\w%@.:])([a-z_][\w]*(?:\.[\w]+)*)\(")


def value(recorded: dict[str, Any]) -> Any:
    """Return a recorded value; KeyError where its data was dropped."""
    fields = recorded.get("tuple", recorded.get("fields"))
    if fields is not None:
        return tuple(value(one) for one in fields)
    data = base64.b64decode(recorded["b64"])
    return np.frombuffer(data, numpy_dtype(recorded["dtype"])).reshape(recorded["shape"])


def flat(result: Any) -> list[np.ndarray]:
    return [one for field in result for one in flat(field)] if isinstance(result, tuple) else [np.asarray(result)]


def words(text: str) -> str:
    """Return the program of a text with single blanks."""
    return " ".join(re.sub(r" span=\S*", "", text.split("#[metadata]")[0].split("/* For debugging")[0]).split())


def known(text: str) -> bool:
    """Whether all operators that a text calls have records."""
    called = set(_CALLED.findall(re.sub(r"/\*.*?\*/", "", text.split("#[metadata]")[0])))
    return all(relay_op(name) is not None for name in called - {"def", "fn", "if", "match", "let"})


def arguments(case: dict[str, Any], mod: relay_ir.IRModule) -> list[Any]:
    """Return the recorded arguments in the order of main's parameters; KeyError where data was dropped."""
    named = {key: value(one) for key, one in case.get("kwargs", {}).items()}
    args = [value(one) for one in case["args"]]
    return args + [named[param.name] for param in mod["main"].params[len(args) :]]


def agree(actual: Any, expected: Any, case: str) -> None:
    for one, wanted in zip(flat(actual), flat(expected), strict=True):
        found = difference(one, wanted, 1024)
        assert found.agrees, f"{case}: {found}"


@pytest.mark.golden
@pytest.mark.sweep
@pytest.mark.parametrize("name", FILES)
def test_recorded_types_and_values(recorded: Any, name: str) -> None:
    cases = [case for case in recorded(name) if OURS.search(case["text"]) and known(case["text"])]
    for case in cases[::STEP]:
        mod = relay_ir.parse(case["text"])
        if "typed" in case:
            mod = relay_ir.infer_type(mod)
            assert words(mod.astext(show_meta_data=False)) == words(case["typed"]), case["id"]
        try:
            args, expected = arguments(case, mod), value(case["out"])
        except KeyError:
            continue
        agree(backends.create_executor("debug", mod).evaluate()(*args), expected, case["id"])


@pytest.mark.golden
@pytest.mark.sweep
@pytest.mark.compiler
@pytest.mark.parametrize("name", FILES)
def test_recorded_values_of_translations(recorded: Any, name: str) -> None:
    cases = [c for c in recorded(name) if OURS.search(c["text"]) and known(c["text"]) and "out" in c]
    for number, case in enumerate(cases[:: 2 * STEP]):
        mod = relay_ir.parse(case["text"])
        try:
            args, expected = arguments(case, mod), value(case["out"])
        except KeyError:
            continue
        for translate in (translator.lower_to_tir, translator.via_graph):
            target = "c" if number % 2 else "numpy"
            executable = backends.build(translate(mod), target=target)
            agree(backends.VirtualMachine(executable)["main"](*args), expected, f"{case['id']} {target}")
