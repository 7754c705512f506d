"""The count of sentences finds what stands twice, and templates that are not given their fields."""

from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType

import pytest
from doc_pages import ROOT
from golden_folder import load_module

KINDS = """
BARE = ErrorKind("R2R-0001", "a title", "why", "example", "mend")
RANK = ErrorKind("R2R-0002", "a title", "why", "example", "mend", template="{what} has rank {rank}")
"""


@pytest.fixture(scope="module")
def sentences() -> ModuleType:
    return load_module("tools_sentences", ROOT / "tools" / "sentences.py")


@pytest.mark.parametrize(
    ("program", "twice"),
    [
        ('raise OpError("no axis")', 0),
        ('raise OpError("no axis")\nraise TIRError(f"no axis")', 1),
        ('raise OpError(f"no axis {a}")\nself.fail(f"no axis {b!r}", start)', 1),
        ('raise source.problem(node, "no axis")\nreturn Diagnostic("no axis")', 1),
        ('raise OpError(f"{what} has rank {found}")', 1),
        ('print("no axis")\nraise OpError("no axis")', 0),
        ('raise OpError(f"{a}: {b}")\nraise OpError(f"{c}: {d}")', 0),
    ],
)
def test_sentences_that_stand_twice(sentences: ModuleType, program: str, twice: int) -> None:
    trees = {sentences.TABLE / "operators.py": ast.parse(KINDS), Path("ops", "one.py"): ast.parse(program)}
    found = sentences.find_sentences(trees)
    assert len(found.twice) == twice
    assert found.bare == ["operators.BARE"]


@pytest.mark.parametrize(
    ("call", "lines"),
    [
        ("mistake(kinds.RANK, what=name, rank=1)", []),
        ("mistake(kinds.RANK, where, what=name, rank=1, label=text)", []),
        ("mistake(kinds.RANK, what=name)", ["ops/one.py:2"]),
        ("mistake(kinds.BARE)", ["ops/one.py:2"]),
        ("kinds.RANK.message(what=name, rank=1)", []),
        ("kinds.RANK.message(what=name, rank=1, label=text)", ["ops/one.py:2"]),
    ],
)
def test_fields_of_templates(sentences: ModuleType, call: str, lines: list[str]) -> None:
    program = f"from relay2relax.core.errors.table import operators as kinds\n{call}"
    trees = {sentences.TABLE / "operators.py": ast.parse(KINDS), Path("ops", "one.py"): ast.parse(program)}
    assert sentences.find_sentences(trees).unlike == lines
