"""What a file that is not there was meant to be."""

from __future__ import annotations

from pathlib import Path

import pytest

from relay2relax.core.errors import FileError
from relay2relax.core.errors.nearest import nearest_file


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "nets").mkdir()
    for name in ("model.relay", "weights.npz", "nets/deep.json"):
        (tmp_path / name).write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("modle.relay", "model.relay"),
        ("Model.Relay", "model.relay"),
        ("model", "model.relay"),
        ("model.json", "model.relay"),
        ("./weigths.npz", "weights.npz"),
        ("nets/dep.json", "nets/deep.json"),
        ("net/deep.json", "nets/deep.json"),
        ("net/other.json", "nets"),
    ],
)
def test_a_file_of_a_similar_name_is_named(here: Path, given: str, meant: str) -> None:
    assert nearest_file(given) == f"did you mean '{meant}'?"
    assert nearest_file(here / given) == f"did you mean '{here / meant}'?"


@pytest.mark.parametrize("given", ["quite_different", "nets/x/y/z", "/no/such/place"])
def test_nothing_is_invented_where_nothing_is_similar(here: Path, given: str) -> None:
    assert nearest_file(given) == ""


def test_a_file_in_the_place_of_a_folder_is_no_second_error(here: Path) -> None:
    assert nearest_file("nets/deep.json/inner") == ""


def test_a_file_that_cannot_be_read_says_it_only_where_it_is_missing(here: Path) -> None:
    gone = FileError.unread("modle.relay", FileNotFoundError(2, "No such file or directory"))
    assert gone.diagnostics[0].help == "did you mean 'model.relay'?"
    denied = FileError.unread("modle.relay", PermissionError(13, "Permission denied"))
    assert "did you mean" not in denied.diagnostics[0].help
