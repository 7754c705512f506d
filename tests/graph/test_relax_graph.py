"""Relax programs as graphs of operators and tensors: nothing is lost, and what they look like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import networkx
import numpy as np
import pytest

from relay2relax import backends, graph, relax_ir, relay_ir, translator
from relay2relax.core import ParseError, Relay2RelaxError
from relay2relax.relax_ir.transform import CanonicalizeBindings

# The computational graph of the end-to-end chapter: call_tir in a block, then the same by
# destination passing.
CHAPTER = """
@I.ir_module
class Module:
    @T.prim_func
    def linear(x: T.Buffer((1, 4), "float32"), w: T.Buffer((3, 4), "float32"), z: T.Buffer((1, 3), "float32")):
        for i, j, k in T.grid(1, 3, 4):
            with T.sblock("z"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    z[vi, vj] = T.float32(0)
                z[vi, vj] = z[vi, vj] + x[vi, vk] * w[vj, vk]

    @R.function
    def main(x: R.Tensor((1, 4), "float32"), w: R.Tensor((3, 4), "float32")) -> R.Tensor((1, 3), "float32"):
        cls = Module
        with R.dataflow():
            lv0 = R.call_tir(cls.linear, (x, w), R.Tensor((1, 3), dtype="float32"))
            out = R.nn.relu(lv0)
            R.output(out)
        return out

    @R.function(pure=False)
    def by_destination(x: R.Tensor((1, 4), "float32"), w: R.Tensor((3, 4), "float32")) -> R.Tensor((1, 3), "float32"):
        cls = Module
        lv0 = R.builtin.alloc_tensor(R.shape([1, 3]), R.dtype("float32"), R.prim_value(0))
        cls.linear(x, w, lv0)
        return lv0
"""

# Branches, a local function that calls itself, casts, tuples, shapes, several dimensions of one
# name.
EVERYTHING = """
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(
        x: R.Tensor(("n", 4), dtype="float32"), y: R.Tensor(dtype="float32", ndim=2), c: R.Tensor((), dtype="bool")
    ) -> R.Object:
        n = T.int64()
        m = T.int64()

        @R.function
        def loop(i: R.Tensor((n, 4), dtype="float32")) -> R.Tensor((n, 4), dtype="float32"):
            j = R.add(i, x)
            k = loop(j)
            return k

        a = R.match_cast(y, R.Tensor((m, 4), dtype="float32"))
        if c:
            p = R.multiply(x, R.const(0.1, "float32"))
            r = p
        else:
            q = loop(x)
            r = q
        b = R.concat((a, a, r), axis=0)
        t = (a, (b, R.const([1, 2], "int64")), R.shape([n, 4]))
        u = t[1]
        s = R.reshape(b, R.shape([(n + m * 2) * 4]))
        v = R.call_packed("my.function", s, u, R.prim_value(3), R.str("word"), sinfo_args=[R.Object])
        return (v, t, c)
"""


def again(mod: relax_ir.IRModule, entry: str = "main") -> None:
    """Check that the graph of ``mod`` becomes ``mod`` again, and does so when it has been through
    JSON.
    """
    found, weights = graph.from_relax(mod, entry=entry)
    canonical = CanonicalizeBindings()(mod)
    assert relax_ir.first_difference(graph.to_relax(found, weights), canonical) is None
    read = graph.from_json(graph.to_json(found))
    assert graph.to_text(read) == graph.to_text(found)
    assert graph.to_dot(read) == graph.to_dot(found)
    assert relax_ir.first_difference(graph.to_relax(read, weights), canonical) is None


# A result that is no variable, with constants in it.
TUPLES = """
@R.function
def main(x: R.Tensor((2,), dtype="float32")):
    y = R.add(x, R.const(2.0, "float32"))
    return (y, R.const(1.0, "float32"), (x, R.const(3.0, "float32")))
"""


@pytest.mark.parametrize("text", [CHAPTER, EVERYTHING, TUPLES])
def test_program_becomes_a_graph_and_a_program_again(text: str) -> None:
    again(relax_ir.parse(text))


@pytest.mark.parametrize("translate", [translator.via_graph, translator.lower_to_tir])
def test_translated_models(translate: Callable[..., relax_ir.IRModule]) -> None:
    mod, params = relay_ir.testing.mlp.get_workload(batch_size=relay_ir.Any())
    again(translate(mod))
    again(translate(mod, params))


def test_operators_are_nodes_and_tensors_are_edges() -> None:
    """The chapter's figure: x and w go into linear, what it gives into relu, and that comes out."""
    found, _ = graph.from_relax(relax_ir.parse(CHAPTER))
    assert list(found.dag.edges) == [("x", "lv0"), ("w", "lv0"), ("lv0", "out")]
    assert found.inputs == ("x:0", "w:0")
    assert found.outputs == ("out:0",)
    assert found.find_tensor("lv0:0").shape == (1, 3)
    lines = graph.to_text(found).splitlines()
    start = lines.index("N_2 lv0 <PARENTS: x,w| CHILDREN: out>")
    assert lines[start + 1 : start + 6] == [
        "  IN: x:0(x)<1,4|float32>,w:0(w)<3,4|float32>",
        "  OUT: lv0:0<1,3|float32>",
        "  OPTYPE: relax.call_tir",
        "  SCOPE: dataflow0",
        "  ATTRS: func=linear ",
    ]
    picture = graph.to_dot(found)
    assert '"0/lv0" [label="lv0\\lrelax.call_tir\\lfunc=linear\\l", fillcolor="#f4cccc"];' in picture
    assert '"0/lv0" -> "0/out" [label="float32[1, 3]"];' in picture


def test_destination_passing_hides_the_result() -> None:
    """The chapter's failed attempt: no edge leads from the call to what is returned."""
    found, _ = graph.from_relax(relax_ir.parse(CHAPTER), entry="by_destination")
    (call,) = (node for node in found.nodes if node.optype == "call")
    assert found.result == "lv0"
    assert call.parents == ("x", "w", "lv0")
    assert found.children(call.name) == ()


def test_any_topological_order_computes_the_same() -> None:
    mod, params = relay_ir.testing.mlp.get_workload(batch_size=2)
    found, weights = graph.from_relax(translator.via_graph(mod, params))
    order = list(networkx.lexicographical_topological_sort(found.dag, key=lambda name: name[::-1]))
    assert order != [node.name for node in found.nodes]
    other = replace(found, nodes=tuple(found.find_node(name) for name in order))
    data = np.random.default_rng(0).standard_normal((2, 1, 28, 28)).astype("float32")
    results = [
        backends.VirtualMachine(backends.build(graph.to_relax(one, weights), target="numpy"))["main"](data)
        for one in (found, other)
    ]
    np.testing.assert_array_equal(*results)


def test_params_are_bound_and_keep_their_names() -> None:
    weight = np.ones((3, 4), "float32")
    found, weights = graph.from_relax(relax_ir.parse(CHAPTER), {"w": weight})
    assert list(weights) == ["w"]
    assert weights["w"] is weight
    assert found.inputs == ("x:0",)
    assert found.find_node("lv0").operands == ("x", "w")


def test_long_chains() -> None:
    builder = relax_ir.BlockBuilder()
    x = relax_ir.Var("x", relax_ir.TensorStructInfo((4,), "float32"))
    with builder.function("main", [x]):
        value: relax_ir.Expr = x
        with builder.dataflow():
            for _ in range(5_000):
                value = builder.emit(relax_ir.call_op("nn.relu", value))
            value = builder.emit_output(value)
        builder.emit_func_output(value)
    mod = builder.get()
    found, weights = graph.from_relax(mod)
    assert len(found) == 5_001
    assert relax_ir.structural_equal(graph.to_relax(found, weights), CanonicalizeBindings()(mod))


def test_what_cannot_be_done_is_said() -> None:
    mod = relax_ir.parse(CHAPTER)
    with pytest.raises(Relay2RelaxError, match="'linear' is TensorIR"):
        graph.from_relax(mod, entry="linear")
    with pytest.raises(Relay2RelaxError, match="no function 'other'"):
        graph.from_relax(mod, entry="other")
    found, weights = graph.from_relax(mod, {"w": np.ones((3, 4), "float32")})
    with pytest.raises(graph.GraphError, match="`to_relax` makes one of it"):
        graph.to_relay(found, weights)
    with pytest.raises(graph.GraphError, match="dimensions have names"):
        graph.to_relax(found, weights, lowered=True)
    with pytest.raises(graph.GraphError, match="the weights have no 'w'"):
        graph.to_relax(found, {})
    document = graph.to_json(found)
    with pytest.raises(ParseError, match="has no name"):
        graph.from_json(document.replace('"lv0",\n    "out"', '"lv0"'))
    with pytest.raises(ParseError, match="two nodes are named"):
        graph.from_json(document.replace('"lv0",\n    "out"', '"lv0",\n    "lv0"'))
