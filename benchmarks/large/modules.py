"""Modules that no library has as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

# How boxes are written as distances from anchors, in SSD: offsets in tenths, sizes in fifths.
_OFFSETS, _SIZES = 10.0, 5.0


class UNet(nn.Module):  # type: ignore[misc]
    """The U-Net of Ronneberger, Fischer and Brox with padding, normalised, half as wide."""

    def __init__(self, widths: Sequence[int] = (32, 64, 128, 256, 512), classes: int = 2) -> None:
        super().__init__()
        down = zip((3, *widths), widths, strict=False)
        self.down = nn.ModuleList(self._pair(before, after) for before, after in down)
        ups = list(zip(reversed(widths[1:]), reversed(widths[:-1]), strict=True))
        self.rise = nn.ModuleList(nn.ConvTranspose2d(before, after, 2, 2) for before, after in ups)
        self.up = nn.ModuleList(self._pair(2 * after, after) for _, after in ups)
        self.head = nn.Conv2d(widths[0], classes, 1)

    @staticmethod
    def _pair(before: int, after: int) -> Any:
        return nn.Sequential(
            nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(),
            nn.Conv2d(after, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(),
        )  # fmt: skip

    def forward(self, x: Any) -> Any:
        held = []
        for number, pair in enumerate(self.down):
            x = pair(F.max_pool2d(x, 2) if number else x)
            held.append(x)
        for rise, pair, beside in zip(self.rise, self.up, reversed(held[:-1]), strict=True):
            x = pair(torch.cat([beside, rise(x)], 1))
        return self.head(x)


class Detector(nn.Module):  # type: ignore[misc]
    """torchvision's SSDLite with what comes behind it: boxes of the best anchors are decoded, and
    suppressed within each class.
    """

    def __init__(self, size: int = 320, best: int = 400) -> None:
        from torchvision.models.detection import ssdlite320_mobilenet_v3_large
        from torchvision.models.detection.image_list import ImageList

        super().__init__()
        model = ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None).eval()
        self.backbone, self.head, self.best = model.backbone, model.head, best
        with torch.no_grad():
            image = torch.zeros(1, 3, size, size)
            maps = list(self.backbone(image).values())
            x0, y0, x1, y1 = model.anchor_generator(ImageList(image, [(size, size)]), maps)[0].unbind(-1)
            anchors = torch.stack([(x0 + x1) / 2, (y0 + y1) / 2, x1 - x0, y1 - y0], -1)
            # Classes that are as good as each other would be told apart by rounding.
            for one in self.head.classification_head.module_list:
                one[-1].weight.mul_(4.0)
        self.register_buffer("anchors", anchors)

    def forward(self, image: Any) -> Any:
        from torchvision.ops import nms

        found = self.head(list(self.backbone(image).values()))
        # The first class is the background.
        scores, classes = torch.softmax(found["cls_logits"][0], -1)[:, 1:].max(-1)
        scores, places = scores.topk(self.best)
        classes, moves, anchors = classes[places], found["bbox_regression"][0][places], self.anchors[places]
        centres = anchors[:, :2] + moves[:, :2] / _OFFSETS * anchors[:, 2:]
        halves = torch.exp(moves[:, 2:] / _SIZES) * anchors[:, 2:] / 2
        boxes = torch.cat([centres - halves, centres + halves], -1)
        # Boxes of different classes lie apart, so that none suppresses another.
        apart = boxes + (classes.to(boxes.dtype) * (boxes.max() - boxes.min() + 1))[:, None]
        kept = nms(apart, scores, 0.5)
        return boxes[kept], scores[kept], classes[kept]


class First(nn.Module):  # type: ignore[misc]
    """The first result of a model of transformers, which is given its inputs by name."""

    def __init__(self, model: Any, names: Sequence[str]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *given: Any) -> Any:
        return self.model(**dict(zip(self.names, given, strict=True)))[0]
