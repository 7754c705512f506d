"""What the schedules know of the processor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from relay2relax.core.dtype import bits

LEAST = "x86-64"
_SECOND = ("popcnt", "sse3", "ssse3", "sse4.1", "sse4.2")
_THIRD = (*_SECOND, "avx", "avx2", "bmi", "bmi2", "fma")
# The levels of x86-64, the least first, and those of a level's features that all compilers can ask
# the processor for; no processor has them without the others.
LEVELS: Mapping[str, tuple[str, ...]] = {
    LEAST: (),
    "x86-64-v2": _SECOND,
    "x86-64-v3": _THIRD,
    "x86-64-v4": (*_THIRD, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}


@dataclass(frozen=True, slots=True)
class Machine:
    """Bytes of a vector register, how many there are, and the work that is worth a second thread
    (in operations on memory; None where nothing is).
    """

    vector_bytes: int = 32
    registers: int = 16
    parallel_work: int | None = 1 << 17

    def lanes(self, dtype: str) -> int:
        """Return how many elements one vector register holds."""
        return max(1, self.vector_bytes * 8 // max(bits(dtype), 8))
