"""PrimFuncs on numpy against numpy written by hand and against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

from relay2relax.backends.numpy.tir import evaluate_prim_func
from relay2relax.core.errors import ExecutionError, UnsupportedError
from relay2relax.tir import te
from relay2relax.tir.ir.expr import (
    Binary,
    Buffer,
    Call,
    FloatImm,
    IntImm,
    Select,
    Var,
    binary,
    cast,
    if_then_else,
    logical_and,
    maximum,
)
from relay2relax.tir.ir.intrinsics import call
from relay2relax.tir.ir.stmt import (
    Block,
    BlockRealize,
    BufferStore,
    Evaluate,
    For,
    If,
    IterKind,
    IterVar,
    LoopKind,
    PrimFunc,
    Seq,
    Stmt,
)

RANDOM = np.random.default_rng(5)


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def run(func: PrimFunc, inputs: list[np.ndarray], *shapes: tuple[int, ...], dtype: str = "float32") -> list[np.ndarray]:
    outputs = [np.full(shape, 77, dtype) for shape in shapes]
    evaluate_prim_func(func, inputs, outputs)
    return outputs


def function(buffers: list[Buffer], body: Stmt, outputs: int = 1) -> PrimFunc:
    handles = {Var(b.name, "handle"): b for b in buffers}
    return PrimFunc("f", tuple(handles), handles, body, num_outputs=outputs)


def test_product_with_a_symbolic_extent_serves_several_sizes() -> None:
    n, k = Var("n"), te.reduce_axis(64)
    a, w = te.placeholder((n, 64), name="A"), te.placeholder((10, 64), name="W")
    func = te.create_prim_func([a, w], [te.compute((n, 10), lambda i, j: te.sum(a[i, k] * w[j, k], axis=k))])
    for rows in (0, 1, 3, 33):
        x, y = normal(rows, 64), normal(10, 64)
        (result,) = run(func, [x, y], (rows, 10))
        np.testing.assert_allclose(result, x @ y.T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("stride", "dilation", "groups"), [(1, 1, 1), (2, 1, 1), (1, 2, 2), (1, 1, 4)])
def test_padded_convolution_agrees_with_torch(stride: int, dilation: int, groups: int) -> None:
    torch = pytest.importorskip("torch")
    channels, out, size = 4, 8, 11
    x = te.placeholder((2, channels, size, size), name="X")
    w = te.placeholder((out, channels // groups, 3, 3), name="W")
    padded = te.compute(
        (2, channels, size + 2, size + 2),
        lambda n, c, i, j: if_then_else(
            logical_and(i >= 1, i < size + 1, j >= 1, j < size + 1), x[n, c, i - 1, j - 1], 0.0
        ),
        "padded",
    )
    extent = (size + 2 - 2 * dilation - 1) // stride + 1
    rc, ri, rj = te.reduce_axis(channels // groups), te.reduce_axis(3), te.reduce_axis(3)
    conv = te.compute(
        (2, out, extent, extent),
        lambda n, o, i, j: te.sum(
            padded[
                n,
                (o // (out // groups)) * (channels // groups) + rc.var,
                i * stride + ri.var * dilation,
                j * stride + rj.var * dilation,
            ]
            * w[o, rc, ri, rj],
            axis=[rc, ri, rj],
        ),
        "conv",
    )
    data, weight = normal(2, channels, size, size), normal(out, channels // groups, 3, 3)
    (result,) = run(te.create_prim_func([x, w], [conv]), [data, weight], (2, out, extent, extent))
    expected = torch.nn.functional.conv2d(
        torch.tensor(data), torch.tensor(weight), stride=stride, padding=1, dilation=dilation, groups=groups
    )
    np.testing.assert_allclose(result, expected.numpy(), rtol=1e-4, atol=1e-4)


def test_softmax_of_several_blocks() -> None:
    x = te.placeholder((3, 7), name="X")
    k = te.reduce_axis(7)
    top = te.compute((3,), lambda i: te.max(x[i, k], axis=k), "top")
    raised = te.compute((3, 7), lambda i, j: call("exp", x[i, j] - top[i]), "raised")
    total = te.compute((3,), lambda i: te.sum(raised[i, k], axis=k), "total")
    func = te.create_prim_func([x], [te.compute((3, 7), lambda i, j: raised[i, j] / total[i], "out")])
    data = normal(3, 7)
    (result,) = run(func, [data], (3, 7))
    shifted = np.exp(data - data.max(1, keepdims=True))
    np.testing.assert_allclose(result, shifted / shifted.sum(1, keepdims=True), rtol=1e-6)


def test_reduction_of_pairs_takes_the_first_of_equal_values() -> None:
    x = te.placeholder((4, 6), "int32", "X")
    k = te.reduce_axis(6)

    def combine(a, b):  # type: ignore[no-untyped-def]
        left = binary("or", a[1] > b[1], binary("and", a[1].equal(b[1]), a[0] < b[0]))
        return Select(left, a[0], b[0]), Select(left, a[1], b[1])

    results = te.compute_several(
        (4,),
        lambda i: te.Reduce(
            combine, (IntImm(-1, "int32"), IntImm(-(2**31), "int32")), (cast("int32", k.var), x[i, k]), (k,)
        ),
    )
    data = RANDOM.integers(-2, 3, (4, 6)).astype(np.int32)
    index, value = run(te.create_prim_func([x], list(results)), [data], (4,), (4,), dtype="int32")
    assert index.tolist() == data.argmax(1).tolist()
    assert value.tolist() == data.max(1).tolist()


def test_large_grids_are_cut_without_changing_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relay2relax.backends.numpy.tir._MOST_ELEMENTS", 50)
    x, w = te.placeholder((6, 40), name="X"), te.placeholder((40, 5), name="W")
    k = te.reduce_axis(40)
    product = te.compute((6, 5), lambda i, j: te.sum(x[i, k] * w[k, j], axis=k), "product")
    largest = te.compute((6,), lambda i: te.max(x[i, k], axis=k), "largest")
    doubled = te.compute((6, 40), lambda i, j: x[i, j] * 2.0, "doubled")
    a, b = normal(6, 40), normal(40, 5)
    func = te.create_prim_func([x, w], [product, largest, doubled])
    first, second, third = run(func, [a, b], (6, 5), (6,), (6, 40))
    np.testing.assert_allclose(first, a @ b, rtol=1e-4, atol=1e-4)
    assert (second == a.max(1)).all()
    assert (third == a * 2).all()


def test_split_loops_with_a_predicate_cover_the_block() -> None:
    source, target = Buffer("a", (IntImm(10),)), Buffer("b", (IntImm(10),))
    v, outer, inner = Var("v"), Var("outer"), Var("inner")
    block = Block("b", (IterVar(v, IntImm(10), IterKind.SPATIAL),), (), (), BufferStore(target, (v,), source[v] + 1.0))
    place = outer * 4 + inner
    realize = BlockRealize((place,), block, place < 10)
    nest = For(outer, IntImm(3), For(inner, IntImm(4), realize, LoopKind.VECTORIZED), LoopKind.PARALLEL)
    data = normal(10)
    (result,) = run(function([source, target], nest), [data], (10,))
    assert (result == data + 1).all()


def test_blocks_that_share_a_loop_run_in_turn() -> None:
    # A running sum: each step reads what the step before wrote, so nothing may be done for all
    # steps at once.
    a, b = Buffer("a", (IntImm(5),)), Buffer("b", (IntImm(5),))
    i = Var("i")
    body = If(i.equal(0), BufferStore(b, (i,), a[i]), BufferStore(b, (i,), b[i - 1] + a[i]))
    data = np.arange(5, dtype=np.float32)
    (result,) = run(function([a, b], For(i, IntImm(5), body)), [data], (5,))
    assert result.tolist() == np.cumsum(data).tolist()


def test_a_store_that_reads_its_neighbour_stays_sequential() -> None:
    b = Buffer("b", (IntImm(4),))
    i = Var("i")
    steps = Seq((BufferStore(b, (IntImm(0),), FloatImm(1.0)), For(i, IntImm(3), BufferStore(b, (i + 1,), b[i] * 2.0))))
    (result,) = run(function([b], steps), [], (4,))
    assert result.tolist() == [1, 2, 4, 8]


@pytest.mark.parametrize(
    ("step", "expected"),
    # Rows of four, as in memory; rows that overlap, of which the later one stays; a row within the
    # other's gaps.
    [((4, 1), [0, 1, 2, 3, 4, 5, 6, 7]), ((1, 1), [0, 4, 5, 6, 7]), ((1, 2), [0, 4, 1, 5, 2, 6, 3, 7])],
)
def test_loops_share_one_index(step: tuple[int, int], expected: list[int]) -> None:
    a, b = Buffer("a", (IntImm(2), IntImm(4))), Buffer("b", (IntImm(len(expected)),))
    i, j = Var("i"), Var("j")
    store = BufferStore(b, (i * step[0] + j * step[1],), a[i, j])
    nest = For(i, IntImm(2), For(j, IntImm(4), store))
    (result,) = run(function([a, b], nest), [np.arange(8, dtype=np.float32).reshape(2, 4)], (len(expected),))
    assert result.tolist() == expected


def test_division_rounds_down_or_towards_zero() -> None:
    x = te.placeholder((4,), "int32", "X")
    ops = ("//", "%", "truncdiv", "truncmod")
    outs = [te.compute((4,), lambda i, op=op: Binary(op, x[i], IntImm(3, "int32"))) for op in ops]
    data = np.array([-7, -6, 5, 6], np.int32)
    results = run(te.create_prim_func([x], outs), [data], (4,), (4,), (4,), (4,), dtype="int32")
    assert [r.tolist() for r in results] == [[-3, -2, 1, 2], [2, 0, 2, 0], [-2, -2, 1, 2], [-1, 0, 2, 0]]


def test_the_smaller_of_a_number_and_nan_is_the_second() -> None:
    x = te.placeholder((2,), name="X")
    func = te.create_prim_func([x], [te.compute((2,), lambda i: maximum(x[i], 0.0))])
    (result,) = run(func, [np.array([np.nan, -1], np.float32)], (2,))
    assert result.tolist() == [0, 0]


def test_gather_outside_the_buffer_is_an_error() -> None:
    x, index = te.placeholder((3,), name="X"), te.placeholder((2,), "int64", "index")
    func = te.create_prim_func([x, index], [te.compute((2,), lambda i: x[index[i]])])
    (result,) = run(func, [np.array([5, 6, 7], np.float32), np.array([2, 0])], (2,))
    assert result.tolist() == [7, 5]
    with pytest.raises(ExecutionError, match="index 3 is outside dimension 0 of 'X'"):
        run(func, [np.array([5, 6, 7], np.float32), np.array([3, 0])], (2,))


def test_arguments_that_do_not_fit_are_named() -> None:
    n = Var("n")
    x, y = te.placeholder((n, 4), name="X"), te.placeholder((n,), name="Y")
    func = te.create_prim_func([x, y], [te.compute((n, 4), lambda i, j: x[i, j] + y[i])], name="rows")
    with pytest.raises(ExecutionError, match="rows: dimension 0 of argument 'Y' has extent 3, expected 2"):
        run(func, [normal(2, 4), normal(3)], (2, 4))
    with pytest.raises(ExecutionError, match="argument 'X' has dtype float64, expected float32"):
        run(func, [np.zeros((2, 4)), normal(2)], (2, 4))
    with pytest.raises(ExecutionError, match="argument 'Y' has 2 dimensions, expected 1"):
        run(func, [normal(2, 4), normal(2, 1)], (2, 4))


def test_calls_of_nothing_are_refused() -> None:
    b = Buffer("b", (IntImm(1),))
    with pytest.raises(UnsupportedError, match=r"the intrinsic T\.call_extern is not known to numpy"):
        run(function([b], Evaluate(Call("call_extern", (), "int32"))), [], (1,))
