"""The recorded models through what ``relay.build`` ran at level 3, and backwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pytest
import sweep
from passes_swept.programs import InC, Recorded

from relay2relax import relay_ir
from relay2relax.backends import create_executor
from relay2relax.core.passes import PassContext
from relay2relax.relay_ir import IRModule, transform
from relay2relax.relay_ir.pipeline import passes_of_build
from relay2relax.translator.arguments import flatten

# A sample takes the first of each eight, which are quick.
MODELS = (
    "bert_tiny", "mlp_dynamic_batch", "dqn", "dcgan", "squeezenet", "mobilenet", "mobilenetv2", "resnet18_cifar",
    "mlp", "resnet18_imagenet", "resnet18_onnx_small", "unet", "unet_128", "lstm", "lstm_relay", "bert_mini",
)  # fmt: skip
QUICK = ("bert_tiny", "mlp_dynamic_batch", "dqn", "dcgan", "squeezenet", "resnet18_cifar", "mlp", "unet", "lstm")
# The others are compiled for a minute.
QUICK_IN_C = ("mlp", "lstm_relay", "dqn", "bert_tiny")


# What a program gives: (module, arguments) -> result.
Run: TypeAlias = Callable[[IRModule, Sequence[Any]], Any]


def on_numpy(mod: IRModule, given: Sequence[Any]) -> Any:
    return create_executor("debug", mod).evaluate()(*given)


def in_c() -> Run:
    """Run programs one after the other, each operator compiled once for all of them."""
    way = InC()

    def run(mod: IRModule, given: Sequence[Any]) -> Any:
        mod = relay_ir.infer_type(mod)
        way.prepare([mod])
        return way(mod, Recorded({}, mod, "main", given))

    return run


def check(run: Run, mod: IRModule, given: Sequence[Any], case: Any, name: str) -> None:
    for value, expected in zip(flatten(run(mod, given)), case.expected(), strict=True):
        scale = max(1.0, float(np.abs(expected).max(initial=0)))
        assert np.allclose(value, expected, rtol=5e-4, atol=5e-5 * scale), name


def through_the_passes(case: Any, run: Run, every_step: bool) -> None:
    """Bind the weights, as ``relay.build`` does, and run behind each step that changes the program,
    or behind the last.
    """
    mod = relay_ir.infer_type(relay_ir.parse(case.text))
    arguments = case.arguments()
    params = mod["main"].params
    weights = {param.name: value for param, value in list(zip(params, arguments, strict=True))[1:]}
    mod = relay_ir.infer_type(relay_ir.bind_params(mod, weights))
    given = [value for param, value in zip(params, arguments, strict=True) if param.name not in weights]
    ran = []
    with PassContext(opt_level=3) as context:
        for one in passes_of_build():
            if not context.enabled(one.info):
                continue
            before, mod = mod, one(mod)
            ran.append(one.info.name)
            if mod is not before and every_step:
                check(run, mod, given, case, one.info.name)
    assert "FuseOps" in ran
    assert not {"FastMath", "CombineParallelConv2D"} & set(ran)
    assert any("Primitive" in node.attrs for node in functions(mod))
    mod = transform.DefuseOps()(mod)
    assert not any("Primitive" in node.attrs for node in functions(mod))
    check(run, mod, given, case, "DefuseOps")


@pytest.mark.golden
@pytest.mark.sweep(every=8)
@pytest.mark.parametrize("model", MODELS)
def test_models_through_the_passes_of_build(model: str, get_model_case: Callable[[str], Any]) -> None:
    """Every step, or of large models the last, gives what was recorded."""
    # The others compute for minutes what each pass leaves of them.
    through_the_passes(get_model_case(model), on_numpy, model in QUICK or sweep.FULL)


@pytest.mark.golden
@pytest.mark.compiler
@pytest.mark.sweep(every=4)
@pytest.mark.parametrize("model", MODELS if sweep.FULL else QUICK_IN_C)
def test_models_in_c_through_the_passes_of_build(model: str, get_model_case: Callable[[str], Any]) -> None:
    """Every step gives in C what was recorded."""
    through_the_passes(get_model_case(model), in_c(), True)


def functions(mod: IRModule) -> list[relay_ir.Function]:
    found: list[relay_ir.Function] = []
    relay_ir.analysis.post_order_visit(
        mod["main"], lambda node: found.append(node) if isinstance(node, relay_ir.Function) else None
    )
    return found


def test_what_the_machine_and_several_targets_run() -> None:
    names = [one.info.name for one in passes_of_build(vm=True, max_function_args=8)]
    assert names[4:6] == ["SimplifyInference", "EtaExpand"]
    assert names[-4:] == ["SplitArgs", "PlanDevices", "FuseOps", "Inline"]
    mixed = [one.info.name for one in passes_of_build(homogeneous=False)]
    assert not {"Legalize", "AlterOpLayout", "SplitArgs"} & set(mixed)
