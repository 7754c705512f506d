"""Kernels of recorded operators in the checker: results, findings, and how much more than needed
they move.

    python tests/backends/gpu/operators_run.py --state FILE [--count 500] [--seed 22]
    python tests/backends/gpu/operators_run.py --state FILE --report

Cases are drawn from a seed; sixteen blocks of each kernel are watched. A line for each goes
to FILE, and what is there is not done again, so that this may be ended at any time.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))

from golden_folder import golden_root
from known_differences import TRANSLATIONS, VALUES
from recorded_cases import arguments, called, entry, has_data, problem, typed_case

from relay2relax import backends, translator
from relay2relax.backends.numpy.threads.launch import watching
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.ops import relay_op
from relay2relax.tir.analysis.pattern import OpPattern

SECONDS = 90
# Threads of a kernel from which on it is asked what it moves: fewer are less than a warp.
MANY = 32

Line = dict[str, Any]


def drawn(count: int, seed: int) -> list[Line]:
    root = golden_root()
    assert root is not None, "recorded cases are absent"
    with gzip.open(root / "operators.jsonl.gz", "rt", encoding="utf-8") as stream:
        cases = [
            one for one in map(json.loads, stream) if has_data(one) and one["id"] not in {**VALUES, **TRANSLATIONS}
        ]
    return random.Random(seed).sample(cases, min(count, len(cases)))


def expired(number: int, frame: object) -> None:
    raise TimeoutError(f"it takes more than {SECONDS} s")


def is_plain(name: str) -> bool:
    """Whether an operator is element-wise, a reduction or a normalisation, each element of its
    inputs read in order.
    """
    op = relay_op(name)
    kinds = (OpPattern.ELEMWISE, OpPattern.BROADCAST, OpPattern.COMM_REDUCE)
    return (
        "norm" in name or "softmax" in name or (op is not None and op.fusion is not None and op.fusion.pattern in kinds)
    )


def checked(case: Line) -> Line:
    names = sorted(called(case["text"]))
    line: Line = {"id": case["id"], "operators": names, "plain": all(map(is_plain, names))}
    signal.alarm(SECONDS)
    try:
        mod, function = typed_case(case)
        script = translator.via_graph(mod, schedule="cuda")
        with watching(most_blocks=16) as reports:
            machine = backends.VirtualMachine(backends.build(script, target="numpy"))
            line["wrong"] = problem(machine[entry(case)](*arguments(case, function)), case, mod)
    except (Relay2RelaxError, TimeoutError) as error:
        return {**line, "refused": f"{type(error).__name__}: {str(error)[:200]}"}
    finally:
        signal.alarm(0)
    line["findings"] = [str(finding) for report in reports for finding in report.findings]
    line["conflicts"] = sum(report.bank_conflicts for report in reports)
    line["coalescing"] = [
        (report.name, round(report.coalescing, 3)) for report in reports if report.blocks * report.threads >= MANY
    ]
    return line


def report(lines: Iterable[Line]) -> None:
    cases = list(lines)
    ran = [line for line in cases if "refused" not in line]
    right = [line for line in ran if not line["wrong"] and not line["findings"]]
    print(f"{len(cases)} cases, {len(ran)} ran, {len(right)} agree and nothing is found in them")
    for line in cases:
        if line not in right:
            print(line["id"], line["operators"], line.get("refused") or line["wrong"] or line["findings"][0])
    print("cases with conflicts in shared memory:", [line["id"] for line in ran if line["conflicts"]])
    kernels = [(line, *one) for line in ran if line["plain"] for one in line["coalescing"]]
    above = [(line["id"], line["operators"], name, ratio) for line, name, ratio in kernels if ratio > 1.2]
    print(f"{len(kernels)} plain kernels, {len(above)} move more than 1.2 of what they must")
    for one in above:
        print(*one)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=22)
    parser.add_argument("--report", action="store_true")
    args = parser.parse_args()
    known = [json.loads(line) for line in args.state.read_text().splitlines()] if args.state.exists() else []
    if args.report:
        report(known)
        return
    signal.signal(signal.SIGALRM, expired)
    done = {line["id"] for line in known}
    todo = [case for case in drawn(args.count, args.seed) if case["id"] not in done]
    for number, case in enumerate(todo):
        with args.state.open("a") as stream:
            stream.write(json.dumps(checked(case)) + "\n")
        if number % 50 == 0:
            print(number, "of", len(todo), flush=True)


if __name__ == "__main__":
    main()
