"""Gradients of layers and of operators that move elements, against PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from typed import of_type

from relay2relax import relay_ir
from relay2relax.backends import create_executor
from relay2relax.relay_ir import transform
from relay2relax.tir.extent import static

torch = pytest.importorskip("torch")
F = torch.nn.functional

HEADER = '#[version = "0.0.5"]\n'


def t(name: str, *shape: int, dtype: str = "float64") -> str:
    return f"%{name}: Tensor[({', '.join(map(str, shape))}), {dtype}]"


X, Y = t("x", 3, 4), t("y", 3, 4)
IMAGE, KERNEL = t("x", 2, 4, 7, 8), t("w", 6, 4, 3, 2)
INDEX = np.array([[0, 2, 1], [2, 2, 0]])
PROGRAMS: dict[str, tuple[str, str, Callable[..., Any]]] = {
    "conv2d": (
        f"{IMAGE}, {KERNEL}",
        "nn.conv2d(%x, %w, strides=[2, 1], padding=[1, 0, 1, 2], channels=6, kernel_size=[3, 2])",
        lambda x, w: F.conv2d(F.pad(x, (0, 2, 1, 1)), w, stride=(2, 1)),
    ),
    "conv2d_steps_that_leave_a_rest": (
        f"{IMAGE}, {KERNEL}", "nn.conv2d(%x, %w, strides=[3, 3], padding=[0, 0])",
        lambda x, w: F.conv2d(x, w, stride=3),
    ),
    "conv2d_dilated": (
        f"{IMAGE}, {KERNEL}", "nn.conv2d(%x, %w, padding=[2, 1], dilation=[2, 3])",
        lambda x, w: F.conv2d(x, w, padding=(2, 1), dilation=(2, 3)),
    ),
    "conv2d_groups": (
        f"{IMAGE}, {t('w', 6, 2, 3, 3)}", "nn.conv2d(%x, %w, padding=[1, 1], groups=2, strides=[2, 2])",
        lambda x, w: F.conv2d(x, w, padding=1, groups=2, stride=2),
    ),
    "conv2d_depthwise": (
        f"{IMAGE}, {t('w', 4, 1, 3, 3)}", "nn.conv2d(%x, %w, padding=[1, 1], groups=4)",
        lambda x, w: F.conv2d(x, w, padding=1, groups=4),
    ),
    "conv2d_several_kernels_for_each_channel": (
        f"{t('x', 2, 7, 8, 4)}, {t('w', 3, 3, 4, 2)}",
        'nn.conv2d(%x, %w, padding=[1, 1], groups=4, channels=8, kernel_size=[3, 3], data_layout="NHWC",'
        ' kernel_layout="HWOI")',
        lambda x, w: F.conv2d(
            x.permute(0, 3, 1, 2), w.permute(2, 3, 0, 1).reshape(8, 1, 3, 3), padding=1, groups=4
        ).permute(0, 2, 3, 1),
    ),
    "pad_that_cuts": (
        X, "nn.pad(%x, 2f64, pad_width=[[-1, 2], [1, -2]])", lambda x: F.pad(x, (1, -2, -1, 2), value=2.0)
    ),
    "strided_slice_to_the_end": (
        X, "strided_slice(%x, begin=[1, 1], end=[3], strides=[1])", lambda x: x[1:3, 1:]
    ),
    "conv2d_last": (
        f"{t('x', 2, 7, 8, 4)}, {t('w', 3, 2, 4, 6)}",
        'nn.conv2d(%x, %w, padding=[1, 1], data_layout="NHWC", kernel_layout="HWIO")',
        lambda x, w: F.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), padding=1).permute(0, 2, 3, 1),
    ),
    "conv2d_transpose": (
        f"{IMAGE}, {t('w', 4, 3, 3, 3)}",
        "nn.conv2d_transpose(%x, %w, strides=[2, 2], padding=[1, 1], output_padding=[1, 1], channels=3,"
        " kernel_size=[3, 3])",
        lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1),
    ),
    "conv2d_transpose_outputs_first": (
        f"{IMAGE}, {t('w', 3, 4, 3, 3)}",
        'nn.conv2d_transpose(%x, %w, strides=[2, 2], channels=3, kernel_size=[3, 3], kernel_layout="OIHW")',
        lambda x, w: F.conv_transpose2d(x, w.transpose(0, 1), stride=2),
    ),
    "conv2d_transpose_groups": (
        f"{IMAGE}, {t('w', 4, 3, 3, 3)}",
        "nn.conv2d_transpose(%x, %w, strides=[2, 1], groups=2, channels=6, kernel_size=[3, 3])",
        lambda x, w: F.conv_transpose2d(x, w, stride=(2, 1), groups=2),
    ),
    "max_pool2d": (
        IMAGE, "nn.max_pool2d(%x, pool_size=[3, 2], strides=[2, 2], padding=[1, 1])",
        lambda x: F.max_pool2d(x, (3, 2), 2, 1),
    ),
    "avg_pool2d": (
        IMAGE, "nn.avg_pool2d(%x, pool_size=[3, 2], strides=[2, 2], padding=[1, 1], count_include_pad=True)",
        lambda x: F.avg_pool2d(x, (3, 2), 2, 1),
    ),
    "avg_pool2d_without_padding": (
        IMAGE, "nn.avg_pool2d(%x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1], ceil_mode=True)",
        lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
    ),
    "global_avg_pool2d": (IMAGE, "nn.global_avg_pool2d(%x)", lambda x: x.mean((2, 3), keepdim=True)),
    "global_max_pool2d": (IMAGE, "nn.global_max_pool2d(%x)", lambda x: x.amax((2, 3), keepdim=True)),
    "adaptive_avg_pool2d": (
        t("x", 1, 2, 6, 8), "nn.adaptive_avg_pool2d(%x, output_size=[3, 2])",
        lambda x: F.adaptive_avg_pool2d(x, (3, 2)),
    ),
    "batch_norm": (
        f"{IMAGE}, {t('g', 4)}, {t('b', 4)}, {t('m', 4)}, {t('v', 4)}",
        "%0 = nn.batch_norm(%x, %g, %b, %m, %v); add(%0.0, nn.bias_add(zeros_like(%x), multiply(%0.1, %0.2)))",
        lambda x, g, b, m, v: (x - m.view(-1, 1, 1)) / (v.view(-1, 1, 1) + 1e-5).sqrt() * g.view(-1, 1, 1)
        + (b + m * v).view(-1, 1, 1),
    ),
    "batch_norm_of_the_batch": (
        f"{t('x', 5, 3)}, {t('g', 3)}, {t('b', 3)}",
        "%0 = mean(%x, axis=[0], keepdims=True); %1 = squeeze(variance(%x, %0, axis=[0]));"
        "%2 = nn.batch_norm(%x, %g, %b, squeeze(%0), %1); %2.0",
        lambda x, g, b: F.batch_norm(x, None, None, g, b, True),
    ),
    "prelu": (f"{IMAGE}, {t('a', 4)}", "nn.prelu(subtract(%x, 0.5f64), %a)", lambda x, a: F.prelu(x - 0.5, a)),
    "leaky_relu": (X, "nn.leaky_relu(subtract(%x, 0.5f64), alpha=0.2f)", lambda x: F.leaky_relu(x - 0.5, 0.2)),
    "dropout": (X, "%0 = nn.dropout(exp(%x)); %0.0", lambda x: x.exp()),
    "matmul": (f"{X}, {t('y', 4, 5)}", "nn.matmul(%x, %y, units=5)", lambda x, y: x @ y),
    "matmul_turned": (
        f"{X}, {t('y', 5, 3)}", "nn.matmul(%x, %y, units=5, transpose_a=True, transpose_b=True)",
        lambda x, y: x.T @ y.T,
    ),
    "matmul_left_turned": (f"{X}, {Y}", "nn.matmul(%x, %y, units=4, transpose_a=True)", lambda x, y: x.T @ y),
    "cross_entropy": (f"{X}, {Y}", "nn.cross_entropy(%x, %y)", lambda x, y: -(y * x.log()).sum() / 3),
    "cross_entropy_with_logits": (
        f"{X}, {Y}", "nn.cross_entropy_with_logits(%x, %y)", lambda x, y: -(y * x).sum() / 3,
    ),
    "max": (X, "max(%x, axis=[1])", lambda x: x.amax(1)),
    "max_all": (X, "max(%x, keepdims=True)", lambda x: x.max()),
    "min": (X, "min(%x, axis=[0], keepdims=True)", lambda x: x.amin(0, keepdim=True)),
    "variance": (X, "variance(%x, mean(%x, axis=[1], keepdims=True), axis=[1])", lambda x: x.var(1, correction=0)),
    "variance_unbiased": (
        X, "variance(%x, mean(%x, axis=[1], keepdims=True), axis=[1], unbiased=True)", lambda x: x.var(1)
    ),
    "cumsum": (X, "exp(cumsum(%x, axis=1))", lambda x: x.cumsum(1).exp()),
    "cumsum_exclusive": (X, "exp(cumsum(%x, axis=0, exclusive=True))", lambda x: (x.cumsum(0) - x).exp()),
    "cumsum_all": (X, "exp(cumsum(%x))", lambda x: x.flatten().cumsum(0).exp()),
    "take": (X, "exp(take(%x, meta[relay.Constant][0], axis=0))", lambda x: x[INDEX].exp()),
    "take_inner": (X, "exp(take(%x, meta[relay.Constant][0], axis=1))", lambda x: x[:, INDEX].exp()),
    "take_all": (X, "exp(take(%x, meta[relay.Constant][0]))", lambda x: x.flatten()[INDEX].exp()),
    "take_one": (X, "exp(take(%x, 2, axis=1))", lambda x: x[:, 2].exp()),
    "take_wrapped": (X, 'exp(take(%x, -2, axis=1, mode="wrap"))', lambda x: x[:, 2].exp()),
    "take_clipped": (X, 'exp(take(%x, 9, axis=1, mode="clip"))', lambda x: x[:, 3].exp()),
    "gather": (
        t("x", 2, 4), "exp(gather(%x, meta[relay.Constant][0], axis=1))",
        lambda x: x.gather(1, torch.tensor(INDEX)).exp(),
    ),
    "gather_nd": (X, "exp(gather_nd(%x, meta[relay.Constant][0]))", lambda x: x[INDEX[0], INDEX[1]].exp()),
    "one_hot": (
        f"{X}, {t('a')}, {t('b')}",
        "one_hot(meta[relay.Constant][0], %a, %b, depth=4, axis=-1, dtype=\"float64\")",
        lambda x, a, b: x.sum() * 0 + F.one_hot(torch.tensor(INDEX), 4) * (a - b) + b,
    ),
    "strided_slice": (
        X, "exp(strided_slice(%x, begin=[0, 1], end=[3, 4], strides=[2, 2]))", lambda x: x[0:3:2, 1:4:2].exp()
    ),
    "strided_slice_size": (
        X, 'exp(strided_slice(%x, begin=[1, 1], end=[-1, 2], strides=[1, 1], slice_mode="size"))',
        lambda x: x[1:, 1:3].exp(),
    ),
    "strided_slice_axes": (
        X, "exp(strided_slice(%x, begin=[1], end=[3], strides=[1], axes=[1]))", lambda x: x[:, 1:3].exp()
    ),
    "strided_slice_backwards": (
        X, "exp(strided_slice(%x, begin=[2, 3], end=[0, 0], strides=[-1, -2]))", lambda x: x[[2, 1]][:, [3, 1]].exp(),
    ),
    "slice_like": (f"{X}, {t('y', 2, 2)}", "exp(slice_like(%x, %y, axes=[]))", lambda x, y: x[:2, :2].exp() + (y * 0)),
    "layout_transform": (
        IMAGE, 'exp(layout_transform(%x, src_layout="NCHW", dst_layout="NHWC2c"))',
        lambda x: x.reshape(2, 2, 2, 7, 8).permute(0, 3, 4, 1, 2).exp(),
    ),
    "pad": (
        f"{X}, {t('y')}", "exp(nn.pad(%x, %y, pad_width=[[1, 2], [0, 1]]))",
        lambda x, y: torch.where(F.pad(torch.ones_like(x), (0, 1, 1, 2)) > 0, F.pad(x, (0, 1, 1, 2)), y).exp(),
    ),
    "tile": (X, "exp(tile(%x, reps=[2, 1, 3]))", lambda x: x.repeat(2, 1, 3).exp()),
    "repeat": (X, "exp(repeat(%x, repeats=3, axis=1))", lambda x: x.repeat_interleave(3, 1).exp()),
    "reverse": (X, "multiply(reverse(%x, axis=1), %x)", lambda x: x.flip(1) * x),
    "stack": (f"{X}, {Y}", "exp(stack((%x, %y, %x), axis=1))", lambda x, y: torch.stack([x, y, x], 1).exp()),
    "broadcast_to": (
        t("x", 3, 1), "exp(broadcast_to(%x, shape=[2, 3, 4], dtype=\"\"))", lambda x: x.expand(2, 3, 4).exp()
    ),
    "full": (t("x"), 'exp(full(%x, shape=[2, 3], dtype="float64"))', lambda x: x.expand(2, 3).exp()),
    "full_like": (f"{X}, {t('y')}", "exp(full_like(%x, %y))", lambda x, y: (x * 0 + y).exp()),
    "where": (f"{X}, {Y}", "where(less(%x, %y), exp(%x), sin(%y))", lambda x, y: torch.where(x < y, x.exp(), y.sin())),
    "maximum": (f"{X}, {t('y', 4)}", "maximum(%x, %y)", torch.maximum),
    "minimum": (f"{X}, {t('y', 4)}", "minimum(%x, %y)", torch.minimum),
    "power": (f"{X}, {t('y', 4)}", "power(%x, %y)", torch.pow),
    "rsqrt": (X, "rsqrt(%x)", torch.rsqrt),
    "floor": (X, "add(floor(multiply(%x, 4f64)), %x)", lambda x: (x * 4).floor() + x),
    "argmax": (
        X, 'take(%x, argmax(%x, axis=[1]), axis=1)', lambda x: x[:, x.argmax(1)],
    ),
    "checkpoint": (X, "sin(annotation.checkpoint(exp(multiply(%x, %x))))", lambda x: (x * x).exp().sin()),
    "checkpoints": (
        X, "%0 = annotation.checkpoint(exp(%x)); %1 = annotation.checkpoint(multiply(%0, sin(%0)));"
        "annotation.checkpoint(multiply(%1, multiply(%0, %x)))",
        lambda x: x.exp() ** 2 * x.exp().sin() * x,
    ),
    "checkpoint_of_what_is_known": (
        X, "%0 = exp(%x); %1 = annotation.checkpoint((%0, %0)); %2 = annotation.checkpoint(%x);"
        "multiply(%0, multiply(%2, multiply(%1.0, %1.1)))",
        lambda x: x.exp() ** 3 * x,
    ),
    "checkpoint_tuple": (
        X, "%0 = exp(%x); %1 = annotation.checkpoint((multiply(%0, %0), %x)); multiply(%1.0, multiply(%1.1, %0))",
        lambda x: x.exp() ** 3 * x,
    ),
}  # fmt: skip


@pytest.mark.parametrize("gradient", ["FirstOrderGradient", "HigherOrderGradient"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_pytorch(name: str, gradient: str) -> None:
    params, body, function = PROGRAMS[name]
    text = f"{HEADER}def @main({params}) {{ {body} }}"
    index = relay_ir.Constant(INDEX)
    mod = relay_ir.infer_type(relay_ir.parse(text, objects={"relay.Constant": [index]}))
    numbers = np.random.default_rng(1)
    types = [of_type(mod.types[param], relay_ir.TensorType) for param in mod["main"].params]
    inputs = [numbers.uniform(0.1, 0.9, [static(extent) or 0 for extent in ty.shape]) for ty in types]
    made = relay_ir.infer_type(getattr(transform, gradient)()(mod))
    result, found = create_executor("debug", made).evaluate()(*inputs)
    tensors = [torch.tensor(one, requires_grad=True) for one in inputs]
    expected = function(*tensors)
    expected.sum().backward()
    np.testing.assert_allclose(result, np.reshape(expected.detach().numpy(), np.shape(result)), rtol=1e-6)
    for one, tensor in zip(found, tensors, strict=True):
        wanted = np.zeros(tensor.shape) if tensor.grad is None else tensor.grad.numpy()
        np.testing.assert_allclose(one, wanted, rtol=1e-6, atol=1e-9)
