"""Whatever a document says in one of its words, scripts of it say the same as with a harmless word.

Each string of Relay's text, JSON, the graph's JSON and TVMScript is one of the payloads. A document
is refused with an error of ours, or its scripts have the syntax tree that they have with a harmless
word there, whichever translator and schedule wrote them, and the C of them is the same C.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from functools import lru_cache
from itertools import cycle
from pathlib import Path
from typing import Literal, Optional

import pytest
import sweep
from injected.payloads import HARMLESS, MARK, PAYLOADS
from injected.programs import Field, changed, fields, weights
from injected.scripts import skeleton

from relay2relax import graph, relax_ir, relay_ir, translator
from relay2relax.core.errors import Relay2RelaxError

KINDS = ("text", "text-raw", "script", "json", "graph", "graph-script")
Way = tuple[Literal["graph", "tir"], Optional[str], str]
# How a document of Relay is translated: by which way, for what, in which dialect.
WAYS: tuple[Way, ...] = (
    ("graph", None, "tvm"),
    ("tir", None, "tvm"),
    ("graph", None, "tvm-0.18"),
    ("tir", None, "tvm-0.18"),
)
# Schedules take a hundred times as long; each field is scheduled once.
SCHEDULED: tuple[Way, ...] = (("graph", "cpu", "tvm"), ("tir", "cpu", "tvm"))
# So many payloads are tried of a field that takes any text, and of one that does not; they take
# turns. RELAY2RELAX_SWEEP=full tries all of them.
OF_FREE, OF_CLOSED = 12, 1


def script_of(field: Field, word: str, way: Way) -> str | None:
    """Return the script of the document with ``word`` in ``field``; None where it is refused."""
    via, schedule, dialect = way
    try:
        match field.kind:
            case "text" | "text-raw":
                module = relay_ir.parse(changed(field, word))
            case "json":
                module = relay_ir.load_json(changed(field, word))
            case "graph":
                found = graph.from_json(changed(field, word))
                module = graph.to_relay(found, weights())
            case "graph-script":
                found = graph.from_json(changed(field, word))
                return relax_ir.script_file(graph.to_relax(found, {}), dialect)
            case "script":
                return relax_ir.script_file(relax_ir.parse(changed(field, word)), dialect)
        return relax_ir.script_file(translator.translate(module, via, schedule=schedule), dialect)
    except Relay2RelaxError:
        return None


@lru_cache(maxsize=None)
def harmless(field: Field, way: Way) -> str | None:
    """Return the tree of the script with a harmless word; None where that is refused."""
    script = script_of(field, HARMLESS, way)
    return None if script is None else skeleton(script)


def accepted(kind: str) -> Iterator[tuple[Field, str, Way, str]]:
    """Yield each document that is not refused, and its script."""
    ways, scheduled, some = cycle(WAYS), cycle(SCHEDULED), cycle(PAYLOADS)
    every = fields(kind)
    for field in every if kind.startswith(("text", "script")) else sweep.sampled(every, 1):
        if harmless(field, WAYS[0]) is None:
            tried = [(next(some), next(ways)) for _ in range(OF_CLOSED)]
        elif sweep.FULL:
            tried = [(word, way) for word in PAYLOADS for way in (*WAYS, *SCHEDULED)]
        else:
            tried = [(next(some), next(ways)) for _ in range(max(1, OF_FREE // sweep.every(1)))]
            tried += [(next(some), next(scheduled))] if kind in ("text", "json") and sweep.LEVEL == "all" else []
        for word, way in tried:
            script = script_of(field, word, way)
            if script is not None:
                yield field, word, way, script


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.sweep(every=2)
def test_scripts_say_the_same_with_any_word(kind: str) -> None:
    found = set()
    for field, word, way, script in accepted(kind):
        expected = harmless(field, way)
        assert expected is not None, f"{field} takes {word!r} and not {HARMLESS!r} {way}"
        assert skeleton(script) == expected, f"{field}, {word!r}, {way}:\n{script}"
        found.add(field)
    assert found or kind == "text-raw"


RUNNER = """
import builtins, importlib.util, sys
from pathlib import Path
from typing import Literal, Optional

from tvm.script import ir, relax, tirx

ran = []
sys.addaudithook(lambda event, args: ran.append(event) if event in ("os.system", "subprocess.Popen") else None)
read = 0
for path in sorted(Path(sys.argv[1]).glob("*.py")):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        read += 1
    except Exception as error:
        print(path.name, type(error).__name__, str(error).splitlines()[:1])
    if ran or hasattr(builtins, sys.argv[2]):
        sys.exit(f"{path.name} ran something: {ran}")
print("read", read)
"""


@pytest.mark.tvm
@pytest.mark.sweep(every=2)
def test_apache_tvm_reads_scripts_and_nothing_runs(tmp_path: Path) -> None:
    """Python runs what stands in a script around what TVM reads: annotations of parameters."""
    scripts = dict.fromkeys(
        script
        for kind in ("text", "script")
        for field, _, (_, schedule, dialect), script in accepted(kind)
        if schedule is None and dialect == "tvm"
    )
    step = 4 if sweep.LEVEL == "sample" else 1
    chosen = list(scripts)[::step]
    for number, script in enumerate(chosen):
        (tmp_path / f"script_{number}.py").write_text(script)
    (tmp_path / "runner").write_text(RUNNER)
    done = subprocess.run(
        [sys.executable, tmp_path / "runner", tmp_path, MARK], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[-1]) >= len(chosen) // 2, done.stdout
