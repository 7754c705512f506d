"""Every pass on every recorded program, which takes hours.

    python tests/relay_ir/semantics/run.py --state FOLDER [--files random] [--in-c] [--every 1]

A line for each case goes to a file in FOLDER; what stands there is not done again, so that a run
may be ended at any time.
"""

from __future__ import annotations

import argparse
import gzip
import json
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))

from golden_folder import golden_root
from known_differences import VALUES
from passes_swept.programs import InC, OnNumpy, Recorded, Tried, Way, tried, wrong
from passes_swept.trials import TRIALS
from recorded_cases import VALUED_FILES, has_data

from relay2relax.core.errors import Relay2RelaxError

# So many cases are compiled together.
GROUP = 25
SECONDS = 60


def expired(number: int, frame: object) -> None:
    raise TimeoutError(f"it runs for more than {SECONDS} s")


def cases(name: str, every: int) -> Iterator[dict[str, Any]]:
    root = golden_root()
    assert root is not None, "recorded cases are absent"
    with gzip.open(root / f"{name}.jsonl.gz", "rt", encoding="utf-8") as stream:
        read = (json.loads(line) for line in stream)
        found = [one for one in read if has_data(one) and one["id"] not in VALUES]
    return iter(found[::every])


def run(pairs: Sequence[tuple[Recorded, Tried]], way: Way) -> list[dict[str, str]]:
    """Run what passes made of some cases; return what is wrong, by passes."""
    found = []
    for recorded, one in pairs:
        problems = {}
        for program in one.programs:
            signal.alarm(SECONDS)
            try:
                text = wrong(program, recorded, way)
            except Relay2RelaxError as error:
                text = f"{type(error).__name__}: {error.diagnostics[0].title}"
            except Exception as error:  # noqa: BLE001
                text = f"foreign {type(error).__name__}: {error}"
            finally:
                signal.alarm(0)
            if text:
                problems[", ".join(program.names)] = text
        found.append(problems)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--files", default=",".join(VALUED_FILES))
    parser.add_argument("--passes", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--again", action="store_true", help="what was wrong")
    parser.add_argument("--in-c", action="store_true")
    args = parser.parse_args()
    signal.signal(signal.SIGALRM, expired)
    args.state.mkdir(exist_ok=True)
    trials = [one for one in TRIALS if args.passes in one.name]
    for name in args.files.split(","):
        state = args.state / f"{name}{'.c' if args.in_c else ''}.jsonl"
        lines = [json.loads(line) for line in state.read_text().splitlines()] if state.exists() else []
        if args.again:
            lines = [one for one in lines if not one["wrong"] and not one["faults"]]
            state.write_text("".join(json.dumps(one) + "\n" for one in lines))
        done = {one["key"] for one in lines}
        todo = [(f"{i} {one['id']}", one) for i, one in enumerate(cases(name, args.every))]
        todo = [one for one in todo if one[0] not in done]
        begin, counts = time.time(), Counter[str]()
        for at in range(0, len(todo), GROUP):
            group = todo[at : at + GROUP]
            pairs = []
            for _, case in group:
                recorded = Recorded.of(case)
                pairs.append((recorded, tried(recorded, trials)))
            if args.in_c:
                way: Way
                way = in_c = InC()
                try:
                    in_c.prepare(program.module for _, one in pairs for program in one.programs)
                except Relay2RelaxError as error:
                    print("compiled one by one:", error.diagnostics[0].title)
            else:
                way = OnNumpy()
            with state.open("a") as stream:
                for (key, _), (_, one), problems in zip(group, pairs, run(pairs, way), strict=True):
                    line: dict[str, object] = {
                        "key": key,
                        "wrong": problems,
                        "faults": one.faults,
                        "refused": one.refused,
                    }
                    line |= {"left": one.left, "made": [program.names for program in one.programs]}
                    stream.write(json.dumps(line) + "\n")
                    counts["cases"] += 1
                    counts["programs"] += len(one.programs)
                    counts["wrong"] += len(problems) + len(one.faults)
            print(name, dict(counts), f"of {len(todo)}, {time.time() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
