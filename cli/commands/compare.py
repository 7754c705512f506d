"""``relay2relax compare``: Relay against both translations of it, or against a script, output by
output.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from relay2relax import parity, relay_ir, translator, viewer
from relay2relax.cli import files, outcome, screen
from relay2relax.cli.converted import folder
from relay2relax.core.dtype import Array
from relay2relax.core.errors import Diagnostic, Relay2RelaxError, UnsupportedError
from relay2relax.core.errors.table import files as kinds
from relay2relax.core.output import marked
from relay2relax.core.tolerance import Tolerance
from relay2relax.relay_ir.io.binding import Bound


@dataclass(frozen=True, slots=True)
class How:
    """How a comparison is made: ``backends`` none for those that a comparison takes by itself.

    With ``float64`` each output is compared with that of the same program in float64 as well.
    """

    backends: tuple[str, ...]
    seed: int
    dims: tuple[str, ...]
    allow_missing: bool
    per_node: bool
    tolerance: Tolerance | None
    float64: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """Where a page with figures of the outputs is written, if one is asked for."""

    path: Path | None = None
    force: bool = False


NO_PAGE = Page()


def run(
    path: Path,
    script: Path | None,
    model: Path | None,
    params: Path | None,
    inputs: Path | None,
    expected: Path | None,
    how: How,
    as_json: bool,
    page: Page = NO_PAGE,
) -> None:
    """Print the table; exit with 1 where an output disagrees, with an error's code where one fails.

    ``path`` is a model, or what ``convert`` wrote of one: a folder, or the script in it. Without a
    script both translations of the model are compared. Raises UnsupportedError where nothing could
    be compared.
    """
    reads = [path, script, model, params, inputs, expected]
    target = page.path and files.output_file(page.path, reads=reads, force=page.force)
    recorded = files.load_arrays(expected) if expected is not None else None
    figures = viewer.Figures()
    with translator.outputs_shown(figures.add) if target else nullcontext():
        report = _compared(path, script, model, params, inputs, recorded, how)
    if target:
        title = f"{path.name} and {script.name}" if script else path.name
        target.write(marked(viewer.report_page(report, figures, title) + b"<!-- ", b" -->\n"))
    if as_json:
        outcome.deliver(report.to_json())
    else:
        if report.rows:
            print(screen.report_table(report))
        for line in (*map(str, report.left_out), *report.notes):
            print(line)
        if page.path is not None:
            screen.tell(f"wrote {page.path}")
    end(report)


def end(found: translator.Report | parity.Matrix) -> None:
    """Exit with the code of what was compared, where not all agrees.

    Raises UnsupportedError where nothing was compared.
    """
    if found.agrees is None:
        why = tuple(dict.fromkeys(map(str, found.left_out)))
        raise UnsupportedError(Diagnostic("nothing was compared", notes=why, help="try other backends, with --backend"))
    if not found.agrees:
        sys.exit(found.exit)


def _compared(
    path: Path,
    script: Path | None,
    model: Path | None,
    params: Path | None,
    inputs: Path | None,
    recorded: Mapping[str, Array] | None,
    how: How,
) -> translator.Report:
    """Return the comparison of a model with both translations, or with a script."""
    if script is not None or model is not None or folder.is_translated(path):
        found = folder.find(script or path)
        return _of_script(found, path if script else model, params, inputs, recorded, how)
    extents = files.parse_dims(list(how.dims))
    with screen.progress(f"reading {path.name}"):
        module = files.load_model(path, extents)
        bound = files.load_params(params, module, how.allow_missing)
        given = files.load_inputs(inputs, module, bound)
    collected = parity.Collected()

    def judged(trial: translator.Trial) -> Iterator[str]:
        if how.float64:
            yield from map(str, parity.judge(trial.module, trial.arguments, collected.results))

    with (
        screen.progress("running Relay and both translations"),
        translator.outputs_shown(collected.add) if how.float64 else nullcontext(),
    ):
        return translator.compare(
            module, params=bound.weights, inputs=given, seed=how.seed, backends=how.backends or own_backends(),
            per_node=how.per_node, dims=extents, expected=recorded, tolerance=how.tolerance, closer=judged,
        )  # fmt: skip


def own_backends() -> tuple[str, ...]:
    """Return numpy and c, or where there is no C compiler numpy alone, which is said."""
    if "c" in translator.available_backends():
        return ("numpy", "c")
    outcome.note("there is no C compiler that works: compared on numpy alone (`relay2relax doctor` says more)")
    return ("numpy",)


def _of_script(
    found: folder.Converted,
    model: Path | None,
    params: Path | None,
    inputs: Path | None,
    expected: Mapping[str, Array] | None,
    how: How,
) -> translator.Report:
    """Return the comparison of a script with its model, ``model`` or the one it was made of."""
    if how.per_node or how.dims or how.float64:
        raise Relay2RelaxError(
            "--per-node, --dims and --float64 are for models, and a script is translated already: compare the model",
            kind=kinds.OPTION,
        )
    source = model or found.model()
    with screen.progress(f"reading {found.script.name}"):
        module = files.load_model(source, begin=found.begin)
        script = found.load()
        own = params or found.params()
        # Those that the folder names have the hash that it states.
        with nullcontext() if params is not None else files.taken_as_known():
            script, bound = _weights(script, module, own, how.allow_missing)
        given = files.load_inputs(inputs, module, bound)
        values = translator.values_for_relay(script, module, {**bound.weights, **given})
        if found.summary is not None and found.in_floats:
            constants = bound.weights if found.summary.params_bound else None
            floats = translator.translation(module, params=constants, qnn="qdq").source
            module = translator.relay_in_floats(floats, "tir" if found.summary.via == "tir" else "graph")
            script = replace(script, graph_text="")
            values = {param.name: values[param.name] for param in module["main"].params if param.name in values}
    files.require_verified(script.weights or own or inputs or expected)
    with screen.progress("running Relay and the script"):
        report = translator.compare_script(
            module, script, params=values, seed=how.seed, backends=how.backends or None,
            expected=expected, tolerance=how.tolerance or found.tolerance(script),
        )  # fmt: skip
    form = " in the form of its floats" * found.in_floats
    said = [f"{found.script.name} is compared with {files.shown(source)}{form}"]
    if own is None and script.weights:
        if found.summary is not None and found.summary.params is not None:
            said.append(f"the params {found.summary.params!r} are gone, or not as they were converted")
        said.append("the weights beside the script are taken for the model's: --params compares with those it had")
    return replace(report, notes=(*said, *found.changes(source), *report.notes))


def _weights(
    script: translator.Script, module: relay_ir.IRModule, params: Path | None, allow_missing: bool
) -> tuple[translator.Script, Bound]:
    """Return the script and values for Relay: the params are by Relay's names, or else the
    script's.
    """
    if params is None:
        return script, Bound()
    arrays = files.load_arrays(params)
    if any(param.name in arrays for param in module["main"].params):
        return script, files.load_params(params, module, allow_missing)
    return replace(script, weights=script.weights_of(arrays)), Bound()


def tolerance(rtol: float | None, atol: float | None) -> Tolerance | None:
    """Return the tolerance that options ask for, None where there are none.

    Raises Relay2RelaxError for one that no error is within, or every one.
    """
    for name, value in (("--rtol", rtol), ("--atol", atol)):
        if value is not None and not math.isfinite(value):
            raise Relay2RelaxError(f"{name} {value} is not a tolerance; expected a number", kind=kinds.OPTION)
    return None if rtol is None and atol is None else Tolerance(rtol or 0.0, atol or 0.0)
