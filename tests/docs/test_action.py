"""The GitHub Action does what it says: its steps are run as a runner runs them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from doc_pages import ROOT

yaml = pytest.importorskip("yaml")
ACTION = ROOT / "docs" / "action" / "action.yml"
TYPO = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) { nn.rleu(%x) }\n'
_INPUT = re.compile(r"\$\{\{ inputs\.([\w-]+) \}\}")


def action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(ACTION.read_text())
    return found


def filled(text: str, given: dict[str, str]) -> str:
    """Return a text of the action with the inputs that it names."""
    inputs = action()["inputs"]
    return _INPUT.sub(lambda found: given.get(found[1], str(inputs[found[1]].get("default", ""))), text)


def run(cwd: Path, given: dict[str, str]) -> list[int]:
    """Run the shell steps of the action but what installs it, as a runner does; return how they
    end.
    """
    codes: list[int] = []
    # The name of the command stands where it is installed.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for step in action()["runs"]["steps"]:
        if "run" not in step or step["name"] == "Install" or (any(codes) and step.get("if") != "always()"):
            continue
        assert "inputs." not in step["run"], "what users give gets into the shell as it is"
        variables = {name: filled(value, given) for name, value in step["env"].items()}
        environment = {"PATH": path, "HOME": str(cwd), "GITHUB_STEP_SUMMARY": str(cwd / "summary.md"), **variables}
        line = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]]
        codes.append(subprocess.run(line, cwd=cwd, env=environment, capture_output=True, check=False).returncode)
    return codes


@pytest.mark.sweep(every=3)
def test_the_steps_migrate_and_report(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "net.relay").write_text(TYPO)
    assert run(tmp_path, {"models": "models"}) == [3, 0]
    assert "net.relay | unreadable" in (tmp_path / "summary.md").read_text()
    # What was bad before is no failure; names with spaces are one name.
    (tmp_path / "migrated" / "report.json").rename(tmp_path / "old report.json")
    given = {
        "models": "models",
        "out": "my out",
        "baseline": "old report.json",
        "fail-on": "worse",
        "options": "--json",
    }
    assert run(tmp_path, given) == [0, 0]
    assert (tmp_path / "my out" / "report.sarif").exists()


def test_workflows_of_pages_give_what_the_action_takes() -> None:
    page = (ROOT / "docs" / "guide" / "many-models.md").read_text()
    (block,) = re.findall(r"<!-- file: \.github/\S+ -->\n```yaml\n(.*?)```", page, re.DOTALL)
    (step,) = (one for one in yaml.safe_load(block)["jobs"]["migrate"]["steps"] if "docs/action" in one["uses"])
    assert step["with"].keys() <= action()["inputs"].keys()
    assert {name for name, one in action()["inputs"].items() if one.get("required")} <= step["with"].keys()


def test_what_the_action_names_is_an_input() -> None:
    named = set(re.findall(r"inputs\.([\w-]+)", ACTION.read_text()))
    assert named == action()["inputs"].keys()
