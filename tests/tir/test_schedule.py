"""Schedules change how a program runs, never what it computes; what would change it is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedules.examples import PROGRAMS, argmax, convolution, data, dense, on_numpy, random_schedule
from sweep import examples
from typed import of_type

from relay2relax.tir import PrimFunc, TIRError, check_prim_func, te
from relay2relax.tir.extent import Extent
from relay2relax.tir.ir.expr import Buffer, IntImm, Var, const, maximum
from relay2relax.tir.ir.intrinsics import call
from relay2relax.tir.ir.stmt import Block, BlockRealize, BufferStore, For, LoopKind, Seq, Stmt
from relay2relax.tir.ir.visit import statements
from relay2relax.tir.schedule import Schedule


def dense_reference(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    result: np.ndarray = np.maximum(x @ w + b, 0)
    return result


def kinds(func: PrimFunc) -> list[LoopKind]:
    return [node.kind for node in statements(func.body) if isinstance(node, For)]


def scheduled_dense(func: PrimFunc) -> PrimFunc:
    """Tile, order, vectorise and spread a dense layer, as a default schedule for CPUs does."""
    s = Schedule(func)
    s.compute_inline("shifted")
    i, j, k = s.get_loops("product")
    i0, i1 = s.split(i, [None, 2])
    j0, j1 = s.split(j, [None, 4])
    s.reorder(i0, j0, k, i1, j1)
    tile = s.fuse(i0, j0)
    s.reverse_compute_at("out", tile)
    s.decompose_reduction("product", k)
    s.vectorize(s.get_loops("product_update")[-1])
    s.vectorize(s.get_loops("product_init")[-1])
    s.unroll(s.get_loops("product_update")[-2])
    s.parallel(tile)
    return s.func


@pytest.mark.parametrize("rows", [7, 8, Var("n")])
def test_a_whole_schedule(rows: Extent) -> None:
    func = dense(rows)
    done = scheduled_dense(func)
    check_prim_func(done)
    assert kinds(done).count(LoopKind.PARALLEL) == 1
    assert len(done.root_buffers) == 1
    inputs = data(func, 8 if rows == 8 else 7)
    np.testing.assert_allclose(on_numpy(done, inputs, len(inputs[0])), dense_reference(*inputs), rtol=1e-4, atol=1e-5)


@pytest.mark.tvm
@pytest.mark.parametrize("rows", [7, 8, Var("n")])
def test_a_whole_schedule_in_tvm(run_in_tvm: Callable[..., list[np.ndarray]], rows: Extent) -> None:
    func = dense(rows)
    inputs = data(func, 8 if rows == 8 else 7)
    (result,) = run_in_tvm(scheduled_dense(func), inputs, [(len(inputs[0]), 9)])
    np.testing.assert_allclose(result, dense_reference(*inputs), rtol=1e-4, atol=1e-5)


@pytest.mark.tvm
def test_a_scheduled_convolution_in_tvm(run_in_tvm: Callable[..., list[np.ndarray]]) -> None:
    func = convolution()
    inputs = data(func)
    (expected,) = run_in_tvm(func, inputs, [(1, 4, 4, 4)])
    s = Schedule(func)
    assert s.get_blocks() == ["pad", "conv", "out"]
    n, o, h, v, c, p, q = s.get_loops("conv")
    s.reorder(n, o, h, c, p, q, v)
    rows = s.fuse(n, o, h)
    s.reverse_compute_at("out", rows)
    s.decompose_reduction("conv", c)
    s.vectorize(v)
    s.unroll(q)
    s.parallel(rows)
    outer = s.fuse(*s.get_loops("pad")[:3])
    s.parallel(outer)
    check_prim_func(s.func)
    (result,) = run_in_tvm(s.func, inputs, [(1, 4, 4, 4)])
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
    s = Schedule(func)
    s.compute_inline("pad")
    assert s.get_blocks() == ["conv", "out"]
    (result,) = run_in_tvm(s.func, inputs, [(1, 4, 4, 4)])
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_split_leaves_out_what_lies_beyond() -> None:
    s = Schedule(dense(7))
    i = s.get_loops("product")[0]
    parts = s.split(i, [2, None, 2])
    assert [part.name for part in parts] == ["i0_0", "i0_1", "i0_2"]
    extents = [of_type(node.extent, IntImm).value for node in statements(s.func.body) if isinstance(node, For)]
    assert extents[:3] == [2, 2, 2]
    s = Schedule(dense(8))
    s.split(s.get_loops("product")[0], [None, 4])
    assert all(node.predicate is None for node in statements(s.func.body) if isinstance(node, BlockRealize))
    assert s.func.origin is None


def refused(message: str) -> pytest.RaisesExc[TIRError]:
    return pytest.raises(TIRError, match=message)


def test_loops_that_do_not_fit() -> None:
    s = Schedule(dense())
    i, j, k = s.get_loops("product")
    with refused("no loops over 'x'"):
        s.parallel(Var("x"))
    with refused("no blocks called 'nothing'"):
        s.get_loops("nothing")
    with refused("do not cover"):
        s.split(i, [2, 3])
    with refused("at most one is None"):
        s.split(i, [None, None])
    with refused("positive"):
        s.split(i, [None, 0])
    with refused("not directly inside"):
        s.fuse(i, k)
    with refused("two different loops"):
        s.reorder(i)
    with refused("not one nest"):
        s.reorder(i, s.get_loops("out")[0])
    with refused("reduces over it"):
        s.parallel(k)
    with refused("not an innermost loop"):
        s.vectorize(j)
    s.vectorize(s.get_loops("shifted")[1])
    with refused("stay innermost"):
        s.reorder(*reversed(s.get_loops("shifted")))
    with refused("nothing can be put into it"):
        s.reverse_compute_at("out", s.get_loops("shifted")[1])
    s.parallel(i)
    with refused("is parallel already"):
        s.parallel(j)
    with refused("it is parallel"):
        s.split(i, [None, 2])
    with refused("not constant"):
        s = Schedule(dense(Var("n")))
        s.unroll(s.get_loops("product")[0])


def test_orders_that_matter_are_kept() -> None:
    s = Schedule(argmax())
    i, k = s.get_loops("argmax")
    k0, k1 = s.split(k, [2, 3])
    s.reorder(k0, i)
    with refused("depends on the order"):
        s.reorder(k1, k0)
    prefix = te.extern([(8,)], ["float32"], [x := te.placeholder((8,))], running_sum, "scan")
    s = Schedule(te.create_prim_func([x], list(prefix)))
    (loop,) = (node.var for node in statements(s.func.body) if isinstance(node, For))
    with refused("opaque"):
        s.parallel(loop)


def running_sum(inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> Stmt:
    i = Var("i")
    before = call("if_then_else", i > 0, outputs[0][maximum(i - 1, 0)], const(0, "float32"), dtype="float32")
    store = BufferStore(outputs[0], (i,), before + inputs[0][i])
    return For(i, const(8, "int64"), BlockRealize((), Block("step", (), (), (), store)))


def test_iterations_that_meet_are_not_independent() -> None:
    """Two iterations of ``i`` that write one place: a block whose axis drops the lowest digit of
    the loop.
    """
    func = te.create_prim_func([x := te.placeholder((8,))], [te.compute((8,), lambda i: x[i], "y")])
    s = Schedule(func)
    loop = of_type(of_type(func.body, Seq).stmts[0], For)
    step = replace(of_type(loop.body, BlockRealize), values=(loop.var // 2,))
    broken = replace(loop, extent=const(16, "int64"), body=step)
    s.func = replace(func, body=broken)
    with refused("not seen to write different places"):
        s.parallel(loop.var)


def test_inlining_is_refused_where_it_would_change_something() -> None:
    with refused("not a temporary"):
        Schedule(dense()).compute_inline("out")
    with refused("not complete"):
        Schedule(dense()).compute_inline("product")


def test_moves_are_refused_where_something_is_not_ready() -> None:
    s = Schedule(dense())
    s.compute_inline("shifted")
    i, j, k = s.get_loops("product")
    with refused("not ready"):
        s.reverse_compute_at("out", k)
    s.reorder(k, i, j)
    with refused("not ready"):
        s.reverse_compute_at("out", i)
    with refused("lie within each other"):
        s.reverse_compute_at("out", s.get_loops("out")[0])
    with refused("runs over a reduction axis"):
        s.decompose_reduction("product", j)
    s.decompose_reduction("product", k)
    with refused("no init"):
        s.decompose_reduction("product_update", k)
    # The init is outside of the loop now, so nothing is ready within it.
    with refused("written outside"):
        s.reverse_compute_at("out", k)


@settings(max_examples=examples(100))
@given(st.data())
def test_random_schedules(choice: st.DataObject) -> None:
    func = choice.draw(st.sampled_from(PROGRAMS))
    scheduled, _ = random_schedule(func, choice.draw)
    check_prim_func(scheduled)
    inputs = data(func)
    np.testing.assert_allclose(on_numpy(scheduled, inputs), on_numpy(func, inputs), rtol=1e-4, atol=1e-5)


@pytest.mark.tvm
@settings(max_examples=12)
@given(choice=st.data())
@pytest.mark.sweep(every=2)
def test_random_schedules_in_tvm(run_in_tvm: Callable[..., list[np.ndarray]], choice: st.DataObject) -> None:
    func = choice.draw(st.sampled_from(PROGRAMS))
    scheduled, _ = random_schedule(func, choice.draw)
    inputs = data(func)
    expected = on_numpy(func, inputs)
    (result,) = run_in_tvm(scheduled, inputs, [expected.shape])
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
