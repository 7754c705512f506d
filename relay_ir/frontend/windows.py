"""Where the windows of a pooling lie."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay2relax.core.dtype import Numbers


def window_places(
    extents: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    before: Sequence[int],
    dilation: Sequence[int],
    counts: Sequence[int],
) -> tuple[tuple[Numbers, ...], Numbers]:
    """Return the coordinates of each window's elements, an array for each axis with a row for each
    window, and which of them are no padding. Those of padding are the nearest that are none.
    """
    rank = len(kernel)
    steps = zip(counts, strides, before, strict=False)
    axes = [np.arange(count) * stride - pad for count, stride, pad in steps]
    begins = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 1, rank)
    inside = np.indices(kernel).reshape(rank, -1).T * np.array(dilation)
    points = begins + inside
    within = ((points >= 0) & (points < np.array(extents))).all(-1)
    clipped = points.clip(0, np.array(extents) - 1)
    return tuple(clipped[..., axis] for axis in range(rank)), within
