"""Nodes that patterns take together: MSC's graphs, what they become, and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from relay2relax import backends, graph, relax_ir, relay_ir
from relay2relax.core.dtype import Array
from relay2relax.core.errors import UnsupportedError
from relay2relax.graph import FusionPattern, GraphError, MSCGraph, msc
from relay2relax.relay_ir import op
from relay2relax.relay_ir.dataflow_pattern import is_constant, is_op, wildcard

# Of the recorded graphs, those before which TVM ran passes, or that hold other constants inside.
DIFFERENT = 9


def linear(bias: bool = True, fill: float = 0.5) -> tuple[relay_ir.IRModule, dict[str, Array]]:
    """Return what TVM's PyTorch importer makes of ``Linear(10, 7)`` over 1x3x10x10."""
    x, w, b = (
        relay_ir.var("input0", shape=(1, 3, 10, 10)),
        relay_ir.var("w", shape=(7, 10)),
        relay_ir.var("b", shape=(7,)),
    )
    left = op.reshape(op.broadcast_to(x, [1, 3, 10, 10]), [-1, 10, 10])
    right = op.reshape(op.broadcast_to(op.transpose(w, axes=[1, 0]), [1, 3, 10, 7]), [-1, 10, 7])
    product = op.reshape(op.nn.batch_matmul(left, right, transpose_b=False), [1, 3, 10, 7])
    body = op.squeeze(product, axis=[])
    body = op.nn.bias_add(body, b, axis=-1) if bias else body
    params = {"w": np.full((7, 10), fill, "float32"), "b": np.arange(7, dtype="float32")}
    given = (x, w, b) if bias else (x, w)
    return relay_ir.IRModule.from_expr(relay_ir.Function(given, body)), {
        one.name: params[one.name] for one in given[1:]
    }


# What the page about MSC prints, its attributes in another order.
PAGE = """\
main <INPUTS: input0:0| OUTPUTS: msc.linear_bias:0>
ID_0 input0 <PARENTS: | CHILDERN: msc.linear_bias>
  OUT: input0:0(input0)<1,3,10,10|float32>
  OPTYPE: input

ID_1 msc.linear_bias <PARENTS: input0| CHILDERN: >
  IN: input0:0(input0)<1,3,10,10|float32>
  OUT: msc.linear_bias:0(msc.linear_bias_0)<1,3,10,7|float32>
  OPTYPE: msc.linear_bias
  SCOPE: block
  ATTRS: allowzero_1=0 out_dtype= transpose_a=0 allowzero=0 axis= dtype_1= axes=1,0 dtype= shape_1=1,3,10,7 newshape_1=-1,10,7 transpose_b=0 allowzero_2=0 shape=1,3,10,10 newshape_2=1,3,10,7 axis_1=-1 newshape=-1,10,10
  WEIGHTS:
    weight: const<7,10|float32>
    bias: const_1<7|float32>
"""  # noqa: E501


def without_order(text: str) -> str:
    """Return a text of MSC's with attributes sorted, and nothing behind its lines."""
    lines = [line.rstrip() for line in text.splitlines()]
    found = ["  ATTRS: " + " ".join(sorted(one.split()[1:])) if one.startswith("  ATTRS:") else one for one in lines]
    return "\n".join(found).strip()


def test_the_page_about_msc_is_printed() -> None:
    found, _ = msc.from_relay(*linear(), patterns="msc-2023")
    assert without_order(graph.to_text(found, msc="2023")) == without_order(PAGE)


def test_relax_has_the_bindings_of_the_page() -> None:
    found, weights = msc.from_relay(*linear(), patterns="msc-2023")
    rx = msc.to_relax(found, weights, {"explicit_name": False, "from_relay": True})
    lines = [line.split(" = ")[1] for line in rx.script().splitlines() if line.lstrip().startswith(("lv", "gv:"))]
    assert [line.partition("(")[0] for line in lines] == ["R.permute_dims", "R.matmul", "R.add", "lv2"]


@pytest.mark.tvm
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_relax_is_what_tvm_imports_of_the_same_module() -> None:
    torch, tvm = pytest.importorskip("torch"), pytest.importorskip("tvm")
    from tvm.relax.frontend.torch import from_fx

    layer = torch.nn.Linear(10, 7)
    shape = [1, 3, 10, 10]
    scripted = torch.jit.trace(layer, torch.rand(*shape))
    mod, params = relay_ir.frontend.from_pytorch(scripted, [("input0", (shape, "float32"))])
    rx = msc.to_relax(*msc.from_relay(mod, params, patterns="msc-2023"))
    with torch.no_grad():
        wanted = from_fx(torch.fx.symbolic_trace(torch.nn.Sequential(layer)), [(shape, "float32")])
    tvm.ir.assert_structural_equal(tvm.script.from_source(rx.script()), wanted)


@pytest.mark.golden
def test_recorded_graphs_are_msc_s_to_the_letter(recorded: Any) -> None:
    same, fused, wanted = 0, Counter[str](), Counter[str]()
    for case in recorded("msc"):
        mod = relay_ir.load_json(case["json"])
        zeros = {one.name: np.zeros(*extents(one)) for one in mod["main"].params if one.name.startswith("aten::")}
        found, _ = msc.from_relay(mod, zeros)
        text = without_order(graph.to_text(found, msc=True))
        same += text == without_order(case["graph"])
        lines = [line.strip() for line in case["graph"].splitlines()]
        wanted.update(line for line in lines if line.startswith("OPTYPE: msc."))
        fused.update(line.strip() for line in text.splitlines() if line.startswith("  OPTYPE: msc."))
    assert fused == wanted
    assert sum(fused.values()) == 7
    assert same == 83 - DIFFERENT


def extents(var: relay_ir.Var) -> tuple[tuple[int, ...], str]:
    """Return shape and dtype of a parameter."""
    annotation = var.type_annotation
    assert isinstance(annotation, relay_ir.TensorType)
    return tuple(int(str(one)) for one in annotation.shape), annotation.dtype


def run(rx: relax_ir.IRModule, data: Array) -> Any:
    """Return what ``main`` gives on numpy."""
    return np.asarray(backends.VirtualMachine(backends.build(rx, target="numpy"))["main"](data))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("form", ["operators", "parts", "lowered"])
def test_fused_nodes_compute_what_their_parts_do(bias: bool, form: str) -> None:
    mod, params = linear(bias, 0.25)
    found, weights = msc.from_relay(mod, params, patterns="msc-2023")
    data = np.linspace(-1, 1, 300, dtype="float32").reshape(1, 3, 10, 10)
    wanted = data @ params["w"].T + (params["b"] if bias else 0)
    if form == "lowered":
        rx = graph.to_relax(found, weights, lowered=True)
    else:
        rx = graph.to_relax(found, weights, fused="parts" if form == "parts" else "operators")
    np.testing.assert_allclose(run(rx, data), wanted, rtol=1e-5, atol=1e-5)


def test_an_unknown_form_is_refused() -> None:
    found, weights = msc.from_relay(*linear())
    with pytest.raises(UnsupportedError, match="form of fused nodes"):
        graph.to_relax(found, weights, fused="both")  # type: ignore[arg-type]


def nodes_of(one: MSCGraph) -> Mapping[str, object]:
    """Return nodes by name, without their places."""
    return {node.name: (node.op, node.operands, node.inputs, node.attrs, node.span, node.weights) for node in one.nodes}


@pytest.mark.golden
def test_what_is_fused_comes_apart_without_loss(recorded: Any) -> None:
    count = 0
    for case in recorded("msc"):
        mod = relay_ir.load_json(case["json"])
        zeros = {one.name: np.zeros(*extents(one)) for one in mod["main"].params if one.name.startswith("aten::")}
        plain, weights = graph.from_relay(mod, zeros)
        found = graph.fuse(plain, weights, graph.msc_patterns("msc-2023"))
        count += len(found) < len(plain)
        assert nodes_of(graph.unfuse(found)) == nodes_of(plain)
        assert graph.unfuse(found).result == plain.result
        assert relay_ir.structural_equal(graph.to_relay(found, weights), graph.to_relay(plain, weights))
    assert count == 10


def test_json_has_fused_nodes() -> None:
    found, weights = msc.from_relay(*linear())
    text = graph.to_json(found)
    back = graph.from_json(text)
    assert graph.to_text(back) == graph.to_text(found)
    assert relay_ir.structural_equal(graph.to_relay(back, weights), graph.to_relay(found, weights))


@pytest.mark.parametrize("field", ["operands", "outputs"])
def test_parts_that_do_not_fit_their_node_are_refused(field: str) -> None:
    found, weights = msc.from_relay(*linear())
    place = next(place for place, node in enumerate(found.nodes) if node.op == "msc.linear")
    nodes = list(found.nodes)
    if field == "operands":
        nodes[place] = replace(nodes[place], operands=())
    else:
        nodes[0] = replace(nodes[0], outputs=nodes[0].outputs * 2)
    with pytest.raises(GraphError, match=r"msc\.linear"):
        graph.to_relay(replace(found, nodes=tuple(nodes)), weights)


def test_a_user_adds_a_pattern() -> None:
    x = relay_ir.var("x", shape=(1, 3, 8, 8))
    kernel = relay_ir.const(np.ones((4, 3, 3, 3), "float32"))
    mod = relay_ir.IRModule.from_expr(
        relay_ir.Function((x,), op.nn.relu(op.nn.conv2d(x, kernel)) + relay_ir.const(1.0))
    )
    plain, weights = graph.from_relay(mod)
    weight = is_constant()
    pattern = is_op("nn.relu")(is_op("nn.conv2d")(wildcard(), weight))
    found = graph.fuse(plain, weights, [FusionPattern("my.conv_relu", pattern, {weight: "weight"})])
    (node,) = (one for one in found.nodes if one.op == "my.conv_relu")
    assert (node.operands, list(node.weights)) == (("x",), ["weight"])
    data = np.ones((1, 3, 8, 8), "float32")
    np.testing.assert_array_equal(run(graph.to_relax(found, weights), data), np.full((1, 4, 6, 6), 28, "float32"))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(lambda x: x * (const(0.5) + op.erf(x * const(0.7)) * const(0.5)), id="another factor"),
        pytest.param(
            lambda x: op.nn.batch_matmul(*[op.reshape(op.broadcast_to(x, [4, 4]), [1, 4, 4])] * 2), id="turned"
        ),
    ],
)
def test_checks_refuse_what_only_looks_alike(body: Any) -> None:
    x = relay_ir.var("x", shape=(4, 4))
    made = body(x)
    made = op.squeeze(op.reshape(made, [4, 4]), axis=[])
    found, _ = msc.from_relay(relay_ir.IRModule.from_expr(relay_ir.Function((x,), made)))
    assert not [node for node in found.nodes if node.op.startswith("msc.")]


def batch(x: relay_ir.Expr) -> Any:
    """Return a matrix as TVM's importer makes a batch of it."""
    return op.reshape(op.broadcast_to(x, [4, 4]), [1, 4, 4])


def const(value: float) -> relay_ir.Constant:
    """Return a number of float32."""
    return relay_ir.const(value, "float32")


def test_what_is_used_elsewhere_stays_apart() -> None:
    x = relay_ir.var("x", shape=(2, 2))
    y = relay_ir.var("y", shape=(2, 2))
    turned = op.transpose(y, axes=[1, 0])
    body = op.nn.dense(x, turned) + turned
    found, _ = msc.from_relay(relay_ir.IRModule.from_expr(relay_ir.Function((x, y), body)))
    assert not [node for node in found.nodes if node.op.startswith("msc.")]


def test_options_of_msc_that_mean_nothing_here_are_named() -> None:
    found, weights = msc.from_relay(*linear())
    with pytest.raises(GraphError, match="use_tools") as error:
        msc.to_relax(found, weights, {"use_tools": True})
    assert error.value.code == "R2R-0410"
    with pytest.raises(GraphError, match="opt_level"):
        msc.from_relay(*linear(), opt_config={"opt_level": 3})
