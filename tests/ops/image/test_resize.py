"""Resizing, against ONNX Runtime in every mode, against PyTorch, and numbers by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from typed import relay_record

from relay2relax.ops import OpError, TensorType
from relay2relax.tir.extent import ANY
from relay2relax.tir.ir.expr import FloatImm, Var

RANDOM = np.random.default_rng(5)
RESIZE = relay_record("image.resize2d")
DYNAMIC = relay_record("dyn.image.resize2d")


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape, np.float32)


def floats(*values: float) -> tuple[FloatImm, ...]:
    return tuple(FloatImm(value, "float32") for value in values)


def onnx_resize(x: np.ndarray, size: tuple[int, ...], **attributes: Any) -> np.ndarray:
    """Return what ONNX Runtime's Resize makes of an image with channels first."""
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    roi = attributes.pop("roi", ())
    helper, proto = onnx.helper, onnx.TensorProto
    node = helper.make_node("Resize", ["x", "roi", "", "sizes"], ["y"], **attributes)
    sizes = helper.make_tensor("sizes", proto.INT64, [x.ndim], [*x.shape[:2], *size])
    region = helper.make_tensor("roi", proto.FLOAT, [len(roi)], list(roi))
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", proto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", proto.FLOAT, None)],
        [sizes, region],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"x": x})[0])


SIZES = [(8, 14), (5, 9), (3, 3), (4, 7)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("mode", ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"])
@pytest.mark.parametrize("method", ["linear", "cubic"])
def test_interpolation(check: Callable[..., None], size: tuple[int, int], mode: str, method: str) -> None:
    x = normal(1, 2, 4, 7)
    expected = onnx_resize(x, size, mode=method, coordinate_transformation_mode=mode, cubic_coeff_a=-0.75)
    attrs = {"size": size, "method": method, "coordinate_transformation_mode": mode, "cubic_alpha": -0.75}
    check("image.resize2d", [x], expected, symbols=False, reduction=64, **attrs)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("mode", ["half_pixel", "align_corners", "asymmetric"])
@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
def test_nearest(check: Callable[..., None], size: tuple[int, int], mode: str, rounding: str) -> None:
    x = normal(2, 1, 4, 7)
    expected = onnx_resize(x, size, mode="nearest", coordinate_transformation_mode=mode, nearest_mode=rounding)
    attrs = {"size": size, "method": "nearest_neighbor", "coordinate_transformation_mode": mode}
    check("image.resize2d", [x], expected, symbols=False, rounding_method=rounding, **attrs)


@pytest.mark.parametrize("method", ["linear", "cubic"])
def test_region_of_the_source(check: Callable[..., None], method: str) -> None:
    x = normal(1, 1, 6, 8)
    attrs = {"mode": method, "cubic_coeff_a": -0.5, "extrapolation_value": 7.0}
    roi = (0, 0, 0.25, -0.125, 1, 1, 1.25, 0.5)
    expected = onnx_resize(x, (5, 7), coordinate_transformation_mode="tf_crop_and_resize", roi=roi, **attrs)
    given = {
        "size": (5, 7), "roi": floats(0.25, -0.125, 1.25, 0.5), "method": method, "extrapolation_value": 7.0,
        "coordinate_transformation_mode": "tf_crop_and_resize",
    }  # fmt: skip
    check("image.resize2d", [x], expected, symbols=False, reduction=64, **given)


def test_taps_outside_may_be_left_out(check: Callable[..., None]) -> None:
    x = normal(1, 1, 5, 6)
    attrs = {"coordinate_transformation_mode": "half_pixel", "cubic_coeff_a": -0.5, "exclude_outside": 1}
    expected = onnx_resize(x, (7, 9), mode="cubic", **attrs)
    check("image.resize2d", [x], expected, symbols=False, reduction=64, size=(7, 9), method="cubic", cubic_exclude=1)


@pytest.mark.parametrize("layout", ["NCW", "NWC"])
def test_one_dimension(check: Callable[..., None], torch: Any, layout: str) -> None:
    x = normal(2, 3, 5)
    expected = torch.nn.functional.interpolate(torch.tensor(x), size=8, mode="linear").numpy()
    axes = ["NCW".index(letter) for letter in layout]
    args = [x.transpose(axes)]
    check("image.resize1d", args, expected.transpose(axes), symbols=False, size=(8,), layout=layout)


@pytest.mark.parametrize("layout", ["NCDHW", "NDHWC"])
def test_three_dimensions(check: Callable[..., None], torch: Any, layout: str) -> None:
    x = normal(1, 2, 3, 4, 5)
    resized = torch.nn.functional.interpolate(torch.tensor(x), size=(5, 3, 8), mode="trilinear", align_corners=True)
    axes = ["NCDHW".index(letter) for letter in layout]
    attrs = {"size": (5, 3, 8), "coordinate_transformation_mode": "align_corners", "layout": layout}
    check("image.resize3d", [x.transpose(axes)], resized.numpy().transpose(axes), symbols=False, reduction=64, **attrs)


def test_region_of_three_dimensions_is_listed_backwards(check: Callable[..., None]) -> None:
    x = np.arange(4 * 3 * 2, dtype=np.float32).reshape(1, 1, 4, 3, 2)
    attrs = {
        "size": (2, 3, 2), "roi": floats(0, 0, 1 / 3, 1, 1, 2 / 3),
        "coordinate_transformation_mode": "tf_crop_and_resize",
    }  # fmt: skip
    check("image.resize3d", [x], x[:, :, 1:3], symbols=False, reduction=64, **attrs)


def test_integers_are_truncated_and_channels_may_be_split(
    run_op: Callable[..., Any], agrees: Callable[..., None]
) -> None:
    x = np.array([[0, 10], [-7, 5]], np.int8).reshape(1, 1, 2, 2, 1)
    attrs = {"size": (2, 3), "layout": "NCHW1c", "coordinate_transformation_mode": "align_corners"}
    agrees(run_op("image.resize2d", attrs, x), np.array([[0, 5, 10], [-7, -1, 5]], np.int8).reshape(1, 1, 2, 3, 1))
    as_float = run_op("image.resize2d", {**attrs, "out_dtype": "float32"}, x)
    agrees(as_float, np.array([[0, 5, 10], [-7, -1, 5]], np.float32).reshape(1, 1, 2, 3, 1))


@pytest.mark.parametrize("method", ["linear", "nearest_neighbor"])
def test_batch_and_source_may_be_symbolic(
    run_op: Callable[..., Any], agrees: Callable[..., None], torch: Any, method: str
) -> None:
    x = normal(3, 2, 5, 5)
    mode = "bilinear" if method == "linear" else "nearest-exact"
    expected = torch.nn.functional.interpolate(torch.tensor(x), size=(9, 8), mode=mode).numpy()
    attrs = {"size": (9, 8), "method": method, "rounding_method": "round"}
    agrees(run_op("image.resize2d", attrs, x, batch=[3, 5], reduction=16), expected, 16)


def test_size_as_input(agrees: Callable[..., None], torch: Any) -> None:
    x = normal(1, 2, 5, 6)
    args = (x, np.array([7, 4]), np.zeros(0, np.float32))
    expected = torch.nn.functional.interpolate(torch.tensor(x), size=(7, 4), mode="bilinear").numpy()
    agrees(DYNAMIC.numpy(DYNAMIC.attrs(), *args), expected, 16)
    found = DYNAMIC.infer(DYNAMIC.attrs(), TensorType((1, 2, 5, 6)), TensorType((2,), "int64"), TensorType((4,)))
    assert found == TensorType((1, 2, ANY, ANY))


def test_types() -> None:
    n = Var("n")
    assert RESIZE.infer(RESIZE.attrs(size=(8, n)), TensorType((ANY, 3, 5, 5))) == TensorType((ANY, 3, 8, n))
    found = RESIZE.infer(RESIZE.attrs(size=(8, 9), layout="NHWC", out_dtype="int8"), TensorType((1, 5, 5, n)))
    assert found == TensorType((1, 8, 9, n), "int8")
    for attrs, message in (
        ({}, "size is null, expected 2 values"),
        ({"size": (1,)}, "expected 2 values"),
        ({"size": (2, 2), "layout": "NCW"}, 'layout "NCW"'),
    ):
        with pytest.raises(OpError, match=message):
            RESIZE.infer(RESIZE.attrs(**attrs), TensorType((1, 1, 4, 4)))
    with pytest.raises(OpError, match="3 dimensions"):
        RESIZE.infer(RESIZE.attrs(size=(2, 2)), TensorType((1, 4, 4)))


@pytest.mark.parametrize(
    ("attrs", "message"),
    [
        ({"method": "area"}, "method is 'area'"),
        ({"coordinate_transformation_mode": "half"}, "coordinate_transformation_mode is 'half'"),
        ({"rounding_method": "up"}, "rounding_method is 'up'"),
        ({"roi": floats(0, 1)}, "roi needs 4 values"),
        ({"size": (1, 2), "coordinate_transformation_mode": "align_corners"}, "extent of 1"),
    ],
)
def test_refused(attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(OpError, match=message):
        RESIZE.numpy(RESIZE.attrs(**{"size": (2, 2), **attrs}), normal(1, 1, 4, 4))
