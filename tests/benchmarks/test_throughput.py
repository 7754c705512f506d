"""Inner loops of products as the compiler made them: sums stay in registers, multiply-adds flow."""

from __future__ import annotations

import shutil
from types import ModuleType

import pytest

PRODUCTS = (
    "matmul 512³",
    "conv 3×3 256→256 at 14²",
    "depthwise 3×3 144 at 56²",
    "conv 1×1 256→256 at 8², scaled",
)


@pytest.fixture
def throughput(recorded_tiny: object) -> ModuleType:
    """The module of the benchmark."""
    import throughput

    return throughput


@pytest.mark.compiler
@pytest.mark.parametrize("march", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.sweep(every=2)
def test_sums_stay_in_registers(throughput: ModuleType, name: str, march: str) -> None:
    chosen = next(one for one in throughput.PROCESSORS if one.march == march)
    loops = list(throughput.inner_loops(throughput.assembly(name, chosen)))
    assert loops
    assert [loop.spilled for loop in loops] == [0] * len(loops)


@pytest.mark.compiler
@pytest.mark.parametrize("name", PRODUCTS[:2])
@pytest.mark.parametrize("processor", ["skylake", "skylake-avx512", "neoverse-n1"])
def test_multiply_adds_reach_most_of_what_a_processor_begins(throughput: ModuleType, name: str, processor: str) -> None:
    if throughput.analyser() is None:
        pytest.skip("llvm-mca is not installed")
    chosen = next(one for one in throughput.PROCESSORS if one.name == processor)
    if chosen.target and shutil.which("aarch64-linux-gnu-gcc") is None:
        pytest.skip("no compiler for AArch64")
    loops = list(throughput.inner_loops(throughput.assembly(name, chosen)))
    assert min(throughput.share(one, chosen) for one in loops) >= 0.85
    assert not any(one.spilled for one in loops)


def test_loops_are_found_and_what_they_move_is_counted(throughput: ModuleType) -> None:
    text = """
.L2:
	movq %rax, %rbx
.L3:
	vmovaps 8(%rsp), %ymm3
	vfmadd231ps (%rax), %ymm2, %ymm3
	vfmadd231ps 32(%rax), %ymm2, %ymm4
	vfmadd231ps 64(%rax), %ymm2, %ymm5
	vmovaps %ymm3, 8(%rsp)
	.p2align 4
	cmpq %rax, %rcx
	jne .L3
	cmpq %rdi, %rsi
	jne .L2
"""
    (loop,) = throughput.inner_loops(text)
    assert (loop.fused, loop.spilled, len(loop.lines)) == (3, 2, 7)


def test_loops_that_store_are_no_sums(throughput: ModuleType) -> None:
    text = """
.LBB1_5:
	vle32.v v9, (a3)
	vfmadd.vf v9, fa4, v15
	vfmadd.vf v10, fa4, v15
	vfmadd.vf v11, fa3, v16
	vse32.v v9, (a0)
	bne t2, a6, .LBB1_5
"""
    assert not list(throughput.inner_loops(text))
    (kept,) = throughput.inner_loops(text.replace("vse32.v v9, (a0)", "addi a0, a0, 64"))
    assert kept.fused == 3


def test_what_is_mended_is_wrong_in_the_models(throughput: ModuleType) -> None:
    """An addition of integers holds up vectors that have nothing to do with it, and a number that
    is read for all lanes costs a multiply-add only where another instruction reads it.
    """
    if throughput.analyser() is None:
        pytest.skip("llvm-mca is not installed")
    x280, zen4 = (next(one for one in throughput.PROCESSORS if one.name == name) for name in ("sifive-x280", "znver4"))
    sums = [f"vfmacc.vf v{number}, fa0, v16" for number in range(12)]
    beside = [line for one in sums for line in (one, "addi t0, t1, 1")]
    assert throughput.cycles(beside, x280) > 1.6 * throughput.cycles(sums, x280)
    assert throughput.cycles(beside, x280, queue=True) == throughput.cycles(sums, x280, queue=True)
    sums = [f"vfmadd231ps %zmm24, %zmm25, %zmm{number}" for number in range(24)]
    apart = [f"vbroadcastss {4 * number}(%rax), %zmm{26 + number % 4}" for number in range(8)]
    reading = [one.replace("%zmm24, ", "(%rax){1to16}, ") for one in sums]
    plain = throughput.cycles(sums, zen4)
    assert throughput.cycles(reading, zen4) < 1.02 * plain < 1.1 * plain < throughput.cycles([*sums, *apart], zen4)
