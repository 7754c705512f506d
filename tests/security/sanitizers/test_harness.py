"""The harness of the sanitizers sees what it is there to see, and goes on behind it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sanitizers import Action, findings

from relay2relax.backends.c.loading import load
from relay2relax.backends.c.toolchain import compile_object
from relay2relax.backends.c.unit import Unit
from relay2relax.core.errors import ExecutionError

pytestmark = pytest.mark.compiler
FAULTS = r"""
#include <stdint.h>
#include <stdlib.h>
#define SEEN __attribute__((visibility("default"), noinline))
SEEN int r2r_inside(int64_t i) {
  int* volatile a = malloc(4 * sizeof *a);
  a[0] = a[1] = a[2] = a[3] = 1;
  int x = a[i];
  free(a);
  return x;
}
SEEN int r2r_shifted(int64_t i) { return 1 << (int)i; }
SEEN int r2r_divided(int64_t i) { return 7 / (int)i; }
SEEN int r2r_ended(int64_t i) { if (i) __builtin_trap(); return 0; }
"""


def faults() -> Iterator[Action]:
    library = load(compile_object([Unit(FAULTS)]))

    def call(name: str, number: int) -> Callable[[], object]:
        return lambda: library[name](ctypes.c_int64(number))

    def refused() -> None:
        raise ExecutionError("what is refused is no fault")

    def foreign() -> None:
        raise KeyError("foreign")

    for name, good, bad in [("inside", 3, 4), ("shifted", 31, 32), ("divided", 1, 0), ("ended", 0, 1)]:
        yield f"{name} {good}", call(f"r2r_{name}", good)
        yield f"{name} {bad}", call(f"r2r_{name}", bad)
    yield "refused", refused
    yield "foreign", foreign
    yield "inside 0", call("r2r_inside", 0)


@pytest.mark.sweep(every=2)
def test_faults_are_found(tmp_path: Path) -> None:
    found = findings(Path(__file__), "faults", [], tmp_path, seconds=120)
    assert [one.name for one in found] == ["inside 4", "shifted 32", "divided 0", "ended 1", "foreign"]
    words = ["heap-buffer-overflow", "shift exponent 32", "division by zero", "", "KeyError: 'foreign'"]
    assert all(word in one.report for word, one in zip(words, found, strict=True)), list(map(str, found))
