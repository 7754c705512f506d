"""The text of a graph is read back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from relay2relax import graph, relay_ir
from relay2relax.core.errors import ParseError
from relay2relax.graph import MSCGraph
from relay2relax.relay_ir import op

if TYPE_CHECKING:
    from model_cases import ModelCase

READ = ("mlp", "mlp_dynamic_batch", "resnet18_cifar", "bert_tiny", "lstm", "squeezenet", "unet")


def assert_read(found: MSCGraph, weights: dict[str, Any]) -> None:
    """The text says the same again, and the program is the same with its types."""
    assert is_the_same(found, weights)


def is_the_same(found: MSCGraph, weights: dict[str, Any]) -> bool:
    """Whether the program is the same; the text always is."""
    text = graph.to_text(found)
    again = graph.from_text(text)
    assert graph.to_text(again) == text
    before, after = (relay_ir.infer_type(graph.to_relay(one, weights)) for one in (found, again))
    return relay_ir.structural_equal(before["main"], after["main"])


@pytest.mark.golden
@pytest.mark.parametrize("name", READ)
@pytest.mark.sweep(every=2)
def test_models_are_read(get_model_case: Callable[[str], ModelCase], name: str) -> None:
    mod = relay_ir.load(get_model_case(name).folder / "model.relay")
    found, weights = graph.from_relay(mod)
    assert_read(found, weights)
    assert_read(graph.fuse(found, weights, graph.nn_patterns()), weights)


@pytest.mark.golden
def test_recorded_graphs_are_read(recorded: Any) -> None:
    """Of axes that a ``squeeze`` takes away the text does not tell none from all there are, which
    is the same where no extent is 1.
    """
    count = same = 0
    for case in recorded("msc"):
        found, weights = graph.from_relay(relay_ir.load_json(case["json"]))
        if any(node.op == "arange" for node in found.nodes):
            continue
        count += 1
        same += is_the_same(graph.fuse(found, weights, graph.msc_patterns("msc-2023")), weights)
    assert count - 2 <= same <= count
    assert same > 0


def test_attributes_of_every_sort_are_read() -> None:
    x = relay_ir.var("x", shape=(relay_ir.Any(), 4, 6))
    kernel = relay_ir.const(np.ones((2, 4, 3), "float32"))
    body: Any = op.nn.conv1d(x, kernel, padding=(1, 1))
    body = op.nn.pad(body, ((0, 0), (1, 2), (3, 4)), 0.5)
    halves = op.split(op.sum(body, axis=[2], keepdims=True), (1, 3), 1)
    body = op.concatenate([halves[0], op.clip(halves[2], -1.5, 1e-7)], 1)
    body = op.add(body, body) * relay_ir.const(2.5)
    mod = relay_ir.IRModule.from_expr(relay_ir.Function((x,), op.cast(body, "int8")))
    assert_read(*graph.from_relay(mod))


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda text: "", "line 1.*a graph"),
        (lambda text: text.replace("OPTYPE: nn.relu", "OPTYPE: nn.rleu"), "line 19.*'nn.rleu'"),
        (lambda text: text.replace("units=3", "units=three"), "line 12.*a number.*'three'"),
        (lambda text: text.replace("units=3", "unit=3"), "line 12.*attributes"),
        (lambda text: text.replace("IN: dense:0", "IN: danse:0"), "line 19.*'danse:0'"),
        (lambda text: text.replace("<2,3|float32>", "<2,3|flaot32>"), "flaot32"),
        (lambda text: text.replace("OUTPUTS: relu:0", "OUTPUTS: none:0"), "line 1.*'none:0'"),
        (lambda text: f"{text}what\n", "'what'"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(edit: Callable[[str], str], said: str) -> None:
    x = relay_ir.var("x", shape=(2, 4))
    dense = op.nn.dense(x, relay_ir.const(np.ones((3, 4), "float32")), units=3)
    found, _ = graph.from_relay(relay_ir.IRModule.from_expr(relay_ir.Function((x,), op.nn.relu(dense))))
    with pytest.raises(ParseError, match=said):
        graph.from_text(edit(graph.to_text(found)))


def test_control_flow_is_refused() -> None:
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(4), float32], %c: bool) { if (%c) { nn.relu(%x) } else { tanh(%x) } }"""
    found, _ = graph.from_relay(relay_ir.infer_type(relay_ir.parse(text)))
    with pytest.raises(ParseError, match=r"a node that a text can say.*'if'"):
        graph.from_text(graph.to_text(found))
