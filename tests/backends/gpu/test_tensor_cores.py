"""Products of 16-bit numbers on tensor cores: numbers of float64, nothing found, no spill."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pytest

from relay2relax import backends, relax_ir, relay_ir, translator
from relay2relax.backends.numpy.threads.findings import KernelReport
from relay2relax.backends.numpy.threads.launch import watching
from relay2relax.backends.tvm.cuda import compile_cuda, device_sources, gpu_target, joined_sources, nvrtc_problem
from relay2relax.core.dtype import Array, numpy_dtype

Floats = npt.NDArray[np.float64]
# Text of Relay, shapes of its inputs, their dtype, and numpy's way.
DENSE = """
def @main(%x: Tensor[(70, 72), float16], %w: Tensor[(136, 72), float16], %b: Tensor[(136), float16]) {
  nn.relu(nn.bias_add(nn.dense(%x, %w, units=136), %b))
}"""
OPEN = """
def @main(%x: Tensor[(?, 64), float16], %w: Tensor[(64, 64), float16]) {
  nn.dense(%x, %w, units=64, out_dtype="float32")
}"""
BATCHES = """
def @main(%x: Tensor[(3, 33, 50), bfloat16], %y: Tensor[(3, 50, 40), bfloat16]) {
  nn.batch_matmul(%x, %y, transpose_b=False)
}"""
LONG = """
def @main(%x: Tensor[(24, 2048), float16], %w: Tensor[(40, 2048), float16]) {
  nn.dense(%x, %w, units=40)
}"""
CONVOLUTION = """
def @main(%x: Tensor[(1, 16, 12, 12), float16], %w: Tensor[(32, 16, 3, 3), float16]) {
  nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3])
}"""
LARGE = """
def @main(%x: Tensor[(2048, 512), float16], %w: Tensor[(1024, 512), float16], %y: Tensor[(1024, 512), bfloat16],
          %v: Tensor[(512, 1024), bfloat16]) {
  (nn.dense(%x, %w, units=1024), nn.matmul(%y, %v, units=1024))
}"""


def windows(x: Floats) -> Floats:
    """Return the columns of a convolution of 3 by 3 with borders of zeros."""
    padded = np.pad(x[0], ((0, 0), (1, 1), (1, 1)))
    found: Floats = np.stack([padded[:, i : i + 12, j : j + 12] for i in range(3) for j in range(3)], axis=1)
    return found.reshape(16 * 9, 144)


def product(name: str, arrays: list[Floats]) -> tuple[Floats, Floats]:
    """Return the sums of a program, and those of the absolute values of their terms."""
    x, w = arrays[0], arrays[1]
    if name == "convolution":
        x, w = w.reshape(32, 144), windows(x)
    elif name != "batches":
        w = w.T
    return x @ w, np.abs(x) @ np.abs(w)


PROGRAMS = {"dense": DENSE, "open": OPEN, "batches": BATCHES, "long": LONG, "convolution": CONVOLUTION}
SHAPES: dict[str, list[tuple[int, ...]]] = {
    "dense": [(70, 72), (136, 72), (136,)],
    "open": [(37, 64), (64, 64)],
    "batches": [(3, 33, 50), (3, 50, 40)],
    "long": [(24, 2048), (40, 2048)],
    "convolution": [(1, 16, 12, 12), (32, 16, 3, 3)],
}


@lru_cache
def scheduled(text: str, arch: str = "sm_80") -> relax_ir.IRModule:
    mod = relay_ir.infer_type(relay_ir.parse(f'#[version = "0.0.5"]\n{text}'))
    return translator.via_graph(mod, schedule=f"cuda:{arch}")


def arguments(name: str) -> list[Array]:
    rng = np.random.default_rng(2)
    dtype = numpy_dtype("bfloat16" if name == "batches" else "float16")
    return [rng.standard_normal(shape).astype(dtype) for shape in SHAPES[name]]


@lru_cache
def run(name: str) -> tuple[Array, list[KernelReport]]:
    machine = backends.VirtualMachine(backends.build(scheduled(PROGRAMS[name]), target="numpy"))
    with watching() as reports:
        return np.asarray(machine["main"](*arguments(name))), reports


@pytest.mark.parametrize("name", PROGRAMS)
def test_sums_are_those_of_single_precision_and_nothing_is_found(name: str) -> None:
    found, reports = run(name)
    arrays = [one.astype(np.float64) for one in arguments(name)]
    sums, absolute = product(name, arrays)
    # Products are exact; each of k additions of single precision is off by 2^-24 of what it gives.
    allowed = 2.0**-24 * sums.shape[-1] * 32 * absolute
    if name == "dense":
        sums = sums + arrays[2]
        allowed += np.abs(sums) * 2.0**-10
        sums = np.maximum(sums, 0)
    # The result is rounded once to its dtype, the bias's sum before it once more.
    rounding = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24}[found.dtype.name]
    error = np.abs(found.astype(np.float64).reshape(sums.shape) - sums)
    assert bool((error <= allowed + rounding * np.abs(sums)).all())
    assert [str(finding) for report in reports for finding in report.findings] == []
    assert sum(report.bank_conflicts for report in reports) == 0
    assert "T.tvm_mma_sync" in str(scheduled(PROGRAMS[name]))


@pytest.mark.compiler
@pytest.mark.parametrize("name", ["dense", "batches"])
def test_warps_one_after_the_other_come_to_the_same(name: str) -> None:
    machine = backends.VirtualMachine(backends.build(scheduled(PROGRAMS[name]), "c"))
    found = np.asarray(machine["main"](*arguments(name))).astype(np.float64)
    other = run(name)[0].astype(np.float64)
    # Sums are taken in another order, and then rounded.
    assert bool((np.abs(found - other) <= 2.0**-7 * np.maximum(np.abs(other), 0.25)).all())


def test_scripts_read_back_as_they_are() -> None:
    text = str(scheduled(DENSE))
    assert str(relax_ir.parse(text)) == text


def test_factors_of_single_precision_stay_so() -> None:
    text = DENSE.replace("float16", "float32")
    assert "mma_sync" not in str(scheduled(text))
    # Turing multiplies matrices of float16 alone.
    assert "mma_sync" in str(scheduled(DENSE, "sm_75"))
    assert "mma_sync" not in str(scheduled(BATCHES, "sm_75"))


@pytest.mark.tvm
@pytest.mark.skipif(nvrtc_problem() is not None, reason="nvrtc is not installed (make test-cuda does it)")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_tvm_builds_them_and_no_register_is_spilled(arch: str) -> None:
    texts = [*PROGRAMS.values(), LARGE]
    sources = [one for text in texts for one in device_sources(scheduled(text, arch), gpu_target("cuda", arch))]
    kernels = compile_cuda(joined_sources(sources), arch)
    assert len(kernels) >= len(texts)
    assert [one for one in kernels if one.spilled or one.registers > 128 or one.shared > 48 * 1024] == []
