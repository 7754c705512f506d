"""One output file: what it replaces, what it refuses to replace, what it is written through."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from relay2relax.core.errors import FileError
from relay2relax.core.output import OutputFile, is_marked, marked


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


def test_a_new_file_appears_with_the_mode_of_the_umask(tmp_path: Path, umask: None) -> None:
    OutputFile(tmp_path / "a" / "new.txt").write([b"one ", memoryview(b"two")])
    assert (tmp_path / "a" / "new.txt").read_bytes() == b"one two"
    assert stat.S_IMODE((tmp_path / "a" / "new.txt").stat().st_mode) == 0o640
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["new.txt"]


def test_what_is_not_known_is_written_over_only_by_force(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("mine")
    path.chmod(0o600)
    with pytest.raises(FileError, match=r"notes\.txt would be written over") as caught:
        OutputFile(path).write(b"new")
    assert caught.value.code == "R2R-0920"
    assert path.read_text() == "mine"
    OutputFile(path, force=True).write(b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("hidden", ["out.npz", "in.npz"])
def test_what_cannot_be_looked_at_may_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hidden: str) -> None:
    given, path = tmp_path / "in.npz", tmp_path / "out.npz"
    given.write_bytes(b"mine")
    os.link(given, path)
    look = os.stat

    def refused(one: Path | str, **options: object) -> os.stat_result:
        if os.path.basename(one) == hidden:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(one))
        return look(one)

    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", refused)
        with pytest.raises(FileError, match="Permission denied"):
            OutputFile(path, reads=(given,), force=True).write(b"new")
    assert given.read_bytes() == b"mine"


def test_what_was_written_here_is_known_until_it_is_changed(tmp_path: Path) -> None:
    path = tmp_path / "out"
    for content in (b"first ", b"second "):
        OutputFile(path).write(marked(content, b"\n"))
        assert path.read_bytes().startswith(content)
    whole = path.read_bytes()
    for at in range(len(whole) - 1):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert not is_marked(path)
    with pytest.raises(FileError):
        OutputFile(path).check()


def test_an_empty_file_holds_nothing_to_lose(tmp_path: Path) -> None:
    path = tmp_path / "empty"
    path.touch()
    OutputFile(path).write(b"new")
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("name", ["in.npz", "./in.npz", "sub/../in.npz", "soft", "hard", "folder/in.npz"])
def test_what_is_read_is_never_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, force: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    source = tmp_path / "in.npz"
    source.write_bytes(marked(b"values"))
    (tmp_path / "soft").symlink_to("in.npz")
    (tmp_path / "folder").symlink_to(".")
    os.link(source, tmp_path / "hard")
    before = source.read_bytes()
    with pytest.raises(FileError, match="would be written over: it is read"):
        OutputFile(Path(name), reads=(source,), force=force).write(b"lost")
    assert source.read_bytes() == before


def test_a_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to("elsewhere/target")
    OutputFile(tmp_path / "link").write(marked(b"through a link that leads to nothing"))
    OutputFile(tmp_path / "link").write(b"again")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "elsewhere" / "target").read_bytes() == b"again"
    with pytest.raises(FileError, match="link would be written over"):
        OutputFile(tmp_path / "link").write(b"it is not marked")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(FileError, match="cannot write"):
        OutputFile(tmp_path / "loop", force=True).write(b"nowhere")


def test_devices_and_fifos_are_written_to(tmp_path: Path) -> None:
    before = os.stat("/dev/null")
    OutputFile(Path("/dev/null")).write(b"gone")
    assert os.stat("/dev/null").st_rdev == before.st_rdev
    with pytest.raises(FileError, match="No space left"):
        OutputFile(Path("/dev/full")).write(b"nothing holds this")
    fifo, found = tmp_path / "fifo", []
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: found.append(fifo.read_bytes()))
    reader.start()
    OutputFile(fifo, reads=(fifo,)).write(b"through")
    reader.join(10)
    assert found == [b"through"]
    assert fifo.is_fifo()


def test_a_descriptor_is_written_to(tmp_path: Path) -> None:
    path = tmp_path / "redirected"
    with open(path, "wb") as stream:
        stream.write(b"head ")
        stream.flush()
        OutputFile(Path(f"/proc/self/fd/{stream.fileno()}")).write(b"body")
        assert os.fstat(stream.fileno()).st_ino == path.stat().st_ino


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="Is a directory"):
        OutputFile(tmp_path, force=True).write(b"")


def test_what_a_killed_process_left_is_written_over(tmp_path: Path) -> None:
    path = tmp_path / "out"
    (tmp_path / ".out.relay2relax").write_bytes(b"half of wh")
    OutputFile(path).write(b"whole")
    assert [one.name for one in tmp_path.iterdir()] == ["out"]
    assert path.read_bytes() == b"whole"


def test_threads_that_write_one_file_wait_for_each_other(tmp_path: Path) -> None:
    path = tmp_path / "out"
    contents = [marked(bytes([number]) * 100_000) for number in range(8)]
    threads = [threading.Thread(target=OutputFile(path).write, args=(one,)) for one in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert path.read_bytes() in contents
    assert [one.name for one in tmp_path.iterdir()] == ["out"]
