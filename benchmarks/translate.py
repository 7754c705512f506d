"""Seconds to translate each recorded model, both ways, from its parsed module; beside apache-tvm's
ONNX importer, which gets the same models exported as ONNX; and to convert it with a schedule. At
the end a folder of models, migrated.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from common import Case, Options, model_cases, table, timed, warm_up
from golden_folder import golden_root

from relay2relax import backends, graph, relay_ir, translator
from relay2relax.core.walk import post_order
from relay2relax.relay_ir.ir.expr import children

# A name that no program has.
_NO_COMPILER = "no-such-compiler"
_REPEATS = 3
# Small and middling models; each stands there so many times, under other names.
FOLDER_MODELS = ("mlp", "mlp_dynamic_batch", "dqn", "dcgan", "squeezenet")
FOLDER_COPIES = 3


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


def operators(mod: relay_ir.IRModule) -> int:
    """Return how many calls ``main`` makes."""
    return sum(isinstance(node, relay_ir.Call) for node in post_order([mod["main"].body], children))


def compared(case: Case) -> dict[str, float]:
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
        "translate and print": min(timed(ours)[0] for _ in range(_REPEATS)) / count,
        "import and print": min(timed(theirs)[0] for _ in range(_REPEATS)) / count,
    }


def run_importing(options: Options) -> dict[str, dict[str, float]]:
    """Print seconds per thousand operators, ours and apache-tvm's."""
    absent = [one for one in ("tvm", "onnx") if importlib.util.find_spec(one) is None]
    if absent:
        print(f"\nimporting: {' and '.join(absent)} not installed: section skipped")
        return {}
    results = {case.name: compared(case) for case in model_cases(options)}
    rows = [[name, *(f"{value:.3g}" for value in found.values())] for name, found in results.items()]
    if rows:
        head = ["model", "operators", "ours s/1000", "tvm s/1000"]
        table("Inferring, translating and printing, against importing ONNX and printing in apache-tvm", head, rows)
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


def run_migrating() -> dict[str, Any]:
    """Print models per minute of a loop in one process, of a loop over ``convert``, and of
    ``migrate``, and what each model costs more than in the loop over ``convert``.
    """
    root = golden_root()
    if root is None:
        print("recorded model cases are absent (RELAY2RELAX_GOLDEN): section skipped")
        return {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = _files(root, folder / "models")
        one, _ = timed(lambda: _convert(paths, folder))
        loop, _ = timed(lambda: _loop(paths, folder))
        whole, _ = timed(lambda: _command("migrate", folder / "models", "--out", folder / "migrated"))
        again, _ = timed(lambda: _command("migrate", folder / "models", "--out", folder / "migrated"))
    count = len(paths)
    seconds = {"one process": one, "loop over convert": loop, "migrate": whole, "migrate, all done before": again}
    rows = [[what, f"{value:.2f}", f"{60 * count / value:.0f}"] for what, value in seconds.items()]
    table(f"{count} models, converted and not checked", ["what", "seconds", "models per minute"], rows)
    overhead = (whole - loop) / count
    print(f"migrate beside a loop over convert: {1e3 * overhead:.0f} ms a model, {whole / loop - 1:.1%}")
    return {"models": count, "seconds": seconds, "overhead": whole / loop}


def _files(root: Path, folder: Path) -> list[Path]:
    folder.mkdir()
    found = []
    for model in FOLDER_MODELS:
        text = (root / "models" / model / "model.relay").read_text()
        for copy in range(FOLDER_COPIES):
            found.append(folder / f"{model}{copy}.relay")
            found[-1].write_text(text)
    return found


def _convert(paths: Sequence[Path], folder: Path) -> None:
    """Do what ``convert`` does, in one process and without its care for files."""
    for path in paths:
        made = translator.translate_with_map(relay_ir.infer_type(relay_ir.load(path)))
        (folder / f"{path.stem}.py").write_text(made.module.script())
        (folder / f"{path.stem}.graph.json").write_text(graph.to_json(made.graph))
        (folder / f"{path.stem}.map.json").write_text(translator.map_to_json(made.map))


def _loop(paths: Sequence[Path], folder: Path) -> None:
    for path in paths:
        _command("convert", path, "--out", folder / f"loop_{path.stem}")


def _command(*words: object) -> None:
    line = [sys.executable, "-m", "relay2relax", *map(str, words), "--no-check", "--quiet"]
    subprocess.run(line, check=True, capture_output=True)
