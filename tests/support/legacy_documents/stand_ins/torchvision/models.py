"""ResNet-18 with the names of its parameters, and weights that PyTorch draws.

Pages of 2019 export it with the exporter of that time, which called the first input ``0``, left
batch normalisation as it is and weights in the order of their modules; today's PyTorch does none of
that by itself.
"""

from __future__ import annotations

import onnx
import torch
from torch import nn

_export = torch.onnx.export


def export(model: nn.Module, arguments: torch.Tensor, path: str, **options: object) -> None:
    """Write a model as PyTorch of 2019 did."""
    _export(
        model.eval(),
        arguments,
        path,
        dynamo=False,
        training=torch.onnx.TrainingMode.PRESERVE,
        do_constant_folding=False,
    )
    written = onnx.load(path)
    name = written.graph.input[0].name
    written.graph.input[0].name = "0"
    for node in written.graph.node:
        node.input[:] = ["0" if one == name else one for one in node.input]
    order = list(model.state_dict())
    weights = sorted(written.graph.initializer, key=lambda one: order.index(one.name))
    del written.graph.initializer[:]
    written.graph.initializer.extend(weights)
    onnx.save(written, path)


torch.onnx.export = export


class BasicBlock(nn.Module):  # type: ignore[misc]
    """Two convolutions and what passes them by."""

    def __init__(self, before: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, channels, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.downsample = None
        if before != channels:
            self.downsample = nn.Sequential(
                nn.Conv2d(before, channels, 1, stride, bias=False), nn.BatchNorm2d(channels)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the block's result."""
        inner = self.bn2(self.conv2(self.bn1(self.conv1(x)).relu()))
        return (inner + (x if self.downsample is None else self.downsample(x))).relu()


class ResNet(nn.Module):  # type: ignore[misc]
    """ResNet-18."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        before = 64
        for number, channels in enumerate((64, 128, 256, 512), 1):
            first = BasicBlock(before, channels, 1 if number == 1 else 2)
            setattr(self, f"layer{number}", nn.Sequential(first, BasicBlock(channels, channels, 1)))
            before = channels
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512, 1000)
        for name, value in self.state_dict().items():
            if "bn" in name or "downsample.1" in name:  # else those that are equal are written once
                value.copy_(torch.rand(value.shape) + 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the scores of images."""
        x = self.maxpool(self.bn1(self.conv1(x)).relu())
        for number in range(1, 5):
            x = getattr(self, f"layer{number}")(x)
        return self.fc(torch.flatten(self.avgpool(x), 1))


def resnet18() -> ResNet:
    """Return the network."""
    return ResNet()
