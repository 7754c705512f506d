"""What becomes of a model is said before it is converted."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from relay2relax import migrate, relay_ir
from relay2relax.cli import main
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.migrate import Verdict
from relay2relax.migrate.report.markdown import escaped, plans_as_markdown
from relay2relax.migrate.takers import takers
from relay2relax.relax_ir.script.parser import parse as parse_script

HEAD = '#[version = "0.0.5"]\n'
LINEAR = (
    HEAD
    + """def @main(%data: Tensor[(?, 4), float32], %w: Tensor[(3, 4), float32]) {
  nn.relu(nn.dense(%data, %w, units=3))
}
"""
)
# The oldest TVM that scripts are written for has no such operator.
TENSORIR = (
    HEAD
    + """def @main(%x: Tensor[(4, 2), float32], %n: Tensor[(2), int64]) {
  reverse_sequence(%x, %n, seq_axis=0, batch_axis=1)
}
"""
)
UNUSED = HEAD + "def @main(%x: Tensor[(2), float32]) { let %y: Tensor[(2), float32] = exp(%x); nn.relu(%x) }\n"
REFERENCE = HEAD + "def @main(%x: ref(Tensor[(2), float32])) { ref_read(%x) }\n"
FILES = {
    "linear.relay": LINEAR,
    "reverse.relay": TENSORIR,
    "typo.relay": LINEAR.replace("relu", "rleu"),
    "reference.relay": REFERENCE,
}


def planned(text: str) -> migrate.Plan:
    return migrate.plan(relay_ir.parse(text))


def test_a_model_of_relax_operators_is_fine() -> None:
    found = planned(LINEAR)
    assert found.verdict is Verdict.FINE
    assert found.calls == 2
    assert list(found.open_inputs) == ["data"]
    # 12 numbers of float32; products and sums of 4 terms for each of 3 results, and a relu.
    assert found.weight_bytes == 12 * 4
    assert not any(found.takers.values())
    assert not list(found.why())


def test_operators_without_a_relax_form_are_named_with_the_reason() -> None:
    found = planned(TENSORIR)
    assert found.verdict is Verdict.TENSORIR
    (row,) = found.as_tensorir
    assert (row.operator, row.tensorir) == ("reverse_sequence", 1)
    assert row.why


def test_by_way_of_tensorir_it_is_what_was_asked_for() -> None:
    assert migrate.plan(relay_ir.parse(TENSORIR), via="tir").verdict is Verdict.FINE


def test_what_is_dropped_is_said() -> None:
    found = planned(UNUSED)
    assert found.verdict is Verdict.LOSSY
    assert found.receipt["dropped"] == 2
    assert all("nothing uses its value" in one for one in found.dropped)


def test_what_cannot_be_translated_is_a_plan_with_problems() -> None:
    found = planned(REFERENCE)
    assert found.verdict is Verdict.REFUSED
    assert found.problems
    assert found.to_json()["verdict"] == "refused"


def test_values_fix_open_extents() -> None:
    found = migrate.plan(relay_ir.parse(LINEAR), dims={"data": (8, None)})
    assert not found.open_inputs
    assert found.peak_bytes is not None


def test_a_release_without_an_operator_does_not_take_the_module() -> None:
    module = parse_script(
        """from tvm.script import ir as I
from tvm.script import relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 2), dtype="float32"), n: R.Tensor((2,), dtype="int64")):
        with R.dataflow():
            gv = R.reverse_sequence(x, n, seq_axis=0, batch_axis=1)
            R.output(gv)
        return gv
"""
    )
    found = takers(module)
    assert found["tvm 0.25"] == "it has no R.reverse_sequence"
    assert (found["tvm 0.26"], found["tvm 0.27"]) == ("", "")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the command; return its exit code."""
    monkeypatch.setattr(sys, "argv", ["relay2relax", "plan", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    assert isinstance(end.value.code, int)
    return int(end.value.code)


def test_the_command_plans_several_models(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "linear.relay", "reverse.relay", "reference.relay", "typo.relay", "--json") == 4
    plans = json.loads(capsys.readouterr().out)["plans"]
    assert [one["verdict"] for one in plans] == ["fine", "tensorir", "refused", "unreadable"]
    assert plans[3]["problems"][0]["place"].startswith("typo.relay:3")
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["linear.relay"], 0),
        (["reverse.relay"], 0),
        (["reverse.relay", "--fail-on", "tensorir"], 4),
        (["reverse.relay", "--fail-on", "lossy"], 0),
        (["typo.relay"], 3),
        (["reference.relay"], 4),
        (["linear.relay", "reverse.relay", "--dims", "data=2,4"], 2),
    ],
)
@pytest.mark.usefixtures("folder")
def test_the_exit_code_says_the_worst(monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int) -> None:
    assert call(monkeypatch, *arguments) == code


@pytest.mark.usefixtures("folder")
def test_markdown_is_a_table(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(monkeypatch, "linear.relay", "typo.relay", "--markdown") == 3
    lines = capsys.readouterr().out.splitlines()
    cells = [cell.strip() for cell in lines[2].replace("\\", "").strip("|").split("|")]
    assert cells[:5] == ["linear.relay", "fine", "2", "0", "data: float32[d, 4]"]
    assert cells[5] == "weights 0.0 MB, tensors alive at once not known, --dims says the open extents"
    assert re.fullmatch(r"numpy \d+\.\d s, c \d+\.\d s, tvm \d+\.\d s", cells[6])
    assert (cells[7].split(", ")[-1], cells[8]) == ("tvm 0.27", "")
    assert lines[3].startswith("| typo.relay | unreadable | 0 | 0 |  |  |  |  | unknown operator \\`nn.rleu\\`")


def test_words_of_a_model_are_no_markup() -> None:
    name = "<script>alert(1)</script> | [x](y) *b*"
    assert escaped(name) == "\\<script\\>alert(1)\\</script\\> \\| \\[x\\](y) \\*b\\*"
    table = plans_as_markdown([migrate.refused(name, Relay2RelaxError(name))])
    assert table.count(escaped(name)) == 2
    assert name not in table
