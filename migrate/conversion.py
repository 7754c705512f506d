"""One model of many: converted by the command, in a process of its own.

The process is what keeps models apart: one that crashes, hangs or takes all memory is an entry of
the report, and not its end.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from msgspec.structs import replace

from relay2relax.backends.processes import Running, started
from relay2relax.core.errors import ExitCode
from relay2relax.core.source import visible
from relay2relax.migrate.report.model import Entry
from relay2relax.migrate.verdict import Verdict

# The folder that somebody works in may hold a json.py: Python is not to look for modules there.
_START = "import sys; sys.path = [*filter(None, sys.path)]; from relay2relax.migrate.child import main; main()"
# Beside the limit of time, which the command keeps by itself: what starting and ending it takes.
_GRACE = 30.0
# The page of a model, beside its script, and the folder of its C library.
PAGE = "view.html"
LIBRARY = "library"
# The exit code of a command, and what it printed and said.
_Done: TypeAlias = tuple[int, bytes, bytes]
_FAILED: Mapping[int, Verdict] = {
    ExitCode.USAGE: Verdict.UNREADABLE,
    ExitCode.INPUT: Verdict.UNREADABLE,
    ExitCode.UNSUPPORTED: Verdict.REFUSED,
    ExitCode.TOOL: Verdict.REFUSED,
    ExitCode.LIMIT: Verdict.STOPPED,
}


def _here() -> Path | None:
    try:
        return Path.cwd()
    except OSError:  # it was removed meanwhile
        return None


@dataclass(frozen=True, slots=True)
class Job:
    """What converting one model takes: its files, the folder to write into, options of ``convert``,
    and seconds after which it is stopped.

    With ``page`` a page that shows the model is written as well, with ``library`` a C library.
    ``here`` is the folder that paths are relative to, wherever the job is done, None where it is
    gone.
    """

    name: str
    model: Path
    params: Path | None
    folder: Path
    options: tuple[str, ...]
    seconds: float
    page: bool = False
    library: bool = False
    here: Path | None = field(default_factory=_here)

    def command(self) -> list[str]:
        """Return the words of the command."""
        line = ["convert", str(self.model), "--out", str(self.folder), "--json", "--quiet", *self._params()]
        return [*line, *self.options]

    def page_command(self) -> list[str]:
        """Return the words of the command that writes the page."""
        line = ["view", str(self.model), "--out", str(self.folder / PAGE), "--quiet", "--force", *self._params()]
        return [*line, "--allow-missing", f"--limit-time={self.seconds:g}s"]

    def library_command(self) -> list[str]:
        """Return the words of the command that writes the C library."""
        line = ["export", str(self.model), "--out", str(self.folder / LIBRARY), "--quiet", "--json", *self._params()]
        return [*line, "--allow-missing", f"--limit-time={self.seconds:g}s"]

    def _params(self) -> tuple[str, ...]:
        return () if self.params is None else ("--params", str(self.params))


def convert_one(job: Job, running: Running | None = None) -> Entry:
    """Convert one model, and return how it fared; nothing that it does raises.

    Its process is known to ``running``, and is ended after the time that it has.
    """
    running = running or Running()
    try:
        done = _run(job, job.command(), running)
    except OSError as error:
        return _entry(job, Verdict.CRASHED, f"no process can be started for it: {error.strerror or error}")
    if done is None:
        return _entry(job, Verdict.STOPPED, f"it took more than {job.seconds:g} s")
    entry = entry_of(job, *done)
    if job.page and entry.files:
        entry = _with_page(entry, _run(job, job.page_command(), running))
    if job.library and entry.files:
        entry = _with_library(entry, _run(job, job.library_command(), running))
    return entry


def _with_page(entry: Entry, done: _Done | None) -> Entry:
    if done is not None and done[0] == 0:
        return replace(entry, page=PAGE, files=(*entry.files, PAGE))
    return replace(entry, warnings=(*entry.warnings, "there is no page of the model: view failed"))


def _with_library(entry: Entry, done: _Done | None) -> Entry:
    """Return the entry with the files of the library, or with why there is none."""
    why = "it took too long"
    if done is not None:
        try:
            document = _shown(json.loads(done[1]))
        except ValueError:
            why = f"export ended with {done[0]}"
        else:
            if done[0] == ExitCode.FINE:
                return replace(entry, files=(*entry.files, *(f"{LIBRARY}/{name}" for name in document["files"])))
            why = "; ".join(map(_problem, document["errors"]))
    return replace(entry, warnings=(*entry.warnings, f"there is no C library of the model: {why}"))


def _run(job: Job, words: Sequence[str], running: Running) -> _Done | None:
    """Return the exit code and what a command printed and said, None where it took too long."""
    line = [sys.executable, "-c", _START, *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": job.here}
    with started(line, running, lifeline=True, **pipes) as process:
        try:
            printed, said = process.communicate(timeout=job.seconds + _GRACE)
        except subprocess.TimeoutExpired:
            return None
    return process.returncode, printed, said


def entry_of(job: Job, code: int, printed: bytes, said: bytes) -> Entry:
    """Return what a command that ended with ``code`` found, by what it wrote to both streams."""
    if code < 0:
        return _entry(job, Verdict.CRASHED, f"the process was ended by {signal.Signals(-code).name}")
    try:
        document = _shown(json.loads(printed))
    except ValueError:
        last = visible(said.decode(errors="replace"), lines=True).strip().splitlines()
        return _entry(job, Verdict.CRASHED, last[-1] if last else f"it ended with {code}, and printed nothing")
    problems = tuple(_problem(one) for one in document["errors"])
    if code not in (ExitCode.FINE, ExitCode.DIFFERS) and "check" not in document:
        if any(_is_of_outputs(job, one) for one in document["errors"]):
            return _entry(job, Verdict.STOPPED, *problems)
        return _entry(job, _FAILED.get(code, Verdict.CRASHED), *problems)
    return _converted(job, document, problems)


def _is_of_outputs(job: Job, error: Mapping[str, Any]) -> bool:
    """Whether an error is of what was to be written, a full disk say: the model is not to blame."""
    return f"{error['file']}/".startswith(f"{visible(str(job.folder))}/")


def _converted(job: Job, document: Mapping[str, Any], problems: Sequence[str]) -> Entry:
    """Return the entry of a model of which files were written."""
    check, dropped = document["check"], document["receipt"]["dropped"]
    lacking = [f"{one['operator']}: {one['why']}" for one in document["as_tensorir"]]
    rows = check.get("rows", [])
    wrong = [_difference(row) for row in rows if not row["agrees"]]
    if check["agrees"] is False:
        verdict, why = Verdict.DIFFERENCE, wrong
    elif check["agrees"] is None:
        verdict, why = Verdict.UNCHECKED, [f"not compared: {check['why_not']}"]
    elif dropped:
        verdict, why = Verdict.LOSSY, [f"{dropped} things that the model says are dropped; the map says which"]
    else:
        verdict, why = (Verdict.TENSORIR, lacking) if lacking else (Verdict.FINE, [])
    off = [row["of_scale"] for row in rows if row["of_scale"] is not None]
    return Entry(
        job.name,
        verdict.value,
        tuple(why),
        params=_text(job.params),
        calls=document["relay_calls"],
        as_tensorir=tuple(lacking),
        receipt=dict(document["receipt"]),
        compared=tuple(sorted({row["backend"] for row in rows})),
        off=max(off, default=None),
        where=tuple(check.get("where", ())),
        warnings=tuple(document["warnings"]),
        files=tuple(document["files"]),
        folder=f"{job.folder.parent.name}/{job.folder.name}",
    )


def _difference(row: Mapping[str, Any]) -> str:
    """Return what an output of a check is off by."""
    head = f"{row['program']} on {row['backend']}, output {row['output']}"
    if row["max_abs"] is None:
        return f"{head}: {row['reason']}"
    share = f"{row['of_scale']:.2g} of the largest value" if row["of_scale"] is not None else "no share of any value"
    return f"{head}: off by {row['max_abs']:.3g}, that is {share}, which is {row['reason']}"


def _shown(value: Any) -> Any:
    """Return a document whose words are as messages show them."""
    match value:
        case str():
            return visible(value)
        case list():
            return [_shown(one) for one in value]
        case dict():
            return {key: _shown(one) for key, one in value.items()}
    return value


def _problem(error: Mapping[str, Any]) -> str:
    place = ":".join(str(error[key]) for key in ("file", "line", "column") if error[key] is not None)
    return f"{error['title']} ({error['code']})" + (f" at {place}" if place else "")


def _entry(job: Job, verdict: Verdict, *why: str) -> Entry:
    return Entry(job.name, verdict.value, why, params=_text(job.params))


def _text(path: Path | None) -> str:
    return "" if path is None else visible(path.name)
