"""What integer arithmetic gives where C leaves it undefined: against Python's integers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from relay2relax.core.arithmetic import (
    converted,
    floor_divide,
    floor_modulo,
    shift_left,
    shift_right,
    truncated_divide,
    truncated_modulo,
)

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = (
    math.nan,
    math.inf,
    -math.inf,
    3e38,
    -3e38,
    1.9e19,
    1e19,
    2.0**63,
    2.0**31,
    3e9,
    -3e9,
    300.7,
    -129.5,
    -1.0,
    0.9,
)


def wrapped(value: int, dtype: str) -> int:
    """Return the low bits of ``value`` as a number of ``dtype``."""
    info = np.iinfo(dtype)
    low = value & ((1 << info.bits) - 1)
    return low - (1 << info.bits) if info.min < 0 and low > info.max else low


@pytest.mark.parametrize("dtype", INTEGERS)
def test_quotients_and_remainders(dtype: str) -> None:
    info = np.iinfo(dtype)
    numbers = sorted({info.min, info.max, 0, 1, 5, 7, *([-1, -5, -7] if info.min else [])})
    for a in numbers:
        for b in numbers:
            x, y = np.array([a], dtype), np.array([b], dtype)
            low = a // b if b else 0
            towards_zero = low if not b or a % b == 0 or (a < 0) == (b < 0) else low + 1
            assert floor_divide(x, y).tolist() == [wrapped(low, dtype)], (a, b)
            assert floor_modulo(x, y).tolist() == [a - low * b if b else 0], (a, b)
            assert truncated_divide(x, y).tolist() == [wrapped(towards_zero, dtype)], (a, b)
            assert truncated_modulo(x, y).tolist() == [a - towards_zero * b if b else 0], (a, b)
            assert floor_divide(x, y).dtype == truncated_modulo(x, y).dtype == np.dtype(dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts(dtype: str) -> None:
    info = np.iinfo(dtype)
    for a in {info.min, info.max, 1, 5, *([-1, -5] if info.min else [])}:
        for places in (0, 1, info.bits - 1, info.bits, info.bits + 1, 100, *([-1, info.min] if info.min else [])):
            x, y = np.array([a], dtype), np.array([places], dtype)
            out = not 0 <= places < info.bits
            assert shift_left(x, y).tolist() == [0 if out else wrapped(a << places, dtype)], (a, places)
            assert shift_right(x, y).tolist() == [(-1 if a < 0 else 0) if out else a >> places], (a, places)


@pytest.mark.parametrize("source", ["float16", "float32", "float64"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_floats_to_integers(dtype: str, source: str) -> None:
    with np.errstate(over="ignore"):
        numbers = np.array(FLOATS).astype(source)
    wide = 64 if dtype in ("uint32", "int64", "uint64") else 32
    # Long enough for numpy's loops over vectors, and one by one.
    several = converted(np.tile(numbers, 8), np.dtype(dtype))
    for number, found in zip(np.tile(numbers, 8), several.tolist(), strict=True):
        exact = int(number) if math.isfinite(number) else None
        if exact is not None and (-(1 << (wide - 1)) <= exact < 1 << (wide - 1)):
            expected = wrapped(exact, dtype)
        elif dtype == "uint64":
            expected = exact if exact is not None and 0 <= exact < 1 << 64 else 0
        else:
            expected = wrapped(-(1 << (wide - 1)), dtype)
        assert found == expected, (number, dtype)
        assert converted(np.array(number), np.dtype(dtype)).item() == expected
