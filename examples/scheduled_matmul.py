"""A product of two matrices of 512x512, scheduled by hand, built by apache-tvm with its default
pipeline.

Each step is checked, so what comes out computes what went in. The matrix on the right is packed
into panels of as many columns as a tile has; a tile of results stays in registers while the whole
depth runs, and is stored once. The script prints the rate of that against numpy's own product, on
two threads, and how far the results are apart.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

if __name__ == "__main__":
    # Both read these when they are loaded.
    os.environ.setdefault("TVM_NUM_THREADS", "2")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "2")

import numpy as np

from relay2relax.tir import PrimFunc, print_prim_func, te
from relay2relax.tir.schedule import Schedule

SIZE = 512
# A tile of results: so many rows, and as many columns as a few vectors have lanes.
ROWS, COLUMNS = 8, 32
# So many rows belong to one thread's step: a panel is read once for all of them.
BLOCK = 64


def matmul(size: int = SIZE) -> PrimFunc:
    """Return ``c = a @ b`` for square matrices, as tensor expressions say it."""
    a, b = te.placeholder((size, size), "float32", "a"), te.placeholder((size, size), "float32", "b")
    k = te.reduce_axis(size, "k")
    product = te.compute((size, size), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), "c")
    return te.create_prim_func([a, b], [product], "matmul")


def scheduled(func: PrimFunc, rows: int = ROWS, columns: int = COLUMNS, block: int = BLOCK) -> PrimFunc:
    """Return ``func`` in blocks for threads, panels for the cache, and tiles for registers."""
    s = Schedule(func)
    # Packing: the columns of one panel lie beside each other, panel after panel.
    packed = s.cache_read("c", "b", "global")
    panels = lambda k, j: (j // columns, k, j % columns)  # noqa: E731
    s.transform_layout(packed, ("write", 0), panels)
    s.transform_block_layout(packed, panels)
    panel, _, lanes = s.get_loops(packed)
    s.vectorize(lanes)
    s.parallel(panel)
    # Blocking.
    tile = s.cache_write("c", "c", "local")
    i, j, k = s.get_loops("c")
    part, i_tile, i_row = s.split(i, [None, block // rows, rows])
    j_tile, lane = s.split(j, [None, columns])
    s.reorder(part, j_tile, i_tile, k, i_row, lane)
    # A tile is stored when it is done, and begun with zeros.
    s.reverse_compute_at(tile, i_tile)
    start, update = s.decompose_reduction("c", k)
    for name in (start, update, tile):
        *_, row, lane = s.get_loops(name)
        s.vectorize(lane)
        s.unroll(row)
    s.parallel(part)
    return s.func


def rate(run: Callable[[], object], size: int = SIZE, repeats: int = 30) -> float:
    """Return the GFLOP/s of the fastest of some runs."""
    best = float("inf")
    for _ in range(repeats):
        begin = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - begin)
    return 2 * size**3 / best / 1e9


def main() -> int:
    """Build, run, compare and print both rates; apache-tvm 0.25 or later is needed."""
    try:
        import tvm
    except ImportError:
        print("this example needs apache-tvm: pip install apache-tvm")
        return 1
    random = np.random.default_rng(0)
    a, b = (random.standard_normal((SIZE, SIZE)).astype(np.float32) for _ in range(2))
    target = tvm.target.Target({"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu()})
    programs = {"as it is": matmul(), "scheduled": scheduled(matmul())}
    for name, func in programs.items():
        public = replace(func, private=False)
        script = "\n".join(["@I.ir_module", "class Module:", *print_prim_func(public, indent=1), ""])
        built = tvm.compile(tvm.script.from_source(script), target=target)
        given = [tvm.runtime.tensor(array) for array in (a, b, np.zeros((SIZE, SIZE), np.float32))]
        kernel = built["matmul"]
        fastest = rate(partial(kernel, *given), repeats=30 if name == "scheduled" else 2)
        print(f"apache-tvm, {name}: {fastest:.1f} GFLOP/s")
        print(f"  furthest from numpy: {np.abs(given[2].numpy() - a @ b).max():.1e}")
    out = np.empty_like(a)
    print(f"numpy: {rate(lambda: np.matmul(a, b, out=out)):.1f} GFLOP/s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
