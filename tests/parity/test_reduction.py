"""A failing model is reduced to the part that fails."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from relay2relax import parity, relay_ir
from relay2relax.cli import main
from relay2relax.core.dtype import Array
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.parity import NothingFailsError, Try
from relay2relax.relay_ir import Call, IRModule, Op
from relay2relax.relay_ir.analysis import list_op_freqs
from relay2relax.translator.arguments import make_arguments

NET = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(8, 8), float32]) {
  %0 = nn.dense(%x, %w, units=8);
  %1 = tanh(%0);
  %2 = exp(%1);
  %3 = add(%2, %1);
  %4 = (%3, sigmoid(%3));
  %5 = concatenate(%4, axis=1);
  %6 = split(%5, indices_or_sections=2, axis=1);
  %7 = multiply(%6.0, %6.1);
  nn.softmax(%7)
}"""


def chain(length: int, where: int) -> str:
    """Return a chain of so many operators, of which one is ``erf``."""
    lines = [f"  %{n} = {'erf' if n == where else 'sin'}({'%x' if n == 0 else f'%{n - 1}'});" for n in range(length)]
    return "\n".join(
        ['#[version = "0.0.5"]', "def @main(%x: Tensor[(3), float32]) {", *lines, f"  cos(%{length - 1})\n}}"]
    )


def calls(module: IRModule) -> dict[str, int]:
    return dict(list_op_freqs(module))


def has(*names: str) -> parity.Check:
    """Return a check that fails for modules that call all of these operators."""

    def check(module: IRModule, inputs: Mapping[str, Array]) -> str:
        assert {param.name for param in module["main"].params} == {name.split(".")[0] for name in inputs}
        return "has" if set(names) <= set(calls(module)) else ""

    return check


def reduced(text: str, check: parity.Check) -> parity.Reduced:
    module = relay_ir.infer_type(relay_ir.parse(text))
    return parity.reduce(module, make_arguments(module, {}, 0), check)


@pytest.mark.parametrize(
    ("names", "left"),
    [(("tanh",), 1), (("nn.softmax",), 1), (("exp", "add"), 2), (("tanh", "multiply"), None), (("split",), 1)],
)
def test_what_is_left_has_what_fails_and_nothing_else(names: tuple[str, ...], left: int | None) -> None:
    found = reduced(NET, has(*names))
    assert set(names) <= set(calls(found.module))
    # Between tanh and multiply lie calls that join them; none of the others is left.
    assert found.calls == left if left is not None else "nn.dense" not in calls(found.module)
    assert found.of_calls == 9


def test_values_that_come_in_are_those_of_the_whole() -> None:
    module = relay_ir.infer_type(relay_ir.parse(NET))
    given = [np.full((2, 8), 0.5, np.float32), np.eye(8, dtype=np.float32)]
    seen: list[Mapping[str, Array]] = []

    def check(module: IRModule, inputs: Mapping[str, Array]) -> str:
        found = {node.op.name for node in module.types if isinstance(node, Call) and isinstance(node.op, Op)}
        if found == {"exp"}:
            seen.append(inputs)
        return "has" if "exp" in found else ""

    assert parity.reduce(module, given, check).calls == 1
    (value,) = seen[0].values()
    np.testing.assert_allclose(value.astype(np.float64), np.tanh(np.full((2, 8), 0.5)), rtol=1e-6)


def test_a_long_model_takes_few_tries() -> None:
    tries: list[Try] = []
    module = relay_ir.infer_type(relay_ir.parse(chain(600, 421)))
    found = parity.reduce(module, [np.zeros(3, np.float32)], has("erf"), tries.append)
    assert calls(found.module) == {"erf": 1}
    assert len(tries) == found.tries < 40


def test_a_part_that_fails_otherwise_is_not_taken() -> None:
    def check(module: IRModule, inputs: Mapping[str, Array]) -> str:
        found = set(calls(module))
        return "" if "tanh" not in found else "both" if "exp" in found else "alone"

    found = reduced(NET, check)
    assert found.failure == "both"
    assert set(calls(found.module)) == {"tanh", "exp"}


def test_values_become_simple_where_that_does_not_matter() -> None:
    found = reduced(NET, has("exp"))
    (value,) = found.inputs.values()
    assert not value.any()


def test_what_was_found_is_plain_values_and_a_table() -> None:
    found = reduced(NET, has("exp"))
    assert found.to_json()["calls"] == 1
    assert str(found).startswith("1 call of 9 left after ")
    assert "exp(" in found._repr_html_()
    pytest.importorskip("pandas")
    assert list(found.to_dataframe()["dtype"]) == ["float32"]


def test_a_search_goes_on_with_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "net.relay").write_text(NET)
    (tmp_path / "mine.py").write_text("import sys\nsys.exit('exp(' in open(sys.argv[1]).read())\n")
    monkeypatch.chdir(tmp_path)
    line = ["relay2relax", "reduce", "net.relay", "--check", f"{sys.executable} mine.py {{model}}"]
    for more, left in (([], "1 call of 9 left"), (["--resume"], "1 call of 1 left")):
        monkeypatch.setattr(sys, "argv", [*line, *more])
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == 0
        assert left in capsys.readouterr().out


def test_nothing_to_reduce_is_an_error() -> None:
    with pytest.raises(NothingFailsError):
        reduced(NET, has("erf"))


@pytest.mark.parametrize("comparing", [parity.comparison_check(("numpy",))])
def test_the_comparison_finds_no_difference(comparing: parity.Check) -> None:
    with pytest.raises(NothingFailsError):
        reduced(NET, comparing)


def test_a_command_may_be_the_check(tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text("import sys, pathlib\nsys.exit(3 if 'exp(' in pathlib.Path(sys.argv[1]).read_text() else 0)\n")
    found = reduced(NET, parity.command_check(f"{sys.executable} {script} {{model}} {{inputs}}"))
    assert (calls(found.module), found.failure) == ({"exp": 1}, "exit 3")


def test_the_command_writes_a_part_that_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "net.relay").write_text(NET)
    (tmp_path / "mine.py").write_text("import sys\nsys.exit('erf(' not in open(sys.argv[1]).read())\n")
    monkeypatch.chdir(tmp_path)
    check = f"{sys.executable} mine.py {{model}}"
    monkeypatch.setattr(sys, "argv", ["relay2relax", "reduce", "net.relay", "--check", check])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 0
    assert "1 call of 9 left" in capsys.readouterr().out
    module = relay_ir.infer_type(relay_ir.load(tmp_path / "net_reduced" / "model.relay"))
    assert sum(calls(module).values()) == 1
    assert set(relay_ir.load_params(tmp_path / "net_reduced" / "inputs.npz")) == {
        param.name for param in module["main"].params
    }
    # One command shows it, wherever it is called.
    again = [sys.executable, str(tmp_path / "net_reduced" / "check.py")]
    assert subprocess.run(again, cwd="/", check=False).returncode == 1
    (tmp_path / "net_reduced" / "model.relay").write_text("erf(")
    assert subprocess.run(again, cwd="/", check=False).returncode == 0


@pytest.mark.parametrize("line", ["no-such-command-here {model}", ""])
def test_a_check_that_is_none_is_refused(line: str) -> None:
    with pytest.raises(Relay2RelaxError):
        reduced(NET, parity.command_check(line))
