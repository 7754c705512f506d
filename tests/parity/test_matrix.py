"""Programs on backends are compared for many inputs, and with programs of others."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from relay2relax import backends, parity, relax_ir, relay_ir, translator
from relay2relax.cli import main
from relay2relax.core.dtype import Array
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.tolerance import Difference, Tolerance
from relay2relax.parity import Batch, Program

HEAD = '#[version = "0.0.5"]\n'
LINEAR = (
    HEAD
    + """def @main(%x: Tensor[(?, 4), float32], %w: Tensor[(3, 4), float32]) {
  nn.relu(nn.dense(%x, %w, units=3))
}
"""
)
X = np.arange(8, dtype=np.float32).reshape(2, 4) / 8 - 0.4
W = np.arange(12, dtype=np.float32).reshape(3, 4) / 12 - 0.5
RIGHT = np.maximum(X @ W.T, 0)


GIVEN = Batch(values={"x": X, "w": W})


def parsed(text: str = LINEAR) -> relay_ir.IRModule:
    return relay_ir.infer_type(relay_ir.parse(text))


def other(array: Array, name: str = "mine") -> Program:
    return Program(name, "python", lambda mod: lambda trial: array)


def test_measures_are_their_formulas() -> None:
    actual, expected = np.array([1.0, 2.0, 2.5, np.nan]), np.array([1.0, 2.0, 2.0, np.nan])
    found = parity.measures_of(actual, expected)
    assert found is not None
    assert found.cosine == pytest.approx((1 + 4 + 5) / math.sqrt((1 + 4 + 6.25) * 9))
    assert found.noise == pytest.approx(10 * math.log10(9 / 0.25))
    counts = dict(zip(parity.DECADES, found.counts, strict=True))
    assert {name: count for name, count in counts.items() if count} == {"0": 3, "1e0": 1}
    opposite = parity.measures_of(-expected[:3], expected[:3])
    assert opposite is not None
    assert opposite.cosine == -1
    assert parity.measures_of(np.zeros(2), np.zeros(3)) is None
    # Nothing overflows.
    large = parity.measures_of(np.array([1e308]), np.array([-1e308]))
    assert large is not None
    assert large.cosine == -1


def test_programs_and_backends_are_a_table() -> None:
    names = ("relay", "relay-graph", "relay-vm", "lower_to_tir", "via_graph")
    given = Batch("mine", {"x": X, "w": W})
    matrix = parity.compare(
        parsed(), programs=[*names, other(RIGHT), other(RIGHT + 1, "off")], backends=("numpy",), batches=[given]
    )
    assert [row.program for _, row in matrix.rows] == [*names[1:], "mine", "off"]
    assert [row.difference.agrees for _, row in matrix.rows] == [True] * 5 + [False]
    ((batch, row),) = [(batch, row) for batch, row in matrix.rows if row.program == "off"]
    assert row.difference.max_abs == pytest.approx(1.0)
    measures = batch.measures_of(row)
    assert measures is not None
    assert measures.noise == pytest.approx(10 * math.log10(float((RIGHT**2).sum()) / RIGHT.size), rel=1e-5)
    assert str(matrix).startswith("1 of 6 outputs differ, the first of off on python, output 0, mine")
    assert matrix.exit == 1


def test_an_error_is_a_row_and_not_the_end() -> None:
    def broken(_: object) -> object:
        raise Relay2RelaxError("it is broken")

    def foreign(_: object) -> object:
        raise KeyError("it is foreign")

    mine, other_one = Program("mine", "python", lambda _: broken), Program("mine", "python", lambda _: foreign)
    matrix = parity.compare(parsed(), programs=[mine, other_one, "via_graph"], backends=["numpy"])
    assert [row.verdict for _, row in matrix.rows] == ["fails", "fails", "equal"]
    assert "mine on python raised KeyError" in matrix.rows[1][1].difference.reason
    assert not matrix.agrees


def test_outputs_have_tolerances_of_their_own() -> None:
    mod = parsed(HEAD + "def @main(%x: Tensor[(2), float32]) { (%x, negative(%x)) }")
    x = np.ones(2, np.float32)
    off = Program("off", "python", lambda _: lambda trial: (x * 1.01, -x * 1.01))
    for limits, wanted in (({0: Tolerance(0.1)}, [True, False]), ({1: Tolerance(0.1)}, [False, True])):
        matrix = parity.compare(mod, programs=[off], batches=[Batch(values={"x": x})], tolerance=limits)
        assert [row.difference.agrees for _, row in matrix.rows] == wanted


def test_a_comparer_of_ones_own_judges() -> None:
    def signs(actual: Array, expected: Array, length: int | None, limit: Tolerance | None) -> Difference:
        same = bool((np.sign(actual) == np.sign(expected)).all())
        return Difference(0, 0, 0, same, "" if same else "other signs")

    matrix = parity.compare(parsed(), programs=[other(RIGHT * 2), other(-RIGHT)], batches=[GIVEN], comparer=signs)
    assert [row.difference.reason for _, row in matrix.rows] == ["", "other signs"]


def test_inputs_are_drawn_by_kind() -> None:
    mod = parsed()
    seen: dict[str, Array] = {}
    for kind in parity.KINDS:
        matrix = parity.compare(mod, programs=[], batches=[Batch(kind=kind, seed=3)])
        seen[kind] = matrix.batches[0].inputs["x"]
        assert matrix.agrees is None
    assert not seen["zeros"].any()
    assert (seen["ones"] == 1).all()
    assert (np.abs(seen["uniform"]) < 1).all()
    known = np.array([0, 1, 3e38, 1e-45, np.inf, np.nan], np.float32)
    assert np.isin(np.abs(seen["extremes"]), known).sum() + np.isnan(seen["extremes"]).sum() == 12
    assert len({array.tobytes() for array in seen.values()}) == len(seen)


def test_open_extents_are_swept() -> None:
    matrix = parity.compare(
        parsed(), programs=["via_graph"], backends=["numpy"], batches=parity.swept(parsed(), (0, 1, 7))
    )
    assert [batch.inputs["x"].shape for batch in matrix.batches] == [(0, 4), (1, 4), (7, 4)]
    assert matrix.agrees
    with pytest.raises(Relay2RelaxError, match="nothing to sweep"):
        parity.swept(parsed(HEAD + "def @main(%x: Tensor[(2), float32]) { %x }"))
    # Extents that Relay refuses are left out, and said.
    halved = parsed(HEAD + "def @main(%x: Tensor[(?, 4), float32]) { reshape(%x, newshape=[2, -1]) }")
    matrix = parity.compare(halved, programs=["via_graph"], backends=["numpy"], batches=parity.swept(halved, (1, 2)))
    assert matrix.agrees
    assert not matrix.left_out or all("extent" in one.why for one in matrix.left_out)


def test_a_loader_yields_batches(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "import numpy as np\n\n\n"
        "def two():\n    for n in (1, 2):\n        yield {'x': np.full((n, 4), n, 'float32')}\n\n\n"
        "def wrong():\n    yield 3\n\n\ndef broken():\n    yield {'x': np.ones(2)}\n    raise KeyError('mine')\n"
    )
    assert [batch.values["x"].shape for batch in parity.loaded(f"{path}:two")] == [(1, 4), (2, 4)]
    for name, words in (("three", "two, wrong"), ("wrong", "yields int"), ("broken", "broken raised KeyError")):
        with pytest.raises(Relay2RelaxError, match=words):
            parity.loaded(f"{path}:{name}")
    with pytest.raises(Relay2RelaxError, match="FUNCTION"):
        parity.loaded("nothing")


def test_where_nan_begin_is_said() -> None:
    mod = parsed(HEAD + "def @main(%x: Tensor[(3), float32]) { exp(sqrt(subtract(%x, 1f))) }")
    found = parity.not_finite(mod, [np.array([0, 1, 5], np.float32)])
    assert found is not None
    assert "call 2 of 3, sqrt, makes 1 of 3 values" in str(found)
    assert parity.not_finite(mod, [np.array([1, 2, 5], np.float32)]) is None
    # What comes in is to blame there.
    assert parity.not_finite(mod, [np.array([np.nan, 2, 5], np.float32)]) is None


def test_errors_that_grow_are_said() -> None:
    mod = parsed(HEAD + "def @main(%x: Tensor[(4), float32]) { subtract(exp(%x), 1f) }")

    def rounded(module: relay_ir.IRModule) -> relax_ir.IRModule:
        text = translator.via_graph(module).script()
        return relax_ir.parse(text.replace("R.exp(x)", 'R.astype(R.astype(R.exp(x), "float16"), "float32")'))

    x = np.array([1e-3, 2e-3, 3e-3, 4e-3], np.float32)
    found = parity.node_report(mod, [x], "rounded", rounded, "numpy", 1)
    assert found.growth is not None
    wide = np.exp(x)
    rough = wide.astype(np.float16).astype(np.float32)
    before = float(np.abs(rough - wide).max() / wide.max())
    after = float(np.abs((rough - 1) - (wide - 1)).max() / np.abs(wide - 1).max())
    assert found.growth.before == pytest.approx(before, rel=1e-3)
    assert found.growth.after == pytest.approx(after, rel=1e-3)
    assert found.first is not None
    assert found.first.call.op == relay_ir.Op("exp")
    assert "call 2, subtract" in str(found)


def test_bits_are_the_same_again() -> None:
    matrix = parity.compare(parsed(), backends=["numpy"], repeats=True)
    assert [one.again for one in matrix.batches[0].repeats] == [True, True]
    calls = iter(range(100))
    unsteady = Program("unsteady", "python", lambda _: lambda trial: RIGHT + np.float32(next(calls)) * 1e-9)
    matrix = parity.compare(parsed(), programs=[unsteady], batches=[GIVEN], repeats=True)
    assert [one.again for one in matrix.batches[0].repeats] == [False]
    assert (matrix.agrees, matrix.exit) == (False, 1)


@pytest.mark.compiler
def test_threads_do_not_change_bits() -> None:
    matrix = parity.compare(parsed(), programs=["via_graph"], backends=["c"], repeats=True)
    assert [(one.again, one.threads) for one in matrix.batches[0].repeats] == [(True, True)]


def test_what_was_saved_is_what_is_expected() -> None:
    matrix = parity.compare(
        parsed(), {"w": W}, programs=["via_graph"], backends=["numpy"], batches=[Batch(values={"x": X})]
    )
    content = parity.golden_bytes(matrix)
    arrays = relay_ir.load_params(content)
    assert set(arrays) == {"0.input.x", "0.output.0"}
    np.testing.assert_allclose(np.asarray(arrays["0.output.0"], np.float32), RIGHT, rtol=1e-6)
    again = parity.compare(parsed(), {"w": W}, backends=["numpy"], batches=parity.golden_batches(arrays))
    assert again.agrees
    assert again.rows[0][1].program == "relay"
    arrays["0.output.0"] = arrays["0.output.0"] + 1
    assert not parity.compare(parsed(), {"w": W}, backends=["numpy"], batches=parity.golden_batches(arrays)).agrees
    with pytest.raises(Relay2RelaxError, match=r"0\.input\.NAME"):
        parity.golden_batches({"x": X})


def test_a_matrix_is_shown_as_text_and_never_as_markup() -> None:
    evil = "<img src=x>"
    matrix = parity.compare(parsed(), programs=[other(RIGHT, evil)], batches=[Batch(evil, {"x": X, "w": W})])
    page = matrix._repr_html_()
    assert "&lt;img" in page
    assert "<img" not in page
    assert matrix.records()[0]["program"] == evil


def test_a_matrix_is_a_frame() -> None:
    pandas = pytest.importorskip("pandas")
    frame = parity.compare(parsed(), backends=["numpy"]).to_dataframe()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["program"]) == ["lower_to_tir", "via_graph"]


ONNX_FORM = HEAD + "def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32]) { nn.dense(%x, %w, units=3) }"


def test_onnx_runtime_runs_the_model_that_it_came_from(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    h = onnx.helper
    kind = onnx.TensorProto.FLOAT
    nodes = [h.make_node("Gemm", ["x", "w"], ["y"], transB=1)]
    inputs = [h.make_tensor_value_info("x", kind, [2, 4])]
    weights = [onnx.numpy_helper.from_array(W, "w")]
    built = h.make_graph(nodes, "g", inputs, [h.make_tensor_value_info("y", kind, [2, 3])], weights)
    model = h.make_model(built, opset_imports=[h.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, tmp_path / "net.onnx")
    right, wrong = (
        parity.compare(
            parsed(ONNX_FORM), {"w": weight}, programs=[str(tmp_path / "net.onnx")], batches=[Batch(values={"x": X})]
        )
        for weight in (W, W + 1)
    )
    assert (right.agrees, wrong.agrees) == (True, False)
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    broken = parity.compare(parsed(ONNX_FORM), programs=[str(tmp_path / "broken.onnx")])
    assert [row.verdict for _, row in broken.rows] == ["fails"]


@pytest.mark.sweep(every=20)
def test_pytorch_runs_what_it_exported(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: object, w: object) -> object:
            return torch.relu(torch.nn.functional.linear(x, w))

    exported = torch.export.export(Net(), (torch.from_numpy(X), torch.from_numpy(W)))
    torch.export.save(exported, tmp_path / "net.pt2")
    matrix = parity.compare(parsed(), programs=[str(tmp_path / "net.pt2")], batches=[GIVEN])
    assert matrix.agrees, matrix


@pytest.mark.tvm
@pytest.mark.sweep(every=20)
def test_apache_tvm_runs_in_a_process_of_its_own() -> None:
    script = parity.script_program(translator.Script("net.py", translator.via_graph(parsed())), "tvm")
    matrix = parity.compare(parsed(), programs=["via_graph", script], backends=["tvm"], batches=[GIVEN])
    assert [row.difference.agrees for _, row in matrix.rows] == [True, True]


@pytest.mark.compiler
@pytest.mark.sweep(every=2)
def test_an_exported_library_is_built_and_run(tmp_path: Path) -> None:
    backends.export_c(translator.via_graph(parsed()), tmp_path / "net_c", "net")
    matrix = parity.compare(
        parsed(),
        programs=[str(tmp_path / "net_c")],
        batches=[GIVEN, *parity.swept(parsed(), (1, 7))],
    )
    assert matrix.agrees, matrix
    assert len(matrix.rows) == 3


def command(monkeypatch: pytest.MonkeyPatch, *words: str) -> object:
    monkeypatch.setattr(sys, "argv", ["relay2relax", "compare", "net.relay", "-b", "numpy", *words])
    monkeypatch.delenv("COLUMNS", raising=False)
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.relay").write_text(LINEAR)
    np.savez(tmp_path / "one.npz", x=X, w=W)
    np.savez(tmp_path / "two.npz", x=X[:1], w=W)
    monkeypatch.chdir(tmp_path)
    words = ("--batch", "one.npz", "--batch", "two.npz", "--draw", "ones", "--sweep", "0,7", "-p", "relay-vm")
    assert command(monkeypatch, *words, "--save", "golden.npz", "--per-node") == 0
    shown = capsys.readouterr().out
    assert [name for name in ("one.npz", "two.npz", "ones", "extent 0", "extent 7") if f"\n{name} " not in shown] == []
    assert "lower_to_tir on numpy: every intermediate value agrees" in shown
    with np.load(tmp_path / "golden.npz") as stored:
        golden = dict(stored)
    np.testing.assert_allclose(golden["0.output.0"], RIGHT, rtol=1e-6)
    golden["1.output.0"] += 1
    np.savez(tmp_path / "other.npz", **golden)
    assert command(monkeypatch, "--load", "golden.npz", "--json") == 0
    assert '"batch": "saved 4"' in capsys.readouterr().out
    assert command(monkeypatch, "--load", "other.npz") == 1
    assert "the first of relay on numpy, output 0, saved 1" in capsys.readouterr().out
    assert command(monkeypatch, "--load", "other.npz", "--tolerance", "0=0,9") == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-p", "relay-vn"), "relay-vm"),
        (("--sweep", "a"), "--sweep"),
        (("--tolerance", "0"), "--tolerance"),
        (("--tolerance", "0=1", "--rtol", "1"), "--rtol"),
        (("--loader", "nothing"), "--loader"),
        (("--repeat", "--expected", "x.npz"), "--expected"),
    ],
)
def test_wrong_options_are_refused(
    words: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "net.relay").write_text(LINEAR)
    monkeypatch.chdir(tmp_path)
    assert command(monkeypatch, *words) == 2
    assert said in capsys.readouterr().err
