"""Exported programs over integers beyond what floats hold, over half precision, and complex."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from relay2relax import backends, relay_ir, translator
from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir.frontend import from_pytorch

torch = pytest.importorskip("torch")

BEYOND = 2**53
LARGE = torch.tensor([[BEYOND + 1, BEYOND, BEYOND + 3, -BEYOND - 1], [2**62 + 1, 2**62, -(2**63), 2**63 - 1]])


class Function(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def exported(function: Any, *inputs: Any) -> Any:
    module = function if isinstance(function, torch.nn.Module) else Function(function)
    with torch.no_grad():
        return torch.export.export(module.eval(), inputs)


def results(program: Any, x: np.ndarray, target: str) -> list[np.ndarray]:
    mod, params = from_pytorch(program)
    typed = relay_ir.infer_type(mod)
    (name,) = [one.name for one in typed["main"].params if one.name not in params]
    if target == "numpy":
        found = backends.create_executor("vm", typed).evaluate()(**{name: x}, **params)
    else:
        found = backends.VirtualMachine(backends.build(translator.via_graph(typed, params), target="c"))["main"](x)
    return [np.asarray(one) for one in (found if isinstance(found, (tuple, list)) else [found])]


def several(x: Any) -> Any:
    """Return what selects, orders and bounds."""
    extremes = x.max(1), x.min(1), x.median(1), torch.cummax(x, 1), x.clamp(-BEYOND - 1, BEYOND + 1)
    return torch.topk(x, 3), torch.topk(x, 2, largest=False), torch.sort(x), torch.kthvalue(x, 2), extremes


@pytest.mark.compiler
@pytest.mark.parametrize("target", ["numpy", "c"])
def test_integers_stay_exact(target: str) -> None:
    wanted = torch.utils._pytree.tree_leaves(several(LARGE))
    for one, other in zip(results(exported(several, LARGE), LARGE.numpy(), target), wanted, strict=True):
        np.testing.assert_array_equal(one, other.numpy())


HALVES: dict[str, tuple[Any, tuple[int, ...]]] = {
    "convolution": (
        torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
                            torch.nn.Flatten(), torch.nn.Linear(36, 5), torch.nn.Softmax(1)),
        (2, 3, 8, 8),
    ),
    "encoder": (torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 3, 8)),
    "lstm": (torch.nn.LSTM(5, 4, batch_first=True), (2, 3, 5)),
}  # fmt: skip


@pytest.mark.compiler
@pytest.mark.sweep(every=4)
@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", HALVES)
def test_modules_of_half_precision(name: str, dtype: str, target: str) -> None:
    torch.manual_seed(0)
    module, shape = HALVES[name]
    kind, known = getattr(torch, dtype), np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    x = torch.randn(*shape).to(kind)
    found = results(exported(module.to(kind), x), x.float().numpy().astype(known), target)
    with torch.no_grad():
        wanted = torch.utils._pytree.tree_leaves(module.float()(x.float()))
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == known
        # Some last bits of what exact numbers give.
        near = 2.0 ** -(7 if dtype == "float16" else 4)
        np.testing.assert_allclose(one.astype("float64"), other.numpy(), rtol=near, atol=near)


@pytest.mark.parametrize(
    ("function", "named"),
    [
        (lambda x: torch.fft.fft(x).abs(), "aten::_fft_r2c"),
        (lambda x: torch.view_as_real(torch.complex(x, x)), "aten::complex, aten::view_as_real"),
        (lambda x: torch.view_as_complex(x.reshape(4, 2)).angle(), "aten::angle, aten::view_as_complex"),
    ],
)
def test_complex_numbers_are_refused_by_name(function: Any, named: str) -> None:
    with pytest.raises(UnsupportedError, match=named):
        from_pytorch(exported(function, torch.randn(8)))


def test_complex_inputs_and_weights_are_refused_by_name() -> None:
    x = torch.randn(3, dtype=torch.complex64)
    with pytest.raises(UnsupportedError, match=r"its elements are torch\.complex64"):
        from_pytorch(exported(torch.abs, x))
