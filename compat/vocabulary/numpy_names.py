"""Names that numpy had when Relay was written, and that releases since have taken away."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from relay2relax.compat.vocabulary.teaching import Lesson

_GONE = {
    "bool": bool, "int": int, "float": float, "object": object, "product": np.prod, "float_": np.float64, "Inf": np.inf,
    "cumproduct": np.cumprod, "alltrue": np.all, "sometrue": np.any, "asscalar": lambda array: array.item(),
}  # fmt: skip


def lessons() -> Iterator[Lesson]:
    """Yield the names that numpy does not have any more."""
    for name, value in _GONE.items():
        if name not in vars(np):
            yield Lesson(np, name, value)
