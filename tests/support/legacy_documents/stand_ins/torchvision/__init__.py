"""What documents use of torchvision, drawn instead of downloaded: a network and a data set."""

from torchvision import datasets, models, transforms

__all__ = ["datasets", "models", "transforms"]
