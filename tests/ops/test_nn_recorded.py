"""Operators of neural networks against what TVM 0.18 recorded of them: types and values."""

from __future__ import annotations

import base64
import re
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relay_ir
from relay2relax.core.dtype import numpy_dtype
from relay2relax.core.tolerance import difference
from relay2relax.ops import relay_op

FAMILIES = (
    "convolution",
    "convolution_transposed",
    "matmul",
    "pooling",
    "adaptive_pooling",
    "normalisation",
    "feature_normalisation",
    "activation",
    "loss",
    "padding",
    "bitserial",
    "packed_convolution",
    "displacement",
    "upsampling",
    "blocks",
)
OURS = {op.relay for family in FAMILIES for op in import_module(f"relay2relax.ops.{family}").OPS}
_CALLED = re.compile(r"(?<![\w%@.:])([a-z_][\w]*(?:\.[\w]+)*)\(")
_WORDS = {"def", "fn", "if", "match"}


def called(text: str) -> set[str]:
    """Return the names of the operators that a Relay text calls."""
    program = re.sub(r"/\*.*?\*/", "", text.split("#[metadata]")[0])
    return set(_CALLED.findall(program)) - _WORDS


def value(recorded: dict[str, Any]) -> Any:
    """Return a recorded value; KeyError where its data was dropped."""
    if "tuple" in recorded:
        return tuple(value(one) for one in recorded["tuple"])
    data = base64.b64decode(recorded["b64"])
    return np.frombuffer(data, numpy_dtype(recorded["dtype"])).reshape(recorded["shape"])


def flat(result: Any) -> list[np.ndarray]:
    return [one for field in result for one in flat(field)] if isinstance(result, tuple) else [np.asarray(result)]


def words(text: str) -> str:
    """Return the program of a text with single blanks."""
    return " ".join(text.split("/* For debugging purposes")[0].split())


@pytest.mark.golden
@pytest.mark.parametrize("name", ["operators", "dynamic", "random", "frontend_onnx", "frontend_torch"])
def test_recorded_operators(recorded: Any, name: str) -> None:
    types, values = 0, 0
    for case in recorded(name):
        names = called(case["text"])
        if not names & OURS or any(relay_op(one) is None for one in names) or "meta[" in case["text"]:
            continue
        mod = relay_ir.infer_type(relay_ir.parse(case["text"]))
        if "typed" in case:
            assert words(mod.astext(show_meta_data=False)) == words(case["typed"]), case["id"]
            types += 1
        try:
            args = [value(one) for one in case["args"]]
            named = {key: value(one) for key, one in case.get("kwargs", {}).items()}
            expected = value(case["out"])
        except KeyError:
            continue
        result = backends.create_executor("debug", mod).evaluate()(*args, **named)
        for actual, wanted in zip(flat(result), flat(expected), strict=True):
            found = difference(actual, wanted, 1024)
            assert found.agrees, f"{case['id']}: {found}"
        values += 1
    assert types > 10
    assert values > 10
