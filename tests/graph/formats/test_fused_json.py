"""Documents of graphs of Relax programs with fused nodes: what is read is what was written."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from relay2relax import backends, graph, relax_ir
from relay2relax.core.dtype import Array
from relay2relax.core.errors import ParseError
from relay2relax.graph import GraphError, MSCGraph
from relay2relax.relay_ir.dataflow_pattern import is_op, wildcard

# Weights that are used inside and outside, other nodes between the parts, extents that are computed
# in another order than the parts stand in, a value that a node takes twice, another function.
SCRIPT = """
@I.ir_module
class Module:
    @R.function(private=True)
    def other(v: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        i = R.sigmoid(v)
        j = R.multiply(v, i)
        return j

    @R.function
    def main(x: R.Tensor(("n", 3, 6), "float32"), w: R.Tensor((4, 6), "float32"), b: R.Tensor((4,), "float32")):
        n = T.int64()
        cls = Module
        with R.dataflow():
            r = R.reshape(x, R.shape([n * 3, 6]))
            o = R.reshape(x, R.shape([n * 18]))
            t = R.permute_dims(w)
            z = R.add(w, w)
            u = R.add(b, b)
            p = R.matmul(r, t)
            s = R.reshape(p, R.shape([n, 3, 4]))
            y = R.add(s, b)
            g = R.sigmoid(y)
            h = R.multiply(y, g)
            k = R.matmul(z, R.permute_dims(z))
            q = R.nn.softmax(k)
            m = R.matmul(q, R.const([[1.0], [2.0], [3.0], [4.0]], "float32"))
            R.output(h, o, u, y, m)
        with R.dataflow():
            c = cls.other(R.const([1.0, 2.0, 3.0], "float32"))
            d = R.sigmoid(c)
            e = R.multiply(c, d)
            R.output(e)
        return (h, (o, R.const(1.0, "float32")), u, e, m)
"""
GIVEN = {"w": np.ones((4, 6), "float32"), "b": np.arange(4, dtype="float32")}
FORMS: tuple[Any, ...] = ("operators", "functions", "parts")
PLAIN, WEIGHTS = graph.from_relax(relax_ir.parse(SCRIPT), GIVEN)


def fused() -> MSCGraph:
    """Return the graph with the nodes of both functions fused."""
    found = graph.fuse(PLAIN, WEIGHTS, graph.relax_patterns())
    inner = {name: graph.fuse(one, WEIGHTS, graph.relax_patterns()) for name, one in found.functions.items()}
    return replace(found, functions=inner)


FUSED = fused()
DOCUMENT = graph.to_json(FUSED)


def test_what_is_read_is_what_was_written() -> None:
    names = [node.name for node in FUSED.nodes if node.bodies]
    assert names == ["msc.linear_bias", "msc.silu_1", "msc.linear", "msc.silu"]
    read = graph.from_json(DOCUMENT)
    assert graph.to_text(read) == graph.to_text(FUSED)
    assert graph.to_dot(read) == graph.to_dot(FUSED)
    assert graph.to_json(read) == DOCUMENT
    for one, other in zip(FUSED.subgraphs(), read.subgraphs(), strict=True):
        assert (one.name, one.params, one.result, one.prims) == (other.name, other.params, other.result, other.prims)
        for mine, theirs in zip(one.nodes, other.nodes, strict=True):
            for name in ("index", "name", "kind", "op", "operands", "inputs", "outputs", "weights", "scope"):
                assert getattr(mine, name) == getattr(theirs, name)


@pytest.mark.parametrize("form", FORMS)
def test_it_becomes_the_same_program(form: Any) -> None:
    wanted = graph.to_relax(FUSED, WEIGHTS, fused=form)
    read = graph.to_relax(graph.from_json(DOCUMENT), WEIGHTS, fused=form)
    assert relax_ir.first_difference(read, wanted) is None
    assert read.script() == wanted.script()


def run(module: relax_ir.IRModule, data: Array) -> list[Any]:
    h, (o, one), u, e, m = backends.VirtualMachine(backends.build(module, target="numpy"))["main"](data)
    return [np.asarray(part) for part in (h, o, one, u, e, m)]


@pytest.mark.parametrize("form", FORMS)
def test_it_computes_what_numpy_does(form: Any) -> None:
    data = np.arange(36, dtype="float32").reshape(2, 3, 6) / 36
    y = data @ GIVEN["w"].T + GIVEN["b"]
    ones, c = np.full((4, 4), 24.0), np.array([1.0, 2.0, 3.0])
    c = c / (1 + np.exp(-c))
    e = c / (1 + np.exp(-c))
    shares = np.exp(ones) / np.exp(ones).sum(-1, keepdims=True)
    expected = (y / (1 + np.exp(-y)), data.ravel(), 1.0, 2 * GIVEN["b"], e, shares @ np.array([[1], [2], [3], [4]]))
    found = run(graph.to_relax(graph.from_json(DOCUMENT), WEIGHTS, fused=form), data)
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5)


def test_nodes_come_back() -> None:
    """Those that were there before they were fused, of what was written and of what was read."""
    read = graph.from_json(DOCUMENT)
    assert graph.to_text(graph.unfuse(read)) == graph.to_text(graph.unfuse(FUSED))
    assert {node.name for node in graph.unfuse(read).nodes} == {node.name for node in PLAIN.nodes}


def test_patterns_of_users() -> None:
    relu = graph.FusionPattern("my.reshaped", is_op("add")(is_op("reshape")(wildcard(), wildcard()), wildcard()))
    found = graph.fuse(PLAIN, WEIGHTS, [relu])
    read = graph.from_json(graph.to_json(found))
    assert [node.op for node in read.nodes if node.bodies] == ["my.reshaped"]
    assert graph.to_text(read) == graph.to_text(found)
    wanted = graph.to_relax(found, WEIGHTS, fused="functions")
    assert relax_ir.first_difference(graph.to_relax(read, WEIGHTS, fused="functions"), wanted) is None


def test_documents_without_fused_nodes_are_as_they_were() -> None:
    written = json.loads(graph.to_json(PLAIN))
    assert list(written["relay2relax"]) == ["version", "script", "weights", "names"]
    assert graph.to_text(graph.from_json(json.dumps(written))) == graph.to_text(PLAIN)


def damaged(path: str, value: object) -> str:
    """Return the document with ``value`` at a path of keys in what it says of fused nodes."""
    document = json.loads(DOCUMENT)
    *steps, last = [int(step) if step.isdigit() else step for step in path.split("/")]
    target = document["relay2relax"]["fused"]
    for step in steps:
        target = target[step]
    target[last] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("none", {"order": [], "prims": [], "nodes": []}, "there is no function 'none' at $.relay2relax.fused"),
        ("main/nodes/0/parts/1", "none", "fused.main.nodes[0]: the graph 'main' has no node 'none'"),
        ("main/nodes/1/params/0", "none", "fused.main.nodes[1]: the graph 'main' has no node 'none'"),
        ("main/nodes/1/params", [], "fused.main.nodes[1]: the part 'g' of 'msc.silu_1' uses 'y', which is no operand"),
        ("main/nodes/1/parts", [], "fused.main.nodes[1]: the parts of 'msc.silu_1' cannot be one node: none"),
        ("main/nodes/1/parts", ["h", "g"], "fused.main.nodes[1]: the parts of 'msc.silu_1' cannot be one node: h, g"),
        ("main/nodes/1/parts", ["y", "g", "h"], "fused.main.nodes[1]: the parts of 'msc.silu_1' cannot be one node"),
        ("main/nodes/2/parts", ["c", "k"], "fused.main.nodes[2]: the parts of 'msc.linear' cannot be one node"),
        ("main/nodes/1/parts", ["x"], "fused.main.nodes[1]: the parts of 'msc.silu_1' cannot be one node"),
        ("main/nodes/1/parts", ["w"], "fused.main.nodes[1]: the parts of 'msc.silu_1' cannot be one node"),
        ("main/nodes/1/parts", ["g", "g", "h"], "two nodes are named 'g'"),
        ("main/nodes/1/name", "msc.linear_bias", "fused.main.nodes[1]: two nodes are named 'msc.linear_bias'"),
        ("main/nodes/1/name", "x", "fused.main.nodes[1]: two nodes are named 'x'"),
        ("main/nodes/1/weights", {"scale": "w"}, "the parts of 'msc.silu_1' hold no 'w', which is to be its 'scale'"),
        ("main/nodes/1/pattern", "", "node 'msc.silu_1' is not well formed"),
        ("main/nodes", [], "the names are not those of the nodes at $.relay2relax.fused.main.order"),
        ("main/order/0", "w", "the names are not those of the nodes at $.relay2relax.fused.main.order"),
        ("other/nodes/0/params", ["j"], "fused.other.nodes[0]: the part 'i' of 'msc.silu' uses 'v'"),
        ("main/nodes/0/parts", "r", "expected `array`, found `str` at $.relay2relax.fused.main.nodes[0].parts"),
    ],
)
def test_damage_is_named_with_its_place(path: str, value: object, said: str) -> None:
    with pytest.raises(ParseError) as caught:
        graph.from_json(damaged(path, value))
    assert said in str(caught.value)


def test_operands_that_come_later_are_refused() -> None:
    order = json.loads(DOCUMENT)["relay2relax"]["fused"]["main"]["order"]
    with pytest.raises(ParseError, match="does not come before it"):
        graph.from_json(damaged("main/order", order[::-1]))


def test_branches_are_to_be_unfused() -> None:
    """A script of a branch says its nodes only; nothing fuses them but who makes graphs by hand."""
    branch = """
@R.function
def main(x: R.Tensor((3,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((3,), "float32"):
    if c:
        s = R.sigmoid(x)
        y = R.multiply(x, s)
        z = y
    else:
        z = x
    return z
"""
    plain, _ = graph.from_relax(relax_ir.parse(branch))
    assert graph.to_text(graph.from_json(graph.to_json(plain))) == graph.to_text(plain)
    donor = next(node for node in FUSED.functions["other"].nodes if node.bodies)
    (place,) = (index for index, node in enumerate(plain.nodes) if node.bodies)
    arm = plain.nodes[place].attrs.true_graph
    nodes = (*arm.nodes[:1], replace(donor, index=1, operands=(arm.nodes[0].name,)))
    arm = replace(arm, nodes=nodes, result=donor.name)
    attrs = replace(plain.nodes[place].attrs, true_graph=arm)
    nodes = (*plain.nodes[:place], replace(plain.nodes[place], attrs=attrs), *plain.nodes[place + 1 :])
    with pytest.raises(GraphError, match="is a branch or a local function with fused nodes; unfuse it"):
        graph.to_json(replace(plain, nodes=nodes))
