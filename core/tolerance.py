"""How close two floating-point results must be: the one place where tolerances are written down.

A result that is the sum of ``n`` products carries a rounding error that grows like sqrt(n) for
random signs and like n at worst; elementary functions differ by a few units in the last place
between libraries. The bound used here is

    |actual - expected| <= eps * (16 + 4 * sqrt(n)) * (|expected| + scale)

with ``eps`` the dtype's machine epsilon, ``n`` the length of the longest chain of sums on the way
to an output (``translator/chains.py`` counts that of a program), and ``scale`` the largest finite
magnitude among the expected values (cancellation leaves errors of the size of what was summed).
Integers, bools and shapes agree exactly; NaN agrees with NaN, an infinity with the same infinity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relay2relax.core.dtype import Array, is_float, of_array

_EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
# The longest chain that anything has room for. A longer one hardly errs more, for its errors partly
# cancel, and a mistake must not fit in. It is also what is taken where the length is not known.
LONGEST_CHAIN = 65536


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a result may be off: ``absolute + relative * |expected|``.

    Where it is ``scaled``, the largest magnitude among the expected values is added to
    ``|expected|``. ``why`` says where the numbers come from.
    """

    relative: float
    absolute: float = 0.0
    scaled: bool = False
    why: str = "as asked for"

    def allowed(self, size: Array, scale: float) -> Array:
        """Return what each value of magnitude ``size`` may be off by."""
        return np.asarray(np.add(size, scale if self.scaled else 0.0) * self.relative + self.absolute)

    def text(self, scale: float) -> str:
        """Return the tolerance in words: ``x`` is what is expected, of at most ``scale``."""
        size = f"|x|+{scale:.3g}" if self.scaled else "|x|"
        parts = [f"{self.absolute:.2g}"] if self.absolute else []
        parts += [f"{self.relative:.2g} of {size}"] if self.relative or not parts else []
        return f"{' + '.join(parts)}: {self.why}"


@dataclass(frozen=True, slots=True)
class Difference:
    """How two arrays differ, and whether that is within the tolerance.

    ``max_abs``  the largest error.
    ``max_rel``  the largest error as a share of the value that was expected there.
    ``max_ulp``  the same in units of the last place.
    ``scale``    the largest magnitude among the finite expected values.
    ``tolerance``  what the errors were judged by; None where there was nothing to judge.
    ``by_value``   whether every error is also within the tolerance of its own value alone, without
    the scale.
    """

    max_abs: float
    max_rel: float
    max_ulp: float
    agrees: bool
    reason: str = ""
    scale: float = 0.0
    tolerance: Tolerance | None = None
    by_value: bool = True

    @property
    def verdict(self) -> str:
        """The judgement in a word or two.

        ``equal``: no error at all. ``agrees``: each value within the tolerance of itself. ``agrees
        of scale``: small values are off by more than that, but by little beside the largest one.
        """
        if not self.agrees:
            return "DIFFERS"
        if not self.by_value:
            return "agrees of scale"
        return "agrees" if self.max_abs else "equal"

    @property
    def allowed(self) -> str:
        """The tolerance in words."""
        return "" if self.tolerance is None else self.tolerance.text(self.scale)

    @property
    def of_scale(self) -> float:
        """The largest error as a share of the largest magnitude: 0 where both are."""
        return self.max_abs / self.scale if self.scale else self.max_abs


def bound(dtype: str, length: int) -> float:
    """Return the relative bound for ``dtype`` after a chain of sums of ``length`` terms (0 for
    integers and bools).
    """
    if not is_float(dtype):
        return 0.0
    return _EPSILON[dtype] * (16 + 4 * float(np.sqrt(min(length, LONGEST_CHAIN))))


def tolerance_of(dtype: str, length: int | None) -> Tolerance:
    """Return the tolerance for ``dtype`` after a chain of sums of ``length`` terms, None where that
    is not known.
    """
    if not is_float(dtype):
        return Tolerance(0.0, why=dtype)
    if length is None:
        room = f"room for sums of {LONGEST_CHAIN:,} terms: their length is not known"
    else:
        most = f", room for {LONGEST_CHAIN:,}" if length > LONGEST_CHAIN else ""
        room = f"sums of {length:,} term{'s' * (length != 1)} in a row{most}"
    return Tolerance(bound(dtype, LONGEST_CHAIN if length is None else length), scaled=True, why=f"{dtype}, {room}")


def difference(
    actual: Array, expected: Array, length: int | None = 1, tolerance: Tolerance | None = None
) -> Difference:
    """Compare ``actual`` with ``expected``; dtype and shape must be the same.

    Without a ``tolerance`` the dtype and the ``length`` of the sums decide, None where that is not
    known.
    """
    if actual.shape != expected.shape:
        return Difference(np.inf, np.inf, np.inf, False, f"shape {actual.shape}, expected {expected.shape}")
    dtype = of_array(expected)
    if of_array(actual) != dtype:
        return Difference(np.inf, np.inf, np.inf, False, f"dtype {of_array(actual)}, expected {dtype}")
    limit = tolerance or tolerance_of(dtype, length)
    if actual.size == 0 or np.array_equal(actual, expected):
        return Difference(0.0, 0.0, 0.0, True, scale=_scale(expected), tolerance=limit)
    if not is_float(dtype) and tolerance is None:
        gap = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
        wrong = int(np.count_nonzero(actual != expected))
        reason = f"{wrong} of {actual.size} elements differ"
        return Difference(float(gap.max()), np.inf, np.inf, False, reason, _scale(expected), limit)
    return _float_difference(actual.astype(np.float64), expected.astype(np.float64), dtype, limit)


def _scale(expected: Array) -> float:
    """Return the largest finite magnitude."""
    size = np.abs(expected.astype(np.float64))
    return float(np.max(size, initial=0.0, where=np.isfinite(size)))


def _float_difference(a: Array, e: Array, dtype: str, limit: Tolerance) -> Difference:
    """Compare numbers of ``dtype``, given in double precision."""
    same = (a == e) | (np.isnan(a) & np.isnan(e))
    finite = np.isfinite(a) & np.isfinite(e)
    if not bool((same | finite).all()):
        reason = "NaN or infinity on one side only"
        return Difference(np.inf, np.inf, np.inf, False, reason, _scale(e), limit)
    gap = np.where(same, 0.0, np.abs(np.where(finite, a, 0.0) - np.where(finite, e, 0.0)))
    size = np.where(finite, np.abs(e), 0.0)
    scale = float(size.max())
    agrees = bool((gap <= limit.allowed(size, scale)).all())
    by_value = bool((gap <= limit.allowed(size, 0.0)).all())
    relative = float((gap / np.maximum(size, np.finfo(np.float64).tiny)).max())
    spacing = np.maximum(size, 2.0**-126 if dtype == "float32" else np.finfo(np.float64).tiny) * _EPSILON.get(dtype, 1)
    reason = "" if agrees else f"beyond {limit.text(scale)}"
    ulps = float((gap / spacing).max())
    return Difference(float(gap.max()), relative, ulps, agrees, reason, scale, limit, by_value)
