"""What was measured before this project, what is promised, and whether a run keeps it.

The marks are milliseconds per run and seconds of ``relay.build``, taken on two cores with AVX-512.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from common import geometric_mean, shown

# A process has stacks and pages that are not full, whatever it runs.
PAGES = 64 << 10


@dataclass(frozen=True)
class Mark:
    """Seconds of a run for ONNX Runtime 1.31, PyTorch 2.13 eager, TVM 0.18, TVM 0.27 (None:
    failed); of a build.
    """

    onnxruntime: float
    pytorch: float
    relay: float
    tvm: float | None
    relay_build: float

    @property
    def best(self) -> float:
        """The best of ONNX Runtime, PyTorch and TVM 0.18."""
        return min(self.onnxruntime, self.pytorch, self.relay)


MARKS = {
    "mlp": Mark(0.0106e-3, 0.031e-3, 0.0060e-3, 0.154e-3, 0.5),
    "unet_128": Mark(4.0e-3, 10.2e-3, 6.8e-3, 370e-3, 6.1),
    "lstm": Mark(0.20e-3, 0.72e-3, 0.80e-3, None, 32),
    "bert_mini": Mark(10.2e-3, 10.1e-3, 7.3e-3, 669e-3, 3.5),
    "mobilenetv2": Mark(3.98e-3, 19.2e-3, 4.7e-3, 182e-3, 19),
    "resnet18_imagenet": Mark(17.0e-3, 24.4e-3, 17.3e-3, 1851e-3, 9.0),
}


@dataclass(frozen=True)
class Verdict:
    """A promise, what was seen, and whether it holds; None where too little was measured."""

    promise: str
    seen: str
    holds: bool | None

    def __str__(self) -> str:
        word = {True: "holds", False: "DOES NOT HOLD", None: "open"}[self.holds]
        return f"  {word:14}{self.promise}{': ' if self.seen else ''}{self.seen}"


def _most(promise: str, values: Mapping[str, float], limit: float) -> Verdict:
    """Return the verdict that no value is above ``limit``; names the largest."""
    if not values:
        return Verdict(promise, "", None)
    name = max(values, key=lambda one: values[one])
    return Verdict(promise, f"{shown(values[name])} ({name})", values[name] <= limit)


def _least(promise: str, values: Mapping[str, float], limit: float) -> Verdict:
    """Return the verdict that no value is below ``limit``; names the smallest."""
    if not values:
        return Verdict(promise, "", None)
    name = min(values, key=lambda one: values[one])
    return Verdict(promise, f"{shown(values[name])} ({name})", values[name] >= limit)


def _mean(promise: str, values: Mapping[str, float], holds: Callable[[float], bool]) -> Verdict:
    """Return the verdict over the geometric mean of ``values``."""
    if not values:
        return Verdict(promise, "", None)
    mean = geometric_mean(list(values.values()))
    return Verdict(promise, shown(mean), holds(mean))


def _of_six(verdict: Callable[..., Verdict], promise: str, values: Mapping[str, float], *limit: Any) -> Verdict:
    """Return a verdict on the models of the marks, which cannot hold where one of them is
    missing.
    """
    found = verdict(promise, values, *limit)
    missing = [name for name in MARKS if name not in values]
    if not values or not missing:
        return found
    others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    return replace(found, seen=f"{found.seen}, without {missing[0]}{others}", holds=None if found.holds else False)


def peer_times(row: Mapping[str, Any], ending: str = "") -> dict[str, float]:
    """Return the seconds of a run of those who are compared with; ``ending`` is that of the
    measurements' names, `` avx2`` of who was held to it.
    """
    others = ("onnxruntime", "openvino", "pytorch", "inductor")
    return {one: row[f"{one}{ending}"]["run"] for one in others if "run" in row.get(f"{one}{ending}", {})}


def of_best(row: Mapping[str, Any], ending: str = "") -> float | None:
    """Return C's time of a run over that of the fastest of them; None where one was not
    measured.
    """
    times, ours = peer_times(row, ending), row.get(f"c{ending}", {}).get("run")
    return ours / min(times.values()) if ours and times else None


def best_peer(name: str, row: Mapping[str, Any]) -> tuple[str, float] | None:
    """Return who of ONNX Runtime, OpenVINO and PyTorch, as it is and compiled, in this run, and TVM
    0.18, by its mark, is fastest.

    And its seconds.
    """
    times = peer_times(row)
    if name in MARKS:
        times["mark"] = MARKS[name].relay
    return min(times.items(), key=lambda one: one[1], default=None)


def _ratios(rows: Mapping[str, Any], one: str, other: str) -> dict[str, float]:
    """Return how many times the seconds of ``other`` those of ``one`` are, where both were
    measured.
    """
    both = {name: (row.get(one, {}).get("run"), row.get(other, {}).get("run")) for name, row in rows.items()}
    return {name: a / b for name, (a, b) in both.items() if a and b}


def speed(rows: Mapping[str, Any]) -> Iterator[Verdict]:
    """Yield the verdicts of issue and design over what ``speed.py`` measured."""
    marked = {name: row for name, row in rows.items() if name in MARKS}
    runs = {name: row["c"]["run"] for name, row in marked.items() if "run" in row.get("c", {})}
    best = {name: best_peer(name, marked[name]) for name in runs}
    against = {name: runs[name] / peer[1] for name, peer in best.items() if peer}
    promise = "C against the best of ONNX Runtime, OpenVINO, PyTorch and TVM 0.18's mark"
    yield _of_six(_mean, f"{promise}, geometric mean ≤ 1.0", against, lambda mean: mean <= 1.0)
    yield _of_six(_most, f"{promise}, none above 1.3", against, 1.3)
    yield _of_six(_most, f"{promise}, first step: none above 2", against, 2.0)
    marks = {name: seconds / MARKS[name].best for name, seconds in runs.items()}
    yield _of_six(_mean, "C against the best of all marks, geometric mean ≤ 1.0", marks, lambda mean: mean <= 1.0)
    yield _of_six(_most, "C against the best of all marks, none above 1.3", marks, 1.3)
    gains = _ratios(marked, "tvm", "tvm_scheduled")
    yield _of_six(_mean, "TVM 0.27 with the scheduled script, times its default build, geometric mean ≥ 20", gains,
                lambda mean: mean >= 20)  # fmt: skip
    scheduled = {n: r["tvm_scheduled"]["run"] / MARKS[n].relay for n, r in marked.items()
                 if "run" in r.get("tvm_scheduled", {})}  # fmt: skip
    promise = "TVM 0.27 with the scheduled script against TVM 0.18's mark"
    yield _of_six(_most, f"{promise}, none above 1.5", scheduled, 1.5)
    yield _most("C ahead of TVM 0.27's default build on every model, ratio below 1", _ratios(rows, "c", "tvm"), 1.0)
    cold = {name: building(row["c"]) / MARKS[name].relay_build for name, row in marked.items() if name in runs}
    yield _of_six(_most, "building for C, cold, against relay.build's mark, none above 1/3", cold, 1 / 3)
    cached = {n: building(r["c_cached"]) for n, r in rows.items() if "build" in r.get("c_cached", {})}
    yield _of_six(_most, "building for C from the cache, none above 0.5 s", cached, 0.5)
    dynamic: dict[str, float] = {}
    for batch in ("", " larger"):
        taken = {name: row["dynamic"] for name, row in rows.items() if f"fixed{batch}" in row.get("dynamic", {})}
        dynamic |= {f"{name}{batch}": one[f"dynamic{batch}"] / one[f"fixed{batch}"] for name, one in taken.items()}
    yield _of_six(_most, "a build for any batch against one for the batch, none above 1.2", dynamic, 1.2)
    memory = {n: (r["memory"]["peak"] - PAGES) / r["memory"]["bound"] for n, r in rows.items()
              if "bound" in r.get("memory", {})}  # fmt: skip
    promise = "peak memory in C over weights + 1.2 × live tensors (and 64 KB of pages)"
    yield _of_six(_most, f"{promise}, none above 1", memory, 1.0)
    alike = {n: float(r["c"]["digest"] != r["c_cached"]["digest"]) for n, r in rows.items()
             if "digest" in r.get("c", {}) and "digest" in r.get("c_cached", {})}  # fmt: skip
    yield _of_six(_most, "outputs that differ between one thread and two, none", alike, 0.0)


def large(rows: Mapping[str, Any]) -> Iterator[Verdict]:
    """Yield the verdicts over the larger models, on this processor and held to AVX2."""
    for ending, where, mean, most in (("", "", 0.75, 1.0), (" avx2", ", all held to AVX2", 0.85, 1.1)):
        ratios = {}
        for name, row in rows.items():
            if (ratio := of_best(row, ending)) is not None:
                ratios[name] = ratio
        promise = f"C against the best peer on larger models{where}"
        yield _mean(f"{promise}, geometric mean ≤ {mean}", ratios, mean.__ge__)
        yield _most(f"{promise}, none above {most}", ratios, most)


def building(row: Mapping[str, float]) -> float:
    """Return the seconds from a typed Relay module to machine code."""
    return row["translate"] + row.get("read", 0.0) + row["build"]


def _sections() -> dict[str, Callable[[Any], Iterator[Verdict]]]:
    return {
        "chain": chain,
        "passes": passes,
        "reading": reading,
        "translate": translate,
        "importing": importing,
        "frontends": frontends,
        "converting": converting,
        "memory": memory,
        "speed": lambda found: speed(found["models"]),
        "large": lambda found: large(found["models"]),
    }


def chain(found: Mapping[str, Any]) -> Iterator[Verdict]:
    """Yield the verdict over ``chain.py``."""
    growth = {stage: one["growth"] for stage, one in found.items()}
    yield _most("time per node, 100,000 operators against 1,000, none above 1.5", growth, 1.5)


def passes(found: Mapping[str, Any]) -> Iterator[Verdict]:
    """Yield the verdicts over ``passes.py``."""
    growth = {name: one["growth"] for name, one in found["passes"].items()}
    yield _most("time per node of passes over Relay, 100,000 operators against 1,000, none above 2", growth, 2.0)
    seconds = {f"{found['patterns']['nodes']:,} nodes": found["patterns"]["seconds"]}
    yield _most("a hundred patterns over 10,000 operators, seconds, none above 10", seconds, 10.0)


def reading(found: Mapping[str, Any]) -> Iterator[Verdict]:
    """Yield the verdicts over ``reading.py``."""
    yield _least("text read, at least 2 MB/s", {name: one["text MB/s"] for name, one in found.items()}, 2.0)
    calls = {name: one["calls/s typed"] for name, one in found.items()}
    yield _least("calls inferred, at least 30,000 a second", calls, 30_000)


def translate(found: Mapping[str, Any]) -> Iterator[Verdict]:
    """Yield the verdict over ``translate.py``."""
    slowest = {name: max(one["lower_to_tir"], one["via_graph"]) for name, one in found.items()}
    yield _most("translating a model, either way, below 1 s", slowest, 1.0)


def importing(found: Mapping[str, Any]) -> Iterator[Verdict]:
    """Yield the verdict over ``run_importing`` of ``translate.py``."""
    ratios = {name: one["translate and print"] / one["import and print"] for name, one in found.items()}
    promise = "inferring, translating and printing against TVM 0.27's ONNX importer, geometric mean ≤ 1.0"
    yield _mean(promise, ratios, lambda mean: mean <= 1.0)


def frontends(found: Mapping[str, Any]) -> Iterator[Verdict]:
    """Yield the verdicts over ``frontends/importing.py``."""
    ratios = {
        section: {name: one["ours"] / one["tvm"] for name, one in found[section].items() if not math.isnan(one["tvm"])}
        for section in ("importing", "torch")
    }
    promise = "importing ONNX against TVM 0.27's importer, geometric mean ≤ 0.5"
    yield _mean(promise, ratios["importing"], lambda mean: mean <= 0.5)
    yield _most("importing programs of torch.export against TVM 0.27's importer, none above 0.5", ratios["torch"], 0.5)
    promise = "peak memory of importing and translating an ONNX model of 2 GB over its weights, below 1.1"
    yield _most(promise, {"2 GB": found["memory"]["ratio"]}, 1.1)


def converting(found: Mapping[str, Any]) -> Iterator[Verdict]:
    """Yield the verdicts over the conversions of ``translate.py``."""
    ratios = {name: one["convert"] / one["build"] for name, one in found.items()}
    yield _most("converting with a schedule and packed weights over building for C, none above 2", ratios, 2.0)
    without = {name: one["without compiler"] for name, one in found.items()}
    yield _most("the same without a C compiler, none above 60 s", without, 60.0)


def memory(found: Mapping[str, Any]) -> Iterator[Verdict]:
    """Yield the verdict over ``memory.py``."""
    yield _most("peak memory of read, infer and translate over params, below 1.3", {"512 MB": found["ratio"]}, 1.3)


def verdicts(results: Mapping[str, Any]) -> list[Verdict]:
    """Return the verdicts over all sections that measured something."""
    sections = _sections()
    return [one for name, found in results.items() if found and name in sections for one in sections[name](found)]
