"""What fused nodes become in Relax: operators, functions with ``Composite``, or their parts; of
Relay's graphs and of Relax's.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sweep

from relay2relax import backends, graph, relax_ir, relay_ir
from relay2relax.core.dtype import Array
from relay2relax.graph import GraphError, MSCGraph
from relay2relax.relay_ir import op
from relay2relax.relay_ir.dataflow_pattern import is_op, wildcard

torch = pytest.importorskip("torch")
functional = torch.nn.functional

DRAW = np.random.default_rng(7)
WEIGHT, BIAS = (DRAW.standard_normal(shape).astype("float32") for shape in ((4, 6), (4,)))
KERNEL = DRAW.standard_normal((4, 3, 3, 3)).astype("float32")
# (nodes, shape of the data, the body of a Relax function of data and constants c0, c1, PyTorch)
SCRIPTS: dict[str, tuple[list[str], tuple[int, ...], str, Callable[[Any], Any]]] = {
    "linear": (
        ["msc.linear_bias"], (2, 6),
        "w = R.permute_dims(c0)\np = R.matmul(x, w)\ny = R.add(p, c1)",
        lambda x: functional.linear(x, torch.from_numpy(WEIGHT), torch.from_numpy(BIAS)),
    ),
    "rows": (
        ["msc.linear_bias"], (2, 3, 6),
        "r = R.reshape(x, R.shape([6, 6]))\nw = R.permute_dims(c0)\np = R.matmul(r, w)\n"
        "s = R.reshape(p, R.shape([2, 3, 4]))\ny = R.add(s, c1)",
        lambda x: functional.linear(x, torch.from_numpy(WEIGHT), torch.from_numpy(BIAS)),
    ),
    "convolution": (
        ["msc.conv2d_bias"], (1, 3, 5, 5),
        "p = R.nn.conv2d(x, c2)\nb = R.reshape(c1, R.shape([1, 4, 1, 1]))\ny = R.add(p, b)",
        lambda x: functional.conv2d(x, torch.from_numpy(KERNEL), torch.from_numpy(BIAS)),
    ),
    "gelu": (
        ["msc.gelu"], (2, 6),
        'h = R.multiply(x, R.const(0.5, "float32"))\nd = R.divide(x, R.const(1.41421356, "float32"))\n'
        'e = R.erf(d)\no = R.add(e, R.const(1.0, "float32"))\ny = R.multiply(h, o)',
        functional.gelu,
    ),
    "silu": (["msc.silu"], (2, 6), "s = R.sigmoid(x)\ny = R.multiply(x, s)", functional.silu),
    "self-attention": (
        ["msc.attention"], (2, 3, 4, 4),
        "s = R.matmul(x, x)\nw = R.nn.softmax(s)\ny = R.matmul(w, x)",
        lambda x: torch.softmax(x @ x, -1) @ x,
    ),
    "scaled": (
        ["msc.attention"], (2, 3, 4),
        'k = R.permute_dims(x, axes=[0, 2, 1])\ns = R.matmul(x, k)\nd = R.divide(s, R.const(2.0, "float32"))\n'
        "w = R.nn.softmax(d)\ny = R.matmul(w, x)",
        lambda x: functional.scaled_dot_product_attention(x, x, x),
    ),
    "around attention": (
        ["msc.attention"], (2, 3, 4, 4),
        "q = R.permute_dims(x, axes=[0, 2, 1, 3])\nk = R.permute_dims(x, axes=[0, 2, 1, 3])\n"
        "v = R.permute_dims(x, axes=[0, 2, 1, 3])\n"
        'a = R.nn.attention(q, k, v, scale=0.25)\n'
        "y = R.permute_dims(a, axes=[0, 2, 1, 3])",
        lambda x: functional.scaled_dot_product_attention(x, x, x, scale=0.25),
    ),
    "embedding": (
        ["msc.embedding"], (2, 3),
        'b = R.abs(x)\np = R.astype(b, dtype="int32")\nr = R.reshape(p, R.shape([6]))\nt = R.take(c0, r, axis=0)\n'
        "y = R.reshape(t, R.shape([2, 3, 6]))",
        lambda x: functional.embedding(x.abs().to(torch.int32), torch.from_numpy(WEIGHT)),
    ),
    "two": (
        ["msc.silu", "msc.silu"], (2, 6),
        "s = R.sigmoid(x)\na = R.multiply(x, s)\nt = R.sigmoid(a)\ny = R.multiply(a, t)",
        lambda x: functional.silu(functional.silu(x)),
    ),
}  # fmt: skip


def of_script(name: str) -> tuple[MSCGraph, dict[str, Array], Array]:
    """Return the graph of a script, its weights, and data."""
    _, shape, body, _ = SCRIPTS[name]
    constants = {"c0": WEIGHT, "c1": BIAS, "c2": KERNEL}
    used = {one: data for one, data in constants.items() if one in body}
    params = [f'{one}: R.Tensor({data.shape}, "float32")' for one, data in {"x": np.empty(shape), **used}.items()]
    lines = "\n".join(f"            {line}" for line in body.splitlines())
    script = (
        f"@I.ir_module\nclass Module:\n    @R.function\n    def main({', '.join(params)}):\n"
        f"        with R.dataflow():\n{lines}\n            R.output(y)\n        return y\n"
    )
    found, weights = graph.from_relax(relax_ir.parse(script), used)
    return found, weights, DRAW.standard_normal(shape).astype("float32")


def run(rx: Any, target: str, *values: Array) -> Any:
    relax_ir.check_well_formed(rx)
    return np.asarray(backends.VirtualMachine(backends.build(rx, target=target))["main"](*values))


@pytest.mark.parametrize("name", SCRIPTS)
def test_graphs_of_relax_are_fused(name: str) -> None:
    plain, weights, data = of_script(name)
    found = graph.fuse(plain, weights, graph.relax_patterns())
    wanted, _, _, reference = SCRIPTS[name]
    assert [node.op for node in found.nodes if node.bodies] == wanted
    expected = reference(torch.from_numpy(data)).numpy()
    for form in ("operators", "functions", "parts"):
        rx = graph.to_relax(found, weights, fused=form)
        np.testing.assert_allclose(run(rx, "numpy", data), expected, rtol=1e-4, atol=1e-5)
        assert relax_ir.structural_equal(relax_ir.parse(rx.script()), rx)
    assert relax_ir.structural_equal(graph.to_relax(graph.unfuse(found), weights), graph.to_relax(plain, weights))


def test_functions_say_what_they_are_made_of() -> None:
    """As apache-tvm's FuseOpsByPattern prints them; what is the same twice is one function."""
    plain, weights, _ = of_script("two")
    rx = graph.to_relax(graph.fuse(plain, weights, graph.relax_patterns()), weights, fused="functions")
    (function,) = (one for var, one in rx.functions.items() if var.name != "main")
    assert isinstance(function, relax_ir.Function)
    assert dict(function.attrs) == {"Composite": "msc.silu", "Primitive": True}
    assert function.private
    assert rx.script().count("cls.msc_silu(") == 2


def test_extents_of_functions_are_their_own() -> None:
    script = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 6), "float32"), y: R.Tensor(("n", 6), "float32")):
        with R.dataflow():
            s = R.sigmoid(x)
            a = R.multiply(x, s)
            z = R.add(a, y)
            R.output(z)
        return z
"""
    plain, weights = graph.from_relax(relax_ir.parse(script))
    rx = graph.to_relax(graph.fuse(plain, weights, graph.relax_patterns()), weights, fused="functions")
    x, y = (DRAW.standard_normal((5, 6)).astype("float32") for _ in range(2))
    np.testing.assert_allclose(run(rx, "numpy", x, y), x / (1 + np.exp(-x)) + y, rtol=1e-5)


def of_relay() -> tuple[MSCGraph, dict[str, Array]]:
    x = relay_ir.var("x", shape=(2, 3, 6))
    half, one, root = (relay_ir.const(value, "float32") for value in (0.5, 1.0, 2**0.5))
    body = x * half * (op.erf(x / root) + one)
    rows = op.nn.dense(op.reshape(body, [-1, 6]), relay_ir.const(WEIGHT))
    body = op.add(op.reshape(rows, [2, 3, 4]), relay_ir.const(BIAS))
    return graph.from_relay(relay_ir.IRModule.from_expr(relay_ir.Function((x,), body)))


def reference_of_relay(data: Array) -> Any:
    made = functional.linear(functional.gelu(torch.from_numpy(data)), torch.from_numpy(WEIGHT), torch.from_numpy(BIAS))
    return made.numpy()


@pytest.mark.parametrize("target", ["numpy", "c", pytest.param("tvm", marks=pytest.mark.tvm)])
def test_nodes_of_relay_become_functions(target: str) -> None:
    plain, weights = of_relay()
    rx = graph.to_relax(graph.fuse(plain, weights, graph.nn_patterns()), weights, fused="functions")
    assert sorted(var.name for var in rx.functions) == ["main", "msc_gelu", "msc_linear_bias"]
    data = DRAW.standard_normal((2, 3, 6)).astype("float32")
    np.testing.assert_allclose(run(rx, target, data), reference_of_relay(data), rtol=1e-4, atol=1e-5)


@pytest.mark.tvm
def test_functions_are_those_of_fuse_ops_by_pattern() -> None:
    """apache-tvm partitions the same program, and its function is structurally equal to ours."""
    tvm = pytest.importorskip("tvm")
    from tvm import relax
    from tvm.relax import dpl

    plain, weights, _ = of_script("linear")
    text = graph.to_relax(plain, weights).script(show_meta=False)
    text = text.replace('metadata["relax.expr.Constant"][0]', "c0").replace('metadata["relax.expr.Constant"][1]', "c1")
    text = text.replace("(x: ", '(c0: R.Tensor((4, 6), "float32"), c1: R.Tensor((4,), "float32"), x: ')
    mod = relax.transform.BindParams("main", {"c0": WEIGHT, "c1": BIAS})(
        tvm.script.from_source(text, extra_vars={"I": tvm.script.ir, "R": tvm.script.relax})
    )
    pattern = dpl.is_op("relax.add")(
        dpl.is_op("relax.matmul")(dpl.wildcard(), dpl.is_op("relax.permute_dims")(dpl.is_const())), dpl.is_const()
    )
    theirs = relax.transform.FuseOpsByPattern([("msc.linear_bias", pattern)])(mod)
    (function,) = (one for var, one in theirs.functions.items() if var.name_hint != "main")
    fused = graph.fuse(plain, weights, graph.relax_patterns())
    for one in (fused, graph.from_json(graph.to_json(fused))):
        ours = relax_ir.tvm_bridge.to_tvm(graph.to_relax(one, weights, fused="functions"))
        tvm.ir.assert_structural_equal(ours["msc_linear_bias"], function, map_free_vars=True)


@pytest.mark.tvm
@pytest.mark.parametrize("name", ["self-attention", "rows"])
def test_tvm_runs_the_functions(name: str) -> None:
    plain, weights, data = of_script(name)
    rx = graph.to_relax(graph.fuse(plain, weights, graph.relax_patterns()), weights, fused="functions")
    expected = SCRIPTS[name][3](torch.from_numpy(data)).numpy()
    np.testing.assert_allclose(run(rx, "tvm", data), expected, rtol=1e-4, atol=1e-5)


def test_a_value_may_stand_twice() -> None:
    """Relay's attention of one value: the node takes it three times, also when it is read back."""
    y = relay_ir.var("y", shape=(6, 5, 5))
    scores = op.nn.softmax(op.nn.batch_matmul(y, y))
    body = op.nn.batch_matmul(scores, y, transpose_b=False)
    plain, weights = graph.from_relay(relay_ir.IRModule.from_expr(relay_ir.Function((y,), body)))
    found = graph.fuse(plain, weights, graph.nn_patterns())
    (node,) = (one for one in found.nodes if one.bodies)
    assert (node.op, node.operands) == ("msc.scaled_dot_product", ("y", "y", "y"))
    data = DRAW.standard_normal((6, 5, 5)).astype("float32")
    t = torch.from_numpy(data)
    wanted = (torch.softmax(t @ t.transpose(1, 2), -1) @ t).numpy()
    for again in (found, graph.from_json(graph.to_json(found)), graph.from_text(graph.to_text(found))):
        assert graph.to_text(again) == graph.to_text(found)
        rx = graph.to_relax(again, weights)
        assert "R.nn.attention(" in rx.script()
        np.testing.assert_allclose(run(rx, "numpy", data), wanted, rtol=1e-4, atol=1e-5)


def test_patterns_of_users_match_both() -> None:
    relu = graph.FusionPattern("my.relu_tanh", is_op("tanh")(is_op("nn.relu")(wildcard())))
    x = relay_ir.var("x", shape=(2, 3))
    plain, weights = graph.from_relay(relay_ir.IRModule.from_expr(relay_ir.Function((x,), op.tanh(op.nn.relu(x)))))
    of_relax = graph.from_relax(graph.to_relax(plain, weights))
    for one, held in ((plain, weights), of_relax):
        assert [node.op for node in graph.fuse(one, held, [relu]).nodes if node.bodies] == ["my.relu_tanh"]


def test_many_layers_in_a_row() -> None:
    """As many names as there are layers, of Relay and of Relax; nothing goes over them again."""
    count = sweep.ROW // 25
    x = relay_ir.var("x", shape=(2, 3))
    y: Any = x
    for _ in range(count):
        y = op.nn.relu(op.multiply(y, op.sigmoid(y)))
    plain, weights = graph.from_relay(relay_ir.IRModule.from_expr(relay_ir.Function((x,), y)))
    found = graph.fuse(plain, weights, graph.nn_patterns())
    names = {node.name for node in found.nodes if node.bodies}
    assert names == {"msc.silu", *(f"msc.silu_{number}" for number in range(1, count))}
    rx = graph.to_relax(found, weights, fused="functions")
    assert len(rx.functions) == 2
    again, held = graph.from_relax(graph.to_relax(plain, weights))
    assert len(graph.fuse(again, held, graph.relax_patterns())) == 2 * count + 1


def test_what_is_refused() -> None:
    plain, weights, _ = of_script("silu")
    cell = wildcard()
    sigmoid = is_op("sigmoid")(cell)
    two = graph.FusionPattern("my.two", is_op("multiply")(cell, sigmoid), also=(sigmoid,))
    with pytest.raises(GraphError, match="several results"):
        graph.fuse(plain, weights, [two])
    found = graph.fuse(plain, weights, graph.relax_patterns())
    document = json.loads(graph.to_json(found))
    document["relay2relax"]["fused"]["main"]["nodes"][0]["pattern"] = "msc.layer_norm"
    other = graph.from_json(json.dumps(document).replace('"msc.silu"', '"msc.layer_norm"'))
    with pytest.raises(GraphError, match=r"the parts of 'msc\.layer_norm' are not those of the pattern"):
        graph.to_relax(other, weights)
