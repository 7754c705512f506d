"""Parts of programs: what goes in and out, and the whole again from its parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relay_ir, translator
from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir import IRModule, structural_equal
from relay2relax.relay_ir.subgraphs import NodeNameError, extract, join, named_nodes, split
from relay2relax.translator.arguments import flatten
from relay2relax.translator.subgraphs import alone, record_parts

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(4, 6), float32], %w: Tensor[(4, 6), float32]) {
  %0 = exp(%x);
  %1 = add(%0, %w);
  %2 = split(%1, indices_or_sections=2, axis=1);
  %3 = %2.0;
  %4 = %2.1;
  %5 = (%3, %4, %3);
  %6 = concatenate(%5, axis=1);
  %7 = sum(%6, axis=[1], keepdims=True);
  %8 = tanh(%0);
  multiply(%7, %8)
}
"""
MOD = relay_ir.infer_type(relay_ir.parse(TEXT))


def text_of(function: relay_ir.Function) -> str:
    return str(function).replace('#[version = "0.0.5"]\n', "")


def typed(main: str) -> IRModule:
    return relay_ir.infer_type(relay_ir.parse(f'#[version = "0.0.5"]\ndef @main{main}'))


def check(function: relay_ir.Function, expected: str) -> None:
    wanted = typed(expected)["main"]
    made = relay_ir.infer_type(IRModule.from_expr(function))["main"]
    assert structural_equal(made, wanted), text_of(function)
    assert [param.name for param in made.params] == [param.name for param in wanted.params]


def test_nodes_are_named_as_in_the_text() -> None:
    assert list(named_nodes(MOD)) == ["%x", "%w", *(f"%{number}" for number in range(9))]


def test_one_node() -> None:
    check(extract(MOD, "%1").function, "(%t0: Tensor[(4, 6), float32], %w: Tensor[(4, 6), float32]) { add(%t0, %w) }")
    # A tuple is put together again from its fields.
    half = "Tensor[(4, 3), float32]"
    check(extract(MOD, "6").function, f"(%t3: {half}, %t4: {half}) {{ concatenate((%t3, %t4, %t3), axis=1) }}")


def test_between_two_nodes() -> None:
    check(
        extract(MOD, "%6", between="%1").function,
        "(%t1: Tensor[(4, 6), float32]) { %0 = split(%t1, indices_or_sections=2, axis=1); %1 = %0.0; %2 = %0.1; "
        "concatenate((%1, %2, %1), axis=1) }",
    )
    # What does not come by that way is given, too.
    part = extract(MOD, "%7", between="%4")
    assert [param.name for param in part.function.params] == ["t3", "t4"]


def test_names_that_are_none() -> None:
    with pytest.raises(NodeNameError, match=r"@main has no node '%99'"):
        extract(MOD, "%99")
    with pytest.raises(NodeNameError, match="no way leads from %8 to %6"):
        extract(MOD, "%6", between="%8")
    with pytest.raises(NodeNameError, match="a parameter, which nothing computes"):
        extract(MOD, "%x")


def test_variables_of_lets() -> None:
    mod = relay_ir.infer_type(
        relay_ir.parse(
            '#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { let %y = exp(%x); let %z = log(%y); abs(%z) }'
        )
    )
    check(extract(mod, "%z").function, "(%y: Tensor[(2), float32]) { log(%y) }")
    check(extract(mod, "%z", between="%x").function, "(%x: Tensor[(2), float32]) { log(exp(%x)) }")


def test_parts_need_each_other() -> None:
    parts = split(MOD, ["%6", "%1"])
    assert [[param.name for param in part.function.params] for part in parts] == [["x", "w"], ["t1"], ["t6", "t0"]]
    assert [len(part.outputs) for part in parts] == [2, 1, 1]


def test_a_branch_cannot_be_split() -> None:
    mod = typed("(%c: bool, %x: Tensor[(2), float32]) { if (%c) { %0 = exp(%x); tanh(%0) } else { %x } }")
    with pytest.raises(NodeNameError, match="no node '%0'"):
        extract(mod, "%0")
    with pytest.raises(UnsupportedError, match="@main has a If"):
        split(mod, ["%x"])


def run(mod: IRModule, arguments: Any) -> list[np.ndarray]:
    return flatten(backends.create_executor("debug", mod).evaluate()(*arguments))


# A sample takes the first of each eight, which are quick.
MODELS = (
    "mlp", "lstm", "squeezenet", "mlp_dynamic_batch", "unet", "resnet18_cifar", "dqn", "dcgan",
    "bert_tiny", "mobilenet", "mobilenetv2", "resnet18_imagenet", "resnet18_onnx_small", "unet_128", "lstm_relay",
    "bert_mini",
)  # fmt: skip


@pytest.mark.golden
@pytest.mark.sweep(every=8)
@pytest.mark.parametrize("name", MODELS)
def test_recorded_models_from_their_parts(name: str, get_model_case: Any) -> None:
    case = get_model_case(name)
    mod = relay_ir.infer_type(relay_ir.parse(case.text))
    arguments = case.arguments()
    lines = [name for name, node in named_nodes(mod).items() if node not in mod["main"].params]
    at = lines[len(lines) // 4 :: max(1, len(lines) // 4)]
    parts = split(mod, at)
    assert len(parts) >= 3
    whole = run(mod, arguments)
    joined = run(join(mod, parts), arguments)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(whole, joined, strict=True))
    # Each part by itself gives what was recorded of it.
    for part, found in zip(parts, record_parts(mod, parts, arguments), strict=True):
        given = [found.inputs[param.name] for param in part.function.params]
        results = run(found.module, given)
        assert all(a.tobytes() == b.tobytes() for a, b in zip(results, found.expected, strict=True))
    assert translator is not None
    assert alone(mod, parts[0].function)["main"].params == parts[0].function.params
