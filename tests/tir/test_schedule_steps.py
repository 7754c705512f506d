"""Each step of a schedule: what it makes, that the numbers stay, and that apache-tvm makes the same
loops.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from schedules.examples import blur, chain, convolution, data, dense, matmul, on_numpy, softmax
from schedules.refused import REFUSED, Refused
from tensor_scripts import module_text

from relay2relax.tir import PrimFunc, TIRError, check_prim_func
from relay2relax.tir.ir.stmt import For
from relay2relax.tir.ir.visit import statements
from relay2relax.tir.schedule import Schedule

Steps = Callable[[Any], object]


def _packed(s: Any) -> None:
    copy = s.cache_read("c", 1, "global")
    s.transform_layout(copy, ("write", 0), lambda k, j: (j // 8, k, j % 8))
    s.transform_block_layout(copy, lambda k, j: (j // 8, k, j % 8))


def _written_by_tiles(s: Any) -> None:
    copy = s.cache_write("c", 0, "global")
    i, j, k = s.get_loops("c")
    i0, i1 = s.split(i, [None, 4])
    j0, j1 = s.split(j, [None, 8])
    s.reorder(i0, j0, k, i1, j1)
    s.reverse_compute_at(copy, j0)


def _blockized(s: Any) -> None:
    i, j, k = s.get_loops("c")
    (i0, i1), (j0, j1), (k0, k1) = s.split(i, [None, 4]), s.split(j, [None, 8]), s.split(k, [None, 4])
    s.reorder(i0, j0, k0, i1, j1, k1)
    s.blockize(i1)


def _split_sum(s: Any) -> None:
    k0, _ = s.split(s.get_loops("c")[2], [4, None])
    s.rfactor(k0, 0)


def _tiles_of_blur(s: Any) -> None:
    j0, _ = s.split(s.get_loops("blurred")[1], [None, 4])
    s.compute_at("flat", j0)


def _pairs_of_blur(s: Any) -> None:
    j0, _ = s.split(s.get_loops("blurred")[1], [None, 4])
    s.reverse_compute_at("out", j0)


def _local_copy(s: Any) -> None:
    s.cache_read("power", 0, "local", ["power"])
    s.compute_at("x_local", s.get_loops("power")[0])


def _unit(s: Any) -> None:
    s.add_unit_loop(s.get_loops("c")[1])


# What both make, step for step.
ALIKE: dict[str, tuple[Callable[[], PrimFunc], Steps]] = {
    "split": (matmul, lambda s: s.split(s.get_loops("c")[1], [None, 5])),
    "fuse": (matmul, lambda s: s.fuse(*s.get_loops("c")[:2])),
    "reorder": (matmul, lambda s: s.reorder(*reversed(s.get_loops("c")))),
    "unit": (matmul, _unit),
    "compute-at": (convolution, lambda s: s.compute_at("pad", s.get_loops("conv")[2])),
    "compute-at-units": (convolution, lambda s: s.compute_at("pad", s.get_loops("conv")[2], True)),
    "compute-at-sum": (blur, _tiles_of_blur),
    "compute-at-turned": (chain, lambda s: s.compute_at("double", s.get_loops("turned")[0])),
    "reverse-compute-at": (chain, lambda s: s.reverse_compute_at("out", s.get_loops("turned")[0])),
    "reverse-compute-at-turned": (chain, lambda s: s.reverse_compute_at("turned", s.get_loops("double")[1])),
    "reverse-compute-at-sum": (softmax, lambda s: s.reverse_compute_at("total", s.get_loops("power")[0])),
    "reverse-compute-at-pairs": (blur, _pairs_of_blur),
    "inline": (chain, lambda s: s.compute_inline("double")),
    "reverse-inline": (chain, lambda s: s.reverse_compute_inline("turned")),
    "decompose": (matmul, lambda s: s.decompose_reduction("c", s.get_loops("c")[1])),
    "rfactor": (matmul, _split_sum),
    "rfactor-last": (matmul, lambda s: s.rfactor(s.get_loops("c")[2], -1)),
    "cache-read": (dense, lambda s: s.cache_read("product", 0, "global")),
    "cache-write": (matmul, _written_by_tiles),
    "local-copy": (softmax, _local_copy),
    "set-scope": (chain, lambda s: s.set_scope("double", 0, "local")),
    "layout": (chain, lambda s: s.transform_layout("double", ("write", 0), lambda i, j: (j // 2, i, j % 2))),
    "layout-padded": (
        chain,
        lambda s: s.transform_layout("double", ("write", 0), lambda i, j: (i, j // 4, j % 4), 0.0),
    ),
    "pack": (matmul, _packed),
    "block-layout": (chain, lambda s: s.transform_block_layout("double", lambda i, j: (j, i))),
}
# What TVM puts otherwise: it names no block in an init, and puts the parts of a loop into blocks of
# their own.
OTHERWISE: dict[str, tuple[Callable[[], PrimFunc], Steps]] = {
    "blockize": (matmul, _blockized),
    "partition": (matmul, lambda s: s.loop_partition(s.get_loops("c")[0], [20, None])),
}


@pytest.mark.parametrize("name", [*ALIKE, *OTHERWISE])
def test_numbers_stay(name: str) -> None:
    program, steps = (ALIKE | OTHERWISE)[name]
    func = program()
    s = Schedule(func)
    steps(s)
    check_prim_func(s.func)
    inputs = data(func)
    np.testing.assert_allclose(on_numpy(s.func, inputs), on_numpy(func, inputs), rtol=1e-4, atol=1e-5)


def tvm_schedule(program: Callable[[], PrimFunc]) -> Any:
    """Return apache-tvm's schedule of a program."""
    return pytest.importorskip("tvm").s_tir.Schedule(_read(program))


@cache
def _read(program: Callable[[], PrimFunc]) -> Any:
    text = module_text(replace(program(), private=False, name="main"))
    return pytest.importorskip("tvm").script.from_source(text)


@pytest.mark.tvm
@pytest.mark.parametrize("name", ALIKE)
def test_the_loops_are_those_of_tvm(name: str) -> None:
    program, steps = ALIKE[name]
    ours, theirs = Schedule(program()), tvm_schedule(program)
    steps(ours)
    steps(theirs)

    def extents(schedule: Any, block: Any) -> list[int]:
        return [int(schedule.get(loop).extent) for loop in schedule.get_loops(block)]

    by_var = {node.var: node.extent for node in statements(ours.func.body) if isinstance(node, For)}
    for block in ours.get_blocks():
        own = [by_var[var] for var in ours.get_loops(block)]
        assert [getattr(one, "value", None) for one in own] == extents(theirs, theirs.get_sblock(block)), block
    temporaries = theirs.mod["main"].body.block.alloc_buffers
    shapes = sorted((buffer.name, [int(extent) for extent in buffer.shape], buffer.scope()) for buffer in temporaries)
    assert shapes == sorted(
        (buffer.name, [getattr(extent, "value", None) for extent in buffer.shape], buffer.scope)
        for buffer in ours.func.root_buffers
    )


def test_who_makes_and_who_reads() -> None:
    s = Schedule(softmax())
    assert s.get_producers("out") == ["power", "total"]
    assert s.get_consumers("power") == ["total", "out"]
    assert s.get_consumers("out") == []
    assert s.get_output_blocks() == ["out"]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_refused(case: Refused) -> None:
    with pytest.raises(TIRError, match=case.message):
        case.steps(Schedule(case.program()))


@pytest.mark.tvm
@pytest.mark.parametrize("case", [case for case in REFUSED if case.tvm], ids=lambda case: case.name)
def test_tvm_refuses_it_as_well(case: Refused) -> None:
    schedule = tvm_schedule(case.program)
    tvm = pytest.importorskip("tvm")
    # It stops over some mistakes in the midst of its work.
    with pytest.raises((tvm.s_tir.ScheduleError, tvm.error.InternalError, ValueError)):
        case.steps(schedule)
