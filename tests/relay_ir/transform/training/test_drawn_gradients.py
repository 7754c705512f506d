"""Gradients of drawn programs, against PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relay2relax import relay_ir
from relay2relax.backends import create_executor
from relay2relax.relay_ir import Function, IRModule, const, op, transform

torch = pytest.importorskip("torch")

F = torch.nn.functional
Both = tuple[Callable[..., Any], Callable[..., Any]]
WEIGHT = np.random.default_rng(7).uniform(-0.5, 0.5, (1, 1, 3, 3)).astype("float32")
KERNEL, ROWS = const(WEIGHT), const(np.array([3, 1, 1, 0]))
PLACES = const(np.array([[0, 3, 3, 1], [2, 2, 2, 2], [1, 0, 3, 2], [0, 0, 1, 1]]))


def image(x: Any) -> Any:
    return op.reshape(x, (1, 1, 4, 4))


def spread(x: Any) -> Any:
    return op.repeat(op.repeat(op.reshape(x, (2, 2)), 2, 0), 2, 1)


def convolved(x: Any) -> Any:
    return F.conv2d(x[None, None], torch.tensor(WEIGHT), padding=1)[0, 0]


def repeated(x: Any) -> Any:
    return x[0, 0].repeat_interleave(2, 0).repeat_interleave(2, 1)


UNARY: list[Both] = [
    (op.tanh, torch.tanh),
    (op.sigmoid, torch.sigmoid),
    (op.sin, torch.sin),
    (op.cos, torch.cos),
    (lambda x: op.exp(op.tanh(x)), lambda x: torch.exp(torch.tanh(x))),
    (lambda x: op.nn.softmax(x, axis=-1), lambda x: torch.softmax(x, -1)),
    (lambda x: op.nn.log_softmax(x, axis=-1), lambda x: torch.log_softmax(x, -1)),
    (lambda x: op.sum(x, axis=[0], keepdims=True) + x, lambda x: x.sum(0, keepdim=True) + x),
    (lambda x: op.mean(x, axis=[1], keepdims=True) * x, lambda x: x.mean(1, keepdim=True) * x),
    (lambda x: op.transpose(x, [1, 0]), lambda x: x.T),
    (lambda x: op.sqrt(x * x + const(1.0)), lambda x: torch.sqrt(x * x + 1)),
    (lambda x: op.reshape(op.nn.conv2d(image(x), KERNEL, padding=(1, 1)), (4, 4)), lambda x: convolved(x)),
    (lambda x: spread(op.nn.max_pool2d(image(x), (2, 2), (2, 2))), lambda x: repeated(F.max_pool2d(x[None, None], 2))),
    (lambda x: spread(op.nn.avg_pool2d(image(x), (2, 2), (2, 2))), lambda x: repeated(F.avg_pool2d(x[None, None], 2))),
    (lambda x: op.take(x, ROWS, axis=0), lambda x: x[[3, 1, 1, 0]]),
    (lambda x: op.gather(x, 1, PLACES), lambda x: x.gather(1, torch.tensor(PLACES.data))),
    (lambda x: op.cumsum(x, 1), lambda x: x.cumsum(1)),
    (lambda x: op.max(x, axis=[1], keepdims=True) - x, lambda x: x.amax(1, keepdim=True) - x),
    (lambda x: op.nn.pad(op.strided_slice(x, [0, 1], [4, 3]), [[0, 0], [1, 1]]), lambda x: F.pad(x[:, 1:3], (1, 1))),
    (lambda x: op.reshape(op.layout_transform(image(x), "NCHW", "NHWC"), (4, 4)), lambda x: x * 1),
    (lambda x: op.annotation.checkpoint(op.tanh(x * x)), lambda x: torch.tanh(x * x)),
]
BINARY: list[Both] = [
    (op.add, torch.add),
    (op.subtract, torch.subtract),
    (op.multiply, torch.multiply),
    (lambda x, y: op.divide(x, y * y + const(1.0)), lambda x, y: x / (y * y + 1)),
    (lambda x, y: op.nn.dense(x, y), lambda x, y: x @ y.T),
    (lambda x, y: op.nn.matmul(x, y, units=4), lambda x, y: x @ y),
    (lambda x, y: op.where(op.less(x, y), x, op.sin(y)), lambda x, y: torch.where(x < y, x, torch.sin(y))),
    (op.maximum, torch.maximum),
    (lambda x, y: op.sum(op.stack([x, y], axis=1), axis=[1]), lambda x, y: torch.stack([x, y], 1).sum(1)),
]


@pytest.mark.parametrize("seed", range(50))
def test_gradients_of_drawn_programs(seed: int) -> None:
    draw = np.random.default_rng(seed)
    names = ("x", "y", "z")
    data = [draw.uniform(-1, 1, (4, 4)).astype("float32") for _ in names]
    params = [relay_ir.var(name, shape=(4, 4)) for name in names]
    tensors = [torch.tensor(one, requires_grad=True) for one in data]
    values: list[tuple[Any, Any]] = list(zip(params, tensors, strict=True))
    for _ in range(int(draw.integers(3, 10))):
        if draw.random() < 0.5:
            ours, theirs = UNARY[draw.integers(len(UNARY))]
            given = [values[draw.integers(len(values))]]
        else:
            ours, theirs = BINARY[draw.integers(len(BINARY))]
            given = [values[draw.integers(len(values))] for _ in range(2)]
        values.append((ours(*(one for one, _ in given)), theirs(*(one for _, one in given))))
    body, result = values[-1]
    mod = relay_ir.infer_type(IRModule.from_expr(Function(tuple(params), body)))
    value, gradients = create_executor("debug", transform.FirstOrderGradient()(mod)).evaluate()(*data)
    np.testing.assert_allclose(np.asarray(value), result.detach().numpy(), rtol=1e-4, atol=1e-5)
    result.sum().backward()
    for found, tensor in zip(gradients, tensors, strict=True):
        expected = np.zeros((4, 4), "float32") if tensor.grad is None else tensor.grad.numpy()
        np.testing.assert_allclose(np.asarray(found), expected, rtol=2e-3, atol=1e-4)
