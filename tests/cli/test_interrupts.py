"""Long commands are ended by Ctrl-C or a kill: nothing is half written, and what is kept serves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from relay2relax import relay_ir

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no such signals")
HEAD = '#[version = "0.0.5"]\n'
ENDLESS = HEAD + "def @main(%x: float32) -> float32 { @main(%x) }\n"
LOADER = """import pathlib

import numpy as np


def one():
    pathlib.Path("ready").touch()
    yield {"x": np.float32(1)}
"""
# Says that it runs, and fails for what calls erf.
CHECK = """import pathlib
import sys
import time

pathlib.Path("ready").touch()
time.sleep(float(sys.argv[2]))
sys.exit("erf(" in pathlib.Path(sys.argv[1]).read_text())
"""
CALLS = 40


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "endless.relay").write_text(ENDLESS)
    lines = [f"  %{n} = {'erf' if n == 17 else 'sin'}({f'%{n - 1}' if n else '%x'});" for n in range(CALLS)]
    chain = [HEAD + "def @main(%x: Tensor[(3), float32]) {", *lines, f"  cos(%{CALLS - 1})\n}}"]
    (tmp_path / "chain.relay").write_text("\n".join(chain))
    (tmp_path / "mine.py").write_text(LOADER)
    (tmp_path / "check.py").write_text(CHECK)
    return tmp_path


@contextmanager
def running(folder: Path, words: str) -> Iterator[subprocess.Popen[str]]:
    """Start a command, and end it where the test does not."""
    given = words.replace("PYTHON", sys.executable).split(" ")
    line = [sys.executable, "-m", "relay2relax", *(one.replace("_", " ") for one in given)]
    with subprocess.Popen(
        line, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        watch = threading.Timer(120, process.kill)
        watch.start()
        try:
            yield process
        finally:
            watch.cancel()
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def until(process: subprocess.Popen[str], there: Callable[[], bool]) -> None:
    while not there():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


def is_whole(folder: Path) -> bool:
    """Whether a folder holds a model with its values, and nothing that was left on the way."""
    module = relay_ir.infer_type(relay_ir.load(folder / "model.relay"))
    values = relay_ir.load_params(folder / "inputs.npz")
    names = {one.name for one in folder.iterdir() if one.name != ".relay2relax.json"}
    assert names <= {"model.relay", "inputs.npz", "check.py"}, names
    return {param.name: param.type_annotation for param in module["main"].params}.keys() == values.keys()


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize(
    "words",
    [
        "compare endless.relay -b numpy --loader mine.py:one --save golden.npz --report page.html",
        "bisect endless.relay --backend numpy",
    ],
)
def test_ctrl_c_leaves_nothing(folder: Path, words: str) -> None:
    before = {path.name for path in folder.iterdir()}
    with running(folder, words) as process:
        if "mine.py" in words:
            until(process, (folder / "ready").exists)
        else:
            assert process.stderr is not None
            assert "drawn from seed" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert (process.returncode, said.splitlines()[-1]) == (130, "stopped by Ctrl-C")
    assert {path.name for path in folder.iterdir()} - {"ready", "__pycache__"} == before


REDUCE = "reduce chain.relay --out small --resume --check PYTHON_check.py_{model}_"


@pytest.mark.sweep(every=4)
def test_ctrl_c_keeps_the_smallest_part(folder: Path) -> None:
    with running(folder, f"{REDUCE}0.3") as process:
        until(process, (folder / "small" / "model.relay").exists)
        process.send_signal(signal.SIGINT)
        printed, said = process.communicate()
    assert process.returncode == 130
    assert "there may be a smaller part" in said
    assert f" of {CALLS + 1} left" in printed
    assert is_whole(folder / "small")


@pytest.mark.sweep(every=4)
def test_a_search_that_is_killed_goes_on(folder: Path) -> None:
    sizes = [CALLS + 1]
    for _ in range(3):
        written = folder / "small" / "model.relay"
        last = written.read_bytes() if written.exists() else b""
        with running(folder, f"{REDUCE}0.1") as process:
            until(process, lambda: written.exists() and written.read_bytes() != last)  # noqa: B023
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        sizes.append(written.read_text().count("sin(") + written.read_text().count("erf("))
    assert sizes == sorted(set(sizes), reverse=True), sizes
    with running(folder, f"{REDUCE}0") as process:
        printed, said = process.communicate()
    assert process.returncode == 0, said
    assert "1 call of" in printed
    assert is_whole(folder / "small")
