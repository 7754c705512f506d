"""Time per node of every stage on a chain of operators: it must not grow with the length of the
chain.
"""

from __future__ import annotations

import gc

import numpy as np
from common import table, timed

from relay2relax import backends, graph, relay_ir, translator
from relay2relax.relay_ir.dataflow_pattern import DFPatternCallback, is_op, rewrite, wildcard

LENGTHS = (1_000, 10_000, 100_000)
REPEATS = 3


def chain_text(length: int) -> str:
    """Return a module whose ``main`` applies ``length`` operators one after the other."""
    operators = ("nn.relu(%{0})", "tanh(%{0})", "add(%{0}, %b)", "sigmoid(%{0})")
    lines = [f"  %{i} = {operators[i % 4].format(i - 1 if i else 'x')};" for i in range(length - 1)]
    head = "def @main(%x: Tensor[(1, 4), float32], %b: Tensor[(4), float32]) {"
    return "\n".join(['#[version = "0.0.5"]', head, *lines, f"  negative(%{length - 2})", "}", ""])


class Keep(DFPatternCallback):
    """Finds one operator behind another, and leaves both as they are."""

    def __init__(self, outer: str, inner: str) -> None:
        super().__init__()
        self.pattern = is_op(outer)(is_op(inner)(wildcard()))

    def callback(self, pre: relay_ir.Expr, post: relay_ir.Expr, node_map: object) -> relay_ir.Expr:
        """Return the match."""
        return post


# Ten patterns over 100,000 nodes ask as much as a hundred over 10,000.
INNER = ("nn.relu", "tanh", "add", "sigmoid", "negative")
CALLBACKS = [Keep(outer, inner) for outer in ("tanh", "sigmoid") for inner in INNER]


def stages(length: int) -> dict[str, float]:
    """Return the seconds of each stage for a chain of ``length`` operators."""
    seconds: dict[str, float] = {}
    text = chain_text(length)
    x, b = np.ones((1, 4), np.float32), np.ones(4, np.float32)
    gc.collect()
    seconds["parse"], mod = timed(lambda: relay_ir.parse(text))
    seconds["infer"], typed = timed(lambda: relay_ir.infer_type(mod))
    seconds["10 patterns"], _ = timed(lambda: rewrite(CALLBACKS, typed["main"]))
    seconds["print"], _ = timed(typed.astext)
    seconds["lower_to_tir"], _ = timed(lambda: translator.lower_to_tir(typed))
    seconds["graph"], (found, weights) = timed(lambda: graph.from_relay(typed))
    seconds["graph to Relax"], relax = timed(lambda: graph.to_relax(found, weights))
    seconds["script"], _ = timed(relax.script)
    seconds["run Relay"], _ = timed(lambda: backends.create_executor("graph", typed).evaluate()(x, b))
    seconds["build Relax"], executable = timed(lambda: backends.build(relax, target="numpy"))
    machine = backends.VirtualMachine(executable)
    seconds["run Relax"], _ = timed(lambda: machine["main"](x, b))
    return seconds


def run() -> dict[str, dict[str, float]]:
    """Print microseconds per node and the growth from the shortest to the longest chain."""
    stages(LENGTHS[0])  # imports and caches are not what is measured
    # Each stage's best of several runs: a short chain takes milliseconds, which anything disturbs.
    runs = {length: [stages(length) for _ in range(REPEATS)] for length in LENGTHS}
    measured = {
        length: {stage: min(run[stage] for run in found) for stage in found[0]} for length, found in runs.items()
    }
    rows, results = [], {}
    for stage in measured[LENGTHS[0]]:
        per_node = {n: measured[n][stage] / n * 1e6 for n in LENGTHS}
        growth = per_node[LENGTHS[-1]] / per_node[LENGTHS[0]]
        results[stage] = {**{str(n): value for n, value in per_node.items()}, "growth": growth}
        rows.append([stage, *(f"{per_node[n]:.2f}" for n in LENGTHS), f"{growth:.2f}"])
    head = ["stage", *(f"{n:,}" for n in LENGTHS), "growth"]
    table("Microseconds per node on a chain of operators (growth: longest over shortest)", head, rows)
    return results
