"""How fast Relay is read and typed: the recorded models, and a chain of operators as TVM prints it,
with its types.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

from chain import chain_text
from common import model_cases, table, timed

from relay2relax import relay_ir

CHAIN = 50_000
# Calls, and seconds for more of them where they are short.
LEAST = 5
BUDGET = 0.05


def _best(call: Callable[[], Any]) -> float:
    """Return the seconds of the fastest of several calls: what disturbs a run only makes it
    slower.
    """
    gc.collect()
    seconds = [timed(call)[0] for _ in range(LEAST)]
    end = time.perf_counter() + BUDGET
    while time.perf_counter() < end:
        seconds.append(timed(call)[0])
    return min(seconds)


def measure(text: str) -> dict[str, float]:
    """Return megabytes of text and of JSON read per second, and calls typed per second, for a
    module's text.
    """
    mod = relay_ir.parse(text)
    typed = relay_ir.infer_type(mod)
    printed = typed.astext()
    document = relay_ir.save_json(typed)
    calls = sum(isinstance(expr, relay_ir.Call) for expr in typed.types)
    return {
        "text bytes": len(printed),
        "text MB/s": len(printed) / 1e6 / _best(lambda: relay_ir.parse(printed)),
        "JSON bytes": len(document),
        "JSON MB/s": len(document) / 1e6 / _best(lambda: relay_ir.load_json(document)),
        "calls": calls,
        "calls/s typed": calls / _best(lambda: relay_ir.infer_type(mod)),
    }


def run() -> dict[str, dict[str, float]]:
    """Print a line per model and one for the chain."""
    texts = {case.name: case.text for case in model_cases()} | {f"chain of {CHAIN:,}": chain_text(CHAIN)}
    results = {name: measure(text) for name, text in texts.items()}
    rows = [
        [name, *(f"{value:,.0f}" if value >= 100 else f"{value:.1f}" for value in found.values())]
        for name, found in results.items()
    ]
    table("Reading and typing, with types in the text", ["model", *next(iter(results.values()))], rows)
    return results
