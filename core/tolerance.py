"""How close two floating-point results must be: the one place where tolerances are written down.

A result that is the sum of ``n`` products carries a rounding error that grows like sqrt(n) for
random signs and like n at worst; elementary functions differ by a few units in the last place
between libraries. The bound used here is

    |actual - expected| <= eps * (16 + 4 * sqrt(n)) * (|expected| + scale)

with ``eps`` the dtype's machine epsilon, ``n`` the length of the longest chain of sums that leads
to the result, and ``scale`` the largest finite magnitude among the expected values (cancellation
leaves errors of the size of what was summed). Integers, bools and shapes agree exactly; NaN agrees
with NaN, an infinity with the same infinity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relay2relax.core.dtype import Array, is_float, of_array

_EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
# Whole models chain layers; sums of up to a few thousand products each are covered by this length.
MODEL_REDUCTION = 65536


@dataclass(frozen=True, slots=True)
class Difference:
    """How two arrays differ: largest absolute and relative error, ULPs, and whether that is within
    the tolerance.
    """

    max_abs: float
    max_rel: float
    max_ulp: float
    agrees: bool
    reason: str = ""


def bound(dtype: str, reduction: int) -> float:
    """Return the relative bound for ``dtype`` after sums of ``reduction`` terms (0 for integers and
    bools).
    """
    if not is_float(dtype):
        return 0.0
    return _EPSILON[dtype] * (16 + 4 * float(np.sqrt(reduction)))


def difference(actual: Array, expected: Array, reduction: int = 1) -> Difference:
    """Compare ``actual`` with ``expected``; dtype and shape must be the same."""
    if actual.shape != expected.shape:
        return Difference(np.inf, np.inf, np.inf, False, f"shape {actual.shape}, expected {expected.shape}")
    dtype = of_array(expected)
    if of_array(actual) != dtype:
        return Difference(np.inf, np.inf, np.inf, False, f"dtype {of_array(actual)}, expected {dtype}")
    if actual.size == 0 or np.array_equal(actual, expected):
        return Difference(0.0, 0.0, 0.0, True)
    if not is_float(dtype):
        gap = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
        wrong = int(np.count_nonzero(actual != expected))
        return Difference(float(gap.max()), np.inf, np.inf, False, f"{wrong} of {actual.size} elements differ")
    a, e = actual.astype(np.float64), expected.astype(np.float64)
    same = (a == e) | (np.isnan(a) & np.isnan(e))
    finite = np.isfinite(a) & np.isfinite(e)
    if not bool((same | finite).all()):
        return Difference(np.inf, np.inf, np.inf, False, "NaN or infinity on one side only")
    gap = np.where(same, 0.0, np.abs(np.where(finite, a, 0.0) - np.where(finite, e, 0.0)))
    size = np.where(finite, np.abs(e), 0.0)
    scale = float(size.max())
    agrees = bool((gap <= bound(dtype, reduction) * (size + scale)).all())
    relative = float((gap / np.maximum(size, np.finfo(np.float64).tiny)).max())
    spacing = np.maximum(size, 2.0**-126 if dtype == "float32" else np.finfo(np.float64).tiny) * _EPSILON[dtype]
    reason = "" if agrees else f"beyond {bound(dtype, reduction):.2g} of the largest magnitude {scale:.3g}"
    return Difference(float(gap.max()), relative, float((gap / spacing).max()), agrees, reason)
