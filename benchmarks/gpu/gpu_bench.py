"""``make bench-gpu``: the recorded models on a GPU, by our kernels, apache-tvm's default, PyTorch.

Every model and side has a process of its own. So many prepare at once, then each measures alone.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import selectors
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import Options, geometric_mean, model_names, table

_CHILD = Path(__file__).with_name("gpu_child.py")
# What each side needs; ONNX Runtime has no part here that runs on GPUs.
_NEEDED = {"tvm": "tvm", "torch": "torch"}
_FORMS = {
    "ours": "script", "ours_captured": "script, graphs",
    "default": "TVM's default", "default_captured": "default, graphs",
    "eager": "eager", "compile": "compile", "compile_graphs": "compile, graphs",
}  # fmt: skip


class Child:
    """A process that measures a model."""

    def __init__(self, side: str, model: str, rest: list[str], log: Path) -> None:
        self.side, self.model = side, model
        self.log = (log / f"{model}-{side}.log").open("w")
        command = [sys.executable, str(_CHILD), side, model, *rest]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True
        )

    def line(self, limit: float) -> dict[str, Any] | None:
        """Return what the process says next; None where it has ended or takes longer than ``limit``
        seconds.
        """
        assert self.process.stdout is not None
        with selectors.DefaultSelector() as waiting:
            waiting.register(self.process.stdout, selectors.EVENT_READ)
            if not waiting.select(max(limit, 0.0)):
                return None
        text = self.process.stdout.readline()
        return dict(json.loads(text)) if text else None

    def go(self) -> None:
        """Let the process measure; one that has ended hears nothing."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            print(f"{self.model} {self.side} has ended before its turn", file=sys.stderr)

    def end(self) -> None:
        """Stop the process, where it still runs."""
        self.process.kill()
        self.process.wait()
        self.log.close()


def measure(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Return what was measured, by model, side and form; it is written to ``folder`` after every
    model.
    """
    names = model_names(Options(models=tuple(given.models.split(",")) if given.models else ()))
    pairs: list[tuple[str, str]] = []
    for one in given.sides.split(","):
        side, _, only = one.partition("=")
        if importlib.util.find_spec(_NEEDED[side]) is None:
            print(f"{_NEEDED[side]} is not installed: it is left out")
            continue
        pairs += [(side, name) for name in (only.split("+") if only else names)]
    found: dict[str, Any] = {name: {} for name in names}
    begin = time.perf_counter()
    for start in range(0, len(pairs), given.jobs):
        ready = prepared(pairs[start : start + given.jobs], given, folder, found)
        print(f"prepared {len(ready)} after {time.perf_counter() - begin:.0f} s", flush=True)
        for child in ready:
            found[child.model][child.side] = result = turn(child, given)
            (folder / "results.json").write_text(json.dumps(found, indent=1))
            print(f"{child.model} {child.side}: {summary(result)}", flush=True)
    print(f"all measured after {time.perf_counter() - begin:.0f} s", flush=True)
    return found


def prepared(
    pairs: Sequence[tuple[str, str]], given: argparse.Namespace, folder: Path, found: dict[str, Any]
) -> list[Child]:
    """Return processes that are ready to measure; of others ``found`` says that they are not."""
    rest = ["--device", given.device, "--seconds", str(given.seconds), "--profile", given.profile]
    rest += ["--forms", given.forms, "--limit", str(given.limit)]
    children = [Child(side, name, rest, folder) for side, name in pairs]
    ready: list[Child] = []
    end = time.perf_counter() + given.limit + 10
    for child in children:
        if child.line(end - time.perf_counter()) is None:
            found[child.model][child.side] = {"failed": f"not ready after {given.limit:.0f} s"}
            child.end()
        else:
            ready.append(child)
    return ready


def turn(child: Child, given: argparse.Namespace) -> dict[str, Any]:
    """Return what a process measures."""
    child.go()
    said = child.line(given.limit)
    result: dict[str, Any] = {"failed": "no result"} if said is None else said["result"]
    if given.profile in result:
        result[given.profile] |= child.line(20) or {}
    child.end()
    return result


def summary(side: dict[str, Any]) -> str:
    """Return the milliseconds of each form in one line: waited for, and in a row."""
    parts = []
    for form, one in side.items():
        if form == "failed" or "failed" in one:
            parts.append(f"{form} failed: {str(one if form == 'failed' else one['failed'])[:200]}")
        else:
            mark = "" if one["agrees"] else f" DIFFERS by {one['error']:.1e}"
            parts.append(f"{form} {one['alone'] * 1e3:.3f}/{one['row'] * 1e3:.3f}{mark}")
    return ", ".join(parts)


def show(found: dict[str, Any]) -> None:
    """Print the milliseconds of a run that is waited for, and our script's over those of others."""
    rows, times = [], {}
    for name, sides in found.items():
        forms = {form: one for side in sides.values() for form, one in side.items() if isinstance(one, dict)}
        times[name] = {form: one["alone"] for form, one in forms.items() if one.get("agrees")}
        rows.append([name, *(f"{times[name][f] * 1e3:.3f}" if f in times[name] else "" for f in _FORMS)])
    table("milliseconds on the GPU", ["model", *_FORMS.values()], rows)
    for other in ("default", "compile"):
        ratios = [one["ours"] / one[other] for one in times.values() if "ours" in one and other in one]
        if ratios:
            mean, most = geometric_mean(ratios), max(ratios)
            print(f"script over {_FORMS[other]}: {mean:.2f} in the mean of {len(ratios)} models, at most {most:.2f}")


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default="")
    parser.add_argument("--sides", default="tvm,torch", help="tvm, torch, or torch=MODEL+MODEL")
    parser.add_argument("--forms", default="", help=f"of {', '.join(_FORMS)} and others [default: all]")
    parser.add_argument("--device", default="cuda", help="cuda; cpu tries the benchmark itself")
    parser.add_argument("--profile", default="", help="the form whose kernels are timed one by one")
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--limit", type=float, default=240)
    parser.add_argument("--jobs", type=int, default=16)
    parser.add_argument("--out", type=Path, default=Path("bench-gpu"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    show(measure(given, given.out))


if __name__ == "__main__":
    main()
