"""One measurement in a process of its own, so that thread pools, memory and failures stay apart.

    python benchmarks/measure.py WHAT SECONDS CASE …

prints a line of JSON for each case: the name of a recorded model or a program of ``micro.py``, or
the path of a larger model's folder. WHAT is a peer of ``peers.py``, or one of ``MEASUREMENTS``.
``ask`` starts such a process and does not wait for it beyond a limit.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from common import Case, median_seconds, model_case, warm_up
from golden_folder import golden_root
from threads import ENVIRONMENT


def ask(
    what: str, cases: Sequence[str], seconds: float, limit: float, environment: Mapping[str, str] | None = None
) -> dict[str, dict[str, Any]]:
    """Return what was measured by case.

    What went wrong, or was not waited for, under ``failed``.
    """
    command = [sys.executable, str(Path(__file__).resolve()), what, str(seconds), *cases]
    given = {**os.environ, **ENVIRONMENT, **(environment or {})}
    try:
        done = subprocess.run(command, env=given, capture_output=True, text=True, timeout=limit, check=False)
        output, failed = done.stdout, (done.stderr.strip().splitlines() or ["no output"])[-1]
    except subprocess.TimeoutExpired as stopped:
        printed = stopped.stdout or b""
        output = printed.decode() if isinstance(printed, bytes) else printed
        failed = f"over {limit:.0f} s"
    lines = [line for line in output.splitlines() if line.startswith('{"case"')]
    found = {one.pop("case"): one for one in map(json.loads, lines)}
    return {case: found.get(case, {"failed": failed}) for case in cases}


def find_case(name: str) -> Case:
    """Return a recorded model, or a program of ``micro.py``."""
    import micro

    root = golden_root()
    if root is not None and (root / "models" / name).is_dir():
        return model_case(name)
    return micro.case(name)


def peer(name: str, case: Case | Path, seconds: float) -> dict[str, Any]:
    """Return what building took, the median seconds of a run, and the bytes by which the process
    grew at most; outputs that are not right are a failure.

    A folder of ``large/prepare.py`` is a case, too.
    """
    from large.model import LargeModel
    from peers import PEERS, Model

    from relay2relax import backends

    small = warm_up()
    if name == "c":
        backends.build(small, target="c")
    model = LargeModel(case) if isinstance(case, Path) else Model(case)
    before = resident("VmRSS", reset=True)
    ready = PEERS[name](model)
    found = ready.arrays(ready.run())
    if wrong := model.wrong(found):
        return {"failed": f"another result: {wrong}"}
    digest = hashlib.sha256(b"".join(one.tobytes() for one in found)).hexdigest()
    run = median_seconds(ready.run, seconds)
    # What is done with bytes has another peak.
    work = (
        {}
        if ready.operations is None or model.of_bytes
        else {"operations": ready.operations(), "bytes": model.moved(found)}
    )
    return {**ready.seconds, **work, "run": run, "digest": digest, "grown": resident("VmHWM") - before}


def resident(what: str, reset: bool = False) -> int:
    """Return bytes of memory that this process holds, ``VmRSS``, or held at most, ``VmHWM`` since
    that was ``reset``.

    On Linux; zero elsewhere.
    """
    status, peak = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not peak.exists():
        return 0
    if reset:
        peak.write_text("5")
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith(what)) * 1024


def _dynamic(case: Case, seconds: float) -> dict[str, Any]:
    import dynamic_batch

    return dynamic_batch.measure(case, seconds)


def _memory(case: Case, seconds: float) -> dict[str, Any]:
    import running_memory

    return running_memory.measure(case)


MEASUREMENTS: dict[str, Callable[[Case, float], dict[str, Any]]] = {"dynamic": _dynamic, "memory": _memory}


def main() -> None:
    """Measure what the command line names."""
    what, seconds, *cases = sys.argv[1:]
    for name in cases:
        if what in MEASUREMENTS:
            found = MEASUREMENTS[what](find_case(name), float(seconds))
        else:
            found = peer(what, Path(name) if os.path.isabs(name) else find_case(name), float(seconds))
        print(json.dumps({"case": name, **found}), flush=True)


if __name__ == "__main__":
    main()
