"""Elements that a program does not write are 0 on every target, never what memory held before."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typed import of_type

from relay2relax import backends, relax_ir
from relay2relax.backends.c.export.export import export_c
from relay2relax.backends.defined_results import with_defined_results
from relay2relax.tir.analysis.coverage import fills
from relay2relax.tir.ir.stmt import PrimFunc

MODULE = """
@I.ir_module
class Module:
    @T.prim_func
    def k(A: T.Buffer((8, 6), "float32"), B: T.Buffer((8, 6), "float32")):
BODY

    @R.function
    def main(x: R.Tensor((8, 6), "float32")) -> R.Tensor((8, 6), "float32"):
        return R.call_tir(Module.k, (x,), out_sinfo=R.Tensor((8, 6), "float32"))
"""
X = np.arange(1, 49, dtype=np.float32).reshape(8, 6)


def masked(*rows: int, columns: slice = slice(None)) -> np.ndarray:
    found = np.zeros_like(X)
    for row in rows:
        found[row, columns] = X[row, columns]
    return found


# Programs that leave elements out, and what they compute.
PARTIAL: dict[str, tuple[str, np.ndarray | None]] = {
    "rows": ("for i, j in T.grid(3, 6): B[i + 2, j] = A[i + 2, j]", masked(2, 3, 4)),
    "every other": ("for i, j in T.grid(4, 6): B[i * 2, j] = A[i * 2, j]", masked(0, 2, 4, 6)),
    "where": ("for i, j in T.grid(8, 6):\n            if i == 5:\n                B[i, j] = A[i, j]", masked(5)),
    "one loop for two": ("for i in range(6): B[i, i] = A[i, i]", np.where(np.eye(8, 6) > 0, X, 0)),
    "nothing": ("for i, j, k in T.grid(8, 6, 0): B[i, j] = A[i, j]", masked()),
    "read first": ("for i, j in T.grid(8, 6): B[i, j] = B[i, j] + A[i, j]", X),
    "read later": (
        "for i, j in T.grid(8, 6):\n            B[i, j] = A[i, j]\n            if i < 7:\n"
        "                B[i, j] = B[i, j] + B[i + 1, j]",
        X,
    ),
    "neighbours": ("for i, j in T.grid(8, 6): B[i, j] = A[i, j] + B[7 - i, j]", None),
    "digits that overlap": (
        "for i, h, l in T.grid(8, 2, 2): B[i, h * 2 + l] = A[i, h * 2 + l]",
        masked(*range(8), columns=slice(4)),
    ),
    "while": (
        "B[0, 0] = T.float32(1)\n        while B[0, 0] < T.float32(9):\n            B[0, 0] = B[0, 0] * T.float32(2)",
        None,
    ),
    "a block's condition": (
        'for i, j in T.grid(8, 6):\n            with T.block("b"):\n                T.where(j < 4)\n'
        '                vi, vj = T.axis.remap("SS", [i, j])\n                B[vi, vj] = A[vi, vj]',
        masked(*range(8), columns=slice(4)),
    ),
    "a stage": (
        'for i, j in T.grid(4, 6):\n            with T.block("b"):\n'
        '                vi, vj = T.axis.remap("SS", [i, j])\n                B[vi, vj] = A[vi, vj]',
        masked(0, 1, 2, 3),
    ),
}
WHOLE = {
    "grid": "for i, j in T.grid(8, 6): B[i, j] = A[i, j]",
    "turned": "for j, i in T.grid(6, 8): B[i, j] = A[i, j]",
    "digits": "for i, h, l in T.grid(8, 2, 3): B[i, h * 3 + l] = A[i, h * 3 + l]",
    "more rounds": "for i, j, k in T.grid(8, 6, 2): B[i, j] = A[i, j]",
    "sum": (
        'for i, j, k in T.grid(8, 6, 6):\n            with T.block("b"):\n'
        '                vi, vj, vk = T.axis.remap("SSR", [i, j, k])\n                with T.init():\n'
        "                    B[vi, vj] = T.float32(0)\n                B[vi, vj] = B[vi, vj] + A[vi, vk]"
    ),
    "row by row": (
        "for i in range(8):\n            for j in range(6):\n                B[i, j] = T.float32(0)\n"
        "            for k, j in T.grid(6, 6):\n                B[i, j] = B[i, j] + A[i, k]"
    ),
}


# Programs that read temporaries which they have not written as a whole: in all of a program, of a
# round, of a block, of a reduction's block, and too large for the stack.
TEMPORARIES: dict[str, tuple[str, np.ndarray]] = {
    "of a program": (
        'C = T.alloc_buffer((8, 6), "float32")\n        for i, j in T.grid(4, 6): C[i, j] = A[i, j]\n'
        "        for i, j in T.grid(8, 6): B[i, j] = C[i, j]",
        masked(0, 1, 2, 3),
    ),
    "of a round": (
        "for i, j in T.grid(8, 6):\n"
        '            C = T.allocate([4], "float32", "local")\n'
        '            D = T.decl_buffer((4,), data=C, scope="local")\n'
        "            if i % 2 == 0:\n                D[1] = A[i, j]\n            B[i, j] = D[1]",
        masked(0, 2, 4, 6),
    ),
    "of a block": (
        'for i, j in T.grid(8, 6):\n            with T.block("b"):\n                v, w = T.axis.remap("SS", [i, j])\n'
        '                C = T.alloc_buffer((4,), "float32", scope="local")\n                if v < 4:\n'
        "                    C[v % 4] = A[v, w]\n                B[v, w] = C[v % 4]",
        masked(0, 1, 2, 3),
    ),
    "of a reduction": (
        'for i, j, k in T.grid(8, 6, 2):\n            with T.block("b"):\n'
        '                v, w, r = T.axis.remap("SSR", [i, j, k])\n'
        '                C = T.alloc_buffer((2,), "float32", scope="local")\n'
        "                with T.init():\n                    B[v, w] = T.float32(0)\n"
        "                if v < 4 and r == 1:\n"
        "                    C[r] = A[v, w]\n                B[v, w] = B[v, w] + C[r]",
        masked(0, 1, 2, 3),
    ),
    "large": (
        'C = T.alloc_buffer((300, 300), "float32")\n        for i, j in T.grid(4, 6): C[i * 2, j] = A[i, j]\n'
        "        for i, j in T.grid(8, 6): B[i, j] = C[i, j]",
        np.repeat(X[:4], 2, axis=0) * (np.arange(8) % 2 == 0)[:, None],
    ),
}


def text(body: str) -> str:
    return MODULE.replace("BODY", f"        {body}")


def main(target: str, body: str) -> Any:
    return backends.VirtualMachine(backends.build(relax_ir.parse(text(body)), target=target))["main"]


def used_memory() -> None:
    """Leave memory behind that is not zero."""
    for size in (48, 64, 96, 112, 128):
        held = [np.full(size, np.nan, np.float32) for _ in range(200)]
        del held


@pytest.mark.parametrize("target", ["numpy", pytest.param("c", marks=pytest.mark.compiler)])
@pytest.mark.parametrize("name", PARTIAL)
@pytest.mark.sweep(every=2)
def test_what_is_not_written_is_zero(name: str, target: str) -> None:
    body, expected = PARTIAL[name]
    run = main(target, body)
    for _ in range(20):
        used_memory()
        found = run(X)
        assert np.isfinite(found).all()
        if name in ("read later", "neighbours"):
            assert np.isin(found[-1], [*X[-1], *(X[-1] + found[0])]).all()
        elif expected is not None:
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("target", ["numpy", pytest.param("c", marks=pytest.mark.compiler)])
@pytest.mark.parametrize("name", TEMPORARIES)
def test_what_is_not_written_of_temporaries_is_zero(name: str, target: str) -> None:
    body, expected = TEMPORARIES[name]
    run = main(target, body)
    for _ in range(5):
        used_memory()
        np.testing.assert_array_equal(run(X), expected)


@pytest.mark.parametrize("name", WHOLE)
def test_what_is_written_as_a_whole_stays_as_it_is(name: str) -> None:
    module = relax_ir.parse(text(WHOLE[name]))
    assert with_defined_results(module) is module
    func = of_type(next(f for f in module.functions.values() if isinstance(f, PrimFunc)), PrimFunc)
    assert fills(func.body, func.buffers[-1])


@pytest.mark.parametrize("target", ["numpy", pytest.param("c", marks=pytest.mark.compiler)])
def test_a_temporary_between_two_calls(target: str) -> None:
    """What one program leaves out, the next one reads."""
    body = f"        {PARTIAL['rows'][0]}"
    module = MODULE.replace("BODY", body).replace(
        "        return R.call_tir(Module.k, (x,), out_sinfo=",
        '        y = R.call_tir(Module.k, (x,), out_sinfo=R.Tensor((8, 6), "float32"))\n        return R.add(y, ',
    )
    begin, end = module.split("R.add(y, ")
    module = begin + "R.add(y, x)" + "\n" + end.split("\n", 1)[1]
    run = backends.VirtualMachine(backends.build(relax_ir.parse(module), target=target))["main"]
    for _ in range(20):
        used_memory()
        np.testing.assert_array_equal(run(X), X + masked(2, 3, 4))


@pytest.mark.parametrize("target", ["numpy", pytest.param("c", marks=pytest.mark.compiler)])
def test_memory_that_is_given_is_kept(target: str) -> None:
    """A program that works in place finds what its argument holds."""
    module = text(PARTIAL["read first"][0]).replace(
        "R.call_tir(Module.k, (x,), out_sinfo=", "R.call_tir_inplace(Module.k, (x, z), inplace_indices=[1], out_sinfo="
    )
    module = module.replace(
        'def main(x: R.Tensor((8, 6), "float32"))',
        'def main(x: R.Tensor((8, 6), "float32"), z: R.Tensor((8, 6), "float32"))',
    )
    run = backends.VirtualMachine(backends.build(relax_ir.parse(module), target=target))["main"]
    np.testing.assert_array_equal(run(X, np.ones_like(X)), X + 1)


@pytest.mark.compiler
@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_exported_libraries(tmp_path: Path) -> None:
    export_c(relax_ir.parse(text(PARTIAL["a stage"][0])), tmp_path, "net")
    (tmp_path / "main.c").write_text(
        '#include "net.h"\n#include <string.h>\nint main(void) {\n  float x[48], y[48];\n'
        "  for (int i = 0; i < 48; ++i) x[i] = 1;\n  memset(y, 7, sizeof y);\n"
        "  if (net_run(net_load(), x, y)) return 9;\n"
        "  for (int i = 0; i < 48; ++i) if (y[i] != (i < 24)) return 1;\n  return 0;\n}\n"
    )
    built = subprocess.run(["make", "-s", "-C", tmp_path], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    assert subprocess.run([tmp_path / "net"], check=False).returncode == 0
