"""What the schedules know of the processor."""

from __future__ import annotations

from dataclasses import dataclass

from relay2relax.core.dtype import bits


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
