"""ONNX models become the Relay that TVM's importer made of them, and compute what ONNX Runtime
computes.
"""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relay_ir, translator
from relay2relax.core import Relay2RelaxError, UnsupportedError
from relay2relax.relay_ir import frontend

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402


def model(nodes: list[Any], inputs: dict[str, list[Any]], weights: dict[str, np.ndarray], opset: int = 17) -> Any:
    """Return a model whose output is ``y``."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32) / 3


def residual() -> Any:
    """Return a small residual network, as PyTorch exports one."""
    weights = {
        "conv1.weight": drawn(8, 3, 7, 7), "bn1.weight": np.abs(drawn(8)), "bn1.bias": drawn(8),
        "bn1.running_mean": drawn(8), "bn1.running_var": np.abs(drawn(8)) + 1,
        "layer1.0.conv1.weight": drawn(8, 8, 3, 3), "layer1.0.conv1.bias": drawn(8),
        "fc.weight": drawn(10, 8), "fc.bias": drawn(10),
    }  # fmt: skip
    norm = ["bn1.weight", "bn1.bias", "bn1.running_mean", "bn1.running_var"]
    nodes = [
        helper.make_node("Conv", ["0", "conv1.weight"], ["a"], "/conv1/Conv", kernel_shape=[7, 7], strides=[2, 2],
                         pads=[3, 3, 3, 3]),
        helper.make_node("BatchNormalization", ["a", *norm], ["b"], "/bn1/BatchNormalization", epsilon=1e-5),
        helper.make_node("Relu", ["b"], ["c"], "/relu/Relu"),
        helper.make_node("MaxPool", ["c"], ["d"], "/maxpool/MaxPool", kernel_shape=[3, 3], strides=[2, 2],
                         pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["d", "layer1.0.conv1.weight", "layer1.0.conv1.bias"], ["e"], "/layer1/Conv",
                         kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["e", "d"], ["f"], "/layer1/Add"),
        helper.make_node("GlobalAveragePool", ["f"], ["g"], "/avgpool/GlobalAveragePool"),
        helper.make_node("Flatten", ["g"], ["h"], "/Flatten", axis=1),
        helper.make_node("Gemm", ["h", "fc.weight", "fc.bias"], ["y"], "/fc/Gemm", transB=1),
    ]  # fmt: skip
    return model(nodes, {"0": ["n", 3, 32, 32]}, weights)


# As TVM 0.18 prints modules of its ONNX importer.
PRINTED = """\
def @main(\
%v0: Tensor[(2, 3, 32, 32), float32] /* span=/conv1/Conv.0:0:0 */, \
%conv1.weight: Tensor[(8, 3, 7, 7), float32] /* span=/conv1/Conv.conv1.weight:0:0 */, \
%bn1.weight: Tensor[(8), float32] /* span=/bn1/BatchNormalization.bn1.weight:0:0 */, \
%bn1.bias: Tensor[(8), float32] /* span=/bn1/BatchNormalization.bn1.bias:0:0 */, \
%bn1.running_mean: Tensor[(8), float32] /* span=/bn1/BatchNormalization.bn1.running_mean:0:0 */, \
%bn1.running_var: Tensor[(8), float32] /* span=/bn1/BatchNormalization.bn1.running_var:0:0 */, \
%layer1.0.conv1.weight: Tensor[(8, 8, 3, 3), float32] /* span=/layer1/Conv.layer1.0.conv1.weight:0:0 */, \
%layer1.0.conv1.bias: Tensor[(8), float32] /* span=/layer1/Conv.layer1.0.conv1.bias:0:0 */, \
%fc.weight: Tensor[(10, 8), float32] /* span=/fc/Gemm.fc.weight:0:0 */, \
%fc.bias: Tensor[(10), float32] /* span=/fc/Gemm.fc.bias:0:0 */) {
  %0 = nn.conv2d(%v0, %conv1.weight, strides=[2, 2], padding=[3, 3, 3, 3], channels=8, kernel_size=[7, 7]) \
/* span=/conv1/Conv:0:0 */;
  %1 = nn.batch_norm(%0, %bn1.weight, %bn1.bias, %bn1.running_mean, %bn1.running_var) \
/* span=/bn1/BatchNormalization:0:0 */;
  %2 = %1.0 /* span=/bn1/BatchNormalization:0:0 */;
  %3 = nn.relu(%2) /* span=/relu/Relu:0:0 */;
  %4 = nn.max_pool2d(%3, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1]) /* span=/maxpool/MaxPool:0:0 */;
  %5 = nn.conv2d(%4, %layer1.0.conv1.weight, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]) \
/* span=/layer1/Conv:0:0 */;
  %6 = nn.bias_add(%5, %layer1.0.conv1.bias) /* span=/layer1/Conv:0:0 */;
  %7 = add(%6, %4) /* span=/layer1/Add:0:0 */;
  %8 = nn.global_avg_pool2d(%7) /* span=/avgpool/GlobalAveragePool:0:0 */;
  %9 = nn.batch_flatten(%8) /* span=/Flatten:0:0 */;
  %10 = nn.dense(%9, %fc.weight, units=10) /* span=/fc/Gemm:0:0 */;
  add(%10, %fc.bias) /* span=/fc/Gemm:0:0 */
}
"""


def run(mod: relay_ir.IRModule, params: dict[str, np.ndarray], *data: np.ndarray) -> np.ndarray:
    return np.asarray(backends.create_executor("graph", mod).evaluate()(*data, **params))


def reference(found: Any, **data: np.ndarray) -> np.ndarray:
    ort = pytest.importorskip("onnxruntime")
    session = ort.InferenceSession(found.SerializeToString(), providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, data)[0])


def test_a_residual_network() -> None:
    found = residual()
    mod, params = frontend.from_onnx(found, shape={"0": (2, 3, 32, 32)})
    assert str(mod) == PRINTED
    assert list(params) == [one.name for one in found.graph.initializer]
    data = drawn(2, 3, 32, 32)
    np.testing.assert_allclose(run(mod, params, data), reference(found, **{"0": data}), rtol=1e-4, atol=1e-5)


def test_extents_that_a_model_leaves_open_are_unknown_and_weights_may_be_constants() -> None:
    mod, params = frontend.from_onnx(residual(), freeze_params=True)
    assert params == {}
    assert "def @main(%v0: Tensor[(?, 3, 32, 32), float32] /* span=/conv1/Conv.0:0:0 */)" in str(mod)
    assert "-> Tensor[(?, 10), float32]" in str(relay_ir.infer_type(mod))


NODES: dict[str, tuple[list[Any], dict[str, list[Any]], dict[str, np.ndarray]]] = {
    "perceptron": (
        [
            helper.make_node("MatMul", ["x", "w"], ["a"]),
            helper.make_node("Add", ["a", "b"], ["c"]),
            helper.make_node("LeakyRelu", ["c"], ["d"], alpha=0.2),
            helper.make_node("Softmax", ["d"], ["y"], axis=1),
        ],
        {"x": [3, 4]}, {"w": drawn(4, 5), "b": drawn(5)},
    ),
    "gemm": (
        [helper.make_node("Gemm", ["x", "w", "b"], ["y"], alpha=0.5, beta=2.0, transA=1)],
        {"x": [4, 3]}, {"w": drawn(4, 5), "b": drawn(5)},
    ),
    "shapes": (
        [
            helper.make_node("Transpose", ["x"], ["a"], perm=[0, 2, 1]),
            helper.make_node("Reshape", ["a", "s"], ["b"]),
            helper.make_node("Unsqueeze", ["b", "u"], ["c"]),
            helper.make_node("Concat", ["c", "c"], ["d"], axis=1),
            helper.make_node("Clip", ["d", "low"], ["e"]),
            helper.make_node("Squeeze", ["e", "q"], ["y"]),
        ],
        {"x": [2, 3, 4]},
        {"s": np.array([2, -1]), "u": np.array([0, -1]), "q": np.array([3]), "low": np.array(0.1, np.float32)},
    ),
    "pooling": (
        [
            helper.make_node("AveragePool", ["x"], ["a"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], ceil_mode=1),
            helper.make_node("Conv", ["a", "w"], ["b"], kernel_shape=[2, 2], auto_pad="SAME_UPPER", group=2),
            helper.make_node("ReduceMean", ["b"], ["c"], axes=[2, 3], keepdims=0),
            helper.make_node("Dropout", ["c"], ["y"]),
        ],
        {"x": [1, 4, 6, 6]}, {"w": drawn(4, 2, 2, 2)},
    ),
    "one dimension": (
        [
            helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1]),
            helper.make_node("GlobalMaxPool", ["a"], ["b"]),
            helper.make_node("Constant", [], ["k"], value_float=2.0),
            helper.make_node("Div", ["b", "k"], ["y"]),
        ],
        {"x": [1, 3, 8]}, {"w": drawn(4, 3, 3)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NODES)
def test_what_is_imported_computes_what_onnx_runtime_computes(name: str) -> None:
    found = model(*NODES[name])
    mod, params = frontend.from_onnx(found)
    ((key, shape),) = NODES[name][1].items()
    data = drawn(*shape)
    np.testing.assert_allclose(run(mod, params, data), reference(found, **{key: data}), rtol=1e-4, atol=1e-5)


def test_what_is_not_imported_is_named() -> None:
    nodes = [
        helper.make_node("Det", ["x"], ["a"], "first"),
        helper.make_node("Det", ["a"], ["b"]),
        helper.make_node("Invented", ["b"], ["y"], domain="my.own"),
    ]
    named = r"not imported: Det \(2: 'first', 'Det_1'\); my\.own\.Invented \(1: 'Invented_2'\)"
    with pytest.raises(UnsupportedError, match=named):
        frontend.from_onnx(model(nodes, {"x": [2, 2]}, {}))
    with pytest.raises(UnsupportedError, match="along an axis"):
        frontend.from_onnx(model([helper.make_node("Unique", ["x"], ["y"], axis=0)], {"x": [4, 4]}, {}))


def with_places(node: Any, count: int) -> Any:
    """Return a model of one node whose second input says places, such as axes."""
    graph = helper.make_graph(
        [node], "g",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 6]),
            helper.make_tensor_value_info("s", TensorProto.INT64, [count]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def test_places_are_computed_where_relay_can_and_fixed_where_it_cannot() -> None:
    mod, params = frontend.from_onnx(with_places(helper.make_node("Reshape", ["x", "s"], ["y"]), 2))
    assert "dyn.reshape" in str(mod)
    sums = with_places(helper.make_node("ReduceSum", ["x", "s"], ["y"]), 1)
    with pytest.raises(UnsupportedError, match="its axes is computed"):
        frontend.from_onnx(sums)
    mod, params = frontend.from_onnx(sums, fixed_inputs={"s": np.array([1])})
    x = drawn(2, 6)
    np.testing.assert_allclose(run(mod, params, x), x.sum(axis=1, keepdims=True), rtol=1e-5)


def test_weights_in_a_file_are_mapped_and_nothing_else_is_opened(tmp_path: Path) -> None:
    weight = drawn(4, 5)
    found = model([helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": [3, 4]}, {"w": weight})
    onnx.save_model(found, tmp_path / "net.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    mod, params = frontend.from_onnx(tmp_path / "net.onnx")
    assert isinstance(params["w"], np.memmap)
    x = drawn(3, 4)
    np.testing.assert_allclose(run(mod, params, x), x @ weight, rtol=1e-5, atol=1e-6)
    (tmp_path / "below").mkdir()
    for location in ("../w.bin", str(tmp_path / "w.bin"), "absent.bin"):
        bad = onnx.load(tmp_path / "net.onnx", load_external_data=False)
        bad.graph.initializer[0].external_data[0].value = location
        (tmp_path / "below" / "net.onnx").write_bytes(bad.SerializeToString())
        with pytest.raises(UnsupportedError, match=r"outside of the model's folder|is not there"):
            frontend.from_onnx(tmp_path / "below" / "net.onnx")


BAD: dict[str, tuple[Any, str]] = {
    "no model": (b"\xff\xff\xff", "no message of protobuf"),
    "absent": ("no-such-file.onnx", "cannot be read"),
    "undefined": (
        model([helper.make_node("Abs", ["z"], ["y"])], {"x": [2]}, {}),
        "'z' of the node 'Abs_0'",
    ),
    "without output": (model([helper.make_node("Abs", ["x"], ["z"])], {"x": [2]}, {}), "output 'y' is made by no node"),
    "shapes": (
        model([helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": [2, 3]}, {"w": drawn(4, 5)}),
        "is not imported",
    ),
    "truncated": (residual().SerializeToString()[:2000], "is not imported"),
    "cyclic": (
        model([helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Abs", ["a"], ["b"])], {"x": [2]}, {}),
        "'b' of the node 'Add_0'",
    ),
    "opset": (model([helper.make_node("Abs", ["x"], ["y"])], {"x": [2]}, {}, opset=999), "opset 999 is newer than"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_models_are_refused(name: str) -> None:
    given, said = BAD[name]
    with pytest.raises(Relay2RelaxError, match=said):
        frontend.from_onnx(given)


RANDOM: dict[str, tuple[dict[str, Any], float, float]] = {
    "RandomUniform": ({"low": 1.0, "high": 3.0}, 2.0, 2 / 12**0.5),
    "RandomNormal": ({"mean": 1.0, "scale": 3.0, "seed": 4.0}, 1.0, 3.0),
}


@pytest.mark.parametrize("name", RANDOM)
def test_random_numbers_have_the_distribution_that_is_asked_for(name: str) -> None:
    given, mean, deviation = RANDOM[name]
    found = model([helper.make_node(name, [], ["y"], shape=[100, 20], **given)], {}, {})
    mod, params = frontend.from_onnx(found)
    drawn_here = run(mod, params)
    assert drawn_here.shape == (100, 20)
    # Four standard errors of 2,000 numbers.
    assert abs(drawn_here.mean() - mean) < 4 * deviation / 2000**0.5
    assert abs(drawn_here.std() - deviation) < 4 * deviation / 2000**0.5
    np.testing.assert_array_equal(run(mod, params), drawn_here)


def test_numbers_of_a_seed_are_those_of_tvms_importer() -> None:
    """TVM's own test of ``RandomUniform`` says them, to six places."""
    wanted = [0.043976, 0.96656, 0.292199, 0.904297, 0.25167, 0.521778, 0.778985, 0.085463, 0.939846, 0.194201]
    for seed in (5, 5.0):
        mod, params = frontend.from_onnx(model([helper.make_node("RandomUniform", [], ["y"], shape=[10], seed=seed)],
                                               {}, {}))  # fmt: skip
        np.testing.assert_allclose(run(mod, params), wanted, atol=1e-6)


def test_bernoulli_draws_ones_with_the_probability_that_is_given() -> None:
    mod, params = frontend.from_onnx(model([helper.make_node("Bernoulli", ["x"], ["y"], seed=1.0)], {"x": [4000]}, {}))
    chances = np.repeat(np.array([0, 1, 0.2, 0.8], np.float32), 1000)
    found = run(mod, params, chances).reshape(4, 1000).mean(axis=1)
    # Four standard errors; what is certain is so.
    np.testing.assert_allclose(found, [0, 1, 0.2, 0.8], atol=4 * 0.4 / 1000**0.5)
    assert found[:2].tolist() == [0, 1]


def test_places_of_one_distribution_are_drawn() -> None:
    """``Multinomial`` of a vector, which TVM's importer takes too: the likely place comes up."""
    node = helper.make_node("Multinomial", ["x"], ["y"], sample_size=50, seed=1.0)
    mod, params = frontend.from_onnx(model([node], {"x": [3]}, {}))
    assert run(mod, params, np.array([-50, 50, -50], np.float32)).tolist() == [1] * 50


OPEN_PRODUCTS = [
    ((2, 3, 4, 3), (2, 3, 3, 4)), ((2, 1, 4, 3), (5, 3, 2)), ((2, 4, 3), (3, 4)), ((2, 3, 4, 3), (3, 4)),
    ((3, 4), (5, 4, 2)), ((4, 3), (3, 2)), ((3,), (2, 3, 4)), ((2, 4, 3), (3,)), ((0, 4, 3), (3, 5)),
]  # fmt: skip


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(("left", "right"), OPEN_PRODUCTS)
def test_products_of_matrices_in_batches_whose_extents_may_be_open(
    left: tuple[int, ...], right: tuple[int, ...], known: bool
) -> None:
    shapes = {name: list(one) if known else [None] * len(one) for name, one in (("x", left), ("z", right))}
    found = model([helper.make_node("MatMul", ["x", "z"], ["y"])], shapes, {})
    for config in ({}, {"use_nt_batch_matmul": False}):
        mod, _ = frontend.from_onnx(found, convert_config=config)
        x, z = drawn(*left), drawn(*right)
        made = np.asarray(backends.create_executor("vm", mod).evaluate()(x, z))
        np.testing.assert_allclose(made, x @ z, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("how", ["half_pixel", "asymmetric", "pytorch_half_pixel", "align_corners"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_images_are_resized_by_scales_that_are_computed(how: str, mode: str) -> None:
    scales = np.array([1, 1, 0.6, 0.3] if how != "align_corners" else [1, 1, 2, 0.5], np.float32)
    node = helper.make_node("Resize", ["x", "", "s"], ["y"], mode=mode, coordinate_transformation_mode=how)
    mod, _ = frontend.from_onnx(model([node], {"x": [None] * 4, "s": [4]}, {}, opset=18))
    x = drawn(1, 2, 7, 10)
    made = backends.create_executor("vm", mod).evaluate()(x, scales)
    wanted = reference(model([node], {"x": [1, 2, 7, 10], "s": [4]}, {}, opset=18), x=x, s=scales)
    np.testing.assert_allclose(np.asarray(made), wanted, rtol=1e-4, atol=1e-5)


def test_axes_that_are_computed() -> None:
    """Of ``Unsqueeze`` in any order, and of ``Slice`` with its steps."""
    x, given = drawn(3, 4, 5), [np.array(one) for one in ([4, 0], [1, -1], [9, 0], [-1, 1], [2, -2])]
    names = ["u", "starts", "ends", "axes", "steps"]
    graph = helper.make_graph(
        [
            helper.make_node("Slice", ["x", *names[1:]], ["s"]),
            helper.make_node("Unsqueeze", ["s", "u"], ["y"]),
        ],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 4, 5])]
        + [helper.make_tensor_value_info(name, TensorProto.INT64, [2]) for name in names],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )  # fmt: skip
    found = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    mod, _ = frontend.from_onnx(found)
    inputs = dict(zip([one.name for one in found.graph.input], [x, *given], strict=True))
    made = backends.create_executor("vm", mod).evaluate()(**inputs)
    np.testing.assert_array_equal(np.asarray(made), x[:, :0:-2, 1:9:2][None, ..., None])


def test_places_of_maxima_are_put_into_a_shape_that_is_computed() -> None:
    graph = helper.make_graph(
        [helper.make_node("MaxUnpool", ["x", "i", "s"], ["y"], kernel_shape=[2, 2], strides=[2, 2])], "g",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 2, 2]),
            helper.make_tensor_value_info("i", TensorProto.INT64, [1, 1, 2, 2]),
            helper.make_tensor_value_info("s", TensorProto.INT64, [4]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )  # fmt: skip
    mod, _ = frontend.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8))
    x, places = np.array([[[[5, 6], [7, 8]]]], np.float32), np.array([[[[0, 7], [13, 15]]]])
    made = backends.create_executor("vm", mod).evaluate()(x, places, np.array([1, 1, 5, 5]))
    # As ONNX's own test_maxunpool_export_with_output_shape: places count in 4 by 4, the rest is 0.
    wanted = np.zeros((5, 5), np.float32)
    wanted[0, 0], wanted[1, 3], wanted[3, 1], wanted[3, 3] = 5, 6, 7, 8
    np.testing.assert_array_equal(np.asarray(made)[0, 0], wanted)


def test_ones_on_a_diagonal_of_open_extents() -> None:
    found = model([helper.make_node("EyeLike", ["x"], ["y"], k=1)], {"x": [None, "m"]}, {})
    mod, _ = frontend.from_onnx(found)
    made = backends.create_executor("vm", mod).evaluate()(drawn(3, 5))
    np.testing.assert_array_equal(np.asarray(made), np.eye(3, 5, 1))


def test_a_conversion_of_ones_own() -> None:
    found = model([helper.make_node("Twice", ["x"], ["y"], domain="my.own")], {"x": [2]}, {})
    found.opset_import.append(helper.make_opsetid("my.own", 1))
    twice = {"my.own.Twice": lambda at: at.call("add", at.arg(), at.arg())}
    mod, params = frontend.from_onnx(found, custom_convert_map=twice)
    np.testing.assert_array_equal(run(mod, params, np.ones(2, np.float32)), [2, 2])


def test_functions_of_the_model_are_opened() -> None:
    body = helper.make_function(
        "my.own", "Scaled", ["a"], ["b"],
        [
            helper.make_node("Constant", [], ["k"]),
            helper.make_node("Mul", ["a", "k"], ["b"]),
        ],
        [helper.make_opsetid("", 17)], ["factor"],
    )  # fmt: skip
    body.node[0].attribute.append(onnx.AttributeProto(name="value_float", ref_attr_name="factor", type=1))
    found = model([helper.make_node("Scaled", ["x"], ["y"], domain="my.own", factor=3.0)], {"x": [2]}, {})
    found.opset_import.append(helper.make_opsetid("my.own", 1))
    found.functions.append(body)
    mod, params = frontend.from_onnx(found)
    np.testing.assert_array_equal(run(mod, params, np.ones(2, np.float32)), [3, 3])


def test_a_network_that_pytorch_exported() -> None:
    """The way of the Relay tutorial: PyTorch, ONNX, Relay."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    layers = torch.nn
    net = layers.Sequential(
        layers.Conv2d(3, 8, 7, 2, 3, bias=False), layers.BatchNorm2d(8), layers.ReLU(), layers.MaxPool2d(3, 2, 1),
        layers.Conv2d(8, 8, 3, 1, 1), layers.ReLU6(), layers.AdaptiveAvgPool2d(1), layers.Flatten(),
        layers.Linear(8, 10), layers.LogSoftmax(1),
    ).eval()  # fmt: skip
    data = torch.randn(2, 3, 32, 32)
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(net, (data,), file, dynamo=False)
    mod, params = frontend.from_onnx(onnx.load_from_string(file.getvalue()))
    wanted = net(data).detach().numpy()
    np.testing.assert_allclose(run(mod, params, data.numpy()), wanted, rtol=1e-4, atol=1e-5)


def test_open_extents_keep_the_models_names() -> None:
    found = model([helper.make_node("Add", ["x", "z"], ["y"])], {"x": ["the batch", 3], "z": ["the batch", 1]}, {})
    mod, _ = frontend.from_onnx(found)
    assert mod.dims == {"x": ["the_batch", None], "z": ["the_batch", None]}
    script = translator.via_graph(mod).script()
    assert 'R.Tensor(("the_batch", 3), dtype="float32")' in script
    named = translator.via_graph(mod, dims={"x": ("n", None), "z": ("n", None)}).script()
    assert 'R.Tensor(("n", 3), dtype="float32")' in named
    # Where the extent is stated, it has no name.
    assert frontend.from_onnx(found, {"x": [2, 3], "z": [2, 1]})[0].dims == {}


@pytest.mark.parametrize("name", ["tensorflow", "keras", "tflite", "mxnet", "coreml", "caffe2", "darknet", "paddle"])
def test_other_frameworks_are_led_to_onnx(name: str) -> None:
    with pytest.raises(UnsupportedError, match=r"by way of ONNX, which this writes: .*onnx") as found:
        getattr(frontend, f"from_{name}")("model", shape_dict={})
    assert found.value.code == "R2R-0566"


def test_any_number_of_rows_is_gathered() -> None:
    """As PyTorch exports ``boxes[kept]`` of a detector: how many are kept is not known."""
    graph = helper.make_graph(
        [helper.make_node("GatherND", ["x", "i"], ["y"])], "g",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [5, 4]),
            helper.make_tensor_value_info("i", TensorProto.INT64, ["kept", 1]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )  # fmt: skip
    mod, _ = frontend.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    x, places = drawn(5, 4), np.array([[4], [-5], [2]])
    made = backends.create_executor("vm", mod).evaluate()(x, places)
    np.testing.assert_array_equal(np.asarray(made), x[[4, 0, 2]])
