"""The threshold of a tensor at which quantised values keep most of its distribution.

Source of the semantics: TVM 0.18 src/relay/quantize/calibrate.cc and
python/tvm/relay/quantize/kl_divergence.py.
"""

from __future__ import annotations

import math

import numpy as np

from relay2relax.core.dtype import Array

BINS, QUANTISED_BINS = 8001, 255
_LITTLE = np.float32(0.0001)


def threshold_by_kl(samples: Array, num_bins: int = BINS, num_quantized_bins: int = QUANTISED_BINS) -> float:
    """Return where to cut off ``samples``, of any shape.

    Of the symmetric ranges around zero it is the one whose distribution, in ``num_quantized_bins``,
    diverges least from that of the samples, in ``num_bins``, what is beyond counted at the ends.
    """
    reach = float(max(abs(samples.min()), abs(samples.max()))) or 0.5
    # As numpy has them that TVM ran with; later versions compute edges of float32 in float32.
    edges = np.linspace(-reach, reach, num_bins + 1).astype(np.float32)
    counts, _ = np.histogram(samples, edges)
    middle, half = num_bins // 2, num_quantized_bins // 2
    found = [_divergence(counts, middle - i, middle + i + 1, num_quantized_bins) for i in range(half, middle + 1)]
    return float(edges[middle + half + int(np.argmin(found)) + 1])


def _divergence(counts: Array, start: int, stop: int, quantised: int) -> float:
    """Return the divergence of the distribution in bins ``start`` to ``stop`` from the whole."""
    inner = counts[start:stop].copy()
    inner[0] = 0  # TVM counts the first bin with what is below it, the last in both.
    whole = inner.astype(np.float32)
    whole[0], whole[-1] = counts[: start + 1].sum(), counts[stop - 1 :].sum()
    width = len(inner) // quantised
    ends = np.arange(quantised) * width
    merged = np.add.reduceat(inner, ends).astype(np.float32)
    filled = np.add.reduceat((inner != 0).astype(np.int64), ends)
    share = np.divide(merged, filled.astype(np.float32), out=np.zeros_like(merged), where=filled != 0)
    spread = np.repeat(share, np.diff(np.append(ends, len(inner)))) * (whole != 0)
    expected, given = _smooth(whole), _smooth(spread)
    return math.inf if expected is None or given is None else _entropy(expected, given)


def _smooth(shares: Array) -> Array | None:
    """Return a distribution without zeros, None where it is one of zeros."""
    empty = shares == 0
    zeros = int(empty.sum())
    others = shares.size - zeros
    if not others:
        return None
    taken = _LITTLE * np.float32(zeros) / np.float32(others)
    if taken >= 1:
        return None
    return np.asarray(shares + np.where(empty, _LITTLE, -taken).astype(np.float32))


def _entropy(one: Array, other: Array) -> float:
    """Return ``sum(one * log(one / other))`` of two distributions, added in order in float32."""
    one, other = (np.divide(part, np.add.accumulate(part)[-1]) for part in (one, other))
    return float(np.add.accumulate(np.multiply(one, np.log(np.divide(one, other))))[-1])
