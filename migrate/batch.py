"""Many models, one after another or at a time, resumable, with one report at the end."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from relay2relax import __version__
from relay2relax.backends.processes import Running
from relay2relax.core.errors import FileError
from relay2relax.core.progress import going_on
from relay2relax.core.source import visible
from relay2relax.migrate.artefacts import Artefact, find_artefacts
from relay2relax.migrate.conversion import Job, convert_one
from relay2relax.migrate.report.model import Entry, Report
from relay2relax.migrate.state import State, key_of, opened
from relay2relax.migrate.verdict import Verdict

MODELS = "models"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class Options:
    """How all models are converted: ``convert`` are options of that command, ``seconds`` the time
    that each has, ``jobs`` how many are converted at a time. With ``pages`` each gets a page that
    shows it, with ``libraries`` a C library.
    """

    convert: tuple[str, ...] = ()
    seconds: float = 600.0
    jobs: int = 1
    pages: bool = False
    libraries: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One model that is done, one of ``total``; ``again`` where an earlier run did it."""

    number: int
    total: int
    entry: Entry
    again: bool


def migrate(
    places: Sequence[Path],
    out: Path,
    options: Options = Options(),
    executor: Callable[[], AbstractContextManager[Executor]] | None = None,
    told: Callable[[Step], None] = lambda _: None,
) -> Report:
    """Convert every model in ``places``, files and folders, into a folder of its own below ``out``,
    and return how each fared.

    What an earlier run into ``out`` did of the same contents with the same options is not done
    again. ``executor`` makes what runs the jobs, threads without one; ``told`` is called for every
    model that is done. Raises FileError for a place that is not there.
    """
    jobs = list(_jobs(find_artefacts(places), out, options))
    entries: dict[str, Entry] = {}
    with opened(out) as state, going_on("models", lambda: (len(entries), len(jobs))):
        pending: dict[str, Job] = {}
        for job in jobs:
            key = _key(job)
            known = state.done(job, key) if key else None
            if known is None:
                pending[key or job.name] = job
            else:
                known = entries[job.name] = _placed(known, job)
                told(Step(len(entries), len(jobs), known, True))
        for key, entry in _converted(pending, options.jobs, executor):
            _keep(state, key, entry)
            entry = entries[entry.name] = _placed(entry, pending[key])
            told(Step(len(entries), len(jobs), entry, False))
    return Report(__version__, options.convert, tuple(entries[job.name] for job in jobs))


def _converted(
    pending: dict[str, Job], jobs: int, executor: Callable[[], AbstractContextManager[Executor]] | None
) -> Iterable[tuple[str, Entry]]:
    """Yield the key and the entry of every job as it ends; on an exception all others are ended."""
    running = Running()
    work = partial(convert_one, running=running) if executor is None else convert_one
    with ThreadPoolExecutor(jobs) if executor is None else executor() as pool:
        futures = {pool.submit(work, job): key for key, job in pending.items()}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            for future in futures:
                future.cancel()
            running.end()
            raise


def _placed(entry: Entry, job: Job) -> Entry:
    """Return an entry with where its model is now: models that move are not done again."""
    return replace(entry, path=visible(job.model.as_posix()))


def _keep(state: State, key: str, entry: Entry) -> None:
    # What a limit or a crash ended may go better the next time.
    if Verdict(entry.verdict) not in (Verdict.STOPPED, Verdict.CRASHED):
        state.keep(key, entry)


def _key(job: Job) -> str:
    """Return the key of a job, "" where its files cannot be read: then ``convert`` says why."""
    try:
        return key_of(job, __version__)
    except FileError:
        return ""


def _jobs(artefacts: Iterable[Artefact], out: Path, options: Options) -> Iterator[Job]:
    """Yield a job for each artefact, with a folder that no other one has."""
    taken: Counter[str] = Counter()
    for one in artefacts:
        word = _NOT_IN_NAMES.sub("_", one.name).strip("._") or "model"
        taken[word.lower()] += 1
        number = taken[word.lower()]
        folder = out / MODELS / (word if number == 1 else f"{word}-{number}")
        extra = (options.pages, options.libraries)
        yield Job(one.name, one.path, one.params, folder, options.convert, options.seconds, *extra)
