"""Translating and printing beside apache-tvm's ONNX importer: the same models, recorded in Relay
for us, exported as ONNX for the importer.
"""

from __future__ import annotations

import importlib.util

from common import Case, Options, model_cases, table, timed

from relay2relax import graph, relay_ir, translator
from relay2relax.core.walk import post_order
from relay2relax.relay_ir.ir.expr import children

REPEATS = 3


def operators(mod: relay_ir.IRModule) -> int:
    """Return how many calls ``main`` makes."""
    return sum(isinstance(node, relay_ir.Call) for node in post_order([mod["main"].body], children))


def measure(case: Case) -> dict[str, float]:
    """Return the seconds per thousand operators of one model, and how many it has."""
    from tvm.relax.frontend.onnx import from_onnx

    mod = relay_ir.parse(case.text)
    typed = relay_ir.infer_type(mod)
    count = operators(typed) / 1000
    triples = zip(case.names, case.arguments, case.weights, strict=True)
    weights = {name: array for name, array, is_weight in triples if is_weight}
    found, held = graph.from_relay(typed)
    model = graph.to_onnx(found, {**held, **weights})

    def ours() -> str:
        return translator.via_graph(relay_ir.infer_type(mod)).script()

    def theirs() -> str:
        return str(from_onnx(model, keep_params_in_input=True).script())

    return {
        "operators": count * 1000,
        "translate and print": min(timed(ours)[0] for _ in range(REPEATS)) / count,
        "import and print": min(timed(theirs)[0] for _ in range(REPEATS)) / count,
    }


def run(options: Options) -> dict[str, dict[str, float]]:
    """Print seconds per thousand operators, ours and apache-tvm's."""
    absent = [one for one in ("tvm", "onnx") if importlib.util.find_spec(one) is None]
    if absent:
        print(f"\nimporting: {' and '.join(absent)} not installed: section skipped")
        return {}
    results = {case.name: measure(case) for case in model_cases(options)}
    rows = [[name, *(f"{value:.3g}" for value in found.values())] for name, found in results.items()]
    if rows:
        head = ["model", "operators", "ours s/1000", "tvm s/1000"]
        table("Inferring, translating and printing, against importing ONNX and printing in apache-tvm", head, rows)
    return results
