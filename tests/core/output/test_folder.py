"""A folder of output files: all or none, nothing of anyone else's, nothing left of before."""

from __future__ import annotations

import errno
import json
import os
import stat
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from relay2relax.core.errors import FileError, ParseError
from relay2relax.core.output import MANIFEST, Origin, OutputFolder

NET = Origin("convert", "../net.relay", "1" * 64)
OTHER = Origin("convert", "../other.relay", "2" * 64)


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != MANIFEST}


@pytest.mark.parametrize("exists", [False, True])
def test_files_are_written_and_written_again(tmp_path: Path, exists: bool) -> None:
    out = tmp_path / "a" / "out"
    if exists:
        out.mkdir(parents=True)
    assert OutputFolder(out, NET).write({"net.py": b"1", "net.json": b"2"}) == (out / "net.py", out / "net.json")
    assert content(out) == {"net.py": b"1", "net.json": b"2"}
    assert stat.S_IMODE((out / "net.py").stat().st_mode) == 0o644
    OutputFolder(out, NET).write({"net.py": b"3", "net.json": b"4"})
    assert content(out) == {"net.py": b"3", "net.json": b"4"}
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_what_an_earlier_run_left_is_removed_unless_it_was_changed(tmp_path: Path) -> None:
    OutputFolder(tmp_path, NET).write({"net.py": b"1", "weights": b"2", "notes": b"3"})
    OutputFolder(tmp_path, Origin("export", NET.model)).write({"net.c": b"5"})
    (tmp_path / "notes").write_bytes(b"mine now")
    OutputFolder(tmp_path, NET).write({"net.py": b"4"})
    assert content(tmp_path) == {"net.py": b"4", "notes": b"mine now", "net.c": b"5"}


def test_copies_of_a_model_are_models_of_their_own(tmp_path: Path) -> None:
    OutputFolder(tmp_path, NET).write({"net.py": b"1"})
    OutputFolder(tmp_path, Origin("convert", "../copy.relay", NET.sha256)).write({"copy.py": b"2"})
    assert content(tmp_path) == {"net.py": b"1", "copy.py": b"2"}


def test_what_is_read_is_not_removed(tmp_path: Path) -> None:
    OutputFolder(tmp_path, NET).write({"net.py": b"1", "weights": b"2"})
    OutputFolder(tmp_path, NET, reads=(tmp_path / "weights",)).write({"net.py": b"4"})
    assert content(tmp_path) == {"net.py": b"4", "weights": b"2"}
    for force in (False, True):
        with pytest.raises(FileError, match="is read"):
            OutputFolder(tmp_path, NET, reads=(tmp_path / "weights",), force=force).write({"weights": b"3"})
    assert content(tmp_path) == {"net.py": b"4", "weights": b"2"}


def test_files_of_others_are_written_over_only_by_force(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_bytes(b"all:")
    with pytest.raises(FileError, match="Makefile would be written over: it was not written here"):
        OutputFolder(tmp_path, NET).write({"net.c": b"1", "Makefile": b"2"})
    assert content(tmp_path) == {"Makefile": b"all:"}
    OutputFolder(tmp_path, NET, force=True).write({"net.c": b"1", "Makefile": b"2"})
    with pytest.raises(FileError, match=r"Makefile would be written over: it was made of \.\./net.relay"):
        OutputFolder(tmp_path, OTHER).write({"other.c": b"3", "Makefile": b"4"})
    (tmp_path / "net.c").write_bytes(b"edited")
    with pytest.raises(FileError, match="it was changed since"):
        OutputFolder(tmp_path, NET).write({"net.c": b"5", "Makefile": b"6"})
    assert content(tmp_path) == {"net.c": b"edited", "Makefile": b"2"}


def test_all_files_in_the_way_are_named_at_once(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"mine")
    with pytest.raises(FileError) as caught:
        OutputFolder(tmp_path, NET).check(["a", "b", "c"])
    (mistake,) = caught.value.diagnostics
    assert mistake.title.startswith(f"{tmp_path / 'a'}, {tmp_path / 'b'} would be written over")


def test_a_model_is_known_by_its_place_or_by_its_content(tmp_path: Path) -> None:
    OutputFolder(tmp_path, NET).write({"net.py": b"1"})
    OutputFolder(tmp_path, Origin("convert", "elsewhere/net.relay", NET.sha256)).write({"net.py": b"2"})
    OutputFolder(tmp_path, Origin("convert", "elsewhere/net.relay", "3" * 64)).write({"net.py": b"3"})
    with pytest.raises(FileError):
        OutputFolder(tmp_path, NET).write({"net.py": b"4"})


@pytest.mark.parametrize("force", [False, True])
def test_links_folders_and_fifos_are_refused(tmp_path: Path, force: bool) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "user").write_bytes(b"mine")
    (out / "link").symlink_to("../user")
    (out / "folder").mkdir()
    os.mkfifo(out / "fifo")
    for name in ("link", "folder", "fifo"):
        with pytest.raises(FileError, match="is not a regular file"):
            OutputFolder(out, NET, force=force).write({"net.py": b"1", name: b"2"})
    assert (tmp_path / "user").read_bytes() == b"mine"
    assert not (out / "net.py").exists()


def test_a_link_to_a_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("there")
    for text in (b"1", b"2"):
        OutputFolder(tmp_path / "link", NET).write({"net.py": text})
        assert content(tmp_path / "there") == {"net.py": text}
    (tmp_path / "file").write_bytes(b"mine")
    with pytest.raises(FileError, match="file would be written over: it is a file, not a folder"):
        OutputFolder(tmp_path / "file", NET, force=True).write({"net.py": b"1"})


@pytest.mark.parametrize("text", [b"", b"{}", b'{"format": "mine", "version": 1, "files": {}}', b"\xff"])
def test_a_list_that_is_somebody_elses_is_kept(tmp_path: Path, text: bytes) -> None:
    (tmp_path / MANIFEST).write_bytes(text)
    with pytest.raises(FileError, match="is not a list of files"):
        OutputFolder(tmp_path, NET).write({"net.py": b"1"})
    assert (tmp_path / MANIFEST).read_bytes() == text
    OutputFolder(tmp_path, NET, force=True).write({"net.py": b"1"})
    OutputFolder(tmp_path, NET).write({"net.py": b"2"})


@pytest.mark.parametrize("force", [False, True])
def test_a_list_that_is_no_file_is_neither_followed_nor_replaced(tmp_path: Path, force: bool) -> None:
    (tmp_path / "list").write_text('{"format": "relay2relax outputs", "version": 1, "files": {}}')
    makers: list[Callable[[Path], None]] = [os.mkfifo, os.mkdir, partial(os.symlink, "../list")]
    for number, make in enumerate(makers):
        out = tmp_path / str(number)
        out.mkdir()
        make(out / MANIFEST)
        with pytest.raises(FileError, match="json would be written over"):
            OutputFolder(out, NET, force=force).write({"net.py": b"1"})
        assert not content(out)


def test_a_list_that_cannot_be_looked_at_is_not_taken_for_a_missing_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = OutputFolder(tmp_path / "out", NET)
    folder.write({"net.py": b"1", "net.json": b"2"})
    look = os.lstat

    def refused(path: Path) -> os.stat_result:
        if os.path.basename(path) == MANIFEST:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return look(path)

    monkeypatch.setattr(os, "lstat", refused)
    with pytest.raises(FileError, match="Permission denied"):
        folder.write({"net.py": b"3"})
    assert (tmp_path / "out" / "net.py").read_bytes() == b"1"


def test_a_list_that_names_other_places_moves_nothing_there(tmp_path: Path) -> None:
    out = tmp_path / "out"
    OutputFolder(out, NET).write({"net.py": b"1"})
    written = json.loads((out / MANIFEST).read_text())
    (tmp_path / "net.py").write_bytes(b"1")
    written["files"]["../net.py"] = written["files"]["net.py"]
    (out / MANIFEST).write_text(json.dumps(written))
    OutputFolder(out, NET).write({"net.c": b"2"})
    assert (tmp_path / "net.py").read_bytes() == b"1"
    assert content(out) == {"net.c": b"2"}


def test_a_journal_that_names_other_places_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for folder in ("new", "old"):
        (out / ".relay2relax" / folder).mkdir(parents=True)
    (tmp_path / "user").write_bytes(b"mine")
    for name in ("../user", "/etc/passwd", "..", ""):
        journal = {"steps": [{"name": name, "sha256": "", "replaced": False}]}
        (out / ".relay2relax" / "journal.json").write_text(json.dumps(journal))
        with pytest.raises(ParseError, match="not in its folder"):
            OutputFolder(out, NET).write({"net.py": b"1"})
    assert (tmp_path / "user").read_bytes() == b"mine"


def test_threads_that_write_one_folder_wait_for_each_other(tmp_path: Path) -> None:
    out = tmp_path / "out"
    names = [f"net{number}" for number in range(6)]
    origins = [Origin("convert", name) for name in names]
    threads = [
        threading.Thread(target=OutputFolder(out, origin).write, args=({f"{name}.py": name.encode()},))
        for name, origin in zip(names, origins, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert content(out) == {f"{name}.py": name.encode() for name in names}
    assert sorted(json.loads((out / MANIFEST).read_text())["files"]) == sorted(content(out))
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_threads_that_write_again_lose_nothing_of_each_other(tmp_path: Path) -> None:
    """A folder of one origin changes places with another; one of several is written by a
    journal.
    """
    for turn in range(3):
        out = tmp_path / str(turn)
        problems: list[str] = []

        def write(number: int, out: Path = out, problems: list[str] = problems) -> None:
            try:
                for _ in range(3):
                    OutputFolder(out, Origin("convert", f"net{number}")).write(
                        {f"net{number}.py": b"1", f"{number}": b"2"}
                    )
            except Exception as error:  # noqa: BLE001 - what a thread says would be lost
                problems.append(repr(error))

        threads = [threading.Thread(target=write, args=(number % 2,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not problems
        assert content(out) == {"net0.py": b"1", "0": b"2", "net1.py": b"1", "1": b"2"}
        assert sorted(json.loads((out / MANIFEST).read_text())["files"]) == sorted(content(out))
    assert sorted(path.name for path in tmp_path.iterdir()) == [str(turn) for turn in range(3)]
