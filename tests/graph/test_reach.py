"""Ancestors, ways, levels and cuts of graphs, beside those that networkx finds."""

from __future__ import annotations

import itertools
import random
import time

import networkx as nx
import pytest

from relay2relax import graph, relax_ir, relay_ir
from relay2relax.graph import GraphError, MSCGraph, MSCJoint, MSCTensor
from relay2relax.graph.kinds import NodeKind
from relay2relax.relay_ir import op


def names(nodes: tuple[MSCJoint, ...]) -> list[str]:
    """Return the names of nodes."""
    return [node.name for node in nodes]


def drawn(seed: int, size: int = 14) -> MSCGraph:
    """Return a graph of sums of two of the values before each, with two inputs."""
    draw = random.Random(seed)
    inputs = tuple(relay_ir.var(name, shape=(2,)) for name in "xy")
    made: list[relay_ir.Expr] = list(inputs)
    for _ in range(size):
        made.append(op.add(*draw.sample(made[-4:], 2)) if draw.random() < 0.5 else op.nn.relu(made[-1]))
    return graph.from_relay(relay_ir.IRModule.from_expr(relay_ir.Function(inputs, made[-1])))[0]


@pytest.mark.parametrize("seed", range(12))
def test_what_networkx_finds(seed: int) -> None:
    found = drawn(seed)
    dag = found.dag
    for node in found.nodes:
        assert set(names(graph.ancestors(found, node.name))) == nx.ancestors(dag, node.name)
        assert set(names(graph.descendants(found, node.name))) == nx.descendants(dag, node.name)
    assert [set(names(level)) for level in graph.levels(found)] == [set(one) for one in nx.topological_generations(dag)]
    # networkx has no ways from a node to itself.
    for first, last in itertools.permutations(dag.nodes, 2):
        assert set(graph.paths(found, first, last)) == set(map(tuple, nx.all_simple_paths(dag, first, last)))


@pytest.mark.parametrize("seed", range(12))
def test_cuts_are_what_separates_inputs_and_result(seed: int) -> None:
    found = drawn(seed)
    wanted = []
    for node in found.nodes:
        rest = found.dag.copy()
        rest.remove_node(node.name)
        sources = [name for name in found.params if name in rest]
        if node.name == found.result or not any(nx.has_path(rest, name, found.result) for name in sources):
            wanted.append(node.name)
    assert names(graph.cut_points(found)) == [name for name in wanted if nx.has_path(found.dag, name, found.result)]


@pytest.fixture
def net() -> MSCGraph:
    """A product with a weight, and two branches that meet."""
    x, w = relay_ir.var("x", shape=(2, 3)), relay_ir.var("w", shape=(3, 3))
    product = op.nn.dense(x, w, units=3)
    body = op.add(op.nn.relu(product), op.tanh(product))
    return graph.from_relay(relay_ir.IRModule.from_expr(relay_ir.Function((x, w), op.sqrt(body))))[0]


def test_nodes_between_tensors(net: MSCGraph) -> None:
    assert names(graph.between(net, ["dense:0"], ["add:0"])) == ["relu", "tanh", "add"]
    assert names(graph.between(net, ["relu:0"], ["sqrt:0"])) == ["add", "sqrt"]
    assert names(graph.between(net, ["sqrt:0"], ["x:0"])) == []


def test_weights_are_no_inputs_of_a_cut(net: MSCGraph) -> None:
    assert graph.learned_inputs(net) == {"w"}
    assert names(graph.cut_points(net)) == ["x", "dense", "add", "sqrt"]
    assert names(graph.cut_points(net, ["x", "w"])) == ["dense", "add", "sqrt"]


def test_weights_of_a_relax_program_are_told_by_their_place(net: MSCGraph) -> None:
    text = """from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), s: R.Tensor((3,), "float32")) -> R.Tensor((2, 3), "float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            gv = R.add(x, s)
            R.output(gv)
        return gv
"""
    found, _ = graph.from_relax(relax_ir.parse(text))
    assert graph.learned_inputs(found) == {"s"}


def test_what_is_not_there_is_named(net: MSCGraph) -> None:
    for ask in (
        lambda: graph.ancestors(net, "none"),
        lambda: graph.descendants(net, "none"),
        lambda: graph.paths(net, "none", "add"),
        lambda: graph.paths(net, "add", "none"),
        lambda: graph.between(net, ["none"], ["add:0"]),
        lambda: graph.between(net, ["add:0"], ["none"]),
        lambda: graph.cut_points(net, ["none"]),
    ):
        with pytest.raises(GraphError, match="'none'"):
            ask()


def test_networkx_has_what_nodes_and_edges_are(net: MSCGraph) -> None:
    made = graph.networkx(net)
    assert nx.is_directed_acyclic_graph(made)
    assert {name: node["optype"] for name, node in made.nodes.items()} == {
        "x": "input", "w": "input", "dense": "nn.dense", "relu": "nn.relu", "tanh": "tanh", "add": "add",
        "sqrt": "sqrt",
    }  # fmt: skip
    assert made.nodes["dense"]["attrs"]["units"] == "3"
    assert made.nodes["dense"]["outputs"][0].shape == (2, 3)
    assert made.edges["dense", "relu"]["tensors"] == ("dense:0",)
    made.remove_node("relu")
    assert net.dag.has_node("relu")


@pytest.mark.sweep(every=2)
def test_a_chain_is_asked_without_recursion() -> None:
    """Squares of the number of nodes would take minutes."""
    size = 40_000
    outputs = [MSCTensor(f"n{place}:0", "float32", (2,)) for place in range(size)]
    given = [(), *(tuple(f"n{one}" for one in {max(place - 2, 0), place - 1}) for place in range(1, size))]
    nodes = tuple(
        MSCJoint(place, f"n{place}", NodeKind.TUPLE if place else NodeKind.INPUT, "", given[place],
                 tuple(f"{one}:0" for one in given[place]), (outputs[place],), {}, None)
        for place in range(size)
    )  # fmt: skip
    found = MSCGraph("main", nodes, ("n0",), f"n{size - 1}")
    start = time.process_time()
    assert len(graph.ancestors(found, found.result)) == len(graph.descendants(found, "n0")) == size - 1
    assert len(graph.levels(found)) == size
    assert len(graph.cut_points(found)) == 2
    assert len(next(graph.paths(found, "n0", found.result))) > size // 2
    assert len(graph.between(found, ["n0:0"], found.outputs)) == size - 1
    assert len(graph.memory(found)) == size
    assert time.process_time() - start < 30
