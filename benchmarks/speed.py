"""The recorded models on everybody: runs, builds, memory, dynamic batch. One process for each model
and each peer.
"""

from __future__ import annotations

import shlex
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import Any

from common import Options, geometric_mean, model_names, shown, table
from dynamic_batch import LARGER
from marks import MARKS, best_peer, building
from measure import MEASUREMENTS, ask
from peers import chosen

from relay2relax.backends.c import peak
from relay2relax.backends.c.toolchain import find_compiler

# Who is who in tables.
HEADS = {
    "numpy": "numpy",
    "c": "c",
    "tvm": "tvm",
    "tvm_scheduled": "script",
    "onnxruntime": "ort",
    "openvino": "ov",
    "pytorch": "torch",
    "inductor": "inductor",
}
# Who can be held to AVX2, and how; ONNX Runtime asks the processor, and cannot.
HELD = ("c", "openvino", "pytorch", "inductor")
_AVX2 = {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"}
# Where inductor keeps what it compiled: not by instruction set, so that each set needs a folder.
_COMPILED = "TORCHINDUCTOR_CACHE_DIR"
# What is measured of a model beside its peers: C once more from the cache and on one thread, any
# batch, peak memory.
EXTRAS = ("c_cached", *MEASUREMENTS)


def measure(name: str, case: str, what: Sequence[str], options: Options, found: dict[str, dict[str, Any]]) -> None:
    """Put into ``found`` what each of ``what``, peers and others, took for a model: ``case`` is how
    ``measure.py`` knows it.
    """
    with tempfile.TemporaryDirectory() as cache:
        environment = {"RELAY2RELAX_CACHE": cache, _COMPILED: f"{cache}/inductor"}
        for one in what:
            start = time.perf_counter()
            if one == "c_cached":
                given = {**environment, "RELAY2RELAX_THREADS": "1"}
                found[one] = ask("c", [case], options.seconds / 4, options.limit, given)[case]
            else:
                found[one] = ask(one, [case], options.seconds, options.limit, environment)[case]
            seen = found[one].get("failed") or shown(found[one].get("run"), 1e3) or "measured"
            print(f"  {name}, {one}: {seen} ({time.perf_counter() - start:.0f} s)", file=sys.stderr, flush=True)
        held = _held_to_avx2()
        for one in HELD if held else ():
            if one in what:
                given = {**environment, _COMPILED: f"{cache}/inductor-avx2", **(held or {})}
                found[f"{one} avx2"] = ask(one, [case], options.seconds / 2, options.limit, given)[case]


def _held_to_avx2() -> dict[str, str] | None:
    """Return the variables that hold who can be held to AVX2; None where there is nothing to
    hold.
    """
    compiler = find_compiler()
    wide = "__AVX512F__" in compiler.macros
    return {**_AVX2, "CC": f"{shlex.join(compiler.command)} -march=x86-64-v3"} if wide else None


def run(options: Options) -> dict[str, Any]:
    """Print the tables of all models, the six of the marks named; return all that was measured."""
    rows: dict[str, Any] = {}
    peers = chosen(options.peers)
    what = [*peers, *(EXTRAS if "c" in peers else ())]
    stopped = False
    try:
        for name in model_names(options):
            measure(name, name, what, options, rows.setdefault(name, {}))
    except KeyboardInterrupt:
        stopped = True
    # A model that had only begun has no row.
    rows = {name: row for name, row in rows.items() if row}
    if not rows:
        return {"stopped": True, "models": {}} if stopped else {}
    return {**tables(rows, peers), "stopped": stopped}


def tables(rows: Mapping[str, Any], peers: Sequence[str]) -> dict[str, Any]:
    """Print all tables that what was measured is enough for; return it with what the machine does
    at most.
    """
    _runs(rows, peers)
    _held(rows)
    machine = _limits(rows)
    _grown(rows, peers)
    if any("c" in row for row in rows.values()):
        _builds(rows)
    if any("memory" in row or "dynamic" in row for row in rows.values()):
        _memory(rows)
    _machine(rows)
    failed = [f"  {name}, {what}: {one['failed']}" for name, row in rows.items() for what, one in row.items()
              if "failed" in one]  # fmt: skip
    if failed:
        print("\nnot measured, and why:", *failed, sep="\n")
    return {"models": rows, "machine": machine}


def _runs(rows: Mapping[str, Any], peers: Sequence[str]) -> None:
    lines = []
    for name, row in rows.items():
        runs = {peer: row.get(peer, {}).get("run") for peer in peers}
        best, ours = best_peer(name, row), runs.get("c")
        mark = MARKS.get(name)
        lines.append(
            [
                name,
                *("–" if one is None else shown(one, 1e3) for one in runs.values()),
                shown(mark.relay, 1e3) if mark else "",
                shown(ours / best[1]) if ours and best else "",
                HEADS.get(best[0], best[0]) if ours and best else "",
                _ratio(runs, "tvm", "tvm_scheduled"),
                _ratio(runs, "tvm", "c"),
            ]
        )
    head = ["model", *(HEADS[one] for one in peers), "mark", "c/best", "best", "tvm/script", "tvm/c"]
    title = "Milliseconds per run on two threads, medians (script: TVM with our schedules; ort: ONNX Runtime;"
    table(f"{title}\nov: OpenVINO; mark: Relay in TVM 0.18, recorded; best: of all but tvm and script)", head, lines)


def _held(rows: Mapping[str, Any]) -> None:
    """Print the runs of everybody who was held to AVX2."""
    lines = []
    for name, row in rows.items():
        runs = {one: row.get(f"{one} avx2", {}).get("run") for one in HELD}
        best = min((one for peer, one in runs.items() if one and peer != "c"), default=None)
        cells = ["–" if one is None else shown(one, 1e3) for one in runs.values()]
        lines.append([name, *cells, shown(runs["c"] / best) if runs["c"] and best else ""])
    if any("c avx2" in row for row in rows.values()):
        title = "Milliseconds per run with AVX2 alone (ONNX Runtime chooses by itself, and cannot be held to it)"
        table(title, ["model", *(HEADS[one] for one in HELD), "c/best"], lines)


def _limits(rows: Mapping[str, Any]) -> dict[str, Any]:
    """Print the least that a run can take by what the machine was measured to do, and put the share
    of it that C reaches into its row; return operations and bytes per second, the latter by the
    bytes that are moved.

    A run takes at least its operations at the rate of multiply-adds in registers, and its weights,
    inputs and results once at the rate of memory traffic of that size.
    """
    lines, rates = [], {}
    for name, row in rows.items():
        found = row.get("c", {})
        if not found.get("operations"):
            continue
        size = _rounded(found["bytes"])
        rates[size] = peak.bandwidth(size)
        work, moved = found["operations"] / peak.peak_flops(), found["bytes"] / rates[size]
        found["share"] = max(work, moved) / found["run"]
        cells = [shown(one, 1e3) for one in (work, moved, found["run"])]
        lines.append([name, *cells, "operations" if work > moved else "memory", f"{found['share']:.0%}"])
    lines.sort(key=lambda line: int(line[-1].rstrip("%")))
    if not lines:
        return {}
    title = (
        f"Share of the physical limit (at {peak.peak_flops() / 1e9:.0f} GFLOP/s; operations as the schedules\n"
        "count them, fewer with Winograd; weights, inputs and results at the rate of as many bytes moved)"
    )
    table(title, ["model", "operations ms", "memory ms", "c ms", "limit", "share"], lines)
    return {"operations": peak.peak_flops(), "bytes": rates}


def _rounded(size: int) -> int:
    """Return a power of two: bandwidth is measured for few sizes."""
    return max(1 << 16, 1 << (size - 1).bit_length())


def _grown(rows: Mapping[str, Any], peers: Sequence[str]) -> None:
    grown = {name: [row.get(one, {}).get("grown") or None for one in peers] for name, row in rows.items()}
    lines = [[name, *(shown(one, 1e-6) or "–" for one in found)] for name, found in grown.items()]
    title = (
        "Megabytes by which a process grew at most (from the typed model to its last run: libraries, building, runs)"
    )
    table(title, ["model", *(HEADS[one] for one in peers)], lines)


def _ratio(runs: Mapping[str, float | None], one: str, other: str) -> str:
    a, b = runs.get(one), runs.get(other)
    return shown(a / b) if a and b else ""


def _builds(rows: Mapping[str, Any]) -> None:
    lines = []
    for name, row in rows.items():
        mark = MARKS.get(name)
        third = mark.relay_build / 3 if mark else None
        built = [building(row[one]) if "build" in row.get(one, {}) else None for one in
                 ("c", "c_cached", "tvm", "tvm_scheduled")]  # fmt: skip
        cold, theirs = built[0], built[2]
        ratio = shown(theirs / cold) if theirs and cold else ""
        lines.append([name, *(shown(one) for one in (*built[:2], third, *built[2:])), ratio])
    head = ["model", "c cold", "c cached", "mark/3", "tvm", "script", "tvm/c cold"]
    table("Seconds from a typed Relay module with weights to machine code (a third of relay.build's mark)", head, lines)


def _memory(rows: Mapping[str, Any]) -> None:
    lines = []
    for name, row in rows.items():
        memory, batch = row.get("memory", {}), row.get("dynamic", {})
        megabytes = [shown(memory.get(one), 1e-6) for one in ("weights", "alive", "bound", "peak", "loading")]
        ratio = shown(memory["peak"] / memory["bound"]) if "bound" in memory else ""
        times = [shown(batch.get(one), 1e3) for one in ("dynamic", "fixed")]
        ratios = [_ratio(batch, "dynamic", "fixed"), _ratio(batch, "dynamic larger", "fixed larger")]
        lines.append([name, *megabytes, ratio, *times, *ratios])
    head = ["model", "weights", "live", "bound", "peak", "loading", "peak / bound", "any batch", "fixed",
            "any / fixed", f"at {LARGER} ×"]  # fmt: skip
    table("C: megabytes (bound: weights + 1.2 × live); milliseconds of a build for any batch", head, lines)


def _machine(rows: Mapping[str, Any]) -> None:
    """Print how fast this machine is now against the one of the marks, by what did not change in
    between.
    """
    for peer in ("onnxruntime", "pytorch"):
        # The marks ran LSTM as one operator; here it is the steps that Relay has.
        pairs = {n: (r[peer]["run"], getattr(MARKS[n], peer)) for n, r in rows.items() if n in MARKS and n != "lstm"
                 and "run" in r.get(peer, {})}  # fmt: skip
        if pairs:
            mean = geometric_mean([now / then for now, then in pairs.values()])
            print(f"\n{peer} now takes {shown(mean)} × its marks (geometric mean of {len(pairs)} models)")
