"""Groups and layers hold the whole graph, and every edge goes down."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from browser.graphs import long_graph

from relay2relax import graph, relay_ir
from relay2relax.graph.model import MSCGraph
from relay2relax.viewer.drawing import Drawing, Edge, drawing_of
from relay2relax.viewer.grouping import MOST, Group, Grouping, groupings_of
from relay2relax.viewer.layering import BEND, BOX, GROUP, INTO, OUT, Layers, layers_of

BRANCHES = """#[version = "0.0.5"]
def @main(%c: Tensor[(), bool], %x: Tensor[(2), float32], %y: Tensor[(2), float32]) {
  %0 = add(%x, %y);
  %1 = if (%c) { %2 = negative(%0); nn.relu(%2) } else { tanh(%y) };
  %3 = split(%1, indices_or_sections=2);
  %4 = %3.0;
  %5 = %3.1;
  multiply(%4, %5)
}
"""


def _branches() -> MSCGraph:
    return graph.from_relay(relay_ir.infer_type(relay_ir.parse(BRANCHES)))[0]


def test_what_is_drawn_of_branches() -> None:
    drawing = drawing_of(_branches())
    names = [box.node.name for box in drawing.boxes]
    edges = {(names[edge.source], names[edge.target], edge.field) for edge in drawing.edges}
    ops = {box.node.optype for box in drawing.boxes}
    assert {"add", "negative", "nn.relu", "tanh", "if", "split", "multiply"} <= ops
    # Fields of tuples are marks at edges, and have no boxes.
    split, product = (
        next(box.node.name for box in drawing.boxes if box.node.optype == op) for op in ("split", "multiply")
    )
    assert {(split, product, ".0"), (split, product, ".1")} <= edges
    # Branches take what is around them, and give what the `if` is.
    inside = next(box for box in drawing.boxes if box.node.optype == "tanh")
    holder = next(box for box in drawing.boxes if box.node.optype == "if")
    assert inside.rooms[0] == holder.node.name == holder.rooms[0]
    assert (inside.node.name, holder.node.name, "") in edges
    assert drawing.of.keys() >= {node.name for part in _branches().subgraphs() for node in part.nodes}


@pytest.mark.parametrize("count", [1, 2, 40, 90, 700])
def test_layers_of_long_graphs(count: int) -> None:
    made = long_graph(count)
    drawing = drawing_of(made)
    for grouping in groupings_of(drawing, made, {}):
        _check(drawing, grouping, layers_of(grouping, drawing.edges, len(drawing.boxes)))


@pytest.mark.golden
@pytest.mark.parametrize("name", ["unet", "lstm_relay", "bert_tiny"])
def test_layers_of_models(get_model_case: Any, name: str) -> None:
    mod = relay_ir.infer_type(relay_ir.parse(get_model_case(name).text))
    made, weights = graph.from_relay(mod)
    drawing = drawing_of(made)
    groupings = groupings_of(drawing, made, weights)
    for grouping in groupings:
        _check(drawing, grouping, layers_of(grouping, drawing.edges, len(drawing.boxes)))
    if name == "bert_tiny":
        assert "pattern" in {one.key for one in groupings}


def _check(drawing: Drawing, grouping: Grouping, layers: list[Layers]) -> None:
    boxes = [item for group in grouping.groups for item in group.items if item >= 0]
    assert sorted(boxes) == list(range(len(drawing.boxes)))
    groups = [~item for group in grouping.groups for item in group.items if item < 0]
    assert sorted(groups) == list(range(1, len(grouping.groups)))
    assert all(len(group.items) <= MOST for group in grouping.groups)
    for group, found in zip(grouping.groups, layers, strict=True):
        items = [~ref if kind == GROUP else ref for kind, ref in found.items if kind in (BOX, GROUP)]
        assert sorted(items) == sorted(group.items)
        assert sorted(itertools.chain(*found.layers)) == list(range(len(found.items)))
        level = {item: number for number, layer in enumerate(found.layers) for item in layer}
        for chain in found.chains:
            way = [level[one] for one in (chain.source, *chain.bends, chain.target)]
            if chain.far:
                assert way[0] < way[1] - 1
            else:
                assert way == list(range(way[0], way[-1] + 1))
            assert all(found.items[one][0] == BEND for one in chain.bends)
    for edge in drawing.edges:
        assert _passes(edge, grouping, layers), edge


def _passes(edge: Edge, grouping: Grouping, layers: list[Layers]) -> bool:
    """Whether chains lead from where a value is made, out of groups and into some, to its user."""
    homes = grouping.homes(sum(item >= 0 for group in grouping.groups for item in group.items))
    above = _around(grouping.groups, homes[edge.source])
    below = _around(grouping.groups, homes[edge.target])
    common = next(one for one in above if one in below)
    wanted: list[tuple[int, tuple[int, int], tuple[int, int]]] = []
    item = (BOX, edge.source)
    for group in above[: above.index(common)]:
        wanted.append((group, item, (OUT, edge.source)))
        item = (GROUP, group)
    into = (BOX, edge.target)
    for group in below[: below.index(common)]:
        wanted.append((group, (INTO, edge.source), into))
        into = (GROUP, group)
    wanted.append((common, item, into))
    return all(
        any(
            (layers[group].items[chain.source], layers[group].items[chain.target]) == (source, target)
            and edge.source in chain.values
            for chain in layers[group].chains
        )
        for group, source, target in wanted
    )


def _around(groups: list[Group], group: int) -> list[int]:
    found = [group]
    while groups[found[-1]].parent >= 0:
        found.append(groups[found[-1]].parent)
    return found


def test_edges_do_not_cross_where_they_need_not() -> None:
    # Two rows whose orders are each other's mirror.
    edges = [Edge(one, 9 - one) for one in range(5)]
    found = layers_of(Grouping("", "", [Group("", -1, list(range(10)))]), edges, 10)[0]
    above, below = ([found.items[item][1] for item in layer] for layer in found.layers)
    assert [9 - one for one in above] == below


def test_long_edges_are_their_ends() -> None:
    edges = [*(Edge(one, one + 1) for one in range(39)), Edge(0, 39), Edge(0, 5)]
    found = layers_of(Grouping("", "", [Group("", -1, list(range(40)))]), edges, 40)[0]
    far = {(chain.source, chain.target): (chain.far, len(chain.bends)) for chain in found.chains}
    assert far[0, 39] == (True, 0)
    assert far[0, 5] == (False, 4)
