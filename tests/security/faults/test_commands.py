"""Commands that are killed, or whose system calls fail, wherever they touch a file: what they read
stays as it is, what they write is all old or all new, and the next run does its work.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import faults
import numpy as np
import pytest
import sweep

from relay2relax import relay_ir

pytestmark = pytest.mark.skipif(bool(faults.missing()), reason=faults.missing())

MODULE = """#[version = "0.0.5"]
def @main(%data: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32]) {
  nn.relu(nn.dense(%data, %w, units=3))
}
"""
USERS = ("linear.relay", "linear.params", "in.npz", "notes.txt", "out/notes.txt")
# Of calls that change files one in so many is taken, of others one in ten times as many.
STEP = 4
# Fails behind the moment at which a command puts right what another one left. That is needed where
# files are exchanged one by one, among the user's own.
RECOVER = faults.command("convert no_such_file.relay --out out")
CONVERT = faults.command("convert linear.relay --params linear.params --out out --no-check")
# Checks the files when all of them are written, and writes the summary a second time.
CHECKED = faults.command("convert linear.relay --params linear.params --out out")
EXPORT = faults.command("export linear.relay --params linear.params --bind-params --out out")
RUN = faults.command("run linear.relay --params linear.params --inputs in.npz --out out.npz")


@dataclass(frozen=True)
class Scenario:
    """A command, and what there is where it writes: nothing, outputs of an earlier run, these
    beside a file of the user's, or what a run left there that was killed between two files.
    """

    program: faults.Program
    there: str

    def __str__(self) -> str:
        return f"{'checked_' if self.program is CHECKED else ''}{self.program.arguments[1]}_{self.there}"

    @property
    def is_mixed(self) -> bool:
        """Whether files are exchanged one by one, so that what a kill leaves is put right later."""
        return self.there in ("shared", "killed")

    def prepare(self, server: faults.Server, folder: Path) -> dict[str, str]:
        """Make the user's files, and outputs of another version of the model; return these."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        weights = {"w": np.arange(12, dtype=np.float32).reshape(3, 4)}
        (folder / "linear.params").write_bytes(relay_ir.save_params(weights))
        np.savez(folder / "in.npz", data=np.ones((2, 4), np.float32))
        (folder / "notes.txt").write_text("mine")
        if self.there != "first":
            (folder / "linear.relay").write_text(MODULE.replace("nn.relu", "tanh"))
            assert server.run(self.program, folder).code == 0
            if self.is_mixed:
                (folder / "out" / "notes.txt").write_text("mine")
        before = outputs(folder)
        (folder / "linear.relay").write_text(MODULE)
        if self.there == "killed":
            # Every file is moved aside and another into its place: two of them are new then.
            rename = faults.Operation("rename", 6, "")
            assert server.run(self.program, folder, faults.Fault(rename, faults.KILL)).code == -9
            assert outputs(folder) != before
        return before


SCENARIOS = [
    *(Scenario(program, there) for program in (CONVERT, EXPORT) for there in ("first", "again", "shared")),
    Scenario(CHECKED, "shared"),
    Scenario(CONVERT, "killed"),
    *(Scenario(RUN, there) for there in ("first", "again")),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[faults.Server]:
    scratch = tmp_path_factory.mktemp("server")
    weights = {"w": np.arange(12, dtype=np.float32).reshape(3, 4)}
    (scratch / "linear.params").write_bytes(relay_ir.save_params(weights))
    np.savez(scratch / "in.npz", data=np.ones((2, 4), np.float32))
    (scratch / "linear.relay").write_text(MODULE)
    # A sample takes the first scenario.
    others = () if sweep.LEVEL == "sample" else (CHECKED, EXPORT, RUN)
    with faults.Server(scratch, CONVERT, CONVERT, *others, RECOVER) as found:
        yield found


def users(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in USERS if (folder / name).exists()}


def outputs(folder: Path) -> dict[str, str]:
    """Return the outputs below ``folder``, as a command that is run again writes them."""
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    return {name: _text(path) for name, path in found.items() if name not in USERS and ".relay2relax" not in name}


def leftovers(folder: Path) -> list[Path]:
    """Return what is there besides the user's files, outputs, and their list."""
    return [path for path in folder.rglob("*.relay2relax*") if path.name != ".relay2relax.json"]


def listed_rightly(folder: Path) -> bool:
    """Whether the list of a folder of outputs states what its files contain."""
    path = folder / "out" / ".relay2relax.json"
    if not path.exists():
        return True
    stated = {name: one["sha256"] for name, one in json.loads(path.read_text())["files"].items()}
    return all(hashlib.sha256((path.parent / name).read_bytes()).hexdigest() == sha for name, sha in stated.items())


def _text(path: Path) -> str:
    content = path.read_bytes()
    if path.name.endswith(".summary.json"):
        return json.dumps({**json.loads(content), "seconds": 0, "check": None})
    # The places of files in an archive bear the time at which they were written.
    return content.hex() if path.suffix != ".npz" else repr({k: v.tolist() for k, v in np.load(path).items()})


def chosen(operations: list[faults.Operation]) -> list[faults.Fault]:
    """Return the faults to inject: a kill and an error at calls that change files, an error at a
    part of the others.
    """
    errors = [faults.Fault(one, faults.ERRORS[at % 3]) for at, one in enumerate(operations)]
    if sweep.FULL:
        errors = [faults.Fault(one, how) for one in operations for how in faults.ERRORS]
    whole = [faults.Fault(one, faults.KILL) for one in operations if one.changes]
    whole += [fault for fault in errors if fault.operation.changes]
    others = [fault for fault in errors if not fault.operation.changes]
    return [*sweep.sampled(whole, STEP), *sweep.sampled(others, 10 * STEP)]


@pytest.mark.sweep(every=len(SCENARIOS))
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_a_command_that_is_cut_short_loses_nothing(server: faults.Server, tmp_path: Path, scenario: Scenario) -> None:
    start, folder = tmp_path / "start", tmp_path / "user"
    before = scenario.prepare(server, start)
    shutil.copytree(start, folder)
    mine = users(folder)
    operations = server.operations(scenario.program, folder)
    after = outputs(folder)
    assert before != after
    assert mine == users(folder)
    problems = []
    for fault in chosen(operations):
        shutil.rmtree(folder)
        shutil.copytree(start, folder)
        problems += [f"{fault}\n    {one}" for one in _cut_short(server, scenario, folder, fault, mine, before, after)]
    assert not problems, "\n".join(problems)


def _cut_short(
    server: faults.Server, scenario: Scenario, folder: Path, fault: faults.Fault, mine: dict[str, bytes],
    before: dict[str, str], after: dict[str, str],
) -> Iterator[str]:  # fmt: skip
    """Yield what is wrong after a command with a fault, and after the next run of it."""
    done = server.run(scenario.program, folder, fault)
    if users(folder) != mine:
        yield "a file of the user's is not what it was"
    # An error while something is put right leaves it as it was, like a kill.
    if (fault.how == faults.KILL and scenario.is_mixed) or scenario.there == "killed":
        server.run(RECOVER, folder)
    if fault.how == faults.KILL:
        if done.code != -9:
            yield f"it was not killed: exit code {done.code}"
    elif done.code not in (0, 2, 3, 5) or (done.code > 2) != ("error[R2R-" in done.said):
        yield f"exit code {done.code}: {done.said}"
    found = outputs(folder)
    # When all files are new they are read again, and a check writes its result: errors in that keep
    # them.
    keeps = scenario.program is CHECKED or (scenario.program is CONVERT and not fault.operation.changes)
    failed = [before, after] if keeps else [before]
    if found not in (failed if done.code > 0 else [after] if done.code == 0 else [before, after]):
        yield f"outputs are mixed: {sorted(found)}"
    if not listed_rightly(folder):
        yield "the list states other contents"
    again = server.run(scenario.program, folder)
    if again.code or outputs(folder) != after or not listed_rightly(folder) or leftovers(folder):
        there = sorted(map(str, folder.rglob("*")))
        yield f"the next run ends with {again.code}: {again.said}; there are {there}"
    if users(folder) != mine:
        yield "a file of the user's is not what it was after the next run"
