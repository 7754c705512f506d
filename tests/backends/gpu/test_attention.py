"""Attention as one kernel: numbers of float64, nothing found, no score in global memory."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pytest

from relay2relax import backends, relax_ir, relay_ir, translator
from relay2relax.backends.numpy.threads.findings import KernelReport
from relay2relax.backends.numpy.threads.launch import watching
from relay2relax.backends.tvm.cuda import compile_cuda, device_sources, gpu_target, joined_sources, nvrtc_problem
from relay2relax.core.dtype import Array
from relay2relax.core.passes import PassContext

MASKED = """
def @main(%q: Tensor[(2, 50, 64), float32], %k: Tensor[(2, 70, 64), float32], %v: Tensor[(2, 64, 70), float32],
          %m: Tensor[(2, 1, 70), float32]) {
  %0 = multiply(nn.batch_matmul(%q, %k, transpose_b=True), 0.125f);
  nn.batch_matmul(nn.softmax(add(%0, %m)), %v, transpose_b=True)
}"""
OPEN = """
def @main(%q: Tensor[(2, ?, 64), float32], %k: Tensor[(2, ?, 64), float32], %v: Tensor[(2, ?, 64), float32]) {
  nn.batch_matmul(nn.softmax(nn.batch_matmul(%q, %k, transpose_b=True)), %v, transpose_b=False)
}"""
TURNED = """
def @main(%q: Tensor[(3, 64, 40), float32], %k: Tensor[(3, 40, 96), float32], %v: Tensor[(3, 96, 24), float32]) {
  %0 = divide(nn.batch_matmul(%q, %k, transpose_b=False), 8f);
  nn.relu(nn.batch_matmul(nn.softmax(%0), %v, transpose_b=False))
}"""
PROGRAMS = {"masked": MASKED, "open": OPEN, "turned": TURNED}
SHAPES: dict[str, list[tuple[int, ...]]] = {
    "masked": [(2, 50, 64), (2, 70, 64), (2, 64, 70), (2, 1, 70)],
    "open": [(2, 45, 64), (2, 75, 64), (2, 75, 64)],
    "turned": [(3, 64, 40), (3, 40, 96), (3, 96, 24)],
}


@lru_cache
def scheduled(text: str, arch: str = "sm_80", fused: bool = True) -> relax_ir.IRModule:
    mod = relay_ir.infer_type(relay_ir.parse(f'#[version = "0.0.5"]\n{text}'))
    with PassContext(disabled_pass=[] if fused else ["gpu.FuseAttention"]):
        return translator.via_graph(mod, schedule=f"cuda:{arch}")


def arguments(name: str) -> list[Array]:
    rng = np.random.default_rng(4)
    found: list[Array] = [rng.standard_normal(shape).astype("float32") for shape in SHAPES[name]]
    if name == "masked":
        # A row's first tile may have no column that counts.
        found[3][0, 0, :40] = -1e30
    return found


def expected(name: str, arrays: list[Array]) -> npt.NDArray[np.float64]:
    q, k, v, *rest = (one.astype(np.float64) for one in arrays)
    scores = q @ (k if name == "turned" else k.swapaxes(1, 2))
    if name == "masked":
        scores, v = scores * 0.125 + rest[0], v.swapaxes(1, 2)
    if name == "turned":
        scores = scores / 8
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    found: npt.NDArray[np.float64] = (weights / weights.sum(axis=2, keepdims=True)) @ v
    return np.maximum(found, 0) if name == "turned" else found


@lru_cache
def run(name: str, fused: bool = True) -> tuple[Array, list[KernelReport]]:
    machine = backends.VirtualMachine(backends.build(scheduled(PROGRAMS[name], fused=fused), target="numpy"))
    with watching() as reports:
        return np.asarray(machine["main"](*arguments(name))), reports


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_kernel_has_the_numbers_of_float64_and_nothing_is_found(name: str) -> None:
    found, reports = run(name)
    assert np.allclose(found, expected(name, arguments(name)), rtol=1e-5, atol=2e-5)
    (report,) = reports
    assert [str(finding) for finding in report.findings] == []
    assert report.bank_conflicts == 0


def test_scores_are_not_in_global_memory() -> None:
    # Two matrices of 2 by 50 by 70 floats are written and read again where kernels are apart.
    apart = sum(report.global_bytes for report in run("masked", fused=False)[1])
    (report,) = run("masked")[1]
    assert apart - report.global_bytes >= 2 * 2 * 4 * 2 * 50 * 70
    tiles = {"scores", "query_tile", "keys_tile", "values_tile"}
    assert len(set(report.traffic) - tiles - {"q", "k", "v", "m"}) == 1


@pytest.mark.compiler
def test_threads_one_after_the_other_come_to_the_same() -> None:
    machine = backends.VirtualMachine(backends.build(scheduled(MASKED), "c"))
    assert np.allclose(np.asarray(machine["main"](*arguments("masked"))), run("masked")[0], rtol=1e-5, atol=2e-5)


def test_what_is_wanted_otherwise_stays_apart() -> None:
    # Somebody else reads the weights; the exponentials are not divided by their own sum.
    last = "nn.batch_matmul(nn.softmax(add(%0, %m)), %v, transpose_b=True)"
    both = MASKED.replace(last, "%1 = nn.softmax(add(%0, %m));\n  (%1, nn.batch_matmul(%1, %v, transpose_b=True))")
    other = MASKED.replace("nn.softmax(add(%0, %m))", "nn.log_softmax(add(%0, %m))")
    assert "query_tile" in str(scheduled(MASKED))
    assert "query_tile" not in str(scheduled(both))
    assert "query_tile" not in str(scheduled(other))


@pytest.mark.tvm
@pytest.mark.skipif(nvrtc_problem() is not None, reason="nvrtc is not installed (make test-cuda does it)")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_tvm_builds_them_and_no_register_is_spilled(arch: str) -> None:
    texts = PROGRAMS.values()
    sources = [one for text in texts for one in device_sources(scheduled(text, arch), gpu_target("cuda", arch))]
    kernels = compile_cuda(joined_sources(sources), arch)
    assert len(kernels) == len(texts)
    assert [one for one in kernels if one.spilled or one.registers > 128] == []
