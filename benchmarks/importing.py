"""Beside apache-tvm: translating and printing against its ONNX importer, building C against its default build.

The same models: recorded ones in Relay for us, exported as ONNX for the importer.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from collections.abc import Iterator
from typing import Any

from common import Case, model_cases, table, timed
from speed import BUILD_LIMIT

from relay2relax import backends, relay_ir, translator
from relay2relax.core.walk import post_order
from relay2relax.relay_ir.expr import children


@contextlib.contextmanager
def _nothing_compiled() -> Iterator[None]:
    """Let the C compiler be asked anew, as on the first day."""
    with tempfile.TemporaryDirectory() as folder:
        before = os.environ.get("RELAY2RELAX_CACHE")
        os.environ["RELAY2RELAX_CACHE"] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ["RELAY2RELAX_CACHE"]
            else:
                os.environ["RELAY2RELAX_CACHE"] = before


def operators(mod: relay_ir.IRModule) -> int:
    """Return how many calls ``main`` makes."""
    return sum(isinstance(node, relay_ir.Call) for node in post_order([mod["main"].body], children))


def measure(case: Case) -> dict[str, float | None]:
    """Return the seconds of one model, per thousand operators where it is translated."""
    import tvm
    from onnx_export import export
    from tvm import relax as tvm_relax
    from tvm.relax.frontend.onnx import from_onnx

    mod = relay_ir.parse(case.text)
    typed = relay_ir.infer_type(mod)
    count = operators(typed) / 1000
    model = export(typed, [a if w else None for a, w in zip(case.arguments, case.weights, strict=True)])

    def ours() -> str:
        return translator.via_graph(relay_ir.infer_type(mod)).script()

    def theirs() -> str:
        return str(from_onnx(model, keep_params_in_input=True).script())

    seconds: dict[str, float | None] = {
        "operators": count * 1000,
        "translate and print": min(timed(ours)[0] for _ in range(3)) / count,
        "import and print": min(timed(theirs)[0] for _ in range(3)) / count,
    }
    relax = translator.via_graph(typed)
    with _nothing_compiled():
        seconds["build c"] = timed(lambda: backends.build(relax, target="c"))[0]
    module: Any = tvm.script.from_source(relax.script())
    built: list[float] = []
    builder = threading.Thread(
        target=lambda: built.append(timed(lambda: tvm_relax.build(module, target="llvm"))[0]), daemon=True
    )
    builder.start()
    builder.join(BUILD_LIMIT)
    seconds["build llvm"] = built[0] if built else None
    return seconds


def run() -> dict[str, dict[str, float | None]]:
    """Print seconds per thousand operators, and seconds of building, ours and apache-tvm's."""
    rows, results = [], {}
    for case in model_cases():
        found = results[case.name] = measure(case)
        rows.append([case.name, *("" if value is None else f"{value:.3g}" for value in found.values())])
    head = ["model", "operators", "ours s/1000", "tvm s/1000", "build c s", "build llvm s"]
    if rows:
        table(f"Translating, and building (apache-tvm's where it takes less than {BUILD_LIMIT:.0f} s)", head, rows)
    return results
