"""Graphs as ONNX models: ONNX's checker takes them, and ONNX Runtime computes what was recorded."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from commands import run_here
from recorded_cases import arguments, called, entry, flat, has_data, problem
from sweep import sampled

from relay2relax import graph, relay_ir, translator
from relay2relax.core.errors import UnsupportedError
from relay2relax.core.tolerance import difference

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

import onnxruntime.capi.onnxruntime_pybind11_state as states  # noqa: E402

HEAD = '#[version = "0.0.5"]\n'
# What ONNX Runtime 1.32 has no kernel for, or refuses, though ONNX has it.
NO_KERNEL = {
    "acos", "acosh", "asinh", "atan", "atanh", "cosh", "sinh", "tan", "image.resize1d", "image.resize3d",
    "nn.conv1d", "nn.depth_to_space", "one_hot", "dyn.one_hot", "nn.instance_norm",
}  # fmt: skip
# Relay takes what ONNX does not define: updates beyond the places, a length of less than nothing.
UNDEFINED = {"5729ddcc5d76", "6e256d132b91", "395db7ed9c53", "3f2e05041310"}
# The text has an exponent in six digits.
ROUNDED = {"7462f2fad034"}


def runtime(model: Any) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    given = model if isinstance(model, str) else model.SerializeToString()
    return onnxruntime.InferenceSession(given, options, providers=["CPUExecutionProvider"])


def exported(text: str, weights: dict[str, np.ndarray] | None = None) -> Any:
    """Return the model of a Relay text, which the checker takes."""
    found = graph.to_onnx(*graph.from_relay(relay_ir.infer_type(relay_ir.parse(text)), weights))
    onnx.checker.check_model(found, full_check=True)
    return found


def own_domain(model: Any) -> list[str]:
    return [node.op_type for node in model.graph.node if node.domain]


def run(model: Any, *given: np.ndarray) -> list[np.ndarray]:
    names = [one.name for one in model.graph.input]
    found: list[np.ndarray] = runtime(model).run(None, dict(zip(names, given, strict=True)))
    return found


def not_used(mod: relay_ir.IRModule) -> set[str]:
    """Return the names of the scales that batch norms of ``mod`` are told not to use."""
    found = set()
    for node in mod.types:
        match node:
            case relay_ir.Call(relay_ir.Op("nn.batch_norm"), (_, relay_ir.Var(name), *_), attrs) if not attrs.scale:
                found.add(name)
    return found


@pytest.mark.golden
@pytest.mark.sweep(every=4)
def test_recorded_models(model_case: Any) -> None:
    mod = relay_ir.infer_type(relay_ir.parse(model_case.text))
    triples = list(zip(model_case.specs(), mod["main"].params, model_case.arguments(), strict=True))
    weights = {param.name: array for spec, param, array in triples if spec["role"] == "param"}
    found, held = graph.from_relay(mod)
    model = graph.to_onnx(found, {**held, **weights})
    onnx.checker.check_model(model, full_check=True)
    assert not own_domain(model)
    results = run(model, *(array for _, param, array in triples if param.name not in weights))
    for result, expected in zip(results, model_case.expected(), strict=True):
        assert difference(result, expected, 4608).agrees
    assert set(weights) - not_used(mod) <= {one.name for one in model.graph.initializer}
    assert [one.name for one in model.graph.input] == [
        param.name for _, param, _ in triples if param.name not in weights
    ]


@pytest.mark.golden
@pytest.mark.parametrize(
    ("name", "all_of_them"),
    [("operators", 1060), ("dynamic", 185), ("random", 185), ("frontend_onnx", 305), ("frontend_torch", 430)],
)
@pytest.mark.sweep(every=2)
def test_recorded_cases(recorded: Any, name: str, all_of_them: int) -> None:
    agreeing, cases, wrong = 0, 0, []
    for case in sampled(recorded(name), 1):
        if not has_data(case) or entry(case) != "main":
            continue
        cases += 1
        mod = relay_ir.infer_type(relay_ir.parse(case["text"], case["id"]))
        try:
            model = graph.to_onnx(*graph.from_relay(mod))
        except UnsupportedError:
            continue
        onnx.checker.check_model(model, full_check=True)
        if own_domain(model) or case["id"] in UNDEFINED | ROUNDED:
            continue
        found = _result(model, case, mod)
        if found:
            wrong.append(f"{case['id']}: {found}")
        agreeing += not found
    assert not wrong, "\n".join(wrong)
    # Of the whole file as many agree at least; of a sample most.
    assert agreeing >= (all_of_them if cases > 150 else cases // 2)


def _result(model: Any, case: dict[str, Any], mod: relay_ir.IRModule) -> str:
    """Return what is wrong with what ONNX Runtime computes, nothing where it has no kernel."""
    given = flat(tuple(arguments(case, mod["main"])))
    try:
        results = run(model, *given)
    except (states.Fail, states.NotImplemented, states.InvalidArgument) as error:
        return "" if called(case["text"]) & NO_KERNEL else str(error)
    return problem(results[0] if len(results) == 1 else tuple(results), case, mod)


def test_extents_keep_their_names() -> None:
    text = HEAD + "def @main(%x: Tensor[(?, 3), float32]) { reshape(%x, newshape=[-1]) }"
    mod = relay_ir.infer_type(relay_ir.parse(text))
    model = graph.to_onnx(*graph.from_relay(mod, dims={"x": ("batch", 3)}), dims={"x": ("batch", 3)})
    onnx.checker.check_model(model, full_check=True)
    (shape,) = [[one.dim_param or one.dim_value for one in i.type.tensor_type.shape.dim] for i in model.graph.input]
    assert shape == ["batch", 3]
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    np.testing.assert_array_equal(run(model, x)[0], x.ravel())


def test_a_computed_extent() -> None:
    """The shape of the result is computed from that of the input, by nodes of ONNX."""
    text = HEAD + "def @main(%x: Tensor[(?, ?), float32]) { zeros_like(concatenate((%x, %x), axis=1)) }"
    x = np.ones((3, 5), np.float32)
    np.testing.assert_array_equal(run(exported(text), x)[0], np.zeros((3, 10), np.float32))


def test_what_onnx_lacks_is_a_node_of_its_own_domain() -> None:
    text = HEAD + (
        "def @main(%x: Tensor[(1, 4, 8, 8), float32], %y: Tensor[(1, 4, 8, 8), float32]) {\n"
        "  nn.correlation(nn.relu(%x), %y, kernel_size=1, max_displacement=1, stride1=1, stride2=1,\n"
        '    padding=[1, 1, 1, 1], is_multiply=True, layout="NCHW")\n}'
    )
    model = exported(text)
    assert own_domain(model) == ["nn.correlation"]
    (node,) = [one for one in model.graph.node if one.domain]
    shown = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
    assert shown["max_displacement"] == b"1"
    assert {one.domain for one in model.opset_import} == {"", "relay2relax"}
    assert [one.key for one in model.metadata_props] == ["relay2relax.nn.correlation"]


@pytest.mark.parametrize("value", [True, False])
def test_a_branch(value: bool) -> None:
    text = HEAD + (
        "def @main(%c: Tensor[(), bool], %x: Tensor[(2), float32]) {\n"
        "  let %y = multiply(%x, 2f);\n"
        "  if (%c) { add(%y, %x) } else { %y }\n}"
    )
    model = exported(text)
    assert "If" in {node.op_type for node in model.graph.node}
    x = np.array([1, 2], np.float32)
    np.testing.assert_array_equal(run(model, np.array(value), x)[0], x * (3 if value else 2))


def test_a_relax_program() -> None:
    text = HEAD + "def @main(%x: Tensor[(2, 3), float32]) { nn.softmax(nn.relu(%x)) }"
    model = graph.to_onnx(*graph.from_relax(translator.via_graph(relay_ir.parse(text))))
    onnx.checker.check_model(model, full_check=True)
    assert [node.op_type for node in model.graph.node] == ["Relu", "Softmax"]


def test_weights_beside_the_model(tmp_path: Path) -> None:
    text = (
        HEAD + "def @main(%x: Tensor[(2, 64), float32], %w: Tensor[(32, 64), float32]) { nn.dense(%x, %w, units=None) }"
    )
    weight = np.random.default_rng(0).standard_normal((32, 64)).astype(np.float32)
    found = graph.from_relay(relay_ir.infer_type(relay_ir.parse(text)))[0], {"w": weight}
    written = graph.save_onnx(*found, tmp_path / "net.onnx", external=True)
    assert [path.name for path in written] == ["net.onnx.data", "net.onnx"]
    assert written[0].stat().st_size == weight.nbytes
    assert written[1].stat().st_size < 1000
    onnx.checker.check_model(str(written[1]), full_check=True)
    x = np.ones((2, 64), np.float32)
    (result,) = runtime(str(written[1])).run(None, {"x": x})
    np.testing.assert_allclose(result, x @ weight.T, rtol=1e-5)
    (whole,) = graph.save_onnx(*found, tmp_path / "whole.onnx")
    assert {one.name for one in onnx.load(whole).graph.initializer} == {"w"}


def test_more_than_a_message_holds() -> None:
    text = HEAD + "def @main(%x: Tensor[(1, 4), int8], %w: Tensor[(600000000, 4), int8]) { %w }"
    # No memory stands behind it.
    weight = np.broadcast_to(np.zeros(4, np.int8), (600_000_000, 4))
    found = graph.from_relay(relay_ir.infer_type(relay_ir.parse(text)))[0], {"w": weight}
    with pytest.raises(UnsupportedError, match=r"the weights are 2\.4 GB"):
        graph.to_onnx(*found)
    model = graph.to_onnx(*found, external_data="net.data")
    (tensor,) = model.graph.initializer
    assert {one.key: one.value for one in tensor.external_data}["length"] == "2400000000"


def test_a_name_that_utf8_does_not_hold() -> None:
    text = HEAD + "def @main(%x: Tensor[(2), float32]) { abs(%x) }"
    found, weights = graph.from_relay(relay_ir.infer_type(relay_ir.parse(text)))
    half = graph.from_json(graph.to_json(found).replace('"x"', '"x\\ud800"'))
    with pytest.raises(UnsupportedError, match="holds half of a pair"):
        graph.to_onnx(half, weights)


def test_onnx_is_an_extra() -> None:
    found = graph.from_relay(relay_ir.parse(HEAD + "def @main(%x: Tensor[(2), float32]) { %x }"))
    with patch.dict(sys.modules, onnx=None), pytest.raises(UnsupportedError, match=r"onnx.* is not installed"):
        graph.to_onnx(*found)


def test_the_command(tmp_path: Path) -> None:
    model = tmp_path / "net.relay"
    model.write_text(
        HEAD + "def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32]) { nn.dense(%x, %w, units=None) }"
    )
    params = tmp_path / "net.params"
    params.write_bytes(relay_ir.save_params({"w": np.ones((3, 4), np.float32)}))
    done = run_here(("export", model, "--format", "onnx", "--params", params), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "wrote net_onnx/net.onnx\n"
    found = onnx.load(tmp_path / "net_onnx" / "net.onnx")
    assert [one.name for one in found.graph.input] == ["x"]
