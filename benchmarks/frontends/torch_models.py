"""Small models of PyTorch's own layers, as their users write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F


class Recurrent(nn.Module):  # type: ignore[misc]
    """Two recurrent layers; the last step is classified."""

    def __init__(self, layer: Callable[..., Any], directions: int) -> None:
        super().__init__()
        self.layers = layer(32, 64, 2, batch_first=True, bidirectional=directions == 2)
        self.head = nn.Linear(64 * directions, 10)

    def forward(self, x: Any) -> Any:
        return self.head(self.layers(x)[0][:, -1])


class Block(nn.Module):  # type: ignore[misc]
    """A layer of a vision transformer, normalised first."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(64), nn.LayerNorm(64)
        self.heads = nn.MultiheadAttention(64, 4, batch_first=True)
        self.inner = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Dropout(0.1), nn.Linear(128, 64))

    def forward(self, x: Any) -> Any:
        y = self.first(x)
        x = x + self.heads(y, y, y, need_weights=False)[0]
        return x + self.inner(self.second(x))


class Vision(nn.Module):  # type: ignore[misc]
    """A vision transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.patches, self.blocks = nn.Conv2d(3, 64, 8, 8), nn.Sequential(*(Block() for _ in range(4)))
        self.kind, self.places = nn.Parameter(torch.randn(1, 1, 64)), nn.Parameter(torch.randn(1, 17, 64))
        self.norm, self.head = nn.LayerNorm(64), nn.Linear(64, 10)

    def forward(self, x: Any) -> Any:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.kind.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.head(self.norm(self.blocks(x))[:, 0])


class Causal(nn.Module):  # type: ignore[misc]
    """A decoder of words, each of which sees those before it."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places, self.head = nn.Embedding(100, 64), nn.Embedding(32, 64), nn.Linear(64, 100)
        self.norms = nn.ModuleList(nn.LayerNorm(64) for _ in range(4))
        self.inputs = nn.ModuleList(nn.Linear(64, 192) for _ in range(4))
        self.outputs = nn.ModuleList(nn.Linear(64, 64) for _ in range(4))

    def forward(self, words: Any) -> Any:
        batch, length = words.shape
        x = self.words(words) + self.places(torch.arange(length))
        for norm, into, out in zip(self.norms, self.inputs, self.outputs, strict=True):
            query, key, value = into(norm(x)).view(batch, length, 3, 4, 16).permute(2, 0, 3, 1, 4).unbind(0)
            seen = F.scaled_dot_product_attention(query, key, value, is_causal=True)
            x = x + out(seen.transpose(1, 2).reshape(batch, length, 64))
        return self.head(x)


class Residual(nn.Module):  # type: ignore[misc]
    """Convolutions with what they were given added."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.head = nn.Conv2d(3, 16, 7, 2, 3), nn.Linear(16, 10)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(16, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
                nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16),
            )
            for _ in range(8)
        )  # fmt: skip

    def forward(self, x: Any) -> Any:
        x = F.max_pool2d(torch.relu(self.first(x)), 3, 2, 1)
        for block in self.blocks:
            x = torch.relu(x + block(x))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


def _narrow() -> Any:
    """Return a block of a network for telephones."""
    return nn.Sequential(
        nn.Conv2d(16, 64, 1), nn.BatchNorm2d(64), nn.ReLU6(inplace=True), nn.Conv2d(64, 64, 3, padding=1, groups=64),
        nn.BatchNorm2d(64), nn.Hardswish(inplace=True), nn.Conv2d(64, 16, 1),
    )  # fmt: skip


def _encoder() -> Any:
    return nn.TransformerEncoder(
        nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), 4, enable_nested_tensor=False
    )


def _made(make: Callable[[], Any], *shape: int) -> tuple[Any, tuple[Any, ...]]:
    return make(), (torch.randn(*shape),)


# By name: what makes a module and its inputs.
MODELS: Mapping[str, Callable[[], tuple[Any, tuple[Any, ...]]]] = {
    "torch mlp": partial(
        _made, lambda: nn.Sequential(*(one for _ in range(8) for one in (nn.Linear(32, 32), nn.ReLU()))), 4, 32
    ),
    "torch resnet": partial(_made, Residual, 1, 3, 64, 64),
    "torch mobilenet": partial(_made, lambda: nn.Sequential(*(_narrow() for _ in range(8))), 1, 16, 16, 16),
    "torch lstm": partial(_made, lambda: Recurrent(nn.LSTM, 1), 2, 12, 32),
    "torch gru": partial(_made, lambda: Recurrent(nn.GRU, 2), 2, 12, 32),
    "torch encoder": partial(_made, _encoder, 2, 10, 64),
    "torch vit": partial(_made, Vision, 1, 3, 32, 32),
    "torch gpt": lambda: (Causal(), (torch.randint(0, 100, (2, 32)),)),
}
