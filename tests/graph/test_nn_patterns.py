"""Layers that patterns take together: they are found, come apart, and compute what PyTorch does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pytest

from relay2relax import backends, graph, relay_ir
from relay2relax.core.dtype import Array
from relay2relax.graph import MSCGraph
from relay2relax.relay_ir import op

torch = pytest.importorskip("torch")
functional = torch.nn.functional


@dataclass(frozen=True)
class Layer:
    """A layer: ``relay`` and ``torch`` compute it of inputs of ``shapes``, the first of which is
    data; the fused node is ``name``, and Relax calls ``operators``.
    """

    name: str
    shapes: Mapping[str, tuple[int, ...]]
    relay: Callable[..., Any]
    torch: Callable[..., Any]
    operators: tuple[str, ...]
    weights: tuple[str, ...] = ()


def const(value: float) -> relay_ir.Constant:
    return relay_ir.const(value, "float32")


def reshaped_linear(x: Any, w: Any, b: Any) -> Any:
    flat = op.nn.dense(op.reshape(x, [-1, 6]), op.transpose(w, axes=None))
    return op.add(b, op.reshape(flat, [2, 3, 4]))


def gelu(x: Any) -> Any:
    return x * const(0.5) * (op.erf(x / const(2**0.5)) + const(1))


def gelu_turned(x: Any) -> Any:
    return const(0.5) * (x * (const(1) + op.erf(x * const(0.5**0.5))))


def gelu_tanh(x: Any) -> Any:
    cube = op.power(x, const(3))
    return const(0.5) * x * (const(1) + op.tanh(const((2 / np.pi) ** 0.5) * (x + const(0.044715) * cube)))


def gelu_tanh_cubed(x: Any) -> Any:
    return const(0.5) * x * (const(1) + op.tanh(const((2 / np.pi) ** 0.5) * (x + const(0.044715) * (x * x * x))))


def layer_norm(x: Any, g: Any, b: Any) -> Any:
    centred = x - op.mean(x, [-1], True)
    variance = op.mean(op.power(centred, const(2)), [-1], True)
    return centred / op.sqrt(variance + const(1e-3)) * g + b


def layer_norm_by_rsqrt(x: Any, g: Any, b: Any) -> Any:
    centred = x - op.mean(x, [-1], True)
    return b + g * (centred * op.rsqrt(op.mean(centred * centred, [-1], True) + const(1e-3)))


def rms_norm(x: Any, g: Any) -> Any:
    return x * op.rsqrt(op.mean(op.power(x, const(2)), [-1], True) + const(1e-3)) * g


def group_norm(x: Any, g: Any, b: Any) -> Any:
    groups = op.reshape(x, [2, 3, -1])
    ones, zeros = relay_ir.const(np.ones(3, "float32")), relay_ir.const(np.zeros(3, "float32"))
    normal = op.reshape(op.nn.instance_norm(groups, ones, zeros, epsilon=1e-3), [2, 6, 4, 5])
    return normal * op.reshape(g, [6, 1, 1]) + op.reshape(b, [6, 1, 1])


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = op.reshape(op.nn.batch_matmul(q, k), [2, 3, 5, 7]) / const(4)
    weights = op.reshape(op.nn.softmax(scores, axis=3), [6, 5, 7])
    return op.nn.batch_matmul(weights, op.transpose(v, [0, 2, 1]))


def masked_attention(q: Any, k: Any, v: Any, m: Any) -> Any:
    scores = op.reshape(op.nn.batch_matmul(q, k), [2, 3, 5, 7]) * const(0.25) + m
    return op.nn.batch_matmul(op.reshape(op.nn.softmax(scores), [6, 5, 7]), v, transpose_b=False)


def plain_attention(q: Any, k: Any, v: Any) -> Any:
    return op.nn.batch_matmul(op.nn.softmax(op.nn.batch_matmul(q, k, transpose_b=False)), v, transpose_b=False)


def gru(x: Any, z: Any, n: Any, r: Any, h: Any) -> Any:
    update, new = op.sigmoid(z), op.tanh(x + op.sigmoid(r) * n)
    return (const(1) - update) * new + update * h


def gru_of_torch(x: Any, z: Any, n: Any, r: Any, h: Any) -> Any:
    new = op.tanh(x + op.sigmoid(r) * n)
    return new + op.sigmoid(z) * (h - new)


def gru_reference(x: Any, z: Any, n: Any, r: Any, h: Any) -> Any:
    new = torch.tanh(x + torch.sigmoid(r) * n)
    return (1 - torch.sigmoid(z)) * new + torch.sigmoid(z) * h


def shaped(*shapes: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    return dict(zip("xabcd", shapes, strict=False))


ONES = relay_ir.const(np.ones((6, 1, 1), "float32"))
ROWS = shaped((2, 3, 6))
NORM = shaped((2, 3, 6), (6,), (6,))
HEADS = shaped((6, 5, 16), (6, 7, 16), (6, 7, 4))
GATES = shaped(*[(2, 3)] * 5)
LAYERS = {
    "linear": Layer("msc.linear", shaped((3, 6), (4, 6)), lambda x, w: op.nn.dense(x, w), functional.linear,
                    ("permute_dims", "matmul"), ("weight",)),
    "linear bias": Layer("msc.linear_bias", shaped((3, 6), (4, 6), (4,)),
                         lambda x, w, b: op.nn.bias_add(op.nn.dense(x, w), b, axis=-1), functional.linear,
                         ("permute_dims", "matmul", "add"), ("weight", "bias")),
    "linear of rows": Layer("msc.linear_bias", shaped((2, 3, 6), (6, 4), (4,)), reshaped_linear,
                            lambda x, w, b: x @ w + b, ("matmul", "add"), ("weight", "bias")),
    "conv1d": Layer("msc.conv1d_bias", shaped((2, 3, 8), (4, 3, 3), (4,)),
                    lambda x, w, b: op.nn.bias_add(op.nn.conv1d(x, w), b), functional.conv1d,
                    ("nn.conv1d", "reshape", "add"), ("weight", "bias")),
    "conv2d": Layer("msc.conv2d_bias", shaped((2, 3, 8, 8), (4, 3, 3, 3), (4, 1, 1)),
                    lambda x, w, b: op.add(op.nn.conv2d(x, w), b),
                    lambda x, w, b: functional.conv2d(x, w, b.reshape(-1)), ("nn.conv2d", "add"), ("weight", "bias")),
    "conv3d": Layer("msc.conv3d_bias", shaped((1, 2, 5, 5, 5), (3, 2, 3, 3, 3), (3,)),
                    lambda x, w, b: op.nn.bias_add(op.nn.conv3d(x, w), b), functional.conv3d,
                    ("nn.conv3d", "reshape", "add"), ("weight", "bias")),
    "gelu": Layer("msc.gelu", ROWS, gelu, functional.gelu, ("nn.gelu",)),
    "gelu turned": Layer("msc.gelu", ROWS, gelu_turned, functional.gelu, ("nn.gelu",)),
    "gelu tanh": Layer("msc.gelu_tanh", ROWS, gelu_tanh, lambda x: functional.gelu(x, approximate="tanh"),
                       ("nn.gelu_tanh",)),
    "gelu cubed": Layer("msc.gelu_tanh", ROWS, gelu_tanh_cubed, lambda x: functional.gelu(x, approximate="tanh"),
                        ("nn.gelu_tanh",)),
    "silu": Layer("msc.silu", ROWS, lambda x: op.sigmoid(x) * x, functional.silu, ("nn.silu",)),
    "swish": Layer("msc.swish", ROWS, lambda x: x * op.sigmoid(const(1.5) * x), lambda x: x * torch.sigmoid(1.5 * x),
                   ("multiply", "sigmoid", "multiply")),
    "layer norm": Layer("msc.layer_norm", NORM, layer_norm, lambda x, g, b: functional.layer_norm(x, (6,), g, b, 1e-3),
                        ("nn.layer_norm",)),
    "layer norm by rsqrt": Layer("msc.layer_norm", NORM, layer_norm_by_rsqrt,
                                 lambda x, g, b: functional.layer_norm(x, (6,), g, b, 1e-3), ("nn.layer_norm",)),
    "rms norm": Layer("msc.rms_norm", shaped((2, 3, 6), (6,)), rms_norm,
                      lambda x, g: functional.rms_norm(x, (6,), g, 1e-3), ("nn.rms_norm",)),
    "group norm": Layer("msc.group_norm", shaped((2, 6, 4, 5), (6,), (6,)), group_norm,
                        lambda x, g, b: functional.group_norm(x, 3, g, b, 1e-3), ("nn.group_norm",)),
    "attention": Layer("msc.attention", HEADS, attention,
                       lambda q, k, v: functional.scaled_dot_product_attention(q, k, v), ("nn.attention",)),
    "masked attention": Layer("msc.attention", {**HEADS, "c": (2, 1, 5, 7)}, masked_attention,
                              lambda q, k, v, m: functional.scaled_dot_product_attention(
                                  q, k, v, m.expand(2, 3, 5, 7).reshape(6, 5, 7)), ("nn.attention",)),
    "plain attention": Layer("msc.scaled_dot_product", shaped((6, 5, 16), (6, 16, 7), (6, 7, 4)), plain_attention,
                             lambda q, k, v: torch.softmax(q @ k, -1) @ v, ("nn.attention",)),
    "gru": Layer("msc.gru_cell", GATES, gru, gru_reference, ("sigmoid", "tanh")),
    "gru of torch": Layer("msc.gru_cell", GATES, gru_of_torch, gru_reference, ("sigmoid", "tanh")),
}  # fmt: skip


def made(layer: Layer, held: bool) -> tuple[MSCGraph, dict[str, Array], dict[str, Array]]:
    """Return the graph of a layer, its weights, and values for its inputs; with ``held`` only the
    data are an input.
    """
    draw = np.random.default_rng(3)
    values = {name: draw.standard_normal(shape).astype("float32") for name, shape in layer.shapes.items()}
    given = {name: relay_ir.var(name, shape=shape) for name, shape in layer.shapes.items()}
    params = tuple(var for name, var in given.items() if name == "x" or not held)
    args = [relay_ir.const(values[name]) if held and name != "x" else var for name, var in given.items()]
    mod = relay_ir.IRModule.from_expr(relay_ir.Function(params, layer.relay(*args)))
    found, weights = graph.from_relay(mod)
    return found, weights, values


def run(rx: Any, target: str, values: list[Array]) -> Any:
    return backends.VirtualMachine(backends.build(rx, target=target))["main"](*values)


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("held", [True, False], ids=["constants", "parameters"])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_found_and_compute_what_torch_does(name: str, held: bool) -> None:
    layer = LAYERS[name]
    plain, weights, values = made(layer, held)
    found = graph.fuse(plain, weights, graph.nn_patterns())
    (node,) = (one for one in found.nodes if one.bodies)
    assert node.op == layer.name
    if held and layer.weights:
        assert tuple(node.weights) == layer.weights
    wanted = layer.torch(*(torch.from_numpy(one) for one in values.values())).numpy()
    given = [values[one] for one in plain.params]
    rx = graph.to_relax(found, weights)
    script = rx.script()
    assert all(f"R.{one}(" in script for one in layer.operators)
    for target in ("numpy", "c"):
        np.testing.assert_allclose(np.asarray(run(rx, target, given)), wanted, rtol=2e-4, atol=2e-5)
    parts = graph.to_relax(found, weights, fused="parts")
    np.testing.assert_allclose(np.asarray(run(parts, "numpy", given)), wanted, rtol=2e-4, atol=2e-5)
    assert_comes_apart(found, plain, weights)


def assert_comes_apart(found: MSCGraph, plain: MSCGraph, weights: dict[str, Array]) -> None:
    """Nodes, names and attributes are what they were; so is what documents read back."""
    apart = graph.unfuse(found)
    by_name = {node.name: replace(node, index=0) for node in plain.nodes}
    assert {node.name: replace(node, index=0) for node in apart.nodes} == by_name
    assert relay_ir.structural_equal(graph.to_relay(found, weights), graph.to_relay(plain, weights))
    again = graph.from_json(graph.to_json(found))
    assert graph.to_text(again) == graph.to_text(found)
    assert {node.name: replace(node, index=0) for node in graph.unfuse(again).nodes} == by_name


@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_found_in_programs_of_relax(name: str) -> None:
    """Of the same layers as Relax writes them out, as operators and as functions."""
    layer = LAYERS[name]
    plain, weights, values = made(layer, True)
    relax, held = graph.from_relax(graph.to_relax(plain, weights))
    found = graph.fuse(relax, held, graph.relax_patterns())
    wanted = "msc.attention" if layer.name == "msc.scaled_dot_product" else layer.name
    assert [one.op for one in found.nodes if one.bodies] == [wanted]
    expected = layer.torch(*(torch.from_numpy(one) for one in values.values())).numpy()
    given = [values[one] for one in plain.params]
    for form in ("operators", "functions"):
        rx = graph.to_relax(found, held, fused=form)
        np.testing.assert_allclose(np.asarray(run(rx, "numpy", given)), expected, rtol=2e-4, atol=2e-5)


@pytest.mark.tvm
@pytest.mark.parametrize("form", ["operators", "functions"])
@pytest.mark.sweep(every=6)
@pytest.mark.parametrize("name", [name for name in LAYERS if name not in ("gru", "swish", "linear", "conv1d")])
def test_tvm_computes_the_same(name: str, form: Literal["operators", "functions"]) -> None:
    pytest.importorskip("tvm")
    layer = LAYERS[name]
    plain, weights, values = made(layer, True)
    rx = graph.to_relax(graph.fuse(plain, weights, graph.nn_patterns()), weights, fused=form)
    wanted = layer.torch(*(torch.from_numpy(one) for one in values.values())).numpy()
    found = run(rx, "tvm", [values["x"]])
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=2e-4, atol=2e-5)


def test_a_cell_of_an_lstm_has_two_results() -> None:
    """Two steps, whose gates are one product, beside PyTorch's LSTM."""
    lstm = torch.nn.LSTM(5, 3)
    kernel, recurrent, bias, more = (one.detach().numpy() for one in lstm.parameters())
    x = relay_ir.var("x", shape=(2, 1, 5))
    h: Any = op.zeros([1, 3], "float32")
    c: Any = op.zeros([1, 3], "float32")
    for step in range(2):
        data = op.squeeze(op.strided_slice(x, [step], [step + 1], axes=[0]), axis=[0])
        gates = op.nn.dense(data, relay_ir.const(kernel)) + op.nn.dense(h, relay_ir.const(recurrent))
        parts = op.split(gates + relay_ir.const(bias + more), 4, 1)
        c = op.sigmoid(parts[1]) * c + op.sigmoid(parts[0]) * op.tanh(parts[2])
        h = op.sigmoid(parts[3]) * op.tanh(c)
    plain, weights = graph.from_relay(relay_ir.IRModule.from_expr(relay_ir.Function((x,), relay_ir.Tuple((h, c)))))
    found = graph.fuse(plain, weights, graph.nn_patterns())
    cells = [node for node in found.nodes if node.op == "msc.lstm_cell"]
    assert [len(cell.outputs) for cell in cells] == [2, 2]
    assert len(found) < len(plain)
    data = np.random.default_rng(1).standard_normal((2, 1, 5)).astype("float32")
    with torch.no_grad():
        _, wanted = lstm(torch.from_numpy(data))
    for one in (graph.to_relax(found, weights), graph.to_relax(found, weights, lowered=True)):
        for mine, theirs in zip(run(one, "numpy", [data]), wanted, strict=True):
            np.testing.assert_allclose(np.asarray(mine), theirs.numpy()[0], rtol=1e-4, atol=1e-5)
    assert_comes_apart(found, plain, weights)
    assert None not in graph.costs(found).values()


def test_embeddings_and_quantised_pairs() -> None:
    places = relay_ir.var("x", shape=(4,), dtype="int64")
    table = np.arange(12, dtype="float32").reshape(6, 2)
    body = op.take(relay_ir.const(table), op.cast(places, "int32"), axis=0)
    scale, zero = const(0.5), relay_ir.const(3, "int32")
    pair = op.qnn.dequantize(op.qnn.quantize(body, scale, zero, out_dtype="int8"), scale, zero)
    plain, weights = graph.from_relay(relay_ir.IRModule.from_expr(relay_ir.Function((places,), pair)))
    found = graph.fuse(plain, weights, graph.nn_patterns())
    assert [node.op for node in found.nodes if node.op] == ["msc.embedding", "msc.qdq"]
    assert list(found.find_node("msc.embedding").weights) == ["weight"]
    data = np.asarray([5, 0, 3, 3], "int64")
    np.testing.assert_array_equal(np.asarray(run(graph.to_relax(found, weights), "numpy", [data])), table[data])
    assert_comes_apart(found, plain, weights)


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(lambda x: x * const(0.5) * (op.erf(x / const(2)) + const(1)), id="another root"),
        pytest.param(lambda x: x * const(0.4) * (op.erf(x / const(2**0.5)) + const(1)), id="another half"),
        pytest.param(lambda x: op.sigmoid(x) * op.tanh(x), id="another factor"),
        pytest.param(lambda x: layer_norm(op.transpose(x, [2, 1, 0]), ONES, ONES), id="another extent"),
        pytest.param(lambda x: x * op.rsqrt(op.mean(op.power(x, const(3)), [-1], True) + const(1)) * ONES, id="power"),
        pytest.param(lambda x: x * op.rsqrt(op.mean(x * x, [0], True) + const(1)) * ONES, id="another axis"),
        pytest.param(lambda x: op.add(x, op.nn.relu(x)), id="nothing"),
    ],
)
def test_checks_refuse_what_only_looks_alike(wrong: Callable[[Any], Any]) -> None:
    x = relay_ir.var("x", shape=(6, 3, 6))
    plain, weights = graph.from_relay(relay_ir.IRModule.from_expr(relay_ir.Function((x,), wrong(x))))
    assert graph.fuse(plain, weights, graph.nn_patterns()) is plain


def test_what_is_used_outside_stays_apart() -> None:
    x = relay_ir.var("x", shape=(2, 3, 6))
    inner = op.sigmoid(x)
    plain, weights = graph.from_relay(relay_ir.IRModule.from_expr(relay_ir.Function((x,), x * inner + inner)))
    assert graph.fuse(plain, weights, graph.nn_patterns()) is plain
