"""How warps access memory: sectors of global memory, banks of shared memory.

A warp's instruction moves whole sectors of 32 bytes between global memory and the cache. Shared
memory has 32 banks of four bytes each: words that differ and are in one bank take a pass each.
Wider elements are taken by half or a quarter of a warp at a time.
"""

from __future__ import annotations

import numpy as np

from relay2relax.backends.numpy.threads.findings import Traffic
from relay2relax.backends.numpy.threads.memory import Numbers

WARP = 32
_SECTOR = 32
_BANKS = 32
_WORD = 4
_WIDEST = 16


def instructions(places: Numbers, itemsize: int) -> list[tuple[Numbers, int]]:
    """Return the accesses of threads (rows) to the elements of a vector (columns), as machine
    instructions make them: the first element of each thread and how many follow it.

    A vector is one access where its elements lie side by side, begin at a multiple of its size, and
    are at most 16 bytes.
    """
    count = places.shape[1]
    if count == 1:
        return [(places[:, 0], 1)]
    side_by_side = bool((np.diff(places, axis=1) == 1).all())
    width = max((one for one in (8, 4, 2) if count % one == 0 and one * itemsize <= _WIDEST), default=1)
    while width > 1 and not (side_by_side and bool((places[:, 0] % width == 0).all())):
        width //= 2
    return [(places[:, begin], width) for begin in range(0, count, width)]


def count_global(traffic: Traffic, first: Numbers, width: int, itemsize: int, warps: Numbers) -> None:
    """Count an instruction on global memory, for ``width`` elements of each thread of ``warps``."""
    size = width * itemsize
    begin = first * itemsize
    traffic.bytes += size * len(first)
    most = int(begin.max()) + size
    lines = most // _SECTOR + 1
    if size <= _SECTOR and bool((begin % size == 0).all()):
        sectors = np.unique(warps * lines + begin // _SECTOR)
    else:
        ends = np.concatenate([begin // _SECTOR, (begin + size - 1) // _SECTOR])
        sectors = np.unique(np.concatenate([warps, warps]) * lines + ends)
    distinct = np.unique(warps * most + begin)
    per_warp = np.unique(distinct // most, return_counts=True)[1] * size
    traffic.sectors += len(sectors)
    traffic.ideal += int(np.sum(-(-per_warp // _SECTOR)))


def count_shared(traffic: Traffic, first: Numbers, width: int, itemsize: int, lanes: Numbers, warps: Numbers) -> None:
    """Count an instruction on shared memory; ``lanes`` are the threads' places in their warps."""
    size = width * itemsize
    traffic.bytes += size * len(first)
    together = WARP * _WORD // max(size, _WORD)
    groups = warps * (WARP // together) + lanes // together
    words = max(size // _WORD, 1)
    begin = first * itemsize // _WORD
    touched = (begin[:, None] + np.arange(words)).reshape(-1)
    owners = np.repeat(groups, words)
    most = int(touched.max()) + 1
    keys = np.unique(owners * most + touched)
    banks = keys // most * _BANKS + keys % most % _BANKS
    used, times = np.unique(banks, return_counts=True)
    group = used // _BANKS
    starts = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
    passes = np.maximum.reduceat(times, starts)
    traffic.passes += int(passes.sum())
    traffic.conflicts += int((passes - 1).sum())
