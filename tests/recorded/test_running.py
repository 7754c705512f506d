"""Every recorded module that has data gives the recorded values: run as Relay, and translated to
Relax, on numpy and C.

Relay runs every case on numpy. Of the rest, which compiles or translates, one case in so many is
run, and all of them with RELAY2RELAX_SWEEP=full.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from known_differences import TRANSLATIONS, VALUES
from recorded_cases import VALUED_FILES, arguments, entry, has_data, problem, problems, typed_case
from sweep import sampled

from relay2relax import backends, translator


def cases(recorded: Any, name: str) -> Iterator[dict[str, Any]]:
    return (case for case in recorded(name) if has_data(case))


def report(cases: Iterator[dict[str, Any]], check: Any, known: dict[str, str]) -> None:
    agreeing, wrong = problems(cases, check, known)
    assert not wrong, "\n".join(wrong)
    assert agreeing


@pytest.mark.golden
@pytest.mark.parametrize("name", VALUED_FILES)
@pytest.mark.sweep(every=2)
def test_relay_on_numpy(recorded: Any, name: str) -> None:
    def check(case: dict[str, Any]) -> str:
        mod, function = typed_case(case)
        run = backends.create_executor("debug", mod).evaluate(entry(case))
        return problem(run(*arguments(case, function)), case, mod)

    report(cases(recorded, name), check, VALUES)


@pytest.mark.golden
@pytest.mark.sweep
@pytest.mark.parametrize("name", VALUED_FILES)
def test_bytecode_that_went_through_a_file(recorded: Any, name: str, tmp_path: Path) -> None:
    def check(case: dict[str, Any]) -> str:
        mod, function = typed_case(case)
        executable = backends.create_executor("vm", mod).executable
        assert executable is not None
        executable.save(tmp_path / "case.vm")
        run = backends.load_executor(tmp_path / "case.vm").evaluate(entry(case))
        return problem(run(*arguments(case, function)), case, mod)

    report(sampled(cases(recorded, name), 3), check, VALUES)


@pytest.mark.golden
@pytest.mark.sweep
@pytest.mark.compiler
@pytest.mark.parametrize("name", VALUED_FILES)
def test_relay_in_c(recorded: Any, name: str) -> None:
    def check(case: dict[str, Any]) -> str:
        mod, function = typed_case(case)
        run = backends.create_executor("debug", mod, backend="c").evaluate(entry(case))
        return problem(run(*arguments(case, function)), case, mod)

    report(sampled(cases(recorded, name), 32), check, VALUES)


@pytest.mark.golden
@pytest.mark.sweep
@pytest.mark.parametrize(("target", "step"), [("numpy", 8), pytest.param("c", 32, marks=pytest.mark.compiler)])
@pytest.mark.parametrize("translate", [translator.lower_to_tir, translator.via_graph])
@pytest.mark.parametrize("name", VALUED_FILES)
def test_relax(recorded: Any, name: str, translate: Any, target: str, step: int) -> None:
    def check(case: dict[str, Any]) -> str:
        mod, function = typed_case(case)
        machine = backends.VirtualMachine(backends.build(translate(mod), target=target))
        return problem(machine[entry(case)](*arguments(case, function)), case, mod)

    report(sampled(cases(recorded, name), step), check, VALUES | TRANSLATIONS)
