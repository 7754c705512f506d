"""Measure the product against its own limits and against its peers; everything in one run on this machine.

    python benchmarks/run.py                     all sections
    python benchmarks/run.py chain translate     some of them

Sections: ``chain`` (time per node of every stage, from 1,000 to 100,000 operators), ``reading`` (MB/s of text and
JSON, calls typed per second), ``translate`` (seconds per model case, both ways), ``importing`` (translating beside
apache-tvm's ONNX importer, building beside its default build), ``memory`` (peak memory of reading, inference and
translation over a module with 500 MB of params), ``speed`` (the C backend beside apache-tvm's default build and ONNX
Runtime on two threads). Model cases are read from RELAY2RELAX_GOLDEN or from ../shared/golden beside the checkout;
sections that need them say so where they are absent.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from pathlib import Path

# Peers and we run on the same two threads.
THREADS = 2
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TVM_NUM_THREADS"):
    os.environ.setdefault(variable, str(THREADS))

import chain  # noqa: E402  (thread counts are read when numerical libraries load)
import importing  # noqa: E402
import memory  # noqa: E402
import reading  # noqa: E402
import speed  # noqa: E402
import translate  # noqa: E402

SECTIONS = {
    "chain": chain.run,
    "reading": reading.run,
    "translate": translate.run,
    "importing": importing.run,
    "memory": memory.run,
    "speed": speed.run,
}


def main() -> None:
    """Run the sections that were asked for, print their tables, and write one JSON document beside them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], help="what to measure (all when none is given)")
    parser.add_argument("--out", type=Path, default=Path("out/bench.json"), help="where the JSON goes")
    chosen = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, {THREADS} threads")
    results = {name: SECTIONS[name]() for name in chosen.sections or SECTIONS}
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text(json.dumps(results, indent=2) + "\n")
    print(f"\nwrote {chosen.out}")


if __name__ == "__main__":
    main()
