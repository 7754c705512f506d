"""Time per node of each pass over Relay on chains of operators, and of a hundred patterns: it must
not grow with the length of the chain.

Seconds are those of the processor: passes run in one thread, and what else the machine does is not
what is measured.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

from chain import Keep, chain_text
from common import table

from relay2relax import relay_ir
from relay2relax.relay_ir import pipeline
from relay2relax.relay_ir.dataflow_pattern import rewrite

LENGTHS = (1_000, 10_000, 100_000)
REPEATS = 3
OUTER = ("nn.relu", "tanh", "add", "sigmoid", "negative", "exp", "log", "abs", "sqrt", "erf")
# A hundred patterns over 10,000 nodes, as tables of forks have them.
PATTERNS = [Keep(outer, inner) for outer in OUTER for inner in OUTER]
MOST_NODES = 10_000
# Passes that need more than a module, or are several: what stands for them alone is measured.
LEFT_OUT = ("FirstOrderGradient",)


def measured() -> dict[str, Callable[[relay_ir.IRModule], object]]:
    """Return what is measured by name: each pass that a text can name, with its options."""
    texts = {one.before for one in pipeline.TODAY.values() if one.before and "," not in one.before}
    passes = {text.partition("(")[0]: pipeline.read(text)[0] for text in texts}
    found: dict[str, Callable[[relay_ir.IRModule], object]] = {
        name: one for name, one in sorted(passes.items()) if name not in LEFT_OUT
    }
    fused = pipeline.read("FuseOps")[0]
    defuse = pipeline.read("DefuseOps")[0]
    found["FuseOps, DefuseOps"] = lambda mod: defuse(fused(mod))
    return found


def run() -> dict[str, dict[str, Any]]:
    """Print microseconds per node and the growth from the shortest to the longest chain."""
    modules = {length: relay_ir.infer_type(relay_ir.parse(chain_text(length))) for length in LENGTHS}
    rows, results = [], {}
    for name, one in measured().items():
        one(modules[LENGTHS[0]])  # imports and caches are not what is measured
        per_node = {length: _best(one, modules[length]) / length * 1e6 for length in LENGTHS}
        growth = per_node[LENGTHS[-1]] / per_node[LENGTHS[0]]
        results[name] = {**{str(n): value for n, value in per_node.items()}, "growth": growth}
        rows.append([name, *(f"{per_node[n]:.2f}" for n in LENGTHS), f"{growth:.2f}"])
    head = ["pass", *(f"{n:,}" for n in LENGTHS), "growth"]
    table("Microseconds per node of passes over Relay (growth: longest over shortest)", head, rows)
    seconds = _best(lambda mod: rewrite(PATTERNS, mod["main"]), modules[MOST_NODES])
    print(f"{len(PATTERNS)} patterns over {MOST_NODES:,} nodes: {seconds:.2f} s")
    return {"passes": results, "patterns": {"count": len(PATTERNS), "nodes": MOST_NODES, "seconds": seconds}}


def _best(one: Callable[[relay_ir.IRModule], object], mod: relay_ir.IRModule) -> float:
    """Return the processor's seconds of the best of several runs: caches are shared with others."""
    found = []
    for _ in range(REPEATS):
        gc.collect()
        start = time.process_time()
        one(mod)
        found.append(time.process_time() - start)
    return min(found)
