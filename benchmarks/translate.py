"""Seconds to translate each recorded model, both ways, from its parsed module."""

from __future__ import annotations

from common import Options, model_cases, table, timed, warm_up

from relay2relax import relay_ir, translator


def run(options: Options) -> dict[str, dict[str, float]]:
    """Print seconds per model for reading, inference and both translators."""
    warm_up()
    rows, results = [], {}
    for case in model_cases(options):
        reading, mod = timed(lambda: relay_ir.parse(case.text))  # noqa: B023  (called at once)
        inference, typed = timed(lambda: relay_ir.infer_type(mod))  # noqa: B023
        lowering, _ = timed(lambda: translator.lower_to_tir(typed))  # noqa: B023
        through, _ = timed(lambda: translator.via_graph(typed))  # noqa: B023
        results[case.name] = {
            "parse": reading,
            "infer": inference,
            "lower_to_tir": lowering,
            "via_graph": through,
        }
        rows.append([case.name, *(f"{value:.3f}" for value in results[case.name].values())])
    if rows:
        table("Seconds per model", ["model", "parse", "infer", "lower_to_tir", "via_graph"], rows)
    return results
