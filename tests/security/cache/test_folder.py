"""The folder of the cache: whose it is, what is left in it, and what happens where it fails."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from relay2relax.backends import cache
from relay2relax.backends.cache import store as stores
from relay2relax.core.errors import Relay2RelaxError

POSIX = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="the system has no owners of files")
NAMES = [f"{number:040x}.so" for number in range(8)]


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is remembered of other tests."""
    stores._store.cache_clear()
    stores._say.cache_clear()


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("RELAY2RELAX_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def kept(name: str, content: bytes) -> bool:
    """Whether an entry that is written is found again, in this process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cache.open_store().write(name, content)
    return cache.open_store().read(name) == content


def test_the_folder_is_this_users_alone(folder: Path) -> None:
    before = os.umask(0)
    try:
        assert kept(NAMES[0], b"code")
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / NAMES[0]).stat().st_mode & 0o777 == 0o600
    assert os.listdir(folder) == [NAMES[0]]


@POSIX
@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770, 0o722])
def test_a_folder_that_others_may_write_to_is_not_used(folder: Path, mode: int) -> None:
    assert kept(NAMES[0], b"code")
    folder.chmod(mode)
    stores._store.cache_clear()
    store = cache.open_store()
    assert store.read(NAMES[0]) is None
    with pytest.warns(RuntimeWarning, match="chmod go-w"):
        store.write(NAMES[1], b"other")
    # It is said once, and the process goes on with what it has.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store.write(NAMES[2], b"more")
    assert store.read(NAMES[1]) == b"other"
    assert sorted(os.listdir(folder)) == [NAMES[0]]


@POSIX
@pytest.mark.parametrize(("mode", "used"), [(0o777, False), (0o757, False), (0o1777, True), (0o775, True)])
def test_a_folder_that_others_may_exchange_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, used: bool
) -> None:
    above = tmp_path / "above"
    monkeypatch.setenv("RELAY2RELAX_CACHE", str(above / "mine" / "cache"))
    assert kept(NAMES[0], b"code")
    above.chmod(mode)
    stores._store.cache_clear()
    problem = cache.find_place().problem
    assert (problem == "") == used
    assert (cache.open_store().read(NAMES[0]) == b"code") == used
    if not used:
        assert f"everyone may write to {above}" in problem
        with pytest.warns(RuntimeWarning, match="everyone may write"):
            cache.open_store().write(NAMES[1], b"other")


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="the system has no sparse files")
def test_an_entry_of_another_length_is_not_read(folder: Path) -> None:
    """However long it is made, it takes no memory: 20 GB of holes."""
    assert kept(NAMES[0], b"code")
    os.truncate(folder / NAMES[0], 20 * 10**9)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert cache.open_store().read(NAMES[0]) is None
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 10_000
    assert kept(NAMES[0], b"code")


@POSIX
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() != 0, reason="only root gives files away")
def test_files_of_others_are_not_believed(folder: Path) -> None:
    assert kept(NAMES[0], b"code")
    os.chown(folder / NAMES[0], 12345, -1)
    assert cache.open_store().read(NAMES[0]) is None
    os.chown(folder / NAMES[0], 0, -1)
    assert cache.open_store().read(NAMES[0]) == b"code"
    (folder / NAMES[0]).chmod(0o666)
    assert cache.open_store().read(NAMES[0]) is None
    os.chown(folder, 12345, -1)
    assert "belongs to the user" in cache.find_place().problem


def test_what_is_no_file_of_ours_is_not_read(folder: Path) -> None:
    assert kept(NAMES[0], b"code")
    (folder / NAMES[1]).symlink_to(folder / NAMES[0])
    (folder / NAMES[2]).mkdir()
    os.mkfifo(folder / NAMES[3])
    (folder / NAMES[4]).write_bytes((folder / NAMES[0]).read_bytes())
    assert [cache.open_store().read(name) for name in NAMES[1:5]] == [None] * 4
    assert all(kept(name, b"new") for name in NAMES[1:5])
    assert kept(NAMES[0], b"code")


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"RELAY2RELAX_CACHE": "~/builds"}, "HOME/builds"),
        ({"RELAY2RELAX_CACHE": "builds"}, "CWD/builds"),
        ({"RELAY2RELAX_CACHE": ""}, "HOME/.cache/relay2relax"),
        (
            {"RELAY2RELAX_CACHE": "~nobody-here/builds"},
            "the home folder of '~nobody-here' is not known",
        ),
        ({"HOME": "relative"}, "the user has no home folder"),
        ({"RELAY2RELAX_CACHE": "/dev/null/builds"}, "it cannot be made"),
        ({"RELAY2RELAX_CACHE": "/dev/null"}, "it cannot be made"),
    ],
)
def test_where_it_is(variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("folders of Linux")
    home, here = tmp_path / "home", tmp_path / "here"
    home.mkdir()
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("RELAY2RELAX_CACHE", raising=False)
    monkeypatch.setenv("HOME", str(home))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    place = cache.find_place()
    if expected.startswith(("HOME", "CWD")):
        wanted = expected.replace("HOME", str(home)).replace("CWD", str(here))
        assert (str(place.folder), place.problem) == (wanted, "")
    else:
        assert expected in place.problem
    assert kept(NAMES[0], b"code")
    assert not (here / "~").exists()


def test_the_limit_holds_and_what_was_used_stays(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAY2RELAX_CACHE_LIMIT", "5000B")
    foreign = folder / "notes.so"
    folder.mkdir(mode=0o700)
    foreign.write_bytes(b"x" * 9000)
    for number, name in enumerate(NAMES):
        cache.open_store().write(name, bytes(1000))
        os.utime(folder / name, (1e9 + number, 1e9 + number))
        # The first is used again and again.
        assert cache.open_store().read(NAMES[0]) == bytes(1000)
        sizes = [path.stat().st_size for path in folder.iterdir() if path.name in NAMES]
        assert sum(sizes) <= 5000
    left = sorted(path.name for path in folder.iterdir())
    assert left == sorted([NAMES[0], *NAMES[-3:], "notes.so"])


@pytest.mark.parametrize(("written", "size"), [("1", 1), ("2kb", 2000), ("3 MB", 3 * 10**6), ("1TB", 10**12)])
def test_sizes(written: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAY2RELAX_CACHE_LIMIT", written)
    assert stores.size_limit() == size


@pytest.mark.parametrize("written", ["much", "-1", "1PB", "1.5.GB", "GB"])
def test_no_sizes(written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAY2RELAX_CACHE_LIMIT", written)
    with pytest.raises(Relay2RelaxError, match="RELAY2RELAX_CACHE_LIMIT cannot be"):
        stores.size_limit()


@pytest.mark.skipif(sys.platform == "win32", reason="the system does not lock folders")
def test_what_a_killed_process_left_is_removed(folder: Path) -> None:
    program = """
import time
from relay2relax.backends import cache

with cache.open_store().work() as folder:
    (folder / "unit0.c").write_text("half of a prog")
    print("begun", flush=True)
    time.sleep(60)
"""
    working = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=dict(os.environ))
        for _ in range(2)
    ]
    try:
        for one in working:
            assert one.stdout is not None
            assert one.stdout.readline() == b"begun\n"
        working[0].send_signal(signal.SIGKILL)
        working[0].wait()
        assert cache.open_store().kept().left_over == 1
        assert kept(NAMES[0], b"code")
        # That of the living process stays.
        assert len(os.listdir(folder)) == 2
        assert cache.open_store().kept().left_over == 0
        working[1].terminate()
        working[1].wait()
        assert cache.open_store().clear() == stores.Kept(1, 52, 1)
        assert os.listdir(folder) == []
    finally:
        for one in working:
            one.kill()
            one.communicate()


def test_clear_leaves_what_is_not_ours(folder: Path) -> None:
    assert kept(NAMES[0], b"code")
    for name in ("notes.txt", "library.so", ".hidden"):
        (folder / name).write_text("mine")
    cache.open_store().clear()
    assert sorted(os.listdir(folder)) == [".hidden", "library.so", "notes.txt"]
    assert time.time() > folder.stat().st_mtime
