"""Recorded quantised programs in integer form, against what a TVM with Relay computes for drawn
inputs, to the bit.

``cases/made_by_tvm.json`` has SHA-256 of outputs of TVM 0.16.dev0 (the package hhb-tvm 3.2.3, graph
executor, ``llvm -mtriple=x86_64-linux-gnu``). The recorded programs that it lacks end in averages
of floats, which TVM adds up with fused multiply-adds.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorded_cases import entry, flat
from sweep import sampled
from typed import present

from relay2relax import backends, relay_ir, translator
from relay2relax.ops import TensorType
from relay2relax.tir.extent import static

MADE_BY_TVM: dict[str, list[str]] = json.loads((Path(__file__).parent / "cases" / "made_by_tvm.json").read_text())
BACKENDS = ["numpy", pytest.param("c", marks=pytest.mark.compiler), pytest.param("tvm", marks=pytest.mark.tvm)]


def drawn(case: str, name: str, type_: TensorType) -> np.ndarray:
    """Return a value of a parameter of a case: a scale is positive, a zero point near zero, bytes
    are all that there are.
    """
    rng = np.random.default_rng(zlib.crc32(f"{case} {name}".encode()))
    shape = [present(static(extent)) for extent in type_.shape]
    if type_.dtype == "float32":
        value = rng.uniform(0.02, 0.3, shape) if "scale" in name else rng.standard_normal(shape)
        return np.asarray(value, np.float32)
    low, high = (-5, 5) if "zero_point" in name or name == "zp" else (-(2**20), 2**20)
    if type_.dtype != "int32" and high > 5:
        info = np.iinfo(type_.dtype)
        low, high = info.min, info.max
    return np.asarray(rng.integers(low, high + 1, shape), type_.dtype)


def arguments(case: str, mod: relay_ir.IRModule, function: relay_ir.Function) -> list[np.ndarray]:
    types = [mod.types[param] for param in function.params]
    return [drawn(case, p.name, t) for p, t in zip(function.params, types, strict=True) if isinstance(t, TensorType)]


@pytest.mark.golden
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("file", ["operators", "frontend_onnx"])
@pytest.mark.sweep(every=2)
def test_integers_are_those_of_tvm(recorded: Any, file: str, backend: str) -> None:
    cases = [case for case in recorded(file) if "qnn." in case["text"] and case["id"] in MADE_BY_TVM]
    assert len(cases) == {"operators": 64, "frontend_onnx": 41}[file]
    for case in sampled(cases, 10 if backend == "tvm" else 1):
        mod = relay_ir.infer_type(relay_ir.parse(case["text"], case["id"]), declare_results=True)
        function = mod[entry(case)]
        assert isinstance(function, relay_ir.Function)
        given = arguments(case["id"], mod, function)
        relax = translator.via_graph(mod)
        found = flat(backends.VirtualMachine(backends.build(relax, target=backend))["main"](*given))
        digests = [hashlib.sha256(f"{one.dtype}{one.shape}".encode() + one.tobytes()).hexdigest() for one in found]
        assert digests == MADE_BY_TVM[case["id"]], case["id"]
