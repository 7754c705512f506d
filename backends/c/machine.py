"""What the schedules know of the processor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from relay2relax.core.dtype import bits

_SAID = ("level", "type", "size", "shared_cpu_list")
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
# The same of AArch64: what Linux is asked. Code for SVE is made for vectors of 256 bits, and runs
# on no others.
ARM_LEVELS: Mapping[str, tuple[str, ...]] = {
    "armv8-a": (),
    "armv8.2-a+dotprod": ("(has & HWCAP_ASIMDDP)",),
    "armv8.2-a+sve": ("(has & HWCAP_SVE)", "(prctl(PR_SVE_GET_VL) & PR_SVE_VL_LEN_MASK) == 32"),
}


@dataclass(frozen=True, slots=True)
class Machine:
    """Bytes of a vector register, how many there are, the work that is worth a second thread (in
    operations on memory; None where nothing is), the bytes of a core's first and second cache, and
    how many of the second's it gets in a cycle, those of a line, and how many before it is read
    memory is asked for; multiply-adds and loads of whole vectors that begin in a cycle, cycles
    until the sum of a multiply-add is there, and whether one reads a single number from memory for
    all lanes; how many steps of a sum the compiler writes out; the dtype of the bytes that it
    multiplies with int8, None where it has no instruction for them, and whether one adds up four
    such products; and whether convolutions may be transformed, which spreads what is not a number.
    """

    vector_bytes: int = 32
    registers: int = 16
    parallel_work: int | None = 1 << 17
    first_cache_bytes: int = 1 << 15
    cache_bytes: int = 1 << 18
    cache_bytes_per_cycle: int = 24
    line_bytes: int = 64
    ahead_bytes: int = 1 << 12
    multiply_adds: int = 2
    loads: int = 2
    latency: int = 4
    broadcasts: bool = False
    steps: int = 1
    byte: str | None = "uint8"
    fours: bool = True
    transforms: bool = True

    def lanes(self, dtype: str) -> int:
        """Return how many elements one vector register holds."""
        return max(1, self.vector_bytes * 8 // max(bits(dtype), 8))


@lru_cache(maxsize=None)
def own_caches(folder: Path = Path("/sys/devices/system/cpu/cpu0/cache")) -> tuple[int, int]:
    """Return the bytes of this machine's first and second cache of data, shared out where cores
    share them; those of ``Machine`` where the system does not say.
    """
    first, second = Machine().first_cache_bytes, Machine().cache_bytes
    for one in folder.glob("index*"):
        try:
            level, kind, size, cores = ((one / name).read_text().strip() for name in _SAID)
        except OSError:
            continue
        if kind != "Instruction" and size.endswith("K"):
            found = int(size[:-1]) * 1024 // _count(cores)
            first, second = (found if level == "1" else first), (found if level == "2" else second)
    return first, second


def _count(text: str) -> int:
    """Return how many processors a list such as ``0-1,4`` names."""
    ends = [one.split("-") for one in text.split(",")]
    return sum(int(one[-1]) - int(one[0]) + 1 for one in ends)
