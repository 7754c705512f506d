"""Many damaged files, one behind the other, each within limits."""

from __future__ import annotations

import faulthandler
import hashlib
import mmap
import os
import random
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from file_fuzzing.format import LONGEST, Format

SECONDS_PER_INPUT = 10
# What one input may take beside what the process has.
MEGABYTES = 2048
GENERATIONS = 4
# For whoever finds the process dead: what it has found, and the input that it checks, by number and
# length; then that input.
_NOTE = struct.Struct("<QQQ")


def _too_long(number: int, frame: object) -> NoReturn:
    raise TimeoutError(f"took more than {SECONDS_PER_INPUT} seconds")


def inputs(form: Format, count: int, seed: int) -> Iterator[tuple[int, bytes]]:
    """Yield ``count`` damaged files with their numbers; the same for the same seed."""
    seeds = form.seeds()
    pool = [(one, 0) for one in seeds]
    for number in range(count):
        # Each number draws by itself, so that a process can go on behind one that died.
        rng = random.Random(f"{form.name} {seed} {number}")
        data, _ = rng.choice(pool)
        for _ in range(rng.choice((1, 1, 1, 2, GENERATIONS))):
            data = form.damage(rng, data, seeds)
        yield number, data


def finding(form: Format, data: bytes) -> str:
    """Return what is wrong with how ``data`` was read, "" where nothing is."""
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(SECONDS_PER_INPUT)
    try:
        form.check(data)
    except Exception as error:  # noqa: BLE001 - any exception that is not ours is what is looked for
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error}"[:300] + f" ({Path(last.filename).name}:{last.lineno})"
    finally:
        signal.alarm(0)
    return ""


def run(form: Format, count: int, seed: int) -> int:
    """Check ``count`` damaged files in a process of their own, and in another one if it dies.

    Findings are written to ``fuzz-<format>-<hash>`` and printed; return how many there are.
    """
    begin = time.monotonic()
    # What the processes leave behind goes with the folder.
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory() as scratch:
        tempfile.tempdir = scratch
        try:
            findings = _run(form, count, seed)
        finally:
            tempfile.tempdir = before
    print(f"{form.name}: {count} files, {findings} findings, {time.monotonic() - begin:.0f} s", flush=True)
    return findings


def _run(form: Format, count: int, seed: int) -> int:
    note = mmap.mmap(-1, _NOTE.size + 4 * LONGEST)
    findings = first = 0
    while first < count:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                _limited()
                _check_all(form, count, seed, first, note)
                status = 0
            except BaseException:  # noqa: BLE001 - the process ends here, and says why
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                os._exit(status)
        _, status = os.waitpid(child, 0)
        found, number, size = _NOTE.unpack_from(note)
        findings += found
        if os.WIFEXITED(status):
            findings += os.WEXITSTATUS(status)
            break
        _write(form, note[_NOTE.size : _NOTE.size + size], f"died of signal {os.WTERMSIG(status)}")
        findings += 1
        first = number + 1
    return findings


def _limited() -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (MEGABYTES << 20), resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("error")
    faulthandler.disable()


def _check_all(form: Format, count: int, seed: int, first: int, note: mmap.mmap) -> None:
    findings = 0
    _NOTE.pack_into(note, 0, 0, first, 0)
    for number, data in inputs(form, count, seed):
        if number < first:
            continue
        _NOTE.pack_into(note, 0, findings, number, len(data))
        note[_NOTE.size : _NOTE.size + len(data)] = data
        problem = finding(form, data)
        if problem:
            findings += 1
            _write(form, data, problem)
    _NOTE.pack_into(note, 0, findings, count, 0)


def _write(form: Format, data: bytes, problem: str) -> None:
    name = f"fuzz-{form.name}-{hashlib.sha1(data).hexdigest()[:12]}"
    Path(name).write_bytes(data)
    print(f"{name}: {problem}", flush=True)
