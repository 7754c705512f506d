"""Every recorded module: its text comes back, its types are the recorded ones, from text and from
JSON.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from known_differences import JSON, TEXT, TYPES
from recorded_cases import problems, program, without_spans, without_types
from sweep import sampled

from relay2relax.relay_ir import TypeInferenceError, infer_type, load_json, parse, save_json, structural_equal

FILES = ["operators", "dynamic", "language", "frontend_onnx", "frontend_torch", "random", "passes"]


def differing(ours: str, theirs: str) -> str:
    """Return the first place where two texts differ, nothing where they are equal."""
    if ours == theirs:
        return ""
    place = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs)))
    return f"…{ours[max(0, place - 60) : place + 60]}… for …{theirs[max(0, place - 60) : place + 60]}…"


@pytest.mark.golden
@pytest.mark.parametrize("name", FILES)
@pytest.mark.sweep(every=2)
def test_texts_come_back(recorded: Any, name: str) -> None:
    def check(case: dict[str, Any]) -> str:
        return differing(program(parse(case["text"], case["id"]).astext()), without_types(program(case["text"])))

    agreeing, wrong = problems(sampled(recorded(name), 1), check, TEXT)
    assert not wrong, "\n".join(wrong)
    assert agreeing


@pytest.mark.golden
@pytest.mark.parametrize("name", FILES)
@pytest.mark.sweep(every=2)
def test_types_from_text(recorded: Any, name: str) -> None:
    def check(case: dict[str, Any]) -> str:
        mod = parse(case["text"], case["id"])
        if "typed" in case:
            # The recorded module came from its builder, with spans of its own or none.
            ours = program(infer_type(mod).astext(show_meta_data=False))
            return differing(without_spans(ours), without_spans(program(case["typed"])))
        if "typed_error" not in case:
            return ""
        with pytest.raises(TypeInferenceError):
            infer_type(mod)
        return ""

    agreeing, wrong = problems(sampled(recorded(name), 1), check, TYPES)
    assert not wrong, "\n".join(wrong)
    assert agreeing


@pytest.mark.golden
@pytest.mark.parametrize("name", FILES)
@pytest.mark.sweep(every=2)
def test_types_and_spans_from_json(recorded: Any, name: str) -> None:
    def check(case: dict[str, Any]) -> str:
        mod = load_json(case["json"])
        again = load_json(save_json(mod))
        if not structural_equal(again, mod):
            return "what is written is not read back"
        ours, theirs = json.loads(save_json(again)), json.loads(save_json(mod))
        if ours != theirs:
            return "what is written a second time differs"
        if "typed" not in case:
            return ""
        return differing(program(infer_type(mod).astext(show_meta_data=False)), program(case["typed"]))

    agreeing, wrong = problems((case for case in sampled(recorded(name), 1) if "json" in case), check, JSON)
    assert not wrong, "\n".join(wrong)
    assert agreeing
