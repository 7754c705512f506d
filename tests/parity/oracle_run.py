"""Every recorded program with floats, on numpy and in C: where results are apart, is the verdict of
float64 the right one?

    python tests/parity/oracle_run.py --state FOLDER [--files operators] [--seeds 1]
    python tests/parity/oracle_run.py --state FOLDER [--seeds 1] --verify [--most 1500000]

A line for each run that is apart by more than 4 units in the last place goes to a file in FOLDER.
With ``--verify`` those are computed in numbers of 120 bits, where they compute at most so many, and
the verdicts held against that: of one run of each case first, then of the others. What was done is
not done again, so that this may be ended at any time; all of it takes an hour or two.
"""

from __future__ import annotations

import argparse
import gzip
import json
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from golden_folder import golden_root
from known_differences import VALUES
from oracle.apart import Run, both, may_be_apart, of_group, ulps
from oracle.exact import MOST, NotExactError, exact_outputs, in_bits, share
from passes_swept.programs import InC
from recorded_cases import VALUED_FILES

from relay2relax import parity
from relay2relax.core.dtype import Array
from relay2relax.core.errors import Relay2RelaxError

# Programs of others are run on what is drawn.
FILES = [*VALUED_FILES, "mutated", "passes", "msc"]
GROUP = 25
SECONDS = 120
APART = 4.0


def expired(number: int, frame: object) -> None:
    raise TimeoutError(f"it runs for more than {SECONDS} s")


def cases(name: str) -> Iterator[dict[str, Any]]:
    root = golden_root()
    assert root is not None, "recorded cases are absent"
    with gzip.open(root / f"{name}.jsonl.gz", "rt", encoding="utf-8") as stream:
        for line in stream:
            one = json.loads(line)
            if one.get("verdict") != "rejected" and one["id"] not in VALUES and may_be_apart(one):
                yield one


def looked_at(run: Run, in_c: InC) -> list[dict[str, Any]]:
    """Return a line for each output of a run that is apart."""
    results = both(run, in_c)
    apart = {output: gap for output in range(len(results["numpy"])) if (gap := ulps(results, output)) > APART}
    if not apart:
        return []
    judged = {one.output: one for one in parity.judge(run.recorded.module, run.recorded.given, results)}
    return [
        {
            "id": run.case["id"],
            "seed": run.seed,
            "output": output,
            "ulps": gap,
            "dtype": str(results["c"][output].dtype),
            "errors": dict(judged[output].errors) if output in judged else None,
        }
        for output, gap in apart.items()
    ]


def attempted(run: Run, in_c: InC) -> list[dict[str, Any]]:
    signal.alarm(SECONDS)
    try:
        return looked_at(run, in_c)
    except Relay2RelaxError as error:
        return [{"id": run.case["id"], "seed": run.seed, "refused": error.diagnostics[0].title}]
    except (TimeoutError, KeyError, MemoryError) as error:
        return [{"id": run.case["id"], "seed": run.seed, "refused": f"{type(error).__name__}: {error}"}]
    finally:
        signal.alarm(0)


def group_of_cases(group: Sequence[dict[str, Any]], seeds: Sequence[int]) -> list[dict[str, Any]]:
    found, in_c = of_group(group, seeds)
    lines = [line for run in found for line in attempted(run, in_c)]
    return [*lines, {"looked_at": len(found), "cases": len({run.case["id"] for run in found})}]


def remembered(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def verified(run: Run, in_c: InC, most: int) -> list[dict[str, Any]]:
    """Return a line for each output of a run that is apart: whether the verdict is right."""
    head = {"id": run.case["id"], "seed": run.seed}
    signal.alarm(SECONDS)
    try:
        results = both(run, in_c)
        with in_bits(120):
            exact = exact_outputs(run.recorded.module, run.recorded.given, most)
        judged = parity.judge(run.recorded.module, run.recorded.given, results)
        return [
            {**head, "output": one.output, **verdict(one, results, exact[one.output])}
            for one in judged
            if ulps(results, one.output) > APART
        ]
    except (NotExactError, Relay2RelaxError, TimeoutError, ZeroDivisionError, TypeError, ValueError) as error:
        return [{**head, "not exact": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"}]
    finally:
        signal.alarm(0)


def verdict(judged: parity.Judgement, results: Mapping[str, Sequence[Array]], exact: Any) -> dict[str, Any]:
    errors = {name: share(arrays[judged.output], exact) for name, arrays in results.items()}
    least = min(errors.values())
    # Those that are as near but for what float64 itself rounds.
    nearest = [name for name, one in errors.items() if one - least < 1e-13]
    off = max(abs(errors[name] - judged.errors[name]) for name in errors)
    return {"right": bool(set(judged.nearest) <= set(nearest)), "exact": errors, "off": off}


def verify(state: Path, name: str, seeds: int, every: bool, most: int) -> None:
    """Hold the verdicts of a file against exact numbers: of a run of each case, or of every run."""
    target = state / f"{name}.verified"
    done = {(one["id"], one["seed"]) for one in remembered(target)}
    apart: dict[str, list[int | None]] = {}
    for one in remembered(state / f"{name}.jsonl"):
        if "ulps" in one:
            apart.setdefault(one["id"], []).append(one["seed"])
    wanted = {(id, seed) for id, found in apart.items() for seed in (found if every else found[:1])} - done
    todo = [one for one in cases(name) if one["id"] in {id for id, _ in wanted}]
    for at in range(0, len(todo), GROUP):
        found, in_c = of_group(todo[at : at + GROUP], range(seeds))
        for run in found:
            if (run.case["id"], run.seed) in wanted:
                with target.open("a") as stream:
                    stream.writelines(json.dumps(line) + "\n" for line in verified(run, in_c, most))
        print(name, at + GROUP, "of", len(todo), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--files", default=",".join(FILES))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--verify", action="store_true")
    parser.add_argument("--most", type=int, default=MOST)
    args = parser.parse_args()
    signal.signal(signal.SIGALRM, expired)
    args.state.mkdir(exist_ok=True)
    names = args.files.split(",")
    if args.verify:
        for every in (False, True):
            for name in names:
                verify(args.state, name, args.seeds, every, args.most)
        return
    for name in names:
        state = args.state / f"{name}.jsonl"
        done = sum("looked_at" in one for one in remembered(state))
        todo = list(cases(name))
        begin = time.time()
        for at in range(done * GROUP, len(todo), GROUP):
            lines = group_of_cases(todo[at : at + GROUP], range(args.seeds))
            with state.open("a") as stream:
                stream.writelines(json.dumps(line) + "\n" for line in lines)
            print(name, at + GROUP, "of", len(todo), f"{time.time() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
