"""How much of the tests runs, and from which seed they draw.

``RELAY2RELAX_SWEEP`` says how much:

* ``sample``, as when nothing is said (``make test``): of the tests that are marked ``sweep`` one in
  so many, and fewer of the cases, recorded or not, that one test takes;
* ``all`` (``make test-all``): every test, one in so many of the recorded cases;
* ``full``: every recorded case, too, which takes hours.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeVar

LEVEL = os.environ.get("RELAY2RELAX_SWEEP", "sample")
if LEVEL not in ("sample", "all", "full"):
    raise ValueError(f"RELAY2RELAX_SWEEP is {LEVEL!r}, not sample, all or full")
FULL = LEVEL == "full"
# Of the cases that ``all`` takes, a sample takes one in so many.
SAMPLE = 72
# Operators in a row: many times as many as a stack of calls holds.
ROW = 5_000 if LEVEL == "sample" else 100_000
# As many where more than one thing is done with each.
CHAIN = min(ROW, 20_000)
# What was left out in this process: how many, by what it was.
left_out: Counter[str] = Counter()
# Set where examples are drawn anew.
seed: int | None = None

_Case = TypeVar("_Case")


def every(step: int) -> int:
    """Return how many cases stand for one, where ``all`` takes one in ``step``."""
    return 1 if FULL else step if LEVEL == "all" else step * SAMPLE


def sampled(cases: Iterable[_Case], step: int) -> Iterator[_Case]:
    """Yield one case in ``every(step)``; what is left out is counted."""
    step = every(step)
    for number, case in enumerate(cases):
        if number % step == 0:
            yield case
        else:
            left_out["cases"] += 1


def examples(count: int) -> int:
    """Return how many examples to draw; all tests, and those that draw anew, draw ``count``."""
    return count // 5 if LEVEL == "sample" and seed is None else count


def seeds(count: int) -> range:
    """Return seeds of random draws: the first ``count``, or others where it is drawn anew."""
    begin = 0 if seed is None else seed % 2**31
    return range(begin, begin + count)
