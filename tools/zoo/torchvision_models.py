"""Models of torchvision."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from zoo.model import Model

_SMALL = 64
# Their windows, patches or depth ask for a size of their own.
_SIZES = {
    "vit_b_16": 224, "vit_b_32": 224, "vit_l_32": 224, "maxvit_t": 224, "inception_v3": 96, "alexnet": 96,
    "squeezenet1_0": 96, "squeezenet1_1": 96, "swin_t": 96, "swin_s": 96, "swin_v2_t": 96,
}  # fmt: skip
_CLASSIFIERS = (
    "alexnet", "convnext_tiny", "convnext_small", "densenet121", "densenet161", "densenet169", "densenet201",
    "efficientnet_b0", "efficientnet_b1", "efficientnet_b2", "efficientnet_b3", "efficientnet_v2_s", "googlenet",
    "inception_v3", "maxvit_t", "mnasnet0_5", "mnasnet0_75", "mnasnet1_0", "mnasnet1_3", "mobilenet_v2",
    "mobilenet_v3_large", "mobilenet_v3_small", "regnet_x_1_6gf", "regnet_x_3_2gf", "regnet_x_400mf",
    "regnet_x_800mf", "regnet_y_1_6gf", "regnet_y_3_2gf", "regnet_y_400mf", "regnet_y_800mf", "resnet101",
    "resnet152", "resnet18", "resnet34", "resnet50", "resnext50_32x4d", "shufflenet_v2_x0_5", "shufflenet_v2_x1_0",
    "shufflenet_v2_x1_5", "shufflenet_v2_x2_0", "squeezenet1_0", "squeezenet1_1", "swin_s", "swin_t", "swin_v2_t",
    "vgg11", "vgg11_bn", "vgg13_bn", "vgg16", "vit_b_16", "vit_b_32", "wide_resnet50_2",
)  # fmt: skip
_SEGMENTERS = ("deeplabv3_mobilenet_v3_large", "deeplabv3_resnet50", "fcn_resnet50", "lraspp_mobilenet_v3_large")
_VIDEOS = ("r3d_18", "mc3_18", "r2plus1d_18", "s3d")


def _classifier(name: str) -> tuple[Any, Sequence[Any]]:
    import torch
    import torchvision

    size = _SIZES.get(name, _SMALL)
    options = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    return torchvision.models.get_model(name, weights=None, **options), [torch.rand(1, 3, size, size)]


def _segmenter(name: str) -> tuple[Any, Sequence[Any]]:
    import torch
    import torchvision

    class Out(torch.nn.Module):  # type: ignore[misc]
        def __init__(self, model: Any) -> None:
            super().__init__()
            self.model = model

        def forward(self, x: Any) -> Any:
            return self.model(x)["out"]

    model = torchvision.models.get_model(name, weights=None, weights_backbone=None)
    return Out(model), [torch.rand(1, 3, _SMALL, _SMALL)]


def _video(name: str) -> tuple[Any, Sequence[Any]]:
    import torch
    import torchvision

    # Its last pooling takes the mean of 2x7x7.
    frames, size = (16, 224) if name == "s3d" else (4, _SMALL)
    return torchvision.models.get_model(name, weights=None), [torch.rand(1, 3, frames, size, size)]


def models() -> list[Model]:
    """Return them."""
    kinds = ((_classifier, _CLASSIFIERS), (_segmenter, _SEGMENTERS), (_video, _VIDEOS))
    return [Model("torchvision", name, partial(make, name)) for make, names in kinds for name in names]
