"""Schedules and fusion of the C backend: odd extents, every form of product, and what stays out of
memory.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from typed import of_type

from relay2relax.backends.c.codegen.plan import plan_memory
from relay2relax.backends.c.codegen.program import generate
from relay2relax.backends.c.loaded_module import compile_prim_funcs
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.schedule.ahead import asked_ahead
from relay2relax.backends.c.schedule.blocking import tile_shape
from relay2relax.backends.c.schedule.schedule import schedule
from relay2relax.backends.c.stages import Axis
from relay2relax.backends.c.toolchain import find_compiler
from relay2relax.tir import te
from relay2relax.tir.analysis.reshape import size as size_of
from relay2relax.tir.arith.evaluate import integer
from relay2relax.tir.extent import as_prim
from relay2relax.tir.ir.expr import (
    Buffer,
    BufferLoad,
    Call,
    IntImm,
    PrimExpr,
    Var,
    binary,
    if_then_else,
    logical_and,
    maximum,
)
from relay2relax.tir.ir.intrinsics import call
from relay2relax.tir.ir.stmt import Evaluate, PrimFunc

pytestmark = pytest.mark.compiler
RANDOM = np.random.default_rng(3)
# The first has caches in which nothing stays, so that rows meet panels part by part.
MACHINES = [Machine(16, 16, 1, 256, 1 << 10), Machine(32, 16, 1), Machine(64, 32, 1 << 40, broadcasts=True)]


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def run(funcs: list[PrimFunc], machine: Machine, monkeypatch: pytest.MonkeyPatch) -> object:
    """Compile for another machine than this one: the schedules differ, the code runs here all the
    same.
    """
    monkeypatch.setattr(type(find_compiler()), "machine", machine)
    return compile_prim_funcs(funcs)


def product(rows: int | Var, inner: int, columns: int, form: str) -> PrimFunc:
    """A product with bias and ReLU; ``form`` says which operands are transposed, e.g. ``nt``."""
    a = te.placeholder((rows, inner) if form[0] == "n" else (inner, rows), name="A")
    b = te.placeholder((inner, columns) if form[1] == "n" else (columns, inner), name="B")
    bias = te.placeholder((columns,), name="bias")
    k = te.reduce_axis(inner)

    def term(i: PrimExpr, j: PrimExpr) -> PrimExpr:
        left = a[i, k] if form[0] == "n" else a[k, i]
        return left * (b[k, j] if form[1] == "n" else b[j, k])

    out = te.compute((rows, columns), lambda i, j: te.sum(term(i, j), axis=k), "out")
    shifted = te.compute((rows, columns), lambda i, j: out[i, j] + bias[j], "shifted")
    positive = te.compute((rows, columns), lambda i, j: maximum(shifted[i, j], 0.0), "positive")
    return te.create_prim_func([a, b, bias], [positive], name=f"{form}_{rows}_{inner}_{columns}")


@pytest.mark.parametrize("machine", MACHINES, ids=["sse", "avx2", "avx512"])
@pytest.mark.sweep(every=2)
def test_products_of_odd_extents(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [(1, 37, 19), (13, 17, 21), (64, 48, 50), (3, 2, 5), (30, 8, 1), (1, 1, 1)]
    cases = [(size, form) for size in sizes for form in ("nn", "nt", "tn", "tt")]
    module = run([product(*size, form) for size, form in cases], machine, monkeypatch)
    for (rows, inner, columns), form in cases:
        a, b, bias = normal(rows, inner), normal(inner, columns), normal(columns)
        given = [np.ascontiguousarray(a if form[0] == "n" else a.T), np.ascontiguousarray(b if form[1] == "n" else b.T)]
        result = np.full((rows, columns), np.nan, np.float32)
        module.call(f"{form}_{rows}_{inner}_{columns}", *given, bias, result)  # type: ignore[attr-defined]
        np.testing.assert_allclose(result, np.maximum(a @ b + bias, 0), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("machine", MACHINES, ids=["sse", "avx2", "avx512"])
@pytest.mark.sweep(every=2)
def test_products_of_any_number_of_rows(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of as many rows as fit, then one of those that are left: every remainder."""
    kernel = run([product(Var("n"), 17, 21, "nn")], machine, monkeypatch).kernel("nn_n_17_21")  # type: ignore[attr-defined]
    b, bias = normal(17, 21), normal(21)
    for rows in (*range(1, 10), 8, 31):
        a, result = normal(rows, 17), np.full((rows, 21), np.nan, np.float32)
        kernel(a, b, bias, result)
        np.testing.assert_allclose(result, np.maximum(a @ b + bias, 0), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("machine", MACHINES, ids=["sse", "avx2", "avx512"])
@pytest.mark.parametrize(("channels", "out", "groups", "size", "stride"), [
    (3, 10, 1, 9, 1), (16, 48, 1, 14, 2), (12, 12, 12, 14, 1), (12, 12, 12, 15, 2), (8, 4, 2, 6, 1),
])  # fmt: skip
@pytest.mark.sweep(every=3)
def test_convolutions(
    machine: Machine, channels: int, out: int, groups: int, size: int, stride: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    x, w = te.placeholder((2, channels, size, size)), te.placeholder((out, channels // groups, 3, 3), name="W")

    def inside(i: PrimExpr, j: PrimExpr) -> PrimExpr:
        return logical_and(i >= 1, i < size + 1, j >= 1, j < size + 1)

    padded = te.compute(
        (2, channels, size + 2, size + 2),
        lambda n, c, i, j: if_then_else(inside(i, j), x[n, c, i - 1, j - 1], 0.0),
        "padded",
    )
    extent = (size - 1) // stride + 1
    rc, ri, rj = te.reduce_axis(channels // groups), te.reduce_axis(3), te.reduce_axis(3)

    def element(n: PrimExpr, o: PrimExpr, i: PrimExpr, j: PrimExpr) -> PrimExpr:
        channel = (o // (out // groups)) * (channels // groups) + rc.var
        source = padded[n, channel, i * stride + ri.var, j * stride + rj.var]
        return te.sum(source * w[o, rc, ri, rj], axis=[rc, ri, rj])

    conv = te.compute((2, out, extent, extent), element, "conv")
    clipped = te.compute(conv.shape, lambda *i: maximum(conv[i], 0.0), "clipped")
    module = run([te.create_prim_func([x, w], [clipped], name="conv")], machine, monkeypatch)
    data, weight = normal(2, channels, size, size), normal(out, channels // groups, 3, 3)
    result = np.full((2, out, extent, extent), np.nan, np.float32)
    module.call("conv", data, weight, result)  # type: ignore[attr-defined]
    expected = torch.nn.functional.conv2d(
        torch.tensor(data), torch.tensor(weight), stride=stride, padding=1, groups=groups
    )
    np.testing.assert_allclose(result, expected.relu().numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("columns", [1, 5, 16, 100, 1000])
def test_rows_are_reduced_in_lanes(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    n = Var("n")
    x = te.placeholder((n, columns), name="X")
    k = te.reduce_axis(columns)
    top = te.compute((n,), lambda i: te.max(x[i, k], axis=k), "top")
    raised = te.compute((n, columns), lambda i, j: call("exp", x[i, j] - top[i]), "raised")
    total = te.compute((n,), lambda i: te.sum(raised[i, k], axis=k), "total")
    out = te.compute((n, columns), lambda i, j: raised[i, j] / total[i], "out")
    module = run([te.create_prim_func([x], [out], name="softmax")], MACHINES[0], monkeypatch)
    for rows in (1, 6):
        data = normal(rows, columns)
        result = np.full((rows, columns), np.nan, np.float32)
        module.call("softmax", data, result)  # type: ignore[attr-defined]
        raised_here = np.exp(data - data.max(1, keepdims=True))
        np.testing.assert_allclose(result, raised_here / raised_here.sum(1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize(("wide", "stages"), [(True, 1), (False, 2)])
def test_elementwise_chains_become_one_stage_and_reshapes_none(wide: bool, stages: int) -> None:
    """A reshape is never a copy.

    Where its indices need no division, stages on both sides become one.
    """
    before, after = ((24,), (4, 6)) if wide else ((4, 6), (24,))
    x = te.placeholder(before, name="X")
    doubled = te.compute(before, lambda *i: x[i] * 2.0, "doubled")
    if wide:
        shaped = te.compute(after, lambda i, j: doubled[i * 6 + j], "shaped")
    else:
        shaped = te.compute(after, lambda i: doubled[i // 6, i % 6], "shaped")
    func = te.create_prim_func([x], [te.compute(after, lambda *i: shaped[i] + 1.0, "moved")])
    assert len(schedule(func, Machine()).stages) == stages
    data, result = normal(*before), np.empty(after, np.float32)
    compile_prim_funcs([func]).call("main", data, result)
    assert (result == data.reshape(after) * 2 + 1).all()


def test_an_expensive_stage_that_is_read_twice_is_computed_once() -> None:
    x = te.placeholder((8, 8), name="X")
    raised = te.compute((8, 8), lambda i, j: call("exp", x[i, j]), "raised")
    out = te.compute((8, 8), lambda i, j: raised[i, j] + raised[j, i], "out")
    units, _ = generate([te.create_prim_func([x], [out])], Machine())
    calls = sum(unit.text.count("= r2r_expf(b") for unit in units)
    assert calls == 1


def test_results_are_finished_where_they_are_made() -> None:
    planned = schedule(product(16, 16, 16, "nn"), Machine())
    assert len(planned.stages) == 1


def test_temporaries_share_memory_once_they_are_read() -> None:
    first, second, third = (Buffer(name, (IntImm(100),)) for name in "abc")
    arena = plan_memory({first: (0, 1), second: (1, 2), third: (2, 3)})
    assert arena.offsets[first] == arena.offsets[third] != arena.offsets[second]
    assert arena.size == IntImm(2 * 448)
    # The largest first leaves a gap here that the longest used first does not.
    sizes = {"a": (3, 0, 1), "b": (2, 0, 3), "c": (4, 2, 3), "d": (2, 3, 4), "e": (5, 4, 5)}
    buffers = {Buffer(name, (IntImm(16 * size),)): (low, high) for name, (size, low, high) in sizes.items()}
    live = [
        sum(integer(e, {}) * 4 for b, (low, high) in buffers.items() for e in b.shape if low <= t <= high)
        for t in range(6)
    ]
    assert integer(plan_memory(buffers).size, {}) <= 1.2 * max(live)


def sized(name: str, *extents: PrimExpr | int, dtype: str = "float32") -> Buffer:
    return Buffer(name, tuple(as_prim(extent) for extent in extents), dtype)


def test_temporaries_of_symbolic_size_share_memory_as_others_do() -> None:
    n, m = Var("n"), Var("m")
    one, two, other = sized("a", n, 64), sized("b", n, 2, 48), sized("c", n, 32)
    arena = plan_memory({one: (0, 1), two: (2, 3), other: (1, 2)})
    assert integer(arena.size, {n: 10}) == arena.most_alive({n: 10}) == 10 * (96 + 32) * 4
    assert integer(arena.offsets[one], {n: 10}) // 1280 != integer(arena.offsets[other], {n: 10}) // 1280
    # Elements of any size lie where they may, whatever the extents are.
    mixed = {sized("a", n, 3): (0, 9), sized("b", n + 1): (0, 9), sized("c", n * m, dtype="float64"): (0, 9)}
    mixed |= {sized("d", n, dtype="float64"): (0, 9), sized("e", 5): (0, 9)}
    arena = plan_memory(mixed)
    places = {buffer: integer(offset, {n: 3, m: 5}) for buffer, offset in arena.offsets.items()}
    assert all(place % 8 == 0 for place in places.values())
    ends = {b: p + integer(size_of(b), {n: 3, m: 5}) * (8 if b.dtype == "float64" else 4) for b, p in places.items()}
    assert integer(arena.size, {n: 3, m: 5}) >= max(ends.values())
    assert all(ends[a] <= places[b] or ends[b] <= places[a] for a in mixed for b in mixed if a is not b)


def test_results_lie_where_operands_did() -> None:
    """A temporary that is read for the last time makes place for what is made of it, element by
    element.
    """
    x, k = te.placeholder((64, 64), name="X"), te.reduce_axis(64)
    product = te.compute((64, 64), lambda i, j: te.sum(x[i, k.var] * x[k.var, j], axis=k), "product")
    turned = te.compute((64, 64), lambda i, j: call("exp", product[i, j] - product[j, i]), "turned")
    again = te.compute((64, 64), lambda i, j: call("tanh", turned[i, j] * product[i, j]) + turned[j, i], "again")
    out = te.compute((64, 64), lambda i, j: again[i, j] - again[j, i] * product[i, j], "out")
    func = te.create_prim_func([x], [out])
    _, entries = generate([func], Machine())
    # The product lies in the result's memory; what is read crosswise has its own.
    assert entries["main"].arena.size == IntImm(2 * 64 * 64 * 4)
    data, result = normal(64, 64) / 16, np.empty((64, 64), np.float32)
    compile_prim_funcs([func]).call("main", data, result)
    first = data @ data
    second = np.exp(first - first.T)
    third = np.tanh(second * first) + second.T
    np.testing.assert_allclose(result, third - third.T * first, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("rows", "depth", "padded"), [(16, 4096, False), (16, 512, False), (16, 500, True)])
def test_large_factors_are_padded_little(rows: int, depth: int, padded: bool) -> None:
    """512 columns are 32 vectors, of which panels of three waste one in 33."""
    machine = Machine(64, 32, first_cache_bytes=49152, cache_bytes=1 << 21, broadcasts=True)
    vectors = tile_shape(512, rows, 16, depth, "float32", machine, False).vectors
    assert (32 % vectors != 0) == padded


def test_the_next_panel_is_asked_for_by_the_tiles_of_this_one() -> None:
    """All lines of it, none behind its end by more than a step's share; where tiles are many, or
    panels stay in the second cache, only what is read a little later.
    """
    size, depth = 48, 64
    k, tile, panel = Var("k"), Var("tile"), Var("panel")
    first = binary("*", panel, IntImm(depth * size))
    reduced = [Axis(k, IntImm(depth))]

    def places(tiles: int, elements: int = 1 << 20) -> set[int]:
        """Return the elements that are asked for while panel 3 is read."""
        packed = Buffer("packed", (IntImm(elements),), "float32")
        found = list(asked_ahead(packed, first, reduced, size, [Axis(tile, IntImm(tiles))], Machine(64, 32)))
        loads = [of_type(of_type(of_type(one, Evaluate).value, Call).args[0], BufferLoad) for one in found]
        rounds = itertools.product(range(tiles), range(depth))
        return {integer(one.indices[0], {panel: 3, tile: t, k: step}) for t, step in rounds for one in loads}

    begin, end = 4 * depth * size, 5 * depth * size
    few = places(7)
    assert {place // 16 for place in few} >= {place // 16 for place in range(begin, end)}
    assert begin <= min(few)
    assert max(few) < end + 7 * depth
    later = {3 * depth * size + 1024 + 16 * line for line in range(depth * size // 16)}
    assert places(49) == places(7, 1 << 15) == later
