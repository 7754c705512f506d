"""Calls are put together for C; what goes wrong is said of the function that the user wrote."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax import Limits, backends, relax_ir, relay_ir, translator
from relay2relax.backends.c.codegen.program import generate
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.merge_calls import merge_blocks
from relay2relax.core.errors import ExecutionError, LimitError, OutOfMemoryError
from relay2relax.tir.ir.stmt import PrimFunc

pytestmark = pytest.mark.compiler

MODULE = """
@I.ir_module
class Module:
    @T.prim_func
    def pick(a: T.handle, k: T.handle, b: T.handle):
        n, m = T.int64(), T.int64()
        A = T.match_buffer(a, (n,), "float32")
        K = T.match_buffer(k, (m,), "int64")
        B = T.match_buffer(b, (4,), "float32")
        for i in range(4):
            B[i] = A[K[i]]

    @T.prim_func
    def spread(a: T.handle, k: T.handle, b: T.handle):
        m = T.int64()
        K = T.match_buffer(k, (m,), "int64")
        A = T.match_buffer(a, (4,), "float32")
        B = T.match_buffer(b, (4,), "float32")
        for i in range(T.int64(10)):
            C = T.alloc_buffer(((m - 4) * 30000000000000 + 4 + i % m,), "float32")
            C[i % 4] = A[i % 4]
            B[i % 4] = C[i % 4]

    @T.prim_func
    def twice(a: T.handle, b: T.handle):
        A = T.match_buffer(a, (4,), "float32")
        B = T.match_buffer(b, (4,), "float32")
        for i in range(4):
            B[i] = A[i] * T.float32(2)

    @R.function
    def main(x: R.Tensor(("n",), "float32"), k: R.Tensor(("m",), "int64")):
        cls = Module
        p = R.call_tir(cls.pick, (x, k), out_sinfo=R.Tensor((4,), "float32"))
        q = R.call_tir(cls.spread, (p, k), out_sinfo=R.Tensor((4,), "float32"))
        r = R.call_tir(cls.twice, (q,), out_sinfo=R.Tensor((4,), "float32"))
        return r
"""


@pytest.fixture(scope="module")
def run() -> Any:
    return backends.VirtualMachine(backends.build(relax_ir.parse(MODULE), target="c"))["main"]


def test_what_fits_is_computed(run: Any) -> None:
    found = run(np.arange(8, dtype=np.float32) - 2, np.array([2, 3, 4, 5]))
    np.testing.assert_array_equal(found, np.array([0, 2, 4, 6], np.float32))


def test_an_index_outside(run: Any) -> None:
    with pytest.raises(ExecutionError, match="pick: index 9 is outside dimension 0 of 'x', which has extent 8"):
        run(np.zeros(8, np.float32), np.array([0, 9, 0, 0]))


def test_an_index_outside_on_numpy() -> None:
    main = backends.VirtualMachine(backends.build(relax_ir.parse(MODULE), target="numpy"))["main"]
    with pytest.raises(ExecutionError, match="pick: index 9 is outside dimension 0 of 'A', which has extent 8"):
        main(np.zeros(8, np.float32), np.array([0, 9, 0, 0]))


def test_every_access_that_is_looked_at_has_a_function() -> None:
    merged = merge_blocks(relax_ir.parse(MODULE))
    (func,) = (one for one in merged.module.functions.values() if isinstance(one, PrimFunc))
    _, entries = generate([func], Machine(), merged.constants, checked=True)
    sites = entries[func.name].sites
    assert {site.function for site in sites if site.dimension is None} == {"pick", "spread", "twice"}


def test_extents_that_do_not_fit(run: Any) -> None:
    with pytest.raises(ExecutionError, match="pick: dimension 0 of 'k' does not hold place 3"):
        run(np.zeros(8, np.float32), np.array([0, 0]))


def test_memory_that_is_lacking(run: Any) -> None:
    with pytest.raises(OutOfMemoryError, match="the buffer 'C' of spread"):
        run(np.zeros(8, np.float32), np.array([0, 0, 0, 0, 0]))


@pytest.mark.parametrize(
    ("body", "called"),
    [
        ("nn.relu(exp(%x))", "fused_tir_exp_relu"),
        ("exp(%x)", "fused_tir_exp"),
        ("nn.relu(" * 20 + "%x" + ")" * 20, "fused_" + "relu_" * 12 + "and_8_more"),
    ],
)
def test_what_concerns_all_of_them_names_the_calls(body: str, called: str) -> None:
    text = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(?, 3), float32]) {{ {body} }}'
    module = translator.lower_to_tir(relay_ir.infer_type(relay_ir.parse(text)))
    main = backends.VirtualMachine(backends.build(module, target="c"))["main"]
    with pytest.raises(LimitError, match=f"in @main, for {called} "), Limits(memory=1000):
        main(np.zeros((1000, 3), np.float32))
