"""Kernels of plain loops in the place of blocks, memory of parallel loops, and schedules in machine
code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedules.examples import PROGRAMS, blur, chain, data, dense, matmul, on_numpy, random_schedule, softmax
from typed import of_type

from relay2relax.tir import PrimFunc, TIRError, check_prim_func, te
from relay2relax.tir.ir.expr import IntImm, Var
from relay2relax.tir.ir.stmt import Allocate, BlockRealize, For, If, LoopKind, Seq, Stmt
from relay2relax.tir.ir.visit import map_stmt, statements
from relay2relax.tir.schedule import Intrinsic, Schedule
from relay2relax.tir.schedule.private import lowered_stage


def tiled(rows: int = 4, columns: int = 8, inner: int = 4) -> tuple[Schedule, Var]:
    """Return a schedule of a product in tiles, and the outermost loop of a tile."""
    s = Schedule(matmul(8, 16, 8))
    i, j, k = s.get_loops("c")
    (i0, i1), (j0, j1), (k0, k1) = s.split(i, [None, rows]), s.split(j, [None, columns]), s.split(k, [None, inner])
    s.reorder(i0, j0, k0, i1, j1, k1)
    return s, i1


def outer_product(rows: int = 4, columns: int = 8, inner: int = 4) -> Intrinsic:
    """Return the kernel that adds a product of small matrices, the columns as vectors."""
    whole = Schedule(matmul(rows, columns, inner))
    whole.decompose_reduction("c", whole.get_loops("c")[0])
    update = of_type(whole.func.body, Seq).stmts[1]
    described = PrimFunc("kernel", whole.func.params, whole.func.buffer_map, update)

    def steps(s: Schedule) -> None:
        i, j, k = s.get_loops("c_update")
        s.reorder(k, i, j)
        s.vectorize(j)
        s.unroll(i)

    return Schedule.intrinsic(described, steps)


def test_a_kernel_takes_the_place_of_a_tile() -> None:
    s, tile = tiled()
    expected = s.func
    s.tensorize(tile, outer_product())
    check_prim_func(s.func)
    kinds = [node.kind for node in statements(s.func.body) if isinstance(node, For)]
    assert kinds.count(LoopKind.VECTORIZED) == kinds.count(LoopKind.UNROLLED) == 1
    inputs = data(expected)
    np.testing.assert_allclose(on_numpy(s.func, inputs), inputs[0] @ inputs[1], rtol=1e-4, atol=1e-5)


@pytest.mark.tvm
def test_a_kernel_in_tvm(run_in_tvm: Any) -> None:
    s, tile = tiled()
    s.tensorize(tile, outer_product())
    inputs = data(s.func)
    (result,) = run_in_tvm(s.func, inputs, [(8, 16)])
    np.testing.assert_allclose(result, inputs[0] @ inputs[1], rtol=1e-4, atol=1e-5)


def test_kernels_that_do_something_else_are_refused() -> None:
    s, tile = tiled()
    with pytest.raises(TIRError, match="has not the shape"):
        s.tensorize(tile, outer_product(4, 4, 4))
    with pytest.raises(TIRError, match="blockize a loop first"):
        s.tensorize("c", outer_product())
    other = te.placeholder((4, 4), "float32", "a"), te.placeholder((4, 8), "float32", "b")
    product = te.compute((4, 8), lambda i, j: other[0][i, IntImm(0)] * other[1][IntImm(0), j], "c")
    described = te.create_prim_func(list(other), [product], "kernel")
    with pytest.raises(TIRError, match="does not compute"):
        s.tensorize(tile, Intrinsic(described, described))


def overlapping() -> Schedule:
    """Return a schedule in which the parts of a parallel loop compute the same sums at their
    borders.
    """
    s = Schedule(blur(64))
    part, _ = s.split(s.get_loops("blurred")[1], [None, 4])
    s.reorder(part, s.get_loops("blurred")[0])
    s.compute_at("flat", part)
    s.parallel(part)
    return s


def test_what_parts_make_for_themselves_is_their_own() -> None:
    s = overlapping()
    first = of_type(s.func.body, Seq).stmts[0]
    own = [node.buffer for node in statements(lowered_stage(s.func, first)) if isinstance(node, Allocate)]
    assert [(one.name, [of_type(extent, IntImm).value for extent in one.shape]) for one in own] == [("flat", [6, 6])]
    # Sums that go on in another iteration of a loop around are nobody's own.
    s = Schedule(dense(8))
    i, j, k = s.get_loops("product")
    s.reorder(k, i, j)
    s.parallel(i)
    assert not any(
        isinstance(node, Allocate) for node in statements(lowered_stage(s.func, of_type(s.func.body, Seq).stmts[0]))
    )


def in_place_of(old: Stmt, new: Stmt) -> Callable[[Stmt], Stmt | None]:
    return lambda node: new if node is old else None


def test_what_is_made_once_for_all_iterations_is_nobodys_own() -> None:
    s = Schedule(chain())
    loop = s.get_loops("turned")[0]
    s.compute_at("double", loop)
    stage = of_type(s.func.body, Seq).stmts[0]
    assert any(isinstance(node, Allocate) for node in statements(lowered_stage(s.func, stage)))
    producer = next(node for node in statements(stage) if isinstance(node, BlockRealize))
    once = replace(producer, predicate=loop.equal(0))
    for other in (once, If(loop.equal(0), producer)):
        changed = map_stmt(stage, lambda expr: expr, in_place_of(producer, other))
        func = replace(s.func, body=Seq((changed, *of_type(s.func.body, Seq).stmts[1:])))
        assert not any(isinstance(node, Allocate) for node in statements(lowered_stage(func, changed)))


def in_c(func: PrimFunc, inputs: list[np.ndarray], shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Return what the C backend computes."""
    from relay2relax.backends.c.loaded_module import compile_prim_funcs

    result = np.full(shape, 7, dtype)
    compile_prim_funcs([func]).call(func.name, *inputs, result)
    return result


@pytest.mark.compiler
def test_parallel_parts_in_c() -> None:
    func = overlapping().func
    inputs = data(func)
    expected = on_numpy(blur(64), inputs)
    for _ in range(5):
        np.testing.assert_allclose(in_c(func, inputs, expected.shape, "float32"), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.compiler
def test_other_memory_is_the_same_memory_in_c() -> None:
    for program, block in ((chain, "double"), (softmax, "power"), (dense, "product")):
        s = Schedule(program())
        s.set_scope(block, 0, "local")
        inputs = data(s.func)
        expected = on_numpy(program(), inputs)
        np.testing.assert_allclose(in_c(s.func, inputs, expected.shape, "float32"), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.compiler
@settings(max_examples=8)
@given(st.data())
def test_random_schedules_in_c(choice: Any) -> None:
    func = choice.draw(st.sampled_from(PROGRAMS))
    scheduled, _ = random_schedule(func, choice.draw)
    inputs = data(func)
    expected = on_numpy(func, inputs)
    result = in_c(scheduled, inputs, expected.shape, str(expected.dtype))
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
