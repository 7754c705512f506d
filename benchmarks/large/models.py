"""The larger models by name, and what makes them.

Weights are drawn with one seed; nothing is downloaded. Definitions are those of torchvision and
transformers where these have one. A process that calls ``made`` gets the same module as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

SEED = 0


@dataclass(frozen=True, slots=True)
class Large:
    """A model: ``make`` returns a module and its inputs.

    ``library`` has to be installed for it. One in ``bytes`` is quantised by ONNX Runtime, and has
    no form in PyTorch.
    """

    make: Callable[[], tuple[Any, tuple[Any, ...]]]
    library: str = ""
    bytes: bool = False


def made(name: str) -> tuple[Any, tuple[Any, ...]]:
    """Return a module, in evaluation, and its inputs."""
    import torch

    torch.manual_seed(SEED)
    module, inputs = MODELS[name].make()
    module.eval()
    with torch.no_grad():
        _settle(module, inputs)
    return module, inputs


def _settle(module: Any, inputs: tuple[Any, ...]) -> None:
    """Draw what begins as zeros, or hides a layer, and let normalisations have the mean and the
    variance of drawn images.
    """
    import torch

    for name, one in module.named_parameters():
        if not one.any():
            one.uniform_(-0.1, 0.1)
        elif name.endswith("layer_scale"):
            one.fill_(0.5)
    norms = [one for one in module.modules() if isinstance(one, torch.nn.BatchNorm2d)]
    if norms:
        for one in norms:
            one.train()
            one.momentum = 1.0
        module(*(torch.randn(4, *one.shape[1:]) for one in inputs))
        for one in norms:
            one.eval()


def _vision(name: str, size: int = 224) -> tuple[Any, tuple[Any, ...]]:
    import torch
    import torchvision

    # Without, these draw each weight by a slow function of SciPy's.
    options = {"init_weights": False, "aux_logits": False} if name in ("googlenet", "inception_v3") else {}
    return torchvision.models.get_model(name, weights=None, **options), (torch.randn(1, 3, size, size),)


def _detector() -> tuple[Any, tuple[Any, ...]]:
    import torch

    from large.modules import Detector

    return Detector(), (torch.randn(1, 3, 320, 320),)


def _unet() -> tuple[Any, tuple[Any, ...]]:
    import torch

    from large.modules import UNet

    return UNet(), (torch.randn(1, 3, 512, 512),)


def _gpt2() -> tuple[Any, tuple[Any, ...]]:
    import torch
    import transformers

    from large.modules import First

    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(use_cache=False))
    return First(model, ["input_ids"]), (torch.randint(0, 50257, (1, 64)),)


def _bert(batch: int, words: int) -> tuple[Any, tuple[Any, ...]]:
    import torch
    import transformers

    from large.modules import First

    model = transformers.BertModel(transformers.BertConfig(), add_pooling_layer=False)
    mask = torch.ones(batch, words, dtype=torch.int64)
    # The last text is a quarter shorter than the others.
    mask[-1, words * 3 // 4 :] = 0
    return First(model, ["input_ids", "attention_mask"]), (torch.randint(0, 30522, (batch, words)), mask)


_VISION = (
    "resnet50", "vgg11", "densenet121", "mobilenet_v3_large", "efficientnet_b0", "regnet_y_800mf",
    "shufflenet_v2_x1_0", "googlenet", "convnext_tiny", "vit_b_16",
)  # fmt: skip
MODELS: Mapping[str, Large] = {
    **{name: Large(partial(_vision, name), "torchvision") for name in _VISION},
    "inception_v3": Large(partial(_vision, "inception_v3", 299), "torchvision"),
    "resnet50_qdq": Large(partial(_vision, "resnet50"), "torchvision", bytes=True),
    "mobilenet_v2_qdq": Large(partial(_vision, "mobilenet_v2"), "torchvision", bytes=True),
    "ssdlite_320": Large(_detector, "torchvision"),
    "unet_512": Large(_unet),
    "gpt2_64": Large(_gpt2, "transformers"),
    **{f"bert_base_{batch}x{words}": Large(partial(_bert, batch, words), "transformers")
       for words in (128, 512) for batch in (1, 8)},
}  # fmt: skip
