"""SECURITY.md names the tests that hold what it says: some of each folder of tests/security, and
none that does not exist.
"""

from __future__ import annotations

import re

from doc_pages import ROOT

PAGE = (ROOT / "SECURITY.md").read_text()
NAMED = set(re.findall(r"`(tests/[\w/]+\.py)`", PAGE))


def test_tests_that_are_named_exist_and_test() -> None:
    assert NAMED
    for name in NAMED:
        assert "\ndef test_" in (ROOT / name).read_text(), name


def test_tests_of_every_folder_are_named() -> None:
    there = {str(path.parent.relative_to(ROOT)) for path in (ROOT / "tests" / "security").rglob("test_*.py")}
    assert not there - {name.rpartition("/")[0] for name in NAMED}


def test_every_entry_says_what_is_trusted() -> None:
    """Each row of the first table has a verdict, and leads somewhere or says all."""
    rows = [line.split("|")[1:-1] for line in PAGE.splitlines() if line.startswith("| ") and line.count("|") == 5]
    entries = rows[1:]
    assert len(entries) >= 14
    for what, read, run, where in entries:
        assert re.search("trusted|sealed|as the model|see below", f"{read} {run}"), what
        anchor = re.search(r"\(#([\w-]+)\)", where)
        headings = [
            re.sub(r"[^\w -]", "", one).strip().lower().replace(" ", "-")
            for one in re.findall(r"^#+ (.*)$", PAGE, re.M)
        ]
        assert anchor is None or anchor[1] in headings, where
