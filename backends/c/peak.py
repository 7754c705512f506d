"""What this machine was measured to do: fused multiply-adds and memory traffic of small C kernels,
on all threads at once.

The kernels go through the compiler, flags and cache of the C backend, so they use the same
instructions as its code.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from relay2relax.backends.c.loading import load
from relay2relax.backends.c.toolchain import compile_object, find_compiler
from relay2relax.backends.c.unit import Unit
from relay2relax.backends.threads import thread_count

# Threads run for so long, in stretches of at least so long.
_SECONDS = 0.5
_STRETCH = 0.002
_SOURCE = r"""
#include <stdint.h>
typedef float vector __attribute__((vector_size(WIDTH)));
/* So many rounds of independent multiply-adds; what comes out is stored, so that nothing is left out. */
void multiply_add(int64_t rounds, float* out) {
  vector sums[COUNT], x = {}, y = {};
  x += 0.999f; y += 0.001f;
  for (int j = 0; j < COUNT; ++j) sums[j] = y * (float)j;
  for (int64_t i = 0; i < rounds; ++i)
#pragma GCC unroll 32
    for (int j = 0; j < COUNT; ++j) sums[j] = sums[j] * x + y;
  for (int j = 0; j < COUNT; ++j) *(vector*)(out + j * WIDTH / 4) = sums[j];
}
/* Read one array and write another, so many times. */
void stream(int64_t rounds, int64_t count, const float* restrict from, float* restrict to) {
  for (int64_t i = 0; i < rounds; ++i) {
    for (int64_t j = 0; j < count; ++j) to[j] = from[j] * 2.0f + 1.0f;
    __asm__ volatile("" ::: "memory");
  }
}
"""


def _accumulators() -> int:
    """Return how many sums stay in registers beside two operands: more than multiply-adds that are
    under way.
    """
    return find_compiler().machine.registers * 3 // 4


@lru_cache(maxsize=None)
def _library() -> ctypes.CDLL:
    width = find_compiler().machine.vector_bytes
    source = _SOURCE.replace("WIDTH", str(width)).replace("COUNT", str(_accumulators()))
    # The backend hides what it does not export.
    exported = source.replace("void ", '__attribute__((visibility("default"))) void ')
    return load(compile_object([Unit(exported)]))


def _rate(kernel: Callable[[int, int], None], per_round: float) -> float:
    """Return ``per_round`` times the rounds per second of ``kernel(thread, rounds)`` on all threads
    at once.

    Each thread's best stretch counts, so that what else runs on the machine disturbs little.
    """
    best = [0.0] * thread_count()

    def work(thread: int) -> None:
        rounds, seconds, end = 1, 0.0, time.perf_counter() + _SECONDS
        while (start := time.perf_counter()) < end or seconds < _STRETCH:
            kernel(thread, rounds)
            seconds = time.perf_counter() - start
            best[thread] = max(best[thread], rounds / seconds)
            rounds *= 2 if seconds < _STRETCH else 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(best))]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return sum(best) * per_round


@lru_cache(maxsize=None)
def peak_flops() -> float:
    """Return the floating-point operations per second of multiply-adds in registers, each of which
    counts as two, on as many threads as a module uses.

    Measuring takes half a second. Raises CompilerError where there is no compiler.
    """
    library, width = _library(), find_compiler().machine.vector_bytes
    count = _accumulators()
    storage = np.zeros((thread_count(), 2 * count * width // 4), np.float32)
    # Vectors are stored at multiples of their size.
    addresses = [row.ctypes.data + -row.ctypes.data % width for row in storage]

    def kernel(thread: int, rounds: int) -> None:
        library.multiply_add(ctypes.c_int64(rounds), ctypes.c_void_p(addresses[thread]))

    return _rate(kernel, 2 * count * width / 4)


@lru_cache(maxsize=None)
def bandwidth(size: int) -> float:
    """Return the bytes per second read and written where all threads together read one half of
    ``size`` bytes, and write the other, again and again: from a cache where they fit.

    Measuring takes half a second. Raises CompilerError where there is no compiler.
    """
    library, threads = _library(), thread_count()
    count = size // 8 // threads
    arrays = np.ones((threads, 2, count), np.float32)

    def kernel(thread: int, rounds: int) -> None:
        source, target = (ctypes.c_void_p(one.ctypes.data) for one in arrays[thread])
        library.stream(ctypes.c_int64(rounds), ctypes.c_int64(count), source, target)

    return _rate(kernel, 8.0 * count)
