"""Behind every pass a recorded program gives what TVM recorded of it, on numpy and in C.

One case in so many is tried; ``run.py`` beside this file tries all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from known_differences import VALUES
from passes_swept.programs import InC, OnNumpy, Recorded, Way, tried, wrong
from passes_swept.trials import ELSEWHERE, TRIALS
from recorded_cases import VALUED_FILES, has_data
from sweep import sampled

from relay2relax.relay_ir import pipeline


def check(cases: Iterator[dict[str, Any]], step: int, way: Way) -> None:
    """Try every pass on one case in ``step``."""
    found, made = {}, 0
    for case in sampled((one for one in cases if has_data(one) and one["id"] not in VALUES), step):
        begin = Recorded.of(case)
        one = tried(begin, TRIALS)
        found.update({(case["id"], name): text for name, text in one.faults.items()})
        if isinstance(way, InC):
            way.prepare(program.module for program in one.programs)
        for program in one.programs:
            made += 1
            text = wrong(program, begin, way)
            if text:
                found[case["id"], ", ".join(program.names)] = text
    assert not found, "\n".join(f"{where}: {text}" for where, text in found.items())
    assert made


@pytest.mark.golden
@pytest.mark.parametrize("name", VALUED_FILES)
def test_programs_give_behind_passes_what_was_recorded(recorded: Any, name: str) -> None:
    check(recorded(name), 37, OnNumpy())


@pytest.mark.golden
@pytest.mark.compiler
@pytest.mark.sweep(every=6)
@pytest.mark.parametrize("name", VALUED_FILES)
def test_programs_in_c_give_behind_passes_what_was_recorded(recorded: Any, name: str) -> None:
    check(recorded(name), 311, InC())


def test_every_pass_is_tried() -> None:
    """A trial begins with the name of its pass; the others have a reason."""
    words = {word.rstrip(",") for trial in TRIALS for word in trial.name.split()}
    missing = set(pipeline.passes_by_name()) - words - set(ELSEWHERE)
    assert not missing
    assert not set(ELSEWHERE) - set(pipeline.passes_by_name())
