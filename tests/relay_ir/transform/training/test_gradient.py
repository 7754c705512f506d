"""Gradients against PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from typed import of_type

from relay2relax import relay_ir
from relay2relax.backends import create_executor
from relay2relax.core import UnsupportedError
from relay2relax.relay_ir import transform
from relay2relax.relay_ir.transform.training.gradients import GRADIENTS
from relay2relax.tir.extent import static

torch = pytest.importorskip("torch")

HEADER = '#[version = "0.0.5"]\n'
X = "%x: Tensor[(3, 4), float64]"
Y = "%y: Tensor[(4), float64]"
W = "%y: Tensor[(5, 4), float64]"
# A program, and what it is in PyTorch. Numbers are drawn between 0.1 and 0.9.
PROGRAMS: dict[str, tuple[str, str, Callable[..., Any]]] = {
    name: (X, f"{name}(%x)", getattr(torch, function))
    for name, function in {
        **{one: one for one in ("abs", "exp", "log", "log2", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
        **{one: one for one in ("asin", "acos", "atan", "asinh", "atanh", "sigmoid", "sqrt", "erf", "negative")},
    }.items()
}
PROGRAMS |= {
    "acosh": (X, "acosh(add(%x, 1f64))", lambda x: torch.acosh(x + 1)),
    "add": (f"{X}, {Y}", "add(%x, %y)", lambda x, y: x + y),
    "batch_matmul": (
        "%x: Tensor[(2, 3, 4), float64], %y: Tensor[(2, 5, 4), float64]",
        "nn.batch_matmul(%x, %y, transpose_b=True)",
        lambda x, y: x @ y.transpose(1, 2),
    ),
    "batch_matmul_plain": (
        "%x: Tensor[(2, 3, 4), float64], %y: Tensor[(2, 4, 5), float64]",
        "nn.batch_matmul(%x, %y, transpose_b=False)",
        lambda x, y: x @ y,
    ),
    "bias_add": (f"{X}, {Y}", "nn.bias_add(%x, %y)", lambda x, y: x + y),
    "cast": (X, 'cast(%x, dtype="float64")', lambda x: x * 1),
    "clip": (X, "clip(%x, a_min=0.3f, a_max=0.6f)", lambda x: x.clip(0.3, 0.6)),
    "concatenate": (f"{X}, {W}", "concatenate((%x, %y, %x))", lambda x, y: torch.cat([x, y, x])),
    "dense": (f"{X}, {W}", "nn.dense(%x, %y, units=None)", lambda x, y: x @ y.T),
    "divide": (f"{X}, {Y}", "divide(%y, %x)", lambda x, y: y / x),
    "expand_dims": (X, "exp(expand_dims(%x, axis=1, num_newaxis=2))", lambda x: x[:, None, None].exp()),
    "flatten": (X, "nn.batch_flatten(%x)", lambda x: x.flatten(1)),
    "log_softmax": (X, "nn.log_softmax(%x, axis=1)", lambda x: torch.log_softmax(x, 1)),
    "mean": (X, "mean(%x, axis=[1])", lambda x: x.mean(1)),
    "mean_all": (X, "mean(%x)", lambda x: x.mean()),
    "multiply": (f"{X}, {Y}", "multiply(%x, multiply(%y, %x))", lambda x, y: x * y * x),
    "relu": (X, "nn.relu(subtract(%x, 0.5f64))", lambda x: torch.relu(x - 0.5)),
    "reshape": (X, "exp(reshape(%x, newshape=[4, 3]))", lambda x: x.reshape(4, 3).exp()),
    "split": (
        X,
        "%0 = split(%x, indices_or_sections=2, axis=1); multiply(%0.0, exp(%0.1))",
        lambda x: x[:, :2] * x[:, 2:].exp(),
    ),
    "squeeze": (X, "exp(squeeze(expand_dims(%x, axis=1), axis=[1]))", lambda x: x.exp()),
    "softmax": (X, "exp(nn.softmax(%x, axis=1))", lambda x: torch.softmax(x, 1).exp()),
    "subtract": (f"{X}, {Y}", "subtract(%x, %y)", lambda x, y: x - y),
    "sum": (X, "exp(sum(%x, axis=[0], keepdims=True))", lambda x: x.sum(0, keepdim=True).exp()),
    "sum_others": (X, "exp(sum(%x, axis=[0], exclude=True))", lambda x: x.sum(1).exp()),
    "transpose": (X, "exp(transpose(%x, axes=[1, 0]))", lambda x: x.T.exp()),
    "transpose_from_behind": (
        "%x: Tensor[(2, 3, 4), float64]",
        "exp(transpose(%x, axes=[-1, 0, -2]))",
        lambda x: x.permute(2, 0, 1).exp(),
    ),
}


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_gradients_are_those_of_pytorch(name: str) -> None:
    params, body, function = PROGRAMS[name]
    mod = relay_ir.infer_type(relay_ir.parse(f"{HEADER}def @main({params}) {{ {body} }}"))
    numbers = np.random.default_rng(1)
    types = [of_type(mod.types[param], relay_ir.TensorType) for param in mod["main"].params]
    inputs = [numbers.uniform(0.1, 0.9, [static(extent) or 0 for extent in ty.shape]) for ty in types]
    result, found = create_executor("debug", transform.FirstOrderGradient()(mod)).evaluate()(*inputs)
    tensors = [torch.tensor(one, requires_grad=True) for one in inputs]
    expected = function(*tensors)
    expected.sum().backward()
    np.testing.assert_allclose(result, expected.detach().numpy(), rtol=1e-6)
    for one, tensor in zip(found, tensors, strict=True):
        np.testing.assert_allclose(one, tensor.grad.numpy(), rtol=1e-6, atol=1e-12)


def test_extents_that_only_the_running_program_knows() -> None:
    text = "def @main(%x: Tensor[(?, 4), float64]) { split(exp(%x), indices_or_sections=2, axis=1) }"
    mod = transform.FirstOrderGradient()(relay_ir.parse(HEADER + text))
    x = np.random.default_rng(1).uniform(0.1, 0.9, (3, 4))
    halves, (found,) = create_executor("debug", mod).evaluate()(x)
    np.testing.assert_allclose(np.concatenate(halves, 1), np.exp(x))
    np.testing.assert_allclose(found, np.exp(x))
    joined = relay_ir.parse(
        f"{HEADER}def @main(%x: Tensor[(?, 4), float64], {X.replace('x', 'y')}) {{ concatenate((%x, %y)) }}"
    )
    with pytest.raises(UnsupportedError, match="extents along its axis are static"):
        transform.FirstOrderGradient()(joined)


def test_what_has_no_gradient_is_refused() -> None:
    mod = relay_ir.parse(f"{HEADER}def @main(%x: Tensor[(3), float32]) {{ prod(%x) }}")
    assert "prod" not in GRADIENTS
    with pytest.raises(UnsupportedError, match="gradient of the operator prod"):
        transform.FirstOrderGradient()(mod)
    lets = relay_ir.parse(f"{HEADER}def @main(%x: Tensor[(3), float32]) {{ let %y = exp(%x); %y }}")
    with pytest.raises(UnsupportedError, match="gradients through a"):
        transform.FirstOrderGradient()(lets)
