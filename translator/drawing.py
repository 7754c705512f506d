"""Values that are drawn from a seed, and what is said of them."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relay2relax.core.amounts import listed
from relay2relax.core.dtype import Array, is_float, numpy_dtype
from relay2relax.core.limits import allocating
from relay2relax.core.source import to_bytes


@dataclass(frozen=True, slots=True)
class DrawnValue:
    """A tensor that was drawn: its parameter (``name.0`` in a tuple), shape and dtype.

    ``open`` are the dimensions whose extent the program leaves open, so that it was chosen here.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    open: tuple[int, ...] = ()

    def __str__(self) -> str:
        extents = [f"?={extent}" if place in self.open else f"{extent}" for place, extent in enumerate(self.shape)]
        return f"{self.name} ({', '.join(extents)}{',' if len(extents) == 1 else ''})"


@dataclass(frozen=True, slots=True)
class Drawn:
    """Which arguments nobody gave, and the seed they were drawn from."""

    seed: int
    values: tuple[DrawnValue, ...]

    def __str__(self) -> str:
        return f"drawn from seed {self.seed}: {listed(map(str, self.values))}"

    def to_json(self) -> dict[str, object]:
        """Return the same as plain values."""
        values = [
            {"name": one.name, "shape": list(one.shape), "dtype": one.dtype, "open": list(one.open)}
            for one in self.values
        ]
        return {"seed": self.seed, "values": values}


def drawn_tensor(shape: Sequence[int], dtype: str, name: str, seed: int, is_weight: bool, is_shift: bool) -> Array:
    """Return a tensor for the parameter ``name``, as ``translator.make_arguments`` draws it."""
    # They are drawn as float64 or int64.
    with allocating(math.prod(shape) * 8, lambda: f"a random value for parameter {name!r}"):
        rng = np.random.default_rng([seed, zlib.crc32(to_bytes(name))])
        # numpy draws a number, not an array, where there are no dimensions.
        return np.asarray(_drawn(shape, dtype, rng, is_weight, is_shift))


def _drawn(shape: Sequence[int], dtype: str, rng: np.random.Generator, is_weight: bool, is_shift: bool) -> Array:
    target = numpy_dtype(dtype)
    if not is_float(dtype):
        return rng.integers(0, 2 if dtype == "bool" else 4, shape).astype(target)
    if len(shape) == 1:
        return (rng.uniform(0.5, 1.5, shape) - is_shift).astype(target)
    scaled = is_weight and len(shape) > 1 and 0 not in shape
    deviation = math.sqrt(max(shape) / math.prod(shape)) if scaled else 0.1
    return (rng.standard_normal(shape) * deviation).astype(target)
