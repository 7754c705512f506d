"""``relay2relax passes``: which passes over Relay there are, and what each changes in a model."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from relay2relax import parity, relay_ir, translator
from relay2relax.cli import files, outcome, screen
from relay2relax.cli.streams import styled
from relay2relax.core.errors import ExitCode, Relay2RelaxError
from relay2relax.core.errors.table.files import OPTION
from relay2relax.core.passes import Pass
from relay2relax.core.source import visible
from relay2relax.relay_ir import pipeline
from relay2relax.relay_ir.inference.infer import typed_module

_COLOURS = {"+": "green", "-": "red", "@": "dim"}


def run_suggest(script: Path, as_json: bool) -> None:
    """Print what stands today for the passes of a script, which is read and not executed."""
    found = pipeline.suggest(files.read_content(script).decode("utf-8", "replace"), script.name)
    passes = [
        {"name": one.name, "line": one.line, "today": one.today and one.today.way.value, "note": _note(one)}
        for one in found.passes
    ]
    outcome.deliver({"passes": passes, "relay": found.relay, "relax": found.relax, "notes": list(found.notes)})
    if as_json:
        return
    rows = [(str(one.line), visible(one.name), _way(one), _note(one)) for one in found.passes]
    print(screen.table(("line", "pass", "today", "note"), rows, numbers=range(1)))
    for note in found.notes:
        print(visible(note))
    if found.relay:
        print(f"\nbefore converting:\n{visible(found.relay)}")
    if found.relax:
        print(f"\nbehind it, in TVM 0.25 to 0.27:\n{found.relax}")


def _way(one: pipeline.FoundPass) -> str:
    return "?" if one.today is None else one.today.way.value


def _note(one: pipeline.FoundPass) -> str:
    return "not known here" if one.today is None else one.today.note


def run(
    model: Path | None,
    chosen: str | None,
    params: Path | None,
    dims: list[str],
    diff: bool,
    compare: bool,
    as_json: bool,
) -> None:
    """Print what each pass of ``chosen`` changes in ``model``, or without these the passes.

    With ``compare`` the model runs behind every pass; exit with 1 where results differ.
    """
    if model is None and chosen is None:
        _list(as_json)
        return
    if model is None or chosen is None:
        raise Relay2RelaxError("passes takes a MODEL and --apply, or neither, and lists the passes", kind=OPTION)
    passes = pipeline.read(chosen)
    with screen.progress(f"reading {model.name}"):
        module = files.load_model(model, files.parse_dims(dims), library=True)
        if bound := files.load_params(params, module, allow_missing=True).weights:
            module = relay_ir.bind_params(module, bound)
    with screen.progress("running passes"):
        steps = pipeline.apply(module, passes)
    results: tuple[parity.PassResult, ...] = ()
    if compare:
        with screen.progress("running the model behind each pass"):
            typed = typed_module(module)
            arguments = translator.make_arguments(typed, {}, seed=0)
            results = parity.compare_passes(steps, arguments)
        outcome.note(str(translator.drawn_values(typed, {}, arguments, 0)))
    outcome.deliver({"steps": [_as_json(step, diff) for step in steps], "results": [one.to_json() for one in results]})
    if not as_json:
        _show(steps, diff, results)
    if not all(one.agrees for one in results):
        sys.exit(ExitCode.DIFFERS)


def _list(as_json: bool) -> None:
    """Print the passes: the level from which a pipeline runs each, and what it does."""
    kinds = pipeline.passes_by_name()
    outcome.deliver(
        {"passes": [{"name": name, "level": one.opt_level, "does": _does(one)} for name, one in kinds.items()]}
    )
    if not as_json:
        rows = [(name, str(one.opt_level), _does(one)) for name, one in kinds.items()]
        print(screen.table(("pass", "level", "does"), rows, numbers=range(1, 2)))


def _does(kind: type[Pass[relay_ir.IRModule]]) -> str:
    """Return the first paragraph of what a pass says of itself."""
    return " ".join((kind.__doc__ or "").partition("\n\n")[0].split()).replace("`", "")


def _show(steps: Sequence[pipeline.Step], diff: bool, results: Sequence[parity.PassResult]) -> None:
    rows = []
    for step in steps:
        if diff:
            for line in step.diff():
                colour = _COLOURS.get(line[:1])
                print(styled(visible(line), colour, sys.stdout) if colour else visible(line))
        rows.append((step.name, f"{step.seconds * 1e3:.1f}", _changes(step)))
    if results:
        wide = [(*row, str(result)) for row, result in zip(rows, results, strict=True)]
        print(screen.table(("pass", "ms", "operators", "results"), wide, numbers=range(1, 2)))
        wrong = next((one for one in results if not one.agrees), None)
        if wrong is not None:
            print(f"{wrong.name} is the first pass behind which results differ")
    else:
        print(screen.table(("pass", "ms", "operators"), rows, numbers=range(1, 2)))


def _changes(step: pipeline.Step) -> str:
    """Return which operators are called more or less often, in words."""
    said = ", ".join(f"{name} {old} to {new}" for name, (old, new) in step.operators().items())
    return said or ("nothing changed" if step.before is step.after else "the same operators")


def _as_json(step: pipeline.Step, diff: bool) -> dict[str, object]:
    counts = {name: {"before": old, "after": new} for name, (old, new) in step.operators().items()}
    found: dict[str, object] = {"pass": step.name, "seconds": step.seconds, "operators": counts}
    return {**found, "diff": step.diff()} if diff else found
