"""The recorded models as C libraries for other processors, run there by emulators: do they agree?

python benchmarks/evidence/platforms.py [--platforms neon,sve,riscv,wasm] [--models mlp,…]

Prints a row for each: how far its outputs are from TVM 0.18's recorded ones, relative to the
greatest of them. Needs Debian's qemu-user and the wheels ziglang and wasmtime. Code for SVE is made
for vectors of 256 bits, and so is the emulator's processor.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import Options, model_case, model_names, table

from relay2relax import backends, relay_ir, translator

# What runs ``NAME.wasm`` in its folder with arguments.
_WASMTIME = """
import sys, wasmtime
engine = wasmtime.Engine()
linker, store = wasmtime.Linker(engine), wasmtime.Store(engine)
linker.define_wasi()
wasi = wasmtime.WasiConfig()
wasi.argv = sys.argv[1:]
wasi.preopen_dir(".", ".")
wasi.inherit_stdout()
wasi.inherit_stderr()
store.set_wasi(wasi)
made = linker.instantiate(store, wasmtime.Module.from_file(engine, sys.argv[1]))
made.exports(store)["_start"](store)
"""


@dataclass(frozen=True)
class Place:
    """What code is made for, and what runs it."""

    target: str
    cpu: str
    runs: tuple[str, ...]
    make: tuple[str, ...] = ()


_STATIC = "CFLAGS=-O3 -static"
# Static commands need no files of the other system.
PLACES = {
    "neon": Place("aarch64", "neoverse-n1", ("qemu-aarch64",), (_STATIC,)),
    "sve": Place("aarch64", "neoverse-v1", ("qemu-aarch64", "-cpu", "max,sve-default-vector-length=32"), (_STATIC,)),
    "riscv": Place("riscv64-linux-musl", "baseline-rv64+v", ("qemu-riscv64", "-cpu", "rv64,v=true,vlen=128")),
    "wasm": Place("wasm32", "", (sys.executable, "-c", _WASMTIME)),
}  # fmt: skip


def error(place: Place, name: str, folder: Path) -> tuple[float, int]:
    """Return how far a model's outputs are from the recorded ones, and how long its code is."""
    case = model_case(name)
    module = relay_ir.infer_type(relay_ir.parse(case.text))
    given = list(zip(case.names, case.arguments, case.weights, strict=True))
    weights = {one: data for one, data, is_weight in given if is_weight}
    program = translator.via_graph(module, weights)
    backends.export_c(program, folder, "net", target=place.target, cpu=place.cpu)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    subprocess.run(
        ["make", "-s", "-C", folder, "WARNINGS=-w", *place.make], check=True, env={**os.environ, "PATH": path}
    )
    files = []
    for one, data, is_weight in given:
        if not is_weight:
            data.tofile(folder / f"{one}.raw")
            files.append(f"{one}.raw")
    extents = [
        str(length)
        for var, data in zip(module["main"].params, case.arguments, strict=True)
        if isinstance(var.type_annotation, relay_ir.TensorType)
        for extent, length in zip(var.type_annotation.shape, data.shape, strict=True)
        if str(extent) == "?"
    ]
    command = "net.wasm" if place.target == "wasm32" else "./net"
    subprocess.run([*place.runs, command, "-o", "out", *extents, *files], cwd=folder, check=True)
    assert case.expected is not None
    worst = 0.0
    for number, wanted in enumerate(case.expected):
        found = np.fromfile(folder / f"out{number}.raw", wanted.dtype).reshape(wanted.shape)
        worst = max(worst, float(np.abs(found.astype("float64") - wanted).max() / max(np.abs(wanted).max(), 1e-30)))
    return worst, os.path.getsize(folder / command)


def main() -> None:
    """Print a row for every model on every platform."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--platforms", type=lambda text: text.split(","), default=list(PLACES))
    parser.add_argument("--models", type=lambda text: tuple(text.split(",")), default=())
    given = parser.parse_args()
    rows = []
    for name in model_names(Options(models=given.models)):
        for platform in given.platforms:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    worst, size = error(PLACES[platform], name, Path(folder))
                except subprocess.CalledProcessError as problem:
                    rows.append([name, platform, f"ended with {problem.returncode}", ""])
                else:
                    rows.append([name, platform, f"{worst:.0e}", f"{size / 2**20:.1f}"])
            print(rows[-1], flush=True)
    table("Libraries for other processors", ["model", "platform", "error", "MB of the command"], rows)


if __name__ == "__main__":
    main()
