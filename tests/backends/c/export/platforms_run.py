"""The recorded models as libraries for other machines, run by emulators: do they compute what was
recorded?

    python tests/backends/c/export/platforms_run.py --out FOLDER [--models mlp] [--machines neon]

Machines: AArch64 with NEON (``neon``) and with SVE of 256 bits (``sve``), RISC-V with vectors
(``rvv``), and WebAssembly (``wasm``). A line of JSON for each model and machine is added to
FOLDER/lines.jsonl; what is there is not done again, so that this may be ended at any time. Cross
compilers are the system's or the ziglang wheel's; emulators are qemu-user's, and Node.js.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "support"))

from golden_folder import weights_among
from model_cases import MODEL_NAMES, ModelCase, load_model_case

from relay2relax import backends, relay_ir, translator
from relay2relax.core.tolerance import LONGEST_CHAIN, difference

# What a program in Node.js does: it is called like the command of other machines.
_NODE = """
import { readFileSync, writeFileSync } from "node:fs";
import { inputs, load } from "./net.js";
const files = process.argv.slice(2);
const kinds = { float32: Float32Array, int32: Int32Array, int64: BigInt64Array };
const given = inputs.map((one, i) => new kinds[one.dtype](new Uint8Array(readFileSync(files[i])).buffer));
const results = (await load()).run(given, files.slice(inputs.length).map(Number));
results.forEach((one, i) => writeFileSync(`out${i}.raw`, one));
"""


@dataclass(frozen=True)
class Machine:
    """What a library is made for, what runs it here, and an instruction that shows its vectors.

    ``flags`` goes to ``make``.
    """

    target: str
    cpu: str
    command: tuple[str, ...]
    flags: str = "CFLAGS=-O2 -static"
    instruction: str = ""


MACHINES = {
    "neon": Machine("aarch64", "neoverse-n1", ("qemu-aarch64", "./net"), instruction=r"fmla\s+v"),
    "sve": Machine(
        "aarch64", "neoverse-v1", ("qemu-aarch64", "-cpu", "max,sve-default-vector-length=32", "./net"),
        instruction=r"fml[as]\s+z|fmad\s+z",
    ),
    "rvv": Machine(
        "riscv64-linux-musl", "sifive-x280", ("qemu-riscv64", "-cpu", "rv64,v=true,vlen=512,vext_spec=v1.0", "./net"),
        instruction=r"vfmacc\.v|vfmadd\.v",
    ),
    "wasm": Machine("wasm32", "", ("node", "run.mjs"), "CFLAGS=-O2", r"f32x4\.mul"),
}  # fmt: skip


def exported(case: ModelCase, machine: Machine, folder: Path) -> list[str]:
    """Write the sources of a model's library and its inputs into ``folder``; return what the
    program is called with.
    """
    mod = relay_ir.infer_type(relay_ir.parse(case.text))
    arguments = dict(zip((param.name for param in mod["main"].params), case.arguments(), strict=True))
    weights = zip(arguments.items(), weights_among(case.specs()), strict=True)
    params = {name: one for (name, one), is_weight in weights if is_weight}
    backends.export_c(translator.via_graph(mod, params), folder, "net", target=machine.target, cpu=machine.cpu)
    given = [one for name, one in arguments.items() if name not in params]
    for number, one in enumerate(given):
        one.tofile(folder / f"input{number}.raw")
    inputs = [f"input{number}.raw" for number in range(len(given))]
    # The one open extent that models have is their batch.
    is_open = "EXTENTS = 1" in (folder / "main.c").read_text()
    batch = [str(given[0].shape[0])] if is_open else []
    if machine.command[0] == "node":
        (folder / "run.mjs").write_text(_NODE)
        return [*inputs, *batch]
    file = ["-w", "net_weights.bin"] if (folder / "net_weights.bin").exists() else []
    return ["-o", "out", *file, *batch, *inputs]


def vectors(folder: Path, instruction: str) -> int:
    """Return how many multiply-adds on vectors the objects of a library have."""
    # Debian calls it by its version too; older ones do not know all instructions.
    dump = next(filter(shutil.which, ("llvm-objdump-19", "llvm-objdump")))
    objects = sorted(map(str, folder.glob("net_kernels*.o")))
    listing = subprocess.run([dump, "-d", "--mattr=+v,+sve", *objects], capture_output=True, text=True, check=True)
    return len(re.findall(instruction, listing.stdout))


def compared(name: str, machine: Machine, folder: Path) -> dict[str, Any]:
    """Return what a model's library does on a machine: whether it agrees, and the seconds it
    takes.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    case = load_model_case(name)
    arguments = exported(case, machine, folder)
    make = ["make", "-s", "-j2", "-C", str(folder), machine.flags]
    # The Makefile calls the wheel's compiler by the Python that is first.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    built = subprocess.run(make, capture_output=True, text=True, check=False, env={**os.environ, "PATH": path})
    if built.returncode:
        return {"failed": built.stderr[-300:]}
    start = time.perf_counter()
    done = subprocess.run([*machine.command, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    seconds = round(time.perf_counter() - start, 2)
    if done.returncode:
        return {"failed": f"exit code {done.returncode}: {done.stderr[-300:]}"}
    wrong = []
    for number, one in enumerate(case.expected()):
        found = np.fromfile(folder / f"out{number}.raw", one.dtype).reshape(one.shape)
        seen = difference(found, one, LONGEST_CHAIN)
        wrong += [] if seen.agrees else [seen.reason]
    count = {"vectors": vectors(folder, machine.instruction)} if machine.instruction else {}
    return {"agrees": not wrong, "seconds": seconds, **count, **({"failed": wrong[0]} if wrong else {})}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--models", nargs="+", default=list(MODEL_NAMES), choices=MODEL_NAMES)
    parser.add_argument("--machines", nargs="+", default=list(MACHINES), choices=MACHINES)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    state = args.out / "lines.jsonl"
    lines = [json.loads(line) for line in state.read_text().splitlines()] if state.exists() else []
    done = {(line["model"], line["machine"]) for line in lines}
    for machine in args.machines:
        for name in args.models:
            if (name, machine) in done:
                continue
            found = compared(name, MACHINES[machine], args.out / machine / name)
            line = {"model": name, "machine": machine, **found}
            with state.open("a") as stream:
                stream.write(json.dumps(line) + "\n")
            print(line, flush=True)


if __name__ == "__main__":
    main()
