"""What nodes cost and which memory is alive, counted by hand."""

from __future__ import annotations

import random

import numpy as np
import pytest

from relay2relax import graph, relax_ir, relay_ir, translator
from relay2relax.graph import GraphError, MSCGraph, NodeCost, msc
from relay2relax.relay_ir import op

FLOAT = 4


def of_text(text: str) -> MSCGraph:
    """Return the graph of ``main``."""
    return graph.from_relay(relay_ir.infer_type(relay_ir.parse(f'#[version = "0.0.5"]\n{text}')))[0]


PRODUCT = """def @main(%x: Tensor[(3, 7), float32], %w: Tensor[(5, 7), float32]) {
  nn.relu(nn.dense(%x, %w, units=5))
}"""
# 3 x 5 sums of 7 products, and 15 maxima.
DENSE = NodeCost(105, 210, FLOAT * (21 + 35 + 15))
RELU = NodeCost(0, 15, FLOAT * 30)


def test_arithmetic_and_bytes_of_each_node() -> None:
    found = graph.costs(of_text(PRODUCT))
    assert found == {"x": NodeCost(), "w": NodeCost(), "dense": DENSE, "relu": RELU}
    assert DENSE.intensity == 210 / (FLOAT * 71)
    assert NodeCost().intensity is None


@pytest.mark.parametrize("via", ["graph", "tir"])
def test_nodes_of_a_script_cost_the_same(via: translator.Via) -> None:
    mod = relay_ir.infer_type(relay_ir.parse(f'#[version = "0.0.5"]\n{PRODUCT}'))
    found, _ = graph.from_relax(relax_ir.parse(translator.translate(mod, via).script()))
    known = [cost for cost in graph.costs(found).values() if cost is not None]
    assert len(known) == len(found)
    assert sum(cost.multiply_adds == 105 and cost.operations == 210 for cost in known) == 1
    assert RELU in known


def test_open_extents_are_given_or_stay() -> None:
    found = of_text(PRODUCT.replace("(3, 7)", "(?, 7)"))
    dense = graph.costs(found)["dense"]
    assert dense is not None
    assert str(dense.operations) == "d * 70"
    assert dense.intensity is None
    assert graph.costs(found, {"d": 3})["dense"] == DENSE
    assert [step.bytes for step in graph.memory(found, {"d": 3})] == [step.bytes for step in memory_of(PRODUCT)]
    with pytest.raises(GraphError, match="'x:0' of 'main' has open extents: d, 7"):
        graph.memory(found)
    with pytest.raises(GraphError, match="no prim 'n'"):
        graph.costs(found, {"n": 3})
    with pytest.raises(GraphError, match="cannot be chosen to be -1"):
        graph.costs(found, {"d": -1})


def test_functions_branches_and_what_is_not_known() -> None:
    found = of_text("""def @main(%x: Tensor[(4), float32], %c: bool) {
  %0 = if (%c) { nn.relu(%x) } else { tanh(%x) };
  @twice(%0)
}
def @twice(%x: Tensor[(4), float32]) -> Tensor[(4), float32] { add(%x, %x) }""")
    cost = {node.optype: graph.costs(found)[node.name] for node in found.nodes}
    branch, call = cost["if"], cost["call"]
    assert branch is not None
    assert branch.operations == 8
    assert call is not None
    assert call.operations == 4
    other = of_text("""def @main(%x: Tensor[(4), float32]) { @again(%x) }
def @again(%x: Tensor[(4), float32]) -> Tensor[(4), float32] { @again(%x) }""")
    assert graph.costs(other)[other.result] is None
    found = of_text("def @main(%x: Tensor[(4), float32]) { argwhere(%x) }")
    places = graph.costs(found)["argwhere"]
    assert places is not None
    assert str(places.bytes) == f"{found.prims[0].name} * {FLOAT} + {4 * FLOAT}"


def test_a_fused_node_costs_its_parts_and_moves_only_what_goes_in_and_out() -> None:
    x = relay_ir.var("x", shape=(2, 4))
    weight = relay_ir.const(np.ones((3, 4), "float32"))
    mod = relay_ir.IRModule.from_expr(relay_ir.Function((x,), op.nn.dense(x, op.transpose(op.transpose(weight)))))
    found, _ = msc.from_relay(mod)
    (node,) = (one for one in found.nodes if one.op == "msc.matmul")
    cost = graph.costs(found)[node.name]
    assert cost is not None
    assert cost.multiply_adds == 2 * 3 * 4
    assert cost.bytes == FLOAT * (8 + 12 + 6)


def memory_of(text: str) -> tuple[graph.Alive, ...]:
    """Return the steps of ``main``."""
    return graph.memory(of_text(text))


def test_memory_is_alive_from_a_node_to_its_last_user() -> None:
    """x of 84 bytes and w of 140 stay; the product has 60 bytes, and so has what is made of it."""
    steps = graph.memory(of_text(PRODUCT), names=True)
    always = 84 + 140
    assert [(step.node, step.bytes, step.made, step.freed) for step in steps] == [
        ("x", always, 0, 0), ("w", always, 0, 0), ("dense", always + 60, 60, 0), ("relu", always + 120, 60, 60),
    ]  # fmt: skip
    assert [step.tensors for step in steps] == [(), (), ("dense:0",), ("dense:0", "relu:0")]
    assert graph.peak(steps) == steps[-1]


def test_memory_of_functions_and_branches() -> None:
    """x has 16 bytes. @three makes three values of 16, of which two are alive at once; the branch
    makes 32 and of that 16 again, beside what is alive around it.
    """
    found = of_text("""def @main(%x: Tensor[(4), float32], %c: bool) {
  %0 = nn.relu(%x);
  %1 = @three(%0);
  %2 = if (%c) { %3 = concatenate((%1, %1)); strided_slice(%3, begin=[0], end=[4], strides=[1]) } else { %0 };
  add(%2, %1)
}
def @three(%y: Tensor[(4), float32]) -> Tensor[(4), float32] { tanh(sqrt(exp(%y))) }""")
    steps = {step.node: step for step in graph.memory(found)}
    kinds = {node.optype: steps[node.name] for node in found.nodes}
    assert (kinds["call"].inside, kinds["call"].bytes) == (32, 17 + 16 + 32)
    assert (kinds["if"].inside, kinds["if"].bytes) == (48, 17 + 16 + 16 + 48)
    assert kinds["add"].bytes == 17 + 16 + 16 + 16
    assert graph.peak(tuple(steps.values())).node == next(one.name for one in found.nodes if one.optype == "if")


def test_memory_of_functions_of_relax() -> None:
    """The function is called with two lengths; each call counts its own."""
    found, _ = graph.from_relax(
        relax_ir.parse("""
@I.ir_module
class Module:
    @R.function(private=True)
    def f(y: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        with R.dataflow():
            a: R.Tensor((n,), "float32") = R.exp(y)
            b: R.Tensor((n,), "float32") = R.tanh(a)
            R.output(b)
        return b

    @R.function
    def main(x: R.Tensor((4,), "float32"), z: R.Tensor((10,), "float32")):
        cls = Module
        with R.dataflow():
            p = cls.f(x)
            q = cls.f(z)
            r = (p, q)
            R.output(r)
        return r
""")
    )
    steps = {step.node: step for step in graph.memory(found)}
    assert [steps[name].inside for name in ("p", "q")] == [32, 80]
    assert steps["q"].bytes == 16 + 40 + 16 + 80


@pytest.mark.parametrize("seed", range(8))
def test_memory_of_drawn_programs(seed: int) -> None:
    """Counted again for every step, from what is used behind it."""
    draw = random.Random(seed)
    x = relay_ir.var("x", shape=(8,))
    made: list[relay_ir.Expr] = [x]
    for _ in range(12):
        one = draw.choice(made[-4:])
        half = op.split(one, 2, 0)[draw.randrange(2)]
        made.append(draw.choice([op.nn.relu(one), op.add(one, made[-1]), op.concatenate([half, half], 0)]))
    found, _ = graph.from_relay(relay_ir.IRModule.from_expr(relay_ir.Function((x,), made[-1])))
    roots: dict[str, set[str]] = {}
    for node in found.nodes:
        view = node.optype in ("tuple", "get_item")
        roots[node.name] = set().union(*(roots[one] for one in node.parents)) if view else {node.name}
    for number, step in enumerate(graph.memory(found)):
        later = {root for node in found.nodes[number:] for one in (*node.parents, node.name) for root in roots[one]}
        later |= roots[found.result]
        alive = {node.name for node in found.nodes[: number + 1]} & later - {"x"}
        size = sum(tensor.shape[0] * FLOAT for name in alive for tensor in found.find_node(name).outputs
                   if roots[name] == {name})  # fmt: skip
        assert step.bytes == size + 8 * FLOAT
