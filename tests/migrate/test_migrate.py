"""Folders of models are migrated, in runs that may be cut short, with one report."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as xml

import numpy as np
import pytest

from relay2relax import migrate, relay_ir
from relay2relax.backends.processes import Running
from relay2relax.core.errors import ExitCode
from relay2relax.migrate import Entry, Options, Report, Step
from relay2relax.migrate.conversion import Job, convert_one, entry_of

HEAD = '#[version = "0.0.5"]\n'
GOOD = HEAD + "def @main(%x: Tensor[(?, 4), float32], %w: Tensor[(3, 4), float32]) { nn.dense(%x, %w, units=3) }\n"
TYPO = HEAD + "def @main(%x: Tensor[(2), float32]) { nn.rleu(%x) }\n"
REFERENCE = HEAD + "def @main(%x: ref(Tensor[(2), float32])) { ref_read(%x) }\n"
EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RELAY2RELAX_CACHE", str(tmp_path / "cache"))
    root = tmp_path / "models"
    (root / "inner").mkdir(parents=True)
    (root / "good.relay").write_text(GOOD)
    (root / "good.params").write_bytes(relay_ir.save_params({"w": np.ones((3, 4), np.float32)}))
    (root / "inner" / "typo.relay").write_text(TYPO)
    (root / "reference.relay").write_text(REFERENCE)
    return root


def run(models: Path, out: Path, *options: str) -> tuple[Report, list[Step]]:
    steps: list[Step] = []
    return migrate.migrate([models], out, Options(options, 60), told=steps.append), steps


def verdicts(report: Report) -> dict[str, str]:
    return {one.name: one.verdict for one in report.models}


@pytest.mark.compiler
def test_every_model_has_its_folder_and_its_entry(models: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    report, steps = run(models, out)
    assert verdicts(report) == {
        "good.relay": "fine", "inner/typo.relay": "unreadable", "reference.relay": "refused",
    }  # fmt: skip
    good = report.models[0]
    assert (good.params, good.calls, good.compared) == ("good.params", 1, ("c", "numpy"))
    assert {"good.py", "good.safetensors"} <= {path.name for path in (out / "models" / "good.relay").iterdir()}
    assert not any(step.again for step in steps)
    # What is done is not done again; what has changed is.
    (models / "inner" / "typo.relay").write_text(TYPO.replace("rleu", "relu"))
    again, steps = run(models, out)
    assert {step.entry.name for step in steps if not step.again} == {"inner/typo.relay"}
    (change,) = migrate.compared(report, again).changed
    assert str(change) == "inner/typo.relay: better, unreadable became fine"
    # A file that is gone is made anew.
    (out / "models" / "good.relay" / "good.py").unlink()
    _, steps = run(models, out)
    assert {step.entry.name for step in steps if not step.again} == {"good.relay"}


def test_what_cannot_be_read_is_an_entry(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "gone.relay").symlink_to(tmp_path / "nowhere")
    report, _ = run(tmp_path / "models", tmp_path / "out", "--no-check")
    (one,) = report.models
    assert one.verdict == "unreadable"
    assert "gone.relay" in one.why[0]


@pytest.mark.sweep(every=2)
def test_a_disk_that_is_full_is_no_fault_of_the_model(models: Path, tmp_path: Path) -> None:
    # A file stands where the folder of the model belongs, as good as a disk without room.
    (tmp_path / "out" / "models").mkdir(parents=True)
    (tmp_path / "out" / "models" / "good.relay").write_text("mine")
    report, _ = run(models, tmp_path / "out", "--no-check")
    assert verdicts(report)["good.relay"] == "stopped"
    assert (tmp_path / "out" / "models" / "good.relay").read_text() == "mine"
    (tmp_path / "out" / "models" / "good.relay").unlink()
    again, steps = run(models, tmp_path / "out", "--no-check")
    assert verdicts(again)["good.relay"] == "unchecked"
    assert [step.entry.name for step in steps if not step.again] == ["good.relay"]


@pytest.mark.compiler
@pytest.mark.sweep(every=4)
def test_each_model_gets_a_page_and_a_library_where_that_is_asked_for(models: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    report = migrate.migrate([models], out, Options(("--no-check",), 60, pages=True, libraries=True))
    good = next(one for one in report.models if one.name == "good.relay")
    assert (good.page, good.warnings) == ("view.html", ())
    assert {"view.html", "library/Makefile"} <= set(good.files)
    assert all((out / good.folder / name).is_file() for name in good.files)
    subprocess.run(["make", "-s", "-C", str(out / good.folder / "library")], check=True, timeout=120)


def test_a_process_that_does_not_start_is_an_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    assert convert_one(job(tmp_path)).verdict == "crashed"


def command(models: Path, out: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "relay2relax", "migrate", str(models), "--out", str(out), "--no-check", *more]


def killed(command: list[str], models: int) -> bool:
    """Kill a migration when it has done so many models more; return whether it had not ended."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stderr is not None
    for line in process.stderr:
        models -= ", as before" not in line
        if not models:
            os.killpg(process.pid, signal.SIGKILL)
            break
    process.communicate()
    assert process.returncode in (-signal.SIGKILL, 4)
    return process.returncode != 4


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no such signal")
@pytest.mark.sweep(every=2)
def test_a_run_that_was_killed_goes_on(models: Path, tmp_path: Path) -> None:
    for number in range(3):
        (models / f"more{number}.relay").write_text(GOOD.replace("3", str(number + 4)))
    whole = tmp_path / "whole"
    assert subprocess.run(command(models, whole), capture_output=True, check=False).returncode == 4
    kills = 0
    # One run is killed again and again until it ends: after each model, after each two, and so on.
    for done in (1, 2, 3, 4):
        cut = tmp_path / f"cut{done}"
        while killed(command(models, cut), done):
            kills += 1
        for name in ("report.json", "report.md", "report.html", "junit.xml", "report.sarif"):
            assert (cut / name).read_bytes() == (whole / name).read_bytes(), (name, done)
    assert kills >= 10


def test_ctrl_c_keeps_what_is_done(models: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = subprocess.Popen(command(models, out), stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stderr is not None
    process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on" in said
    assert not (out / "report.json").exists()


def job(tmp_path: Path, seconds: float = 30.0) -> Job:
    return Job("net", tmp_path / "net.relay", None, tmp_path / "out", (), seconds)


def test_a_process_that_dies_is_an_entry(tmp_path: Path) -> None:
    found = entry_of(job(tmp_path), -signal.SIGSEGV, b"", b"")
    assert (found.verdict, found.why) == ("crashed", ("the process was ended by SIGSEGV",))
    found = entry_of(job(tmp_path), 1, b"", b"Fatal Python error: none\n")
    assert (found.verdict, found.why) == ("crashed", ("Fatal Python error: none",))


@pytest.mark.sweep(every=2)
def test_a_limit_of_time_is_an_entry(tmp_path: Path) -> None:
    # A loop that ends after 2**62 turns.
    (tmp_path / "net.relay").write_text(
        HEAD
        + """def @loop(%i: int64) -> int64 {
  if (less(%i, 4611686018427387904i64)) { @loop(add(%i, 1i64)) } else { %i }
}
def @main(%x: int64) -> int64 { @loop(multiply(%x, 0i64)) }
"""
    )
    given = Job("net", tmp_path / "net.relay", None, tmp_path / "out", ("--check", "--limit-time=2s"), 2.0)
    assert convert_one(given).verdict == "stopped"


@pytest.mark.sweep(every=4)
def test_a_limit_of_memory_is_an_entry(tmp_path: Path) -> None:
    wide = "def @main(%x: Tensor[(40000, 4), float32]) { nn.dense(%x, %x, units=40000) }\n"
    (tmp_path / "net.relay").write_text(HEAD + wide)
    given = Job("net", tmp_path / "net.relay", None, tmp_path / "out", ("--check", "--limit-memory=1GB"), 60.0)
    found = convert_one(given)
    assert found.verdict == "stopped"
    assert "1 GB" in found.why[0]


def test_what_is_ended_starts_nothing_more(tmp_path: Path) -> None:
    running = Running()
    running.end()
    assert convert_one(job(tmp_path), running).verdict == "crashed"


REPORT = Report(
    "1.0",
    ("--via=graph",),
    (
        Entry("a.relay", "fine", calls=3, compared=("c", "numpy"), off=1e-7),
        Entry(EVIL, "difference", (f"{EVIL}\x1b[31m\x00 | *x*",)),
        Entry("c.relay", "unchecked", ("not compared: it takes about 3 h",)),
        Entry("d.relay", "refused", ("functions as data",)),
    ),
)


def test_the_report_reads_back() -> None:
    text = migrate.report_to_json(REPORT)
    assert migrate.report_from_json(text) == REPORT


def test_junit_counts_what_failed() -> None:
    suite = xml.fromstring(migrate.report_to_junit(REPORT)).find("testsuite")
    assert suite is not None
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4", "failures": "1", "errors": "1", "skipped": "1",
    }  # fmt: skip
    assert [case.get("name") for case in suite] == ["a.relay", EVIL, "c.relay", "d.relay"]


def test_sarif_has_a_result_for_all_that_is_not_fine() -> None:
    (found,) = json.loads(migrate.report_to_sarif(REPORT))["runs"]
    assert [one["level"] for one in found["results"]] == ["error", "warning", "error"]
    assert {one["ruleId"] for one in found["results"]} <= {one["id"] for one in found["tool"]["driver"]["rules"]}


def test_words_of_models_are_text_on_every_page() -> None:
    page = migrate.report_to_html(REPORT).decode()
    assert "<img" not in page
    assert "\x1b" not in page
    changed = migrate.compared(REPORT, Report("1.0", (), ()))
    for table in map(migrate.report_as_markdown, (REPORT, changed)):
        assert "\\<img src=x onerror=alert(1)\\>" in table
        assert EVIL not in table
    assert "<img" not in migrate.report_to_html(changed).decode()


@pytest.mark.skipif(sys.platform == "darwin", reason="names of files are UTF-8")
@pytest.mark.sweep(every=2)
def test_names_that_are_no_text_get_into_every_report(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / os.fsdecode(b"\xff\n.relay")).write_text(TYPO)
    done = subprocess.run(command(tmp_path / "models", tmp_path / "out"), capture_output=True, check=False)
    assert done.returncode == ExitCode.INPUT, done.stderr
    (result,) = json.loads((tmp_path / "out" / "report.sarif").read_text())["runs"][0]["results"]
    assert "udcff" in result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    for name in ("report.json", "report.md", "report.html", "junit.xml"):
        assert "\\udcff" in (tmp_path / "out" / name).read_text().replace("\\\\", "\\")


def test_changes_are_said_in_words() -> None:
    new = Report("1.0", (), (Entry("a.relay", "lossy"), Entry("c.relay", "unchecked"), Entry("e.relay", "fine")))
    assert [str(one) for one in migrate.compared(REPORT, new).changed] == [
        f"{EVIL}: gone, was difference",
        "a.relay: worse, fine became lossy",
        "d.relay: gone, was refused",
        "e.relay: new, fine",
    ]
