"""The step that makes results part is found, of passes of both IRs and of nothing at all."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from seeded.renamed_pass import Renamed

from relay2relax import ops, parity, relax_ir, relay_ir
from relay2relax.cli import main
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.errors.extensions import ExtensionError
from relay2relax.core.passes import Pass, PassContext, module_pass
from relay2relax.parity.halving import first_bad
from relay2relax.relay_ir import transform

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(3, 4), float32]) { tanh(nn.relu(add(%x, add(1f, 2f)))) }
"""
X = np.linspace(-6, 2, 12, dtype=np.float32).reshape(3, 4)


def model() -> relay_ir.IRModule:
    return relay_ir.infer_type(relay_ir.parse(TEXT))


@module_pass(opt_level=0, name="Wrong")
def wrong(mod: relax_ir.IRModule, _: PassContext) -> relax_ir.IRModule:
    text = mod.script()
    return relax_ir.parse(text.replace("R.nn.relu(", "R.nn.silu("))


@pytest.mark.parametrize("count", [1, 2, 7, 16])
def test_halving_finds_the_first(count: int) -> None:
    for first in range(1, count + 1):
        tried: list[int] = []

        def bad(number: int, first: int = first, tried: list[int] = tried) -> bool:
            tried.append(number)
            return number >= first

        assert first_bad(count, bad) == first
        assert len(tried) <= count.bit_length()


def test_a_pass_over_relay() -> None:
    passes: list[str | Pass[relay_ir.IRModule]] = [transform.FoldConstant(), Renamed("nn.relu", "negative"), "FuseOps"]
    found = parity.bisect(model(), [X], "passes", passes=passes, backend="numpy")
    assert found.culprit == "Renamed"
    assert [one.agrees for one in found.probes] == [True, False, False]
    assert parity.bisect(model(), [X], "passes", backend="numpy").culprit == ""


def test_a_pass_over_relax() -> None:
    passes = ["EliminateCommonSubexpr", "FoldConstant", wrong, "LegalizeOps", "FuseOps"]
    found = parity.bisect(model(), [X], "relax-passes", passes=passes, backend="numpy")
    assert (found.culprit, found.differs) == ("Wrong", True)
    assert json.loads(json.dumps(found.to_json()))["culprit"] == "Wrong"
    found = parity.bisect(model(), [X], "relax-passes", backend="numpy")
    assert (found.culprit, found.differs) == ("", False)


def test_what_none_of_the_steps_does() -> None:
    with ops.handlers(relax={"nn.relu": lambda emit, attrs, x: emit.call("nn.silu", x)}):
        found = parity.bisect(model(), [X], "relax-passes", backend="numpy")
    assert (found.culprit, found.differs) == ("", True)
    assert "without any" in found.said


def test_wrong_names_are_refused() -> None:
    with pytest.raises(Relay2RelaxError, match="FuseOps"):
        parity.bisect(model(), [X], "relax-passes", passes=["FusOps"])
    with pytest.raises(Relay2RelaxError, match="rules"):
        parity.bisect(model(), [X], "colours")  # type: ignore[arg-type]


@pytest.mark.parametrize("over", ["nodes", "passes", "relax-passes"])
def test_the_command(
    over: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "net.relay").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["relay2relax", "bisect", "net.relay", "--over", over, "-b", "numpy"])
    for code, handlers in (
        (0, {}),
        (int(over == "nodes"), {"nn.relu": lambda emit, attrs, x: emit.call("nn.silu", x)}),
    ):
        with ops.handlers(relax=handlers), pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == (1 if handlers and over == "relax-passes" else code)
    shown = capsys.readouterr().out
    assert ("nn.relu" in shown) == (over == "nodes")


# Operators and handlers of users.


def test_an_operator_of_ones_own_is_as_any_other() -> None:
    from relay2relax.tir import te

    negative = ops.relay_op("negative")
    assert negative is not None
    twice = replace(
        negative,
        relay="mine.twice",
        numpy=lambda attrs, x: x * 2,
        compute=lambda attrs, out, x: te.compute(out.shape, lambda *i: x[i] * 2),
        relax=None,
        script=None,
    )
    if ops.relay_op("mine.twice") is None:
        ops.register(twice)
    mod = relay_ir.infer_type(relay_ir.parse(TEXT.replace("tanh", "mine.twice")))
    matrix = parity.compare(mod, backends=["numpy"], batches=[parity.Batch(values={"x": X})])
    assert matrix.agrees
    np.testing.assert_allclose(np.asarray(matrix.batches[0].outputs[0], np.float32), np.maximum(X + 3, 0) * 2)
    again = relay_ir.load_json(relay_ir.save_json(mod))
    assert "mine.twice" in relay_ir.print_module(again)
    with pytest.raises(Relay2RelaxError, match=r"there is an operator mine\.twice"):
        ops.register(twice)


def test_a_handler_of_ones_own_is_taken_while_the_block_runs() -> None:
    def halved(emit: Any, attrs: object, *inputs: Any) -> Any:
        return emit.call("multiply", inputs[0], emit.const(0.5, "float32"))

    from relay2relax import translator

    with ops.handlers(relax={"nn.relu": halved}):
        assert "R.multiply" in translator.via_graph(model()).script()
        assert "R.nn.relu" not in translator.via_graph(model()).script()
    assert "R.nn.relu" in translator.via_graph(model()).script()
    with pytest.raises(Relay2RelaxError, match=r"nn\.relu"), ops.handlers(relax={"nn.rleu": halved}):
        pass


def test_what_handlers_raise_is_said_with_their_names() -> None:
    from relay2relax import translator

    def broken(*given: object) -> object:
        raise KeyError("mine")

    handlers: list[dict[str, Any]] = [{"relax": {"nn.relu": broken}}, {"tensorir": {"nn.relu": broken}}]
    for handler in handlers:
        with ops.handlers(**handler), pytest.raises(ExtensionError, match=r"the handler of nn\.relu raised KeyError"):
            (translator.via_graph if "relax" in handler else translator.lower_to_tir)(model())
