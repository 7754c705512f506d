"""A data set of the shape of Fashion-MNIST."""

from __future__ import annotations

import torch


class FashionMNIST(torch.utils.data.Dataset):  # type: ignore[misc]
    """Two drawn images of 28 by 28 and their classes."""

    def __init__(self, **options: object) -> None:
        self.images = torch.rand(2, 1, 28, 28, generator=torch.Generator().manual_seed(0))

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return self.images[index], 8
