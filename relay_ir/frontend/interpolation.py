"""Changes of size that Relay's operators do not say: each axis is a product with a matrix, which is
known beforehand.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from relay2relax.core.dtype import Numbers

# From places of the result to places of the source: (places, old extent, new extent, scale).
Places = Callable[[Numbers, int, int, float], Numbers]

COORDINATES: dict[str, Places] = {
    "half_pixel": lambda x, old, new, scale: (x + 0.5) / scale - 0.5,
    "asymmetric": lambda x, old, new, scale: x / scale,
    "align_corners": lambda x, old, new, scale: x * (old - 1) / max(_exact(old, new, scale) - 1, 1e-30),
    "pytorch_half_pixel": lambda x, old, new, scale: (x + 0.5) / scale - 0.5 if new > 1 else x * 0 - 0.5 + 0.5,
    "half_pixel_symmetric": lambda x, old, new, scale: (
        old / 2 * (1 - new / (scale * old)) + (x + 0.5) / scale - 0.5
    ),
}  # fmt: skip


def _exact(old: int, new: int, scale: float) -> float:
    """Return the result's extent before it was rounded."""
    return old * scale if abs(old * scale - new) < 1 else float(new)


def axis_matrix(
    old: int, new: int, places: Numbers, mode: str, rounding: str, alpha: float, exclude: bool, antialias: float = 1.0
) -> Numbers:
    """Return the matrix (new, old) by which an axis is resized: what each place of the result takes
    of each element. ``antialias`` is the scale where it is below 1, and widens the filter.
    """
    if mode == "nearest":
        return np.asarray(np.eye(old)[np.clip(_rounded(places, rounding), 0, old - 1)])
    reach = 1 if mode == "linear" else 2
    width = int(np.ceil(reach / antialias))
    made = np.zeros((new, old))
    for row, place in enumerate(places):
        first = int(np.floor(place)) - width + 1
        taken = np.arange(first, first + 2 * width)
        weights = _filter((taken - place) * antialias, mode, alpha)
        outside = (taken < 0) | (taken >= old)
        if exclude:
            weights = np.where(outside, 0.0, weights)
        if exclude or antialias < 1:
            weights = weights / weights.sum()
        np.add.at(made[row], np.clip(taken, 0, old - 1), weights)
    return made


def _rounded(places: Numbers, rounding: str) -> Numbers:
    found = {
        "round_prefer_floor": np.ceil(places - 0.5), "round_prefer_ceil": np.floor(places + 0.5),
        "floor": np.floor(places), "ceil": np.ceil(places),
    }  # fmt: skip
    return np.asarray(found[rounding], np.int64)


def _filter(x: Numbers, mode: str, a: float) -> Numbers:
    """Return the weights of elements at distances ``x``."""
    x = np.abs(x)
    if mode == "linear":
        return np.asarray(np.maximum(0.0, 1 - x))
    near = (a + 2) * x**3 - (a + 3) * x**2 + 1
    far = a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))
