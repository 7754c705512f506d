"""PrimFuncs printed as TVMScript, read, compiled and run by apache-tvm, against numpy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from relay2relax.core import UnsupportedError
from relay2relax.core.dtype import numpy_dtype
from relay2relax.tir import te
from relay2relax.tir.errors import TIRError
from relay2relax.tir.extent import Extent
from relay2relax.tir.ir.expr import (
    AnyExtent,
    Binary,
    Buffer,
    Call,
    Not,
    PrimExpr,
    Select,
    StringImm,
    Var,
    binary,
    cast,
    const,
    maximum,
    minimum,
)
from relay2relax.tir.ir.intrinsics import call, max_value, min_value
from relay2relax.tir.ir.stmt import (
    Allocate,
    BufferStore,
    Evaluate,
    For,
    If,
    Let,
    LoopKind,
    PrimFunc,
    Seq,
    Stmt,
    While,
)
from relay2relax.tir.script.dialect import INTRINSICS
from relay2relax.tir.script.printer import print_prim_func

tvm_only = pytest.mark.tvm
random = np.random.default_rng(0)


def data(*shape: int, dtype: str = "float32") -> np.ndarray:
    return random.standard_normal(shape).astype(dtype)


def softmax(rows: Extent, columns: Extent) -> PrimFunc:
    x = te.placeholder((rows, columns), "float32", "x")
    k = te.reduce_axis(columns, "k")
    peak = te.compute((rows,), lambda i: te.max(x[i, k], axis=k), "peak")
    raised = te.compute((rows, columns), lambda i, j: call("exp", x[i, j] - peak[i]), "raised")
    q = te.reduce_axis(columns, "k")
    total = te.compute((rows,), lambda i: te.sum(raised[i, q], axis=q), "total")
    y = te.compute((rows, columns), lambda i, j: raised[i, j] / total[i], "y")
    return te.create_prim_func([x], [y], "softmax")


def test_text_of_a_softmax() -> None:
    text = "\n".join(print_prim_func(softmax(Var("n"), 4)))
    assert text == (
        """@T.prim_func(private=True, s_tir=True)
def softmax(x_handle: T.handle, y_handle: T.handle):
    T.func_attr({"tirx.noalias": True})
    n = T.int64()
    x = T.match_buffer(x_handle, (n, T.int64(4)), "float32")
    y = T.match_buffer(y_handle, (n, T.int64(4)), "float32")
    peak = T.sblock_alloc_buffer((n,), "float32")
    raised = T.sblock_alloc_buffer((n, T.int64(4)), "float32")
    total = T.sblock_alloc_buffer((n,), "float32")
    for i0, k in T.grid(n, T.int64(4)):
        with T.sblock("peak"):
            v_i0, v_k = T.axis.remap("SR", [i0, k])
            T.reads(x[v_i0, v_k])
            T.writes(peak[v_i0])
            with T.init():
                peak[v_i0] = T.float32(-3.4028234663852886e+38)
            peak[v_i0] = T.max(peak[v_i0], x[v_i0, v_k])
    for i0, i1 in T.grid(n, T.int64(4)):
        with T.sblock("raised"):
            v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
            T.reads(x[v_i0, v_i1], peak[v_i0])
            T.writes(raised[v_i0, v_i1])
            raised[v_i0, v_i1] = T.exp(x[v_i0, v_i1] - peak[v_i0])
    for i0, k in T.grid(n, T.int64(4)):
        with T.sblock("total"):
            v_i0, v_k = T.axis.remap("SR", [i0, k])
            T.reads(raised[v_i0, v_k])
            T.writes(total[v_i0])
            with T.init():
                total[v_i0] = T.float32(0.0)
            total[v_i0] = total[v_i0] + raised[v_i0, v_k]
    for i0, i1 in T.grid(n, T.int64(4)):
        with T.sblock("y"):
            v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
            T.reads(raised[v_i0, v_i1], total[v_i0])
            T.writes(y[v_i0, v_i1])
            y[v_i0, v_i1] = raised[v_i0, v_i1] / total[v_i0]"""
    )


def test_classic_dialect() -> None:
    lines = print_prim_func(softmax(2, 4), name="if", dialect="tvm-0.18", indent=1)
    assert lines[:6] == [
        "    @T.prim_func(private=True)",
        '    def if_(x: T.Buffer((T.int64(2), T.int64(4)), "float32"), '
        'y: T.Buffer((T.int64(2), T.int64(4)), "float32")):',
        '        T.func_attr({"tir.noalias": T.bool(True)})',
        '        peak = T.alloc_buffer((T.int64(2),), "float32")',
        '        raised = T.alloc_buffer((T.int64(2), T.int64(4)), "float32")',
        '        total = T.alloc_buffer((T.int64(2),), "float32")',
    ]
    assert '            with T.block("peak"):' in lines


def test_names_are_python_identifiers_and_do_not_clash() -> None:
    x = te.placeholder((2,), "float32", "T")
    y = te.placeholder((2,), "float32", "d1/weight:0")
    z = te.compute((2,), lambda i: x[i] + y[i], "lambda")
    head = print_prim_func(te.create_prim_func([x, y], [z], "3 x"))[1]
    assert head == (
        'def v3_x(T_: T.Buffer((T.int64(2),), "float32"), d1_weight_0: T.Buffer((T.int64(2),), "float32"), '
        'lambda_: T.Buffer((T.int64(2),), "float32")):'
    )


def test_variables_are_not_called_by_words_of_c() -> None:
    handle, out = Var("out", "handle"), Buffer("new", (const(4, "int64"),), "float32")
    new, max_, i = Var("new", "float32"), Var("max", "float32"), Var("int")
    stored = Let(new, const(1.0, "float32"), Let(max_, new, BufferStore(out, (i,), max_)))
    func = PrimFunc("short", (handle,), {handle: out}, For(i, const(4, "int64"), stored))
    lines = "\n".join(print_prim_func(func))
    # Buffers and functions get endings of apache-tvm's own.
    assert "for int_ in range" in lines
    assert "new_: T.let" in lines
    assert "max_: T.let" in lines
    assert "new[int_] = max_" in lines


def test_what_cannot_be_said() -> None:
    x = te.placeholder((2,), "float32", "x")
    with pytest.raises(UnsupportedError, match="no_such"):
        print_prim_func(te.create_prim_func([x], [te.compute((2,), lambda i: call("no_such", x[i]))]))
    fused = te.create_prim_func([x], [te.compute((2,), lambda i: call("fma", x[i], x[i], x[i]))])
    with pytest.raises(UnsupportedError, match="fma"):
        print_prim_func(fused, dialect="tvm-0.18")
    with pytest.raises(UnsupportedError, match="dialect"):
        print_prim_func(softmax(2, 4), dialect="tvm-0.5")
    with pytest.raises(UnsupportedError):
        print_prim_func(softmax(AnyExtent(), 4))
    buffer = Buffer("b", (const(2, "int64"),))
    loose = PrimFunc("f", (), {}, BufferStore(buffer, (const(0, "int64"),), const(0, "float32")))
    with pytest.raises(TIRError, match="not declared"):
        print_prim_func(loose)


def test_definitions_that_are_wrong() -> None:
    x = te.placeholder((2, 3), "float32", "x")
    k = te.reduce_axis(3, "k")
    with pytest.raises(TIRError, match="compute of its own"):
        te.create_prim_func([x], [te.compute((2,), lambda i: te.sum(x[i, k], axis=k) * 2.0)])
    with pytest.raises(TIRError, match="not among the inputs"):
        te.create_prim_func([], [te.compute((2,), lambda i: x[i, 0])])
    with pytest.raises(TIRError, match="given twice"):
        te.create_prim_func([x, x], [te.compute((2,), lambda i: x[i, 0])])
    with pytest.raises(TIRError, match="placeholder"):
        te.create_prim_func([], [x])
    with pytest.raises(TIRError, match="computed"):
        te.create_prim_func([te.compute((2,), lambda i: x[i, 0])], [])


@tvm_only
@pytest.mark.parametrize("extents", [(3, 5), (Var("n"), 5), (Var("n"), Var("m"))])
def test_softmax(run_in_tvm: Callable[..., list[np.ndarray]], extents: tuple[Extent, Extent]) -> None:
    x = data(3, 5)
    (y,) = run_in_tvm(softmax(*extents), [x], [(3, 5)])
    expected = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    np.testing.assert_allclose(y, expected, rtol=1e-5)


@tvm_only
def test_matmul(run_in_tvm: Callable[..., list[np.ndarray]]) -> None:
    n = Var("n")
    a, b = te.placeholder((n, 6), "float32", "A"), te.placeholder((6, 5), "float32", "B")
    k = te.reduce_axis(6, "k")
    c = te.compute((n, 5), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), "C")
    x, w = data(4, 6), data(6, 5)
    (y,) = run_in_tvm(te.create_prim_func([a, b], [c], "matmul"), [x, w], [(4, 5)])
    np.testing.assert_allclose(y, x @ w, rtol=1e-5, atol=1e-6)


@tvm_only
def test_convolution_with_padding(run_in_tvm: Callable[..., list[np.ndarray]]) -> None:
    x, w = te.placeholder((1, 3, 6, 6), "float32", "x"), te.placeholder((4, 3, 3, 3), "float32", "w")

    def padded(n: Var, c: Var, h: Var, v: Var) -> PrimExpr:
        inside = binary("and", binary("and", h >= 1, h < 7), binary("and", v >= 1, v < 7))
        return call("if_then_else", inside, x[n, c, h - 1, v - 1], const(0, "float32"), dtype="float32")

    pad = te.compute((1, 3, 8, 8), padded, "pad")
    c, p, q = te.reduce_axis(3, "c"), te.reduce_axis(3, "p"), te.reduce_axis(3, "q")
    y = te.compute(
        (1, 4, 3, 3),
        lambda n, o, h, v: te.sum(pad[n, c, h * 2 + p.var, v * 2 + q.var] * w[o, c, p, q], axis=(c, p, q)),
        "conv",
    )
    image, kernel = data(1, 3, 6, 6), data(4, 3, 3, 3)
    (out,) = run_in_tvm(te.create_prim_func([x, w], [y], "conv"), [image, kernel], [(1, 4, 3, 3)])
    frame = np.pad(image, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(frame, (3, 3), axis=(2, 3))[:, :, ::2, ::2]
    np.testing.assert_allclose(out, np.einsum("nchwpq,ocpq->nohw", windows, kernel), rtol=1e-4, atol=1e-5)


@tvm_only
def test_rank_zero(run_in_tvm: Callable[..., list[np.ndarray]]) -> None:
    s, v = te.placeholder((), "float32", "s"), te.placeholder((4,), "float32", "v")
    k = te.reduce_axis(4, "k")
    total = te.compute((), lambda: te.sum(v[k], axis=k), "total")
    out = te.compute((), lambda: total[()] * s[()] + 1.0, "out")
    x = data(4)
    (y,) = run_in_tvm(te.create_prim_func([s, v], [out], "f"), [np.array(2, "float32"), x], [()])
    np.testing.assert_allclose(y, x.sum() * 2 + 1, rtol=1e-5)


@tvm_only
def test_two_value_reduction(run_in_tvm: Callable[..., list[np.ndarray]]) -> None:
    n = Var("n")
    x = te.placeholder((n, 8), "float32", "x")
    k = te.reduce_axis(8, "k")

    def combine(best: Sequence[PrimExpr], new: Sequence[PrimExpr]) -> tuple[PrimExpr, PrimExpr]:
        better = binary("or", best[1] > new[1], binary("and", best[1].equal(new[1]), best[0] < new[0]))
        return Select(better, best[0], new[0]), Select(best[1] > new[1], best[1], new[1])

    identity = (const(-1, "int64"), min_value("float32"))
    index, value = te.compute_several((n,), lambda i: te.Reduce(combine, identity, (k.var, x[i, k]), (k,)), "argmax")
    rows = data(3, 8)
    found, peak = run_in_tvm(te.create_prim_func([x], [index, value], "f"), [rows], [(3,), (3,)])
    assert (found == rows.argmax(1)).all()
    assert (peak == rows.max(1)).all()


@tvm_only
def test_several_results_and_shared_temporaries(run_in_tvm: Callable[..., list[np.ndarray]]) -> None:
    x = te.placeholder((4,), "float32", "x")
    low, high = te.compute_several((4,), lambda i: (x[i] - 1.0, x[i] + 1.0), "pair")
    both = te.compute((4,), lambda i: low[i] * high[i], "both")
    func = te.create_prim_func([x], [both, high, both, x], "f")
    assert [buffer.name for buffer in func.root_buffers] == ["pair_0"]
    v = data(4)
    results = run_in_tvm(func, [v], [(4,)] * 4)
    for result, expected in zip(results, [(v - 1) * (v + 1), v + 1, (v - 1) * (v + 1), v], strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-6)


@tvm_only
def test_reduction_under_a_condition(run_in_tvm: Callable[..., list[np.ndarray]]) -> None:
    x = te.placeholder((3, 4), "float32", "x")
    k = te.reduce_axis(4, "k")
    zero = (const(0, "float32"),)
    y = te.compute((3,), lambda i: te.Reduce(lambda a, b: (a[0] + b[0],), zero, (x[i, k],), (k,), k.var <= i), "y")
    v = data(3, 4)
    (out,) = run_in_tvm(te.create_prim_func([x], [y], "f"), [v], [(3,)])
    np.testing.assert_allclose(out, np.tril(v).sum(1), rtol=1e-5)


@tvm_only
def test_extern_with_while_and_locals(run_in_tvm: Callable[..., list[np.ndarray]]) -> None:
    """Insertion sort of each row: loops, branches, a while, locals and a let inside an opaque
    block.
    """
    n = Var("n")
    x = te.placeholder((n, 5), "float32", "x")
    zero, one = const(0, "int64"), const(1, "int64")

    def build(inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> Stmt:
        (source,), (target,) = inputs, outputs
        i, j, key = Var("i"), Var("j"), Var("key", "float32")
        place = Buffer("place", (one,), "int64")
        at = place[0]
        go = call("if_then_else", at > 0, target[i, maximum(at - 1, 0)] > key, const(0, "bool"), dtype="bool")
        shift = Seq(
            (
                BufferStore(target, (i, at), target[i, at - 1]),
                BufferStore(place, (zero,), at - 1),
            )
        )
        insert = Allocate(
            place,
            Seq(
                (
                    BufferStore(place, (zero,), j),
                    While(go, shift),
                    BufferStore(target, (i, at), key),
                )
            ),
        )
        row = For(j, const(5, "int64"), Let(key, source[i, j], insert))
        return For(i, n, row, LoopKind.PARALLEL)

    (y,) = te.extern([(n, 5)], ["float32"], [x], build, "sort")
    z = te.compute((n, 5), lambda i, j: y[i, j] * 2.0, "z")
    v = data(6, 5)
    (out,) = run_in_tvm(te.create_prim_func([x], [z], "f"), [v], [(6, 5)])
    assert (out == np.sort(v, 1) * 2).all()


@tvm_only
def test_extent_that_no_dimension_gives(run_in_tvm: Callable[..., list[np.ndarray]]) -> None:
    n, m = Var("n"), Var("m")
    x = te.placeholder((n * m,), "float32", "x")
    y = te.compute((n * m,), lambda i: x[i] + cast("float32", m), "y")
    func = te.create_prim_func([x], [y], "f")
    assert [p.dtype for p in func.params] == ["handle", "int64", "int64", "handle"]
    v = data(6)
    (out,) = run_in_tvm(func, [v, 2, 3], [(6,)])
    assert (out == v + np.float32(3)).all()
    half = te.placeholder((n * 2,), "float32", "half")
    (out,) = run_in_tvm(te.create_prim_func([half], [te.compute((n,), lambda i: half[i * 2])], "f"), [v], [(3,)])
    assert (out == v[::2]).all()


@tvm_only
def test_data_dependent_index(run_in_tvm: Callable[..., list[np.ndarray]]) -> None:
    x, at = te.placeholder((5, 2), "float32", "x"), te.placeholder((3,), "int32", "at")
    y = te.compute((3, 2), lambda i, j: x[at[i], j], "y")
    v, places = data(5, 2), np.array([4, 0, 2], "int32")
    (out,) = run_in_tvm(te.create_prim_func([x, at], [y], "f"), [v, places], [(3, 2)])
    assert (out == v[places]).all()


LITERALS = [
    ("float32", math.inf), ("float32", -math.inf), ("float32", math.nan), ("float32", -0.0), ("float32", 0.1),
    ("float32", 1e-45), ("float64", 0.1), ("float64", 5e-324), ("float64", 1.7976931348623157e308),
    ("float64", -1e300), ("float64", math.inf), ("float16", 0.1), ("float16", 6e-8), ("bfloat16", 0.1),
    ("bfloat16", 3e38), ("int8", -128), ("uint8", 255), ("int16", -32768), ("int32", -(2**31)),
    ("uint32", 2**32 - 1), ("int64", -(2**63)), ("int64", 2**63 - 1), ("uint64", 2**64 - 1), ("bool", 1),
    ("bool", 0),
]  # fmt: skip


@tvm_only
def test_literals_lose_nothing(run_in_tvm: Callable[..., list[np.ndarray]]) -> None:
    outputs = [te.compute((1,), lambda i, v=v, d=d: const(v, d)) for d, v in LITERALS]
    results = run_in_tvm(te.create_prim_func([], outputs, "f"), [], [(1,)] * len(LITERALS))
    for (dtype, value), result in zip(LITERALS, results, strict=True):
        assert result.tobytes() == np.array([value], numpy_dtype(dtype)).tobytes(), (dtype, value)


@tvm_only
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8", "uint8"])
def test_limits(run_in_tvm: Callable[..., list[np.ndarray]], dtype: str) -> None:
    ends = [te.compute((1,), lambda i: min_value(dtype)), te.compute((1,), lambda i: max_value(dtype))]
    low, high = run_in_tvm(te.create_prim_func([], ends, "f"), [], [(1,), (1,)])
    info = np.finfo(dtype) if dtype.startswith("float") else np.iinfo(dtype)
    assert (low[0], high[0]) == (info.min, info.max)


def _erf(x: np.ndarray) -> np.ndarray:
    return np.array([math.erf(v) for v in x], x.dtype)


UNARY: dict[str, Callable[..., Any]] = {
    "exp": np.exp, "exp2": np.exp2, "exp10": lambda x: 10**x, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "erf": _erf, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh,
    "asinh": np.arcsinh, "atanh": np.arctanh, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
    "round": np.round, "nearbyint": np.rint, "fabs": np.abs, "abs": np.abs,
}  # fmt: skip
BINARY = {
    "atan2": np.arctan2, "pow": np.power, "fmod": np.fmod, "copysign": np.copysign, "hypot": np.hypot,
}  # fmt: skip
TESTS = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}
OTHERS = {"acosh", "likely", "if_then_else", "popcount", "clz", "fma"}


def test_every_intrinsic_is_tested() -> None:
    assert {*UNARY, *BINARY, *TESTS, *OTHERS} == INTRINSICS


@tvm_only
@pytest.mark.sweep(every=2)
def test_intrinsics(run_in_tvm: Callable[..., list[np.ndarray]]) -> None:
    a, b = te.placeholder((4,), "float32", "a"), te.placeholder((4,), "float32", "b")
    bits, special = te.placeholder((4,), "int32", "bits"), te.placeholder((4,), "float32", "special")
    plain = [te.compute((4,), lambda i, f=f: call(f, a[i])) for f in UNARY]
    paired = [te.compute((4,), lambda i, f=f: call(f, a[i], b[i])) for f in BINARY]
    tests = [te.compute((4,), lambda i, f=f: call(f, special[i], dtype="bool")) for f in TESTS]
    others = [
        te.compute((4,), lambda i: call("acosh", a[i] + 1.0)),
        te.compute((4,), lambda i: call("fma", a[i], b[i], b[i])),
        te.compute((4,), lambda i: call("popcount", bits[i])),
        te.compute((4,), lambda i: call("clz", bits[i])),
        te.compute((4,), lambda i: Select(call("likely", a[i] > 0.3), a[i], b[i])),
    ]
    x = np.array([0.1, 0.3, 0.5, 0.9], "float32")
    y = np.array([-1.5, 0.0, 2.5, 0.7], "float32")
    z = np.array([1, 255, 7, 2**30], "int32")
    w = np.array([np.inf, np.nan, 1, -np.inf], "float32")
    outputs = [*plain, *paired, *tests, *others]
    func = te.create_prim_func([a, b, bits, special], outputs, "f")
    results = iter(run_in_tvm(func, [x, y, z, w], [(4,)] * len(outputs)))
    for name, reference in UNARY.items():
        np.testing.assert_allclose(next(results), reference(x), rtol=2e-6, err_msg=name)
    for name, reference in BINARY.items():
        np.testing.assert_allclose(next(results), reference(x, y), rtol=2e-6, atol=1e-7, err_msg=name)
    for name, reference in TESTS.items():
        assert (next(results) == reference(w)).all(), name
    np.testing.assert_allclose(next(results), np.arccosh(x + 1), rtol=2e-6)
    np.testing.assert_allclose(next(results), x * y + y, rtol=1e-6, atol=1e-7)
    assert next(results).tolist() == [1, 8, 3, 1]
    assert next(results).tolist() == [31, 24, 29, 1]
    np.testing.assert_array_equal(next(results), np.where(x > np.float32(0.3), x, y))


@tvm_only
def test_ties_round_to_even(run_in_tvm: Callable[..., list[np.ndarray]]) -> None:
    a = te.placeholder((4,), "float32", "a")
    func = te.create_prim_func([a], [te.compute((4,), lambda i: call("round", a[i]))], "f")
    (out,) = run_in_tvm(func, [np.array([0.5, 1.5, 2.5, -0.5], "float32")], [(4,)])
    assert out.tolist() == [0, 2, 2, 0]


@tvm_only
def test_operators_and_precedence(run_in_tvm: Callable[..., list[np.ndarray]]) -> None:
    a, b = te.placeholder((9,), "int64", "a"), te.placeholder((9,), "int64", "b")

    def trunc(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        result: np.ndarray = (np.abs(x) // np.abs(y)) * np.sign(x) * np.sign(y)
        return result

    cases: list[tuple[Callable[[PrimExpr, PrimExpr], PrimExpr], Callable[..., Any]]] = [
        (lambda x, y: x - (y - x), lambda x, y: x - (y - x)),
        (lambda x, y: (x - y) - x, lambda x, y: (x - y) - x),
        (lambda x, y: x * (y + x) * y, lambda x, y: x * (y + x) * y),
        (lambda x, y: x // y, lambda x, y: x // y),
        (lambda x, y: x % y, lambda x, y: x % y),
        (lambda x, y: x // (y * x * x), lambda x, y: x // (y * x * x)),
        (lambda x, y: binary("truncdiv", x, y), trunc),
        (lambda x, y: binary("truncmod", x, y), lambda x, y: x - trunc(x, y) * y),
        (
            lambda x, y: minimum(x, y) - maximum(x * 2, y),
            lambda x, y: np.minimum(x, y) - np.maximum(x * 2, y),
        ),
        (lambda x, y: binary("&", x, binary("|", y, x + 1)), lambda x, y: x & (y | (x + 1))),
        (lambda x, y: binary("|", binary("&", x, y), x + 1), lambda x, y: (x & y) | (x + 1)),
        (lambda x, y: binary("^", x, binary("<<", y, const(2, "int64"))), lambda x, y: x ^ (y << 2)),
        (lambda x, y: binary(">>", x - y, const(1, "int64")), lambda x, y: (x - y) >> 1),
        (lambda x, y: Select(x < y, x, y) + 0, np.minimum),
        (
            lambda x, y: cast("int64", Not(binary("and", x > 1, binary("or", y > 1, Not(x >= 2))))),
            lambda x, y: (~((x > 1) & ((y > 1) | ~(x >= 2)))).astype("int64"),
        ),
        (
            lambda x, y: cast("int64", Binary("==", x > 1, y > 1)),
            lambda x, y: ((x > 1) == (y > 1)).astype("int64"),
        ),
        (
            lambda x, y: cast("int64", binary("or", binary("and", x > 1, y > 1), x.not_equal(y))),
            lambda x, y: (((x > 1) & (y > 1)) | (x != y)).astype("int64"),
        ),
        (lambda x, y: -x * y, lambda x, y: -x * y),
        (
            lambda x, y: cast("int64", cast("int8", x * 77)),
            lambda x, y: (x * 77).astype("int8").astype("int64"),
        ),
        (lambda x, y: cast("int64", cast("float32", x) / 2.0), lambda x, y: np.trunc(x / 2).astype("int64")),
    ]
    x = np.array([-7, -7, -7, -1, 2, 3, 7, 8, 11], "int64")
    y = np.array([-3, 2, 3, 1, 2, -5, -3, 4, 4], "int64")
    outputs = [te.compute((9,), lambda i, f=f: f(a[i], b[i])) for f, _ in cases]
    results = run_in_tvm(te.create_prim_func([a, b], outputs, "f"), [x, y], [(9,)] * len(cases))
    for number, ((_, reference), result) in enumerate(zip(cases, results, strict=True)):
        assert (result == reference(x, y)).all(), number


@tvm_only
def test_loop_kinds_and_extern_calls(run_in_tvm: Callable[..., list[np.ndarray]]) -> None:
    x = te.placeholder((4, 8), "float32", "x")

    def build(inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> Stmt:
        (source,), (target,) = inputs, outputs
        i, j = Var("i"), Var("j")
        store = BufferStore(target, (i, j), Call("call_pure_extern", (StringImm("expf"), source[i, j]), "float32"))
        inner = For(j, const(8, "int64"), store, LoopKind.UNROLLED)
        effect = Evaluate(Call("call_extern", (StringImm("abs"), const(-1, "int32")), "int32"))
        branch = If(i >= 2, inner, For(j, const(8, "int64"), BufferStore(target, (i, j), source[i, j])))
        return For(i, const(4, "int64"), Seq((effect, branch)), annotations={"pragma_note": "rows"})

    (y,) = te.extern([(4, 8)], ["float32"], [x], build, "f")
    v = data(4, 8)
    (out,) = run_in_tvm(te.create_prim_func([x], [y], "f"), [v], [(4, 8)])
    np.testing.assert_allclose(out, np.where(np.arange(4)[:, None] >= 2, np.exp(v), v), rtol=1e-6)
