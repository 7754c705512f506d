"""Passes against what TVM's passes made of the same modules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from passes_swept.recorded import comparable
from typed import of_type, present

from relay2relax import relay_ir
from relay2relax.backends import create_executor
from relay2relax.core import Relay2RelaxError
from relay2relax.core.dtype import Array
from relay2relax.core.passes import Pass
from relay2relax.relay_ir import Call, Constant, Expr, Function, IRModule, VirtualDevice, transform
from relay2relax.relay_ir.ir.rewrite import nodes, substitute
from relay2relax.tir.extent import static


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
    "FirstOrderGradient": transform.FirstOrderGradient(),
    "FlattenAtrousConv": transform.FlattenAtrousConv(),
    "FoldConstant": transform.FoldConstant(),
    "FoldExplicitPadding": transform.FoldExplicitPadding(),
    "FoldScaleAxis": transform.FoldScaleAxis(),
    "ForwardFoldScaleAxis": transform.ForwardFoldScaleAxis(),
    "FuseOps": transform.FuseOps(),
    "InlineGlobals": transform.Inline(),
    "LambdaLift": transform.LambdaLift(),
    "PartialEval": transform.PartialEvaluate(),
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


def partially(ignore_impurity: bool) -> Pass[IRModule]:
    """What TVM's tests of partial evaluation run."""
    dead = transform.DeadCodeElimination(inline_once=True, ignore_impurity=ignore_impurity)
    return transform.Sequential([transform.PartialEvaluate(), transform.InferType(), dead])


OPTIONS |= {
    (case, 0): partially(case in ("2b6ab7ca5589", "a815390d80a0"))
    for case in (
        "0174c46c8f24",
        "17c51fab40d7",
        "2b6ab7ca5589",
        "7c08b195985e",
        "81a4905f2f2a",
        "a815390d80a0",
        "d613f2088ef9",
    )
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


def cases_of(recorded: Any) -> Iterator[tuple[dict[str, Any], Pass[IRModule]]]:
    """Yield the cases of passes that are built, each with the pass as its test called it."""
    seen: Counter[str] = Counter()
    for case in recorded("passes"):
        names = [name.strip() for name in case["passes"]]
        if PASSES.keys() >= set(names):
            one = PASSES[names[0]] if len(names) == 1 else transform.Sequential([PASSES[name] for name in names])
            yield case, OPTIONS.get((case["id"], seen[case["id"]]), one)
            seen[case["id"]] += 1


def before_and_after(case: dict[str, Any], one: Pass[IRModule]) -> tuple[IRModule, IRModule]:
    """Return the module of a case, and what ``one`` makes of it in the context of the case."""
    changed = case["passes"][0] in CHANGED
    before = relay_ir.parse(case["text"]) if changed else relay_ir.load_json(case["json"])
    if case["id"] in ONE_CONSTANT:
        before = with_one_constant(before)
    with transform.PassContext(opt_level=int(case["opt_level"])):
        return before, one(before)


@pytest.mark.sweep(every=2)
def test_passes_make_what_tvm_makes(recorded: Any) -> None:
    failures, count = [], 0
    for case, one in cases_of(recorded):
        try:
            _, after = before_and_after(case, one)
            expected = relay_ir.load_json(case["after_json"])
            difference = relay_ir.first_difference(comparable(after), comparable(expected))
        except Relay2RelaxError as error:
            difference = str(error)
        count += 1
        if difference is not None:
            failures.append(f"{case['id']} {case['passes'][0]}: {difference}")
    assert failures == []
    assert count == 273


def drawn(ty: relay_ir.Type, numbers: np.random.Generator) -> Array:
    """Return an array of a tensor type; unknown extents are 2."""
    ty = of_type(ty, relay_ir.TensorType)
    shape = [2 if extent is None else extent for extent in map(static, ty.shape)]
    if ty.dtype.startswith("float"):
        return np.asarray(numbers.uniform(0.2, 2, shape) * numbers.choice([-1, 1], shape), ty.dtype)
    return numbers.integers(-5 if ty.dtype.startswith("int") else 0, 2, shape).astype(ty.dtype)


# Passes over programs without inputs, or of types that are not drawn here.
NOT_DRAWN = frozenset(
    {
        "EtaExpand",
        "FirstOrderGradient",
        "InlineGlobals",
        "LambdaLift",
        "PartialEval",
        "RemoveUnusedFunctions",
        "ToANormalForm",
    }
)
# Its before is ill-typed until the pass has run; shifts are drawn that no one can compute.
NOT_RUN = frozenset({"0c6d17080e3f", "dadd72a1d1c2", "dbe2e651f90d"})


def test_passes_keep_values(recorded: Any) -> None:
    """Every fourth case gives the same numbers before and after, on the numpy executor."""
    numbers = np.random.default_rng(0)
    count = 0
    for case, one in list(cases_of(recorded))[::4]:
        if case["passes"][0] in NOT_DRAWN or case["id"] in NOT_RUN:
            continue
        before, after = before_and_after(case, one)
        types = relay_ir.infer_type(before).types
        main = before["main"]
        if not all(isinstance(types[param], relay_ir.TensorType) for param in main.params):
            continue
        inputs = [drawn(types[param], numbers) for param in main.params]
        first, second = (tree_leaves(create_executor("debug", mod).evaluate()(*inputs)) for mod in (before, after))
        assert len(first) == len(second), case["id"]
        for a, b in zip(first, second, strict=True):
            assert a.dtype == b.dtype, case["id"]
            np.testing.assert_allclose(b, a, rtol=1e-3, atol=1e-3, err_msg=case["id"])
        count += 1
    assert count > 40


def tree_leaves(value: Any) -> list[Any]:
    """Return the arrays of a result."""
    return (
        [leaf for one in value for leaf in tree_leaves(one)]
        if isinstance(value, (tuple, list))
        else [np.asarray(value)]
    )


@pytest.mark.parametrize("name", sorted(set(PASSES) - {"FirstOrderGradient"}))
def test_models_stay_what_they_are(get_model_case: Callable[[str], Any], name: str) -> None:
    """A pass leaves a model's interface, and what it returns can be inferred, printed and saved."""
    mod = relay_ir.load_json(get_model_case("dqn").json)
    after = relay_ir.infer_type(PASSES[name](mod))
    assert relay_ir.structural_equal(relay_ir.load_json(relay_ir.save_json(after)), after)
    assert after["main"].ret_type == relay_ir.infer_type(mod)["main"].ret_type
    assert len(after["main"].params) == len(mod["main"].params)


# Passes that no recorded case is of.
OTHERS = {"CanonicalizeOps": transform.CanonicalizeOps(), "DivToMul": transform.DivToMul()}


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("name", sorted({*PASSES, *OTHERS} - {"FirstOrderGradient", "RemoveUnusedFunctions"}))
@pytest.mark.parametrize("model", ["dqn", "mlp", "bert_tiny"])
def test_models_compute_what_they_did(get_model_case: Callable[[str], Any], model: str, name: str) -> None:
    """What TVM recorded of a model is what it gives behind each pass."""
    case = get_model_case(model)
    with transform.PassContext(opt_level=4):
        after = (PASSES | OTHERS)[name](relay_ir.load_json(case.json))
    found = tree_leaves(create_executor("debug", after).evaluate()(*case.arguments()))
    for value, expected in zip(found, case.expected(), strict=True):
        np.testing.assert_allclose(value, expected, rtol=2e-4, atol=2e-5)


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


# As relay.build of TVM 0.18 runs them at level 4, and then backwards.
PIPELINE: tuple[Pass[IRModule], ...] = (
    transform.SimplifyInference(),
    transform.CombineParallelConv2D(2),
    transform.CombineParallelDense(2),
    transform.CombineParallelBatchMatmul(2),
    transform.FoldConstant(),
    transform.FoldScaleAxis(),
    transform.SimplifyExpr(),
    transform.CanonicalizeCast(),
    transform.CanonicalizeOps(),
    transform.FlattenAtrousConv(),
    transform.FoldExplicitPadding(),
    transform.EliminateCommonSubexpr(),
    transform.FuseOps(),
    transform.DefuseOps(),
)


@pytest.mark.parametrize(
    "model", ["bert_tiny", "dqn", "lstm_relay", "mlp", "mlp_dynamic_batch", "resnet18_onnx_small", "squeezenet"]
)
@pytest.mark.sweep(every=2)
def test_models_go_through_the_pipeline(get_model_case: Callable[[str], Any], model: str) -> None:
    """A model gives what TVM recorded of it behind each step of a whole pipeline."""
    case = get_model_case(model)
    mod, given = relay_ir.load_json(case.json), case.arguments()
    for one in PIPELINE:
        with transform.PassContext(opt_level=4):
            mod = one(mod)
        found = tree_leaves(create_executor("debug", mod).evaluate()(*given))
        for value, expected in zip(found, case.expected(), strict=True):
            np.testing.assert_allclose(value, expected, rtol=5e-4, atol=1e-4, err_msg=one.info.name)


def test_spans_say_the_order_of_evaluation(recorded: Any) -> None:
    """Every node has the span that TVM gave it."""
    (case,) = [case for case in recorded("passes") if case["passes"] == ["CapturePostDfsIndexInSpans"]]
    after = transform.CapturePostDfsIndexInSpans()(relay_ir.load_json(case["json"]))
    expected = relay_ir.load_json(case["after_json"])
    assert relay_ir.first_difference(comparable(after), comparable(expected)) is None
    found, wanted = ([getattr(node, "span", None) for node in nodes(mod["main"])] for mod in (after, expected))
    assert found == wanted
