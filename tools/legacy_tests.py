"""Run TVM 0.18's own tests of Relay on the facade, file by file, and write what became of them.

    python tools/legacy_tests.py FOLDER [--page PAGE] [PATTERN…]

FOLDER holds ``tests/python/relay`` and ``python/tvm/topi/testing`` of TVM at v0.18.0; nothing of it
is kept. PATTERN chooses files by their names. A file has an hour; the table says of each how
many tests passed, failed and were skipped, and of each failure the error.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
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
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "RELAY2RELAX_TVM": str(folder.resolve())}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [paths, os.environ.get("PYTHONPATH")]))
        try:
            done = subprocess.run(
                command, cwd=file.parent, capture_output=True, text=True, timeout=SECONDS, env=environment, check=False
            )
        except subprocess.TimeoutExpired:
            outcome.failed[file.stem] = f"not done after {SECONDS} s"
            return outcome
        if not report.exists():
            outcome.failed[file.stem] = first_line((done.stderr or done.stdout)[-300:])
            return outcome
        for case in ElementTree.parse(report).getroot().iter("testcase"):
            add(outcome, case)
    return by_function(outcome, file)


def by_function(outcome: Outcome, file: Path) -> Outcome:
    """Return the outcome of a file that could not be imported with each of its functions."""
    if outcome.passed or outcome.skipped or list(outcome.failed.values()) != ["collection failure"]:
        return outcome
    names = re.findall(r"^def (test_\w+)\(", file.read_text(encoding="utf-8"), re.MULTILINE)
    return Outcome(failed=dict.fromkeys(names or outcome.failed, "collection failure"))


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


def main() -> int:
    """Run what the arguments name, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("patterns", nargs="*", help="behind the options, or right behind the folder")
    parser.add_argument("--out", type=Path, help="add the outcomes to this JSON file")
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
        found[name] = one = run(file, given.folder, ["--noconftest"] if given.noconftest else [])
        print(f"{name}: {len(one.passed)} passed, {len(one.failed)} failed, {len(one.skipped)} skipped", flush=True)
        if given.out is not None:
            known = json.loads(given.out.read_text()) if given.out.exists() else {}
            known[name] = asdict(one)
            given.out.write_text(json.dumps(known, indent=1))
    print(page(found))
    for reason, count in Counter(reason for one in found.values() for reason in one.failed.values()).most_common(60):
        print(f"{count:5} {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
