"""What others keep under the names that outputs are made under is neither removed nor read away."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from relay2relax.core.errors import FileError
from relay2relax.core.output import MANIFEST, Origin, OutputFile, OutputFolder

NET = Origin("convert", "../net.relay", "1" * 64)


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize("force", [False, True])
def test_a_folder_of_the_user_stays(tmp_path: Path, exists: bool, force: bool) -> None:
    out = tmp_path / "out"
    if exists:
        out.mkdir()
    kept = (out / ".relay2relax" if exists else tmp_path / ".out.relay2relax") / "deep" / "mine.txt"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"mine")
    folder = OutputFolder(out, NET, force=force)
    assert [str(kept.parent) in str(one) for one in folder.foresee({"net.py"}).problems] == [True]
    with pytest.raises(FileError, match="is where outputs are made") as caught:
        folder.write({"net.py": b"1"})
    assert str(kept.parent) in str(caught.value)
    assert kept.read_bytes() == b"mine"
    assert not (out / "net.py").exists()


@pytest.mark.parametrize("name", ["net.py", MANIFEST])
def test_what_is_read_stays_whatever_it_is_called(tmp_path: Path, name: str) -> None:
    read = tmp_path / ".out.relay2relax" / name
    read.parent.mkdir()
    read.write_bytes(b"mine")
    with pytest.raises(FileError, match="it is read"):
        OutputFolder(tmp_path / "out", NET, (read,)).write({"net.py": b"1"})
    assert read.read_bytes() == b"mine"
    old = tmp_path / "other" / ".relay2relax" / "old" / name
    old.parent.mkdir(parents=True)
    old.write_bytes(b"mine")
    with pytest.raises(FileError, match="it is read"):
        OutputFolder(tmp_path / "other", NET, (old,)).write({"net.py": b"1"})
    assert old.read_bytes() == b"mine"


def test_a_file_that_is_read_is_not_where_another_is_made(tmp_path: Path) -> None:
    read = tmp_path / ".out.npz.relay2relax"
    read.write_bytes(b"mine")
    os.link(read, tmp_path / "in.npz")
    for path in (read, tmp_path / "in.npz"):
        with pytest.raises(FileError, match="it is read"):
            OutputFile(tmp_path / "out.npz", (path,)).write(b"1")
        assert path.read_bytes() == b"mine"


def test_a_folder_is_not_removed_for_a_file(tmp_path: Path) -> None:
    kept = tmp_path / ".out.npz.relay2relax" / "mine.txt"
    kept.parent.mkdir()
    kept.write_bytes(b"mine")
    with pytest.raises(FileError, match="is where outputs are made"):
        OutputFile(tmp_path / "out.npz").write(b"1")
    assert kept.read_bytes() == b"mine"


def test_what_a_run_left_is_removed(tmp_path: Path) -> None:
    out, aside = tmp_path / "out", tmp_path / ".out.relay2relax"
    for left in ({}, {MANIFEST: b'{"form'}, {"net.py": b"1"}, {"net.py": b"1", MANIFEST: b""}):
        aside.mkdir()
        for name, content in left.items():
            (aside / name).write_bytes(content)
        OutputFolder(out, NET, force=True).write({"net.py": b"2"})
        assert not aside.exists()
    # A folder that another run made lists its files.
    OutputFolder(aside, Origin("convert", "../other.relay")).write({"other.py": b"3"})
    OutputFolder(out, NET).write({"net.py": b"4"})
    assert not aside.exists()
    assert (out / "net.py").read_bytes() == b"4"
