"""The recorded models through what ``relay.build`` ran at level 3, and backwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import sweep

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


def check(mod: IRModule, given: Sequence[Any], case: Any, name: str) -> None:
    found = flatten(create_executor("debug", mod).evaluate()(*given))
    for value, expected in zip(found, case.expected(), strict=True):
        scale = max(1.0, float(np.abs(expected).max(initial=0)))
        assert np.allclose(value, expected, rtol=5e-4, atol=5e-5 * scale), name


@pytest.mark.golden
@pytest.mark.sweep(every=8)
@pytest.mark.parametrize("model", MODELS)
def test_models_through_the_passes_of_build(model: str, get_model_case: Callable[[str], Any]) -> None:
    """The weights are bound, as ``relay.build`` binds them; every step, or of large models
    the last, gives what was recorded.
    """
    model_case = get_model_case(model)
    mod = relay_ir.infer_type(relay_ir.parse(model_case.text))
    arguments = model_case.arguments()
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
            # The others compute for minutes what each pass leaves of them.
            if mod is not before and (model in QUICK or sweep.FULL):
                check(mod, given, model_case, one.info.name)
    assert "FuseOps" in ran
    assert not {"FastMath", "CombineParallelConv2D"} & set(ran)
    assert any("Primitive" in node.attrs for node in functions(mod))
    mod = transform.DefuseOps()(mod)
    assert not any("Primitive" in node.attrs for node in functions(mod))
    check(mod, given, model_case, "DefuseOps")


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
