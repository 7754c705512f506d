"""What MSC's users ask of a graph, under its names."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from relay2relax import graph, relay_ir
from relay2relax.core.dtype import Array
from relay2relax.graph import GraphError, MSCGraph


@pytest.fixture
def net() -> tuple[MSCGraph, dict[str, Array]]:
    """A convolution, an activation, and a split whose halves are added."""
    x = relay_ir.var("data", shape=(1, 3, 8, 8))
    kernel = relay_ir.const(np.ones((4, 3, 3, 3), "float32"))
    conv = relay_ir.op.nn.relu(relay_ir.op.nn.conv2d(x, kernel))
    halves = relay_ir.op.split(conv, 2, 1)
    body = relay_ir.TupleGetItem(halves, 0) + relay_ir.TupleGetItem(halves, 1)
    return graph.from_relay(relay_ir.IRModule.from_expr(relay_ir.Function((x,), body)))


def test_tensors_are_found_by_place_role_and_name(net: tuple[MSCGraph, dict[str, Array]]) -> None:
    found, _ = net
    conv = found.find_node("conv2d")
    assert found.input_at(0).name == "data:0"
    assert found.output_at(0).name == "add:0"
    assert [one.name for one in found.inputs_of("conv2d")] == ["data:0"]
    assert conv.output_at(0).get_shape() == (1, 4, 6, 6)
    assert (conv.weight_at("weight").name, conv.weight_type("const")) == ("const", "weight")
    assert found.find_node("split").output_at(1).name == "split:1"
    assert found.find_producer("relu:0").name == "relu"
    assert [one.name for one in found.find_consumers("relu:0")] == ["split"]


def test_every_tensor_is_given_once(net: tuple[MSCGraph, dict[str, Array]]) -> None:
    found, _ = net
    names = [one.name for one in found.get_tensors()]
    assert names == ["data:0", "conv2d:0", "const", "relu:0", "split:0", "split:1", "split.0:0", "split.1:0", "add:0"]
    assert [one.name for one in found.get_nodes()][:2] == ["data", "conv2d"]
    assert found.get_prims() == ()


def test_what_is_not_there_is_named(net: tuple[MSCGraph, dict[str, Array]]) -> None:
    found, _ = net
    conv = found.find_node("conv2d")
    for ask in (
        lambda: found.input_at(1),
        lambda: found.output_at(-1),
        lambda: conv.output_at(1),
        lambda: conv.weight_at("bias"),
        lambda: conv.weight_type("data:0"),
        lambda: found.inputs_of("dense"),
    ):
        with pytest.raises(GraphError, match=r"conv2d|main"):
            ask()


def test_an_alias_is_a_second_name(net: tuple[MSCGraph, dict[str, Array]]) -> None:
    found, weights = net
    named = found.set_tensor_alias(found.find_tensor("relu:0"), "features")
    assert named.find_tensor("features").name == "relu:0"
    assert not found.has_tensor("features")
    assert "OUT: relu:0(features)<1,4,6,6|float32>" in graph.to_text(named)
    assert relay_ir.structural_equal(graph.to_relay(named, weights), graph.to_relay(found, weights))
    with pytest.raises(GraphError, match="another tensor 'data'"):
        named.set_tensor_alias(named.find_tensor("relu:0"), "data")


def test_clones_and_documents_are_equal(net: tuple[MSCGraph, dict[str, Array]]) -> None:
    found, weights = net
    assert found.clone() is not found
    assert found.equal(found.clone())
    assert found.equal(graph.from_json(graph.to_json(found)))
    assert not found.equal(found.set_tensor_alias(found.find_tensor("relu:0"), "features"))
    assert not found.equal(weights)


def test_equal_looks_into_branches() -> None:
    def branching(value: float) -> MSCGraph:
        x = relay_ir.var("x", shape=(), dtype="bool")
        y = relay_ir.var("y", shape=(2,))
        body = relay_ir.If(x, y, relay_ir.op.clip(y, 0.0, value))
        return graph.from_relay(relay_ir.IRModule.from_expr(relay_ir.Function((x, y), body)))[0]

    assert branching(1.0).equal(branching(1.0))
    assert not branching(1.0).equal(branching(2.0))


def test_prototxt_has_a_layer_for_each_node(net: tuple[MSCGraph, dict[str, Array]], tmp_path: Path) -> None:
    found, _ = net
    path = tmp_path / "net.prototxt"
    text = graph.visualize(found, path)
    assert path.read_text() == text == graph.to_prototxt(found)
    assert re.findall(r'^  type: "(.*)"$', text, re.MULTILINE) == [one.optype.replace(".", "_") for one in found.nodes]
    conv = text.split("layer {\n")[2]
    assert conv.splitlines()[:5] == [
        '  name: "conv2d"',
        '  type: "nn_conv2d"',
        '  top: "conv2d"',
        '  bottom: "data"',
        "  layer_param {",
    ]
    assert '    param_weight: "const<4,3,3,3|float32>"' in conv
    assert '    kernel_size: "' in conv
    assert text.count("{") == text.count("}")


def test_prototxt_writes_odd_names_as_text() -> None:
    x = relay_ir.var('x"é\n', shape=(2,))
    found, _ = graph.from_relay(relay_ir.IRModule.from_expr(relay_ir.Function((x,), relay_ir.op.abs(x))))
    text = graph.to_prototxt(found)
    assert text.isascii()
    assert text.count("layer {") == 2
    # Half of a pair of surrogates, which no file of protobuf holds, is shown by its number.
    half = graph.from_json(graph.to_json(found).replace('"abs"', '"abs\\ud800"'))
    assert 'name: "\\141\\142\\163\\134\\165\\144\\070\\060\\060"' in graph.to_prototxt(half)
