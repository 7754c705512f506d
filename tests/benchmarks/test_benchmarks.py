"""The sections measure what they say, know wrong results, and give up what takes too long."""

from __future__ import annotations

import dataclasses
import gc
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from typed import of_type

from relay2relax.backends.c import peak

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.sweep(every=2)
def test_a_run_prints_tables_and_verdicts_and_writes_json(tmp_path: Path) -> None:
    out = tmp_path / "bench.json"
    command = [sys.executable, str(ROOT / "benchmarks" / "run.py"), "translate", "speed", "--peers", "numpy"]
    command += ["--seconds", "0.01", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ""}, check=False)
    assert not done.returncode, done.stderr
    assert "Milliseconds per run on two threads" in done.stdout
    assert "translating a model, either way, below 1 s" in done.stdout
    found = json.loads(out.read_text())
    assert found["speed"]["models"]["tiny"]["numpy"]["run"] > 0
    assert found["translate"]["tiny"]["via_graph"] > 0
    assert {"promise", "seen", "holds"} == set(found["verdicts"][0])


@pytest.mark.compiler
def test_c_is_measured_with_its_build_its_memory_and_any_batch(parts: SimpleNamespace) -> None:
    case = parts.common.model_case("tiny")
    found = parts.measure.peer("c", case, 0.01)
    assert min(found["translate"], found["build"], found["run"]) > 0
    dynamic = parts.dynamic_batch.measure(case, 0.01)
    assert set(dynamic) == {"dynamic", "fixed", "dynamic larger", "fixed larger"}
    assert min(dynamic.values()) > 0
    if Path("/proc/self/clear_refs").exists():
        memory = parts.running_memory.measure(case)
        assert memory["weights"] == 3 * 4 * 4
        assert memory["bound"] == memory["weights"] + 1.2 * memory["alive"]
        assert 0 <= memory["peak"] < 1 << 20


def test_a_result_that_is_wrong_is_no_measurement(parts: SimpleNamespace) -> None:
    case = parts.common.model_case("tiny")
    wrong = dataclasses.replace(case, expected=[np.ones((2, 3), np.float32)])
    assert "another result" in parts.measure.peer("numpy", wrong, 0.01)["failed"]


def test_who_takes_too_long_is_not_waited_for(parts: SimpleNamespace) -> None:
    assert parts.measure.ask("numpy", ["tiny"], 0.01, 0.01) == {"tiny": {"failed": "over 0 s"}}


def test_a_model_without_batch_is_said_to_have_none(parts: SimpleNamespace) -> None:
    case = dataclasses.replace(parts.common.model_case("tiny"), weights=[False, False])
    assert parts.dynamic_batch.measure(case, 0.01) == {"failed": "the inputs have no common first extent"}


@pytest.mark.compiler
def test_the_machine_has_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peak, "_SECONDS", 0.02)
    # Any processor of this century does a billion operations a second, none a petaflop on so few
    # threads.
    assert 1e9 < peak.peak_flops() < 1e15
    assert 1e7 < peak.bandwidth(1 << 16) < 1e13


def test_programs_of_micro_are_relay(parts: SimpleNamespace) -> None:
    from relay2relax import relay_ir

    for name in parts.micro.CASES:
        case = parts.micro.case(name)
        typed = relay_ir.infer_type(relay_ir.parse(case.text))
        shapes = [tuple(of_type(typed.types[param], relay_ir.TensorType).shape) for param in typed["main"].params]
        assert shapes == [array.shape for array in case.arguments]


# One program with every kind of operator that needs care: uneven padding, axes, constants among the
# inputs.
_OPERATORS = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4, 9, 9), float32], %i: Tensor[(1, 3), int64], %w: Tensor[(6, 2, 3, 3), float32],
          %t: Tensor[(6, 2, 2, 2), float32], %g: Tensor[(6), float32], %v: Tensor[(6), float32],
          %e: Tensor[(7, 5), float32], %d: Tensor[(3, 12), float32]) {
  %0 = nn.conv2d(%x, %w, strides=[2, 2], padding=[0, 1, 2, 1], groups=2, channels=6, kernel_size=[3, 3]);
  %1 = nn.batch_norm(%0, %g, %g, %g, %v);
  %2 = nn.bias_add(%1.0, %g);
  %3 = nn.conv2d_transpose(%2, %t, channels=4, kernel_size=[2, 2], strides=[2, 2], groups=2, padding=[1, 1, 1, 1]);
  %4 = nn.max_pool2d(%3, pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0]);
  %5 = split(transpose(clip(%4, a_min=-1f, a_max=1.5f), axes=[0, 2, 3, 1]), indices_or_sections=2, axis=3);
  %6 = concatenate((%5.1, %5.0), axis=3);
  %7 = mean(nn.softmax(%6, axis=1), axis=[2], keepdims=False);
  %8 = nn.dense(nn.batch_flatten(nn.global_avg_pool2d(concatenate((%6, %6, %6), axis=1))), %d, units=3);
  %9 = take(%e, %i, axis=0);
  %10 = take(squeeze(take(%x, 0, axis=0), axis=None), 1, axis=0);
  (%7, %8, stack((%9, erf(%9)), axis=1), sqrt(nn.relu(%3)), transpose(%10, axes=None))
}
"""


def test_torch_and_onnx_runtime_compute_the_same(parts: SimpleNamespace) -> None:
    for one in ("onnxruntime", "torch"):
        pytest.importorskip(one)
    draws = np.random.default_rng(0)
    shapes = [(1, 4, 9, 9), (1, 3), (6, 2, 3, 3), (6, 2, 2, 2), (6,), (6,), (7, 5), (3, 12)]
    arguments = [draws.random(shape).astype(np.float32) for shape in shapes]
    arguments[1] = np.array([[0, 6, 2]])
    weights = [number > 1 for number in range(len(shapes))]
    case = parts.common.Case("operators", _OPERATORS, list("xiwtgved"), arguments, weights)
    for peer in ("onnxruntime", "pytorch"):
        assert "run" in parts.measure.peer(peer, case, 0.01)


def _row(c: float, peer: float) -> dict[str, dict[str, float]]:
    return {"c": {"run": c, "translate": 0.0, "build": 0.01}, "onnxruntime": {"run": peer}}


def test_verdicts_follow_from_the_numbers(parts: SimpleNamespace) -> None:
    marks = parts.marks
    rows = {name: _row(mark.relay * 2, mark.relay / 2) for name, mark in marks.MARKS.items()}
    found = {one.promise: one for one in marks.verdicts({"speed": {"models": rows}})}
    mean = found["C against the best of ONNX Runtime, OpenVINO, PyTorch and TVM 0.18's mark, geometric mean ≤ 1.0"]
    assert (mean.seen, mean.holds) == ("4", False)
    assert found["building for C, cold, against relay.build's mark, none above 1/3"].holds
    assert found["a build for any batch against one for the batch, none above 1.2"].holds is None
    assert str(mean).startswith("  DOES NOT HOLD ")


def test_a_mean_over_some_of_the_models_does_not_hold_yet(parts: SimpleNamespace) -> None:
    found = list(parts.marks.verdicts({"speed": {"models": {"mlp": _row(1e-6, 1e-3)}}}))
    assert found[0].holds is None
    assert "without unet_128" in found[0].seen


def test_who_is_not_installed_is_named(parts: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(parts.translate.importlib.util, "find_spec", lambda name: None)
    assert parts.translate.run_importing(parts.common.Options()) == {}
    assert "tvm and onnx not installed: section skipped" in capsys.readouterr().out


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.sweep(every=2)
def test_who_stops_a_run_has_what_was_measured(tmp_path: Path, recorded_tiny: Path) -> None:
    """The second model takes so long that there is time to stop."""
    models = tmp_path / "models"
    shutil.copytree(recorded_tiny / "models" / "tiny", models / "a")
    shutil.copytree(recorded_tiny / "models" / "tiny", models / "b")
    shutil.copy(recorded_tiny / "seeded.py", tmp_path)
    command = [sys.executable, str(ROOT / "benchmarks" / "run.py"), "speed", "translate", "--peers", "numpy"]
    command += ["--seconds", "2", "--out", str(tmp_path / "bench.json")]
    environment = {**os.environ, "PYTHONPATH": "", "RELAY2RELAX_GOLDEN": str(tmp_path)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as run:
        assert run.stderr is not None
        assert "a, numpy" in run.stderr.readline()
        run.send_signal(signal.SIGTERM)
        output, _ = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "stopped in section speed" in output
    found = json.loads((tmp_path / "bench.json").read_text())
    assert list(found["speed"]["models"]) == ["a"]
    assert "translate" not in found


def test_every_pass_is_measured(parts: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts.passes, "LENGTHS", (10, 30, 100))
    monkeypatch.setattr(parts.passes, "MOST_NODES", 100)
    monkeypatch.setattr(parts.passes, "REPEATS", 1)
    # What other tests left in this process would be looked through before each of a hundred runs.
    monkeypatch.setattr(gc, "collect", lambda: 0)
    found = parts.passes.run()
    assert {"FoldConstant", "FuseOps", "SimplifyExpr", "ToANormalForm", "FuseOps, DefuseOps"} <= set(found["passes"])
    assert all(one["100"] > 0 for one in found["passes"].values())
    assert found["patterns"]["count"] == 100
    promises = list(parts.marks.passes(found))
    assert len(promises) == 2
