"""Gradients, against PyTorch's automatic differentiation."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from typed import relax_record, relay_record

from relay2relax.ops import OpError, TensorType

RANDOM = np.random.default_rng(15)
POOLS = [((2, 2), (2, 2), (0, 0)), ((3, 2), (1, 2), (1, 1)), ((3, 3), (2, 2), (1, 1)), ((2, 3), (3, 1), (0, 1))]


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape, np.float32)


@pytest.mark.parametrize(("kernel", "strides", "padding"), POOLS)
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_max_pool_gradient(
    run_op: Callable[..., Any],
    agrees: Callable[..., None],
    torch: ModuleType,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[int, ...],
    layout: str,
) -> None:
    x = torch.tensor(normal(11, 2, 8, 7), requires_grad=True)
    out = torch.nn.functional.max_pool2d(x, kernel, strides, padding)
    grad = normal(*out.shape)
    out.backward(torch.tensor(grad))
    axes = ["NCHW".index(letter) for letter in layout]
    attrs = {"pool_size": kernel, "strides": strides, "padding": padding, "dilation": (), "layout": layout}
    given = grad.transpose(axes), x.detach().numpy().transpose(axes)
    agrees(run_op("nn.max_pool2d_grad", attrs, *given, batch=11, reduction=9), x.grad.numpy().transpose(axes), 9)


def test_the_first_of_equal_elements_wins(run_op: Callable[..., Any], agrees: Callable[..., None]) -> None:
    attrs = {"pool_size": (2, 2), "strides": (2, 2)}
    actual = run_op(
        "nn.max_pool2d_grad", attrs, np.full((1, 1, 1, 1), 3, np.float32), np.ones((1, 1, 2, 2), np.float32)
    )
    agrees(actual, np.array([[[[3, 0], [0, 0]]]], np.float32))


@pytest.mark.parametrize(("kernel", "strides", "padding"), POOLS)
@pytest.mark.parametrize("include_pad", [True, False])
def test_avg_pool_gradient(
    run_op: Callable[..., Any],
    agrees: Callable[..., None],
    torch: ModuleType,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[int, ...],
    include_pad: bool,
) -> None:
    x = torch.tensor(normal(11, 2, 8, 7), requires_grad=True)
    out = torch.nn.functional.avg_pool2d(x, kernel, strides, padding, count_include_pad=include_pad)
    grad = normal(*out.shape)
    out.backward(torch.tensor(grad))
    attrs = {"pool_size": kernel, "strides": strides, "padding": padding, "count_include_pad": include_pad}
    actual = run_op("nn.avg_pool2d_grad", attrs, grad, x.detach().numpy(), batch=11, reduction=9)
    agrees(actual, x.grad.numpy(), 9)


def test_a_gradient_of_another_shape_is_refused() -> None:
    op = relay_record("nn.max_pool2d_grad")
    with pytest.raises(OpError, match="out_grad has shape"):
        op.numpy(op.attrs(pool_size=(2, 2)), normal(1, 1, 2, 2), normal(1, 1, 2, 2))


@pytest.mark.parametrize(
    ("strides", "padding", "dilation", "groups"),
    [
        ((1, 1), (0, 0), (1, 1), 1),
        ((2, 2), (1, 1), (1, 1), 1),
        ((2, 1), (1, 2), (2, 1), 2),
        ((1, 1), (1, 1), (1, 1), 4),
    ],
)
def test_gradient_of_a_weight(
    run_op: Callable[..., Any],
    agrees: Callable[..., None],
    torch: ModuleType,
    strides: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
) -> None:
    x, w = torch.tensor(normal(5, 4, 9, 8)), torch.tensor(normal(8, 4 // groups, 3, 3), requires_grad=True)
    out = torch.nn.functional.conv2d(x, w, None, strides, padding, dilation, groups)
    grad = normal(*out.shape)
    out.backward(torch.tensor(grad))
    attrs = {
        "strides": strides, "padding": padding, "dilation": dilation, "groups": groups, "channels": 8,
        "kernel_size": (3, 3), "kernel_layout": "NCHW", "out_layout": "OIHW",
    }  # fmt: skip
    agrees(run_op("nn.conv2d_backward_weight", attrs, grad, x.numpy(), batch=5, reduction=360), w.grad.numpy(), 360)
    attrs |= {"data_layout": "NHWC", "kernel_layout": "NHWC", "out_layout": "HWIO"}
    last = run_op(
        "nn.conv2d_backward_weight", attrs, grad.transpose(0, 2, 3, 1), x.numpy().transpose(0, 2, 3, 1), reduction=360
    )
    agrees(last, w.grad.numpy().transpose(2, 3, 1, 0), 360)


def test_the_size_of_the_kernel_is_needed() -> None:
    op = relay_record("nn.conv2d_backward_weight")
    with pytest.raises(OpError, match="kernel_size"):
        op.infer(op.attrs(), TensorType((1, 2, 3, 3)), TensorType((1, 2, 5, 5)))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("places", [(), (3, 2), None])
def test_gradient_of_a_loss(
    run_op: Callable[..., Any],
    agrees: Callable[..., None],
    torch: ModuleType,
    reduction: str,
    weighted: bool,
    places: tuple[int, ...] | None,
) -> None:
    shape, targets = ((4,), ()) if places is None else ((5, 4, *places), (5, *places))
    logs = torch.tensor(normal(*shape), requires_grad=True)
    wanted = torch.tensor(RANDOM.integers(0, 4, targets))
    weights = torch.tensor(np.abs(normal(4)) + 1)
    # No batch at all: the one target counts.
    ignored = int(wanted.reshape(-1)[0]) if places is not None else -100
    options = {"reduction": reduction, "ignore_index": ignored}
    loss = torch.nn.functional.nll_loss(logs, wanted, weights if weighted else None, **options)
    grad = normal(*loss.shape)
    loss.backward(torch.tensor(grad))
    given = [grad, logs.detach().numpy(), wanted.numpy(), *([weights.numpy()] if weighted else [])]
    agrees(run_op("grad.nll_loss_backward", options, *given, reduction=40), logs.grad.numpy(), 40)
    # The gradient may be given for each target, and weights of classes that there are not are not
    # looked at.
    given[0] = np.broadcast_to(grad, targets).copy()
    if weighted and reduction != "none":
        given[3] = np.append(given[3], np.float32(7))
    agrees(run_op("grad.nll_loss_backward", options, *given, reduction=40), logs.grad.numpy(), 40)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("places", [(), (4,), (2, 3)])
def test_gradient_of_taken_slices(
    run_op: Callable[..., Any],
    agrees: Callable[..., None],
    torch: ModuleType,
    axis: int | None,
    places: tuple[int, ...],
) -> None:
    data = torch.tensor(normal(3, 5, 2), requires_grad=True)
    indices = torch.tensor(RANDOM.integers(0, 2, places))
    line = 0 if axis is None else axis % 3
    shape = places if axis is None else (*data.shape[:line], *places, *data.shape[line + 1 :])
    lines = data.reshape(-1) if axis is None else data
    taken = torch.index_select(lines, line, indices.reshape(-1)).reshape(shape)
    grad = normal(*shape)
    taken.backward(torch.tensor(grad))
    given = [grad, data.detach().numpy(), indices.numpy()]
    agrees(run_op("grad.take_backward", {"axis": axis}, *given, reduction=6), data.grad.numpy(), 6)


def test_gradients_of_lookups_have_the_shape_of_what_was_taken() -> None:
    record = relax_record("grad.take_backward")
    types = TensorType((3, 1)), TensorType((5, 2)), TensorType((3,), "int32")
    with pytest.raises(OpError, match="output_grad has shape"):
        record.infer(record.attrs(0), *types)
