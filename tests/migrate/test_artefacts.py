"""Models of a folder are found, with the weights that are theirs."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from relay2relax import relay_ir
from relay2relax.core.errors import FileError, ParseError
from relay2relax.core.output import Origin, OutputFolder
from relay2relax.migrate import find_artefacts

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(?, 4), float32], %w: Tensor[({rows}, 4), float32]) {{ nn.dense(%x, %w, units={rows}) }}
"""
OTHERS = {"README.md": b"# Nets\n", "picture.png": b"\x89PNG", "x.py": b"def @main\n", "a.json": b"[]"}


def model(rows: int = 3) -> str:
    return TEXT.format(rows=rows)


def weights(path: Path, rows: int = 3, name: str = "w") -> None:
    path.write_bytes(relay_ir.save_params({name: np.zeros((rows, 4), np.float32)}))


def found(root: Path) -> dict[str, tuple[str, str]]:
    return {one.name: (one.params.name if one.params else "", one.found_by) for one in find_artefacts([root])}


def test_weights_of_the_same_name_come_first(tmp_path: Path) -> None:
    (tmp_path / "net.relay").write_text(model())
    weights(tmp_path / "net.params")
    weights(tmp_path / "other.params")
    assert found(tmp_path) == {"net.relay": ("net.params", "name")}


def test_the_only_weights_of_a_folder_belong_to_its_only_model(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "model.txt").write_text(model())
    weights(tmp_path / "a" / "deploy.params")
    assert found(tmp_path) == {"a/model.txt": ("deploy.params", "folder")}


def test_weights_belong_to_the_model_that_they_fit(tmp_path: Path) -> None:
    for rows, name in ((3, "one"), (5, "two")):
        (tmp_path / f"{name}.relay").write_text(model(rows))
        weights(tmp_path / f"w{rows}.params", rows)
    weights(tmp_path / "strange.params", name="v")
    assert found(tmp_path) == {"one.relay": ("w3.params", "fit"), "two.relay": ("w5.params", "fit")}


def test_two_that_fit_are_not_guessed_between(tmp_path: Path) -> None:
    (tmp_path / "one.relay").write_text(model())
    (tmp_path / "two.relay").write_text(model())
    weights(tmp_path / "first.params")
    weights(tmp_path / "second.params")
    assert found(tmp_path) == {"one.relay": ("", ""), "two.relay": ("", "")}


def test_what_is_no_model_is_passed_by(tmp_path: Path) -> None:
    for name, content in OTHERS.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "net.json").write_text(relay_ir.save_json(relay_ir.parse(model())))
    (tmp_path / "net.onnx").write_bytes(b"\x08\x07")
    (tmp_path / "broken.relay").write_bytes(b"\xff\xfe")
    assert list(found(tmp_path)) == ["broken.relay", "net.json", "net.onnx"]


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    places = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        places.append(tmp_path / folder / "net.relay")
        places[-1].write_text(model())
    assert [one.name for one in find_artefacts(places)] == ["net.relay", "net.relay (2)"]


def test_a_place_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="No such file"):
        find_artefacts([tmp_path / "none"])


def test_what_cannot_be_looked_at_is_an_artefact(tmp_path: Path) -> None:
    (tmp_path / "gone.relay").symlink_to(tmp_path / "nowhere")
    (tmp_path / "dir.relay").mkdir()
    locked = tmp_path / "locked"
    locked.mkdir()
    (locked / "net.relay").write_text(model())
    locked.chmod(0)
    try:
        shut = not os.access(locked, os.R_OK)
        names = [one.name for one in find_artefacts([tmp_path])]
    finally:
        locked.chmod(0o700)
    assert names == ["gone.relay", "locked/" if shut else "locked/net.relay"]


@pytest.fixture
def nets(tmp_path: Path) -> Path:
    """Return a folder with nets/net.relay, its weights, and nets/old/older.relay."""
    (tmp_path / "nets" / "old").mkdir(parents=True)
    (tmp_path / "nets" / "net.relay").write_text(model())
    weights(tmp_path / "nets" / "net.params")
    (tmp_path / "nets" / "old" / "older.relay").write_text(model())
    return tmp_path


def test_a_list_names_models_and_folders(nets: Path) -> None:
    (nets / "notes").write_text("no model\n")
    whole = nets / "nets" / "old" / "older.relay"
    listing = nets / "list"
    listing.write_text(f"\ufeff# ours\r\nnets/net.relay\r\n\r\n  nets/old/  \nnotes\n{whole}\nnets/net.relay")
    assert found(listing) == {
        "nets/net.relay": ("net.params", "name"), "nets/old/older.relay": ("", ""), "notes": ("", ""),
    }  # fmt: skip


def test_every_mistake_of_a_list_is_said(nets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(nets)
    os.mkfifo("pipe")
    Path("round").symlink_to("round")
    Path("list.txt").write_text(f"nets\nnets/nett.relay\npipe\nlist.txt\n/dev/zero\nround\n{'x' * 5000}\n")
    with pytest.raises(FileError) as problem:
        find_artefacts([Path("list.txt")])
    places = [(one.where.line, one.where.column) for one in problem.value.diagnostics if one.where is not None]
    assert places == [(line, 1) for line in range(2, 8)]
    said = str(problem.value)
    for words in (
        "'nets/nett.relay': No such file", "did you mean 'nets/net.relay'", "'pipe': it is neither a file nor a folder",
        "the list names itself: 'list.txt'", "'/dev/zero': it is neither", "'round': Too many levels",
        "'list.txt' holds no model, so that it is read as a list",
    ):  # fmt: skip
        assert words in said


def test_of_many_mistakes_a_hundred_are_said(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("".join(f"net{number}.relay\n" for number in range(100_000)))
    with pytest.raises(FileError) as problem:
        find_artefacts([tmp_path / "list.txt"])
    assert len(problem.value.diagnostics) == 100


@pytest.mark.parametrize("content", [b"", b"# nothing\n\n"])
def test_a_list_names_something(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "list.txt").write_bytes(content)
    with pytest.raises(ParseError, match="it names none"):
        find_artefacts([tmp_path / "list.txt"])


def test_what_is_named_and_is_no_text_is_a_model(tmp_path: Path) -> None:
    for name in ("net.relay", "net.json", "net.bin", "net.txt"):
        (tmp_path / name).write_bytes(b"\0\1" if name == "net.bin" else b"{\n" if name == "net.json" else TEXT.encode())
        assert found(tmp_path / name) == {name: ("", "")}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes with names")
def test_pipes_and_devices_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "net.relay")
    for path in (tmp_path / "net.relay", Path("/dev/zero")):
        with pytest.raises(FileError, match="neither a file nor a folder"):
            find_artefacts([path])


@pytest.mark.parametrize(("command", "names"), [("migrate", {"net.relay"}), ("convert", set())])
def test_a_folder_may_be_migrated_into_itself(tmp_path: Path, command: str, names: set[str]) -> None:
    folder = tmp_path / "all" / "nets"
    folder.mkdir(parents=True)
    (folder / "net.relay").write_text(model())
    OutputFolder(folder, Origin(command, "", "")).write({"report.json": b"{}"})
    assert found(folder).keys() == names
    # What lies in a folder below that was written is no model of the one above.
    assert found(folder.parent) == {}
