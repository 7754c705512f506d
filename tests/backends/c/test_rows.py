"""Softmax and normalisations run row by row: one stage, no temporaries in memory, and only where
rows are apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from relay2relax.backends.c.codegen.program import generate
from relay2relax.backends.c.loaded_module import compile_prim_funcs
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.schedule.schedule import schedule
from relay2relax.backends.c.toolchain import find_compiler
from relay2relax.core.tolerance import difference
from relay2relax.tir import te
from relay2relax.tir.ir.expr import IntImm, PrimExpr, Var, cast
from relay2relax.tir.ir.intrinsics import call
from relay2relax.tir.ir.stmt import PrimFunc

RANDOM = np.random.default_rng(8)
SHAPES = {"last": ((6, 50), 1), "middle": ((2, 4, 9, 40), 1), "long": ((9, 1003), 1), "one": ((1, 70), 1)}


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def softmax(shape: Sequence[int | PrimExpr], axis: int, name: str = "softmax") -> PrimFunc:
    x = te.placeholder(shape, name="X")
    rest = [extent for d, extent in enumerate(shape) if d != axis]
    ks = [te.reduce_axis(shape[axis]) for _ in range(2)]

    def inside(i: Sequence[PrimExpr], k: PrimExpr) -> tuple[PrimExpr, ...]:
        return (*i[:axis], k, *i[axis:])

    def outside(i: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
        return (*i[:axis], *i[axis + 1 :])

    top = te.compute(rest, lambda *i: te.max(x[inside(i, ks[0].var)], axis=ks[0]), "top")
    raised = te.compute(shape, lambda *i: call("exp", x[i] - top[outside(i)]), "raised")
    total = te.compute(rest, lambda *i: te.sum(raised[inside(i, ks[1].var)], axis=ks[1]), "total")
    return te.create_prim_func([x], [te.compute(shape, lambda *i: raised[i] / total[outside(i)], "out")], name=name)


def group_norm(batch: int, groups: int, width: int, size: int) -> PrimFunc:
    """A normalisation of ``groups`` of ``width`` channels each, whose last stage has them as one
    axis.
    """
    x = te.placeholder((batch, groups * width, size), name="X")
    gamma = te.placeholder((groups * width,), name="gamma")
    count = float(width * size)

    def mean_of(value: Callable[[PrimExpr, PrimExpr, PrimExpr], PrimExpr], name: str) -> te.Tensor:
        c, k = te.reduce_axis(width), te.reduce_axis(size)
        total = te.compute(
            (batch, groups), lambda n, g: te.sum(value(n, g * width + c.var, k.var), axis=[c, k]), f"{name}_sum"
        )
        return te.compute((batch, groups), lambda n, g: total[n, g] / count, name)

    mean = mean_of(lambda n, c, k: x[n, c, k], "mean")

    def square(n: PrimExpr, c: PrimExpr, k: PrimExpr) -> PrimExpr:
        return (x[n, c, k] - mean[n, c // width]) * (x[n, c, k] - mean[n, c // width])

    variance = mean_of(square, "variance")

    def element(n: PrimExpr, c: PrimExpr, k: PrimExpr) -> PrimExpr:
        return (x[n, c, k] - mean[n, c // width]) / call("sqrt", variance[n, c // width] + 1e-5) * gamma[c]

    return te.create_prim_func([x, gamma], [te.compute(x.shape, element, "out")], name="group_norm")


def softmax_of(data: np.ndarray, axis: int) -> np.ndarray:
    raised = np.exp(data.astype(np.float64) - data.max(axis, keepdims=True))
    result: np.ndarray = raised / raised.sum(axis, keepdims=True)
    return result


@pytest.mark.parametrize("func", [*(softmax(*given) for given in SHAPES.values()), group_norm(2, 4, 3, 35)])
def test_rows_are_one_stage_without_temporaries(func: PrimFunc) -> None:
    assert len(schedule(func, Machine()).stages) == 1
    _, entries = generate([func], Machine())
    assert entries[func.name].arena.size == IntImm(0)


def test_long_rows_lie_in_the_result() -> None:
    """A row of 160 KB is no memory of a row's own: it is made where the result will be."""
    _, entries = generate([softmax((8, 40_000), 1)], Machine())
    assert entries["softmax"].arena.size == IntImm(0)


def test_rows_of_symbolic_number_and_length_are_one_stage() -> None:
    assert len(schedule(softmax((Var("n"), 50), 1), Machine()).stages) == 1
    assert len(schedule(softmax((Var("n"), Var("m")), 1), Machine()).stages) == 1


def test_few_long_rows_stay_stages_that_all_cores_share() -> None:
    assert len(schedule(softmax((2, 100_000), 1), Machine()).stages) == 4


@pytest.mark.compiler
@pytest.mark.parametrize("machine", [Machine(16, 16, 1), Machine(64, 32, 1)], ids=["sse", "avx512"])
def test_values_do_not_depend_on_threads(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    # Compiled for another machine than this one: the schedules differ, the code runs here all the
    # same.
    monkeypatch.setattr(type(find_compiler()), "machine", machine)
    n = Var("n")
    funcs = [softmax(*given, name) for name, given in SHAPES.items()]
    funcs += [softmax((n, 50), 1, "symbolic"), group_norm(2, 4, 3, 35)]
    inputs = {name: normal(*shape) for name, (shape, _) in SHAPES.items()} | {"symbolic": normal(7, 50)}
    inputs["last"][2, 3] = -np.inf
    x, gamma = normal(2, 12, 35), normal(12)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("RELAY2RELAX_THREADS", threads)
        module = compile_prim_funcs(funcs)
        results = {name: np.full_like(data, np.nan) for name, data in inputs.items()}
        for name, data in inputs.items():
            module.call(name, data, results[name])
        results["group_norm"] = np.full_like(x, np.nan)
        module.call("group_norm", x, gamma, results["group_norm"])
        found.append(results)
    for name, data in inputs.items():
        np.testing.assert_allclose(found[0][name], softmax_of(data, 1), rtol=2e-5, atol=1e-7)
    parts = x.reshape(2, 4, -1).astype(np.float64)
    scaled = (parts - parts.mean(2, keepdims=True)) / np.sqrt(parts.var(2, keepdims=True) + 1e-5)
    np.testing.assert_allclose(found[0]["group_norm"], scaled.reshape(x.shape) * gamma[:, None], rtol=1e-4, atol=1e-5)
    assert all((found[0][name] == found[1][name]).all() for name in found[0])


def test_a_stage_that_reads_other_rows_stays_apart() -> None:
    x, k = te.placeholder((16, 64), name="X"), te.reduce_axis(64)
    total = te.compute((16,), lambda i: te.sum(x[i, k.var], axis=k), "total")
    turned = te.compute((16, 64), lambda i, j: x[i, j] / total[15 - i], "turned")
    assert len(schedule(te.create_prim_func([x], [turned]), Machine()).stages) == 2


@pytest.mark.compiler
def test_what_needs_all_rows_in_between_splits_them() -> None:
    """The second reader of the rows' sums needs a product over all of them, which runs between the
    two.
    """
    x, w = te.placeholder((16, 64), name="X"), te.placeholder((16, 8), name="W")
    k, m = te.reduce_axis(64), te.reduce_axis(16)
    total = te.compute((16,), lambda i: te.sum(x[i, k.var], axis=k), "total")
    scaled = te.compute((16, 64), lambda i, j: call("exp", x[i, j] / total[i]), "scaled")
    product = te.compute((64, 8), lambda i, j: te.sum(scaled[m.var, i] * w[m.var, j], axis=m), "product")
    out = te.compute((16, 64), lambda i, j: scaled[i, j] / total[i] + product[j, i % 8], "out")
    func = te.create_prim_func([x, w], [out])
    labels = [stage.label for stage in schedule(func, Machine()).stages]
    assert labels[0].startswith("scaled 16x64, 2 stages by rows of 16")
    data, weight, result = np.abs(normal(16, 64)) + 1, normal(16, 8), np.empty((16, 64), np.float32)
    compile_prim_funcs([func]).call("main", data, weight, result)
    totals = data.sum(1, keepdims=True)
    expected = np.exp(data / totals)
    columns = (expected.T @ weight)[np.arange(64)[None, :], np.arange(16)[:, None] % 8]
    found = difference(result, expected / totals + columns, length=64)
    assert found.agrees, found.reason


@pytest.mark.compiler
def test_the_largest_of_each_row_forgets_what_is_no_number() -> None:
    """Comparing element by element, a maximum is NaN only where the last element is."""
    x, k = te.placeholder((8, 64), name="X"), te.reduce_axis(64)
    top = te.compute((8,), lambda i: te.max(x[i, k.var], axis=k), "top")
    same = te.compute((8, 64), lambda i, j: cast("float32", x[i, j] >= top[i]), "same")
    data = normal(8, 64)
    data[1, 5], data[2, 63] = np.nan, np.nan
    result = np.empty_like(data)
    compile_prim_funcs([te.create_prim_func([x], [same])]).call("main", data, result)
    expected = data >= np.nanmax(data, 1, keepdims=True)
    expected[2] = False
    assert (result == expected).all()
