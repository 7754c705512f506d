"""Pipelines as text, and what the steps of one say."""

from __future__ import annotations

from typing import Any

import pytest
from passes_swept.recorded import comparable

from relay2relax import relay_ir
from relay2relax.core import Relay2RelaxError
from relay2relax.relay_ir import pipeline, transform

PROGRAM = """#[version = "0.0.5"]
def @main(%x: Tensor[(4), float32]) {
  let %unused = exp(%x);
  %0 = add(1f, 2f);
  %1 = multiply(%x, %0);
  add(%1, %0)
}
"""


def test_names_and_options() -> None:
    text = (
        "FoldConstant, FuseOps(fuse_opt_level=2),\n ConvertLayout(desired_layouts={'nn.conv2d': ['NHWC', 'default']})"
    )
    fold, fuse, convert = pipeline.read(text)
    assert fold == transform.FoldConstant()
    assert fuse == transform.FuseOps(2)
    assert convert == transform.ConvertLayout({"nn.conv2d": ["NHWC", "default"]})


def test_every_pass_of_the_package_has_its_name() -> None:
    found = pipeline.passes_by_name()
    assert {"FoldConstant", "ToANormalForm", "SimplifyExpr"} <= set(found)
    assert not {"Pass", "ModulePass", "FunctionPass", "Sequential"} & set(found)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Foldconstant", r"there is no pass 'Foldconstant'[\s\S]*did you mean `FoldConstant`\?"),
        ("FuseOps(2)", "is no pipeline"),
        ("FuseOps(fuse_opt_level='x')", r"FuseOps\(fuse_opt_level=…\): expected `int`, found `str`"),
        ("FuseOps(fuse_opt_level=True)", "expected `int`, found `bool`"),
        ("FuseOps(level=1)", "FuseOps has no option 'level'; its options: fuse_opt_level"),
        ("FuseOps(**{})", "is no pipeline"),
        ("ConvertLayout", "ConvertLayout needs the option desired_layouts"),
        ("EliminateCommonSubexpr(skip=len)", "expected a literal"),
        ("transform.FoldConstant", "is no pipeline"),
        ("__import__('os').system('true')", "is no pipeline"),
        ("FoldConstant FuseOps", "is no pipeline"),
        ("] + [", "is no pipeline"),
        ("(" * 5000, "is no pipeline"),
        (" ", "is no pipeline"),
    ],
)
def test_what_is_no_pipeline_is_refused(text: str, message: str) -> None:
    with pytest.raises(Relay2RelaxError, match=message):
        pipeline.read(text)


def test_steps_say_what_changed() -> None:
    mod = relay_ir.parse(PROGRAM)
    dead, fold, nothing = pipeline.apply(mod, pipeline.read("DeadCodeElimination, FoldConstant, DefuseOps"))
    assert dead.operators() == {"exp": (1, 0)}
    assert fold.operators() == {"add": (2, 1)}
    assert nothing.operators() == {}
    assert nothing.diff() == []
    assert [line for line in dead.diff() if line.startswith("-  ")] == ["-  let %unused = exp(%x);"]
    assert dead.before is mod
    assert fold.before is dead.after


@pytest.mark.golden
def test_a_pipeline_makes_what_tvm_makes(recorded: Any) -> None:
    wanted = {"SimplifyExpr", "SimplifyInference, FoldConstant, FoldScaleAxis"}
    cases = [case for case in recorded("passes") if ", ".join(case["passes"]) in wanted]
    assert len(cases) > 20
    for case in cases[::4] + cases[-1:]:
        with relay_ir.transform.PassContext(opt_level=case["opt_level"]):
            last = pipeline.apply(relay_ir.load_json(case["json"]), pipeline.read(", ".join(case["passes"])))[-1]
        assert relay_ir.structural_equal(comparable(last.after), comparable(relay_ir.load_json(case["after_json"])))
