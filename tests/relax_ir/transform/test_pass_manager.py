"""Passes of one's own, contexts, and what holds for every pass: growth, repetition, scripts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sweep import CHAIN

from relay2relax import relax_ir as rx
from relay2relax import relay_ir
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.source import Span
from relay2relax.relax_ir.ir.visit import all_sequences, bindings
from relay2relax.relax_ir.transform import (
    AttachGlobalSymbol,
    BindParams,
    BindSymbolicVars,
    CallTIRRewrite,
    CanonicalizeBindings,
    ConvertToDataflow,
    DataflowBlockPass,
    DeadCodeElimination,
    DispatchCalls,
    EliminateCommonSubexpr,
    FoldConstant,
    FunctionPass,
    FuseOps,
    FuseTIR,
    KillAfterLastUse,
    LegalizeOps,
    LowerAllocTensor,
    ModulePass,
    Pass,
    PassContext,
    PassInfo,
    PassInstrument,
    Sequential,
    StaticPlanBlockMemory,
    ToNonDataflow,
    dataflowblock_pass,
    function_pass,
    module_pass,
)

SMALL = """
@I.ir_module
class Module:
    @R.function(private=True)
    def inner(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        r = R.exp(x)
        return r

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            a = R.add(x, x)
            b = R.add(x, x)
            c = R.multiply(a, b)
            R.output(c)
        return c
"""


def values(mod: rx.IRModule) -> list[str]:
    """Return what the operators of ``main`` are called, in order."""
    main = mod["main"]
    assert isinstance(main, rx.Function)
    calls = (binding.value for seq in all_sequences([main.body]) for binding in bindings(seq))
    return [call.op.name for call in calls if isinstance(call, rx.Call)]


def chain(length: int) -> rx.IRModule:
    x = rx.Var("x", rx.TensorStructInfo((2,), "float32"))
    bb = rx.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            value: rx.Expr = x
            for number in range(length):
                value = bb.emit(rx.call_op("negative" if number % 2 else "exp", value))
            out = bb.emit_output(value)
        bb.emit_func_output(out)
    return bb.get()


def test_functions_become_passes() -> None:
    seen: list[str] = []

    @module_pass(opt_level=1)
    def look(mod: rx.IRModule, context: PassContext) -> rx.IRModule:
        seen.append(f"module at {context.opt_level}")
        return mod

    @function_pass(opt_level=1, name="each")
    def each(func: rx.Function, mod: rx.IRModule, context: PassContext) -> rx.Function:
        seen.append(f"function of {len(mod.functions)}")
        return func

    @dataflowblock_pass(opt_level=3)
    def block(block: rx.BindingBlock, mod: rx.IRModule, context: PassContext) -> rx.BindingBlock:
        seen.append(f"block of {len(block.bindings)}")
        return block

    assert isinstance(look, ModulePass)
    assert isinstance(each, FunctionPass)
    assert isinstance(block, DataflowBlockPass)
    assert (look.info, each.info, block.info) == (PassInfo("look", 1), PassInfo("each", 1), PassInfo("block", 3))
    mod = rx.parse(SMALL)
    assert Sequential([look, each, block])(mod) is mod
    assert seen == ["module at 2", "function of 2", "function of 2"]
    with PassContext(opt_level=3):
        assert Sequential([look, block])(mod) is mod
    assert seen[3:] == ["module at 3", "block of 3"]


def test_classes_become_passes_with_options() -> None:
    @function_pass(opt_level=1)
    class Rename:
        def __init__(self, suffix: str) -> None:
            self.suffix = suffix

        def transform_function(self, func: rx.Function, mod: rx.IRModule, context: PassContext) -> rx.Function:
            return rx.Function(func.params, func.body, func.ret, {"kind": self.suffix}, func.pure, func.private)

    renamed = Rename("fast")
    assert isinstance(renamed, FunctionPass)
    assert renamed.info.name == "Rename"
    assert all(func.attrs == {"kind": "fast"} for func in renamed(rx.parse(SMALL)).functions.values())


def test_a_block_keeps_its_outputs() -> None:
    @dataflowblock_pass(opt_level=1)
    def half(block: rx.BindingBlock, mod: rx.IRModule, context: PassContext) -> rx.BindingBlock:
        return rx.BindingBlock(block.bindings[: len(block.bindings) // 2], dataflow=True)

    with pytest.raises(Relay2RelaxError, match="half has to return a dataflow block that outputs c"):
        half(rx.parse(SMALL))


def test_relay_has_the_same_decorators() -> None:
    assert relay_ir.transform.module_pass is module_pass

    @relay_ir.transform.function_pass(opt_level=2)
    def same(func: relay_ir.Function, mod: relay_ir.IRModule, context: PassContext) -> relay_ir.Function:
        return func

    mod = relay_ir.parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) { exp(%x) }')
    assert same.info == PassInfo("same", 2)
    assert same(mod) is mod


def test_contexts_say_which_passes_run() -> None:
    mod = rx.parse(SMALL)
    shared = Sequential([EliminateCommonSubexpr(), CanonicalizeBindings()])
    assert values(shared(mod)) == ["add", "multiply"]
    with PassContext(opt_level=0):
        assert shared(mod) is mod
    with PassContext(opt_level=0, required_pass=["EliminateCommonSubexpr", "CanonicalizeBindings"]):
        assert values(shared(mod)) == ["add", "multiply"]
    with PassContext(disabled_pass=["EliminateCommonSubexpr"]):
        assert values(shared(mod)) == ["add", "add", "multiply"]
        assert values(EliminateCommonSubexpr()(mod)) == ["add", "multiply"]  # not within a Sequential
    assert PassContext.current().opt_level == 2


def test_instruments_look_on_and_may_forbid() -> None:
    class Watch(PassInstrument):
        def __init__(self) -> None:
            self.log: list[str] = []

        def enter_pass_ctx(self) -> None:
            self.log.append("in")

        def exit_pass_ctx(self) -> None:
            self.log.append("out")

        def should_run(self, mod: Any, info: PassInfo) -> bool:
            return info.name != "FoldConstant"

        def run_before_pass(self, mod: Any, info: PassInfo) -> None:
            self.log.append(f"before {info.name}")

        def run_after_pass(self, mod: Any, info: PassInfo) -> None:
            self.log.append(f"after {info.name}")

    watch = Watch()
    with PassContext(instruments=[watch]):
        Sequential([FoldConstant(), ToNonDataflow()], name="both")(rx.parse(SMALL))
    assert watch.log == ["in", "before both", "before ToNonDataflow", "after ToNonDataflow", "after both", "out"]


def test_options_of_passes_come_with_the_context() -> None:
    lowered = LegalizeOps()(chain(8))
    assert FuseOps(fuse_opt_level=0)(lowered) is lowered
    with PassContext(opt_level=0):
        assert FuseOps()(lowered) is lowered
        assert FuseOps(fuse_opt_level=1)(lowered) is not lowered
    with PassContext(config={"relax.FuseOps.max_depth": 4}):
        assert FuseOps()(lowered).script().count("cls.fused_") == 2
        assert FuseOps(max_depth=8)(lowered).script().count("cls.fused_") == 1
    with pytest.raises(Relay2RelaxError, match=r"no pass has an option 'relax.depth'; there are: relax.FuseOps"):
        PassContext(config={"relax.depth": 4})
    with pytest.raises(Relay2RelaxError, match=r"'relax\.FuseOps\.max_depth' cannot be 'deep': expected int"):
        PassContext(config={"relax.FuseOps.max_depth": "deep"})


@pytest.mark.tvm
def test_every_function_can_be_called_from_outside() -> None:
    from tvm import relax

    mod = rx.parse(SMALL)
    made = AttachGlobalSymbol()(mod)
    assert not any(func.private for func in made.functions.values())
    assert rx.first_difference(made, rx.from_tvm(relax.transform.AttachGlobalSymbol()(rx.to_tvm(mod)))) is None
    assert AttachGlobalSymbol()(made) is made


LOWERED = LegalizeOps()
REWRITE, PLAN, FUSE, SHARE = CallTIRRewrite(), StaticPlanBlockMemory(), FuseOps(), EliminateCommonSubexpr()
# Each pass, and what has to run before it.
PASSES: dict[str, tuple[Pass[rx.IRModule], tuple[Pass[rx.IRModule], ...]]] = {
    "LegalizeOps": (LOWERED, ()),
    "FuseOps": (FUSE, (LOWERED,)),
    "FuseTIR": (FuseTIR(), (LOWERED, FUSE)),
    "BindParams": (BindParams("main", {}), ()),
    "BindSymbolicVars": (BindSymbolicVars({}), ()),
    "FoldConstant": (FoldConstant(), (BindParams("main", {"x": np.ones(2, np.float32)}),)),
    "DeadCodeElimination": (DeadCodeElimination(), ()),
    "EliminateCommonSubexpr": (SHARE, ()),
    "CanonicalizeBindings": (CanonicalizeBindings(), (SHARE,)),
    "ToNonDataflow": (ToNonDataflow(), ()),
    "ConvertToDataflow": (ConvertToDataflow(), (ToNonDataflow(),)),
    "CallTIRRewrite": (REWRITE, (LOWERED,)),
    "StaticPlanBlockMemory": (PLAN, (LOWERED, REWRITE)),
    "LowerAllocTensor": (LowerAllocTensor(), (LOWERED, REWRITE)),
    "KillAfterLastUse": (KillAfterLastUse(), (LOWERED, REWRITE, PLAN)),
    "DispatchCalls": (DispatchCalls({"exp": "library.exp"}), ()),
}


@pytest.mark.tvm
@pytest.mark.parametrize("name", PASSES)
@pytest.mark.sweep(every=2)
def test_every_pass_does_its_work_at_once_and_writes_what_tvm_reads(name: str) -> None:
    import tvm

    one, before = PASSES[name]
    for mod in (rx.parse(SMALL), chain(5)):
        given = Sequential(before)(mod)
        text = given.script()
        made = one(given)
        assert given.script() == text
        rx.check_well_formed(made)
        assert rx.structural_equal(one(made), made)
        tvm.script.from_source(made.script())


@pytest.mark.sweep(every=2)
def test_no_pass_recurses_over_the_program() -> None:
    long = chain(min(CHAIN, 8_000))
    lowered = LOWERED(long)
    written = REWRITE(lowered)
    known = {
        (): long,
        (LOWERED,): lowered,
        (LOWERED, FUSE): FUSE(lowered),
        (LOWERED, REWRITE): written,
        (LOWERED, REWRITE, PLAN): PLAN(written),
    }
    for one, before in PASSES.values():
        given = next((mod for passes, mod in known.items() if passes == before), None)
        assert isinstance(one(Sequential(before)(long) if given is None else given), rx.IRModule)


@pytest.mark.parametrize("name", ["DispatchCalls", "EliminateCommonSubexpr", "LegalizeOps", "ToNonDataflow"])
def test_passes_keep_the_places_of_the_model(name: str) -> None:
    x = rx.Var("x", rx.TensorStructInfo((2,), "float32"))
    bb = rx.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            value: rx.Expr = x
            for line in (1, 2, 3):
                value = bb.emit(rx.call_op("exp", value, span=Span("model", line)))
            out = bb.emit_output(value)
        bb.emit_func_output(out)
    main = PASSES[name][0](bb.get())["main"]
    assert isinstance(main, rx.Function)
    found = [binding.value for seq in all_sequences([main.body]) for binding in bindings(seq)]
    calls = (rx.Call, rx.CallTIR, rx.CallDPSPacked)
    assert [str(call.span) for call in found if isinstance(call, calls)] == ["model:1:0", "model:2:0", "model:3:0"]
