"""What is found in kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum


class Fault(Enum):
    """A kind of mistake of a kernel; the value says it in a sentence."""

    RACE = "two threads access one address with no barrier between them, and one writes"
    BARRIER = "some threads of a block do not come to a barrier"
    UNWRITTEN = "what is read was never written"
    OUTSIDE = "an address is outside of its buffer"
    SHUFFLE = "a value is taken from a thread that does not run"
    FRAGMENT = "some threads of a warp do not come to what it does as one"
    THREADS = "a block has more threads than a GPU has for one"
    SHARED = "a block has more shared memory than a GPU has for one"
    MISSING = "an element of a result is never written"


@dataclass(frozen=True, slots=True)
class Finding:
    """A mistake: of which kind, about what, in which line of the printed PrimFunc (from 1), and how
    often.
    """

    fault: Fault
    about: str
    line: int
    text: str
    times: int

    def __str__(self) -> str:
        """Return the mistake as one line says it."""
        return f"{self.line}: {self.fault.value} ({self.about}): {self.text}"


@dataclass(slots=True)
class Traffic:
    """Accesses to one buffer: ``sectors`` of 32 bytes that the warps' instructions move in global
    memory, and how many would do; ``conflicts``: passes over shared memory beyond the first.
    """

    bytes: int = 0
    sectors: int = 0
    ideal: int = 0
    passes: int = 0
    conflicts: int = 0


@dataclass(slots=True)
class KernelReport:
    """What a kernel does and what is wrong with it.

    ``blocks`` of ``threads`` each, of which so many were run; numbers are those of the blocks that
    were.
    """

    name: str
    blocks: int
    threads: int
    run: int = 0
    shared_bytes: int = 0
    flops: int = 0
    barriers: int = 0
    traffic: dict[str, Traffic] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    @property
    def coalescing(self) -> float:
        """The sectors of global memory that are moved, by how many would do."""
        ideal = sum(one.ideal for one in self.traffic.values())
        return sum(one.sectors for one in self.traffic.values()) / ideal if ideal else 1.0

    @property
    def bank_conflicts(self) -> int:
        """Passes over shared memory that would not be needed were no two words in one bank."""
        return sum(one.conflicts for one in self.traffic.values())

    @property
    def global_bytes(self) -> int:
        """Bytes that are moved between global memory and the threads."""
        return 32 * sum(one.sectors for one in self.traffic.values())


def faults(reports: Sequence[KernelReport]) -> list[Finding]:
    """Return all findings of ``reports``."""
    return [finding for report in reports for finding in report.findings]
