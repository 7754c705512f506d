"""Images, boxes and sorting against what TVM 0.18 recorded of them: types, values on numpy and in C."""

from __future__ import annotations

import base64
import os
import re
from importlib import import_module
from itertools import islice
from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relay_ir
from relay2relax.core.dtype import numpy_dtype
from relay2relax.core.errors import UnsupportedError
from relay2relax.core.tolerance import difference
from relay2relax.ops import relay_op

FAMILIES = (
    "sorting",
    "searching",
    "resize",
    "sampling",
    "image",
    "vision",
    "regions",
    "suppression",
    "class_suppression",
)
OURS = {op.relay for family in FAMILIES for op in import_module(f"relay2relax.ops.{family}").OPS if op.relay}
_CALLED = re.compile(r"(?<![\w%@.:])([a-z_][\w]*(?:\.[\w]+)*)\(")
# Constructors of the prelude's tensor arrays are called as operators are.
_CONSTRUCTOR = re.compile(r"tensor(\d_|_nil_)")


def called(text: str) -> set[str]:
    """Return the names of the operators that a Relay text calls."""
    program = re.sub(r"/\*.*?\*/", "", text.split("#[metadata]")[0])
    found = set(_CALLED.findall(program)) - {"def", "fn", "if", "match"}
    return {name for name in found if not _CONSTRUCTOR.match(name)}


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
    return " ".join(text.split("/* For debugging purposes")[0].split("#[metadata]")[0].split())


def defined(names: set[str], results: list[np.ndarray], expected: list[np.ndarray]) -> list[np.ndarray]:
    """Return the part of ``results`` that TVM defines: what lies past a count is whatever was in memory."""
    if "unique" in names and len(expected) >= 4:
        count = int(expected[3][0])
        return [one[:count] if number in (0, 1, 4) else one for number, one in enumerate(results)]
    if "vision.all_class_non_max_suppression" in names and len(expected) == 2 and expected[0].ndim == 2:
        return [results[0][: int(expected[1][0])], results[1]]
    return results


@pytest.mark.golden
@pytest.mark.compiler
@pytest.mark.sweep
@pytest.mark.parametrize("name", ["operators", "dynamic", "random", "frontend_onnx", "frontend_torch"])
def test_recorded_images(recorded: Any, name: str) -> None:
    step = 1 if os.environ.get("RELAY2RELAX_SWEEP") == "full" else 9
    known = {case["id"]: called(case["text"]) for case in recorded(name)}
    ours = (case for case in recorded(name) if known[case["id"]] & OURS)
    types = 0
    for case in islice(ours, 0, None, step):
        names = known[case["id"]]
        # What other families cannot do yet is no part of this test.
        if any(relay_op(one) is None for one in names):
            continue
        mod = relay_ir.infer_type(relay_ir.parse(case["text"]))
        # Symbolic extents are written as references to metadata, which TVM numbers by object.
        if "typed" in case and "meta[tir" not in case["typed"]:
            assert words(mod.astext(show_meta_data=False)) == words(case["typed"]), case["id"]
            types += 1
        try:
            args = [value(one) for one in case["args"]]
            named = {key: value(one) for key, one in case.get("kwargs", {}).items()}
            expected = flat(value(case["out"]))
        except KeyError:
            continue
        for kind, backend in (("debug", "numpy"), ("graph", "c")):
            try:
                result = backends.create_executor(kind, mod, backend=backend).evaluate()(*args, **named)
            except UnsupportedError:
                # C has no half precision, and needs every shape beforehand.
                assert backend == "c", case["id"]
                continue
            found = defined(names, flat(result), expected)
            for actual, wanted in zip(found, defined(names, expected, expected), strict=True):
                distance = difference(actual, wanted, 1024)
                assert distance.agrees, f"{case['id']} on {backend}: {distance}"
    assert types > 1
