"""``relay2relax run``: run a model, or a translation of it, on one backend."""

from __future__ import annotations

import io
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from relay2relax import backends, translator
from relay2relax.cli import files, screen
from relay2relax.core.errors import UnsupportedError
from relay2relax.relax_ir.transform import DispatchCalls, FoldConstant, Sequential

if TYPE_CHECKING:
    from relay2relax.backends.c.loaded_module import KernelTime

Program: TypeAlias = Literal["relay", "tir", "graph"]

# A profile is taken over so many seconds, or one run where that takes longer.
_PROFILE_SECONDS = 1.0


def run(
    model: Path, params: Path | None, inputs: Path | None, via: Program, backend: str, library: str | None, seed: int,
    out: Path | None, profile: bool, as_json: bool,
) -> None:  # fmt: skip
    """Run and print a line per output, or write the outputs to ``out``; with ``profile`` also what
    each kernel took.

    Translations have the params that are given bound, so that what depends on them alone is not
    computed when they run. Products and convolutions of Relax operators go to ``library`` where one
    is named.
    """
    if library and (backend == "tvm" or via != "graph"):
        raise UnsupportedError("libraries compute Relax operators on numpy and c: add --via graph, and --backend c")
    if profile and (backend != "c" or via == "relay"):
        raise UnsupportedError(
            "kernels are measured where there are any: add --backend c, and --via tir or --via graph"
        )
    kernels: list[KernelTime] = []
    runs = 0
    with screen.progress(f"reading {model.name}"):
        module = files.load_model(model)
        bound = files.load_arrays(params)
        arguments = translator.make_arguments(module, bound | files.load_arrays(inputs), seed)
    with screen.progress(f"running on {backend}"):
        if via == "relay":
            result = backends.create_executor("debug", module, backend=backend).evaluate()(*arguments)
        else:
            program = translator.translate(module, via, params=bound)
            if library:
                # Weights that are turned for a product are turned once: what a library is given is
                # made on every call.
                program = Sequential([FoldConstant(), DispatchCalls(getattr(backends.libraries, library)())])(program)
            executable = backends.build(program, target=backend)
            names = [param.name for param in module["main"].params]
            given = [value for name, value in zip(names, arguments, strict=True) if name not in bound]
            main = backends.VirtualMachine(executable)["main"]
            result = main(*given)
            if profile and isinstance(executable, backends.Executable):
                kernels, runs = _profile(executable.native, main, given)
    outputs = translator.flatten(result)
    if out is not None:
        content = io.BytesIO()
        np.savez(content, **{f"out{i}": array for i, array in enumerate(outputs)})  # type: ignore[arg-type]
        files.write_all({out: content.getvalue()})
    if as_json:
        shown: Any = [
            {"shape": list(o.shape), "dtype": str(o.dtype), "values": o.ravel()[:16].tolist()} for o in outputs
        ]
        screen.print_json({"outputs": shown, "runs": runs, "kernels": _rows(kernels, runs)} if profile else shown)
        return
    for index, array in enumerate(outputs):
        print(f"output {index}: {array.dtype}{list(array.shape)}")
        print(np.array2string(array, threshold=64))
    if profile:
        total = sum(one.seconds for one in kernels)
        print(f"\nruns: {runs}, calls of kernels in each: {len(kernels)}; means")
        print(screen.kernel_table([*_rows(kernels, runs), _row("all", kernels, runs, total)]))


def _profile(native: Any, main: Any, given: list[Any]) -> tuple[list[KernelTime], int]:
    runs, end = 0, time.perf_counter() + _PROFILE_SECONDS
    with native.profiled():
        while not runs or time.perf_counter() < end:
            main(*given)
            runs += 1
    return native.kernel_times(), runs


def _rows(kernels: list[KernelTime], runs: int) -> list[dict[str, Any]]:
    """Return one row per kernel, the slowest first: microseconds per run, and rates. Those of one
    name are one row.
    """
    alike: dict[str, list[KernelTime]] = {}
    for one in kernels:
        alike.setdefault(one.label, []).append(one)
    total = sum(one.seconds for one in kernels)
    rows = [_row(label, found, runs, total) for label, found in alike.items() if any(one.seconds for one in found)]
    return sorted(rows, key=lambda row: -row["microseconds"])


def _row(label: str, kernels: list[KernelTime], runs: int, total: float) -> dict[str, Any]:
    seconds = sum(one.seconds for one in kernels)
    return {
        "kernel": label,
        "calls": len(kernels),
        "microseconds": 1e6 * seconds / runs,
        "share": seconds / total,
        "gflops": sum(one.operations for one in kernels) / seconds / 1e9,
        "gbytes": sum(one.bytes for one in kernels) / seconds / 1e9,
    }
