"""``relay2relax migrate``: every model of a folder, with one report."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from relay2relax import migrate
from relay2relax.cli import files, outcome, screen
from relay2relax.core.errors import Diagnostic, ExitCode, FileError, Relay2RelaxError
from relay2relax.core.errors.table.files import OPTION
from relay2relax.core.limits import Limits, read_file
from relay2relax.core.output import Content, Origin, OutputFolder
from relay2relax.core.schema import to_plain
from relay2relax.core.source import visible
from relay2relax.migrate import Options, Report, Step, Verdict

_CODES = {
    Verdict.DIFFERENCE: ExitCode.DIFFERS,
    Verdict.UNREADABLE: ExitCode.INPUT,
    Verdict.STOPPED: ExitCode.LIMIT,
    Verdict.CRASHED: ExitCode.INTERNAL,
}

# What --fail-on says where only what became worse fails.
WORSE = "worse"
# A report of a hundred thousand models has a tenth of these bytes.
_LARGEST_BASELINE = 1_000_000_000


@dataclass(frozen=True, slots=True)
class How:
    """How a folder is migrated: ``fail_on`` is the verdict from which on the command fails, or
    ``worse``.

    ``baseline`` is the report of an earlier run, ``dask`` the address of a scheduler.
    With ``json_lines`` each model that is done is an object on a line of standard output.
    """

    options: Options
    fail_on: str
    baseline: Path | None
    dask: str
    as_json: bool
    json_lines: bool


def run(places: Sequence[Path], out: Path, how: How) -> None:
    """Convert all models below ``places`` into ``out``, and write the reports there."""
    files.check_folder("migrate", out)
    before = None if how.baseline is None else _baseline(how.baseline)
    if how.fail_on == WORSE and before is None:
        raise Relay2RelaxError(f"--fail-on {WORSE} needs the report to compare with: --baseline", kind=OPTION)
    folder = OutputFolder(out, Origin("migrate", "", ""), tuple(place for place in places if place.is_file()))
    folder.check(_NAMES)
    try:
        with screen.progress("migrating"):
            report = migrate.migrate(places, out, how.options, _executor(how.dask), _print if how.json_lines else _tell)
    except KeyboardInterrupt:
        outcome.warn(f"stopped; what was converted is kept in {out}, and the same command goes on from there")
        raise
    if before is not None:
        report = migrate.compared(before, report)
    folder.write(_contents(report))
    if not report.models:
        outcome.warn(f"no models are found in {', '.join(map(str, places))}")
    if how.as_json or how.json_lines:
        changed = [to_plain(one) for one in report.changed]
        outcome.deliver({"report": str(out / _NAMES[0]), "counts": _counts(report), "changed": changed})
    else:
        _show(report, out)
    worst = report.worsened() if how.fail_on == WORSE else report.worse_than(Verdict(how.fail_on))
    if worst:
        sys.exit(max(_CODES.get(Verdict(one.verdict), ExitCode.UNSUPPORTED) for one in worst))


_NAMES = ("report.json", "report.md", "report.html", "junit.xml", "report.sarif")


def _baseline(path: Path) -> Report:
    try:
        with Limits(memory=_LARGEST_BASELINE):
            content = read_file(path)
    except OSError as error:
        raise FileError.unread(path, error) from None
    return migrate.report_from_json(content, str(path))


def _contents(report: Report) -> dict[str, Content]:
    made = (
        migrate.report_to_json(report).encode(),
        migrate.report_as_markdown(report).encode(),
        migrate.report_to_html(report),
        migrate.report_to_junit(report),
        migrate.report_to_sarif(report),
    )
    return dict(zip(_NAMES, made, strict=True))


def _executor(address: str) -> Callable[[], AbstractContextManager[Executor]] | None:
    """Return what makes the executor of a dask scheduler; None without an address."""
    if not address:
        return None
    try:
        from distributed import Client
    except ImportError:
        title = "--dask needs the package distributed"
        raise Relay2RelaxError(Diagnostic(title, help="pip install 'relay2relax[dask]'", kind=OPTION)) from None

    @contextmanager
    def connected() -> Iterator[Executor]:
        with Client(address) as client:
            # Workers that die take nothing with them: what they had is done by others.
            yield client.get_executor(pure=False, retries=3)

    return connected


def _tell(step: Step) -> None:
    """Say that a model is done."""
    again = ", as before" if step.again else ""
    why = f": {step.entry.why[0]}" if step.entry.why else ""
    screen.tell_meanwhile(f"[{step.number}/{step.total}] {step.entry.name} {step.entry.verdict}{again}{why}")


def _print(step: Step) -> None:
    """Print that a model is done, for a program that reads it meanwhile."""
    model = to_plain(step.entry)
    document = {"number": step.number, "total": step.total, "again": step.again, "model": model}
    outcome.print_document(document, on_a_line=True)


def _counts(report: Report) -> dict[str, int]:
    return {verdict.value: count for verdict, count in report.counts().items()}


def _show(report: Report, out: Path) -> None:
    rows = [(verdict.value, str(count)) for verdict, count in report.counts().items()]
    print(screen.table(("verdict", "models"), rows, range(1, 2)))
    for one in report.changed:
        print(visible(str(one)))
    screen.tell(f"wrote {', '.join(_NAMES)} into {out}")
