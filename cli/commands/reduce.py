"""``relay2relax reduce``: the smallest part of a model that still fails as the whole does."""

from __future__ import annotations

import math
import os
import re
import shlex
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

from relay2relax import parity
from relay2relax.cli import files, outcome, screen
from relay2relax.cli.options.values import Values
from relay2relax.core.amounts import counted
from relay2relax.core.npz import npz_bytes
from relay2relax.core.output import Content, OutputFolder
from relay2relax.parity import Reduced, Try
from relay2relax.parity.checks import INPUTS, MODEL
from relay2relax.relay_ir.text.printer import print_module
from relay2relax.translator import RecordedPart

_SCRIPT = "check.py"
# The smallest part is written again after so long.
_SECONDS = 5.0
# Words of the model do not get into it: it reads the files beside it.
_TEXT = '''"""Compares Relay with both translations of the model beside this file."""

import sys
from pathlib import Path

from relay2relax import relay_ir, translator

here = Path(__file__).parent
model = relay_ir.infer_type(relay_ir.load(here / "model.relay"))
inputs = relay_ir.load_params(here / "inputs.npz")
report = translator.compare(model, inputs=inputs, backends=BACKENDS)
for row in report.rows:
    print(row.program, row.backend, row.verdict, row.difference.reason)
sys.exit(0 if report.agrees else 1)
'''

_COMMAND = '''"""Runs the command that fails, with the files beside this one, where reduce was called."""

import subprocess
import sys
from pathlib import Path

here = Path(__file__).resolve().parent
words = WORDS
for name, file in (("{model}", "model.relay"), ("{inputs}", "inputs.npz")):
    words = [word.replace(name, str(here / file)) for word in words]
try:
    code = subprocess.run(words, cwd=here / CALLED, timeout=SECONDS).returncode
except subprocess.TimeoutExpired:
    sys.exit("it takes more than SECONDS s")
sys.exit(code if code >= 0 else 128 - code)
'''


@dataclass(frozen=True, slots=True)
class How:
    """What a part has to fail: a ``command``, or "" for a comparison on ``backends``; a command has
    so many ``seconds``.
    """

    command: str
    seconds: float
    backends: tuple[str, ...]

    def check(self) -> parity.Check:
        """Return the check that the command line asks for."""
        if self.command:
            return parity.command_check(self.command, self.seconds)
        return parity.comparison_check(self.backends)


def run(values: Values, how: How, out: Path | None, resume: bool, force: bool, as_json: bool) -> None:
    """Write the smallest part that fails, its inputs, and a script that shows it.

    The smallest part so far is written every few seconds; ``resume`` begins with that of an earlier
    run. Ends with 130 after Ctrl-C.
    """
    folder = files.output_folder("reduce", values.model, out, others=[values.params, values.inputs], force=force)
    folder.check((MODEL, INPUTS, _SCRIPT))
    kept = _Kept(folder, how)
    if resume and (folder.path / MODEL).is_file():
        outcome.note(f"goes on with {folder.path / MODEL}")
        values = replace(values, model=folder.path / MODEL, params=None, inputs=folder.path / INPUTS, dims=[])
    module, arguments = values.read()
    with screen.progress("reducing"):
        found = parity.reduce(module, arguments, how.check(), kept.tell)
    written = folder.write(_contents(found, how, folder.path))
    if as_json:
        outcome.deliver({**found.to_json(), "folder": str(folder.path), "files": [path.name for path in written]})
    else:
        print(found)
        for path in written:
            screen.tell(f"wrote {path}")
    if found.stopped:
        outcome.warn("stopped: there may be a smaller part")
        sys.exit(130)


@dataclass(slots=True)
class _Kept:
    """The smallest part so far, on disk: a search that is killed goes on from there."""

    folder: OutputFolder
    how: How
    # The first one is written at once.
    last: float = -math.inf

    def tell(self, one: Try) -> None:
        """Say what was tried, where a person looks on, and keep it now and then."""
        if sys.stderr.isatty():
            word = "fails" if one.failed else "does not"
            screen.detail(f"try {one.number}: {counted(one.calls, 'call')}, {word}")
        if one.part is not None and time.monotonic() - self.last > _SECONDS:
            self.folder.write(_contents(one.part, self.how, self.folder.path))
            self.last = time.monotonic()


def _contents(found: Reduced | RecordedPart, how: How, folder: Path) -> dict[str, Content]:
    contents: dict[str, Content] = {
        MODEL: print_module(found.module, exact_floats=True).encode(),
        INPUTS: npz_bytes(dict(found.inputs)),
    }
    contents[_SCRIPT] = _script(how, folder).encode()
    return contents


def _script(how: How, folder: Path) -> str:
    """Return a script that fails as the part in ``folder`` does."""
    if not how.command:
        return _TEXT.replace("BACKENDS", repr(how.backends))
    called = os.path.relpath(os.getcwd(), os.path.realpath(folder))
    given = {"CALLED": repr(called), "SECONDS": f"{how.seconds:g}", "WORDS": repr(shlex.split(how.command))}
    return re.sub("|".join(given), lambda found: given[found[0]], _COMMAND)
