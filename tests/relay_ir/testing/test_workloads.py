"""Workloads, against the text that TVM printed of its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest
from typed import of_type

from relay2relax import relay_ir
from relay2relax.backends import create_executor
from relay2relax.core import Relay2RelaxError
from relay2relax.relay_ir import TensorType, testing
from relay2relax.tir.extent import ANY

if TYPE_CHECKING:
    from model_cases import ModelCase

Workload = tuple[relay_ir.IRModule, dict[str, np.ndarray]]
RECORDED: dict[str, Callable[[], Workload]] = {
    "dqn": lambda: testing.dqn.get_workload(1),
    "dcgan": lambda: testing.dcgan.get_workload(1),
    "squeezenet": lambda: testing.squeezenet.get_workload(1, num_classes=10, image_shape=(3, 64, 64)),
    "mobilenet": lambda: testing.mobilenet.get_workload(1, num_classes=100, image_shape=(3, 64, 64)),
    "resnet18_cifar": lambda: testing.resnet.get_workload(1, 10, num_layers=18, image_shape=(3, 32, 32)),
    "lstm_relay": lambda: testing.lstm.get_workload(4, 16),
}


@pytest.mark.parametrize("name", RECORDED)
def test_workloads_print_as_tvm_printed_them(get_model_case: Callable[[str], ModelCase], name: str) -> None:
    case = get_model_case(name)
    mod, params = RECORDED[name]()
    assert mod.astext().split("\n#[metadata]")[0].rstrip("\n") == case.typed.rstrip("\n")
    shapes = {spec["name"]: tuple(spec["shape"]) for spec in case.specs() if spec["name"] in params}
    assert {key: value.shape for key, value in params.items()} == shapes


# The numbers of parameters that the papers and model libraries state, the moving averages left out.
COUNTS: dict[str, tuple[Callable[[], Workload], float]] = {
    "resnet18": (lambda: testing.resnet.get_workload(), 11.7e6),
    "resnet34": (lambda: testing.resnet.get_workload(num_layers=34), 21.8e6),
    "resnet50": (lambda: testing.resnet.get_workload(num_layers=50), 25.6e6),
    "vgg11": (lambda: testing.vgg.get_workload(), 132.86e6),
    "vgg16": (lambda: testing.vgg.get_workload(num_layers=16, batch_norm=True), 138.4e6),
    "densenet121": (lambda: testing.densenet.get_workload(batch_size=1), 7.98e6),
    "inception_v3": (lambda: testing.inception_v3.get_workload(), 23.8e6),
    "mobilenet": (lambda: testing.mobilenet.get_workload(), 4.23e6),
    "squeezenet 1.0": (lambda: testing.squeezenet.get_workload(), 1.25e6),
    "squeezenet 1.1": (lambda: testing.squeezenet.get_workload(version="1.1"), 1.24e6),
    "resnet3d": (lambda: testing.resnet_3d.get_workload(num_classes=400), 33.2e6),
}


@pytest.mark.parametrize("name", COUNTS)
def test_networks_have_their_known_size(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Only sizes are looked at; drawing a hundred million numbers would take a while.
    monkeypatch.setattr(testing.workload, "_initial", lambda param: np.empty(()))
    make, expected = COUNTS[name]
    mod, params = make()
    types = {param.name: mod.types[param] for param in mod["main"].params if not param.name.startswith("data")}
    assert set(types) == set(params)
    counted = [ty for name, ty in types.items() if "moving" not in name]
    total = sum(math.prod(of_type(extent, int) for extent in of_type(ty, TensorType).shape) for ty in counted)
    assert total == pytest.approx(expected, rel=0.015)
    result = mod["main"].ret_type
    assert isinstance(result, TensorType)
    assert result.shape[1] in (400, 1000)


@pytest.mark.parametrize(
    "make",
    [testing.resnet.get_workload, testing.mobilenet.get_workload, testing.dqn.get_workload, testing.dcgan.get_workload],
)
def test_a_batch_of_unknown_size(make: Callable[..., Workload], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(testing.workload, "_initial", lambda param: np.empty(()))
    mod, _ = make(batch_size=relay_ir.Any())
    assert of_type(mod["main"].ret_type, TensorType).shape[0] == ANY


def test_they_run() -> None:
    rng = np.random.default_rng(0)
    for (mod, params), shape in (
        (testing.synthetic.get_workload(), (1, 3, 24, 12)),
        (testing.resnet.get_workload(1, 10, num_layers=8, image_shape=(3, 16, 16)), (1, 3, 16, 16)),
        (testing.resnet_3d.get_workload(1, 10, 8, (3, 4, 16, 16)), (1, 3, 4, 16, 16)),
    ):
        data = rng.standard_normal(shape).astype("float32")
        out = create_executor("graph", mod).evaluate()(data, **params)
        assert out.dtype == np.float32
        assert np.isfinite(out).all()


def _channels_last(name: str, value: np.ndarray, groups: dict[str, tuple[int, ...]]) -> np.ndarray:
    """Return a weight of a network in NCHW as the same network in NHWC has it."""
    if name in groups:  # A dense layer behind or before an image: rows or columns in another order.
        shape = groups[name]
        axis = 1 if len(value) != np.prod(shape) else 0
        split = value.reshape(*value.shape[:axis], *shape, *value.shape[axis + 1 :])
        result: np.ndarray = np.moveaxis(split, axis, axis + 2).reshape(value.shape)
        return result
    if value.ndim < 4:
        return value
    depthwise = value.shape[1] == 1
    order = (*range(2, value.ndim), 0, 1) if depthwise else (*range(2, value.ndim), 1, 0)
    result = value.transpose(order)
    return result


LAYOUTS: dict[str, tuple[Callable[..., Workload], dict[str, object], tuple[int, ...], dict[str, tuple[int, ...]]]] = {
    "resnet": (testing.resnet.get_workload, {"num_classes": 10, "num_layers": 8}, (3, 16, 20), {}),
    "resnet_large": (testing.resnet.get_workload, {"num_classes": 10, "num_layers": 18}, (3, 40, 33), {}),
    "resnet_3d": (testing.resnet_3d.get_workload, {"num_classes": 10, "num_layers": 8}, (3, 4, 16, 12), {}),
    "mobilenet": (testing.mobilenet.get_workload, {"num_classes": 10, "alpha": 0.25}, (3, 32, 32), {}),
    "dqn": (testing.dqn.get_workload, {}, (4, 84, 84), {"dense1_weight": (64, 7, 7)}),
    "dcgan": (testing.dcgan.get_workload, {"ngf": 8}, (), {"dense_weight": (64, 4, 4)}),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_networks_in_both_layouts_compute_the_same(name: str) -> None:
    make, options, image, groups = LAYOUTS[name]
    sizes = {"image_shape": image} if image else {}
    first, params = make(1, **options, **sizes)
    sizes = {"image_shape": (*image[1:], image[0])} if image else {}
    other, initial = make(1, layout="NDHWC" if "3d" in name else "NHWC", **options, **sizes)
    weights = {key: _channels_last(key, value, groups) for key, value in params.items()}
    known = {key: value for key, value in weights.items() if value.shape == initial[key].shape}
    # TVM's MobileNet and video networks normalise along the first axis in both layouts.
    assert all("_bn_" in key or "bn" in key for key in weights.keys() - known)
    data = np.random.default_rng(0).standard_normal((1, *image) if image else (1, 100)).astype("float32")
    expected = create_executor("graph", first).evaluate()(data, **params)
    moved = np.moveaxis(data, 1, -1) if image else data
    found = create_executor("graph", other).evaluate()(moved, **{**initial, **known})
    np.testing.assert_allclose(np.moveaxis(found, -1, 1) if found.ndim > 2 else found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "make",
    [
        lambda: testing.resnet.get_workload(num_layers=20),
        lambda: testing.resnet.get_workload(layout="CHWN"),
        lambda: testing.resnet.get_workload(num_layers=9, image_shape=(3, 28, 28)),
        lambda: testing.vgg.get_workload(num_layers=12),
        lambda: testing.densenet.get_workload(densenet_size=1),
        lambda: testing.squeezenet.get_workload(version="2.0"),
        lambda: testing.dcgan.get_workload(oshape=(3, 32, 32)),
    ],
)
def test_networks_that_do_not_exist(make: Callable[..., Workload]) -> None:
    with pytest.raises(Relay2RelaxError, match="not"):
        make()
