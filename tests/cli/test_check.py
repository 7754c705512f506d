"""What ``convert`` wrote is read anew and compared: by ``convert`` itself, and by ``compare``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden_folder import golden_root
from linear_model import MODULE, WEIGHTS, write_linear

from relay2relax import relax_ir, relay_ir, translator
from relay2relax.cli import outcome
from relay2relax.cli.commands import compare, convert
from relay2relax.cli.converted import check as checking
from relay2relax.core.errors import ExitCode, FileError, LimitError, Relay2RelaxError
from relay2relax.core.limits import Limits

NUMPY = compare.How(("numpy",), 0, (), False, False, None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_linear(tmp_path)
    return tmp_path


def converted(
    folder: Path, check: bool | None = None, schedule: str | None = None, params: bool = True, bind: bool = False
) -> dict[str, Any]:
    given = folder / "linear.params" if params else None
    model, out = folder / "linear.relay", folder / "out"
    form = convert.Form("graph", schedule)
    convert.run(convert.Conversion(model, form, given, out, bind, force=True), check, as_json=False)
    found: dict[str, Any] = json.loads((out / "linear.summary.json").read_text())["check"]
    return found


def compared(path: Path, script: Path | None = None, how: compare.How = NUMPY, **named: Path) -> dict[str, Any]:
    """Return the document of ``compare``, its exit code under ``exit``."""
    files: dict[str, Any] = dict.fromkeys(("model", "params", "inputs", "expected")) | named
    told, code = outcome.Outcome(as_json=True), 0
    with outcome.collected(told):
        try:
            compare.run(path, script, **files, how=how, as_json=True)
        except SystemExit as end:
            code = int(end.code or 0)
    return {**told.found, "exit": code}


def backends(check: dict[str, Any], program: str = "linear.py") -> list[str]:
    return [row["backend"] for row in check["rows"] if row["program"] == program]


@pytest.mark.compiler
@pytest.mark.parametrize("schedule", [None, "cpu"])
@pytest.mark.parametrize("bind", [False, True])
def test_a_check_runs_what_was_written(
    folder: Path, schedule: str | None, bind: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    check = converted(folder, schedule=schedule, bind=bind)
    assert check["agrees"] is True
    # What a model makes apache-tvm do is bounded by nothing, so that is asked for.
    assert backends(check) == ["numpy", "c"]
    assert backends(check, "linear.graph.json") == ["numpy"]
    assert check["drawn"]["values"] == [{"name": "data", "shape": [3, 4], "dtype": "float32", "open": [0]}]
    said = capsys.readouterr().out
    assert "check: linear.py on c: " in said
    if "tvm" in translator.available_backends():
        assert "tvm (apache-tvm checks no access to memory, so it is run only when asked for): --check does it" in said
    assert said.rstrip().endswith("drawn from seed 0: data (?=3, 4)")


@pytest.mark.tvm
@pytest.mark.parametrize("schedule", [None, "cpu"])
def test_a_check_that_is_asked_for_leaves_nothing_out(folder: Path, schedule: str | None) -> None:
    check = converted(folder, check=True, schedule=schedule)
    assert check["agrees"] is True
    assert check["left_out"] == []
    assert "tvm" in backends(check)


def test_no_check(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check = converted(folder, check=False)
    assert check["agrees"] is None
    assert "rows" not in check
    assert "not checked: --no-check asks for none" in capsys.readouterr().out


def test_what_takes_long_is_left_out_and_said(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "_UNASKED", 0.2)
    check = converted(folder)
    assert backends(check) == ["numpy"]
    assert "c (it takes about 1 s)" in capsys.readouterr().out
    monkeypatch.setattr(checking, "_UNASKED", 0.0)
    check = converted(folder)
    assert (check["agrees"], check["rows"]) == (None, [])
    assert capsys.readouterr().out.rstrip().endswith(": --check does it")


def test_a_script_that_differs_is_kept_and_marked(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(module: relax_ir.IRModule) -> str:
        return str(relax_ir.print_module(module)).replace("R.nn.relu(", "R.nn.silu(")

    monkeypatch.setattr(relax_ir, "script_file", wrong)
    with pytest.raises(SystemExit) as end:
        converted(folder)
    assert end.value.code == 1
    summary = json.loads((folder / "out" / "linear.summary.json").read_text())
    assert summary["check"]["agrees"] is False
    assert {path.name for path in (folder / "out").iterdir()} == {*summary["files"], ".relay2relax.json"}
    shown = capsys.readouterr()
    assert "check: linear.py on numpy: output 0 DIFFERS: beyond" in shown.out
    said = "linear.py does not compute what Relay computes; the files are kept"
    assert said in shown.err
    told = outcome.Outcome()
    with outcome.collected(told), pytest.raises(SystemExit):
        converted(folder)
    assert told.document(1)["warnings"] == [said]


def test_a_model_that_does_not_run_is_converted_unchecked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # An open extent is drawn as 3, and has to be 5 here.
    text = """#[version = "0.0.5"]
    def @main(%x: Tensor[(?), float32], %y: Tensor[(5), float32]) { add(%x, %y) }"""
    (folder / "linear.relay").write_text(text)
    check = converted(folder, params=False)
    assert check["agrees"] is None
    assert "not checked: Relay itself cannot be run: " in capsys.readouterr().out
    with pytest.raises(Relay2RelaxError):
        converted(folder, check=True, params=False)


def test_a_check_that_nobody_asked_for_ends(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Data may make a program of little estimated work run for hours."""
    monkeypatch.setattr(checking, "_LONGEST", 1e-6)
    check = converted(folder)
    assert (check["agrees"], check["why_not"]) == (
        None,
        "it takes more than 1e-06 s, which data decide; --check does it",
    )
    assert "not checked: it takes more than 1e-06 s, which data decide; --check does it" in capsys.readouterr().out
    assert converted(folder, check=True)["agrees"] is True


@pytest.mark.parametrize("schedule", [None, "cpu"])
def test_a_folder_is_compared_with_its_model(folder: Path, schedule: str | None) -> None:
    converted(folder, check=False, schedule=schedule)
    report = compared(folder / "out")
    assert report["agrees"] is True
    assert [row["program"] for row in report["rows"]] == ["linear.py", "linear.graph.json"]
    assert [one["name"] for one in report["drawn"]["values"]] == ["data"]
    assert compared(folder / "out" / "linear.py")["agrees"] is True
    (folder / "linear.relay").rename(folder / "elsewhere.relay")
    with pytest.raises(FileError, match=r"linear\.relay' is neither where it was nor beside it"):
        compared(folder / "out")
    assert compared(folder / "out", model=folder / "elsewhere.relay")["agrees"] is True


def test_files_of_a_folder_that_changed(folder: Path) -> None:
    converted(folder, check=False)
    script = folder / "out" / "linear.py"
    script.write_text(script.read_text().replace("R.nn.relu(", "R.nn.silu("))
    report = compared(folder / "out")
    assert report["exit"] == 1
    assert "linear.py was changed since it was written" in report["notes"]
    assert {row["program"]: row["agrees"] for row in report["rows"]} == {"linear.py": False, "linear.graph.json": True}


def test_weights_of_a_folder_that_changed(folder: Path) -> None:
    from safetensors.numpy import load_file, save_file

    converted(folder, check=False)
    stored = load_file(folder / "out" / "linear.safetensors")
    save_file({name: value + 1 for name, value in stored.items()}, folder / "out" / "linear.safetensors")
    report = compared(folder / "out")
    assert report["exit"] == 1
    (folder / "linear.params").unlink()
    report = compared(folder / "out")
    assert report["agrees"] is True
    assert any("the weights beside the script are taken for the model's" in one for one in report["notes"])


def put(path: Path, **changed: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))


@pytest.mark.parametrize(
    "name", ["../other.py", "/etc/passwd", "sub/x.py", "..", "a\\\\b", "", "x\\n.py", "link.graph.json"]
)
def test_a_folder_that_names_files_elsewhere(folder: Path, name: str) -> None:
    converted(folder, check=False)
    out = folder / "out"
    (folder / "other.py").write_bytes((out / "linear.py").read_bytes())
    (out / "link.graph.json").symlink_to("/etc/passwd")
    put(out / "linear.summary.json", files=[name, "linear.graph.json", "linear.safetensors"])
    for path in (out, out / "linear.py"):
        with pytest.raises(FileError, match="which is no file of its folder"):
            compared(path)


@pytest.mark.parametrize("end", ["py", "graph.json", "map.json", "safetensors", "safetensors.sha256", "summary.json"])
def test_every_file_of_a_folder_that_changed_is_said(folder: Path, end: str) -> None:
    converted(folder)
    out = folder / "out"
    assert not [one for one in compared(out)["notes"] if "changed" in one or "vouches" in one or "now" in one]
    path = out / f"linear.{end}"
    content = path.read_bytes()
    # A byte behind a safetensors file damages it; its header may end in blanks.
    longer = (content[0] + 8).to_bytes(1, "little") + content[1:8] + content[8 : 8 + content[0]] + b" " * 8
    path.write_bytes(longer + content[8 + content[0] :] if end == "safetensors" else content + b"\n")
    for named in (out, out / "linear.py"):
        assert f"{path.name} was changed since it was written" in compared(named)["notes"]


def test_a_summary_that_leaves_files_out_is_said(folder: Path) -> None:
    converted(folder, check=False)
    out = folder / "out"
    put(out / "linear.summary.json", files=[])
    (folder / "linear.params").unlink()
    for named in (out, out / "linear.py"):
        assert "linear.summary.json was changed since it was written" in compared(named)["notes"]
    put(out / "linear.summary.json", files=["linear.safetensors"])
    report = compared(out / "linear.py")
    assert any("the weights beside the script are taken for the model's" in one for one in report["notes"])
    (out / "linear.graph.json").unlink()
    assert "linear.graph.json was written, and is no file of the folder now" in compared(out)["notes"]


@pytest.mark.parametrize("text", [None, "{", '{"model": 7}', "[" * 100_000, "\0"])
def test_nothing_vouches_for_a_folder_without_its_list(folder: Path, text: str | None) -> None:
    converted(folder, check=False)
    manifest = folder / "out" / ".relay2relax.json"
    if text is None:
        manifest.unlink()
    else:
        manifest.write_text(text)
    with pytest.raises(FileError, match=r"nothing vouches for the files of .*so no model is taken from there"):
        compared(folder / "out")
    report = compared(folder / "out", model=folder / "linear.relay")
    why = "is missing" if text is None else "is no list of files"
    assert any(one.startswith("nothing vouches for the files of") and one.endswith(why) for one in report["notes"])


def test_files_that_the_list_leaves_out_are_said(folder: Path) -> None:
    converted(folder, check=False)
    manifest = folder / "out" / ".relay2relax.json"
    listed = json.loads(manifest.read_text())["files"]
    del listed["linear.safetensors"]
    put(manifest, files=listed)
    said = "nothing vouches for linear.safetensors: it is not listed in .relay2relax.json"
    assert said in compared(folder / "out")["notes"]


@pytest.mark.parametrize("absolute", [False, True])
def test_a_folder_leads_to_no_other_file(folder: Path, absolute: bool) -> None:
    converted(folder, check=False)
    out = folder / "out"
    secret = folder / "secret"
    secret.write_text("root:x:0:0")
    name = str(secret) if absolute else "../secret"
    put(out / "linear.summary.json", params=name)
    notes = compared(out)["notes"]
    assert f"the params {name!r} are gone, or not as they were converted" in notes
    manifest = out / ".relay2relax.json"
    listed = json.loads(manifest.read_text())["files"]
    put(manifest, files={key: {**value, "model": name} for key, value in listed.items()})
    put(out / "linear.summary.json", model="secret")
    with pytest.raises(FileError, match="is neither where it was nor beside it, as it was converted") as error:
        compared(out)
    assert "x:0:0" not in str(error.value)
    # A model that was changed is compared with where that is asked for.
    (folder / "linear.relay").write_text(MODULE + "\n")
    report = compared(out, model=folder / "linear.relay")
    assert "linear.relay is not the file that was converted" in report["notes"]


def test_weights_of_a_folder_are_verified(folder: Path) -> None:
    from relay2relax.cli import files

    converted(folder, check=False)
    token = files.verifying.set(True)
    try:
        assert compared(folder / "out")["agrees"] is True
        path = folder / "out" / "linear.safetensors"
        path.write_bytes(path.read_bytes()[:-1] + b"\1")
        for named in (folder / "out", folder / "out" / "linear.py"):
            with pytest.raises(Relay2RelaxError, match=r"not the one that linear\.safetensors\.sha256 was made of"):
                compared(named)
        (folder / "mine.py").write_text(SCRIPT)
        with pytest.raises(Relay2RelaxError, match="neither weights nor other values"):
            compared(folder / "linear.relay", folder / "mine.py")
    finally:
        files.verifying.reset(token)


SCRIPT = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), p0: R.Tensor((3, 4), "float32"), p1: R.Tensor((3,), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            t = R.permute_dims(p0)
            y = R.add(R.matmul(x, t), p1)
            gv = R.nn.relu(y)
            R.output(gv)
        return gv
"""


# The places of parameters are those of the script.
REORDERED = MODULE.replace(
    "%w.0: Tensor[(3, 4), float32], %data: Tensor[(?, 4), float32]",
    "%data: Tensor[(?, 4), float32], %w.0: Tensor[(3, 4), float32]",
)


def test_a_script_by_somebody_else(folder: Path) -> None:
    model, script = folder / "linear.relay", folder / "mine.py"
    model.write_text(REORDERED)
    script.write_text(SCRIPT)
    np.savez(folder / "in.npz", data=np.ones((1, 4), np.float32))
    np.savez(folder / "out.npz", np.array([[7, 0, 38]], np.float32))
    for params in ({"p0": WEIGHTS["w.0"], "p1": WEIGHTS["b"]}, {"u": WEIGHTS["w.0"], "v": WEIGHTS["b"]}, WEIGHTS):
        (folder / "p.params").write_bytes(relay_ir.save_params(params))
        report = compared(
            model, script,
            params=folder / "p.params", inputs=folder / "in.npz", expected=folder / "out.npz",
        )  # fmt: skip
        assert report["agrees"] is True
        assert report["drawn"] is None
    np.savez(folder / "p.npz", u=WEIGHTS["b"], v=WEIGHTS["w.0"])
    with pytest.raises(Relay2RelaxError, match=r"the params fit mine\.py neither by name nor by order"):
        compared(model, script, params=folder / "p.npz")


def test_open_extents_are_those_of_the_script(folder: Path) -> None:
    script = folder / "mine.py"
    (folder / "linear.relay").write_text(REORDERED)
    for extent, batch in (("7", 7), ('"n"', 3)):
        script.write_text(SCRIPT.replace('"n"', extent))
        report = compared(folder / "linear.relay", script)
        assert report["agrees"] is True
        shapes = {one["name"]: one["shape"] for one in report["drawn"]["values"]}
        assert shapes == {"data": [batch, 4], "w.0": [3, 4], "b": [3]}
    twice = """#[version = "0.0.5"]
    def @main(%x: Tensor[(?, 4), float32], %y: Tensor[(?, 4), float32]) { add(%x, %y) }"""
    (folder / "linear.relay").write_text(twice)
    script.write_text("""
@R.function
def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n", 4), "float32")):
    return R.add(x, y)
""")
    np.savez(folder / "in.npz", x=np.ones((5, 4), np.float32))
    report = compared(folder / "linear.relay", script, inputs=folder / "in.npz")
    assert report["drawn"]["values"] == [{"name": "y", "shape": [5, 4], "dtype": "float32", "open": [0]}]


def test_a_script_needs_a_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.py").write_text(SCRIPT)
    with pytest.raises(FileError, match="nothing says of what model"):
        compared(folder / "mine.py")
    with pytest.raises(FileError, match="no model was converted into it"):
        compared(folder)
    (folder / "mine.py").write_text("print('this is never run')")
    with pytest.raises(Relay2RelaxError, match="no TVMScript"):
        compared(folder / "linear.relay", folder / "mine.py")
    assert "never run" not in capsys.readouterr().out


def test_a_script_of_another_model(folder: Path) -> None:
    (folder / "mine.py").write_text(SCRIPT)
    (folder / "linear.relay").write_text(REORDERED)
    report = compared(folder / "linear.relay", folder / "mine.py")
    said = "parameters of mine.py that only their places tell: x is data, p0 is w.0, p1 is b"
    assert said in report["notes"]
    other = folder / "other.relay"
    other.write_text('#[version = "0.0.5"] def @main(%x: Tensor[(3, 4), float32]) { nn.relu(%x) }')
    with pytest.raises(Relay2RelaxError, match=r"parameters that Relay has no value for: p0, p1"):
        compared(other, folder / "mine.py")
    # A parameter more than Relay has: places tell nothing.
    (folder / "mine.py").write_text(SCRIPT.replace("p1: R", "p2: R.Tensor((1,), 'int8'), p1: R"))
    with pytest.raises(Relay2RelaxError, match=r"(?s)no counterpart of .*: data, w\.0, b.* without one: x, p0, p2, p1"):
        compared(folder / "linear.relay", folder / "mine.py")


def test_params_inside_a_script_are_asked_for(folder: Path) -> None:
    converted(folder, check=False, bind=True)
    assert compared(folder / "out")["agrees"] is True
    (folder / "linear.params").rename(folder / "moved.params")
    with pytest.raises(Relay2RelaxError, match=r"no counterpart of these parameters of Relay: w\.0, b"):
        compared(folder / "out")
    assert compared(folder / "out", params=folder / "moved.params")["agrees"] is True


@pytest.mark.golden
@pytest.mark.parametrize("name", ["mlp", "dqn"])
def test_scripts_of_tvm(name: str) -> None:
    root = golden_root()
    assert root is not None
    report = compared(root / "models" / name / "model.relay", root / "relax_classic" / f"{name}.relax.txt")
    assert report["agrees"] is True
    assert len(report["rows"]) == 1


IDENTITY = '#[version = "0.0.5"] def @main(%x: Tensor[(?), float32]) { nn.relu(%x) }'
KERNEL = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def k(px: T.handle, py: T.handle):
        n = T.int64()
        x = T.match_buffer(px, (n,), "float32")
        y = T.match_buffer(py, (n,), "float32")
        BODY

    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        cls = Module
        with R.dataflow():
            gv = R.call_tir(cls.k, (x,), R.Tensor((n,), "float32"))
            R.output(gv)
        return gv
"""
# Where it writes is data.
OUTSIDE = 'for i in range(n): y[T.Cast("int64", x[i]) + T.int64(1000000)] = x[i]'
# Extents that only data tell: C makes no such buffer.
OF_DATA = 'b = T.alloc_buffer((T.Cast("int64", x[T.int64(0)]),), "float32")\n        for i in range(n): y[i] = b[i]'
TOO_MUCH = 'b = T.alloc_buffer((T.int64(1000000000000000),), "float32")\n        for i in range(n): y[i] = b[i]'
PACKED = KERNEL.replace("R.call_tir(cls.k, (x,), ", 'R.call_dps_packed("no.such", (x,), ')


def compared_with(folder: Path, text: str, backend: str) -> dict[str, Any]:
    (folder / "identity.relay").write_text(IDENTITY)
    (folder / "mine.py").write_text(text)
    how = compare.How((backend,), 0, (), False, False, None)
    return compared(folder / "identity.relay", folder / "mine.py", how)


@pytest.mark.compiler
@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize(
    ("text", "said"),
    [(KERNEL.replace("BODY", OUTSIDE), "y"), (PACKED.replace("BODY", OUTSIDE), "no.such")],
    ids=["outside", "unregistered"],
)
def test_a_script_that_ends_in_an_error_fails(folder: Path, text: str, said: str, backend: str) -> None:
    report = compared_with(folder, text, backend)
    assert (report["agrees"], report["exit"]) == (False, 4)
    (row,) = report["rows"]
    assert (row["verdict"], row["max_abs"]) == ("fails", None)
    assert said in row["reason"]


def test_the_table_says_that_a_script_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "identity.relay").write_text(IDENTITY)
    (folder / "mine.py").write_text(KERNEL.replace("BODY", OUTSIDE))
    with pytest.raises(SystemExit):
        compare.run(folder / "identity.relay", folder / "mine.py", None, None, None, None, NUMPY, as_json=False)
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("mine.py "))
    assert line.split()[:3] == ["mine.py", "numpy", "fails"]


def test_limits_that_a_script_meets_are_no_difference(folder: Path) -> None:
    with Limits(steps=10), pytest.raises(LimitError, match="10 steps") as reached:
        compared_with(folder, KERNEL.replace("BODY", "for i in range(n): y[i] = x[i]"), "numpy")
    assert reached.value.first_kind.exit is ExitCode.LIMIT
    with pytest.raises(Relay2RelaxError, match="not enough memory") as used_up:
        compared_with(folder, KERNEL.replace("BODY", TOO_MUCH), "numpy")
    assert used_up.value.first_kind.exit is ExitCode.LIMIT


@pytest.mark.compiler
def test_nothing_that_is_compared_is_no_agreement(folder: Path) -> None:
    told = outcome.Outcome(as_json=True)
    (folder / "identity.relay").write_text(IDENTITY)
    (folder / "mine.py").write_text(KERNEL.replace("BODY", OF_DATA))
    how = compare.How(("c",), 0, (), False, False, None)
    with outcome.collected(told), pytest.raises(Relay2RelaxError, match="nothing was compared") as error:
        compare.run(folder / "identity.relay", folder / "mine.py", None, None, None, None, how, as_json=True)
    assert error.value.first_kind.exit is ExitCode.UNSUPPORTED
    assert "C has no memory for 'b'" in str(error.value)
    assert (told.found["agrees"], told.found["rows"]) == (None, [])


QUANTISED = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 4), int8], %w: Tensor[(3, 4), int8]) {
  %0 = qnn.dense(%x, %w, 0, 0, 0.5f, 0.25f, units=3, out_dtype="int32");
  qnn.requantize(%0, 0.125f, 0, 0.25f, 0, axis=1, out_dtype="int8")
}
"""


@pytest.mark.parametrize("bind", [False, True])
@pytest.mark.parametrize("via", ["graph", "tir"])
def test_floats_are_compared_with_relay_in_floats(tmp_path: Path, via: translator.Via, bind: bool) -> None:
    """Every other sum lies halfway between two quanta, where R.quantize and Relay part."""
    (tmp_path / "q.relay").write_text(QUANTISED)
    np.savez(tmp_path / "q.npz", w=np.array([[1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 1, 1]], np.int8))
    out = tmp_path / "out"
    form = convert.Form(via, qnn="qdq")
    asked = convert.Conversion(tmp_path / "q.relay", form, tmp_path / "q.npz", out, bind, force=True)
    convert.run(asked, check=True, as_json=False)
    summary = json.loads((out / "q.summary.json").read_text())
    assert [(row["program"], row["verdict"]) for row in summary["check"]["rows"]] == [("q.py", "equal")]
    assert [one["operator"] for one in summary["quantised"]] == ["qnn.dense", "qnn.requantize"]
    compare.run(out, None, None, None, None, None, NUMPY, as_json=False)
    relax = relax_ir.parse((out / "q.py").read_text())
    assert ("R.quantize" in relax.script()) == (via == "graph")
