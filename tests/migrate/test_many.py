"""Folders of many kinds of artefacts are migrated, killed, gone on with, and done by a cluster."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import sweep
from golden_folder import golden_root
from seeded.artefacts import fill

from relay2relax import migrate

REPORTS = ("report.json", "report.md", "report.html", "junit.xml", "report.sarif")
# Two hundred take half an hour for each of three runs, on two cores: all are compared with Relay.
COUNT = 200 if sweep.FULL else 10
KILLS = 10 if sweep.FULL else 3
CHECK = () if sweep.FULL else ("--no-check",)

pytestmark = [pytest.mark.golden, pytest.mark.sweep(every=20)]


@dataclass(frozen=True)
class Whole:
    """Artefacts, what they became in a run that nobody disturbed, and the seconds that it took."""

    artefacts: Path
    out: Path
    seconds: float


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    root = golden_root()
    if root is None:
        pytest.skip("recorded cases are absent")
    folder = tmp_path_factory.mktemp("many")
    with gzip.open(root / "operators.jsonl.gz", "rt", encoding="utf-8") as lines:
        assert fill(folder / "artefacts", root, map(json.loads, lines), COUNT) == COUNT
    seconds = run(folder / "artefacts", folder / "whole")
    return Whole(folder / "artefacts", folder / "whole", seconds)


def line(artefacts: Path, out: Path, *more: str) -> list[str]:
    words = ["migrate", str(artefacts), "--out", str(out), "--jobs", "2", "--fail-on", "refused", *CHECK]
    return [sys.executable, "-m", "relay2relax", *words, *more]


def run(artefacts: Path, out: Path, *more: str) -> float:
    start = time.monotonic()
    done = subprocess.run(line(artefacts, out, *more), capture_output=True, check=False)
    assert done.returncode in (3, 4), done.stderr.decode()[-2000:]
    return time.monotonic() - start


def same(one: Path, other: Path) -> None:
    for name in REPORTS:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


@contextmanager
def started(*words: str, environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment, start_new_session=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def said(process: subprocess.Popen[str], pattern: str) -> str:
    assert process.stderr is not None
    for text in process.stderr:
        found = re.search(pattern, text)
        if found:
            return found[1]
    raise AssertionError("the process ended")


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no such signal")
def test_a_run_that_is_killed_at_any_moment_gives_the_same_reports(whole: Whole, tmp_path: Path) -> None:
    cut = tmp_path / "cut"
    report = migrate.report_from_json((whole.out / "report.json").read_bytes())
    assert len(report.models) == COUNT
    counts = {verdict.value: count for verdict, count in report.counts().items()}
    assert counts.get("crashed", 0) == counts.get("stopped", 0) == 0, counts
    # What is foreign cannot be read, nor most of what is damaged.
    assert all(one.verdict == "unreadable" for one in report.models if one.name.startswith("foreign/"))
    assert sum(one.verdict != "unreadable" for one in report.models if one.name.startswith("damaged/")) == 0
    draw = random.Random(5)
    for _ in range(KILLS):
        process = subprocess.Popen(line(whole.artefacts, cut), stderr=subprocess.DEVNULL, start_new_session=True)
        # All together they are shorter than a whole run.
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(draw.uniform(0.01, 0.8 / KILLS) * whole.seconds)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    run(whole.artefacts, cut)
    same(cut, whole.out)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no such signal")
def test_a_cluster_gives_the_same_reports_though_a_worker_is_killed(whole: Whole, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    spread = tmp_path / "spread"
    environment = {**os.environ, "DASK_DISTRIBUTED__DIAGNOSTICS__NVML": "False"}
    with started("dask_scheduler", "--port", "0", "--no-dashboard", environment=environment) as scheduler:
        address = said(scheduler, r"Scheduler at: +(tcp://\S+)")
        options = (address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(tmp_path))
        with (
            started("dask_worker", *options, environment=environment) as first,
            started("dask_worker", *options, environment=environment) as second,
        ):
            for worker in (first, second):
                said(worker, r"(Registered to)")
            process = subprocess.Popen(
                line(whole.artefacts, spread, "--dask", address), stderr=subprocess.PIPE, text=True
            )
            assert process.stderr is not None
            log = []
            for text in process.stderr:
                log.append(text)
                if text.startswith(f"[{COUNT // 2}/"):
                    os.killpg(first.pid, signal.SIGKILL)
            assert process.wait() in (3, 4), "".join(log[-10:])
    same(spread, whole.out)
