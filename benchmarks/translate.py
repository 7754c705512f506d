"""Seconds to translate each recorded model, both ways, from its parsed module, and to convert it
with a schedule.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from common import Case, Options, model_cases, table, timed, warm_up

from relay2relax import backends, relay_ir, translator

# A name that no program has.
_NO_COMPILER = "no-such-compiler"


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


def run_converting(options: Options) -> dict[str, dict[str, float]]:
    """Print seconds per model for converting with a schedule, beside those of a build for C.

    Both begin with a typed Relay module and the values of its weights, and both end with packed
    weights. Without a C compiler the script is made for another machine, all else is the same.
    """
    warm_up()
    results = {case.name: _measured(case) for case in model_cases(options)}
    rows = [
        [name, *(f"{value:.2f}" for value in found.values()), f"{found['convert'] / found['build']:.2f}"]
        for name, found in results.items()
    ]
    if rows:
        head = ["model", "C build", "convert", "without compiler", "convert / build"]
        table("Seconds to convert with a schedule and packed weights, and to build for C", head, rows)
    return results


def _measured(case: Case) -> dict[str, float]:
    mod = relay_ir.infer_type(relay_ir.parse(case.text))
    named = zip(case.names, case.arguments, case.weights, strict=True)
    values = {name: value for name, value, weight in named if weight}
    with tempfile.TemporaryDirectory() as folder, _environment("RELAY2RELAX_CACHE", folder):
        build, _ = timed(lambda: backends.build(translator.via_graph(mod, values), target="c"))
    convert, _ = timed(lambda: _converted(mod, values))
    with _environment("CC", _NO_COMPILER):
        without, _ = timed(lambda: _converted(mod, values))
    return {"build": build, "convert": convert, "without compiler": without}


def _converted(mod: relay_ir.IRModule, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return what the scheduled ``main`` takes in place of the weights."""
    program = translator.via_graph(mod, weights=values, schedule="cpu")
    weights = [values[param.name] for param in mod["main"].params if param.name in values]
    return backends.transform_params(program, weights)


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
