"""Edited graphs compute what the edit says, and nothing else of them changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relay2relax import backends, graph, relax_ir, relay_ir
from relay2relax.core.dtype import Array
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.graph import GraphError, MSCGraph, msc
from relay2relax.relay_ir import op

Weighted = tuple[MSCGraph, dict[str, Array]]
DRAW = np.random.default_rng(7)
X, W, B = (DRAW.standard_normal(shape).astype("float32") for shape in ((3, 7), (5, 7), (5,)))
DENSE = X @ W.T
RELU = np.maximum(DENSE + B, 0)


def net(rows: Any = 3) -> Weighted:
    """Return a product with a bias and an activation."""
    x = relay_ir.var("x", shape=(rows, 7))
    body = op.nn.relu(op.add(op.nn.dense(x, relay_ir.const(W), units=5), relay_ir.const(B)))
    return graph.from_relay(relay_ir.IRModule.from_expr(relay_ir.Function((x,), body)))


def run(found: Weighted, *given: Array) -> Any:
    """Return what a graph computes on numpy."""
    vm = backends.VirtualMachine(backends.build(graph.to_relax(*found), target="numpy"))
    return vm[found[0].name](*given)


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-5, atol=1e-5)


def const(value: float) -> relay_ir.Constant:
    return relay_ir.const(value, "float32")


EDITS: dict[str, tuple[Callable[[Weighted], Weighted], Array]] = {
    "replace": (lambda g: graph.replace(*g, "relu", lambda v: op.tanh(v) * const(2)), 2 * np.tanh(DENSE + B)),
    "replace by an operand": (lambda g: graph.replace(*g, "relu", lambda v: v), DENSE + B),
    "replace with weights": (
        lambda g: graph.replace(*g, "add", lambda v, b: op.subtract(v, b)), np.maximum(DENSE - B, 0)),
    "insert": (lambda g: graph.insert(*g, "dense:0", op.abs), np.maximum(np.abs(DENSE) + B, 0)),
    "insert behind the result": (lambda g: graph.insert(*g, "relu:0", op.exp), np.exp(RELU)),
    "insert before an input's user": (
        lambda g: graph.insert(*g, "x:0", lambda v: v + v), np.maximum(2 * DENSE + B, 0)),
    "insert with a shape": (
        lambda g: graph.insert(*g, "dense:0", lambda v: op.concatenate([v, v], 0)), np.concatenate([RELU, RELU])),
    "delete": (lambda g: graph.delete(*g, "add"), np.maximum(DENSE, 0)),
    "delete the result": (lambda g: graph.delete(*g, "relu"), DENSE + B),
    "rename": (lambda g: graph.rename(*g, {"dense": "fc", "x": "data", "const": "kernel"}), RELU),
    "extract": (lambda g: graph.extract(*g, ["x:0"], ["dense:0"]), DENSE),
    "merge": (
        lambda g: graph.merge(*g, *graph.extract(*g, ["dense:0"], ["relu:0"]), {"dense": "relu:0"}),
        np.maximum(RELU + B, 0)),
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_edits_compute_what_they_say(edit: str) -> None:
    make, wanted = EDITS[edit]
    before = net()
    text, names = graph.to_text(before[0]), dict(before[1])
    found, weights = make(before)
    close(run((found, weights), X), wanted)
    assert set(weights) == {one.name for one in found.get_weights()}
    assert all(any(array is one for one in before[1].values()) for array in weights.values() if array.ndim)
    # The graph that was given is as it was, and the new one goes to Relay and back.
    assert graph.to_text(before[0]) == text
    assert before[1] == names
    again, _ = graph.from_relay(graph.to_relay(found, weights))
    assert graph.diff(found, again).is_equal


@pytest.mark.parametrize("edit", [name for name in EDITS if "extract" not in name])
def test_edits_of_open_extents(edit: str) -> None:
    make, wanted = EDITS[edit]
    found = make(net(relay_ir.Any()))
    close(run(found, X), wanted)


def test_what_stays_keeps_its_name_and_what_comes_has_one() -> None:
    found, weights = graph.replace(*net(), "relu", lambda v: op.nn.relu(op.multiply(v, const(2))))
    assert [node.name for node in found.nodes] == [
        "x", "const", "dense", "const_1", "add", "const_2", "multiply", "relu_1",
    ]  # fmt: skip
    assert list(weights) == ["const", "const_1", "const_2"]
    (tensor,) = found.get_outputs()
    assert (tensor.name, tensor.alias) == ("relu_1:0", "relu_1")


def test_some_users_take_what_is_inserted() -> None:
    x = relay_ir.var("x", shape=(3, 7))
    both = op.nn.relu(x)
    mod = relay_ir.IRModule.from_expr(relay_ir.Function((x,), op.subtract(op.exp(both), op.tanh(both))))
    found = graph.insert(*graph.from_relay(mod), "relu:0", lambda v: v * const(3), users=["tanh"])
    relu = np.maximum(X, 0)
    close(run(found, X), np.exp(relu) - np.tanh(3 * relu))


def test_parts_with_several_outputs_and_other_inputs() -> None:
    a, b = relay_ir.var("a", shape=(2,)), relay_ir.var("b", shape=(2,))
    body = op.add(op.exp(a), op.nn.relu(op.multiply(a, b)))
    found = graph.from_relay(relay_ir.IRModule.from_expr(relay_ir.Function((a, b), body)))
    part, weights = graph.extract(*found, ["exp:0"], ["relu:0", "add:0"], name="rest")
    assert (part.name, part.params) == ("rest", ("exp", "a", "b"))
    one, two, three = (np.asarray(value, "float32") for value in ([1, 2], [3, -4], [5, 6]))
    relu, total = run((part, weights), one, two, three)
    close(relu, np.maximum(two * three, 0))
    close(total, one + np.maximum(two * three, 0))


def test_merged_graphs_keep_extents_of_their_own() -> None:
    def of(name: str) -> Weighted:
        x, y = relay_ir.var("x", shape=(relay_ir.Any(), 2)), relay_ir.var("y", shape=(relay_ir.Any(), 2))
        body = op.concatenate([x, y], 0)
        return graph.from_relay(relay_ir.IRModule.from_expr(relay_ir.Function((x, y), getattr(op, name)(body))))

    found = graph.merge(*of("exp"), *of("tanh"), {"x": "exp:0"})
    assert found[0].params == ("x", "y", "y_1")
    x, y, z = (np.full((rows, 2), rows, "float32") for rows in (1, 2, 3))
    close(run(found, x, y, z), np.tanh(np.concatenate([np.exp(np.concatenate([x, y])), z])))


def test_an_unused_parameter_is_deleted() -> None:
    x, y = relay_ir.var("x", shape=(2,)), relay_ir.var("y", shape=(2,))
    mod = relay_ir.IRModule.from_expr(relay_ir.Function((x, y), op.add(op.exp(x), y)))
    found = graph.delete(*graph.from_relay(mod), "add")
    found = graph.delete(*found, "y")
    assert found[0].params == ("x",)
    close(run(found, np.ones(2, "float32")), np.exp(np.ones(2)))


def test_nodes_of_relax_programs_are_edited() -> None:
    text = """from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 7), "float32")) -> R.Tensor(("n", 7), "float32"):
        with R.dataflow():
            a = R.nn.relu(x)
            b = R.exp(a)
            gv = R.add(b, R.const(1, "float32"))
            R.output(gv)
        return gv
"""
    found = graph.from_relax(relax_ir.parse(text))
    relu = np.maximum(X, 0)
    close(run(graph.replace(*found, "a", lambda v: relax_ir.call_op("tanh", v)), X), np.exp(np.tanh(X)) + 1)
    twice = graph.insert(*found, "a:0", lambda v: relax_ir.call_op("concat", relax_ir.Tuple((v, v)), axis=0))
    close(run(twice, X), np.exp(np.concatenate([relu, relu])) + 1)
    assert "n * 2" in graph.to_relax(*twice).script()
    close(run(graph.delete(*found, "b"), X), relu + 1)
    close(run(graph.extract(*found, ["a:0"], ["gv:0"], name="main"), X), np.exp(X) + 1)
    joined = graph.merge(*found, *graph.extract(*found, ["a:0"], ["b:0"]), {"a": "gv:0"})
    close(run(joined, X), np.exp(np.exp(relu) + 1))
    renamed = graph.rename(*found, {"b": "power", "x": "data"})
    assert "power" in graph.to_relax(*renamed).script()


WRONG: list[tuple[Callable[[Weighted], object], str]] = [
    (lambda g: graph.replace(*g, "none", op.abs), "no node 'none'"),
    (lambda g: graph.replace(*g, "x", op.abs), "'x' is an input"),
    (lambda g: graph.replace(*g, "relu", lambda v: relay_ir.Tuple((v, v))), "'relu' gives 1 tensors, 'tuple' 2"),
    (lambda g: graph.replace(*g, "dense", lambda x, w: op.transpose(op.nn.dense(x, w))), "add"),
    (lambda g: graph.insert(*g, "none:0", op.abs), "no tensor 'none:0'"),
    (lambda g: graph.insert(*g, "dense:0", op.abs, ["relu"]), "'relu' does not take 'dense:0'"),
    (lambda g: graph.delete(*g, "x"), "input 'x' of 'main' is used"),
    (lambda g: graph.delete(*g, "add", operand=2), "no operand 2"),
    (lambda g: graph.rename(*g, {"none": "a"}), "no node or weight 'none'"),
    (lambda g: graph.rename(*g, {"dense": "add"}), "'add' is taken"),
    (lambda g: graph.rename(*g, {"dense": "a", "add": "a"}), "one name"),
    (lambda g: graph.rename(*g, {"dense": ""}), "empty"),
    (lambda g: graph.extract(*g, [], ["none:0"]), "no tensor 'none:0'"),
    (lambda g: graph.extract(*g, ["x:0"], []), "without outputs"),
    (lambda g: graph.merge(*g, *g, {"none": "relu:0"}), "no input 'none'"),
    (lambda g: graph.merge(*g, *g, {"x": "relu:0"}), "dense"),
]


@pytest.mark.parametrize(("edit", "said"), WRONG)
def test_what_cannot_be_is_refused(edit: Callable[[Weighted], object], said: str) -> None:
    with pytest.raises(Relay2RelaxError, match=said):
        edit(net())


def test_a_node_that_holds_graphs_keeps_its_types() -> None:
    found, weights = msc.from_relay(*fused())
    with pytest.raises(GraphError, match=r"msc\.matmul.* holds or calls graphs"):
        graph.insert(found, weights, "x:0", lambda v: op.cast(v, "float64"))
    close(run(graph.insert(found, weights, "x:0", op.abs), X), np.abs(X) @ W.T)


def fused() -> tuple[relay_ir.IRModule, dict[str, Array]]:
    """Return a product that MSC's patterns take together."""
    x, w = relay_ir.var("x", shape=(3, 7)), relay_ir.var("w", shape=(7, 5))
    mod = relay_ir.IRModule.from_expr(relay_ir.Function((x, w), op.nn.dense(x, op.transpose(w, axes=[1, 0]))))
    return mod, {"w": np.ascontiguousarray(W.T)}
