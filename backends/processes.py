"""Processes that are started beside this one, and end with all that they start.

    with started(line, stdout=subprocess.PIPE) as process:
        printed, _ = process.communicate(timeout=60)

Whatever ends the block ends the process and what it started. Where this process ends without a
word (``kill -9``), one with a ``lifeline`` ends itself: its standard input is a pipe that nobody
writes to, and that closes with whoever holds the other end. ``watch_lifeline`` is what it calls.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, Any

# What a process gets that is to end itself, and whoever waits for it.
_GRACE = 5.0


@dataclass(frozen=True, eq=False, slots=True)
class _Member:
    process: subprocess.Popen[bytes]
    lifeline: IO[bytes] | None

    def release(self) -> None:
        if self.lifeline is not None:
            self.lifeline.close()

    def end(self) -> None:
        self.release()
        if self.lifeline is not None:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(_GRACE)
        if self.process.poll() is None:
            _kill(self.process)


class Running:
    """Processes that run now, and can be ended together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._members: set[_Member] = set()
        self._ended = False

    def end(self) -> None:
        """End all of them, and those that are yet to come."""
        with self._lock:
            self._ended = True
            members = list(self._members)
        for one in members:
            one.release()
        for one in members:
            one.end()

    def _add(self, member: _Member) -> None:
        with self._lock:
            self._members.add(member)
            ended = self._ended
        if ended:
            member.end()

    def _discard(self, member: _Member) -> None:
        with self._lock:
            self._members.discard(member)


_ALL = Running()


@contextmanager
def started(
    line: Sequence[str], running: Running | None = None, *, lifeline: bool = False, **how: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process, known to ``running``, with options of ``subprocess.Popen``; end it with the
    block, and what it started as well.

    Raises OSError where it does not start.
    """
    if lifeline:
        how["stdin"] = subprocess.PIPE
    # A session of its own: all of it can be ended at once, and Ctrl-C is for this process to hear.
    process: subprocess.Popen[bytes] = subprocess.Popen(line, start_new_session=True, **how)
    member = _Member(process, process.stdin if lifeline else None)
    if lifeline:
        process.stdin = None  # or else whoever waits for the process closes it
    groups = [one for one in (running, _ALL) if one is not None]
    with process:
        try:
            for group in groups:
                group._add(member)
            yield process
        finally:
            member.end()
            for group in groups:
                group._discard(member)


def watch_lifeline() -> None:
    """End this process, and all that it started, when its standard input closes."""
    threading.Thread(target=_watch, daemon=True).start()


def _watch() -> None:
    with suppress(OSError):
        while os.read(0, 1):
            pass
    _ALL.end()
    if os.name == "posix" and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
