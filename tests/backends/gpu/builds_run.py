"""A thousand recorded programs, by both translators, with our kernels and without: does apache-tvm
write CUDA for them, and does nvrtc compile it?

    python tests/backends/gpu/builds_run.py --state FILE [--arch sm_80] [--count 1000] [--every 1]
    python tests/backends/gpu/builds_run.py --state FILE --report

Programs are drawn evenly over the recorded files, from a fixed seed. A line for each goes to FILE,
and what is there is not done again, so that this may be ended at any time. apache-tvm runs in
processes that may crash: a program whose process dies says so.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))

from golden_folder import golden_root
from recorded_cases import VALUED_FILES, typed_case

from relay2relax import translator
from relay2relax.backends.tvm.cuda import compile_cuda, device_sources, gpu_target, joined_sources
from relay2relax.core.errors import CompilerError, Relay2RelaxError

FILES = [*VALUED_FILES, "mutated", "passes", "msc"]
VIA: tuple[Literal["graph", "tir"], ...] = ("graph", "tir")
SCHEDULES = (None, "cuda")
SEED = 22
GROUP = 25
SECONDS = 180

Line = dict[str, Any]


def drawn(count: int) -> list[Line]:
    """Return ``count`` recorded programs, drawn evenly; the same at every call."""
    root = golden_root()
    assert root is not None, "recorded cases are absent"
    rng = random.Random(SEED)
    found: list[Line] = []
    files = sorted((list(_accepted(root / f"{name}.jsonl.gz")) for name in FILES), key=len)
    for number, lines in enumerate(files):
        share = (count - len(found)) // (len(files) - number)
        found += [json.loads(line) for line in rng.sample(lines, min(share, len(lines)))]
    rng.shuffle(found)
    return found


def _accepted(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        yield from (line for line in stream if '"verdict": "rejected"' not in line)


def expired(number: int, frame: object) -> None:
    raise TimeoutError(f"it takes more than {SECONDS} s")


def written(case: Line, arch: str) -> tuple[list[Line], list[tuple[int, str]]]:
    """Return a line for each way of a program, and the sources of those that were built, with the
    numbers of their lines.
    """
    lines: list[Line] = []
    sources: list[tuple[int, str]] = []
    try:
        mod, _ = typed_case(case)
    except (Relay2RelaxError, KeyError, AssertionError) as error:
        return [{"id": case["id"], "refused": f"it is not read: {_first(error)}"}], []
    made: dict[str, list[str]] = {}
    for via in VIA:
        for schedule in SCHEDULES:
            line: Line = {"id": case["id"], "via": via, "schedule": schedule, "arch": arch}
            begin = time.time()
            signal.alarm(SECONDS)
            try:
                script = translator.translate(mod, via, schedule=schedule and f"{schedule}:{arch}")
                text = str(script)
                if text not in made:
                    made[text] = device_sources(script, gpu_target("cuda", arch))
                sources += [(len(lines), one) for one in made[text]]
            except Exception as error:  # noqa: BLE001 (any other is a fault of ours, and counts)
                line["refused"] = _first(error)
            finally:
                signal.alarm(0)
            line["seconds"] = round(time.time() - begin, 2)
            lines.append(line)
    return lines, sources


def _first(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error)[:400]}"


def of_group(group: Sequence[Line], arch: str) -> list[Line]:
    """Return the lines of some programs, compiled together."""
    signal.signal(signal.SIGALRM, expired)
    lines: list[Line] = []
    sources: list[tuple[int, str]] = []
    for case in group:
        own, found = written(case, arch)
        sources += [(len(lines) + number, source) for number, source in found]
        lines += own
    alike: dict[str, list[int]] = {}
    for number, source in sources:
        alike.setdefault(source, []).append(number)
    for source, problem in refused(list(alike), arch):
        for number in alike[source]:
            lines[number]["refused"] = problem
    return lines


def refused(sources: Sequence[str], arch: str) -> Iterator[tuple[str, str]]:
    """Yield the sources that nvrtc refuses: halves of what it refuses are compiled apart."""
    if not sources:
        return
    try:
        compile_cuda(joined_sources(sources), arch)
    except CompilerError as error:
        half = len(sources) // 2
        if not half:
            yield sources[0], _first(error)
            return
        yield from refused(sources[:half], arch)
        yield from refused(sources[half:], arch)


def apart(group: Sequence[Line], arch: str) -> list[Line]:
    """Return the lines of some programs from a process of their own; where it dies, from one for
    each.
    """
    try:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            return pool.submit(of_group, group, arch).result()
    except BrokenProcessPool:
        if len(group) == 1:
            return [{"id": group[0]["id"], "refused": "the process died"}]
        return [line for case in group for line in apart([case], arch)]


def remembered(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def is_translated(line: Line) -> bool:
    """Whether there is a script; what neither translator takes says so by kinds of its own."""
    return not re.search(r"error\[R2R-0[1-7]|it is not read", line.get("refused", ""))


def report(lines: Iterable[Line]) -> None:
    """Print how many scripts build each way, and why others do not."""
    all_, failed, none = Counter[str](), Counter[str](), Counter[str]()
    reasons: dict[str, list[str]] = {}
    for line in lines:
        way = f"{line.get('via')} {line.get('schedule') or 'plain'} {line.get('arch')}"
        none[way] += not is_translated(line)
        all_[way] += is_translated(line)
        if "refused" in line:
            failed[way] += is_translated(line)
            reasons.setdefault(line["refused"].splitlines()[0], []).append(f"{line['id']} ({way})")
    for way, count in sorted(all_.items()):
        share = f"{1 - failed[way] / max(count, 1):.1%}"
        print(f"{way}: {count - failed[way]} of {count} build ({share}); {none[way]} are not translated")
    for reason, ids in sorted(reasons.items(), key=lambda one: -len(one[1])):
        print(f"{len(ids):4} {reason}\n     {', '.join(ids[:4])}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--arch", default="sm_80")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--report", action="store_true")
    args = parser.parse_args()
    if args.report:
        report(remembered(args.state))
        return
    done = {line["id"] for line in remembered(args.state)}
    todo = [case for case in drawn(args.count)[:: args.every] if case["id"] not in done]
    begin = time.time()
    for at in range(0, len(todo), GROUP):
        lines = apart(todo[at : at + GROUP], args.arch)
        with args.state.open("a") as stream:
            stream.writelines(json.dumps(line) + "\n" for line in lines)
        print(at + GROUP, "of", len(todo), f"{time.time() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
