"""Run TVM 0.18's own tests of Relay on the facade, file by file, and write what became of them.

    python tools/legacy_tests.py [--out REPORT [--resume]] FOLDER [PATTERN…]

FOLDER holds ``tests/python/relay`` and ``python/tvm/topi/testing`` of TVM at v0.18.0; nothing of it
is kept. PATTERN chooses files by their names. A file has an hour; the table says of each how
many tests passed, failed and were skipped, and of each failure the error. A file whose process ends
before its report counts with each of its functions, and the next file is run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

SECONDS = 3600


@dataclass
class Outcome:
    """What became of the tests of one file: names that passed, others with the reason."""

    passed: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


def first_line(text: str) -> str:
    """Return an error in a line that is short enough for a table."""
    line = next((one for one in text.strip().splitlines() if one.strip()), "")
    return re.sub(r"\s+", " ", line)[:200]


def run(file: Path, folder: Path, options: Sequence[str] = ()) -> Outcome:
    """Run the tests of a file in a process of their own."""
    outcome = Outcome()
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.xml"
        command = [
            sys.executable, "-m", "relay2relax.compat", "-m", "pytest", "-q", "--tb=short",
            "-p", "legacy_frontends", "-p", "no:cacheprovider", *options, f"--junitxml={report}",
            "--rootdir", str(folder), file.name,
        ]  # fmt: skip
        # The plugin beside this file, and what TVM's tests share.
        paths = os.pathsep.join([str(Path(__file__).parent), str(folder.resolve() / "tests/python")])
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        environment["RELAY2RELAX_TVM"] = str(folder.resolve())
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [paths, os.environ.get("PYTHONPATH")]))
        said = Path(scratch) / "said.txt"
        with said.open("w") as stream:
            ended = wait(
                subprocess.Popen(
                    command, cwd=file.parent, stdout=stream, stderr=stream, env=environment, start_new_session=True
                )
            )
        if not report.exists():
            text = first_line(said.read_text(encoding="utf-8", errors="replace")[-300:])
            return by_function(file, f"{ended}: {text}" if ended else text)
        for case in ElementTree.parse(report).getroot().iter("testcase"):
            add(outcome, case)
    if not outcome.passed and not outcome.skipped and list(outcome.failed.values()) == ["collection failure"]:
        return by_function(file, "collection failure")
    return outcome


def wait(process: subprocess.Popen[bytes]) -> str:
    """Wait for a process, or end it with its children; return what there is to say of its end."""
    try:
        code = process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return f"not done after {SECONDS} s"
    return f"ended by {signal.Signals(-code).name}" if code < 0 else ""


def by_function(file: Path, reason: str) -> Outcome:
    """Return the outcome of a file without a report: each of its functions fails for the reason."""
    names = re.findall(r"^def (test_\w+)\(", file.read_text(encoding="utf-8"), re.MULTILINE)
    return Outcome(failed=dict.fromkeys(names or [file.stem], reason))


def add(outcome: Outcome, case: ElementTree.Element) -> None:
    """Add a test to the outcome of its file."""
    name = case.get("name", "")
    for part in case:
        message = first_line(part.get("message", "") or part.text or "")
        if part.tag == "skipped":
            outcome.skipped[name] = message
            return
        if part.tag in ("failure", "error"):
            outcome.failed[name] = message
            return
    outcome.passed.append(name)


def page(found: dict[str, Outcome]) -> str:
    """Return the table as a page."""
    passed = sum(len(one.passed) for one in found.values())
    failed = sum(len(one.failed) for one in found.values())
    lines = [
        f"{passed} of {passed + failed} tests pass.",
        "",
        "| file | passed | failed | skipped |",
        "|---|---|---|---|",
    ]
    for name, one in found.items():
        lines.append(f"| {name} | {len(one.passed)} | {len(one.failed)} | {len(one.skipped)} |")
    return "\n".join(lines)


def known(report: Path) -> dict[str, object]:
    """Return what a report has so far."""
    outcomes: dict[str, object] = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}
    return outcomes


def keep(report: Path, outcomes: dict[str, object]) -> None:
    """Write a report at once, so that a run that is ended leaves a whole one."""
    half = report.with_suffix(".half")
    half.write_text(json.dumps(outcomes, indent=1), encoding="utf-8")
    half.replace(report)


def main() -> int:
    """Run what the arguments name, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("patterns", nargs="*", help="behind the options, or right behind the folder")
    parser.add_argument("--out", type=Path, help="add the outcomes to this JSON file")
    parser.add_argument("--resume", action="store_true", help="leave out the files that the JSON file has already")
    parser.add_argument("--root", default="tests/python/relay", help="the folder of tests, or tests/python/frontend")
    parser.add_argument("--noconftest", action="store_true", help="as pytest has it: Relax's asks for its own passes")
    given = parser.parse_args()
    root = given.folder / given.root
    asked = given.patterns or [""]
    named = {one: str(one.relative_to(root)) for one in sorted(root.rglob("test_*.py"))}
    files = [one for one, name in named.items() if any(re.search(pattern, name) for pattern in asked)]
    found: dict[str, Outcome] = {}
    for file in files:
        name = str(file.relative_to(root))
        if given.resume and given.out is not None and name in known(given.out):
            continue
        start = time.monotonic()
        found[name] = one = run(file, given.folder, ["--noconftest"] if given.noconftest else [])
        one.seconds = round(time.monotonic() - start, 1)
        counts = f"{len(one.passed)} passed, {len(one.failed)} failed, {len(one.skipped)} skipped"
        print(f"{name}: {counts}, {one.seconds} s", flush=True)
        if given.out is not None:
            keep(given.out, {**known(given.out), name: asdict(one)})
    print(page(found))
    for reason, count in Counter(reason for one in found.values() for reason in one.failed.values()).most_common(60):
        print(f"{count:5} {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
