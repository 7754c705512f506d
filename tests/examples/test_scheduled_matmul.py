"""The product of matrices that is scheduled by hand: the same numbers everywhere, and the loops
that it asks for.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relay2relax.backends.numpy.tir import evaluate_prim_func
from relay2relax.tir import PrimFunc, check_prim_func, structural_equal
from relay2relax.tir.ir.stmt import For, LoopKind
from relay2relax.tir.ir.visit import statements

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "scheduled_matmul.py"
A, B = (np.random.default_rng(seed).standard_normal((64, 64)).astype(np.float32) for seed in (1, 2))


def small() -> PrimFunc:
    found: dict[str, Any] = runpy.run_path(str(EXAMPLE))
    func: PrimFunc = found["scheduled"](found["matmul"](64), rows=4, columns=16, block=16)
    return func


def test_numbers_and_loops() -> None:
    func = small()
    check_prim_func(func)
    kinds = [node.kind for node in statements(func.body) if isinstance(node, For)]
    assert [kinds.count(kind) for kind in (LoopKind.PARALLEL, LoopKind.VECTORIZED, LoopKind.UNROLLED)] == [2, 4, 3]
    result = np.full((64, 64), 7, np.float32)
    evaluate_prim_func(func, [A, B], [result])
    np.testing.assert_allclose(result, A @ B, rtol=1e-4, atol=1e-4)


def test_the_documentation_schedules_it_so(tmp_path: Path) -> None:
    example, page = runpy.run_path(str(EXAMPLE)), (ROOT / "docs" / "guide" / "schedules.md").read_text()
    code = tmp_path / "page.py"
    code.write_text(page.split("```python\n")[1].split("```")[0])
    assert structural_equal(runpy.run_path(str(code))["s"].func, example["scheduled"](example["matmul"]()))


@pytest.mark.compiler
def test_in_c() -> None:
    from relay2relax.backends.c.loaded_module import compile_prim_funcs

    result = np.full((64, 64), 7, np.float32)
    compile_prim_funcs([small()]).call("matmul", A, B, result)
    np.testing.assert_allclose(result, A @ B, rtol=1e-4, atol=1e-4)


@pytest.mark.tvm
def test_in_tvm() -> None:
    from dataclasses import replace

    tvm = pytest.importorskip("tvm")
    from tensor_scripts import module_text

    built = tvm.compile(tvm.script.from_source(module_text(replace(small(), private=False))), target="llvm")
    result = tvm.runtime.tensor(np.full((64, 64), 7, np.float32))
    built["matmul"](tvm.runtime.tensor(A), tvm.runtime.tensor(B), result)
    np.testing.assert_allclose(result.numpy(), A @ B, rtol=1e-4, atol=1e-4)
