"""Whatever becomes of a migration, no process of it is left."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

HEAD = '#[version = "0.0.5"]\n'
RELU = HEAD + "def @main(%x: Tensor[(?, 4), float32]) { nn.relu(%x) }\n"

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="processes are listed by ps"),
    pytest.mark.sweep(every=2),
]


def alive(word: str) -> list[str]:
    """Return the processes that have ``word`` on their command lines."""
    listed = subprocess.run(["ps", "-ww", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if word in line and " -eo " not in line]


def until(condition: Callable[[], bool], seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


# What converts one model on a worker of a cluster.
WORKER = """
import sys
from pathlib import Path
from relay2relax.migrate.conversion import Job, convert_one
model, out = map(Path, sys.argv[1:])
convert_one(Job("net", model, None, out, (), 600.0))
"""


@pytest.fixture
def stuck(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """Return a folder with models, and an environment with a compiler that never ends."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "net.relay").write_text(RELU)
    compiler = tmp_path / "cc"
    # It says what it is, as the true one, and where it is to compile, a process of its own hangs.
    compiler.write_text(f'#!/bin/sh\ncase "$*" in *" -c "*) sh -c "sleep 300; : {tmp_path}";; *) exec cc "$@";; esac\n')
    compiler.chmod(0o755)
    return tmp_path / "models", {**os.environ, "CC": str(compiler), "RELAY2RELAX_CACHE": str(tmp_path / "cache")}


@pytest.mark.compiler
@pytest.mark.parametrize(
    ("words", "number"),
    [
        (("-m", "relay2relax", "migrate", "{models}", "--out", "{out}"), signal.SIGKILL),
        (("-m", "relay2relax", "migrate", "{models}", "--out", "{out}"), signal.SIGINT),
        (("-c", WORKER, "{models}/net.relay", "{out}"), signal.SIGKILL),
    ],
    ids=["killed", "interrupted", "killed-worker"],
)
def test_nothing_is_left_of_a_migration_that_is_ended(
    stuck: tuple[Path, dict[str, str]], tmp_path: Path, words: tuple[str, ...], number: signal.Signals
) -> None:
    models, environment = stuck
    places = {"{models}": str(models), "{out}": str(tmp_path / "out")}
    line = [sys.executable, *(re.sub("{models}|{out}", lambda found: places[found[0]], word) for word in words)]
    process = subprocess.Popen(line, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert until(lambda: any("sleep 300" in one for one in alive(str(tmp_path)))), "the compiler was not called"
        process.send_signal(number)
        assert process.wait(30) == {signal.SIGKILL: -9, signal.SIGINT: 130}[number]
        assert until(lambda: not alive(str(tmp_path)), 10), alive(str(tmp_path))
    finally:
        process.kill()
        process.wait()
