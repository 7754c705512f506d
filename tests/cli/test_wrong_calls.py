"""Commands that are called wrongly: no traceback, the right exit code, a message that names the
file and says what to do, one JSON document, nothing half-written, and every input as it was.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from wrong_files import GOOD, MODELS, NEITHER, WEIGHTS

from relay2relax.cli import main

COMMANDS = {
    "convert": "convert {} --no-check",
    "export": "export {}",
    "compare": "compare {} -b numpy",
    "run": "run {}",
    "inspect": "inspect {}",
}
# What messages say of a file that is another one.
SAID = {
    "empty": "is empty",
    "page.html": "HTML",
    "lfs": "git lfs pull",
    "net.onnx": "ONNX model",
    "net.tflite": "TensorFlow Lite",
    "net.h5": "HDF5",
    "net.pt": "PyTorch",
    "net.gguf": "GGUF",
    "net.pkl": "pickle",
    "net.so": "library or program",
    "net.gz": "gzip",
    "net.zip": "zip archive",
    "mlf.tar": "holds no Relay",
    "tvmc.tar": "tvmc",
    "utf16": "UTF-16",
}


@dataclass(frozen=True)
class Call:
    """A command line, its exit code, and words that its message has."""

    line: str
    code: int
    words: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.line


def wrong_models() -> Iterator[Call]:
    """Yield every command with what is no model, or a wrong one."""
    for command, form in COMMANDS.items():
        for name in (*NEITHER, *MODELS, "no-such-file", "folder"):
            # Graphs need no main, and unsupported JSON is wrong in the same way.
            # What has no main is a library, which is converted and shown.
            if name != "no_main.relay" or command not in ("convert", "inspect"):
                yield Call(form.format(name), 3, (name if name not in NEITHER else "", SAID.get(name, "")))
        for name in ("w.params", "in.npz", "array.npy"):
            yield Call(form.format(name), 3, (name, "--params"))
    yield Call("run", 2, ("MODEL",))
    yield Call("compare linear.relay no-such-script.py", 3, ("no-such-script.py",))


def wrong_weights() -> Iterator[Call]:
    """Yield every command with params, inputs or outputs that are none, or wrong ones."""
    for command in ("convert", "export", "compare", "run"):
        form = COMMANDS[command].format("linear.relay")
        for name in (*NEITHER, *WEIGHTS, "linear.relay", "no-such-file", "folder"):
            # What the file says rightly, and the model does not take, is told by names.
            named = () if name in ("other.params", "shape.params", "dtype.npz") else (name,)
            words = ("" if name == "empty" else SAID.get(name, ""),)
            yield Call(f"{form} --params {name}", 3, (*named, *words))
        yield Call(f"{form} --verify --params w.params", 3, ("w.params", "sha256sum"))
    for name in (*NEITHER, "cut.npz", "objects.npz", "other.params", "shape.params", "no-such-file", "folder"):
        for command in ("run", "compare"):
            named = () if name in ("other.params", "shape.params") else (name,)
            yield Call(f"{COMMANDS[command].format('linear.relay')} --inputs {name}", 3, named)
        if name not in ("other.params", "shape.params"):
            yield Call(f"compare linear.relay -b numpy --expected {name}", 3, (name,))


def wrong_options() -> Iterator[Call]:
    """Yield every command with options that it does not take, or with values they do not take."""
    for command, form in COMMANDS.items():
        line = form.format("linear.relay")
        yield Call(f"{line} --no-such-option", 2, ("--no-such-option",))
        yield Call(f"{line} --params", 2, ("--params",))
        yield Call(f"{line} --limit-memory much", 2, ("much", "4GB"))
        yield Call(f"{line} --limit-time never", 2, ("never", "60s"))
        yield Call(f"{line} --limit-steps 0", 2, ("--limit-steps",))
        yield Call(f"{line} --verify", 2, ("--params",))
        yield Call(f"{line} --params=", 2, ("empty",))
        yield Call(f"{line} --limit-extents 2", 6, ("--limit-extents",))
        if command in ("convert", "export", "compare"):
            yield Call(f"{line} --dims data", 2, ("NAME=DIM",))
            yield Call(f"{line} --dims dat=n,_", 2, ("dat", "did you mean `data`?"))
            yield Call(f"{line} --dims data=n", 2, ("data",))
            yield Call(f"{line} --dims data=n,_", 2, ("data",))
        if command in ("convert", "export"):
            yield Call(f"{line} --via nowhere", 2, ("nowhere",))
            yield Call(f"{line} --out -", 2, ("standard output",))
            yield Call(f"{line} --out linear.relay", 2, ("linear.relay",))
            yield Call(f"{line} --out w.params/below", 3, ("w.params",))
        if command in ("run", "inspect"):
            yield Call(f"{line} --out linear.relay --force", 2, ("linear.relay",))
            yield Call(f"{line} --out mine.txt", 2, ("mine.txt", "--force"))
            yield Call(f"{line} --out folder --force", 3, ("folder",))
        if command in ("run", "compare"):
            yield Call(f"{line} --seed -1", 2, ("--seed",))
            yield Call(f"{line} --seed x", 2, ("x",))
            yield Call(f"{line} --backend gpu", 2, ("gpu",))
    yield Call("run linear.relay --profile", 2, ("--backend c",))
    yield Call("run linear.relay --library openblas", 2, ("--via graph",))
    yield Call("run linear.relay --out - --json", 2, ("standard output",))
    for line in (
        "migrate linear.relay",
        "extract linear.relay --node %0",
        "split linear.relay --at %0",
        "reduce linear.relay",
    ):
        yield Call(f"{line} --out -", 2, ("standard output",))
    yield Call("migrate linear.relay --out new --limit-memory much", 2, ("much", "4GB"))
    yield Call("migrate linear.relay --out new --timeout inf", 2, ("--timeout",))
    yield Call("migrate linear.relay --out new --fail-on worse", 2, ("--baseline",))
    yield Call("migrate linear.relay --out new --baseline linear.relay", 3, ("linear.relay is not a JSON document",))
    yield Call("migrate mine.txt --out new", 3, ("'mine'", "mine.txt:1:1", "a path on each line"))
    yield Call("run linear.relay --require-params", 3, ("data",))
    yield Call("compare linear.relay --rtol -1", 2, ("--rtol",))
    yield Call("compare linear.relay --rtol x", 2, ("--rtol",))
    yield Call("inspect linear.relay --format svg", 2, ("svg",))
    yield Call("convert linear.relay --schedule gpu", 2, ("gpu",))
    yield Call("export linear.relay --format rust", 2, ("rust",))
    yield Call("explain R2R-9999", 2, ("R2R-9999",))
    yield Call("explain", 2, ("CODE",))
    yield Call("cache empty", 2, ("empty",))
    yield Call("cache", 2, ("ACTION",))
    yield Call("doctor linear.relay", 2, ("linear.relay",))
    yield Call("translate linear.relay", 2, ("translate",))
    yield Call("--no-such-option", 2, ("--no-such-option",))
    yield Call("compare linear.relay -b numpy --expected out.npz --inputs in.npz --params w.params", 0)
    yield Call("compare linear.relay -b numpy --expected in.npz", 1)
    yield Call("compare linear.relay -b numpy --rtol 0 --atol 0", 0)
    yield Call("compare linear.relay --rtol nan", 2, ("--rtol",))


CALLS = [*wrong_models(), *wrong_weights(), *wrong_options()]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in {**GOOD, **NEITHER, **MODELS, **WEIGHTS, "mine.txt": b"mine"}.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def test_there_are_300() -> None:
    assert len({one.line for one in CALLS}) == len(CALLS) >= 300


@pytest.mark.parametrize("call", CALLS, ids=str)
@pytest.mark.sweep(every=2)
def test_wrong_calls(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], call: Call
) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    command, *rest = call.line.split()
    has_json = command not in ("inspect", "--no-such-option", "translate")
    monkeypatch.setattr(sys, "argv", ["relay2relax", command, *(["--json"] if has_json else []), *rest])
    with pytest.raises(SystemExit) as end:
        main()
    printed, said = capfd.readouterr()
    assert end.value.code == call.code, said
    assert "Traceback" not in said
    assert [word for word in call.words if word not in said] == [], said
    if has_json:
        document = json.loads(printed)
        assert document["exit_code"] == call.code
        assert bool(document["errors"]) == (call.code > 1)
    else:
        assert printed == ""
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert after == before
