"""What a command ends with: its exit code, what it says, and one JSON document."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

from relay2relax import relay_ir
from relay2relax.cli import main
from relay2relax.core.errors import ExitCode, all_kinds

LINEAR = """#[version = "0.0.5"]
def @main(%data: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32]) {
  nn.relu(nn.dense(%data, %w, units=3))
}
"""
FILES = {
    "linear.relay": LINEAR,
    "typo.relay": LINEAR.replace("relu", "rleu"),
    "ill_typed.relay": LINEAR.replace("units=3", "units=7"),
    "reference.relay": '#[version = "0.0.5"]\ndef @main(%x: ref(Tensor[(2), float32])) { ref_read(%x) }\n',
    "large.relay": '#[version = "0.0.5"]\ndef @main() { zeros(shape=[2000, 2000], dtype="int8") }\n',
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    np.savez(tmp_path / "wrong.npz", out0=np.full((2, 3), -1, np.float32))
    (tmp_path / "other.params").write_bytes(relay_ir.save_params({"other": np.zeros(3, np.float32)}))
    (tmp_path / "more.params").write_bytes(
        relay_ir.save_params({"w": np.zeros((3, 4), np.float32), "other": np.zeros(3, np.float32)})
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RELAY2RELAX_CACHE", str(tmp_path / "cache"))
    return tmp_path


def call(line: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Run a command; return its exit code, and what it prints on both streams."""
    monkeypatch.setattr(sys, "argv", ["relay2relax", *line.split()])
    with pytest.raises(SystemExit) as end:
        main()
    assert isinstance(end.value.code, int)
    return int(end.value.code), *capfd.readouterr()


@pytest.mark.parametrize(
    ("line", "code", "kind"),
    [
        ("run linear.relay", 0, None),
        ("compare linear.relay -b numpy", 0, None),
        ("convert linear.relay", 0, None),
        ("cache info", 0, None),
        ("doctor", 0, None),
        ("compare linear.relay -b numpy --expected wrong.npz", 1, None),
        ("run linear.relay --seed x", 2, "R2R-0910"),
        ("run linear.relay --no-such-option", 2, "R2R-0910"),
        ("run", 2, "R2R-0910"),
        ("no-such-command", 2, "R2R-0910"),
        ("run linear.relay --profile", 2, "R2R-0910"),
        ("convert linear.relay --dims other=n", 2, "R2R-0713"),
        ("run no.relay", 3, "R2R-0900"),
        ("run typo.relay", 3, "R2R-0203"),
        ("run ill_typed.relay", 3, "R2R-0201"),
        ("run linear.relay --params linear.relay", 3, "R2R-0130"),
        ("run linear.relay --params other.params", 3, "R2R-0530"),
        ("convert reference.relay", 4, "R2R-0711"),
        ("run large.relay --limit-extents 1000000", 6, "R2R-0833"),
    ],
)
def test_exit_codes_and_documents(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    line: str,
    code: int,
    kind: str | None,
) -> None:
    found, _, said = call(line, monkeypatch, capfd)
    assert found == code, said
    assert "Traceback" not in said
    if kind is not None and kind != "R2R-0910":
        assert f"error[{kind}]" in said
    found, printed, _ = call(f"{line} --json", monkeypatch, capfd)
    document = json.loads(printed)
    assert (found, document["exit_code"]) == (code, code)
    assert [one["code"] for one in document["errors"]] == ([kind] if kind else [])
    assert printed.isascii()
    assert all(one["title"] for one in document["errors"])
    assert {"warnings", "notes"} <= document.keys()


def test_a_tool_that_is_missing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    assert call("run linear.relay --via graph -b c", monkeypatch, capfd)[0] == 5


def test_places_notes_and_helps(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    _, printed, _ = call("convert typo.relay --json", monkeypatch, capfd)
    (error,) = json.loads(printed)["errors"]
    assert (error["file"], error["line"], error["column"]) == ("typo.relay", 3, 3)
    assert error["helps"] == ["did you mean `nn.relu`?"]


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("run gone.relay", "gone.relay"),
        ("convert cache", "cache"),
        ("inspect gone.py", "gone.py"),
        ("compare gone.py", "gone.py"),
        ("run linear.relay --params gone.params", "gone.params"),
        ("run linear.relay --inputs typo.relay", "typo.relay"),
        ("compare linear.relay --expected gone.npz", "gone.npz"),
        ("run wrong.npz", "wrong.npz"),
        ("convert document.json", "document.json"),
        ("run linear.relay -o linear.relay --force", "linear.relay"),
        ("convert linear.relay -o typo.relay", "typo.relay"),
        ("inspect linear.relay -o wrong.npz", "wrong.npz"),
        ("run ill_typed.relay", "ill_typed.relay"),
    ],
)
def test_errors_name_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], line: str, file: str
) -> None:
    (folder / "cache").mkdir()
    (folder / "document.json").write_text('{"nodes": 1}')
    _, printed, _ = call(f"{line} --json", monkeypatch, capfd)
    assert [one["file"] for one in json.loads(printed)["errors"]] == [file]


@pytest.mark.parametrize("form", ["", "--format dot", "--format json", "--summary"])
def test_inspect_writes_its_file_beside_the_document(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], form: str
) -> None:
    alone = call(f"inspect linear.relay {form} --json", monkeypatch, capfd)[1]
    code, printed, _ = call(f"inspect linear.relay {form} --json --out both", monkeypatch, capfd)
    assert (code, printed) == (0, alone)
    assert call(f"inspect linear.relay {form} --out one", monkeypatch, capfd)[0] == 0
    assert (folder / "both").read_bytes() == (folder / "one").read_bytes()
    assert call(f"inspect linear.relay {form} --json --out -", monkeypatch, capfd)[0] == 2


def test_warnings_are_data(folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    left_over = "no parameter takes these values of the params: other"
    for command in ("convert", "run"):
        code, printed, said = call(f"{command} linear.relay --params more.params --json", monkeypatch, capfd)
        assert code == 0
        assert json.loads(printed)["warnings"] == [left_over]
        assert f"warning: {left_over}\n" in said
    assert json.loads(printed)["notes"] == ["drawn from seed 0: data (2, 4)"]


def test_what_python_warns_of_is_data(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "relay2relax.cli.commands.doctor.findings", lambda: warnings.warn("mind the gap", stacklevel=1) or ()
    )
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        _, printed, said = call("doctor --json", monkeypatch, capfd)
    assert json.loads(printed)["warnings"] == ["mind the gap"]
    assert said == "warning: mind the gap\n"


def test_a_mistake_of_ours_is_no_disagreement(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("relay2relax.cli.files.load_model", lambda *_: 1 // 0)
    code, printed, said = call("run linear.relay --json", monkeypatch, capfd)
    assert code == json.loads(printed)["exit_code"] == 70
    assert "Traceback" in said
    assert "ZeroDivisionError" in json.loads(printed)["errors"][0]["title"]


@pytest.mark.parametrize("json_too", [False, True])
def test_ctrl_c(folder: Path, json_too: bool) -> None:
    (folder / "endless.relay").write_text('#[version = "0.0.5"]\ndef @main(%x: float32) -> float32 { @main(%x) }\n')
    line = [sys.executable, "-m", "relay2relax", "run", "endless.relay", *(["--json"] if json_too else [])]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        watch = threading.Timer(60, process.kill)  # which ends what waits for the process
        watch.start()
        assert process.stderr is not None
        assert process.stderr.readline() == "note: drawn from seed 0: x ()\n"
        os.kill(process.pid, signal.SIGINT)
        printed, said = process.communicate()
        watch.cancel()
    assert (process.returncode, said) == (130, "stopped by Ctrl-C\n")
    assert not json_too or json.loads(printed)["exit_code"] == 130


INTERRUPTED = """
import relay2relax.cli.files as files
from relay2relax.cli import main
files.load_model = lambda *given, **named: exec("raise KeyboardInterrupt")
main()
"""


def test_ctrl_c_in_a_program_that_is_executed_from_its_text(folder: Path) -> None:
    """Python remembers such an interrupt, caught or not, and ``python -m`` ends by the signal;
    dataclasses are made so.
    """
    (folder / "interrupted.py").write_text(INTERRUPTED)
    line = [sys.executable, "-m", "interrupted", "run", "linear.relay"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (130, "stopped by Ctrl-C\n")


def test_help_lists_every_code(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    code, printed, _ = call("--help", monkeypatch, capfd)
    listed = [line.split()[0] for line in printed.partition("Exit codes:")[2].splitlines() if line[2:3].strip()]
    assert code == 0
    assert listed[: len(ExitCode)] == [str(int(one)) for one in ExitCode]
    assert call("convert --help --json", monkeypatch, capfd)[1].startswith("Usage:")


def test_explain_shows_the_exit_code(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    assert "Exit code 6: " in call("explain R2R-0831", monkeypatch, capfd)[1]


def test_no_mistake_ends_well() -> None:
    assert all(kind.exit is not ExitCode.FINE for kind in all_kinds().values())


def test_on_a_terminal_the_graph_is_a_tree(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert call("inspect linear.relay", monkeypatch, capfd)[1].startswith("main <INPUTS")
    monkeypatch.setattr("relay2relax.cli.commands.inspect.shows_trees", lambda: True)
    monkeypatch.setenv("COLUMNS", "30")
    lines = call("inspect linear.relay", monkeypatch, capfd)[1].splitlines()
    assert lines == [
        "main  data: float32[2, 4]  w:…",
        "├─ dense  nn.dense  float32[2…",
        "└─ relu  nn.relu  float32[2, …",
    ]
    call("inspect linear.relay --out graph", monkeypatch, capfd)
    assert (folder / "graph").read_text().startswith("main <INPUTS")
