"""Operators of neural networks against what TVM 0.18 recorded of them: types, and values of each way to run them.

Relay's executor runs every case on numpy. Of the translated programs, on numpy and in C, one in so many is run; all of
them with RELAY2RELAX_SWEEP=full.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relay_ir, translator
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
FILES = ["operators", "dynamic", "random", "frontend_onnx", "frontend_torch"]
STEP = 1 if os.environ.get("RELAY2RELAX_SWEEP") == "full" else 31
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


def cases(recorded: Any, name: str) -> Iterator[tuple[dict[str, Any], relay_ir.IRModule]]:
    """Yield the recorded modules that call one of our operators, with types."""
    for case in recorded(name):
        names = called(case["text"])
        # Symbolic extents are written as references to metadata, which TVM numbers by object.
        if names & OURS and all(relay_op(one) is not None for one in names) and "meta[tir" not in case["text"]:
            yield case, relay_ir.infer_type(relay_ir.parse(case["text"]))


def given(case: dict[str, Any]) -> tuple[list[Any], dict[str, Any], Any] | None:
    """Return arguments, arguments by name, and the result; None where their data was dropped."""
    try:
        named = {key: value(one) for key, one in case.get("kwargs", {}).items()}
        return [value(one) for one in case["args"]], named, value(case["out"])
    except KeyError:
        return None


def check(actual: Any, expected: Any, what: str) -> None:
    for one, wanted in zip(flat(actual), flat(expected), strict=True):
        found = difference(one, wanted, 1024)
        assert found.agrees, f"{what}: {found}"


@pytest.mark.golden
@pytest.mark.parametrize("name", FILES)
def test_recorded_operators(recorded: Any, name: str) -> None:
    types, values = 0, 0
    for case, mod in cases(recorded, name):
        if "typed" in case and "span=" not in case["typed"]:
            assert words(mod.astext(show_meta_data=False)) == words(case["typed"]), case["id"]
            types += 1
        if (found := given(case)) is not None:
            args, named, expected = found
            check(backends.create_executor("debug", mod).evaluate()(*args, **named), expected, case["id"])
            values += 1
    assert types > 10
    assert values > 10


@pytest.mark.golden
@pytest.mark.sweep
@pytest.mark.compiler
@pytest.mark.parametrize("translate", [translator.lower_to_tir, translator.via_graph])
@pytest.mark.parametrize("name", FILES)
def test_recorded_programs(recorded: Any, name: str, translate: Any) -> None:
    seen = 0
    for number, (case, mod) in enumerate(cases(recorded, name)):
        found = given(case)
        # Loops are functions that call themselves; the translators take dataflow.
        if number % STEP or found is None or "while_loop" in case["text"]:
            continue
        args, named, expected = found
        args += [named[param.name] for param in mod["main"].params[len(args) :]]
        program = translate(mod)
        for target in ("numpy", "c"):
            machine = backends.VirtualMachine(backends.build(program, target=target))
            check(machine["main"](*args), expected, f"{case['id']} on {target}")
        seen += 1
    assert seen
