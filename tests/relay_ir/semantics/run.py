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
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))

from golden_folder import golden_root
from known_differences import VALUES
from model_cases import recorded_models
from passes_swept.programs import InC, OnNumpy, Program, Recorded, Tried, Way, tried, wrong
from passes_swept.trials import TRIALS, Trial
from recorded_cases import VALUED_FILES, has_data

from relay2relax.core.errors import Relay2RelaxError

MODELS = "models"
# So many cases are compiled together; a model, with its weights, alone.
GROUP = 25
SECONDS = 120


def expired(number: int, frame: object) -> None:
    raise TimeoutError(f"it runs for more than {SECONDS} s")


def cases(name: str, every: int) -> Iterator[dict[str, Any]]:
    """Yield the cases of a file that have data, or the whole models."""
    if name == MODELS:
        return islice(recorded_models(), None, None, every)
    root = golden_root()
    assert root is not None, "recorded cases are absent"
    with gzip.open(root / f"{name}.jsonl.gz", "rt", encoding="utf-8") as stream:
        read = (json.loads(line) for line in stream)
        found = [one for one in read if has_data(one) and one["id"] not in VALUES]
    return iter(found[::every])


def run(pairs: Sequence[tuple[Recorded, Tried]], way: Way) -> list[tuple[int, dict[str, str]]]:
    """Run what passes made of some cases; return how many programs ran, and what is wrong, by
    passes.

    In C a program that calls only kernels of programs that agreed is not run.
    """
    found = []
    for recorded, one in pairs:
        problems, ran = {}, 0
        for program in one.programs:
            if isinstance(way, InC) and not way.is_new(program.module):
                continue
            ran += 1
            text = outcome(program, recorded, way)
            if text:
                problems[", ".join(program.names)] = text
            elif isinstance(way, InC):
                way.agreed(program.module)
        found.append((ran, problems))
    return found


def outcome(program: Program, recorded: Recorded, way: Way) -> str:
    signal.alarm(SECONDS)
    try:
        return wrong(program, recorded, way)
    except Relay2RelaxError as error:
        return f"{type(error).__name__}: {error.diagnostics[0].title}"
    except Exception as error:  # noqa: BLE001
        return f"foreign {type(error).__name__}: {error}"
    finally:
        signal.alarm(0)


def remembered(state: Path, again: bool) -> set[str]:
    """Return the cases of which a file has a line; with ``again`` those that were wrong are left
    out of it.
    """
    lines = [json.loads(line) for line in state.read_text().splitlines()] if state.exists() else []
    if again:
        lines = [one for one in lines if not one["wrong"] and not one["faults"]]
        state.write_text("".join(json.dumps(one) + "\n" for one in lines))
    return {one["key"] for one in lines}


def group_of_cases(
    group: Sequence[tuple[str, dict[str, Any]]], trials: Sequence[Trial], way: Way
) -> Iterator[dict[str, Any]]:
    """Try passes on some cases together; yield a line for each."""
    pairs = []
    for _, case in group:
        recorded = Recorded.of(case)
        pairs.append((recorded, tried(recorded, trials)))
    if isinstance(way, InC):
        new = [program.module for _, one in pairs for program in one.programs if way.is_new(program.module)]
        try:
            way.prepare(new)
        except Relay2RelaxError as error:
            print("compiled one by one:", error.diagnostics[0].title)
    for (key, _), (_, one), (ran, problems) in zip(group, pairs, run(pairs, way), strict=True):
        made = [program.names for program in one.programs]
        found = {"wrong": problems, "faults": one.faults, "refused": one.refused, "left": one.left, "made": made}
        yield {"key": key, "ran": ran, **found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--files", default=",".join([*VALUED_FILES, MODELS]))
    parser.add_argument("--passes", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--again", action="store_true", help="what was wrong")
    parser.add_argument("--in-c", action="store_true")
    args = parser.parse_args()
    signal.signal(signal.SIGALRM, expired)
    args.state.mkdir(exist_ok=True)
    trials = [one for one in TRIALS if args.passes in one.name]
    known = args.state / "kernels"
    proven = set(known.read_text().split()) if known.exists() else set[str]()
    for name in args.files.split(","):
        state = args.state / f"{name}{'.c' if args.in_c else ''}.jsonl"
        done = remembered(state, args.again)
        todo = [(f"{i} {one['id']}", one) for i, one in enumerate(cases(name, args.every))]
        todo = [one for one in todo if one[0] not in done]
        begin, counts = time.time(), Counter[str]()
        size = 1 if name == MODELS else GROUP
        for at in range(0, len(todo), size):
            lines = list(group_of_cases(todo[at : at + size], trials, InC(proven=proven) if args.in_c else OnNumpy()))
            with state.open("a") as stream:
                stream.writelines(json.dumps(line) + "\n" for line in lines)
            known.write_text("\n".join(proven))
            for line in lines:
                counts.update(cases=1, programs=len(line["made"]), ran=line["ran"])
                counts["wrong"] += len(line["wrong"]) + len(line["faults"])
            print(name, dict(counts), f"of {len(todo)}, {time.time() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
