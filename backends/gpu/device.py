"""What the schedules know of GPUs, and what a kernel's time is at least."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import running

WARP = 32
DEFAULT_ARCH = "sm_80"


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU: of one multiprocessor the threads, blocks, registers and bytes of shared memory that
    are on it at once; of all of them bytes and operations on float32 per second.

    ``clock`` is in cycles per second; ``block_shared`` are the bytes of shared memory that one
    block has without asking for more; ``launch`` is what a kernel takes at least (decision 144).
    """

    arch: str
    name: str
    multiprocessors: int
    threads: int
    blocks: int
    shared: int
    bandwidth: float
    flops: float
    clock: float
    registers: int = 65536
    block_shared: int = 48 * 1024
    launch: float = 0.8e-6

    def multiplies(self, dtype: str) -> bool:
        """Whether its tensor cores multiply matrices of ``dtype`` with sums of 32 bits."""
        return dtype == "float16" or (dtype == "bfloat16" and int(self.arch.removeprefix("sm_")) >= 80)

    def occupancy(self, threads: int, registers: int, shared: int) -> float:
        """Return the part of a multiprocessor's threads that blocks of so many ``threads`` fill.

        ``registers`` are those of one thread, which come in groups of eight, a warp's in groups of
        256; ``shared`` is the shared memory of a block.
        """
        warps = -(-threads // WARP)
        per_warp = -(-max(registers, 1) * WARP // 256) * 256
        by_registers = self.registers // per_warp // warps
        by_shared = self.shared // shared if shared else self.blocks
        resident = min(self.blocks, self.threads // (warps * WARP), by_registers, by_shared)
        return resident * warps * WARP / self.threads

    def least_time(self, moved: float, operations: float) -> float:
        """Return the seconds that a kernel takes at least: its memory traffic or its arithmetic,
        whichever is longer.
        """
        return max(moved / self.bandwidth, operations / self.flops)

    def kernel_time(self, blocks: int, moved: float, operations: float, passes: float) -> float:
        """Return the seconds that a launch takes at least: its traffic, its arithmetic or its
        ``passes`` over shared memory, whichever is longest, on the multiprocessors that have a
        block, and what any launch takes.
        """
        busy = blocks / (-(-blocks // self.multiprocessors) * self.multiprocessors)
        shared = passes / (self.multiprocessors * self.clock)
        return max(self.least_time(moved, operations), shared) / busy + self.launch


# From the vendor's data sheets of the cards that are named.
DEVICES: Mapping[str, Device] = {
    device.arch: device
    for device in (
        Device("sm_70", "V100", 80, 2048, 32, 96 * 1024, 900e9, 15.7e12, 1.53e9),
        Device("sm_75", "T4", 40, 1024, 16, 64 * 1024, 320e9, 8.1e12, 1.59e9),
        Device("sm_80", "A100", 108, 2048, 32, 164 * 1024, 1555e9, 19.5e12, 1.41e9),
        Device("sm_86", "A10", 72, 1536, 16, 100 * 1024, 600e9, 31.2e12, 1.695e9),
        Device("sm_89", "L4", 58, 1536, 24, 100 * 1024, 300e9, 30.3e12, 2.04e9),
        Device("sm_90", "H100", 132, 2048, 32, 228 * 1024, 3350e9, 66.9e12, 1.98e9),
    )
}


def device_of(arch: str) -> Device:
    """Return the device that stands for ``arch``.

    Raises UnsupportedError for an architecture that is not in the table.
    """
    found = DEVICES.get(arch)
    if found is None:
        raise UnsupportedError(
            mistake(running.NOT_ON_BACKEND, what=f"the architecture {arch!r}", backend=f"cuda ({', '.join(DEVICES)})")
        )
    return found
