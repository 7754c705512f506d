"""Programs that are opened by their files: found in the cache, run, refused, made anew."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relay_ir, translator
from relay2relax.backends.ready.program import Kernel, Program
from relay2relax.core import ExecutionError, FileError, Limits

pytestmark = pytest.mark.compiler

RANDOM = np.random.default_rng(5)
DENSE = """#[version = "0.0.5"]
def @main(%x: Tensor[(3, 8), float32], %w: Tensor[(16, 8), float32], %i: Tensor[(2), int64]) {
  %0 = nn.relu(nn.dense(%x, %w, units=16));
  (%0, take(%0, %i, axis=0, mode="clip"))
}
"""
X, W = (RANDOM.standard_normal(shape).astype(np.float32) for shape in ((3, 8), (16, 8)))
ROWS = np.array([2, 0])


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("RELAY2RELAX_CACHE", str(tmp_path / "cache"))
    write(tmp_path, W)
    return tmp_path


def write(folder: Path, weight: np.ndarray, text: str = DENSE) -> None:
    (folder / "model.relay").write_text(text)
    (folder / "model.params").write_bytes(relay_ir.save_params({"w": weight}))


def opened(folder: Path) -> Program:
    return translator.open_program(folder / "model.relay", folder / "model.params")


def check(program: Program, weight: np.ndarray = W, x: np.ndarray = X) -> None:
    """The results are those of numpy."""
    expected = np.maximum(x @ weight.T, 0)
    first, second = program(x, ROWS)
    np.testing.assert_allclose(first, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(second, first[ROWS])


@pytest.fixture
def nothing_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> Any:
        raise AssertionError("the model is read")

    monkeypatch.setattr(relay_ir, "load", refuse)


@pytest.fixture
def first(folder: Path) -> Path:
    check(opened(folder))
    return folder


def test_what_was_opened_before_is_found(first: Path, nothing_read: None) -> None:
    program = opened(first)
    assert program.inputs is not None
    assert [(one.name, one.shape, one.dtype) for one in program.inputs] == [
        ("x", (3, 8), "float32"), ("i", (2,), "int64"),
    ]  # fmt: skip
    for _ in range(3):
        check(program)
    kept = program(i=ROWS, x=X)[0]
    program(X + 1, ROWS)
    np.testing.assert_array_equal(kept, program(X, i=ROWS)[0])


def test_a_new_process_imports_no_importer(first: Path) -> None:
    """What reads, translates and compiles models is not even loaded."""
    code = (
        "import sys, numpy\nfrom relay2relax import translator\n"
        f"program = translator.open_program({str(first / 'model.relay')!r}, {str(first / 'model.params')!r})\n"
        "program(numpy.ones((3, 8), 'float32'), numpy.array([0, 1]))\n"
        "print([one for one in sys.modules if one.startswith(('relay2relax.relay_ir.', 'relay2relax.relax_ir.', "
        "'relay2relax.graph.', 'relay2relax.ops', 'relay2relax.tir', 'relay2relax.backends.vm'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_other_files_are_other_programs(first: Path) -> None:
    weight = -W
    write(first, weight)
    check(opened(first), weight)
    write(first, weight, DENSE.replace("nn.relu", "negative"))
    result = opened(first)(X, ROWS)[0]
    np.testing.assert_allclose(result, -(X @ weight.T), rtol=1e-5, atol=1e-6)


def test_what_does_not_fit_as_it_is_goes_to_the_whole_program(first: Path) -> None:
    program = opened(first)
    check(program, x=np.asfortranarray(X))
    check(program, x=np.ascontiguousarray(np.stack([X, X], -1))[..., 1])
    expected = program(X, ROWS)[0]
    np.testing.assert_array_equal(program(X.astype(np.float64), ROWS.tolist())[0], expected)
    with Limits(steps=10_000_000):
        np.testing.assert_array_equal(program(X, ROWS)[0], expected)


def test_a_call_that_ends_early_is_made_again_by_the_machine(first: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kernel, "__call__", lambda *_: None)
    check(opened(first))


def test_refusals_are_those_of_the_machine(first: Path) -> None:
    program = opened(first)
    module = relay_ir.infer_type(relay_ir.load(first / "model.relay"))
    executable = backends.build(translator.via_graph(module, {"w": W}), target="c")
    machine = backends.VirtualMachine(executable)["main"]
    for args in ((X,), (X, ROWS, ROWS), (X[:2], ROWS), (X, ROWS[None]), (X, None)):
        said = []
        for function in (machine, program):
            with pytest.raises(ExecutionError) as caught:
                function(*args)
            said.append(str(caught.value))
        assert said[0] == said[1]


def test_a_model_that_changed_meanwhile_is_not_taken_for_the_one_that_was_opened(first: Path) -> None:
    program = opened(first)
    write(first, -W)
    check(program)
    with pytest.raises(FileError, match="changed since it was opened"):
        program(X.tolist(), ROWS)


def test_programs_of_open_extents_run_and_are_not_kept(folder: Path) -> None:
    write(folder, W, DENSE.replace("(3, 8)", "(?, 8)"))
    for _ in range(2):
        program = opened(folder)
        assert program.inputs is None
        check(program)
    assert not list((folder / "cache").glob("*.program"))


def test_a_file_that_is_missing_is_named(folder: Path) -> None:
    with pytest.raises(FileError, match=r"nothing\.params"):
        translator.open_program(folder / "model.relay", folder / "nothing.params")


@pytest.mark.parametrize("suffix", ["program", "weights", "so"])
def test_what_is_damaged_is_made_anew(first: Path, suffix: str) -> None:
    for path in sorted((first / "cache").glob(f"*.{suffix}")):
        content = path.read_bytes()
        places = (0, 9, 30, 48, 60, len(content) // 2, len(content) - 1)
        # Code that is damaged is compiled again.
        for place in places if suffix != "so" else places[-2:-1]:
            path.unlink()
            path.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
            path.chmod(0o600)
            check(opened(first))
            assert path.read_bytes() == content
        path.unlink()
        path.write_bytes(content[:-1])
        path.chmod(0o600)
        check(opened(first))
        path.chmod(0o622)
        check(opened(first))
        path.unlink()
        check(opened(first))


def test_weights_of_another_program_do_not_fit(first: Path) -> None:
    (path,) = (first / "cache").glob("*.weights")
    write(first, -W)
    check(opened(first), -W)
    (other,) = (one for one in (first / "cache").glob("*.weights") if one != path)
    other.write_bytes(path.read_bytes())
    check(opened(first), -W)


def test_weights_that_are_removed_while_they_are_read_stay(first: Path) -> None:
    program = opened(first)
    for path in (first / "cache").iterdir():
        path.unlink()
    check(program)
