"""Running passes one after the other, and what each of them changed."""

from __future__ import annotations

import difflib
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from relay2relax.core.passes import Pass
from relay2relax.core.progress import each
from relay2relax.relay_ir.analysis import list_op_freqs
from relay2relax.relay_ir.ir.module import IRModule


@dataclass(frozen=True, slots=True)
class Step:
    """A pass that ran: its name, the module before and after it, and how many seconds it took."""

    name: str
    before: IRModule
    after: IRModule
    seconds: float

    def operators(self) -> dict[str, tuple[int, int]]:
        """Return the operators whose number of calls changed: how many there were, and are."""
        old, new = Counter(list_op_freqs(self.before)), Counter(list_op_freqs(self.after))
        return {name: (old[name], new[name]) for name in sorted(old | new) if old[name] != new[name]}

    def diff(self) -> list[str]:
        """Return what the pass changed of the text, as lines of a unified diff; none where nothing.

        Types that are inferred and the values of constants are not shown.
        """
        old, new = (str(replace(mod, types={})).splitlines() for mod in (self.before, self.after))
        return list(difflib.unified_diff(old, new, f"before {self.name}", f"after {self.name}", lineterm=""))


def apply(mod: IRModule, passes: Sequence[Pass[IRModule]]) -> list[Step]:
    """Return what each of ``passes`` made of what the one before it made, ``mod`` first.

    Every pass runs, whatever its level. Raises what the passes raise.
    """
    steps = []
    with each("passes", passes) as rest:
        for one in rest:
            start = time.perf_counter()
            made = one(mod)
            steps.append(Step(one.info.name, mod, made, time.perf_counter() - start))
            mod = made
    return steps
