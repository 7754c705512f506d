"""What ``relay2relax view`` says in text."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from browser.programs import CHAIN
from commands import run_here

from relay2relax import relay_ir, viewer


@pytest.fixture(scope="module")
def subject() -> viewer.Subject:
    """A small program in which NaN begins at a logarithm, and which was run."""
    mod = relay_ir.infer_type(relay_ir.parse(CHAIN))
    x, w = np.full((1, 4), 1, np.float32), np.full((3, 4), -1, np.float32)
    found = viewer.relay_subject(mod, "chain", {"w": w})
    viewer.add_values(found, mod, [x, w])
    return found


def line_of(part: str) -> int:
    """Return the line of the program that has ``part``."""
    return next(number for number, line in enumerate(CHAIN.splitlines(), 1) if part in line)


def test_findings_name_nodes_and_their_lines(subject: viewer.Subject) -> None:
    text = "\n".join(viewer.findings_text(subject))
    assert f"NaN and infinity: 1 node with NaN or infinity; it begins at\n  log log, line {line_of('log(')} of" in text
    assert f"TensorIR, for lack of an operator of Relax\n  searchsorted searchsorted, line {line_of('search')}" in text
    assert "Memory peak: " in text
    titles = [one["title"] for one in viewer.findings_json(subject)]
    assert titles == [line.split(":")[0] for line in text.splitlines() if not line.startswith(" ")]


def test_a_binding_is_found_with_its_line_of_relay(subject: viewer.Subject) -> None:
    script = next(one.text for one in subject.texts if one.key == "relax")
    line, text = next((n, one) for n, one in enumerate(script.splitlines(), 1) if "R.log(" in one)
    name = text.split(":")[0].strip()
    found = list(viewer.found_text(subject, name))
    assert found[0] == f"log log, line {line_of('log(')} of Relay"
    assert f"  Relay {line_of('log(')}: {CHAIN.splitlines()[line_of('log(') - 1].strip()}" in found
    assert f"  Relax {line}: {text.strip()}" in found
    # By the names of the node, its operator, and the variable of Relay.
    for other in ("log", f"%{CHAIN.splitlines()[line_of('log(') - 1].split('%')[1].split(' ')[0]}"):
        assert found[0] in list(viewer.found_text(subject, other))
    assert not list(viewer.found_text(subject, "nothing"))


def test_the_command_says_where_a_name_stands(tmp_path: Path) -> None:
    (tmp_path / "net.relay").write_text(CHAIN)
    done = run_here(["view", "net.relay", "--find", "log"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("log log, line ")
    assert [one.name for one in tmp_path.iterdir()] == ["net.relay"]
    lost = run_here(["view", "net.relay", "--find", "nothing"], cwd=tmp_path)
    assert lost.returncode == 2
    assert "no node, operator, layer or binding is called 'nothing'" in lost.stderr
    found = run_here(["view", "net.relay", "--out", "net.html", "--json"], cwd=tmp_path)
    assert {one["title"] for one in json.loads(found.stdout)["findings"][0]} >= {"Memory peak", "No Relax form"}
