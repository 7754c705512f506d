"""apache-tvm's own default kernels, run and checked as ours are."""

from __future__ import annotations

import numpy as np
import pytest
from default_kernels import default_kernels
from gpu_programs import PROGRAMS

from relay2relax import backends, relay_ir, translator
from relay2relax.backends.numpy.threads.findings import KernelReport
from relay2relax.tir.ir.expr import IntImm
from relay2relax.tir.ir.stmt import PrimFunc

pytestmark = [pytest.mark.tvm]


def reports(name: str) -> dict[str, list[KernelReport]]:
    rng = np.random.default_rng(0)
    module = translator.via_graph(relay_ir.parse(f'#[version = "0.0.5"]\n{PROGRAMS[name]}'))
    found = {}
    for var, func in default_kernels(module).functions.items():
        assert isinstance(func, PrimFunc)
        shapes = [[one.value for one in buffer.shape if isinstance(one, IntImm)] for buffer in func.buffers]
        arrays = [
            rng.standard_normal(shape).astype(buffer.dtype) for shape, buffer in zip(shapes, func.buffers, strict=True)
        ]
        found[var.name] = backends.check_kernels(func, arrays, most_blocks=8)
        if var.name == "softmax":
            x, y = arrays[0].astype(np.float32), arrays[-1].astype(np.float32)
            expected = np.exp(x - x.max(axis=-1, keepdims=True))
            np.testing.assert_allclose(y, expected / expected.sum(axis=-1, keepdims=True), rtol=1e-5)
    return found


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("name", ["few rows by a warp each, and softmax stage by stage"])
def test_nothing_is_found_in_them_and_they_are_counted_alike(name: str) -> None:
    found = reports(name)
    assert [str(one) for each in found.values() for report in each for one in report.findings] == []
    # Threads that turn a matrix read a column of it, each a sector of its own.
    assert max(report.coalescing for report in found["transpose"]) > 1.2
    # A product's tiles have rows of 18 words: two rows that a warp stores meet in some banks.
    assert sum(report.bank_conflicts for each in found.values() for report in each) > 0
