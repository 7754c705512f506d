"""Texts without metadata, as ``print`` shows modules, load; with the constants they are the program
again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from sweep import sampled

from relay2relax.relay_ir import bind_params, infer_type, parse, structural_equal
from relay2relax.relay_ir.json.reader import decode_nodes
from relay2relax.relay_ir.text.lexer import metadata_offsets

# Not "mutated": TVM numbered the constants of those texts anew.
NAMES = ("dynamic", "frontend_onnx", "frontend_torch", "language", "operators", "random")
# A number in a text is rounded: with its step this `arange` has another length.
ROUNDED = "cfe834c0aa93"


def dumps(recorded: Any) -> Iterator[dict[str, Any]]:
    """Yield the cases whose text leaves the metadata out."""
    for name in NAMES:
        for case in recorded(name):
            if "meta[" in case.get("typed", "") and "#[metadata]" not in case["typed"]:
                yield case


def constants(text: str) -> dict[str, Any]:
    """Return the values of the constants of a text with metadata, by the names of parameters."""
    start, begin = metadata_offsets(text)
    found = decode_nodes(text[begin:]).get("relay.Constant", []) if start < begin else []
    return {f"constant_{index}": one.data for index, one in enumerate(found)}  # type: ignore[attr-defined]


@pytest.mark.golden
def test_dumps_load_and_are_the_program_again(recorded: Any) -> None:
    count = equal = 0
    for case in sampled(dumps(recorded), 1):
        count += 1
        mod = parse(case["typed"], case["id"])
        if case["id"] == ROUNDED:
            continue
        infer_type(mod)
        # Operands of `arange` are attributes as well, and symbols have lost their names.
        if re.search(r"arange|meta\[tir", case["typed"]) or len(mod.functions) > 1 or "main" not in mod:
            continue
        bound = infer_type(bind_params(mod, constants(case["text"])))
        assert structural_equal(bound, infer_type(parse(case["text"]))), case["id"]
        equal += 1
    assert count >= 20
    assert equal >= count // 2
