"""Every operator whose page speaks of bad values, and a sample of all others, with values that
nobody expects: both backends give the same, and none ends the process.

The numpy executor is the oracle for Relay's executors on C and for the machine on both targets.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import operator_calls
import pytest
from operator_calls import EXAMPLES, RECORDS
from sweep import FULL, sampled

from relay2relax.ops.registry.refusal import Refusal

pytestmark = pytest.mark.compiler
PROGRAM = Path(operator_calls.__file__).with_name("hostile_values.py")
# What differs by design: random numbers, and an operator that has its arguments as attributes, too.
_APART = ("random.", "arange")
COMPUTED = [
    name
    for name, op in RECORDS.items()
    if name in EXAMPLES and not op.builtin and not isinstance(op.compute, Refusal) and not name.startswith(_APART)
]
SPOKEN_OF = [name for name in COMPUTED if RECORDS[name].on_bad_values]
OTHERS = [name for name in COMPUTED if not RECORDS[name].on_bad_values]


def problems(names: Sequence[str], seeds: int, work: Path) -> list[str]:
    """Return what goes wrong with operators, run in processes that are started again behind the
    operator that ended one.
    """
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "RELAY2RELAX_CACHE": str(work),
    }
    found: list[str] = []
    rest = list(names)
    while rest:
        command = [sys.executable, str(PROGRAM), str(seeds), *rest]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
        lines = done.stdout.splitlines()
        begun = [line[2:] for line in lines if line.startswith("@ ")]
        found += [line for line in lines if not line.startswith("@ ")]
        if not done.returncode:
            return found
        code = -done.returncode
        why = signal.Signals(code).name if code > 0 else done.stderr.strip().splitlines()[-1]
        found.append(f"{begun[-1] if begun else 'the beginning'}: {why}")
        rest = rest[len(begun) :] if begun else []
    return found


@pytest.mark.sweep(every=2)
def test_operators_that_speak_of_bad_values(tmp_path: Path) -> None:
    names = list(sampled(SPOKEN_OF, 1))
    assert problems(names, 2 if FULL else 1, tmp_path) == []


@pytest.mark.sweep(every=2)
def test_other_operators(tmp_path: Path) -> None:
    names = list(sampled(OTHERS, 8))
    assert problems(names, 2 if FULL else 1, tmp_path) == []
