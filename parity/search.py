"""Which node, pass or fusion rule makes results part, found by halving.

    found = parity.bisect(mod, arguments, over="rules")
    print(found)        # c.FuseRows: via_graph on c differs with it, and agrees without it …

What is left out or cut off is one side of every step; the first step that differs is to blame. It
is taken that what differs once does so behind every later step as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

from relay2relax import backends as running
from relay2relax import relax_ir
from relay2relax.backends.c.schedule.schedule import RULES
from relay2relax.core.errors import Relay2RelaxError, UnsupportedError, mistake
from relay2relax.core.errors.nearest import nearest
from relay2relax.core.errors.table import files, translating
from relay2relax.core.passes import Pass, PassContext
from relay2relax.core.tolerance import Tolerance
from relay2relax.parity.halving import first_bad
from relay2relax.parity.matrix.nodes import node_report
from relay2relax.parity.passes import compare_passes
from relay2relax.parity.tables import data_frame, html_table
from relay2relax.relay_ir import pipeline
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.translator.arguments import Argument
from relay2relax.translator.comparison import Trial
from relay2relax.translator.pipeline import Via, translate

Over = Literal["nodes", "passes", "relax-passes", "rules"]
OVERS: tuple[Over, ...] = get_args(Over)
RelaxPass: TypeAlias = Pass[relax_ir.IRModule]
AnyPass: TypeAlias = Pass[Any]
# Passes of Relax that are tried where none are named: those that TVM's pipelines begin with.
RELAX_PASSES = (
    "LegalizeOps", "FoldConstant", "EliminateCommonSubexpr", "CanonicalizeBindings", "DeadCodeElimination", "FuseOps",
    "FuseTIR",
)  # fmt: skip
_NAMES: Mapping[Via, str] = {"graph": "via_graph", "tir": "lower_to_tir"}


@dataclass(frozen=True, slots=True)
class Probe:
    """One state that was run: the steps up to ``step`` (none where it is ""), and whether its
    results agree.
    """

    step: str
    agrees: bool


@dataclass(frozen=True, slots=True)
class Bisected:
    """What makes results part, of what was searched ``over``.

    ``culprit``  its name; "" where all agrees, or where it is none of these. ``said``  that in a
    sentence. ``probes``  what was run, in order. ``differs``  whether the results part.
    """

    over: Over
    culprit: str
    said: str
    probes: tuple[Probe, ...] = ()
    differs: bool = False

    def __str__(self) -> str:
        return self.said

    def to_json(self) -> dict[str, object]:
        """Return the same as plain values."""
        return asdict(self)

    def to_dataframe(self) -> Any:
        """Return what was run as a frame of pandas.

        Raises UnsupportedError where that is not installed.
        """
        return data_frame([asdict(one) for one in self.probes])

    def _repr_html_(self) -> str:
        return html_table(("step", "agrees"), [asdict(one) for one in self.probes], self.said)


def bisect(
    mod: IRModule,
    arguments: Sequence[Argument],
    over: Over = "nodes",
    *,
    passes: Sequence[str | AnyPass] = (),
    backend: str = "c",
    via: Via = "graph",
    tolerance: Tolerance | None = None,
) -> Bisected:
    """Return which step of ``over`` makes the results of ``mod`` part from Relay's on numpy.

    ``nodes``  which call of the model, when the translation ``via`` runs on ``backend``.
    ``passes``  which pass over Relay, of a pipeline in text. ``relax-passes``  which pass over the
    translation, run on ``backend``. ``rules``  which fusion rule of C. Raises what running Relay on
    numpy raises, and Relay2RelaxError for unknown passes.
    """
    typed = typed_module(mod)
    if over == "passes":
        return _over_passes(typed, arguments, passes, backend, tolerance)
    values = dict(zip((param.name for param in typed["main"].params), arguments, strict=True))
    trial = Trial.of(typed, values, tolerance=tolerance)  # type: ignore[arg-type]
    match over:
        case "nodes":
            return bisect_trial(trial, backend, via)
        case "relax-passes":
            return _over_relax_passes(trial, passes or RELAX_PASSES, backend, via)
        case "rules":
            return _over_rules(trial, via)
    raise UnsupportedError(mistake(translating.CHOICE, what="search over", name=repr(over), known=", ".join(OVERS)))


def bisect_trial(trial: Trial, backend: str, via: Via) -> Bisected:
    """Return which call of a model that was run makes results part, as :func:`bisect` does over
    nodes.
    """
    report = node_report(
        trial.module, trial.arguments, _NAMES[via], lambda mod: translate(mod, via), backend, trial.sheet.length
    )
    culprit = "" if report.first is None else str(report.first).partition(" differs")[0]
    return Bisected("nodes", culprit, str(report), differs=report.first is not None)


def _over_passes(
    mod: IRModule,
    arguments: Sequence[Argument],
    passes: Sequence[str | AnyPass],
    backend: str,
    tolerance: Tolerance | None,
) -> Bisected:
    named = [pipeline.read(one) if isinstance(one, str) else [one] for one in passes]
    chosen = [one for some in named for one in some] or pipeline.passes_of_build()
    results = compare_passes(pipeline.apply(mod, chosen), arguments, backend, tolerance)
    probes = tuple(Probe(one.name, one.agrees) for one in results)
    culprit = next((one for one in results if not one.agrees), None)
    if culprit is None:
        return Bisected("passes", "", f"results agree behind all {len(results)} passes", probes)
    said = f"{culprit.name}: the first pass behind which results differ: {culprit}"
    return Bisected("passes", culprit.name, said, probes, True)


@dataclass(slots=True)
class _Steps:
    """Steps of which the first so many are taken, and what was found of each number."""

    trial: Trial
    over: Over
    names: Sequence[str]
    backend: str
    program: str
    run: Callable[[int], object]

    def search(self) -> Bisected:
        probes: list[Probe] = []

        def bad(count: int) -> bool:
            sheet = self.trial.sheet
            rows = len(sheet.rows)
            sheet.attempt(self.program, self.backend, lambda: self.run(count))
            agrees = all(row.difference.agrees for row in sheet.rows[rows:])
            probes.append(Probe(self.names[count - 1] if count else "", agrees))
            return not agrees

        where = f"{self.program} on {self.backend}"
        if not bad(len(self.names)):
            return Bisected(self.over, "", f"{where} agrees with all of {len(self.names)} {self.over}", tuple(probes))
        if bad(0):
            return Bisected(self.over, "", f"{where} differs without any of these {self.over}", tuple(probes), True)
        found = self.names[first_bad(len(self.names), bad) - 1]
        said = f"{found}: {where} differs with it, and agrees with all {self.over} before it"
        return Bisected(self.over, found, said, tuple(probes), True)


def _over_rules(trial: Trial, via: Via) -> Bisected:
    names = [rule.name for rule in RULES if not rule.required]
    module = translate(trial.module, via)

    def run(count: int) -> object:
        with PassContext(disabled_pass=names[count:]):
            machine = running.VirtualMachine(running.build(module, target="c"))
        return machine["main"](*trial.arguments)

    return _Steps(trial, "rules", names, "c", _NAMES[via], run).search()


def _over_relax_passes(trial: Trial, passes: Sequence[str | AnyPass], backend: str, via: Via) -> Bisected:
    chosen = [relax_pass(one) if isinstance(one, str) else one for one in passes]
    states = [translate(trial.module, via)]

    def run(count: int) -> object:
        while len(states) <= count:
            states.append(chosen[len(states) - 1](states[-1]))
        return running.VirtualMachine(running.build(states[count], target=backend))["main"](*trial.arguments)

    return _Steps(trial, "relax-passes", [one.info.name for one in chosen], backend, _NAMES[via], run).search()


def relax_pass(name: str) -> RelaxPass:
    """Return the pass over Relax of that name, which takes no arguments.

    Raises Relay2RelaxError where there is none.
    """
    kind = getattr(relax_ir.transform, name, None)
    try:
        made = kind() if isinstance(kind, type) and issubclass(kind, Pass) else None
    except TypeError:
        made = None
    if made is None:
        unknown = mistake(files.OPTION, name="a pass over Relax", value=repr(name), expected=", ".join(RELAX_PASSES))
        raise Relay2RelaxError(replace(unknown, help=nearest(name, RELAX_PASSES)))
    return made
