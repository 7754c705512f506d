"""The error function for numpy arrays, by rational Chebyshev approximation.

W. J. Cody, "Rational Chebyshev approximations for the error function", Mathematics of Computation
23 (1969), 631-637. The coefficients give about 18 digits on their intervals.
"""

from __future__ import annotations

import numpy as np

from relay2relax.core.dtype import Array, Numbers

# erf(x) = x * A(x^2) / B(x^2) for |x| <= 0.46875; coefficients from the highest power down.
_NUMERATOR_SMALL = (
    1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2, 3.77485237685302021e2, 3.20937758913846947e3,
)  # fmt: skip
_DENOMINATOR_SMALL = (
    1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3,
)  # fmt: skip
# erfc(x) = exp(-x^2) * C(x) / D(x) for 0.46875 <= x <= 4.
_NUMERATOR_MIDDLE = (
    2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e1,
    2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3, 1.23033935479799725e3,
)  # fmt: skip
_DENOMINATOR_MIDDLE = (
    1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
    3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3,
)  # fmt: skip
# From here on erfc(x) is below half a unit in the last place of a float64 1.0.
_SATURATED = 5.93


def _polynomial(coefficients: tuple[float, ...], x: Numbers) -> Numbers:
    result = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        np.multiply(result, x, out=result)
        np.add(result, coefficient, out=result)
    return result


def erf(x: Array) -> Array:
    """Return the error function of a floating array, in its dtype; computed in float64."""
    wide = np.atleast_1d(x).astype(np.float64)
    size = np.minimum(np.abs(wide), _SATURATED)
    small = size <= 0.46875
    square = np.where(small, size * size, 0.0)
    near = wide * (_polynomial(_NUMERATOR_SMALL, square) / _polynomial(_DENOMINATOR_SMALL, square))
    tail = _polynomial(_NUMERATOR_MIDDLE, size) / _polynomial(_DENOMINATOR_MIDDLE, size)
    far = np.copysign(1.0 - np.exp(-size * size) * tail, wide)
    return np.asarray(np.where(small, near, far).astype(x.dtype).reshape(x.shape))
