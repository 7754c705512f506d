"""What integer arithmetic gives where C leaves it undefined, on numpy arrays: the one definition.

The operators' own functions, the interpreter of tensor programs and generated C
(``backends/c/codegen/header.py``) all compute this, on every processor:

* A number divided by zero gives 0, and so does what is left of it.
* The smallest number divided by -1 is itself: arithmetic wraps around.
* A shift by a negative number of places, or by as many as there are bits, shifts everything out:
  what is left is 0, or -1 of a negative number that is shifted to the right.
* A float becomes an integer by truncation. What is not a number or lies outside gives the smallest
  number of int32 and int64; narrower types, and uint32, are the low bits of that as int32, and as
  int64. uint64 takes in what it can hold, and the low bits of what int64 can hold; 0 for the rest.

That is what numpy, and what the code that TVM compiles for x86, give where they give one value.
"""

from __future__ import annotations

import numpy as np

from relay2relax.core.dtype import Numbers


def floor_divide(a: Numbers, b: Numbers) -> Numbers:
    """Return ``floor(a / b)``."""
    with np.errstate(all="ignore"):
        return np.asarray(np.floor_divide(a, b))


def floor_modulo(a: Numbers, b: Numbers) -> Numbers:
    """Return ``a - floor(a / b) * b``: what is left has the sign of ``b``."""
    with np.errstate(all="ignore"):
        return np.asarray(np.mod(a, b))


def truncated_divide(a: Numbers, b: Numbers) -> Numbers:
    """Return ``trunc(a / b)``."""
    with np.errstate(all="ignore"):
        if np.result_type(a, b).kind not in "iub":
            return np.asarray(np.trunc(np.divide(a, b)))
        return np.asarray(np.floor_divide(np.subtract(a, np.fmod(a, b)), b))


def truncated_modulo(a: Numbers, b: Numbers) -> Numbers:
    """Return ``a - trunc(a / b) * b``: what is left has the sign of ``a``."""
    with np.errstate(all="ignore"):
        return np.asarray(np.fmod(a, b))


def shift_left(a: Numbers, places: Numbers) -> Numbers:
    """Return ``a << places`` in the width of ``a``."""
    return np.asarray(np.left_shift(a, places))


def shift_right(a: Numbers, places: Numbers) -> Numbers:
    """Return ``a >> places``; the sign is kept."""
    return np.asarray(np.right_shift(a, places))


def converted(x: Numbers, dtype: np.dtype[np.generic]) -> Numbers:
    """Return ``x`` as numbers of ``dtype``; what has it already is returned as it is."""
    x = np.asarray(x)
    if x.dtype == dtype:
        return x
    if dtype.kind not in "iu" or x.dtype.kind in "iub":
        with np.errstate(all="ignore"):
            return x.astype(dtype)
    with np.errstate(invalid="ignore"):
        return _truncated(x if x.dtype.kind == "f" and x.itemsize >= 4 else x.astype(np.float32), dtype)


def _truncated(x: Numbers, dtype: np.dtype[np.generic]) -> Numbers:
    """Return floats as integers."""
    wide: type[np.signedinteger] = np.int64 if dtype.itemsize == 8 or dtype == np.uint32 else np.int32
    limit = 2.0 ** (np.iinfo(wide).bits - 1)
    inside = (x >= -limit) & (x < limit)
    found = np.where(inside, x, 0).astype(wide)
    if dtype != np.uint64:
        return np.where(inside, found, np.iinfo(wide).min).astype(dtype)
    above = (x >= limit) & (x < 2 * limit)
    return np.where(above, np.where(above, x, 0).astype(np.uint64), found.astype(np.uint64))
