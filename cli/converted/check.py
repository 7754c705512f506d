"""The check of ``convert``: what was written is read anew, and compared with Relay."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from relay2relax import parity, relay_ir, translator
from relay2relax.cli import outcome, screen
from relay2relax.cli.converted import folder
from relay2relax.core.dtype import Array
from relay2relax.core.errors import ExitCode, LimitError, OutOfMemoryError, Relay2RelaxError
from relay2relax.core.errors.table import limits
from relay2relax.core.limits import Limits
from relay2relax.core.source import visible

_SUMS = "the qdq form rounds sums, which it adds up in another order"
# What a check may take by estimate, in seconds: unasked, and where it is asked for. Data may decide
# otherwise: unasked it ends after so many of work.
_UNASKED, _ASKED, _LONGEST = 4.0, 600.0, 30


@dataclass(frozen=True, slots=True)
class Check:
    """What a check found: ``report``, or ``why`` there is none.

    Where an output differs ``where`` says at which nodes it begins, and which results are right.
    """

    report: translator.Report | None
    why: str = ""
    seconds: float = 0.0
    where: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool | None:
        """Whether all that was compared agrees; None where nothing was."""
        return None if self.report is None else self.report.agrees

    def to_json(self) -> dict[str, object]:
        """Return what the summary says of the check."""
        head: dict[str, object] = {"agrees": self.agrees, "why_not": self.why, "seconds": round(self.seconds, 3)}
        head |= {"where": list(self.where)} if self.where else {}
        return head if self.report is None else {**self.report.to_json(), **head}

    def end(self, script: str) -> None:
        """End the command where ``script`` differs, or fails."""
        if self.report is not None and self.report.agrees is False:
            said = "does not compute what Relay computes" if self.report.exit is ExitCode.DIFFERS else "fails"
            outcome.warn(f"{script} {said}; the files are kept")
            sys.exit(self.report.exit)

    def lines(self) -> Iterator[str]:
        """Yield what the screen says of it, verdicts in colours."""
        if self.report is None:
            yield visible(f"not checked: {self.why}")
            return
        for (program, backend), group in groupby(self.report.rows, key=lambda row: (row.program, row.backend)):
            rows = list(group)
            check = f"check: {visible(program)} on {backend}:"
            wrong = [row for row in rows if not row.difference.agrees]
            for row in wrong:
                said = screen.verdict(row.verdict)
                yield f"{check} output {row.output} {said}: {visible(row.difference.reason)}"
            if not wrong:
                worst = max((row.difference for row in rows), key=lambda one: one.of_scale)
                off = f", off by at most {worst.of_scale:.2g} of the largest value" if worst.max_abs else ""
                yield f"{check} {screen.verdict(worst.verdict)}{off}"
        yield from map(visible, self.where)
        if self.report.left_out:
            left = ", ".join(f"{one.backend} ({one.why})" for one in self.report.left_out)
            yield visible(f"not checked on {left}{self.why and f': {self.why}'}")
        if self.report.drawn is not None and self.report.rows:
            yield visible(str(self.report.drawn))


NOT_ASKED = Check(None, "--no-check asks for none")
# What a summary says until the check has ended.
NOT_DONE = Check(None, "the check has not ended")


def check(
    script: Path,
    module: relay_ir.IRModule,
    params: Mapping[str, Array],
    asked: bool,
    floats: relay_ir.IRModule | None = None,
    via: translator.Via = "graph",
) -> Check:
    """Return how what ``convert`` wrote at ``script`` compares with the ``module`` that it was made
    of, with its ``params``.

    Unless it is ``asked`` for, backends are left out on which it would take more than a few
    seconds, as is apache-tvm, which a hostile model could make crash; and a Relay module that
    cannot be run is no error.

    Where quantised operators became floats, ``floats`` is Relay in that form: the script is
    compared with it, and on numpy alone, since other backends add up in another order and may round
    to another integer.
    """
    start = time.perf_counter()
    written = folder.find(script).load()
    backends, left_out = translator.within(written, _ASKED if asked else _UNASKED, guarded=not asked)
    if floats is not None:
        others = [name for name in backends if name != "numpy"]
        left_out += [translator.LeftOut(written.name, name, _SUMS) for name in others]
        backends = tuple(name for name in backends if name == "numpy")
        # The graph is that of the integers.
        written = replace(written, graph_text="")
        module = floats
        # Those that were bound are constants of it.
        params = {param.name: params[param.name] for param in module["main"].params if param.name in params}
    # Some are left out however long one waits.
    more = not asked and floats is None and len(translator.within(written, _ASKED)[0]) > len(backends)
    hint = "--check does it" if more else ""
    if not backends:
        return Check(translator.Report((), left_out=tuple(left_out)), hint, time.perf_counter() - start)
    with nullcontext() if asked else Limits(work=_LONGEST):
        found: list[translator.Report] = []
        where: list[str] = []
        for program, one in _entries(module, written):
            try:
                trial = translator.trial_of(program, one, params)
            except Relay2RelaxError as error:
                if asked:
                    raise
                return Check(None, _why(error, "Relay itself cannot be run: "), time.perf_counter() - start)
            try:
                collected = parity.Collected()
                with translator.outputs_shown(collected.add):
                    found.append(translator.script_report(trial, one, backends, () if found else left_out))
                where += _where(trial, found[-1], collected, via)
            except (LimitError, OutOfMemoryError) as error:
                if asked:
                    raise
                return Check(None, _why(error), time.perf_counter() - start)
    return Check(translator.joined(found), hint, time.perf_counter() - start, tuple(where))


def _where(
    trial: translator.Trial, report: translator.Report, collected: parity.Collected, via: translator.Via
) -> Iterator[str]:
    """Yield where outputs that differ begin to, and which results are nearest to float64."""
    wrong = [row for row in report.rows if not row.difference.agrees and row.failure is None]
    backends = {row.backend for row in wrong}
    if "numpy" in backends:
        yield "it differs on numpy, so the translation is to blame, or what was written of it"
    elif wrong:
        yield f"it agrees on numpy, so {', '.join(sorted(backends))} is to blame"
    for backend in dict.fromkeys(row.backend for row in wrong if row.backend != "tvm"):
        yield str(parity.bisect_trial(trial, backend, via))
    if wrong:
        try:
            for one in parity.judge(trial.module, trial.arguments, collected.results):
                yield from (_right(one), str(one))
        except Relay2RelaxError as error:
            yield f"which side is right is not known: {error.diagnostics[0].title}"


def _right(judged: parity.Judgement) -> str:
    """Return which side is right, in words."""
    if parity.REFERENCE in judged.nearest:
        return f"output {judged.output}: Relay is right, by the same program in float64"
    return (
        f"output {judged.output}: {' and '.join(judged.nearest)} is nearer to the same program in float64 than Relay, "
        "so this may be the rounding of Relay itself"
    )


def _entries(
    module: relay_ir.IRModule, written: translator.Script
) -> Iterator[tuple[relay_ir.IRModule, translator.Script]]:
    """Yield what is compared with what: ``main`` of both, or each function of a library as
    ``main``.
    """
    entries = translator.entry_functions(written.module)
    if "main" in entries:
        yield module, written
        return
    for name in entries:
        # Others were made of regions for external compilers.
        if name in module:
            relax = translator.beginning_at(written.module, name)
            relay = translator.beginning_at(module, name)
            yield relay, replace(written, name=f"@{name} of {written.name}", module=relax, graph_text="")


def _why(error: Relay2RelaxError, head: str = "") -> str:
    """Return why there is no check that nobody asked for."""
    if error.first_kind is limits.SECONDS:
        return f"it takes more than {_LONGEST:g} s, which data decide; --check does it"
    return head + error.diagnostics[0].title
