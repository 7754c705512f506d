"""How far results are apart, beside the largest error: direction, noise, and how many elements."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from relay2relax.core.dtype import Array

# Errors are counted by their decades, from below the first to above the last.
_DECADES = tuple(range(-9, 1))
_Floats: TypeAlias = NDArray[np.float64]
_Truths: TypeAlias = NDArray[np.bool_]
DECADES = ("0", *(f"1e{one}" for one in _DECADES), "more", "NaN")


@dataclass(frozen=True, slots=True)
class Measures:
    """How one array is beside what was expected.

    ``cosine``  of the angle between both, as vectors of their finite elements: 1 where they point
    the same way. ``noise``  the ratio of what was expected to the error, in decibel: infinite where
    there is none. ``counts``  how many elements have which error, by :data:`DECADES`: shares of the
    largest value that is expected.
    """

    cosine: float
    noise: float
    counts: tuple[int, ...]

    def to_json(self) -> dict[str, object]:
        """Return the measures as plain values; what is not finite is None."""
        cosine, noise = (one if math.isfinite(one) else None for one in (self.cosine, self.noise))
        return {"cosine": cosine, "snr_db": noise, "errors": dict(zip(DECADES, self.counts, strict=True))}


def measures_of(actual: Array, expected: Array) -> Measures | None:
    """Return the measures of an array; None for arrays of other shapes, and for no numbers.

    >>> measures_of(np.array([3.0, 4.0]), np.array([3.0, 3.0])).cosine.__round__(4)
    0.9899
    """
    if actual.shape != expected.shape or actual.dtype.kind not in "fiubV":
        return None
    a, e = (one.astype(np.float64).reshape(-1) for one in (actual, expected))
    both = np.isfinite(a) & np.isfinite(e)
    same = (a == e) | (np.isnan(a) & np.isnan(e))
    size = float(np.max(np.abs(e), initial=0.0, where=np.isfinite(e))) or 1.0
    # Beside the largest value nothing overflows.
    x, y = a[both] / size, e[both] / size
    gap = np.abs(x - y)
    return Measures(_cosine(x, y), _noise(gap, y), _counts(gap[~same[both]], same, both))


def _cosine(x: _Floats, y: _Floats) -> float:
    most = float(np.max(np.abs(x), initial=0.0))
    x = x / (most or 1.0)
    lengths = math.sqrt(float(x @ x) * float(y @ y))
    if lengths:
        return float(np.clip(float(x @ y) / lengths, -1.0, 1.0))
    return 1.0 if not x.any() and not y.any() else 0.0


def _noise(gap: _Floats, expected: _Floats) -> float:
    power, wrong = float(expected @ expected), float(gap @ gap)
    if not wrong:
        return math.inf
    return 10 * math.log10(power / wrong) if power else -math.inf


def _counts(gap: _Floats, same: _Truths, both: _Truths) -> tuple[int, ...]:
    """Count the errors of elements that are finite and not the same, and the others."""
    with np.errstate(divide="ignore"):
        decade = np.ceil(np.log10(gap))
    counts = [int(same.sum()), int((decade <= _DECADES[0]).sum())]
    counts += [int((decade == one).sum()) for one in _DECADES[1:]]
    return (*counts, int((decade > _DECADES[-1]).sum()), int((~both & ~same).sum()))


class Measured:
    """The measures of the outputs of a comparison, by program, backend and output.

    >>> measured = Measured()
    >>> with translator.outputs_shown(measured.add):
    ...     report = translator.compare(mod)
    """

    def __init__(self) -> None:
        self.found: dict[tuple[str, str, int], Measures] = {}

    def add(self, program: str, backend: str, output: int, actual: Array, expected: Array) -> None:
        """Measure one output."""
        measures = measures_of(actual, expected)
        if measures is not None:
            self.found[program, backend, output] = measures
