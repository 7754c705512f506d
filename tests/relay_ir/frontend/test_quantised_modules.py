"""Quantised modules of TorchScript, by operators of QNN, against PyTorch's own numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relay_ir, translator
from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir.frontend import from_pytorch

torch = pytest.importorskip("torch")
nn, ops = torch.nn, torch.ops.quantized
pytestmark = pytest.mark.filterwarnings("ignore")

# What is quantised with these is exact: integers from 0 to 255.
SCALE, ZERO = 0.0625, 120
X = (torch.arange(2 * 4 * 6 * 6).reshape(2, 4, 6, 6) * 37 % 256 - ZERO) * SCALE


class Quantised(nn.Module):  # type: ignore[misc, name-defined]
    """What a function makes of quantised numbers."""

    def __init__(self, function: Callable[..., Any], *layers: Any) -> None:
        super().__init__()
        self.function = function
        if layers:
            (self.layer,) = layers

    def forward(self, x: Any) -> Any:
        given = [self.layer] if hasattr(self, "layer") else []
        return self.function(torch.quantize_per_tensor(x, SCALE, ZERO, torch.quint8), *given).dequantize()


class Net(nn.Module):  # type: ignore[misc, name-defined]
    """A convolution, a sum, an average and a layer, as eager mode quantises them."""

    def __init__(self) -> None:
        super().__init__()
        self.quant, self.dequant = torch.ao.quantization.QuantStub(), torch.ao.quantization.DeQuantStub()
        self.conv, self.norm, self.relu = nn.Conv2d(4, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()
        self.pool, self.last = nn.AdaptiveAvgPool2d(1), nn.Linear(8, 5)
        self.sum = torch.ao.nn.quantized.FloatFunctional()

    def forward(self, x):  # type: ignore[no-untyped-def]
        y = self.relu(self.norm(self.conv(self.quant(x))))
        y = self.pool(self.sum.add(y, y))
        return self.dequant(self.last(torch.flatten(y, 1)))


def net() -> Any:
    torch.manual_seed(0)
    torch.backends.quantized.engine = "fbgemm"
    module = torch.ao.quantization.fuse_modules(Net().eval(), [["conv", "norm", "relu"]])
    module.qconfig = torch.ao.quantization.get_default_qconfig("fbgemm")
    prepared = torch.ao.quantization.prepare(module)
    prepared(X)
    return torch.ao.quantization.convert(prepared)


def ours(program: Any, x: Any, target: str = "numpy", **options: Any) -> tuple[Any, dict[str, Any]]:
    """Return what an import gives for ``x``, and its weights."""
    mod, params = from_pytorch(program, [("x", list(x.shape))], **options)
    if target == "numpy":
        found = backends.create_executor("graph", mod).evaluate()(x=x.numpy(), **params)
    else:
        typed = relay_ir.infer_type(mod)
        machine = backends.VirtualMachine(backends.build(translator.via_graph(typed, params), target=target))
        found = machine["main"](x.numpy())
    return np.asarray(found), params


def layer(kind: str, weight: Any, *options: Any) -> Any:
    """Return packed weights: quantised for each channel, but for transposed convolutions."""
    if kind == "conv_transpose2d":
        packed = torch.quantize_per_tensor(weight, 0.02, 0, torch.qint8)
    else:
        scales = torch.linspace(0.01, 0.03, weight.shape[0])
        zeros = torch.zeros(len(scales), dtype=torch.int64)
        packed = torch.quantize_per_channel(weight, scales, zeros, 0, torch.qint8)
    return getattr(ops, f"{kind}_prepack")(packed, torch.rand(weight.shape[0]), *options)


def layers() -> dict[str, tuple[Callable[[Any, Any], Any], Any]]:
    torch.manual_seed(0)
    torch.backends.quantized.engine = "fbgemm"
    wide, narrow = [1, 1], [0, 0]
    conv = layer("conv2d", torch.randn(6, 4, 3, 3), [2, 1], [1, 0], wide, 1)
    grouped = layer("conv2d", torch.randn(4, 1, 2, 2), wide, narrow, [2, 2], 4)
    line = layer("conv1d", torch.randn(6, 4, 3), [1], [1], [1], 1)
    back = layer("conv_transpose2d", torch.randn(4, 4, 3, 3), [2, 2], wide, wide, wide, 1)
    dense = layer("linear", torch.randn(5, 6))
    return {
        "conv2d": (lambda x, held: ops.conv2d(x, held, 0.2, 100), conv),
        "conv2d_relu": (lambda x, held: ops.conv2d_relu(x, held, 0.2, 100), conv),
        "grouped": (lambda x, held: ops.conv2d(x, held, 0.1, 90), grouped),
        "conv1d": (lambda x, held: ops.conv1d(x.flatten(2), held, 0.3, 99), line),
        "transposed": (lambda x, held: ops.conv_transpose2d(x, held, 0.2, 128), back),
        "linear": (lambda x, held: ops.linear(x, held, 0.2, 90), dense),
        "linear_relu": (lambda x, held: ops.linear_relu(x, held, 0.2, 90), dense),
    }


# So many steps of its scale may a result be away; None for exact.
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], float, int]] = {
    "add": (lambda x: ops.add(x, x.flip(3), 0.11, 110), 0.11, 1),
    "add_relu": (lambda x: ops.add_relu(x, x.flip(3), 0.11, 110), 0.11, 1),
    "mul": (lambda x: ops.mul(x, x.flip(3), 0.5, 128), 0.5, 1),
    "cat": (lambda x: ops.cat([x, x.flip(3)], 1, 0.07, 100), 0.07, 1),
    "add_scalar": (lambda x: ops.add_scalar(x, 1.5), SCALE, 0),
    "add_scalar far": (lambda x: ops.add_scalar(x, 20.0), 0.08, 1),
    "mul_scalar": (lambda x: ops.mul_scalar(x, 2.5), SCALE, 0),
    "mul_scalar negative": (lambda x: ops.mul_scalar(x, -2.5), SCALE, 0),
    "relu": (torch.relu, SCALE, 0),
    "relu in place": (lambda x: (x.clone().relu_()), SCALE, 0),
    "relu6": (ops.relu6, SCALE, 0),
    "hardtanh": (lambda x: nn.functional.hardtanh(x, -1.0, 2.0), SCALE, 0),
    "leaky_relu": (lambda x: ops.leaky_relu(x, 0.1, False, 0.05, 60), 0.05, 1),
    "hardswish": (lambda x: ops.hardswish(x, 0.05, 20), 0.05, 1),
    "sigmoid": (torch.sigmoid, 1 / 256, 1),
    "mean": (lambda x: x.mean((2, 3), keepdim=True), SCALE, 1),
    "upsample": (lambda x: nn.functional.interpolate(x, scale_factor=2), SCALE, 0),
    "bilinear": (lambda x: nn.functional.interpolate(x, scale_factor=2, mode="bilinear"), SCALE, 1),
    "average": (nn.AvgPool2d(2), SCALE, 1),
    "maximum": (nn.MaxPool2d(2), SCALE, 0),
    "moved": (lambda x: torch.cat(x.permute(0, 2, 3, 1).chunk(2, 1), 3).reshape(2, -1)[:, 5:50], SCALE, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_operators_are_pytorchs_to_a_step(name: str) -> None:
    function, step, steps = FUNCTIONS[name]
    module = Quantised(function)
    found, _ = ours(torch.jit.trace(module, X), X)
    np.testing.assert_allclose(found, module(X).numpy(), rtol=0, atol=steps * step * 1.01 + 1e-5)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("name", layers())
def test_layers_are_pytorchs_to_a_step(name: str, keep: bool) -> None:
    module = Quantised(*layers()[name])
    traced = torch.jit.freeze(torch.jit.trace(module.eval(), X))
    found, params = ours(traced, X, keep_quantized_weight=keep)
    wanted = module(X).numpy()
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=0, atol=0.31)
    assert {str(one.dtype) for one in params.values()} == ({"int8", "int32"} if keep else {"float32"})


@pytest.mark.compiler
@pytest.mark.parametrize("make", [torch.jit.trace, lambda module, x: torch.jit.script(module)], ids=["trace", "script"])
def test_a_module_of_eager_mode(make: Callable[[Any, Any], Any], tmp_path: Path) -> None:
    module = net()
    program, wanted = make(module, X), module(X).numpy()
    names = {"conv_weight", "conv_bias", "last._packed_params_weight", "last._packed_params_bias"}
    for keep, target in ((False, "numpy"), (True, "numpy"), (True, "c")):
        found, params = ours(program, X, target, keep_quantized_weight=keep)
        assert set(params) == names
        # A step in the middle is some at the end.
        assert np.abs(found - wanted).max() <= 3.01 * module.last.scale
    # A file of it is read where it has no code that runs by being read.
    torch.jit.save(torch.jit.freeze(program.eval()), tmp_path / "net.pt")
    again, _ = ours(tmp_path / "net.pt", X, keep_quantized_weight=True)
    np.testing.assert_array_equal(again, found)


def test_a_module_of_fx() -> None:
    from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx

    torch.backends.quantized.engine = "fbgemm"
    mapping = torch.ao.quantization.get_default_qconfig_mapping("fbgemm")
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Conv2d(4, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32, 5)).eval()
    prepared = prepare_fx(plain, mapping, (X,))
    prepared(X)
    module = convert_fx(prepared)
    found, params = ours(torch.jit.trace(module, X), X)
    scale = float(module.get_submodule("4").scale)
    assert np.abs(found - module(X).numpy()).max() <= 2.01 * scale
    # Scales are constants of the program.
    assert not [name for name in params if "scale" in name]


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4)])
def test_scales_that_the_data_give(shape: tuple[int, ...]) -> None:
    torch.backends.quantized.engine = "fbgemm"
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 5, bias=False))
    module = torch.ao.quantization.quantize_dynamic(plain, {nn.Linear}, dtype=torch.qint8)
    x = torch.randn(*shape)
    for keep in (False, True):
        found, _ = ours(torch.jit.trace(module, x), x, keep_quantized_weight=keep)
        np.testing.assert_allclose(found, module(x).numpy(), atol=0.02)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (torch.tanh, "over quantised tensors"),
        (lambda x: torch.cat([x, ops.mul_scalar(x, 2.0)]), "quantised otherwise"),
    ],
)
def test_what_is_not_known_of_quantised_tensors_is_refused(function: Callable[[Any], Any], said: str) -> None:
    program = torch.jit.trace(Quantised(function), X, check_trace=False)
    with pytest.raises(UnsupportedError, match=said):
        from_pytorch(program, [("x", list(X.shape))])
