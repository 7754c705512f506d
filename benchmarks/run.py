"""Measure the product against its own limits and against its peers.

Everything in one run on this machine.

    python benchmarks/run.py                                                   all but the long ones
    python benchmarks/run.py chain translate                                   some of them
    python benchmarks/run.py speed --models mlp,lstm --peers c,onnxruntime     a part of one

Sections: ``chain`` (time per node of every stage, from 1,000 to 100,000 operators), ``passes`` (the
same of each pass over Relay, and a hundred patterns over 10,000 operators), ``reading``
(MB/s of text and JSON, calls typed per second), ``translate`` (seconds per model case, both ways),
``importing`` (translating beside apache-tvm's ONNX importer), ``frontends`` (importing ONNX and
programs of PyTorch's beside it, and the memory that 2 GB of weights take), ``converting`` (with
a schedule and packed weights, beside a build for C), ``migrating`` (a folder of models, beside a
bare loop), ``memory`` (peak memory of reading,
inference and translation over a module with 500 MB of params), ``micro`` (single operators as a
share of what the machine can do), ``guards`` (what looking at indices costs), ``speed`` (the models
on numpy, C, apache-tvm, ONNX Runtime, OpenVINO and PyTorch: runs, builds, memory, dynamic batch;
held to AVX2 once more; shares of what the machine can do), and, where it is asked for by name,
``large`` (the same of models of torchvision and transformers at full size), ``starting`` (seconds
until ResNet-50 and BERT-base run, from an empty cache and a full one). Recorded models
are read from RELAY2RELAX_GOLDEN or from ../shared/golden beside the checkout; sections that need
them say so where they are absent. Below the tables stands what is promised, and whether it holds.
docs/benchmarks.md explains the numbers.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.metadata
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from threads import ENVIRONMENT, THREADS

os.environ.update(ENVIRONMENT)

import chain
import guards
import marks
import memory
import micro
import page
import passes
import reading
import speed
import translate
from common import PRINTED, Options
from frontends.importing import run as run_frontends
from large.section import run as run_large
from peers import PEERS
from starting.section import run as run_starting

SECTIONS: dict[str, Callable[[Options], Any]] = {
    "chain": lambda _: chain.run(),
    "passes": lambda _: passes.run(),
    "reading": lambda _: reading.run(),
    "translate": translate.run,
    "importing": translate.run_importing,
    "frontends": run_frontends,
    "converting": translate.run_converting,
    "migrating": lambda _: translate.run_migrating(),
    "memory": lambda _: memory.run(),
    "micro": micro.run,
    "guards": guards.run,
    "speed": speed.run,
    "large": run_large,
    "starting": run_starting,
}
# They take minutes, or an hour or two, and are measured where they are asked for.
LONG = ("large", "starting")


def _names(text: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in text.split(",") if one.strip())


def main() -> None:
    """Run the sections that were asked for, print their tables, and write one JSON document beside
    them.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], help="what to measure (all but the long ones)")
    parser.add_argument("--models", type=_names, default=(), help="models, or programs of micro, by name (all)")
    parser.add_argument("--peers", type=_names, default=(), help=f"some of {','.join(PEERS)} (all but inductor)")
    parser.add_argument("--seconds", type=float, default=Options.seconds, help="to measure one thing for")
    parser.add_argument("--limit", type=float, default=Options.limit, help="seconds to wait for one peer on one model")
    parser.add_argument("--out", type=Path, default=Path("out/bench.json"), help="where the JSON goes")
    parser.add_argument("--page", type=Path, help="a page to put the tables into, with plots beside it")
    given = parser.parse_args()
    unknown = [one for one in given.peers if one not in PEERS]
    if unknown:
        parser.error(f"unknown peer {unknown[0]!r}; there are: {', '.join(PEERS)}")
    if given.page and len(given.sections) > 1 and set(LONG) & set(given.sections):
        parser.error(f"a page has a place of its own for {LONG[0]}: ask for it alone")
    options = Options(given.models, given.peers, given.seconds, given.limit)
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, {THREADS} threads")
    print(", ".join(map(_version, ("numpy", "apache-tvm", "onnxruntime", "openvino", "torch"))))
    start, results, stopped = time.perf_counter(), {}, False
    # Whoever stops the run gets the tables and the JSON of what was measured until then.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for name in given.sections or [one for one in SECTIONS if one not in LONG]:
        try:
            results[name] = SECTIONS[name](options)
            stopped = bool(results[name].get("stopped"))
        except KeyboardInterrupt:
            stopped = True
        if stopped:
            print(f"\nstopped in section {name}")
            break
    verdicts = marks.verdicts(results)
    if verdicts:
        print("\nWhat is promised, and what was seen:\n", *verdicts, sep="\n")
    seconds = time.perf_counter() - start
    results |= {"verdicts": [dataclasses.asdict(one) for one in verdicts], "seconds": seconds}
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(results, indent=2) + "\n")
    written = [given.out]
    if given.page and not stopped:
        written += page.write(given.page, results, PRINTED, verdicts)
    print(f"\nwrote {', '.join(map(str, written))} after {seconds / 60:.1f} min")
    if stopped:
        sys.exit(130)


def _version(name: str) -> str:
    """Return which release of a package is compared with."""
    try:
        return f"{name} {importlib.metadata.version(name)}"
    except importlib.metadata.PackageNotFoundError:
        return f"{name} absent"


if __name__ == "__main__":
    main()
