"""No command loses a file of its user's."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relay2relax import graph, relay_ir
from relay2relax.cli import main
from relay2relax.core.errors.exit_code import ExitCode
from relay2relax.core.output import OutputFolder

MODULE = """#[version = "0.0.5"]
def @main(%data: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32]) {
  nn.relu(nn.dense(%data, %w, units=3))
}
"""


class User:
    """A folder with a model and its weights, in which commands are run."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self.folder, self._patch, self._capture = folder, monkeypatch, capfd
        monkeypatch.chdir(folder)
        (folder / "linear.relay").write_text(MODULE)
        weights = {"w": np.arange(12, dtype=np.float32).reshape(3, 4)}
        (folder / "linear.params").write_bytes(relay_ir.save_params(weights))
        np.savez(folder / "in.npz", data=np.ones((2, 4), np.float32))

    def call(self, command: str) -> tuple[int, str]:
        """Run a command; return its exit code, and what it says of errors."""
        self._patch.setattr(sys, "argv", ["relay2relax", *command.split()])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        return code, self._capture.readouterr().err

    def files(self) -> dict[str, bytes]:
        found = (path for path in self.folder.rglob("*") if path.is_file())
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in found}


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> User:
    return User(tmp_path, monkeypatch, capfd)


def test_outputs_have_a_folder_of_their_own(user: User) -> None:
    before = user.files()
    assert user.call("convert linear.relay --params linear.params") == (0, "")
    made = {
        "linear.py",
        "linear.graph.json",
        "linear.map.json",
        "linear.safetensors",
        "linear.safetensors.sha256",
        "linear.summary.json",
        ".relay2relax.json",
    }
    assert user.files().keys() == before.keys() | {f"linear_relax/{name}" for name in made}
    assert user.call("convert linear.relay") == (0, "")
    made -= {"linear.safetensors", "linear.safetensors.sha256"}
    after = user.files()
    assert after.keys() == before.keys() | {f"linear_relax/{name}" for name in made}
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize("flags", ["", " --force"])
@pytest.mark.parametrize(
    "command",
    [
        "convert linear.relay --params linear.safetensors --out .",
        "convert linear.py --out .",
        "convert linear.py --out ../{folder}",
        "inspect linear.relay --out linear.relay",
        "inspect linear.relay --out soft",
        "inspect linear.relay --params linear.safetensors --out hard",
        "run linear.relay --inputs in.npz --out in.npz",
        "run linear.relay --params linear.params --out linear.params",
        "run linear.relay --out ./linear.relay",
        "export main.c --out . --bind-params --params linear.params",
    ],
)
def test_what_a_command_reads_it_does_not_write(user: User, command: str, flags: str) -> None:
    from safetensors.numpy import save_file

    save_file({"w": np.ones((3, 4), np.float32)}, user.folder / "linear.safetensors")
    for name in ("linear.py", "main.c"):
        (user.folder / name).write_text(MODULE)
    (user.folder / "soft").symlink_to("linear.relay")
    os.link(user.folder / "linear.safetensors", user.folder / "hard")
    before = user.files()
    code, said = user.call(command.format(folder=user.folder.name) + flags)
    assert (code, user.files()) == (2, before), said
    assert "would be written over: it is read" in said
    assert "error[R2R-0920]" in said


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("export linear.relay --out .", "Makefile main.c"),
        ("export linear.relay --out .", "linear.h"),
        ("convert linear.relay --out .", "linear.py"),
        ("convert linear.relay --out .", "linear.summary.json linear.graph.json"),
        ("convert linear.relay --out .", ".relay2relax.json"),
        ("inspect linear.relay --out notes", "notes"),
        ("inspect linear.relay --format json --out notes", "notes"),
        ("run linear.relay --out notes", "notes"),
    ],
)
def test_what_others_wrote_is_written_over_only_by_force(user: User, command: str, names: str) -> None:
    for name in names.split():
        (user.folder / name).write_text("mine")
    before = user.files()
    code, said = user.call(command)
    assert (code, user.files()) == (2, before), said
    assert said.count("error[R2R-0920]") == 1
    assert all(f"{name}" in said for name in names.split())
    assert "--force" in said
    assert user.call(f"{command} --force")[0] == 0
    assert all(user.files()[name] != b"mine" for name in names.split())
    assert user.call(command)[0] == 0


@pytest.mark.parametrize("form", ["text", "json", "dot", "model-explorer"])
def test_a_graph_is_known_until_it_is_changed(user: User, form: str) -> None:
    command = f"inspect linear.relay --format {form} --out graph"
    for _ in range(2):
        assert user.call(command) == (0, "")
    text = (user.folder / "graph").read_text()
    if form == "json":
        assert graph.to_text(graph.from_json(text)).startswith("main <")
    (user.folder / "graph").write_text(text.replace("dense", "mine"))
    assert user.call(command)[0] == 2


def test_outputs_of_run_are_known_until_they_are_changed(user: User) -> None:
    for seed in range(2):
        drawn = f"note: drawn from seed {seed}: data (2, 4), w (3, 4)\n"
        assert user.call(f"run linear.relay --seed {seed} --out res.npz") == (0, drawn)
    with np.load(user.folder / "res.npz") as stored:
        assert stored["out0"].shape == (2, 3)
        np.savez(user.folder / "res.npz", **stored)
    assert user.call("run linear.relay --out res.npz")[0] == 2


@pytest.mark.parametrize("command", ["inspect linear.relay --out {}", "run linear.relay --out {}"])
def test_devices_stay_devices(user: User, command: str) -> None:
    before = os.stat("/dev/null").st_rdev
    code, said = user.call(command.format("/dev/null"))
    assert (code, said.startswith("error")) == (0, False)
    assert os.stat("/dev/null").st_rdev == before
    code, said = user.call(command.format("/dev/full"))
    assert code == 3
    assert "No space left" in said


def test_two_models_do_not_replace_each_other(user: User) -> None:
    (user.folder / "other.relay").write_text(MODULE.replace("relu", "softmax"))
    assert user.call("export linear.relay --out library")[0] == 0
    before = user.files()
    code, said = user.call("export other.relay --out library")
    assert (code, user.files()) == (2, before)
    assert "library/main.c, library/Makefile would be written over: they were made of linear.relay" in said
    assert said.count("error[") == 1
    for name in ("net.v1.relay", "net.v2.relay"):
        (user.folder / name).write_text(MODULE)
        code, said = user.call(f"convert {name} --out both")
        assert (code, said.startswith("note: the files are called net_v")) == (0, True)
    assert {"net_v1.py", "net_v2.py"} <= {path.name for path in (user.folder / "both").iterdir()}


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("net.relay", "net"),
        ("net.v1.relay", "net_v1"),
        ("net.relay.json", "net"),
        ("net.v1", "net_v1"),
        ("tvm.py", "tvm_model"),
        ("json.relay", "json_model"),
        ("class.relay", "class_model"),
        ("3d-net.relay", "model_3d_net"),
        ("a b.relay", "a_b"),
        (".hid.relay", "hid"),
        ("_own.relay", "_own"),
        ("--.relay", "model"),
        ("né.relay", "né"),
        ("ﬁne.relay", "fine"),
        ("here/model.relay", "here"),
        ("-", "model"),
    ],
)
def test_files_are_called_by_words_that_python_imports(name: str, stem: str) -> None:
    from relay2relax.cli.files import model_stem

    assert model_stem(Path(name)) == stem
    assert stem.isidentifier()


def test_a_file_in_the_place_of_the_folder(user: User) -> None:
    (user.folder / "linear_relax").write_text("mine")
    for flags in ("", " --force"):
        code, said = user.call(f"convert linear.relay{flags}")
        assert code == 2
        assert "linear_relax would be written over: it is a file" in said
    assert (user.folder / "linear_relax").read_text() == "mine"


def test_every_file_of_values_is_verified(user: User) -> None:
    assert user.call("convert linear.relay --params linear.params")[0] == 0
    assert user.call("compare linear_relax --verify -b numpy")[0] == 0
    (user.folder / "weights.safetensors").write_bytes((user.folder / "linear_relax/linear.safetensors").read_bytes())
    assert user.call("run linear.relay --verify --params linear_relax/linear.safetensors --seed 1")[0] == 0
    for options in ("--params weights.safetensors", "--inputs in.npz", "--expected in.npz"):
        command = "compare" if "expected" in options else "run"
        code, said = user.call(f"{command} linear.relay --verify {options}")
        assert (code, "nothing states what the file should contain" in said) == (3, True)


def test_the_list_holds_the_hashes(user: User) -> None:
    import hashlib

    assert user.call("convert linear.relay --params linear.params")[0] == 0
    folder = user.folder / "linear_relax"
    listed = json.loads((folder / ".relay2relax.json").read_text())["files"]
    stated = {name: one["sha256"] for name, one in listed.items()}
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("linear.*")}
    assert stated == found


@pytest.mark.parametrize("gone", ["missing", "folder"])
def test_what_was_written_and_cannot_be_read_again(user: User, monkeypatch: pytest.MonkeyPatch, gone: str) -> None:
    """Somebody takes an output away before it is read back."""
    write = OutputFolder.write

    def written(folder: OutputFolder, *args: Any, **named: Any) -> tuple[Path, ...]:
        paths = write(folder, *args, **named)
        paths[0].unlink()
        if gone == "folder":
            paths[0].mkdir()
        return paths

    monkeypatch.setattr(OutputFolder, "write", written)
    code, said = user.call("convert linear.relay --params linear.params")
    assert code == ExitCode.INPUT
    assert "cannot read linear_relax/linear.py: " in said
    assert "Traceback" not in said
