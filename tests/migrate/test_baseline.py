"""What the command says beside an earlier report, and what it ends with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import run_here

from relay2relax import migrate

HEAD = '#[version = "0.0.5"]\n'
GOOD = HEAD + "def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }\n"
TYPO = HEAD + "def @main(%x: Tensor[(2), float32]) { nn.rleu(%x) }\n"
CHANGED = [
    "better.relay: better, unreadable became unchecked",
    "gone.relay: gone, was unchecked",
    "new.relay: new, unreadable",
    "worse.relay: worse, unchecked became unreadable",
]


def written(folder: Path, **texts: str) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.relay").write_text(text)


@pytest.mark.sweep(every=3)
def test_the_command_says_what_changed(tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    models, old = tmp_path / "models", tmp_path / "old.json"
    words = ("migrate", "models", "--out", "out", "--no-check", "--jobs", "2")
    beside = (*words, "--baseline", "old.json")
    written(models, same=GOOD, worse=GOOD, gone=GOOD, better=TYPO)
    first = run_here(words, tmp_path)
    assert (first.returncode, "worse" in first.stdout) == (3, False)
    old.write_bytes((tmp_path / "out" / "report.json").read_bytes())
    # Nothing has changed: nothing is said, and a model that fared badly before fails no more.
    calm = run_here((*beside, "--fail-on", "worse"), tmp_path)
    assert (calm.returncode, calm.stdout.splitlines()[2:4]) == (0, ["unchecked        3", "unreadable       1"])
    assert "Changed" not in (tmp_path / "out" / "report.md").read_text()

    written(models, worse=TYPO, better=GOOD, new=TYPO)
    (models / "gone.relay").unlink()
    done = run_here((*beside, "--fail-on", "worse"), tmp_path)
    assert done.returncode == 3  # that of worse.relay
    assert [line for line in done.stdout.splitlines() if ".relay: " in line] == CHANGED
    markdown = (tmp_path / "out" / "report.md").read_text().replace("\\", "")
    assert "## Changed\n\n" + "\n".join(f"- {line}" for line in CHANGED) in markdown
    assert all(f"<li>{line}</li>" in (tmp_path / "out" / "report.html").read_text() for line in CHANGED)
    document = json.loads((tmp_path / "out" / "report.json").read_text())
    jsonschema.validate(document, migrate.report_schema(), jsonschema.Draft202012Validator)
    assert document["changed"] == [
        {"name": "better.relay", "what": "better", "before": "unreadable", "after": "unchecked"},
        {"name": "gone.relay", "what": "gone", "before": "unchecked", "after": ""},
        {"name": "new.relay", "what": "new", "before": "", "after": "unreadable"},
        {"name": "worse.relay", "what": "worse", "before": "unchecked", "after": "unreadable"},
    ]
    # Without what became worse only what is new is unreadable: that fails by its verdict alone.
    written(models, worse=GOOD)
    assert run_here((*beside, "--fail-on", "worse"), tmp_path).returncode == 0
    last = run_here((*beside, "--json"), tmp_path)
    assert (last.returncode, [one["what"] for one in json.loads(last.stdout)["changed"]]) == (
        3,
        ["better", "gone", "new"],
    )


ENTRY = '{"version": "1", "options": [], "models": [{"name": "a", "verdict": "splendid"}]}'


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        ("[]", 3, "expected `object`"),
        ('{"nodes": []}', 3, "is unknown"),
        ("[" * 100_000, 3, "nested too deeply"),
        (ENTRY, 3, "'splendid' is not a valid Verdict at $.models[0]"),
        (None, 3, "No such file"),
        ("", 3, "is not a JSON document"),
    ],
)
def test_a_baseline_is_a_report(tmp_path: Path, content: str | None, code: int, said: str) -> None:
    (tmp_path / "models").mkdir()
    if content is not None:
        (tmp_path / "old.json").write_text(content)
    done = run_here(("migrate", "models", "--out", "out", "--baseline", "old.json"), tmp_path)
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert not (tmp_path / "out").exists()


def test_a_baseline_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relay2relax.cli.commands.migrate._LARGEST_BASELINE", 10_000_000)
    (tmp_path / "models").mkdir()
    done = run_here(("migrate", "models", "--out", "out", "--baseline", "/dev/zero"), tmp_path)
    assert (done.returncode, "R2R-08" in done.stderr) == (6, True), done.stderr


def test_what_became_worse_needs_an_earlier_report(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    done = run_here(("migrate", "models", "--out", "out", "--fail-on", "worse"), tmp_path)
    assert (done.returncode, "--baseline" in done.stderr) == (2, True)


def test_a_folder_without_models_is_said(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    done = run_here(("migrate", "models", "--out", "out"), tmp_path)
    assert (done.returncode, "no models are found in models" in done.stderr) == (0, True)
