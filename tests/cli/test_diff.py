"""``relay2relax diff``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from relay2relax import relay_ir, translator
from tests.cli.test_outcome import LINEAR, call


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "a.relay").write_text(LINEAR)
    (tmp_path / "b.relay").write_text(LINEAR.replace("nn.relu", "tanh"))
    (tmp_path / "a.py").write_text(translator.via_graph(relay_ir.parse(LINEAR)).script())
    for name, value in (("one", 1), ("two", 2)):
        np.savez(tmp_path / f"{name}.npz", w=np.full((3, 4), value, np.float32))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("a.relay a.relay", 0, "4 the same"),
        ("a.relay b.relay", 1, "~ tanh relu -> tanh\n    operator: nn.relu -> tanh\n"),
        ("a.py a.py", 0, "the same"),
        ("a.relay a.relay --params one.npz --other-params one.npz", 0, "4 the same"),
        ("a.relay a.relay --params one.npz --other-params two.npz", 1, "values of const: w -> w: 12 of 12, by 1"),
        ("a.relay b.relay --dims data=2,_ -q", 1, ""),
        ("a.relay none.relay", 3, ""),
        ("a.relay", 2, ""),
    ],
)
def test_diff(
    models: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], line: str, code: int, said: str
) -> None:
    ended, printed, _ = call(f"diff {line}", monkeypatch, capfd)
    assert ended == code
    assert said in printed
    assert (printed == "") == (said == "")


def test_the_document_has_the_parts(
    models: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    code, printed, _ = call("diff a.relay b.relay --json", monkeypatch, capfd)
    document = json.loads(printed)
    assert (code, document["exit_code"], document["equal"]) == (1, 1, False)
    (part,) = document["parts"]
    assert part["same"] == [["data", "w", "dense"]]
    assert part["changed"][0]["changes"] == [{"what": "operator", "before": "nn.relu", "after": "tanh"}]


def test_colours_follow_the_stream(
    models: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert "\x1b[" not in call("diff a.relay b.relay", monkeypatch, capfd)[1]
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[33m~ tanh" in call("diff a.relay b.relay", monkeypatch, capfd)[1]
