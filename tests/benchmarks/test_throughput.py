"""Inner loops of products as the compiler made them: sums stay in registers, multiply-adds flow."""

from __future__ import annotations

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
@pytest.mark.parametrize("processor", ["skylake", "skylake-avx512"])
def test_multiply_adds_reach_most_of_what_a_processor_begins(throughput: ModuleType, name: str, processor: str) -> None:
    if throughput.analyser() is None:
        pytest.skip("llvm-mca is not installed")
    chosen = next(one for one in throughput.PROCESSORS if one.name == processor)
    shares = [throughput.share(one, chosen) for one in throughput.inner_loops(throughput.assembly(name, chosen))]
    assert min(shares) >= 0.85


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
