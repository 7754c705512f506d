"""``--entry`` names the function that a program begins with, in all commands that read models."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from commands import run_here

from relay2relax import relax_ir, relay_ir, translator
from relay2relax.core import UnsupportedError

# `count` calls itself; `main` is there in the second text, and called in the third.
TEXT = """#[version = "0.0.5"]
def @double(%x: Tensor[(2), float32]) -> Tensor[(2), float32] {
  add(%x, %x)
}
def @count(%i: int32, %x: Tensor[(2), float32]) -> Tensor[(2), float32] {
  %0 = less(%i, 3);
  if (%0) {
    %1 = add(%i, 1);
    %2 = @double(%x);
    @count(%1, %2)
  } else {
    %x
  }
}
"""
WITH_MAIN = TEXT + "def @main(%x: Tensor[(3), float32]) {\n  negative(%x)\n}\n"
X = np.array([1, -2], np.float32)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "library.relay").write_text(TEXT)
    (tmp_path / "model.relay").write_text(WITH_MAIN)
    np.savez(tmp_path / "double.npz", x=X)
    np.savez(tmp_path / "count.npz", x=X, i=np.int32(1))
    return tmp_path


def values(name: str, *line: str, folder: Path) -> object:
    """Return what a command gives for the inputs of the function ``name``."""
    done = run_here([*line, "--inputs", f"{name}.npz", "--json"], folder)
    assert done.returncode == 0, done.stderr
    (output,) = json.loads(done.stdout)["outputs"]
    return output["values"]


@pytest.mark.parametrize("model", ["library.relay", "model.relay"])
def test_a_function_is_run(model: str, folder: Path) -> None:
    assert values("double", "run", model, "--entry", "double", folder=folder) == [2, -4]
    assert values("count", "run", model, "--entry", "@count", folder=folder) == [4, -8]
    assert values("count", "run", model, "--entry", "count", "--via", "graph", folder=folder) == [4, -8]


@pytest.mark.parametrize("command", ["run", "compare", "extract", "export", "split --at %0", "view"])
def test_a_command_that_takes_one_function_asks_for_it(command: str, folder: Path) -> None:
    done = run_here([*command.split(), "library.relay"], folder)
    assert done.returncode == 3
    assert "its functions: @double, @count" in done.stderr
    assert "--entry count" in done.stderr


def test_a_name_that_is_not_there_is_told_with_those_that_are(folder: Path) -> None:
    for command in ("run", "inspect", "convert", "plan"):
        done = run_here([command, "model.relay", "--entry", "cuont"], folder)
        assert done.returncode == 3
        assert "@cuont; it has: count, double, main" in done.stderr + done.stdout


def test_a_module_of_one_function_begins_with_it(folder: Path) -> None:
    (folder / "one.relay").write_text(TEXT[: TEXT.index("def @count")])
    assert values("double", "run", "one.relay", folder=folder) == [2, -4]


def test_a_function_that_was_converted_alone_is_found_again(folder: Path) -> None:
    done = run_here(["convert", "model.relay", "--entry", "count", "--out", "out", "--json"], folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["check"]["agrees"] is True
    assert json.loads(done.stdout)["entry"] == "count"
    for more in ((), ("--entry", "count")):
        assert run_here(["compare", "out", "--backend", "numpy", *more], folder).returncode == 0
        assert values("count", "run", "out", *more, folder=folder) == [4, -8]


def test_functions_of_a_converted_library_are_compared_one_by_one(folder: Path) -> None:
    assert run_here(["convert", "library.relay", "--out", "out"], folder).returncode == 0
    for command in ("run", "compare"):
        asked = run_here([command, "out"], folder)
        assert asked.returncode == 3
        assert "--entry " in asked.stderr
    for name, expected in (("double", [2, -4]), ("count", [4, -8])):
        assert run_here(["compare", "out", "--backend", "numpy", "--entry", name], folder).returncode == 0
        assert values(name, "run", "out", "--entry", name, folder=folder) == expected


@pytest.mark.parametrize("form", ["text", "tree", "dot", "json"])
def test_inspect_shows_every_function(form: str, folder: Path) -> None:
    assert run_here(["convert", "library.relay", "--out", "out"], folder).returncode == 0
    for model in ("library.relay", "out"):
        shown = run_here(["inspect", model, "--format", form], folder).stdout
        assert "double" in shown
        assert "count" in shown
        summary = json.loads(run_here(["inspect", model, "--summary", "--json"], folder).stdout)
        assert {"double", "count"} <= set(summary["functions"])
        assert {one["name"] for one in summary["inputs"]} == {"double.x", "count.i", "count.x"}


def test_what_calls_main_cannot_take_its_place() -> None:
    text = TEXT.replace("@double(%x)", "@main(%x)").replace("def @double", "def @main")
    with pytest.raises(UnsupportedError, match="@count calls @main"):
        translator.beginning_at(relay_ir.parse(text), "count")
    relax = translator.translate(relay_ir.parse(TEXT))
    assert set(translator.entry_functions(translator.beginning_at(relax, "count"))) == {"main"}
    assert isinstance(translator.beginning_at(relax, "double")["main"], relax_ir.Function)


def test_a_page_with_relay_and_a_script_is_read_for_its_relay(tmp_path: Path) -> None:
    function = TEXT[TEXT.index("def @double") : TEXT.index("def @count")]
    script = "@tvm.script.ir_module\nclass Module:\n    @R.function\n    def main(x): ...\n"
    (tmp_path / "page.txt").write_text(f"# A page\n\n{function}\n## In Relax\n\n{script}")
    done = run_here(["convert", "page.txt", "--out", "out"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "lines 7 to 12 are not Relay, and are left out" in done.stderr
    assert relax_ir.parse((tmp_path / "out" / "page.py").read_text())
