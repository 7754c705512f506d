"""Write ``cases/``: what a TVM with Relay makes of ``programs.py``.

    python -m tests.relay_ir.quantize.witness      # with TVM 0.16 and numpy below 1.24

The wheel hhb-tvm 3.2.3 has such a TVM.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tvm
from tvm import relay
from tvm.relay.quantize import _calibrate

from tests.relay_ir.quantize import programs


def _collect(mod: Any, dataset: Iterable[dict[str, Any]], chunk_by: int = -1) -> Iterator[list[Any]]:
    """Stand for ``collect_stats``, whose target is a board: run by the interpreter here."""
    target = "llvm -mtriple=x86_64-linux-gnu"
    profile = tvm.IRModule.from_expr(_calibrate._quantize.CreateStatsCollector(mod["main"]))
    run = relay.create_executor("debug", mod=profile, device=tvm.cpu(), target=target).evaluate()
    names = [param.name_hint for param in profile["main"].params]
    runs = [run(*(batch[name] for name in names)) for batch in dataset]
    yield [np.concatenate([one.numpy().reshape(-1) for one in value]) for value in zip(*runs, strict=True)]


def _threshold(samples: Any) -> float:
    """Stand for ``_find_scale_by_kl``, which frees its counts before they are read."""
    reach = max(abs(samples.min()), abs(samples.max()))
    counts, edges = np.histogram(samples, bins=8001, range=(-reach, reach))
    kept = counts.astype(np.int32), edges
    places = [ctypes.c_void_p(one.ctypes.data) for one in kept]
    return float(_calibrate._quantize.FindScaleByKLMinimization(*places, 8001, 255))


class _Serial:
    """Stand for a pool of processes."""

    def __enter__(self) -> _Serial:
        return self

    def __exit__(self, *problem: object) -> None:
        return None

    def map(self, function: Callable[[Any], float], given: Iterable[Any]) -> list[float]:
        return list(map(function, given))


def main() -> None:
    """Write a file for each case."""
    _calibrate.mp.Pool, _calibrate.collect_stats = _Serial, _collect
    _calibrate._find_scale_by_kl = _threshold
    folder = Path(__file__).parent / "cases"
    for name, program, options, level in programs.CASES:
        text = programs.PROGRAMS[program]
        mod = relay.transform.InferType()(tvm.relay.parse(programs.HEADER + text))
        params = {key: tvm.nd.array(value) for key, value in programs.values(text, False).items()}
        names = options.get("debug_enabled_ops")
        if names is not None:  # TVM asks each for its value.
            options = {**options, "debug_enabled_ops": [tvm.tir.StringImm(one) for one in names]}
        with tvm.transform.PassContext(opt_level=level), relay.quantize.qconfig(**options):
            found = relay.quantize.quantize(mod, params, programs.dataset(text))
        (folder / f"{name}.relay").write_text(found.astext())
        print(name, len(found.astext()))


main()
