"""All kernels of the recorded models in the checker: ours and apache-tvm's default ones, and how
long they take at least.

    python tests/backends/gpu/kernels_run.py --state FILE [--models mlp] [--sides ours] [--blocks 4]
    python tests/backends/gpu/kernels_run.py --state FILE --report

Each kernel is run on drawn numbers, in the first block, the last and some between, and what these
count stands for all of them. A line for each goes to FILE; functions that are there are not done
again, so that this may be ended at any time. Convolutions of apache-tvm take minutes each.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support" / "gpu"))

from default_kernels import default_program
from golden_folder import golden_root
from model_cases import load_model_case

from relay2relax import backends, relay_ir, translator
from relay2relax.backends.gpu.device import device_of
from relay2relax.backends.numpy.threads.findings import KernelReport
from relay2relax.core.dtype import Array, numpy_dtype
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.relax_ir import CallTIR, Function, IRModule
from relay2relax.relax_ir.ir.visit import all_sequences, bindings
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import IntImm, PrimExpr, Var
from relay2relax.tir.ir.stmt import PrimFunc
from relay2relax.tir.ir.visit import substitute, variables

SIDES = ("ours", "default")
# What an extent is that is open.
OPEN = 8

Line = dict[str, Any]


def programs(name: str, side: str) -> tuple[IRModule, Mapping[str, int]]:
    """Return the kernels of a model, and how often each function is called in a run."""
    case = load_model_case(name)
    mod = relay_ir.parse(case.text)
    names = [param.name for param in mod["main"].params]
    roles = zip(names[1:], case.specs()[1:], strict=True)
    weights = [param for param, spec in roles if spec.get("role") == "param"]
    schedule = "cuda:sm_80" if side == "ours" else None
    script = translator.via_graph(mod, weights=weights, schedule=schedule)
    if side == "default":
        return default_program(script)
    main = script["main"]
    assert isinstance(main, Function)
    values = (binding.value for seq in all_sequences([main.body]) for binding in bindings(seq))
    return script, Counter(value.func.name for value in values if isinstance(value, CallTIR))


def drawn(func: PrimFunc) -> tuple[list[Array], list[float]]:
    """Return arrays for the parameters of a function, and its scalars."""
    rng = np.random.default_rng(0)
    arrays: list[Array] = []
    for buffer in func.buffers:
        shape = [_length(extent) for extent in buffer.shape]
        value = rng.standard_normal(shape) if "float" in buffer.dtype else rng.integers(0, 2, shape)
        arrays.append(np.asarray(value).astype(numpy_dtype(buffer.dtype)))
    return arrays, [OPEN for param in func.params if param not in func.buffer_map]


def _length(extent: PrimExpr) -> int:
    known: dict[Var, PrimExpr] = {var: IntImm(OPEN, var.dtype) for var in variables(extent)}
    found = static(simplify(substitute(extent, known)))
    assert found is not None
    return found


def checked(func: PrimFunc, blocks: int) -> list[Line]:
    """Return a line for each kernel of a function."""
    begin = time.time()
    try:
        reports = backends.check_kernels(func, *drawn(func), most_blocks=blocks)
    except (Relay2RelaxError, MemoryError) as error:
        return [{"refused": f"{type(error).__name__}: {str(error).splitlines()[0]}"}]
    seconds = round(time.time() - begin, 1)
    return [{**counted(report), "seconds": seconds} for report in reports]


def counted(report: KernelReport) -> Line:
    """Return what a kernel does in all of its blocks, as those that ran did."""
    scale = report.blocks / max(report.run, 1)
    return {
        "blocks": report.blocks,
        "run": report.run,
        "threads": report.threads,
        "shared": report.shared_bytes,
        "flops": report.flops * scale,
        "moved": report.global_bytes * scale,
        "ideal": 32 * scale * sum(one.ideal for one in report.traffic.values()),
        "passes": scale * sum(one.passes for one in report.traffic.values()),
        "conflicts": scale * report.bank_conflicts,
        "findings": [str(one) for one in report.findings],
    }


def remembered(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def report(lines: Iterable[Line]) -> None:
    """Print findings, and for each model the least time of both sides."""
    totals: defaultdict[tuple[str, str, str], float] = defaultdict(float)
    kernels, odd = Counter[tuple[str, str]](), 0
    whole: dict[tuple[str, str], bool] = {}
    for line in lines:
        key = (line["model"], line["side"])
        if "ended" in line:
            whole[key] = True
        elif "refused" in line:
            print(*key, line["function"], line["refused"])
        else:
            kernels[key] += 1
            odd += bool(line["findings"])
            for finding in line["findings"][:1]:
                print(*key, line["function"], finding)
            for arch in ("sm_80", "sm_90"):
                took = device_of(arch).kernel_time(line["blocks"], line["moved"], line["flops"], line["passes"])
                totals[key[0], key[1], arch] += line["calls"] * took
    print("kernels:", sum(kernels.values()), "with findings:", odd)
    print("| model | ours, A100 | default, A100 | ratio | ours, H100 | default, H100 | ratio |")
    print("|---|---|---|---|---|---|---|")
    ratios: dict[str, list[float]] = {"sm_80": [], "sm_90": []}
    for model in sorted({model for model, _ in whole if all((model, side) in whole for side in SIDES)}):
        cells = [model]
        for arch, found in ratios.items():
            ours, default = (totals[model, side, arch] for side in SIDES)
            found.append(ours / default)
            cells += [f"{1e6 * ours:.1f}", f"{1e6 * default:.1f}", f"{ours / default:.2f}"]
        print("|", " | ".join(cells), "|")
    for arch, found in ratios.items():
        if found:
            print(arch, f"geometric mean {math.exp(sum(map(math.log, found)) / len(found)):.2f} of {len(found)} models")


def models() -> Sequence[str]:
    root = golden_root()
    assert root is not None, "recorded models are absent"
    return sorted(one.name for one in (root / "models").iterdir())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--models", type=lambda text: text.split(","), default=None)
    parser.add_argument("--sides", type=lambda text: text.split(","), default=SIDES)
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--report", action="store_true")
    args = parser.parse_args()
    if args.report:
        report(remembered(args.state))
        return
    done = {(line["model"], line["side"], line.get("function")) for line in remembered(args.state)}
    for model in args.models or models():
        for side in args.sides:
            if (model, side, None) in done:
                continue
            module, calls = programs(model, side)
            for var, func in module.functions.items():
                if not isinstance(func, PrimFunc) or not calls.get(var.name) or (model, side, var.name) in done:
                    continue
                head = {"model": model, "side": side, "function": var.name, "calls": calls[var.name]}
                found = [{**head, **line} for line in checked(func, args.blocks)]
                with args.state.open("a") as stream:
                    stream.writelines(json.dumps(line) + "\n" for line in found)
            with args.state.open("a") as stream:
                stream.write(json.dumps({"model": model, "side": side, "ended": True}) + "\n")
            print(model, side, flush=True)


if __name__ == "__main__":
    main()
