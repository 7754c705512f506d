"""Texts without metadata, as ``print`` shows modules, load; with the constants they are the program
again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from recorded_cases import arguments, entry, has_data, problem
from sweep import sampled
from typed import of_type

from relay2relax import backends
from relay2relax.relay_ir import Function, bind_params, infer_type, parse, structural_equal
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
@pytest.mark.sweep(every=2)
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


@pytest.mark.golden
@pytest.mark.sweep(every=2)
def test_dumps_with_their_constants_compute_what_was_recorded(recorded: Any) -> None:
    count = 0
    for case in sampled((case for case in dumps(recorded) if has_data(case)), 1):
        name = entry(case)
        mod = bind_params(parse(case["typed"], case["id"]), constants(case["text"]), name)
        mod = infer_type(mod, declare_results=True)
        run = backends.create_executor("debug", mod).evaluate(name)
        assert not problem(run(*arguments(case, of_type(mod[name], Function))), case, mod), case["id"]
        count += 1
    assert count >= 10
