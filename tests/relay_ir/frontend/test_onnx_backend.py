"""ONNX's own tests of backends: what is imported computes the outputs that ONNX recorded, but for
what the page of them names.
"""

from __future__ import annotations

import pytest
from sweep import LEVEL

pytest.importorskip("onnx")

from imported.onnx_backend import cases, listed, problem


def check(target: str, step: int) -> None:
    failing = {name for name, where in listed().items() if where == "everywhere" or target == "c"}
    wrong = []
    for name, case in list(cases().items())[::step]:
        found = problem(case, target)
        if bool(found) != (name in failing):
            wrong.append(f"{name}: {found or 'passes, and the page says that it does not'}")
    assert not wrong, "\n".join(wrong)


def test_on_numpy() -> None:
    check("numpy", 96 if LEVEL == "sample" else 1)


@pytest.mark.compiler
def test_on_c() -> None:
    check("c", {"sample": 400, "all": 40, "full": 1}[LEVEL])


def test_the_page_names_tests_that_there_are() -> None:
    assert listed().keys() <= cases().keys()
    assert 1 - len(listed()) / len(cases()) >= 0.95
