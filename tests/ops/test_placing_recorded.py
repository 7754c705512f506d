"""Whole modules of gathers, scatters, masks, layouts and computed shapes against what TVM 0.18 recorded of them.

Of each file every eighth case is run; all of them with RELAY2RELAX_SWEEP=full.
"""

from __future__ import annotations

import base64
import os
import re
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relay_ir
from relay2relax.core.dtype import numpy_dtype
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.tolerance import difference
from relay2relax.ops import relay_op

FAMILIES = (
    "scan", "gather", "scatter", "masking", "rearranging", "coordinates", "collapse", "einsum", "spectral", "dynamic",
)  # fmt: skip
OURS = {op.relay for family in FAMILIES for op in import_module(f"relay2relax.ops.{family}").OPS}
EVERY = 1 if os.environ.get("RELAY2RELAX_SWEEP") == "full" else 8
# Cases that cannot agree, with the reason.
EXCUSED = {"3f2e05041310": "the updates have a dimension too many, and TVM writes past the end of the tensor"}
_CALLED = re.compile(r"(?<![\w%@.:])([a-z_][\w]*(?:\.[\w]+)*)\(")


def called(text: str) -> set[str]:
    """Return the names of the operators that a Relay text calls."""
    program = re.sub(r"/\*.*?\*/", "", text.split("#[metadata]")[0])
    return set(_CALLED.findall(program)) - {"def", "fn", "if", "match"}


def value(recorded: dict[str, Any]) -> Any:
    """Return a recorded value; KeyError where its data was dropped."""
    if "tuple" in recorded:
        return tuple(value(one) for one in recorded["tuple"])
    data = base64.b64decode(recorded["b64"])
    return np.frombuffer(data, numpy_dtype(recorded["dtype"])).reshape(recorded["shape"])


def flat(result: Any) -> list[np.ndarray]:
    """Return the arrays of a value."""
    return [one for field in result for one in flat(field)] if isinstance(result, tuple) else [np.asarray(result)]


def words(text: str) -> str:
    """Return the program of a text with single blanks."""
    return " ".join(text.split("/* For debugging purposes")[0].split())


@pytest.mark.golden
@pytest.mark.sweep
@pytest.mark.parametrize("name", ["operators", "dynamic", "random", "frontend_onnx", "frontend_torch"])
def test_recorded_modules(recorded: Any, name: str) -> None:
    ours = [case for case in recorded(name) if called(case["text"]) & OURS]
    ours = [case for case in ours if all(map(relay_op, called(case["text"])))]
    ran = 0
    for case in ours[::EVERY]:
        mod = relay_ir.infer_type(relay_ir.parse(case["text"]))
        # Symbolic extents are written as references to metadata, which TVM numbers by object.
        if "typed" in case and "meta[tir" not in case["typed"]:
            assert words(mod.astext(show_meta_data=False)) == words(case["typed"]), case["id"]
        if case["id"] in EXCUSED:
            continue
        try:
            args = [value(one) for one in case["args"]]
            named = {key: value(one) for key, one in case.get("kwargs", {}).items()}
            expected = value(case["out"])
        except KeyError:
            continue
        result = backends.create_executor("debug", mod).evaluate()(*args, **named)
        for actual, wanted in zip(flat(result), flat(expected), strict=True):
            assert (actual.dtype, actual.shape) == (wanted.dtype, wanted.shape), case["id"]
            found = difference(actual, wanted, max(wanted.size, 64))
            assert found.agrees, f"{case['id']}: {found}"
        ran += 1
    assert ran


@pytest.mark.golden
@pytest.mark.parametrize("name", ["mutated", "rejected"])
def test_recorded_verdicts(recorded: Any, name: str) -> None:
    # Modules that TVM refuses because of one of these operators.
    seen = 0
    for case in recorded(name):
        names = called(case["text"])
        if case.get("verdict", "rejected") != "rejected" or not names or not names <= OURS:
            continue
        with pytest.raises(Relay2RelaxError):
            relay_ir.infer_type(relay_ir.parse(case["text"]))
        seen += 1
    assert seen
