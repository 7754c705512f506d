"""``relay2relax plan``: what will become of models, before anything is converted."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from relay2relax import migrate, translator
from relay2relax.cli import files, outcome, screen
from relay2relax.core.errors import Diagnostic, ExitCode, Relay2RelaxError
from relay2relax.core.errors.table.files import OPTION
from relay2relax.core.source import visible
from relay2relax.migrate import Plan, Verdict

_HEAD = ("model", "verdict", "calls", "TensorIR", "weights", "why")


@dataclass(frozen=True, slots=True)
class How:
    """How models are planned and shown: ``fail_on`` is the verdict from which on that fails."""

    via: translator.Via
    fail_on: str
    markdown: bool
    as_json: bool


def run(models: Sequence[Path], params: Path | None, dims: list[str], how: How) -> None:
    """Print the plans; exit with the code of the worst error, or 4 where a model fares too badly.

    What a model ends in is part of its plan.
    """
    if len(models) > 1 and (params is not None or dims):
        title = "--params and --dims are of one model, and there are several"
        raise Relay2RelaxError(Diagnostic(title, help="call plan once for each of these", kind=OPTION))
    extents = files.parse_dims(dims)
    found: list[Plan] = []
    for model in models:
        with screen.progress(f"planning {model.name}"):
            try:
                found.append(_planned(model, params, extents, how.via))
            except Relay2RelaxError as error:
                found.append(migrate.refused(files.shown(model), error))
    limit = Verdict(how.fail_on).rank
    codes = [_code(one) for one in found if one.verdict.rank >= limit]
    if how.as_json:
        outcome.deliver({"plans": [one.to_json() for one in found]})
    elif how.markdown:
        print(migrate.plans_as_markdown(found))
    else:
        _show(found)
    if codes:
        sys.exit(max(codes))


def _planned(model: Path, params: Path | None, dims: translator.Dims, via: translator.Via) -> Plan:
    module = files.load_model(model, dims, library=True)
    bound = files.load_params(params, module, allow_missing=True)
    return migrate.plan(module, bound.weights, dims, name=files.shown(model), via=via)


def _code(plan: Plan) -> ExitCode:
    kind = plan.problems[0].kind if plan.problems else None
    return kind.exit if kind is not None else ExitCode.UNSUPPORTED


def _show(plans: Sequence[Plan]) -> None:
    """Print a table of all models, and behind it the details where there is one only."""
    rows = [
        (
            one.model,
            one.verdict.value,
            str(one.calls),
            str(sum(row.tensorir for row in one.as_tensorir)),
            f"{one.weight_bytes / 1e6:.1f} MB",
            "; ".join(one.why()),
        )
        for one in plans
    ]
    print(screen.table(_HEAD, rows, range(2, 5)))
    if len(plans) == 1:
        for line in _details(plans[0]):
            print(visible(line))


def _details(plan: Plan) -> Iterator[str]:
    """Yield what there is to say of one model."""
    if plan.problems:
        return
    open_ = ", ".join(f"{name}: {type_}" for name, type_ in plan.open_inputs.items())
    yield f"open extents: {open_ or 'none'}"
    yield f"memory: {plan.memory()}"
    yield f"arithmetic of a run: {plan.operations} operations on floats"
    yield f"planned in {plan.seconds['planning']:.1f} s; building and a run take about: {plan.times()}"
    takes = [name for name, why in plan.takers.items() if not why]
    yield f"taken by: {', '.join(takes)}"
    for name, why in plan.takers.items():
        if why:
            yield f"not taken by {name}: {why}"
    for name, why in plan.missing_kernels.items():
        yield f"kernels of ours on GPUs: {name}: {why}"
    receipt = ", ".join(f"{count} {fate}" for fate, count in plan.receipt.items())
    yield f"receipt: {receipt}"
