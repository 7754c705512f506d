"""Sequences of passes, their context, and instruments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest
from typed import of_type

from relay2relax import relay_ir
from relay2relax.relay_ir import Call, Function, GlobalVar, IRModule, Op, transform, var
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.transform import Pass, PassContext, PassInfo, PassInstrument, Sequential


def module() -> IRModule:
    x = var("x", shape=(2,))
    one = relay_ir.const(1.0)
    return IRModule({GlobalVar("main"): Function((x,), op.add(x, op.add(one, one)))})


class Listing(PassInstrument):
    def __init__(self, refused: tuple[str, ...] = ()) -> None:
        self.events: list[str] = []
        self.refused = refused

    def enter_pass_ctx(self) -> None:
        self.events.append("enter")

    def exit_pass_ctx(self) -> None:
        self.events.append("exit")

    def should_run(self, mod: object, info: PassInfo) -> bool:
        return info.name not in self.refused

    def run_before_pass(self, mod: object, info: PassInfo) -> None:
        self.events.append(f"before {info.name}")

    def run_after_pass(self, mod: object, info: PassInfo) -> None:
        self.events.append(f"after {info.name}")


PIPELINE = [transform.InferType(), transform.FoldConstant(), transform.EliminateCommonSubexpr()]


def ran(context: PassContext) -> list[str]:
    listing = Listing()
    with PassContext(context.opt_level, context.required_pass, context.disabled_pass, [listing]):
        Sequential(PIPELINE)(module())
    return [event.split()[1] for event in listing.events if event.startswith("before ")]


def test_levels() -> None:
    assert ran(PassContext(opt_level=0)) == ["sequential", "InferType"]
    assert ran(PassContext(opt_level=2)) == ["sequential", "InferType", "FoldConstant"]
    assert ran(PassContext(opt_level=3)) == ["sequential", "InferType", "FoldConstant", "EliminateCommonSubexpr"]


def test_required_and_disabled_passes() -> None:
    assert ran(PassContext(opt_level=0, required_pass=["FoldConstant"])) == ["sequential", "InferType", "FoldConstant"]
    assert ran(PassContext(opt_level=3, disabled_pass=["FoldConstant", "InferType"])) == [
        "sequential",
        "EliminateCommonSubexpr",
    ]


def test_the_context_is_the_innermost() -> None:
    assert PassContext.current().opt_level == 2
    with PassContext(opt_level=3):
        with PassContext(opt_level=0):
            assert PassContext.current().opt_level == 0
        assert PassContext.current().opt_level == 3
    with pytest.raises(RuntimeError), PassContext(opt_level=1):
        raise RuntimeError
    assert PassContext.current().opt_level == 2


def test_instruments_see_every_pass() -> None:
    listing = Listing()
    with PassContext(instruments=[listing]):
        transform.InferType()(module())
    assert listing.events == ["enter", "before InferType", "after InferType", "exit"]


def test_an_instrument_can_refuse() -> None:
    mod, listing = module(), Listing(refused=("FoldConstant",))
    with PassContext(instruments=[listing]):
        assert transform.FoldConstant()(mod) is mod
    assert "before FoldConstant" not in listing.events


def test_timing() -> None:
    timing = transform.PassTimingInstrument()
    with PassContext(opt_level=3, instruments=[timing]):
        Sequential(PIPELINE, name="pipeline")(module())
        lines = timing.render().splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "pipeline",
        "  InferType",
        "  FoldConstant",
        "  EliminateCommonSubexpr",
    ]
    assert "(100.00%)" in lines[0]


def test_printing() -> None:
    written: list[str] = []
    printing = transform.PassPrintingInstrument(["FoldConstant"], ["FoldConstant"], written.append)
    with PassContext(instruments=[printing]):
        Sequential(PIPELINE)(module())
    assert len(written) == 2
    assert written[0].startswith("Before running pass FoldConstant:\ndef @main(")
    assert "add(1f" in written[0]
    assert "add(1f" not in written[1]
    every: list[str] = []
    with PassContext(instruments=[transform.PassPrintingInstrument(None, None, every.append)]):
        Sequential(PIPELINE)(module())
    assert len(every) == 6


def test_a_pass_of_ones_own() -> None:
    @dataclass(frozen=True)
    class Count(Pass[IRModule]):
        found: list[int]
        opt_level: ClassVar[int] = 3

        def transform(self, mod: IRModule) -> IRModule:
            self.found.append(len(mod.functions))
            return mod

    found: list[int] = []
    Sequential([Count(found)])(module())
    assert found == []
    with PassContext(opt_level=3):
        Sequential([Count(found)])(module())
    assert found == [1]


def test_a_pass_over_functions() -> None:
    def change(function: Function, mod: IRModule) -> Function:
        return Function(function.params, op.nn.relu(function.body))

    after = transform.FunctionPass(change, name="relu")(module())
    assert of_type(of_type(after["main"].body, Call).op, Op).name == "nn.relu"
