"""``relay2relax demo``: the main job on the dynamic-batch MLP, every stage shown."""

from __future__ import annotations

import sys

from relay2relax import graph, relay_ir, translator
from relay2relax.cli import screen


def _title(text: str) -> None:
    print(f"\n=== {text} " + "=" * max(0, 100 - len(text)) + "\n")


def run() -> None:
    """Print Relay, the graph, both Relax modules and the comparison; exit 1 where they disagree."""
    workload, params = relay_ir.testing.mlp.get_workload(batch_size=relay_ir.Any())
    module = relay_ir.infer_type(relay_ir.parse(workload.astext(), "mlp_dynamic_batch.relay"))
    _title("Relay text, read and typed; `?` is the unknown batch")
    print(module)
    _title("The graph between")
    found, weights = graph.from_relay(module)
    print(graph.to_text(found))
    _title("Relax through the graph: high-level operators, one symbolic batch from input to output")
    print(graph.to_relax(found, weights).script())
    _title("Relax through TensorIR: one PrimFunc per operator")
    print(translator.lower_to_tir(module).script())
    _title("Relay and both translations, on every backend at hand")
    report = translator.compare(module, params=params, backends=translator.available_backends())
    print(screen.report_table(report))
    for note in report.notes:
        print(note)
    print(f"\n{'All programs agree.' if report.agrees else 'Some programs DISAGREE.'}")
    if not report.agrees:
        sys.exit(1)
