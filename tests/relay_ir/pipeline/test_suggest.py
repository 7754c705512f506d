"""What is read out of scripts that were written for Relay."""

from __future__ import annotations

import pytest

from relay2relax.core.errors import ParseError
from relay2relax.relay_ir import pipeline
from relay2relax.relay_ir.pipeline import Way, suggest


@pytest.mark.parametrize(
    "script",
    [
        "from tvm import relay\nrelay.transform.FoldConstant()",
        "import tvm\ntvm.relay.transform.FoldConstant()",
        "import tvm.relay as ir\nir.transform.FoldConstant()",
        "from tvm.relay import transform as t\nt.FoldConstant()",
        "from tvm.relay.transform import FoldConstant as Fold\nFold()",
    ],
)
def test_names_under_which_passes_are_imported(script: str) -> None:
    (found,) = suggest(script).passes
    assert (found.name, found.line) == ("FoldConstant", 2)
    assert found.today is not None
    assert found.today.way is Way.RELAX


def test_what_is_no_pass_of_relay() -> None:
    imports = "from tvm import relax\nfrom mine import transform\n"
    assert suggest(f"{imports}relax.transform.FoldConstant()\ntransform.FuseOps()\nFuseOps()").passes == ()


def test_the_pipeline_for_today() -> None:
    found = suggest("""
from tvm import relay
import tvm
seq = tvm.transform.Sequential([
    relay.transform.SplitArgs(max_function_args=16),
    relay.transform.FoldConstant(),
    relay.transform.FoldConstant(),
    relay.transform.RelayToTIRTargetHook(),
    relay.transform.FoldExplicitPadding(),
])
relay.quantize.quantize(mod)
with tvm.transform.PassContext(opt_level=3, config={"relay.FuseOps.max_depth": 5}):
    relay.build(mod)
""")
    assert found.relay == "SplitArgs(max_function_args=16), FoldExplicitPadding"
    assert len(pipeline.read(found.relay)) == 2
    assert found.relax == "tvm.transform.Sequential([\n    relax.transform.FoldConstant(),\n])"
    assert [one.name for one in found.passes if one.today is None] == ["RelayToTIRTargetHook"]
    assert [note.partition(":")[0] for note in found.notes] == ["line 11", "line 12", "line 13"]


@pytest.mark.parametrize(
    ("call", "today"),
    [
        ("ChangeBatch({'data': 0}, 8)", "ChangeBatch(data={'data': 0}, batch_size=8)"),
        ("Recast('int8', 'int32', ops=['nn.dense'])", "Recast(dtype='int8', out_dtype='int32', ops=['nn.dense'])"),
        ("PlanDevices(config)", "PlanDevices"),
        ("ToCPS()", "ToCPS, UnCPS"),
    ],
)
def test_options_of_a_script(call: str, today: str) -> None:
    found = suggest(f"from tvm import relay\nrelay.transform.{call}")
    assert (found.relay, found.notes) == (today, ())
    assert pipeline.read(found.relay)


def test_options_that_are_made_while_a_script_runs() -> None:
    found = suggest("from tvm import relay\nrelay.transform.ChangeBatch({mod['main'].params[0]: 0}, batch)")
    assert found.relay == ""
    (note,) = found.notes
    assert note == "line 2: the options of ChangeBatch are made while the script runs; call it in Python"


def test_nothing_is_executed() -> None:
    found = suggest("raise SystemExit\nfrom tvm import relay\nrelay.transform.FuseOps(undefined())")
    assert [one.text for one in found.passes] == ["relay.transform.FuseOps(undefined())"]


def test_what_is_no_python() -> None:
    with pytest.raises(ParseError, match="is not Python"):
        suggest("def (", "compile.py")
