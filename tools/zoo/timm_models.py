"""Models of timm: a small one of each family."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from zoo.model import Model

# The name, and the extent of images; 0 where the model has one of its own.
_NAMES = {
    "beit_base_patch16_224": 0, "halonet_h1": 256, "test_byobnet": 64, "cait_xxs24_224": 0, "coat_tiny": 0,
    "convit_tiny": 0, "convmixer_768_32": 64, "test_convnext": 64, "crossvit_tiny_240": 0, "cs3darknet_focus_s": 64,
    "davit_tiny": 64, "deit_tiny_patch16_224": 0, "densenet121": 64, "dla34": 64, "dpn48b": 64,
    "edgenext_xx_small": 64, "efficientformer_l1": 0, "efficientformerv2_s0": 0, "test_efficientnet": 64,
    "efficientvit_b0": 64, "efficientvit_m0": 0, "vit_tiny_patch16_dinov3_qkvb": 0, "fasternet_t0": 64,
    "fastvit_t8": 64, "focalnet_tiny_srf": 64, "gcvit_xxtiny": 0, "ghostnet_050": 64, "hardcorenas_a": 64,
    "hgnetv2_b0": 64, "hiera_tiny_224": 0, "hieradet_small": 64, "hrnet_w18_small": 64, "inception_next_atto": 64,
    "inception_resnet_v2": 96, "inception_v3": 96, "inception_v4": 96, "levit_128s": 0, "test_vit": 0,
    "mambaout_femto": 64, "maxvit_rmlp_pico_rw_256": 0, "poolformer_s12": 64, "mobilenetv3_small_050": 64,
    "mobilevit_xxs": 64, "mvitv2_tiny": 0, "nasnetalarge": 96, "nextvit_small": 64, "nfnet_l0": 64,
    "pit_ti_224": 0, "pnasnet5large": 96, "pvt_v2_b0": 64, "rdnet_tiny": 64, "regnetx_002": 64, "repghostnet_050": 64,
    "repvit_m0_9": 64, "res2net50_26w_4s": 64, "resnest14d": 64, "test_resnet": 64, "resnetv2_18": 64,
    "rexnet_100": 64, "selecsls42": 64, "semnasnet_050": 64, "sequencer2d_s": 0, "shvit_s1": 64, "skresnet18": 64,
    "starnet_s050": 64, "swiftformer_xs": 64, "swin_tiny_patch4_window7_224": 0, "swinv2_cr_tiny_ns_224": 0,
    "tiny_vit_5m_224": 0, "tnt_s_legacy_patch16_224": 0, "tresnet_m": 64, "twins_svt_small": 0, "vgg11": 64,
    "visformer_tiny": 0, "volo_d1_224": 0, "vovnet39a": 64, "legacy_xception": 96, "xception41": 64,
    "xcit_nano_12_p16_224": 0, "mixer_s32_224": 0, "gmlp_s16_224": 0, "ghostnetv3_050": 64,
}  # fmt: skip


def _made(name: str, size: int) -> tuple[Any, Sequence[Any]]:
    import timm
    import torch

    model = timm.create_model(name, pretrained=False)
    given = (3, size, size) if size else model.pretrained_cfg["input_size"]
    return model, [torch.rand(1, *given)]


def models() -> list[Model]:
    """Return them."""
    return [Model("timm", name, partial(_made, name, size)) for name, size in _NAMES.items()]
