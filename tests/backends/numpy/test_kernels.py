"""Kernels on numpy: results are numpy's, and faults that are seeded are found in their lines."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from gpu_kernels import KERNELS, Kernel
from seeded_faults import SEEDED

from relay2relax.backends.numpy.threads.findings import Fault
from relay2relax.backends.numpy.threads.launch import check_kernels
from relay2relax.backends.numpy.tir import evaluate_prim_func
from relay2relax.core.dtype import Array
from relay2relax.core.errors import ExecutionError
from relay2relax.tir.normalize.executable_form import executable_form
from relay2relax.tir.script.printer import print_prim_func


def arrays(kernel: Kernel) -> list[np.ndarray]:
    return [*kernel.arrays(), np.full(kernel.result, 77, "float32")]


def floats(array: Array) -> npt.NDArray[np.float32]:
    return array.astype(np.float32)


@pytest.mark.parametrize("name", KERNELS)
def test_right_kernels_compute_what_numpy_does_and_nothing_is_found(name: str) -> None:
    kernel = KERNELS[name]
    given = arrays(kernel)
    reports = check_kernels(kernel.func(), given)
    assert [finding for report in reports for finding in report.findings] == []
    np.testing.assert_allclose(floats(given[-1]), floats(kernel.expected(*given[:-1])), rtol=1e-5, atol=1e-5)
    again = arrays(kernel)
    evaluate_prim_func(kernel.func(), again[:-1], again[-1:])
    np.testing.assert_array_equal(again[-1], given[-1])


@pytest.mark.parametrize("name", ["softmax", "transpose", "tree", "stencil", "two", "fragments"])
@pytest.mark.sweep(every=6)
def test_threads_one_after_the_other_come_to_the_same(name: str) -> None:
    kernel = KERNELS[name]
    given = arrays(kernel)
    loops = executable_form(kernel.func())
    assert "thread" not in "".join(print_prim_func(loops)).replace("T.func_attr", "")
    evaluate_prim_func(loops, given[:-1], given[-1:])
    np.testing.assert_allclose(floats(given[-1]), floats(kernel.expected(*given[:-1])), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("what", SEEDED)
def test_seeded_faults_are_found(what: str) -> None:
    name, old, new, fault, where = SEEDED[what]
    func = KERNELS[name].func(old, new)
    reports = check_kernels(func, arrays(KERNELS[name]))
    found = [finding for report in reports for finding in report.findings]
    lines = print_prim_func(func)
    assert any(one.fault is fault and where in one.text for one in found), [str(one) for one in found]
    assert all(lines[one.line - 1].strip() == one.text for one in found if one.fault is not Fault.MISSING)


def test_sectors_and_banks_are_counted() -> None:
    (report,) = check_kernels(KERNELS["transpose"].func(), arrays(KERNELS["transpose"]))
    assert (report.coalescing, report.bank_conflicts) == (1.0, 0)
    # Both ways 32 * 128 floats; no operation.
    assert (report.global_bytes, report.flops, report.shared_bytes) == (2 * 4 * 32 * 128, 0, 4 * 32 * 33)
    # Without the column that shifts the rows, all words of a column are in one bank: 31 passes
    # more for each of the 128 instructions of warps.
    (report,) = check_kernels(KERNELS["transpose"].func("(32, 33)", "(32, 32)"), arrays(KERNELS["transpose"]))
    assert report.bank_conflicts == 31 * 128
    # Read in columns, each of 32 threads takes a sector of its own for four of its bytes.
    strided = KERNELS["transpose"].func("A[i * 8 + t // 32, b * 32 + t % 32]", "A[t % 32, b * 32 + i * 8 + t // 32]")
    (report,) = check_kernels(strided, arrays(KERNELS["transpose"]))
    assert (report.traffic["A"].sectors, report.traffic["A"].ideal) == (128 * 32, 128 * 4)
    (report,) = check_kernels(KERNELS["product"].func(), arrays(KERNELS["product"]))
    # In every block 256 threads take 3 * 16 products and sums.
    assert report.flops == 6 * 256 * 48 * 2
    # A warp stores two rows of 17 words at once: the first of one is 32 words before the last of
    # the other.
    assert report.bank_conflicts == 6 * 3 * 8
    (report,) = check_kernels(KERNELS["product"].func("(16, 17)", "(16, 16)"), arrays(KERNELS["product"]))
    assert report.bank_conflicts == 0


def test_vectors_are_one_instruction_where_they_lie_at_multiples_of_their_size() -> None:
    (report,) = check_kernels(KERNELS["vectors"].func(), arrays(KERNELS["vectors"]))
    # 125 vectors of 16 bytes, and one float by itself.
    assert report.traffic["A"].ideal == report.traffic["A"].sectors == -(-125 * 16 // 32) + 1


def test_some_blocks_stand_for_all() -> None:
    (report,) = check_kernels(KERNELS["softmax"].func(), arrays(KERNELS["softmax"]), most_blocks=3)
    assert (report.run, report.blocks) == (3, 6)
    assert report.findings == []


def test_running_without_a_watch_refuses_what_is_outside() -> None:
    kernel = KERNELS["product"]
    func = kernel.func("if by * 16 + ty < 40:", "if True:")
    with pytest.raises(ExecutionError, match="dimension 0 of 'C', which has extent 40"):
        evaluate_prim_func(func, kernel.arrays(), [np.zeros((40, 32), "float32")])
