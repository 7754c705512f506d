"""One model on one side, in a process of its own: it prepares, says so, waits for its turn, and
measures.

The side ``tvm`` builds our script and apache-tvm's default; ``torch`` runs PyTorch. Lines of JSON
go to the standard output: ``{"ready": …}``, then ``{"result": …}`` and, where a form is to be
profiled, ``{"kernels": …}``. Before the second a line is read.
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import Case, model_case

from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.tolerance import difference

# Runs in a row that are timed together take about so long, in seconds.
_ROW = 0.02
_CAPTURE = "relax.backend.use_cuda_graph"
# One form that fails is a row of the table, and no end of the others.
_FAILURES = (Relay2RelaxError, RuntimeError, ValueError, TypeError, LookupError, AttributeError, OSError)


@dataclass(frozen=True)
class Form:
    """A way to run a model, and the arrays in what a run returned."""

    run: Callable[[], Any]
    arrays: Callable[[Any], list[np.ndarray]]


class Side(Protocol):
    """Who runs a model, in several forms."""

    @property
    def forms(self) -> Sequence[str]:
        """The names of the forms."""

    def prepare(self, name: str) -> dict[str, float]:
        """Build a form; return what that took, in seconds."""

    def form(self, name: str) -> Form:
        """Return a form that was built, ready to run."""

    def wait(self) -> None:
        """Wait until the device has nothing to do."""


def seconds_per_run(run: Callable[[], Any], wait: Callable[[], Any], budget: float) -> dict[str, float]:
    """Return the median seconds of a run that is waited for, and of one of many in a row."""
    for _ in range(3):
        run()
    wait()
    alone: list[float] = []
    end = time.perf_counter() + budget
    while len(alone) < 20 or (time.perf_counter() < end and len(alone) < 1000):
        begin = time.perf_counter()
        run()
        wait()
        alone.append(time.perf_counter() - begin)
    many = max(1, int(_ROW / statistics.median(alone)))
    rows: list[float] = []
    end = time.perf_counter() + budget
    while len(rows) < 5 or (time.perf_counter() < end and len(rows) < 50):
        begin = time.perf_counter()
        for _ in range(many):
            run()
        wait()
        rows.append((time.perf_counter() - begin) / many)
    return {"alone": statistics.median(alone), "row": statistics.median(rows)}


def agreement(found: list[np.ndarray], case: Case) -> dict[str, Any]:
    """Return how far outputs are from the recorded ones, and whether that is little."""
    assert case.expected is not None
    compared = [difference(one, other, None) for one, other in zip(found, case.expected, strict=True)]
    return {
        "agrees": all(one.agrees for one in compared),
        "error": max(one.of_scale for one in compared),
        "reason": "; ".join(one.reason for one in compared if one.reason),
    }


class Tvm:
    """apache-tvm on a script: with our kernels, or without schedules, then with its own."""

    def __init__(self, case: Case, device: str) -> None:
        import tvm

        self.case = case
        self.device = tvm.device(device, 0)
        self.target = tvm.target.Target.from_device(self.device) if device == "cuda" else tvm.target.Target("llvm")
        own = f"cuda:{self.target.attrs['arch']}" if device == "cuda" else "cpu"
        # The translator, the schedule, and whether launches are captured as a CUDA graph.
        ways: dict[str, tuple[Any, str | None, bool]] = {
            "ours": ("graph", own, False),
            "ours_tir": ("tir", own, False),
            "ours_captured": ("graph", own, True),
            "default": ("graph", None, False),
            "default_tir": ("tir", None, False),
            "default_captured": ("graph", None, True),
        }
        self.ways = {name: way for name, way in ways.items() if device == "cuda" or not way[2]}
        self.built: dict[str, tuple[Any, bool]] = {}

    @property
    def forms(self) -> Sequence[str]:
        return list(self.ways)

    def prepare(self, name: str) -> dict[str, float]:
        import tvm
        from tvm import relax

        from relay2relax import relay_ir, translator
        from relay2relax.backends.tvm import to_tvm, within_limits

        via, schedule, captured = self.ways[name]
        weights = [param for param, own in zip(self.case.names, self.case.weights, strict=True) if own]
        begin = time.perf_counter()
        typed = relay_ir.infer_type(relay_ir.parse(self.case.text))
        script = within_limits(translator.translate(typed, via, weights=weights, schedule=schedule))
        module = to_tvm(script)
        middle = time.perf_counter()
        with tvm.transform.PassContext(opt_level=3, config={_CAPTURE: True} if captured else {}):
            built = relax.build(module, target=self.target)
        self.built[name] = built, any(one.name == "main_transform_params" for one in script.functions)
        return {"translate": middle - begin, "build": time.perf_counter() - middle}

    def form(self, name: str) -> Form:
        import tvm
        from tvm import relax

        built, ahead = self.built[name]
        machine = relax.VirtualMachine(built, self.device)
        triples = list(zip(self.case.arguments, self.case.weights, strict=True))
        given = [tvm.runtime.tensor(one, self.device) for one, weight in triples if not weight]
        weights = [tvm.runtime.tensor(one, self.device) for one, weight in triples if weight]
        arguments = [*given, *(machine["main_transform_params"](weights) if ahead else weights)]
        machine.save_function("main", "measured", *arguments)
        # What "measured" calls does not say what it returns.
        result = machine["main"](*arguments)
        parts = [result] if isinstance(result, tvm.runtime.Tensor) else list(result)
        return Form(machine["measured"], lambda _: [one.numpy() for one in parts])

    def wait(self) -> None:
        self.device.sync()


class Torch:
    """PyTorch on the ONNX model that ``graph.to_onnx`` makes."""

    # The mode of torch.compile, and whether convolutions may round as tensor cores do.
    ways: Mapping[str, tuple[str | None, bool]] = {
        "eager": (None, False),
        "compile": ("default", False),
        "compile_tf32": ("default", True),
        "compile_graphs": ("reduce-overhead", False),
    }

    def __init__(self, case: Case, device: str) -> None:
        import torch
        from peers import Model

        self.device = device
        self.made: dict[str, Form] = {}
        torch.set_num_threads(1)
        self.model = Model(case)
        self.onnx = self.model.onnx()

    @property
    def forms(self) -> Sequence[str]:
        return list(self.ways)

    def prepare(self, name: str) -> dict[str, float]:
        import torch
        from torch_peer import run_by_torch

        begin = time.perf_counter()
        run = run_by_torch(self.onnx, self.device)
        given = [torch.from_numpy(array).to(self.device) for array in self.model.given]
        mode, torch.backends.cudnn.allow_tf32 = self.ways[name]
        if mode is not None:
            torch._dynamo.reset()
            run = torch.compile(run, mode=mode, fullgraph=True, dynamic=False)

        def once() -> Any:
            with torch.inference_mode():
                return run(*given)

        for _ in range(3):
            once()
        self.made[name] = Form(once, lambda result: [one.cpu().numpy() for one in result])
        return {"build": time.perf_counter() - begin}

    def form(self, name: str) -> Form:
        import torch

        torch.backends.cudnn.allow_tf32 = self.ways[name][1]
        return self.made[name]

    def wait(self) -> None:
        import torch

        if self.device == "cuda":
            torch.cuda.synchronize()


def kernels_of(side: Side, name: str) -> list[tuple[str, float, float]]:
    """Return the kernels of a run, as PyTorch's profiler sees them: name, launches, microseconds of
    all of them. None where there is no PyTorch.
    """
    try:
        import torch
    except ImportError:
        return []
    form, runs = side.form(name), 10
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
        for _ in range(runs):
            form.run()
        side.wait()
    rows = [(one.key, one.count / runs, one.self_device_time_total / runs) for one in seen.key_averages()]
    return sorted((row for row in rows if row[2]), key=lambda row: -row[2])


def prepare(side: Side, wanted: Sequence[str], limit: float) -> dict[str, dict[str, Any]]:
    """Build forms within ``limit`` seconds; return what that took, or why one failed."""
    end = time.perf_counter() + limit
    signal.signal(signal.SIGALRM, _stop)
    found: dict[str, dict[str, Any]] = {}
    for form in wanted:
        signal.setitimer(signal.ITIMER_REAL, max(end - time.perf_counter(), 0.01))
        try:
            found[form] = dict(side.prepare(form))
        except _FAILURES as problem:
            found[form] = {"failed": _said(problem)}
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    return found


def measure(side: Side, case: Case, found: dict[str, dict[str, Any]], budget: float) -> None:
    """Put into ``found`` whether outputs agree, and the seconds of a run."""
    for form, row in found.items():
        if "failed" in row:
            continue
        try:
            ready = side.form(form)
            row |= agreement(ready.arrays(ready.run()), case)
            row |= seconds_per_run(ready.run, side.wait, budget)
        except _FAILURES as problem:
            row["failed"] = _said(problem)


def main() -> None:
    """Prepare, wait for a line, measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("side", choices=["tvm", "torch"])
    parser.add_argument("model")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--limit", type=float, default=200)
    parser.add_argument("--forms", default="")
    parser.add_argument("--profile", default="", help="the form whose kernels are timed one by one")
    given = parser.parse_args()
    out = sys.stdout
    sys.stdout = sys.stderr
    case = model_case(given.model)
    side: Side = Tvm(case, given.device) if given.side == "tvm" else Torch(case, given.device)
    wanted = [one for one in side.forms if not given.forms or one in given.forms.split(",")]
    found = prepare(side, wanted, given.limit)
    print(json.dumps({"ready": given.model}), file=out, flush=True)
    sys.stdin.readline()
    measure(side, case, found, given.seconds)
    print(json.dumps({"result": found}), file=out, flush=True)
    # Last, and told apart: the profiler may end the process.
    if "alone" in found.get(given.profile, {}):
        print(json.dumps({"kernels": kernels_of(side, given.profile)}), file=out, flush=True)


def _stop(*_: object) -> None:
    raise TimeoutError("it took too long to prepare")


def _said(problem: Exception) -> str:
    traceback.print_exc()
    return f"{type(problem).__name__}: {problem}"[:2000]


if __name__ == "__main__":
    main()
