"""Random calls of operators: what an example is, and how arrays, extents and dtypes of one are
drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from relay2relax.core.dtype import is_float, is_unsigned, numpy_dtype

T = TypeVar("T")
FLOATS = ("float32", "float16", "bfloat16", "float64")
INTS = ("int32", "int8", "int16", "int64", "uint8", "uint16", "uint32", "uint64")
NUMBERS = (*FLOATS, *INTS)
ALL = (*NUMBERS, "bool")
PLACES = ("int32", "int64")

# Attributes, and arguments: arrays, tuples of arrays, and tuples of numbers that are shapes.
Call: TypeAlias = "tuple[dict[str, Any], list[Any]]"


class Draw:
    """Draws what a call needs; all that is drawn follows from the seed."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def number(self, low: int, high: int) -> int:
        """Return an integer from ``low`` to ``high``, both inclusive."""
        return int(self.rng.integers(low, high + 1))

    def flag(self) -> bool:
        return bool(self.rng.integers(0, 2))

    def pick(self, options: Sequence[T]) -> T:
        return options[int(self.rng.integers(0, len(options)))]

    def extent(self, low: int = 0) -> int:
        """Return an extent; 0 and 1 are not rare."""
        return max(low, self.pick((0, 1, 1, 2, 3, 3, 4, 5, 9, 17)))

    def shape(self, low: int = 0, high: int = 4, least: int = 0) -> tuple[int, ...]:
        """Return a shape of a rank from ``low`` to ``high``, with extents from ``least`` on."""
        return tuple(self.extent(least) for _ in range(self.number(low, high)))

    def dtype(self, options: Sequence[str] = ALL) -> str:
        """Return a dtype; the first is the most frequent."""
        return options[0] if self.number(0, 2) == 0 else self.pick(options)

    def axis(self, rank: int) -> int:
        return self.number(-rank, rank - 1)

    def axes(self, rank: int, least: int = 0) -> tuple[int, ...]:
        """Return distinct axes, some counted from the end."""
        count = self.number(min(least, rank), rank)
        chosen = self.rng.permutation(rank)[:count]
        return tuple(int(axis) - (rank if self.flag() else 0) for axis in chosen)

    def array(
        self, shape: Sequence[int], dtype: str, low: float = -2, high: float = 2, special: bool = False
    ) -> np.ndarray:
        """Return numbers between ``low`` and ``high``; floats are multiples of 1/8, so that small
        sums are exact.

        With ``special`` some floats are NaN, infinite or a negative zero, and integers are of their
        whole range.
        """
        real = numpy_dtype(dtype)
        if dtype == "bool":
            return self.rng.integers(0, 2, shape).astype(np.bool_)
        if is_float(dtype):
            values = self.rng.integers(int(np.ceil(low * 8)), int(np.floor(high * 8)) + 1, shape) / 8
            if special:
                odd = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 60000.0])
                values = np.where(self.rng.random(shape) < 0.2, self.rng.choice(odd, shape), values)
            return np.asarray(values).astype(real)
        if special:
            limits = np.iinfo(dtype)
            return np.asarray(self.rng.integers(limits.min, limits.max, shape, real, endpoint=True))
        low = max(low, 0) if is_unsigned(dtype) else low
        return np.asarray(self.rng.integers(int(np.ceil(low)), int(np.floor(high)) + 1, shape)).astype(real)

    def distinct(self, shape: Sequence[int], dtype: str) -> np.ndarray:
        """Return numbers no two of which are equal."""
        count = int(np.prod(shape))
        return np.asarray(self.rng.permutation(count).reshape(shape)).astype(numpy_dtype(dtype))

    def places(self, shape: Sequence[int], extent: int, dtype: str = "", negative: bool = False) -> np.ndarray:
        """Return places along an axis of ``extent``."""
        low = -extent if negative else 0
        return np.asarray(self.rng.integers(low, extent, shape)).astype(dtype or self.dtype(PLACES))

    def broadcast(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return a shape that broadcasts to ``shape``: leading extents dropped, others made 1."""
        kept = shape[self.number(0, len(shape)) if self.number(0, 2) == 0 else 0 :]
        return tuple(1 if self.number(0, 3) == 0 else extent for extent in kept)


Example: TypeAlias = Callable[[Draw], Call]
