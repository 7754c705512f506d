"""Measure how long it takes to import the public packages, and fail where that is too long.

Each is imported in a process of its own, and all of them in one. What counts is the best of
several runs, in seconds of processor time, so that a loaded machine does not fail; there are more
than one only where the first takes too long.
"""

from __future__ import annotations

import math
import subprocess
import sys

from house import PACKAGE, packages

MOST_SECONDS = 0.35
RUNS = 7
_CHILD = "import time; begin = time.process_time(); import {}; print(time.process_time() - begin)"


def seconds(names: list[str]) -> float:
    """Return the processor time of importing ``names`` in a new process: the best of several, or
    the first that is short enough.
    """
    command = [sys.executable, "-c", _CHILD.format(", ".join(names))]
    best = math.inf
    for _ in range(RUNS):
        best = min(best, float(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
        if best <= MOST_SECONDS:
            break
    return best


def main() -> int:
    """Print the table; return 1 where an import takes too long."""
    names = [PACKAGE, *(f"{PACKAGE}.{one}" for one in packages() if one != PACKAGE)]
    found = {name: seconds([name]) for name in names} | {"all of them": seconds(names)}
    for name, value in found.items():
        print(f"{name:32}{value:7.3f} s")
    late = [name for name, value in found.items() if value > MOST_SECONDS]
    if late:
        print(f"more than {MOST_SECONDS} s: {', '.join(late)}")
    return int(bool(late))


if __name__ == "__main__":
    sys.exit(main())
