"""The command as a user calls it: results, exit codes, what the screen says, and nothing
half-written.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run_here

from relay2relax import relay_ir, translator
from relay2relax.core.npz import npz_bytes

MODULE = """#[version = "0.0.5"]
def @main(%data: Tensor[(?, 4), float32], %w.0: Tensor[(3, 4), float32], %b: Tensor[(3), float32]) {
  %0 = nn.dense(%data, %w.0, units=3);
  %1 = nn.bias_add(%0, %b, axis=-1);
  nn.relu(%1)
}
"""


def command(*arguments: str | Path, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return run_here(arguments, cwd, env)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "linear.relay"
    path.write_text(MODULE)
    return path


@pytest.fixture
def params(tmp_path: Path) -> Path:
    path = tmp_path / "linear.params"
    weight, bias = np.arange(12, dtype=np.float32).reshape(3, 4), np.array([1, -100, 0], np.float32)
    path.write_bytes(relay_ir.save_params({"w.0": weight, "b": bias}))
    return path


@pytest.mark.parametrize("via", ["tir", "graph"])
def test_convert_writes_everything(model: Path, params: Path, tmp_path: Path, via: str) -> None:
    out = tmp_path / "out"
    done = command("convert", model, "--params", params, "--out", out, "--via", via, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    written = sorted(p.name for p in out.iterdir())
    assert written == [
        ".relay2relax.json",
        "linear.graph.json",
        "linear.map.json",
        "linear.py",
        "linear.safetensors",
        "linear.safetensors.sha256",
        "linear.summary.json",
    ]
    summary = json.loads((out / "linear.summary.json").read_text())
    assert summary["result"] == 'R.Tensor(("d", 3), dtype="float32")'
    assert summary["relay_calls"] == 3
    from safetensors.numpy import load_file

    stored = load_file(out / "linear.safetensors")
    script_names = {p["name"]: p["script_name"] for p in summary["parameters"]}
    np.testing.assert_array_equal(stored[script_names["w.0"]], np.arange(12, dtype=np.float32).reshape(3, 4))
    compile((out / "linear.py").read_text(), "linear.py", "exec")


def test_convert_with_a_schedule(model: Path, tmp_path: Path) -> None:
    done = command("convert", model, "-o", tmp_path / "o", "--schedule", "cpu", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["schedule"] == "cpu"
    assert "T.decl_buffer(" in (tmp_path / "o" / "linear.py").read_text()


def test_convert_for_a_gpu(model: Path, tmp_path: Path) -> None:
    done = command("convert", model, "-o", tmp_path / "o", "--schedule", "cuda", "--arch", "sm_90", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "check: linear.py on numpy: " in done.stdout
    said = done.stdout.replace("\n", " ")
    assert "not checked on c (its kernels are for a GPU)" in said
    # Nor would it be if one asked.
    assert "--check does it" not in said
    assert "T.thread_binding(" in (tmp_path / "o" / "linear.py").read_text()
    wrong = command("convert", model, "-o", tmp_path / "p", "--schedule", "cuda", "--arch", "sm_10", cwd=tmp_path)
    assert "the architecture 'sm_10'" in wrong.stderr
    assert "only --schedule cuda" in command("convert", model, "--arch", "sm_90", cwd=tmp_path).stderr


@pytest.mark.tvm
def test_a_device_that_is_not_there_is_said(model: Path, tmp_path: Path) -> None:
    wrong = command("run", model, "--device", "cuda", cwd=tmp_path)
    assert "other devices are apache-tvm's: add --backend tvm" in wrong.stderr.replace("\n", " ")
    done = command("run", model, "-b", "tvm", "--device", "cuda", cwd=tmp_path)
    assert done.returncode == 0 or "apache-tvm finds no device 'cuda' here" in done.stderr


def test_bound_params_leave_the_signature(model: Path, params: Path, tmp_path: Path) -> None:
    done = command("convert", model, "--params", params, "-o", tmp_path / "o", "--bind-params", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert [p["name"] for p in summary["parameters"]] == ["data"]
    assert not (tmp_path / "o" / "linear.safetensors").exists()


def test_many_params_in_the_script_are_spoken_of(
    model: Path, params: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from relay2relax.cli.commands import convert

    monkeypatch.setattr(convert, "_MANY_BYTES", 59)
    asked = convert.Conversion(model, convert.Form("graph"), params, tmp_path)
    convert.run(replace(asked, bind_params=True), check=None, as_json=False)
    assert "without it they are in linear.safetensors" in capsys.readouterr().err
    convert.run(asked, check=None, as_json=False)
    assert capsys.readouterr().err == ""


@pytest.mark.compiler
@pytest.mark.parametrize("bound", [False, True])
def test_export_writes_a_library(model: Path, params: Path, tmp_path: Path, bound: bool) -> None:
    out = tmp_path / "out"
    flags = ["--bind-params"] if bound else []
    done = command("export", model, "--format", "c", "--params", params, "-o", out, *flags, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    expected = {"linear.h", "linear.c", "linear_kernels0.c", "main.c", "Makefile"}
    expected |= {"linear_weights.bin"} if bound else set()
    assert {f"wrote {out / name}" for name in expected} == set(done.stdout.splitlines())
    assert {path.name for path in out.iterdir()} == expected | {".relay2relax.json"}
    refused = command("export", model, "-o", tmp_path / "no", "--march", "pdp11", cwd=tmp_path)
    assert refused.returncode == 2
    assert not (tmp_path / "no").exists()


def test_compare_agrees_and_says_so(model: Path, params: Path, tmp_path: Path) -> None:
    done = command("compare", model, "--params", params, "--backend", "numpy", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    verdicts = [line.split()[:2] + line.split()[6:7] for line in done.stdout.splitlines()[2:4]]
    assert verdicts == [["lower_to_tir", "numpy", "equal"], ["via_graph", "numpy", "equal"]]


def test_run_gives_the_numbers(model: Path, params: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", data=np.ones((1, 4), np.float32))
    arguments: list[str | Path] = [
        "run",
        model,
        "--params",
        params,
        "--inputs",
        tmp_path / "in.npz",
        "--out",
        tmp_path / "res.npz",
    ]
    for via in ("relay", "tir", "graph"):
        done = command(*arguments, "--via", via, "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        # Rows of the weight sum to 6, 22 and 38; the bias adds 1, -100 and 0.
        found = json.loads(done.stdout)
        assert found["outputs"] == [{"shape": [1, 3], "dtype": "float32", "values": [7.0, 0.0, 38.0]}]
        assert (found["via"], found["backend"], found["drawn"]) == (via, "numpy", None)
        with np.load(tmp_path / "res.npz") as stored:
            np.testing.assert_array_equal(stored["out0"], [[7, 0, 38]])


def test_a_library_computes_the_products(model: Path, params: Path, tmp_path: Path) -> None:
    pytest.importorskip("scipy_openblas32")
    np.savez(tmp_path / "in.npz", data=np.ones((1, 4), np.float32))
    given = ("run", model, "--params", params, "--inputs", tmp_path / "in.npz", "--library", "openblas", "--json")
    done = command(*given, "--via", "graph", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["outputs"][0]["values"] == [7.0, 0.0, 38.0]
    refused = command(*given, cwd=tmp_path)
    assert refused.returncode == 2
    assert "--via graph" in refused.stderr


@pytest.mark.parametrize(("form", "sign"), [("text", "main <INPUTS: "), ("json", '"nodes"'), ("dot", "digraph")])
def test_inspect(model: Path, tmp_path: Path, form: str, sign: str) -> None:
    done = command("inspect", model, "--format", form, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sign in done.stdout


def test_inspect_reads_what_convert_wrote(model: Path, tmp_path: Path) -> None:
    assert command("convert", model, "--out", tmp_path, cwd=tmp_path).returncode == 0
    done = command("inspect", tmp_path / "linear.py", "--format", "dot", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "relax.matmul" in done.stdout
    assert '[label="float32[d, 3]"]' in done.stdout


def test_doctor_lists_what_is_installed(tmp_path: Path) -> None:
    done = command("doctor", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = {one["name"]: one for one in json.loads(done.stdout)["findings"]}
    assert found["numpy"]["found"] == np.__version__
    assert {"C compiler", "apache-tvm", "onnx", "torch"} <= set(found)


def test_doctor_says_how_to_mend_what_impairs_the_main_job(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    impaired = {"CC": "no-such-compiler", "RELAY2RELAX_CACHE": str(tmp_path / "file")}
    done = command("doctor", "--json", cwd=tmp_path, env=impaired)
    assert done.returncode == 1
    bad = {one["name"]: one["mend"] for one in json.loads(done.stdout)["findings"] if one["needed"] and not one["ok"]}
    assert list(bad) == ["C compiler", "cache folder"]
    assert "install gcc or clang" in bad["C compiler"]
    assert "RELAY2RELAX_CACHE" in bad["cache folder"]
    assert "to mend:\n  C compiler: install gcc" in command("doctor", cwd=tmp_path, env=impaired).stdout


def test_numpy_goes_on_without_a_compiler(model: Path, params: Path, tmp_path: Path) -> None:
    alone = {"CC": "no-such-compiler"}
    done = command("compare", model, "--params", params, "--json", cwd=tmp_path, env=alone)
    assert done.returncode == 0, done.stderr
    assert {row["backend"] for row in json.loads(done.stdout)["rows"]} == {"numpy"}
    assert "there is no C compiler that works: compared on numpy alone" in done.stderr
    done = command("convert", model, "--params", params, "--schedule", "cpu", cwd=tmp_path, env=alone)
    assert done.returncode == 0, done.stderr
    assert command("compare", model, "-b", "c", cwd=tmp_path, env=alone).returncode == 5


@pytest.mark.compiler
def test_an_instruction_set_that_is_none(model: Path, tmp_path: Path) -> None:
    done = command("export", model, "--march", "x86-64v3", cwd=tmp_path)
    assert done.returncode == 2
    assert "the C compiler has no instruction set 'x86-64v3'" in done.stderr
    assert "did you mean `x86-64-v3`? native is this machine" in done.stderr
    listed = command("export", model, "--march", "x86-64-v2,native", cwd=tmp_path)
    assert listed.returncode == 2
    assert "found 'native'" in listed.stderr


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--target", "vax", "--cpu", "z80"), "'vax'"),
        (("--target", "cuda"), "--target cuda is for --format tvm"),
        (("--format", "tvm", "--target", "aarch64"), "--target is one of llvm, cuda; found 'aarch64'"),
        (("--format", "onnx", "--target", "aarch64"), "an ONNX model is for no --target"),
        (("--cpu", "znver3", "--march", "x86-64-v3"), "in the place of --march"),
        (("--arch", "sm_90"), "--arch is for --target cuda"),
    ],
)
def test_targets_that_do_not_fit(model: Path, tmp_path: Path, flags: tuple[str, ...], said: str) -> None:
    done = command("export", model, *flags, cwd=tmp_path)
    assert done.returncode != 0
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_demo_ends_with_agreement(tmp_path: Path) -> None:
    done = command("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip().endswith("All programs agree.")
    assert "def @main(%data: Tensor[(?, 1, 28, 28), float32]" in done.stdout
    assert "main <INPUTS: data:0" in done.stdout
    assert 'R.Tensor(("d", 10), dtype="float32")' in done.stdout


def broken(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "broken.relay"
    path.write_text(text)
    return path


BAD_MODULES = {
    "truncated": (MODULE[: MODULE.index("nn.relu")], "error[R2R-0101]: "),
    "version": (MODULE.replace("0.0.5", "9.9.9"), "0.0.5"),
    "operator": (MODULE.replace("nn.relu", "nn.rleu"), "nn.rleu"),
    "ill_typed": (MODULE.replace("units=3", "units=7"), "nn.dense"),
    "not_relay": ("PK\x03\x04 this is no model", "error[R2R-0101]: "),
}


@pytest.mark.parametrize("name", BAD_MODULES)
def test_bad_module_ends_in_an_error_and_no_file(tmp_path: Path, name: str) -> None:
    text, sign = BAD_MODULES[name]
    out = tmp_path / "out"
    done = command("convert", broken(tmp_path, text), "--out", out, cwd=tmp_path)
    assert done.returncode == 3
    assert sign in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert not out.exists()


def test_place_and_carets_are_shown(tmp_path: Path) -> None:
    done = command("convert", broken(tmp_path, BAD_MODULES["operator"][0]), cwd=tmp_path)
    assert "broken.relay:5:3" in done.stderr
    assert "^^^^^^^" in done.stderr


def test_params_that_do_not_fit(model: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.params"
    wrong.write_bytes(relay_ir.save_params({"b": np.zeros(4, np.float32)}))
    out = tmp_path / "out"
    done = command("convert", model, "--params", wrong, "--out", out, cwd=tmp_path)
    assert done.returncode == 3
    assert "%b: expected (3) of float32, given (4) of float32" in done.stderr
    assert "Traceback" not in done.stderr
    assert not out.exists()


def test_unreadable_file(tmp_path: Path) -> None:
    done = command("convert", tmp_path / "nothing.relay", cwd=tmp_path)
    assert done.returncode == 3
    assert "nothing.relay" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(find_spec("ziglang") is not None, reason="the ziglang wheel has a compiler")
def test_missing_compiler(model: Path, tmp_path: Path) -> None:
    env = {"PATH": str(tmp_path), "CC": "", "RELAY2RELAX_CACHE": str(tmp_path / "cache")}
    done = command("compare", model, "--backend", "c", cwd=tmp_path, env=env)
    assert done.returncode == 5
    assert "compiler" in done.stderr
    assert "Traceback" not in done.stderr


def test_wrong_usage_exits_with_two(tmp_path: Path) -> None:
    assert command("convert", cwd=tmp_path).returncode == 2
    assert command("convert", "x", "--via", "nowhere", cwd=tmp_path).returncode == 2


def test_dims_name_the_batch(model: Path, tmp_path: Path) -> None:
    done = command("convert", model, "--dims", "data=batch,_", "--json", "-o", tmp_path / "o", cwd=tmp_path)
    assert json.loads(done.stdout)["result"] == 'R.Tensor(("batch", 3), dtype="float32")'
    done = command("convert", model, "--dims", "nobody=batch", cwd=tmp_path)
    assert done.returncode == 2
    assert "nobody" in done.stderr


@pytest.mark.compiler
@pytest.mark.sweep(every=2)
def test_profile_shows_every_kernel(model: Path, params: Path, tmp_path: Path) -> None:
    environment = {"RELAY2RELAX_CACHE": str(tmp_path / "cache")}
    given = ("run", model, "--params", params, "--backend", "c", "--via", "tir", "--profile")
    done = command(*given, "--json", cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["runs"] > 1
    assert all(kernel["microseconds"] > 0 for kernel in document["kernels"])
    assert sum(kernel["share"] for kernel in document["kernels"]) == pytest.approx(1)
    assert sum(kernel["calls"] for kernel in document["kernels"]) >= len(document["kernels"])
    table = command(*given, cwd=tmp_path, env=environment).stdout
    assert "GFLOP/s" in table
    assert re.search(r"^all +\d+ +[\d.]+ +100.0% ", table, re.MULTILINE)
    refused = command("run", model, "--profile", cwd=tmp_path)
    assert refused.returncode == 2
    assert "--backend c" in refused.stderr


def test_explain_shows_what_an_error_means(tmp_path: Path) -> None:
    done = command("explain", "0203", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("# R2R-0203: there is no such operator\n")
    assert "This is refused:" in done.stdout
    assert "This is right:" in done.stdout
    assert "R2R-0203  there is no such operator" in command("explain", "all", cwd=tmp_path).stdout


def test_explain_knows_which_codes_there_are(tmp_path: Path) -> None:
    done = command("explain", "R2R-0204x", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error[R2R-")
    assert "R2R-0204" in done.stderr
    assert "Traceback" not in done.stderr


def test_params_are_accounted_for(model: Path, params: Path, tmp_path: Path) -> None:
    weights = {"w.0": np.zeros((3, 4), np.float32), "b": np.zeros(3, np.float32)}

    def convert(*options: str, **values: np.ndarray) -> subprocess.CompletedProcess[str]:
        (tmp_path / "some.params").write_bytes(relay_ir.save_params(values))
        return command("convert", model, "--params", "some.params", "-o", "out", *options, cwd=tmp_path)

    done = convert(other=weights["b"], **weights)
    assert (done.returncode, done.stderr) == (0, "warning: no parameter takes these values of the params: other\n")
    summary = json.loads((tmp_path / "out" / "linear.summary.json").read_text())
    assert summary["warnings"] == ["no parameter takes these values of the params: other"]
    assert summary["params_bound"] is False
    done = convert(bias=weights["b"])
    assert done.returncode == 3
    assert "the params have none of the model's parameters: it takes data, w.0, b; they have bias" in done.stderr
    done = convert(b=weights["b"], w0=weights["w.0"])
    assert done.returncode == 3
    assert "the params have no values for these weights: w.0\nnote: no parameter takes w0" in done.stderr
    assert convert("--allow-missing", b=weights["b"]).returncode == 0


def test_a_value_for_the_input_is_an_input_of_every_command(model: Path, params: Path, tmp_path: Path) -> None:
    values = {**relay_ir.load_params(params), "data": np.ones((3, 4), np.float32)}
    (tmp_path / "all.npz").write_bytes(npz_bytes(values))
    said = "warning: every parameter has a value; taken for inputs, and not for weights: data\n"
    done = command("convert", model, "--params", "all.npz", "-o", "out", "--schedule", "cpu", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, said)
    summary = json.loads((tmp_path / "out" / "linear.summary.json").read_text())
    assert (summary["weights"], summary["inputs"], summary["missing_weights"]) == (["w.0", "b"], ["data"], [])
    assert summary["parameters"][0]["name"] == "data"
    for options in (["run"], ["run", "--via", "graph"], ["compare", "-b", "numpy"]):
        done = command(options[0], model, "--params", "all.npz", *options[1:], cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, said)


def test_a_dry_run_writes_nothing(model: Path, params: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    done = command("convert", model, "--params", params, "--dry-run", "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert (done.returncode, found["exit_code"]) == (0, 0)
    assert found["files"] == [
        "linear.py", "linear.graph.json", "linear.map.json", "linear.safetensors", "linear.safetensors.sha256",
        "linear.summary.json",
    ]  # fmt: skip
    assert {one["operator"]: one["calls"] for one in found["operators"]}["nn.dense"] == 1
    assert (found["weights"], found["inputs"]) == (["w.0", "b"], ["data"])
    bad = tmp_path / "bad.relay"
    bad.write_text('#[version = "0.0.5"]\ndef @main(%a: ref(Tensor[(2), float32]),\n %b: ref(int32)) { 1 }')
    done = command("convert", bad, "--dry-run", "--json", cwd=tmp_path)
    assert [(one["code"], one["line"]) for one in json.loads(done.stdout)["errors"]] == [
        ("R2R-0711", 2),
        ("R2R-0711", 3),
    ]
    bad.unlink()
    assert sorted(tmp_path.rglob("*")) == before


def test_a_dry_run_says_what_would_be_written_over(model: Path, params: Path, tmp_path: Path) -> None:
    def dry_run(*options: str) -> tuple[int, dict[str, Any]]:
        done = command("convert", model, *options, "--dry-run", "--json", cwd=tmp_path)
        return done.returncode, json.loads(done.stdout)

    assert command("convert", model, "--params", params, cwd=tmp_path).returncode == 0
    code, found = dry_run()
    assert code == 0
    assert found["written_over"] == ["linear.py", "linear.graph.json", "linear.map.json", "linear.summary.json"]
    assert found["removed"] == ["linear.safetensors", "linear.safetensors.sha256"]
    script = tmp_path / "linear_relax" / "linear.py"
    script.write_text("mine")
    code, found = dry_run()
    (error,) = found["errors"]
    assert (code, error["code"], error["file"]) == (2, "R2R-0920", "linear_relax/linear.py")
    assert "changed since written here" in error["title"]
    assert command("convert", model, cwd=tmp_path).returncode == 2
    assert dry_run("--force")[0] == 0
    done = command("convert", model, "--dry-run", "--force", cwd=tmp_path)
    assert f"would write over {script.relative_to(tmp_path)}\n" in done.stdout
    assert "would remove" in done.stdout
    assert script.read_text() == "mine"


def test_one_array_is_the_value_of_the_only_input(model: Path, params: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "picture.npy", np.ones((3, 4), np.float32))
    done = command("run", model, "--params", params, "--inputs", "picture.npy", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_parameters_of_one_name_have_one_naming_in_every_command(tmp_path: Path) -> None:
    x, y, z = (relay_ir.var("data", shape=(2,)) for _ in range(3))
    mod = relay_ir.IRModule.from_expr(relay_ir.Function((x, y, z), x * y - z))
    (tmp_path / "net.json").write_text(relay_ir.save_json(mod))
    (tmp_path / "net.relay").write_text(relay_ir.parse(mod.astext()).astext())
    given = {"data": [1, 2], "data1": [3, 4], "data2": [5, 6]}
    (tmp_path / "some.npz").write_bytes(npz_bytes({name: np.array(value, "float32") for name, value in given.items()}))
    for name in ("net.json", "net.relay"):
        done = command("run", name, "--inputs", "some.npz", "--json", cwd=tmp_path)
        assert json.loads(done.stdout)["outputs"][0]["values"] == [-2.0, 2.0]
        assert command("compare", name, "--inputs", "some.npz", "-b", "numpy", cwd=tmp_path).returncode == 0
        done = command("convert", name, "-o", name.replace(".", "_"), cwd=tmp_path)
        summary = json.loads((tmp_path / name.replace(".", "_") / "net.summary.json").read_text())
        assert summary["inputs"] == [*given]


def test_values_that_are_drawn_are_named_or_refused(model: Path, params: Path, tmp_path: Path) -> None:
    done = command("run", model, "--params", params, "--seed", "7", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "note: drawn from seed 7: data (?=3, 4)\n")
    done = command("run", model, "--params", params, "--require-params", cwd=tmp_path)
    assert done.returncode == 3
    assert "no values are given for data" in done.stderr
    np.savez(tmp_path / "in.npz", data=np.ones((2, 4), np.float32))
    options = ("--params", params, "--inputs", "in.npz", "--require-params")
    done = command("run", model, *options, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    done = command("compare", model, "--params", params, "-b", "numpy", "--json", cwd=tmp_path)
    report = json.loads(done.stdout)
    assert report["notes"] == ["drawn from seed 0: data (?=3, 4)"]
    data = {"name": "data", "shape": [3, 4], "dtype": "float32", "open": [0]}
    assert report["drawn"] == {"seed": 0, "values": [data]}
    done = command("run", model, "--params", params, "--seed", "7", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["drawn"] == {"seed": 7, "values": [data]}


@pytest.mark.tvm
def test_run_in_apache_tvm_takes_a_translation(model: Path, params: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", data=np.ones((1, 4), np.float32))
    given = ("run", model, "--params", params, "--inputs", "in.npz", "-b", "tvm", "--json")
    done = command(*given, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["outputs"][0]["values"] == [7.0, 0.0, 38.0]
    assert json.loads(done.stdout)["via"] == "graph"


@pytest.mark.parametrize("name", ["run", "compare"])
def test_where_apache_tvm_is_missing_its_extra_is_named(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    import importlib.metadata as metadata

    from relay2relax.cli import main

    def version(package: str) -> str:
        raise metadata.PackageNotFoundError(package)

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(sys, "argv", ["relay2relax", name, str(model), "-b", "tvm"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code not in (0, None)
    assert "apache-tvm is not installed; install relay2relax[tvm]" in capsys.readouterr().err


def test_convert_writes_a_map_and_counts_what_was_kept(model: Path, params: Path, tmp_path: Path) -> None:
    done = command("convert", model, "--params", params, "--no-check", "--json", cwd=tmp_path)
    found = translator.map_from_json((tmp_path / "linear_relax" / "linear.map.json").read_text())
    fates = [item.fate.value for item in found.receipt]
    counts = json.loads(done.stdout)["receipt"]
    assert counts == {fate: fates.count(fate) for fate in ("kept", "moved", "implied", "dropped")}
    assert counts["kept"] > 0
    script = (tmp_path / "linear_relax" / "linear.py").read_text()
    assert all(place.name in script for place in found.relax)
    said = command("convert", model, "--params", params, "--no-check", "--force", cwd=tmp_path).stdout
    assert "; linear.map.json says where and why\n" in said
