"""From Relay to the graph and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sweep import CHAIN
from typed import of_type

from relay2relax import graph, relay_ir
from relay2relax.core import UnsupportedError
from relay2relax.core.source import Span
from relay2relax.graph import GraphError
from relay2relax.relay_ir import Call, Constant, Function, GlobalVar, IRModule, Tuple, TupleGetItem, var
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.ir.rewrite import nodes
from relay2relax.relay_ir.transform import ToGraphNormalForm

if TYPE_CHECKING:
    from model_cases import ModelCase


def module(*params: relay_ir.Var, body: relay_ir.Expr, **others: Function) -> IRModule:
    functions = {GlobalVar("main"): Function(params, body)}
    return IRModule(functions | {GlobalVar(name): function for name, function in others.items()})


def back(mod: IRModule) -> IRModule:
    """Return what becomes of ``mod`` on the way through the graph and its JSON."""
    found, weights = graph.from_relay(mod)
    direct = graph.to_relay(found, weights)
    read = graph.from_json(graph.to_json(found))
    assert graph.to_text(read) == graph.to_text(found)
    assert relay_ir.first_difference(graph.to_relay(read, weights), direct) is None
    return direct


def described(mod: IRModule) -> list[object]:
    """Return what structural equality leaves out: names of variables, spans, identity of
    constants.
    """
    order = list(nodes(mod["main"]))
    constants = {node: index for index, node in enumerate(n for n in order if isinstance(n, Constant))}
    return [
        (
            type(node).__name__,
            getattr(node, "name", None),
            getattr(node, "span", None),
            constants.get(node) if isinstance(node, Constant) else None,
        )
        for node in order
    ]


@pytest.mark.sweep(every=2)
def test_models_come_back(model_case: ModelCase) -> None:
    mod = ToGraphNormalForm()(relay_ir.load_json(model_case.json))
    again = back(mod)
    assert relay_ir.first_difference(again, mod) is None
    assert described(again) == described(mod)
    assert [param.name for param in again["main"].params] == [param.name for param in mod["main"].params]


@pytest.mark.sweep(every=3)
def test_models_come_back_with_bound_params(model_case: ModelCase) -> None:
    mod = ToGraphNormalForm()(relay_ir.load_json(model_case.json))
    params = {
        spec["name"]: array
        for spec, array in zip(model_case.specs(), model_case.arguments(), strict=True)
        if spec["role"] == "param"
    }
    bound = relay_ir.bind_params(mod, params)
    found, weights = graph.from_relay(mod, params)
    again = graph.to_relay(found, weights)
    assert relay_ir.first_difference(again, bound) is None
    assert described(again) == described(bound)
    for tensor in found.get_weights():
        if tensor.alias:
            assert weights[tensor.name] is params[tensor.alias]
    assert {tensor.alias for tensor in found.get_weights() if tensor.alias} == set(params)
    read = graph.from_json(graph.to_json(found))
    assert relay_ir.first_difference(graph.to_relay(read, weights), bound) is None


@pytest.mark.sweep(every=2)
def test_importers_modules_come_back(recorded: Callable[[str], Iterator[dict[str, Any]]]) -> None:
    same = 0
    for case in recorded("msc"):
        if len(case["json"]) > 300_000:
            continue
        mod = relay_ir.load_json(case["json"])
        try:
            mod = relay_ir.infer_type(ToGraphNormalForm()(mod))
            again = back(mod)
        except UnsupportedError:
            continue
        except relay_ir.TypeInferenceError as error:
            assert "perator" in str(error), case["id"]  # noqa: PT017 - one that has no record yet
            continue
        assert relay_ir.first_difference(again, mod) is None, case["id"]
        same += 1
    assert same > 10


def test_sharing_and_duplicates() -> None:
    x = var("x", shape=(2, 4))
    constant = relay_ir.const(np.ones((2, 4), np.float32))
    first, second = (op.split(x, indices_or_sections=2) for _ in range(2))
    body = Tuple(
        (
            op.add(TupleGetItem(first, 0), TupleGetItem(first, 0)),
            op.add(TupleGetItem(second, 1), relay_ir.const(2.0)),
            op.add(constant, constant),
            op.add(constant, relay_ir.Constant(constant.data)),
            Tuple(()),
            x,
        )
    )
    mod = module(x, body=body)
    again = back(mod)
    assert relay_ir.first_difference(again, mod) is None
    assert described(again) == described(mod)


def test_equal_names_and_unused_parameters() -> None:
    params = [var("x", shape=(2,)), var("x", shape=(2,)), var("unused", shape=(3,)), var("relu", shape=(2,))]
    mod = module(*params, body=op.add(op.nn.relu(params[1]), op.add(params[0], params[3])))
    found, _ = graph.from_relay(mod)
    assert found.params == ("x", "x_1", "unused", "relu")
    assert found.find_node("relu_1").optype == "nn.relu"
    again = back(mod)
    assert [param.name for param in again["main"].params] == ["x", "x", "unused", "relu"]
    assert relay_ir.structural_equal(again, mod)


def test_function_literals_keep_scopes() -> None:
    x, y, a, b = (var(name, shape=(2,)) for name in "xyab")
    outer = op.nn.relu(x)
    between = op.exp(outer)  # used in the function literals and around them, so it is evaluated around them
    inner = Function((b,), op.add(b, op.add(between, op.sqrt(a))))
    function = Function((a,), op.add(Call(inner, (a,)), between), attrs={"name": "local"}, span=Span("here", 3))
    body = op.add(Call(function, (x,)), op.add(Call(function, (y,)), between))
    mod = module(x, y, body=body)
    again = back(mod)
    assert relay_ir.first_difference(again, mod) is None
    assert described(again) == described(mod)
    found, _ = graph.from_relay(mod)
    (literal,) = [node for node in found.nodes if node.optype == "function"]
    assert literal.operands == ("exp",)
    part = literal.attrs.graph
    assert [part.find_node(name).attrs.hint for name in part.params] == ["a"]
    assert len(part.captured) == 1
    assert sum(node.optype == "exp" for every in found.subgraphs() for node in every.nodes) == 1


def test_attributes_that_are_operands_stay_so() -> None:
    """``arange`` holds its inputs in its attributes once more."""
    x, step = var("x", "float32"), relay_ir.const(1.0)
    stop = op.nn.relu(x)
    mod = module(x, body=op.arange(x, stop, step, dtype="float32"))
    again = back(mod)
    assert relay_ir.first_difference(again, mod) is None
    call = of_type(again["main"].body, relay_ir.Call)
    attrs: Any = call.attrs
    assert (attrs.start, attrs.stop, attrs.step) == call.args
    assert "ATTRS: dtype=float32" in graph.to_text(graph.from_relay(mod)[0])


def test_functions_of_the_module_come_along() -> None:
    x, a = var("x", shape=(2,)), var("a", shape=(2,))
    weight = relay_ir.const(np.ones(2, np.float32))
    helper = Function((a,), op.add(op.nn.relu(a), weight), relay_ir.TensorType((2,)))
    called = GlobalVar("helper")
    mod = IRModule(
        {GlobalVar("main"): Function((x,), op.add(Call(called, (x,)), weight)), called: helper},
        attrs={"origin": "test"},
    )
    again = back(mod)
    assert relay_ir.first_difference(again, mod) is None
    assert dict(again.attrs) == {"origin": "test"}
    _, weights = graph.from_relay(mod)
    assert list(weights) == ["const"]


def test_weights_are_held_where_msc_holds_them() -> None:
    x = var("x", shape=(1, 3, 8, 8))
    shared = relay_ir.const(np.ones((3, 3, 1, 1), np.float32))
    plain = relay_ir.const(np.ones((3, 3, 1, 1), np.float32))
    body = op.nn.conv2d(op.nn.conv2d(x, shared, kernel_size=(1, 1)), shared, kernel_size=(1, 1))
    body = Tuple((op.nn.conv2d(body, plain, kernel_size=(1, 1)), plain))
    mod = module(x, body=body)
    found, weights = graph.from_relay(mod)
    convolutions = [node for node in found.nodes if node.optype == "nn.conv2d"]
    assert [{role: t.name for role, t in node.weights.items()} for node in convolutions] == [
        {"weight": "const"}, {"weight": "const"}, {}
    ]  # fmt: skip
    assert convolutions[2].parents == ("conv2d_1", "const_1")
    assert weights["const"] is shared.data
    assert relay_ir.first_difference(back(mod), mod) is None


def test_unknown_extents_get_names() -> None:
    mod, params = relay_ir.testing.mlp.get_workload(batch_size=relay_ir.Any(), image_shape=(1, 4, 4))
    found, _ = graph.from_relay(mod, params)
    batch = [tensor.get_shape(with_prims=True)[0] for tensor in (*found.get_inputs(), *found.get_outputs())]
    assert batch[0] == batch[1] != -1
    assert all(tensor.shape[0] == -1 for node in found.nodes for tensor in node.outputs if "const" not in node.name)
    prim = found.find_prim(str(batch[0]))
    assert (prim.optype, dict(prim.attrs)) == ("shape", {"producer": "data", "out_idx": "0", "dim": "0"})
    assert relay_ir.structural_equal(graph.to_relay(*graph.from_relay(mod)), mod)


def test_computed_extents_are_prims_of_prims() -> None:
    x, y = var("x", shape=(relay_ir.Any(), 3)), var("y", shape=(relay_ir.Any(), 3))
    mod = module(x, y, body=op.nn.batch_flatten(op.expand_dims(op.concatenate((x, y), axis=0), axis=0)))
    found, _ = graph.from_relay(mod)
    by_name = {prim.name: prim for prim in found.prims}
    shapes = {prim.attrs["producer"] for prim in found.prims if prim.optype == "shape"}
    assert {"x", "y"} <= shapes
    (joined,) = [node for node in found.nodes if node.optype == "concatenate"]
    extent = joined.outputs[0].prims[0]
    assert by_name[extent].optype == "Add"
    assert {by_name[parent].attrs["producer"] for parent in by_name[extent].parents} == {"x", "y"}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: Tuple((relay_ir.Op("nn.relu"), x)), "operator nn.relu as a value"),
        (lambda x: op.add(x, var("free", shape=(2,))), "free variable %free"),
    ],
)
def test_what_a_graph_cannot_express(make: Callable[[relay_ir.Var], relay_ir.Expr], message: str) -> None:
    x = var("x", shape=(2,))
    with pytest.raises(UnsupportedError, match=message):
        graph.from_relay(module(x, body=make(x)))


def test_weights_that_do_not_fit() -> None:
    x = var("x", shape=(2,))
    found, weights = graph.from_relay(module(x, body=op.add(x, relay_ir.const(np.ones(2, np.float32)))))
    assert list(weights) == ["const"]
    with pytest.raises(GraphError, match="no 'const'"):
        graph.to_relay(found, {})
    with pytest.raises(GraphError, match=r"'const': expected \(2,\) of float32, given \(3,\) of float32"):
        graph.to_relay(found, {"const": np.ones(3, np.float32)})


def test_queries() -> None:
    x = var("x", shape=(2,))
    relu = op.nn.relu(x)
    found, _ = graph.from_relay(module(x, body=op.add(op.exp(relu), relu)))
    assert found.inputs == ("x:0",)
    assert found.outputs == ("add:0",)
    assert found.find_tensor("add").name == "add:0"
    assert found.find_producer("relu:0").name == "relu"
    assert [node.name for node in found.find_consumers("relu:0")] == ["exp", "add"]
    assert [node.name for node in found.parents("add")] == ["exp", "relu"]
    assert [node.name for node in found.children("relu")] == ["exp", "add"]
    assert sorted(found.dag.edges) == [("exp", "add"), ("relu", "add"), ("relu", "exp"), ("x", "relu")]
    assert found.inspect()["nodes"] == {"total": 4, "input": 1, "nn.relu": 1, "exp": 1, "add": 1}
    assert found.has_node("x")
    assert not found.has_tensor("nothing:0")
    with pytest.raises(GraphError, match="no node 'nothing'"):
        found.find_node("nothing")


def test_a_long_chain() -> None:
    x = var("x", shape=(2,))
    body: relay_ir.Expr = x
    for _ in range(CHAIN):
        body = op.nn.relu(body)
    mod = module(x, body=body)
    found, weights = graph.from_relay(mod)
    assert len(found) == CHAIN + 1
    assert relay_ir.first_difference(graph.to_relay(found, weights), mod) is None


def test_extents_below_zero_are_refused_with_their_places() -> None:
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(-1), float32]) {
  exp(%x)
}"""
    with pytest.raises(UnsupportedError) as caught:
        graph.from_relay(relay_ir.infer_type(relay_ir.parse(text)))
    assert [one.where.line if one.where else None for one in caught.value.diagnostics] == [2, 3]
