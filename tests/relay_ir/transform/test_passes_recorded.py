"""Passes against what TVM's passes made of the same modules."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from typed import of_type, present

from relay2relax import relay_ir
from relay2relax.core import Relay2RelaxError
from relay2relax.core.passes import Pass
from relay2relax.relay_ir import Call, Constant, Expr, Function, GlobalVar, IRModule, VirtualDevice, transform
from relay2relax.relay_ir.ir.rewrite import nodes, substitute


@dataclass(frozen=True, slots=True)
class Configured(Pass[IRModule]):
    """A pass in a context with options."""

    config: dict[str, object]
    one: Pass[IRModule]

    def transform(self, mod: IRModule) -> IRModule:
        with transform.PassContext(config=self.config):
            return self.one(mod)


PASSES: dict[str, Pass[IRModule]] = {
    "BackwardFoldScaleAxis": transform.BackwardFoldScaleAxis(),
    "CanonicalizeCast": transform.CanonicalizeCast(),
    "CombineParallelBatchMatmul": transform.CombineParallelBatchMatmul(),
    "CombineParallelConv2d": transform.CombineParallelConv2D(min_num_branches=2),
    "CombineParallelDense": transform.CombineParallelDense(min_num_branches=2),
    "DeadCodeElimination": transform.DeadCodeElimination(),
    "DefuseOps": transform.DefuseOps(),
    "DynamicToStatic": transform.DynamicToStatic(),
    "EliminateCommonSubexpr": transform.EliminateCommonSubexpr(),
    "EtaExpand": transform.EtaExpand(expand_constructor=True, expand_global_var=True),
    "FlattenAtrousConv": transform.FlattenAtrousConv(),
    "FoldConstant": transform.FoldConstant(),
    "FoldExplicitPadding": transform.FoldExplicitPadding(),
    "FoldScaleAxis": transform.FoldScaleAxis(),
    "ForwardFoldScaleAxis": transform.ForwardFoldScaleAxis(),
    "FuseOps": transform.FuseOps(),
    "InlineGlobals": transform.Inline(),
    "LambdaLift": transform.LambdaLift(),
    "RemoveUnusedFunctions": transform.RemoveUnusedFunctions(),
    "SimplifyExpr": transform.SimplifyExpr(),
    "SimplifyInference": transform.SimplifyInference(),
    "ToANormalForm": transform.ToANormalForm(),
    "ToBasicBlockNormalForm": transform.ToBasicBlockNormalForm(),
    "ToGraphNormalForm": transform.ToGraphNormalForm(),
}
# The options TVM's test gave to the pass, by the case and how many of its module came before it.
OPTIONS: dict[tuple[str, int], Pass[IRModule]] = {
    ("76e7acd2744c", 0): transform.DeadCodeElimination(inline_once=True),
    ("3a371ccb11b4", 0): transform.FuseOps(0),
    ("3caf9f2c0f01", 0): transform.FuseOps(0),
    ("4b79ac7c1c6e", 0): transform.FuseOps(0),
    ("561fad128090", 1): transform.FuseOps(0),
    ("5a8cc71977c6", 0): transform.FuseOps(0),
    **{
        (case, 0): transform.CombineParallelDense(2, to_batch=False)
        for case in (
            "0f668024c2a0",
            "3162bc3b158b",
            "3723d9edb3ef",
            "9228d61e478f",
            "ce06e73771ec",
            "da5b2f02d522",
            "ea9234ce334f",
        )
    },
    **{(case, 0): transform.CombineParallelDense(3, to_batch=False) for case in ("6406b6a435a9", "896d8dfe077f")},
    ("989284a2c807", 0): Configured({"relay.FuseOps.max_depth": 10}, transform.FuseOps()),
}
# TVM changed these modules while it recorded them: their JSON is the result, so the text is read.
CHANGED = frozenset({"ToANormalForm"})
# Their modules hold TensorIR functions, whose buffers say in which memory they expect arguments:
# they are refused.
LOWERED = frozenset({"403995cad096", "7a1b0f978fa3"})
# In these `1` is one shared node, which a text cannot say.
ONE_CONSTANT = frozenset({"7030af4390eb", "82828c5815ee"})


def with_one_constant(mod: IRModule) -> IRModule:
    """Return ``mod`` with all its constants, which are equal, as one node."""
    constants = [node for node in nodes(*mod.functions.values()) if isinstance(node, Constant)]
    assert len({one.data.item() for one in constants}) == 1
    shared: dict[Expr, Expr] = dict.fromkeys(constants, constants[0])
    functions = {var: of_type(substitute(one, shared), Function) for var, one in mod.functions.items()}
    return replace(mod, functions=functions)


def comparable(mod: IRModule) -> IRModule:
    """Return ``mod`` with its types where they can be inferred, and lifted functions numbered."""
    names: dict[str, str] = {}
    for node in nodes(*(mod[name] for name in sorted(var.name for var in mod.functions))):
        if isinstance(node, GlobalVar) and re.match(r"lifted_name\d+", node.name):
            names.setdefault(node.name, f"lifted_{len(names)}")
    renamed: dict[Expr, Expr] = {
        node: GlobalVar(names[node.name])
        for node in (*nodes(*mod.functions.values()), *mod.functions)
        if isinstance(node, GlobalVar) and node.name in names
    }
    functions = {
        of_type(renamed.get(var, var), GlobalVar): of_type(substitute(function, renamed), Function)
        for var, function in mod.functions.items()
    }
    mod = replace(mod, functions=functions, types={})
    try:
        return relay_ir.infer_type(mod)
    except relay_ir.TypeInferenceError:
        return mod


def test_passes_make_what_tvm_makes(recorded: Any) -> None:
    failures, count = [], 0
    seen: Counter[str] = Counter()
    for case in recorded("passes"):
        name = case["passes"][0].strip()
        if len(case["passes"]) != 1 or name not in PASSES:
            continue
        one = OPTIONS.get((case["id"], seen[case["id"]]), PASSES[name])
        seen[case["id"]] += 1
        try:
            before = relay_ir.parse(case["text"]) if name in CHANGED else relay_ir.load_json(case["json"])
            expected = relay_ir.load_json(case["after_json"])
            if case["id"] in ONE_CONSTANT:
                before = with_one_constant(before)
            with transform.PassContext(opt_level=int(case["opt_level"])):
                after = one(before)
            difference = relay_ir.first_difference(comparable(after), comparable(expected))
        except Relay2RelaxError as error:
            difference = str(error)
        count += 1
        if difference is not None:
            failures.append(f"{case['id']} {name}: {difference}")
    assert failures == []
    assert count == 261


@pytest.mark.parametrize("name", sorted(PASSES))
def test_models_stay_what_they_are(get_model_case: Callable[[str], Any], name: str) -> None:
    """A pass leaves a model's interface, and what it returns can be inferred, printed and saved."""
    mod = relay_ir.load_json(get_model_case("dqn").json)
    after = relay_ir.infer_type(PASSES[name](mod))
    assert relay_ir.structural_equal(relay_ir.load_json(relay_ir.save_json(after)), after)
    assert after["main"].ret_type == relay_ir.infer_type(mod)["main"].ret_type
    assert len(after["main"].params) == len(mod["main"].params)


def devices_of(mod: IRModule) -> list[VirtualDevice]:
    """Return the devices that a planned module names."""
    found: list[VirtualDevice | None] = []
    for node in nodes(*mod.functions.values()):
        if isinstance(node, Function):
            found += [node.virtual_device, *(param.virtual_device for param in node.params)]
        elif isinstance(node, Call):
            names = ("virtual_device", "src_virtual_device", "dst_virtual_device")
            found += [getattr(node.attrs, name) for name in names if hasattr(node.attrs, name)]
    return [one for one in found if one is not None and not one.memory_scope]


def test_devices_are_planned_as_tvm_plans_them(recorded: Any) -> None:
    cases = [case for case in recorded("passes") if "PlanDevicesCore" in case["passes"] and case["id"] not in LOWERED]
    assert len(cases) == 41
    loaded = [(case["id"], *(relay_ir.load_json(case[key]) for key in ("json", "after_json"))) for case in cases]
    named = [device for _, _, after in loaded for device in devices_of(after)]
    # TVM's tests plan for a GPU, by a host whose target has no host of its own.
    gpu = next(one for one in named if one.device_type == 2)
    host = next(one for one in named if one.device_type == 1 and present(one.target).host is None)
    plan = transform.PlanDevices(default_device=gpu, host_device=host)
    failures = []
    for name, before, after in loaded:
        planned = relay_ir.infer_type(plan(before))
        difference = relay_ir.first_difference(planned, relay_ir.infer_type(after))
        again = relay_ir.first_difference(relay_ir.infer_type(plan(planned)), planned)
        if difference is not None or again is not None:
            failures.append(f"{name}: {difference}; planned again: {again}")
    assert failures == []
