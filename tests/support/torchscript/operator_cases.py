"""Functions of PyTorch's with example inputs: forms of the operators that are imported."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

Case = tuple[str, Any, list[Any]]


def rand(*shape: int) -> Any:
    """Return numbers from -2 to 2."""
    return torch.rand(*shape) * 4 - 2


def ints(*shape: int) -> Any:
    """Return integers from -5 to 5."""
    return torch.randint(-5, 6, shape)


class Convolutions(nn.Module):  # type: ignore[misc]
    """A grouped convolution, a transposed one, and a grouped one over one axis."""

    def __init__(self) -> None:
        super().__init__()
        self.grouped = nn.Conv2d(4, 8, 3, padding=1, groups=4)
        self.transposed = nn.ConvTranspose2d(8, 4, 3, 2, 1, output_padding=1)
        self.line = nn.Conv1d(4, 4, 3, groups=2, padding=1)

    def forward(self, x: Any) -> Any:
        return self.line(self.transposed(self.grouped(x)).flatten(2))


def in_place(x: Any) -> Any:
    """Return what two operators change in place, plus what they left alone."""
    y = x + 1
    F.relu(y, inplace=True)
    y.mul_(2.0)
    return y + x


def scripted(x):  # type: ignore[no-untyped-def]
    """Return a view by an extent."""
    y = x + 1
    return y.view(x.size(0), -1)


def _smoothed(x: Any, size: tuple[int, int], mode: str, corners: bool = False) -> Any:
    return F.interpolate(x, size, mode=mode, antialias=True, align_corners=corners)


def _by_factors(x: Any) -> Any:
    return F.interpolate(x, scale_factor=(0.45, 1.3), mode="bicubic", antialias=True)


def cases() -> list[Case]:
    """Return the cases: a name, what is traced, its inputs."""
    torch.manual_seed(0)
    return [
        ("add alpha", lambda x, y: torch.add(x, y, alpha=2), [rand(2, 3), rand(2, 3)]),
        ("sub alpha", lambda x, y: torch.sub(x, y, alpha=3), [rand(2, 3), rand(3)]),
        ("rsub", lambda x: 5 - x, [rand(2, 3)]),
        ("int div", lambda x, y: x / y, [ints(4), torch.tensor([1, 2, 3, 4])]),
        ("floor div", lambda x, y: torch.div(x, y, rounding_mode="floor"), [rand(5), rand(5)]),
        ("trunc div", lambda x, y: torch.div(x, y, rounding_mode="trunc"), [rand(5) * 9, rand(5)]),
        ("int trunc div", lambda x, y: torch.div(x, y, rounding_mode="trunc"), [ints(4), torch.tensor([1, 2, 3, -4])]),
        ("int floor div", lambda x, y: x // y, [ints(4), torch.tensor([1, 2, 3, -4])]),
        ("mixed", lambda x, y: x * y, [ints(2, 3), rand(2, 3)]),
        ("int+float number", lambda x: x + 1.5, [ints(4)]),
        ("bool+int", lambda x: (x > 0) + 1, [rand(4)]),
        ("f16", lambda x: x * 2.5, [rand(4).half()]),
        ("0-dim f64", lambda x, y: x * y, [rand(4), torch.tensor(2.0, dtype=torch.float64)]),
        ("gelu tanh", lambda x: F.gelu(x, approximate="tanh"), [rand(3, 4)]),
        ("clamp min", lambda x: torch.clamp(x, min=0.5), [rand(6)]),
        ("clamp max", lambda x: torch.clamp(x, max=0.5), [torch.tensor([1.0, -math.inf])]),
        ("clamp int", lambda x: torch.clamp(x, 0.5, 2.5), [ints(6)]),
        ("clamp tensors", lambda x, y: torch.clamp(x, y, y + 1), [rand(6), rand(6)]),
        ("sqrt int", torch.sqrt, [torch.arange(4)]),
        ("sum int", lambda x: x.to(torch.int32).sum(), [ints(4, 3)]),
        ("sum all", torch.sum, [rand(4, 3)]),
        ("sum dtype", lambda x: torch.sum(x, dtype=torch.float64), [rand(4, 3)]),
        ("mean all", torch.mean, [rand(4, 3)]),
        ("mean axes", lambda x: x.mean((0, 2), keepdim=True), [rand(2, 3, 4)]),
        ("max axis", lambda x: torch.max(x, 1), [rand(4, 5)]),
        ("max all", torch.max, [rand(4, 5)]),
        ("min axis keep", lambda x: torch.min(x, 0, keepdim=True), [rand(4, 5)]),
        ("cumsum int", lambda x: torch.cumsum(x.to(torch.int32), 0), [ints(4)]),
        ("matmul 1d", torch.matmul, [rand(3), rand(3)]),
        ("matmul bc", torch.matmul, [rand(2, 1, 3, 4), rand(5, 4, 2)]),
        ("matmul 3-1", torch.matmul, [rand(2, 3, 4), rand(4)]),
        ("addmm ab", lambda a, b, c: torch.addmm(a, b, c, beta=0.5, alpha=2), [rand(3), rand(2, 4), rand(4, 3)]),
        (
            "baddbmm ab",
            lambda a, b, c: torch.baddbmm(a, b, c, beta=0.5, alpha=2),
            [rand(2, 2, 3), rand(2, 2, 4), rand(2, 4, 3)],
        ),
        ("linear 1d", nn.Linear(4, 3), [rand(4)]),
        ("linear 2d", nn.Linear(4, 3), [rand(5, 4)]),
        ("conv group/transp/1d", Convolutions().eval(), [rand(1, 4, 8, 8)]),
        ("depthwise mult", nn.Conv2d(4, 8, 3, groups=4), [rand(1, 4, 8, 8)]),
        ("conv strided", nn.Conv2d(3, 4, 3, stride=2, padding=1, dilation=2), [rand(1, 3, 9, 9)]),
        ("conv3d", nn.Conv3d(2, 3, 2), [rand(1, 2, 4, 4, 4)]),
        ("avg noinc", nn.AvgPool2d(3, 2, 1, count_include_pad=False), [rand(1, 2, 9, 9)]),
        ("maxpool ceil", nn.MaxPool2d(3, 2, 1, ceil_mode=True), [rand(1, 2, 10, 10)]),
        ("nearest x2", lambda x: F.interpolate(x, scale_factor=2), [rand(1, 2, 3, 4)]),
        ("nearest x1.5", lambda x: F.interpolate(x, scale_factor=1.5), [rand(1, 2, 3, 5)]),
        ("nearest down", lambda x: F.interpolate(x, (7, 3)), [rand(1, 2, 10, 10)]),
        ("bilinear antialiased", lambda x: _smoothed(x, (5, 9), "bilinear"), [rand(1, 2, 7, 9)]),
        ("bicubic antialiased", lambda x: _smoothed(x, (5, 20), "bicubic"), [rand(1, 2, 12, 7)]),
        ("bicubic antialiased, by its corners", lambda x: _smoothed(x, (5, 3), "bicubic", True), [rand(2, 2, 12, 7)]),
        ("bicubic antialiased, by factors", _by_factors, [rand(1, 2, 12, 7)]),
        ("layer_norm no affine", lambda x: F.layer_norm(x, (4,)), [rand(2, 3, 4)]),
        ("group_norm no affine", nn.GroupNorm(2, 4, affine=False), [rand(2, 4, 3)]),
        ("batch_norm", nn.BatchNorm2d(3, 1e-2).eval(), [rand(2, 3, 4, 5)]),
        ("batch_norm no affine", nn.BatchNorm1d(3, affine=False).eval(), [rand(2, 3, 4)]),
        (
            "ce mean w",
            lambda x, y: F.cross_entropy(x, y, torch.tensor([0.2, 0.5, 0.3])),
            [rand(4, 3), torch.tensor([0, 1, 2, 1])],
        ),
        ("ce 4d", F.cross_entropy, [rand(2, 3, 4, 4), torch.randint(0, 3, (2, 4, 4))]),
        ("ce ignore", lambda x, y: F.cross_entropy(x, y, ignore_index=1), [rand(4, 3), torch.tensor([0, 1, 2, 1])]),
        ("ce none", lambda x, y: F.cross_entropy(x, y, reduction="none"), [rand(4, 3), torch.tensor([0, 1, 2, 1])]),
        ("ce prob", F.cross_entropy, [rand(4, 3), torch.softmax(rand(4, 3), 1)]),
        ("softmax dtype", lambda x: F.softmax(x, -1, dtype=torch.float64), [rand(3, 4)]),
        ("flatten all", lambda x: torch.flatten(x), [rand(2, 3, 4)]),
        ("flatten mid", lambda x: torch.flatten(x, 1, 2), [rand(2, 3, 4, 5)]),
        ("expand new", lambda x: x.expand(2, 5, 3), [rand(5, 3)]),
        ("select neg", lambda x: x[:, -1], [rand(3, 4)]),
        ("slice neg", lambda x: x[-3:-1, :, 1:], [rand(5, 3, 4)]),
        ("slice beyond", lambda x: x[2:100], [rand(5, 3)]),
        ("slice empty-ish step", lambda x: x[::2, 1::3], [rand(5, 7)]),
        ("split uneven", lambda x: torch.split(x, 2), [rand(5, 3)]),
        ("chunk", lambda x: torch.chunk(x, 3, 1), [rand(2, 7)]),
        ("split one", lambda x: torch.cat(torch.split(x, 9)), [rand(5, 3)]),
        ("cat of split", lambda x: torch.cat(torch.split(x, 2, 1)[::-1], 0), [rand(2, 4)]),
        ("cat mixed", lambda x, y: torch.cat((x, y)), [rand(3), ints(3)]),
        ("size arith", lambda x: x.reshape(x.shape[0] * x.shape[1], -1) * x.shape[0], [rand(2, 3, 4)]),
        ("size view", lambda x: x.view(x.size(0), x.size(1) // 2, 2), [rand(2, 4)]),
        ("triu neg", lambda x: torch.triu(x, -1), [rand(4, 5)]),
        ("arange f", lambda x: torch.arange(0.5, 3) + x, [rand(3)]),
        ("arange 1", lambda x: torch.arange(3) + x, [rand(3)]),
        ("arange step", lambda x: torch.arange(1, 9, 3) + x, [rand(3)]),
        ("zeros", lambda x: torch.zeros(2, 3) + x, [rand(3)]),
        ("ones int", lambda x: torch.ones(3, dtype=torch.int64) + x, [rand(3)]),
        ("fill", lambda x: (x + 1).fill_(2), [rand(3)]),
        ("inplace layer", nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(inplace=True)).eval(), [rand(1, 3, 5, 5)]),
        ("inplace seen", lambda x: (lambda y: (y.relu_(), y + x)[1])(x + 1), [rand(3, 4)]),
        ("inplace", in_place, [rand(3, 4)]),
        ("to double", lambda x: x.double(), [rand(3)]),
        ("to other", lambda x, y: x.to(y), [rand(3), ints(3)]),
        ("type_as bool", lambda x: x.bool(), [rand(3)]),
        ("transpose", lambda x: x.transpose(0, -1).t() if x.dim() == 2 else x.transpose(0, -1), [rand(2, 3, 4)]),
        ("dropout", nn.Dropout().eval(), [rand(3)]),
        ("squeeze", lambda x: x.squeeze(1) + x.squeeze(), [rand(3, 1, 4, 1).squeeze(3)]),
        ("embedding", nn.Embedding(5, 3, padding_idx=0), [torch.randint(0, 5, (2, 2))]),
        ("pow int", lambda x: x**2, [ints(4)]),
        ("pow num base", lambda x: 2.0**x, [rand(4)]),
        ("conv same", nn.Conv2d(3, 4, (3, 4), padding="same", dilation=(1, 2)), [rand(2, 3, 8, 9)]),
        ("conv same line", nn.Conv1d(4, 4, 4, padding="same", groups=2), [rand(4, 9)]),
        ("conv transposed", nn.ConvTranspose2d(4, 4, 3, 2, dilation=2, groups=2), [rand(4, 5, 5)]),
        ("norm weight", lambda x, w: F.batch_norm(x, x.new_zeros(3), x.new_ones(3), w), [rand(2, 3, 4), rand(3)]),
        ("norm tracked", nn.InstanceNorm1d(3, track_running_stats=True).eval(), [rand(2, 3, 4)]),
        ("var mean", lambda x: torch.var_mean(x, unbiased=False), [rand(2, 3)]),
        ("narrow", lambda x: torch.narrow(x, 1, torch.tensor(2) - 1, 2), [rand(3, 4)]),
        ("narrow end", lambda x: torch.narrow(x, 1, -3, 2), [rand(3, 4)]),
        ("tensor split", lambda x: torch.tensor_split(x, [2, 5, 4], 1)[::2], [rand(2, 7)]),
        ("tensor split 3", lambda x: torch.tensor_split(x, torch.tensor(3), 1), [rand(2, 7)]),
        ("scatter none", lambda x, y: torch.scatter(x, 0, y, x), [rand(2, 4), torch.empty(0, 1, dtype=torch.int64)]),
        ("return list", lambda x: [x, x + 1], [rand(2)]),
        ("script view", torch.jit.script(scripted), [rand(2, 3, 4)]),
        (
            "scripted linear",
            torch.jit.script(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)).eval()),
            [rand(2, 4)],
        ),
        ("scripted conv", torch.jit.script(nn.Conv2d(3, 4, 3).eval()), [rand(1, 3, 5, 5)]),
    ]
