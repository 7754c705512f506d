"""Programs that die, or whose system calls fail, at each place where they touch files.

    with faults.Server(scratch, program) as server:   # one process, which has everything imported
        for operation in server.operations(program, folder):
            outcome = server.run(program, folder, faults.Fault(operation, "ENOSPC"))

A program is Python; it runs in a child of the server, with ``folder`` as its working folder, under
strace, which kills it or makes the one system call fail. Operations are the system calls whose text
names a path below ``folder``.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, cast

ERRORS = ("ENOSPC", "EACCES", "EIO")
KILL = "KILL"
# Calls that change files, at which a kill leaves something else than one call before.
_CHANGES = frozenset(
    {"chmod", "fchmod", "fchmodat", "ftruncate", "link", "linkat", "mkdir", "mkdirat", "openat", "pwrite64"}
    | {"rename", "renameat", "renameat2", "rmdir", "symlink", "unlink", "unlinkat", "write", "writev"}
)
_CALL = re.compile(r"(?P<name>\w+)\((?P<arguments>.*)", re.DOTALL)
_SECONDS = 60.0

_SERVER = """
import contextlib, gc, json, os, signal, sys
def run(program, arguments):
    sys.argv = list(arguments)
    try:
        exec(compile(program, "<program>", "exec"), {"__name__": "__main__"})
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0
for line in sys.stdin:
    given = json.loads(line)
    if given["warm"]:
        os.chdir(given["folder"])
        with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing), contextlib.redirect_stderr(nothing):
            run(given["program"], given["arguments"])
        gc.freeze()
        print("{}", flush=True)
        continue
    child = os.fork()
    if child == 0:
        code = 99
        try:
            os.chdir(given["folder"])
            output = os.open(given["screen"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            if given["stops"]:
                os.kill(os.getpid(), signal.SIGSTOP)
            code = run(given["program"], given["arguments"])
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)
    if given["stops"]:
        os.waitpid(child, os.WUNTRACED)
        print(json.dumps({"child": child}), flush=True)
    _, status = os.waitpid(child, 0)
    print(json.dumps({"code": os.waitstatus_to_exitcode(status)}), flush=True)
"""


@dataclass(frozen=True)
class Operation:
    """A system call: the ``number``-th of its name, from 1, and what strace says of it."""

    name: str
    number: int
    text: str

    @property
    def changes(self) -> bool:
        """Whether the call changes a file or a folder."""
        return self.name in _CHANGES and (self.name != "openat" or "O_CREAT" in self.text or "O_TRUNC" in self.text)


@dataclass(frozen=True)
class Fault:
    """What happens in the place of a system call: an error by its name, or KILL."""

    operation: Operation
    how: str

    def __str__(self) -> str:
        return f"{self.how} at {self.operation.name} {self.operation.number}: {self.operation.text[:160]}"


@dataclass(frozen=True)
class Outcome:
    """The exit code, which is below 0 where a signal ended the program, and what it printed."""

    code: int
    said: str


@dataclass(frozen=True)
class Program:
    """Python to run, and ``sys.argv``."""

    text: str
    arguments: tuple[str, ...] = ()


def command(line: str) -> Program:
    """Return the program that runs a command, such as ``convert model.relay``."""
    return Program("from relay2relax.cli import main\nmain()", ("relay2relax", *line.split()))


def missing() -> str:
    """Return why faults cannot be injected here, "" where they can be."""
    if sys.platform != "linux" or shutil.which("strace") is None:
        return "strace is not installed: no fault is injected into system calls"
    call = ["strace", "-f", "-o", os.devnull, "-e", "inject=rmdir:error=EIO", "rmdir", "/no/such/folder"]
    done = subprocess.run(call, capture_output=True, text=True)
    return "" if "Input/output error" in done.stderr else f"strace cannot trace here: {done.stderr[-200:]}"


class Server:
    """A process that runs programs in children; ``warm`` are run once in itself, so that children
    import nothing.
    """

    def __init__(self, scratch: Path, *warm: Program) -> None:
        self._scratch, self._warm = scratch, warm

    def __enter__(self) -> Server:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._to = cast("IO[str]", self._process.stdin)
        self._from = cast("IO[str]", self._process.stdout)
        for program in self._warm:
            self._ask(program, self._scratch, warm=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._to.close()
        self._process.wait(_SECONDS)
        self._from.close()

    def run(self, program: Program, folder: Path, fault: Fault | None = None) -> Outcome:
        """Run a program, with a fault where one is given."""
        if fault is None:
            answer = self._ask(program, folder)
        else:
            how = "signal=KILL" if fault.how == KILL else f"error={fault.how}"
            inject = f"inject={fault.operation.name}:{how}:when={fault.operation.number}"
            answer = self._traced(program, folder, f"trace={fault.operation.name}", "-e", inject)
            log = self._log.read_text(errors="replace")
            assert "(INJECTED)" in log or "killed by SIGKILL" in log, f"it did not happen: {fault}"
        return Outcome(answer["code"], self._screen.read_text(errors="replace"))

    def operations(self, program: Program, folder: Path) -> list[Operation]:
        """Run a program, and return the calls with which it touches what is below ``folder``."""
        # With `-y` the log says which paths descriptors have.
        answer = self._traced(program, folder, "trace=%file,%desc", "-y")
        assert answer["code"] == 0, self._screen.read_text()
        counts: Counter[str] = Counter()
        found: list[Operation] = []
        for line in self._log.read_text(errors="replace").splitlines():
            call = _CALL.match(line)
            if call:
                name = call["name"]
                counts[name] += 1
                if str(folder) in line or _is_relative(call["arguments"]):
                    found.append(Operation(name, counts[name], line))
        return found

    @property
    def _screen(self) -> Path:
        return self._scratch / "screen"

    @property
    def _log(self) -> Path:
        return self._scratch / "strace"

    def _ask(self, program: Program, folder: Path, *, warm: bool = False, stops: bool = False) -> dict[str, int]:
        request = {
            "program": program.text, "arguments": program.arguments, "folder": str(folder),
            "screen": str(self._screen), "warm": warm, "stops": stops,
        }  # fmt: skip
        self._to.write(json.dumps(request) + "\n")
        self._to.flush()
        return self._answer()

    def _answer(self) -> dict[str, int]:
        answer: dict[str, int] = json.loads(self._from.readline())
        return answer

    def _traced(self, program: Program, folder: Path, *options: str) -> dict[str, int]:
        child = self._ask(program, folder, stops=True)["child"]
        call = ["strace", "-o", str(self._log), "-p", str(child), "-e", *options]
        with subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as tracer:
            end = time.monotonic() + _SECONDS
            while "\nTracerPid:\t0\n" in Path(f"/proc/{child}/status").read_text():
                assert tracer.poll() is None, "strace ended before it began"
                assert time.monotonic() < end, "strace does not attach"
                time.sleep(0.001)
            os.kill(child, signal.SIGCONT)
            answer = self._answer()
            tracer.wait(_SECONDS)
        return answer


def _is_relative(arguments: str) -> bool:
    """Whether the call names a path in the working folder."""
    first = arguments.removeprefix("AT_FDCWD").lstrip("<>, ")
    return first.startswith('"') and not first.startswith('"/')
