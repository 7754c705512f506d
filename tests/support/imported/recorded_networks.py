"""The networks whose ONNX models TVM's importer was recorded on, as modules of PyTorch with random
weights: what they are follows from the recorded modules' names and shapes.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import nn


def _unit(wide: int, out: int, size: int, stride: int = 1, groups: int = 1) -> list[nn.Module]:
    """Return a convolution and a normalisation, which the exporter joins."""
    return [nn.Conv2d(wide, out, size, stride, size // 2, groups=groups, bias=False), nn.BatchNorm2d(out)]


class _Block(nn.Module):  # type: ignore[misc]
    def __init__(self, wide: int, out: int, stride: int) -> None:
        super().__init__()
        self.c1, self.b1 = _unit(wide, out, 3, stride)
        self.c2, self.b2 = _unit(out, out, 3)
        self.d = nn.Sequential(*_unit(wide, out, 1, stride)) if stride > 1 or wide != out else None

    def forward(self, x: Any) -> Any:
        made = self.b2(self.c2(torch.relu(self.b1(self.c1(x)))))
        return torch.relu(made + (x if self.d is None else self.d(x)))


class ResNet(nn.Module):  # type: ignore[misc]
    """ResNet-18 of a width."""

    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        self.c, self.b = _unit(3, width, 7, 2)
        self.p = nn.MaxPool2d(3, 2, 1)
        widths = [width * 2**stage for stage in (0, 0, 0, 1, 1, 2, 2, 3, 3)]
        strides = [1, 1, 2, 1, 2, 1, 2, 1]
        self.l = nn.Sequential(*(_Block(*ends) for ends in zip(widths, widths[1:], strides, strict=False)))
        self.f = nn.Linear(width * 8, classes)

    def forward(self, x: Any) -> Any:
        made = self.l(self.p(torch.relu(self.b(self.c(x)))))
        return self.f(nn.functional.adaptive_avg_pool2d(made, 1).flatten(1))


class _Inverted(nn.Module):  # type: ignore[misc]
    def __init__(self, wide: int, out: int, stride: int, factor: int) -> None:
        super().__init__()
        inner = wide * factor
        widened = [*_unit(wide, inner, 1), nn.ReLU6()] if factor > 1 else []
        self.m = nn.Sequential(*widened, *_unit(inner, inner, 3, stride, inner), nn.ReLU6(), *_unit(inner, out, 1))
        self.joined = stride == 1 and wide == out

    def forward(self, x: Any) -> Any:
        return x + self.m(x) if self.joined else self.m(x)


class MobileNet(nn.Module):  # type: ignore[misc]
    """MobileNet V2."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = [*_unit(3, 32, 3, 2), nn.ReLU6()]
        wide = 32
        for factor, out, count, stride in [
            (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
        ]:  # fmt: skip
            for number in range(count):
                layers.append(_Inverted(wide, out, 1 if number else stride, factor))
                wide = out
        self.l = nn.Sequential(*layers, *_unit(wide, 1280, 1), nn.ReLU6())
        self.f = nn.Linear(1280, 1000)

    def forward(self, x: Any) -> Any:
        return self.f(self.l(x).mean([2, 3]))


class UNet(nn.Module):  # type: ignore[misc]
    """A network of two levels down and up."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()

        def twice(wide: int, out: int) -> nn.Module:
            first = [nn.Conv2d(wide, out, 3, 1, 1), nn.BatchNorm2d(out)]
            return nn.Sequential(*first, nn.ReLU(), nn.Conv2d(out, out, 3, 1, 1), nn.ReLU())

        self.d1, self.d2, self.d3 = twice(3, width), twice(width, 2 * width), twice(2 * width, 4 * width)
        self.u2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, 2)
        self.e2 = twice(4 * width, 2 * width)
        self.u1 = nn.ConvTranspose2d(2 * width, width, 2, 2)
        self.e1 = twice(2 * width, width)
        self.o = nn.Conv2d(width, 2, 1)

    def forward(self, x: Any) -> Any:
        pool = nn.functional.max_pool2d
        first = self.d1(x)
        second = self.d2(pool(first, 2))
        made = self.e2(torch.cat([self.u2(self.d3(pool(second, 2))), second], 1))
        return torch.sigmoid(self.o(self.e1(torch.cat([self.u1(made), first], 1))))


class Recurrent(nn.Module):  # type: ignore[misc]
    """Two layers of LSTM; the last step is classified."""

    def __init__(self) -> None:
        super().__init__()
        self.l, self.f = nn.LSTM(64, 128, 2, batch_first=True), nn.Linear(128, 10)

    def forward(self, x: Any) -> Any:
        return self.f(self.l(x)[0][:, -1])


class _Attention(nn.Module):  # type: ignore[misc]
    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(size, size) for _ in range(4))
        self.heads, self.each = heads, size // heads

    def forward(self, x: Any) -> Any:
        batch, length, size = x.shape
        parts = [one(x).view(batch, length, self.heads, self.each).transpose(1, 2) for one in (self.q, self.k, self.v)]
        scores = parts[0] @ parts[1].transpose(-2, -1) / self.each**0.5
        return self.o((scores.softmax(-1) @ parts[2]).transpose(1, 2).reshape(batch, length, size))


class _Layer(nn.Module):  # type: ignore[misc]
    def __init__(self, size: int, heads: int, inner: int) -> None:
        super().__init__()
        self.a, self.n1 = _Attention(size, heads), nn.LayerNorm(size)
        self.f1, self.f2, self.n2 = nn.Linear(size, inner), nn.Linear(inner, size), nn.LayerNorm(size)

    def forward(self, x: Any) -> Any:
        x = self.n1(x + self.a(x))
        return self.n2(x + self.f2(nn.functional.gelu(self.f1(x))))


class Bert(nn.Module):  # type: ignore[misc]
    """An encoder whose first place is classified."""

    def __init__(self, words: int, size: int, heads: int, layers: int, length: int, inner: int) -> None:
        super().__init__()
        self.e, self.p, self.n = nn.Embedding(words, size), nn.Embedding(length, size), nn.LayerNorm(size)
        self.l = nn.Sequential(*(_Layer(size, heads, inner) for _ in range(layers)))
        self.c = nn.Linear(size, 2)

    def forward(self, x: Any) -> Any:
        return self.c(self.l(self.n(self.e(x) + self.p(torch.arange(x.shape[1]))))[:, 0])


# By the names of the recorded models: how each is made, and what it is traced with.
NETWORKS: dict[str, tuple[Callable[[], nn.Module], Callable[[], Any]]] = {
    "bert_mini": (lambda: Bert(30522, 256, 4, 4, 128, 1024), lambda: torch.zeros(1, 128, dtype=torch.int64)),
    "bert_tiny": (lambda: Bert(1000, 64, 2, 2, 16, 128), lambda: torch.zeros(1, 16, dtype=torch.int64)),
    "lstm": (Recurrent, lambda: torch.zeros(1, 32, 64)),
    "mobilenetv2": (MobileNet, lambda: torch.zeros(1, 3, 224, 224)),
    "resnet18_imagenet": (lambda: ResNet(64, 1000), lambda: torch.zeros(1, 3, 224, 224)),
    "resnet18_onnx_small": (lambda: ResNet(8, 10), lambda: torch.zeros(1, 3, 64, 64)),
    "unet": (UNet, lambda: torch.zeros(1, 3, 64, 64)),
    "unet_128": (UNet, lambda: torch.zeros(1, 3, 128, 128)),
}


def exported(module: nn.Module, data: Any) -> Any:
    """Return the ONNX model that PyTorch's tracing exporter makes."""
    import onnx

    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module.eval(), (data,), file, dynamo=False, input_names=["x"], opset_version=14)
    return onnx.load_model_from_string(file.getvalue())
