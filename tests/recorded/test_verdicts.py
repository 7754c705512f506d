"""Whether a module is accepted or refused, and with which types, is what TVM recorded for it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from known_differences import VERDICTS
from recorded_cases import problems, program, without_spans

from relay2relax.core import Relay2RelaxError
from relay2relax.relay_ir import infer_type, parse

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "semantics.md"


def wrong(case: dict[str, Any]) -> str:
    """Return how our verdict on a case differs, nothing where it does not."""
    accepted = case.get("verdict") == "accepted"
    try:
        typed = infer_type(parse(case["text"], case["id"])).astext(show_meta_data=False)
    except Relay2RelaxError as problem:
        return f"refused: {problem}" if accepted else ""
    if not accepted:
        return "accepted"
    ours, theirs = without_spans(program(typed)), without_spans(program(case["typed"]))
    return "" if ours == theirs else f"other types\n{ours}\n{theirs}"


@pytest.mark.golden
@pytest.mark.parametrize("name", ["mutated", "rejected"])
def test_verdicts_are_those_of_tvm(recorded: Any, name: str) -> None:
    cases = list(recorded(name))
    known = {case["id"]: VERDICTS[case["id"]] for case in cases if case["id"] in VERDICTS}
    agreeing, differing = problems(cases, wrong, known)
    assert not differing, "\n".join(differing)
    assert agreeing >= 0.99 * len(cases)


def test_the_page_lists_what_differs() -> None:
    section = PAGE.read_text(encoding="utf-8").split("\n### Where the verdict differs")[1].split("\n#")[0]
    assert set(re.findall(r"\b[0-9a-f]{12}\b", section)) == set(VERDICTS)
