"""Libraries for apache-tvm's runtime: what is in them, and that it runs them alone."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from relay2relax import relay_ir, translator
from relay2relax.backends.tvm.bundle import runtime_library, with_kernels
from relay2relax.backends.tvm.cuda import nvrtc_problem

PROGRAM = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(8, 16), float32]) { nn.softmax(nn.relu(%x)) }'
RUN = """
import sys
import numpy as np
import tvm
from tvm.runtime.vm import VirtualMachine

assert list(tvm.base._LOADED_LIBS) == ["tvm_runtime"]
machine = VirtualMachine(tvm.runtime.load_module(sys.argv[1]), tvm.cpu())
np.save(sys.argv[3], machine["main"](tvm.runtime.tensor(np.load(sys.argv[2]))).numpy())
"""
needs_nvrtc = pytest.mark.skipif(nvrtc_problem() is not None, reason="nvrtc is not installed (make test-cuda does it)")


def text(data: bytes) -> bytes:
    return struct.pack("<Q", len(data)) + data


def numbers(*values: int) -> bytes:
    return struct.pack(f"<{len(values) + 1}Q", len(values), *values)


def test_sources_give_way_to_what_was_compiled() -> None:
    tree, machine = numbers(0, 1, 2) + numbers(1, 2), text(b"relax.VMExecutable") + text(b"bytecode")
    table, library = text(b"a table"), text(b"_lib")
    written = tree + machine + library + text(b"cuda") + text(text(b"cuda") + table + text(b"__global__"))
    wanted = tree + machine + library + text(b"cuda") + text(text(b"cubin") + table + text(b"\x7fELF"))
    assert with_kernels(text(written), {b"__global__": b"\x7fELF"}) == text(wanted)
    # What is compiled already stays.
    assert with_kernels(text(wanted), {}) == text(wanted)


@pytest.mark.tvm
@pytest.mark.compiler
@pytest.mark.sweep(every=2)
def test_the_runtime_alone_runs_a_library(tmp_path: Path) -> None:
    script = translator.via_graph(relay_ir.parse(PROGRAM), schedule="cpu")
    (tmp_path / "net.so").write_bytes(runtime_library(script))
    x = np.random.default_rng(0).standard_normal((8, 16)).astype("float32")
    np.save(tmp_path / "x.npy", x)
    command = [sys.executable, "-c", RUN, "net.so", "x.npy", "y.npy"]
    subprocess.run(command, cwd=tmp_path, env={**os.environ, "TVM_USE_RUNTIME_LIB": "1"}, check=True, timeout=120)
    powers = np.exp(np.maximum(x, 0))
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), powers / powers.sum(axis=1, keepdims=True), rtol=1e-5)


@pytest.mark.tvm
@pytest.mark.compiler
@needs_nvrtc
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_a_library_for_gpus_has_compiled_kernels_and_no_source(arch: str) -> None:
    script = translator.via_graph(relay_ir.parse(PROGRAM), schedule=f"cuda:{arch}")
    made = runtime_library(script, arch)
    assert b"__global__" not in made
    # The library itself, and one for the GPU, whose machine is 190.
    kernels = made.index(b"\x7fELF", 1)
    assert struct.unpack_from("<H", made, kernels + 18) == (190,)
    assert b"softmax_kernel" in made[kernels:]
