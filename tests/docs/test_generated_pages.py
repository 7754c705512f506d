"""Pages that are made from the program are up to date, and lists of pages are whole."""

from __future__ import annotations

from types import ModuleType

from doc_pages import ROOT
from golden_folder import load_module


def _script(stem: str) -> ModuleType:
    return load_module(f"tools_{stem}", ROOT / "tools" / f"{stem}.py")


def test_command_line() -> None:
    script = _script("command_page")
    assert script.PAGE.read_text() == script.page(), "run python tools/command_page.py"


def test_legacy_api() -> None:
    script = _script("legacy_api_page")
    assert script.PAGE.read_text() == script.page(), "run python tools/legacy_api_page.py"


def test_schema_of_reports() -> None:
    script = _script("report_schema")
    assert script.PAGE.read_text() == script.page(), "run python tools/report_schema.py"


def test_every_decision_is_in_the_list() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = (folder / "index.md").read_text().splitlines()
    wanted = []
    for page in sorted(folder.glob("[0-9]*.md")):
        number, _, title = page.read_text().splitlines()[0].removeprefix("# ").partition(". ")
        wanted.append(f"| [{number}]({page.name}) | {title} |")
    assert [line for line in listed if line.startswith("| [")] == wanted


def test_picture_of_the_data_flow() -> None:
    script = _script("architecture_picture")
    assert script.PICTURE.read_text() == script.picture(), "run python tools/architecture_picture.py"
