"""What differs between graphs that are known to differ in something."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from relay2relax import graph, relay_ir
from relay2relax.core.dtype import Array
from relay2relax.graph import GraphDiff, MSCGraph
from relay2relax.relay_ir import op

NET = """#[version = "0.0.5"]
def @main(%data: Tensor[(1, 3, 8, 8), float32], %w1: Tensor[(8, 3, 3, 3), float32],
          %w2: Tensor[(8, 8, 3, 3), float32]) {
  %0 = nn.conv2d(%data, %w1, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]);
  %1 = nn.relu(%0);
  %2 = nn.conv2d(%1, %w2, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]);
  %3 = nn.relu(%2);
  %4 = subtract(%3, %1);
  nn.max_pool2d(%4, pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0])
}"""


def of_text(text: str) -> MSCGraph:
    """Return the graph of ``main``."""
    return graph.from_relay(relay_ir.infer_type(relay_ir.parse(text)))[0]


def edited(*edits: tuple[str, str]) -> GraphDiff:
    """Return the difference that edits of the text make."""
    text = NET
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    return graph.diff(of_text(NET), of_text(text))


def said(found: GraphDiff) -> dict[str, list[tuple[str, str, str]]]:
    """Return the changes of the main function, by node."""
    return {one.after: [(c.what, c.before, c.after) for c in one.changes] for one in found.parts[0].changed}


def test_a_graph_is_equal_to_itself_under_other_names() -> None:
    mine = of_text(NET)
    other = of_text(NET.replace("%data", "%image"))
    found = graph.diff(mine, mine)
    assert found.is_equal
    assert found.text() == "main: 9 nodes, now 9; 9 the same\n= 9 nodes: data … max_pool2d\n"
    assert said(graph.diff(mine, other)) == {"image": [("name", "data", "image")]}


@pytest.mark.parametrize(
    ("edits", "changed"),
    [
        ([("nn.relu(%2)", "tanh(%2)")], {"tanh": [("operator", "nn.relu", "tanh")]}),
        ([("strides=[2, 2]", "strides=[1, 1]")], {"max_pool2d": [("strides", "2,2", "1,1"),
         ("output 0", "float32[1, 8, 4, 4]", "float32[1, 8, 7, 7]")]}),
        ([("subtract(%3, %1)", "subtract(%1, %3)")], {"subtract": [("operands", "relu_1, relu", "relu, relu_1")]}),
        ([("subtract(%3, %1)", "subtract(%3, %0)")], {"subtract": [("operands", "relu_1, relu", "relu_1, conv2d")]}),
        ([("kernel_size=[3, 3]);\n  %3", 'kernel_size=[3, 3], out_dtype="float32");\n  %3')],
         {"conv2d_1": [("out_dtype", "", "float32")]}),
        ([("nn.relu(%0)", "sigmoid(%0)"), ("nn.relu(%2)", "tanh(%2)")],
         {"sigmoid": [("operator", "nn.relu", "sigmoid")], "tanh": [("operator", "nn.relu", "tanh")]}),
    ],
    ids=["operator", "attribute", "order", "operand", "dtype", "two operators"],
)  # fmt: skip
def test_changes_are_told(edits: list[tuple[str, str]], changed: dict[str, list[tuple[str, str, str]]]) -> None:
    found = edited(*edits)
    assert said(found) == changed
    (part,) = found.parts
    assert (part.added, part.removed) == ((), ())
    assert not found.is_equal


def test_what_is_added_and_removed_is_told() -> None:
    more = edited(("nn.relu(%2)", "sqrt(nn.relu(%2))"))
    assert more.parts[0].added == ("sqrt",)
    assert more.parts[0].removed == ()
    assert said(more) == {"subtract": [("operands", "relu_1, relu", "sqrt, relu")]}
    assert "+ sqrt sqrt(relu_1): float32[1, 8, 8, 8]\n" in more.text()
    less = edited(("%3 = nn.relu(%2);\n", ""), ("subtract(%3", "subtract(%2"))
    assert less.parts[0].removed == ("relu_1",)
    assert "- nn.relu relu_1(conv2d_1): float32[1, 8, 8, 8]\n" in less.text()
    assert sum(map(len, less.parts[0].same)) == 7


def test_another_batch_changes_types_and_nothing_else() -> None:
    found = edited(("(1, 3, 8, 8)", "(4, 3, 8, 8)"))
    (part,) = found.parts
    assert (part.added, part.removed) == ((), ())
    assert all(one.follows for one in part.changed)
    assert [one.after for one in part.changed] == [
        "data", "conv2d", "relu", "conv2d_1", "relu_1", "subtract", "max_pool2d",
    ]  # fmt: skip


def test_inputs_and_results_are_compared() -> None:
    x, y = (relay_ir.var(name, shape=(2,)) for name in "xy")
    total = op.add(x, y)

    def of(params: tuple[relay_ir.Var, ...], body: relay_ir.Expr) -> MSCGraph:
        return graph.from_relay(relay_ir.IRModule.from_expr(relay_ir.Function(params, body)))[0]

    turned = graph.diff(of((x, y), total), of((y, x), total))
    assert [one.what for one in turned.parts[0].changes] == ["order of parameters"]
    two = relay_ir.Tuple((total, op.nn.relu(total)))
    longer = graph.diff(of((x, y), total), of((x, y), two))
    assert [one.what for one in longer.parts[0].changes] == ["result"]
    assert longer.parts[0].added == ("relu", "tuple")


def layers(values: list[Array], twice: int = -1) -> tuple[MSCGraph, dict[str, Array]]:
    """Return a chain of products with constants; one of them may stand twice."""
    x = relay_ir.var("x", shape=(1, 4))
    body: relay_ir.Expr = x
    for place, value in enumerate(values):
        for _ in range(2 if place == twice else 1):
            body = op.nn.relu(op.nn.dense(body, relay_ir.const(value)))
    return graph.from_relay(relay_ir.IRModule.from_expr(relay_ir.Function((x,), body)))


def test_values_of_weights_are_compared_and_tell_layers_apart() -> None:
    values = [np.full((4, 4), place, "float32") for place in range(4)]
    mine, weights = layers(values)
    other = [value.copy() for value in values]
    other[2][1, 1] = 2.5
    after, theirs = layers(other)
    assert graph.diff(mine, after).is_equal
    found = graph.diff(mine, after, weights, theirs)
    assert said(found) == {"const_2": [("values of const", "const_2", "const_2: 1 of 16, by 0.5")]}
    # The second layer is left out; without their values, the last one would seem to be missing.
    after, theirs = layers([values[0], *values[2:]])
    found = graph.diff(mine, after, weights, theirs)
    assert found.parts[0].removed == ("const_1", "dense_1", "relu_1")
    assert found.parts[0].added == ()
    assert said(found) == {"dense_1": [("operands", "relu_1, const_2", "relu, const_1")]}


def test_graphs_within_and_functions_are_compared() -> None:
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(4), float32], %c: bool) { @f(if (%c) { nn.relu(%x) } else { tanh(%x) }) }
def @f(%x: Tensor[(4), float32]) -> Tensor[(4), float32] { sqrt(%x) }"""
    mine = of_text(text)
    assert graph.diff(mine, of_text(text)).is_equal
    found = graph.diff(mine, of_text(text.replace("tanh", "sigmoid").replace("sqrt(%x)", "exp(sqrt(%x))")))
    wrong = [part for part in found.parts if not part.is_equal]
    assert [[c.after for one in part.changed for c in one.changes] for part in wrong] == [["sigmoid"], []]
    assert [part.added for part in wrong] == [(), ("exp",)]
    alone = replace(mine, functions={})
    assert "+ function f (2 nodes)\n" in graph.diff(alone, mine).text()
    assert "- function f (2 nodes)\n" in graph.diff(mine, alone).text()


def test_the_document_says_the_same_as_the_text() -> None:
    found = edited(("nn.relu(%2)", "sqrt(tanh(%2))"), ("strides=[2, 2]", "strides=[1, 1]"))
    (part,) = json.loads(json.dumps(found.to_json()))["parts"]
    assert part["removed"] == [
        {"name": "relu_1", "operator": "nn.relu", "operands": ["conv2d_1"], "outputs": ["float32[1, 8, 8, 8]"]}
    ]
    assert [one["name"] for one in part["added"]] == ["tanh", "sqrt"]
    assert [one["after"] for one in part["changed"]] == ["subtract", "max_pool2d"]
    assert part["same"] == [["data", "w1", "w2", "conv2d", "relu", "conv2d_1"]]
    plain, painted = found.text(), found.text(colour=True)
    assert "\x1b[31m- nn.relu relu_1(conv2d_1): float32[1, 8, 8, 8]\x1b[0m\n" in painted
    assert "\x1b[32m+ tanh tanh(conv2d_1): float32[1, 8, 8, 8]\x1b[0m\n" in painted
    assert "\x1b" not in plain
    assert str(found) == plain


def test_names_are_text() -> None:
    x = relay_ir.var("x\x1b[31m\n", shape=(2,))
    found, _ = graph.from_relay(relay_ir.IRModule.from_expr(relay_ir.Function((x,), op.abs(x))))
    assert "\x1b" not in graph.diff(found, found).text()


def drawn(draw: random.Random, size: int, change: Callable[[int, str], str]) -> MSCGraph:
    """Return a graph of unary and binary operators over earlier values, each as ``change`` has
    it.
    """
    x = relay_ir.var("x", shape=(2,))
    made: list[relay_ir.Expr] = [x]
    for place in range(size):
        name = change(place, draw.choice(["tanh", "exp", "sqrt", "add", "subtract"]))
        operands = [draw.choice(made[-3:]), made[-1]]
        call = relay_ir.Call(relay_ir.Op(name), tuple(operands if name in ("add", "subtract") else operands[:1]))
        made.append(call)
    return graph.from_relay(relay_ir.IRModule.from_expr(relay_ir.Function((x,), made[-1])))[0]


@pytest.mark.parametrize("seed", range(20))
def test_what_networkx_finds_isomorphic_is_equal_and_nothing_else(seed: int) -> None:
    place = random.Random(seed).randrange(12)
    swapped = {"tanh": "exp", "exp": "sqrt", "sqrt": "tanh", "add": "subtract", "subtract": "add"}
    mine = drawn(random.Random(seed), 12, lambda _, name: name)
    other = drawn(random.Random(seed), 12, lambda at, name: swapped[name] if at == place else name)
    names = {node.name: f"n{number}" for number, node in enumerate(mine.nodes)}
    shuffled = renamed(mine, names)
    assert graph.diff(mine, shuffled).is_equal
    same = nx.is_isomorphic(
        graph.networkx(mine), graph.networkx(other), node_match=lambda a, b: a["optype"] == b["optype"]
    )
    assert graph.diff(mine, other).is_equal == same
    if not same:
        (part,) = graph.diff(mine, other).parts
        assert len(part.changed) == 1
        assert (part.added, part.removed) == ((), ())


def renamed(one: MSCGraph, names: dict[str, str]) -> MSCGraph:
    """Return a graph with other names of nodes and tensors, inputs excepted."""
    known = {name: name if name in one.params else new for name, new in names.items()}

    def tensor(name: str) -> str:
        node, _, place = name.rpartition(":")
        return f"{known[node]}:{place}"

    nodes = [
        replace(
            node,
            name=known[node.name],
            operands=tuple(known[operand] for operand in node.operands),
            inputs=tuple(map(tensor, node.inputs)),
            outputs=tuple(replace(out, name=tensor(out.name), alias="") for out in node.outputs),
        )
        for node in one.nodes
    ]
    return replace(one, nodes=tuple(nodes), result=known[one.result])


@pytest.mark.sweep(every=2)
def test_long_programs_take_time_in_proportion() -> None:
    size = 5_000
    mine, again = (drawn(random.Random(1), size, lambda _, name: name) for _ in range(2))
    other = drawn(random.Random(1), size, lambda at, name: "sigmoid" if at in (100, 2500, 4900) else name)
    start = time.process_time()
    assert graph.diff(mine, again).is_equal
    (part,) = graph.diff(mine, other).parts
    assert time.process_time() - start < 20
    assert len(part.changed) + len(part.added) + len(part.removed) < 12
