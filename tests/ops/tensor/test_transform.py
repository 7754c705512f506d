"""Operators that give elements other places, and those that join, cut and pick; against numpy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typed import of_type, present

from relay2relax.ops import OpDef, OpError, TensorType, TupleType, relax_op, relay_op
from relay2relax.ops.common.reshape_rules import new_shape, reshaped_index
from relay2relax.ops.common.slicing import axis_slices
from relay2relax.ops.tensor.joining import ConcatenateAttrs
from relay2relax.tir.extent import ANY, add, as_prim, canonical, floordiv, maximum, minimum, mul, static, sub
from relay2relax.tir.ir.expr import IntImm, Var
from relay2relax.tir.ir.visit import substitute

X = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4)
N, M = Var("n"), Var("m")


def record(name: str) -> OpDef:
    found = relay_op(name)
    assert found is not None
    return found


# reshape


@pytest.mark.parametrize(
    ("shape", "newshape", "expected"),
    [
        ((2, 3, 4), (4, 6), (4, 6)),
        ((2, 3, 4), (4, 0, 2), (4, 3, 2)),
        ((2, 3, 4), (2, 0, 0), (2, 3, 4)),
        ((2, 3, 4), (6, 1, -1), (6, 1, 4)),
        ((2, 3, 4), (3, -1, 8), (3, 1, 8)),
        ((2, 3, 4), (-1,), (24,)),
        ((2, 3, 4), (-2,), (2, 3, 4)),
        ((2, 3, 4), (2, -2), (2, 3, 4)),
        ((2, 3, 4), (-2, 1, 1), (2, 3, 4, 1, 1)),
        ((2, 3, 4), (-3, 4), (6, 4)),
        ((2, 3, 4, 5), (-3, -3), (6, 20)),
        ((2, 3, 4), (0, -3), (2, 12)),
        ((2, 3, 4), (-3, -2), (6, 4)),
        ((2, 3, 4), (-4, 1, 2, -2), (1, 2, 3, 4)),
        ((2, 3, 4), (2, -4, -1, 3, -2), (2, 1, 3, 4)),
        ((2, 8), (0, -4, 2, -1), (2, 2, 4)),
        ((1, 24), (2, 3, 4), (2, 3, 4)),
        ((), (1, 1), (1, 1)),
        ((1,), (), ()),
    ],
)
def test_reshape(shape: tuple[int, ...], newshape: tuple[int, ...], expected: tuple[int, ...], check: Any) -> None:
    data = np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
    check("reshape", [data], data.reshape(expected), newshape=newshape)
    check(relax_op("reshape"), [data, expected], data.reshape(expected))


def test_reshape_returns_a_view() -> None:
    reshape = record("reshape")
    assert np.shares_memory(reshape.numpy(reshape.attrs((6, 4)), X), X)


@pytest.mark.parametrize(
    ("shape", "newshape", "expected"),
    [
        ((ANY, 3, 4), (-1,), (ANY,)),
        ((ANY, 3, 4), (0, -1), (ANY, 12)),
        ((ANY, 3, 4), (-3, 4), (ANY, 4)),
        ((ANY, 4), (-4, 2, -1, 4), (2, ANY, 4)),
        ((ANY, ANY), (0, 0), (ANY, ANY)),
        ((N, 784), (-1, 784), (N, 784)),
        ((N, 1, 28, 28), (0, -1), (N, 784)),
        ((N, 4, 6), (-1, 12), (mul(N, 2), 12)),
        ((N, M, 6), (-1, 6), (mul(N, M), 6)),
        ((N, M, 6), (0, -3), (N, mul(M, 6))),
        ((N, 8), (-1, 3), (floordiv(mul(N, 8), 3), 3)),
        ((IntImm(2), 6), (0, 2, 3), (IntImm(2), 2, 3)),
    ],
)
def test_reshape_of_unknown_extents(shape: Any, newshape: Any, expected: Any) -> None:
    assert new_shape(shape, newshape) == expected


@pytest.mark.parametrize(
    ("newshape", "message"),
    [
        ((5, 5), "25 elements of 24"),
        ((-1, -1), "more than one -1"),
        ((0, 0, 0, 0), "more dimensions"),
        ((-5,), "no meaning"),
        ((-4, 2), "two extents follow"),
        ((-4, -1, -1, -2), "only one"),
        ((0, 0, 0, -3), "more dimensions"),
        ((-1, 5), "elements of 24"),
    ],
)
def test_newshapes_that_do_not_fit(newshape: tuple[int, ...], message: str) -> None:
    with pytest.raises(OpError, match=message):
        new_shape((2, 3, 4), newshape)


def test_reshape_of_nothing(check: Any) -> None:
    empty = np.zeros((0, 4), np.float32)
    check("reshape", [empty], empty.reshape(2, 0), newshape=(2, 0), allowzero=True, symbols=False)
    check("reshape", [empty], empty.reshape(0, 2, 2), newshape=(0, 2, 2), symbols=False)


@st.composite
def factorisations(draw: Any) -> tuple[list[int], list[int]]:
    total = draw(st.sampled_from([1, 2, 6, 12, 16, 24, 36]))

    def split() -> list[int]:
        rest = total
        parts: list[int] = []
        while rest > 1 and len(parts) < 4:
            part = draw(st.sampled_from([d for d in range(1, rest + 1) if rest % d == 0]))
            parts.append(part)
            rest //= part
        return [*parts, rest] if rest > 1 else parts

    return split(), split()


@settings(max_examples=60)
@given(factorisations())
def test_row_major_order_is_kept(shapes: tuple[list[int], list[int]]) -> None:
    source, target = shapes
    flat = np.arange(math.prod(source)).reshape(source)
    names = tuple(Var(f"i{i}") for i in range(len(target)))
    places = reshaped_index(tuple(source), tuple(target), names)
    for position in np.ndindex(*target):
        values = {name: as_prim(int(p)) for name, p in zip(names, position, strict=True)}
        found = tuple(static(canonical(substitute(as_prim(one), values))) for one in places)
        assert flat[found] == flat.reshape(target)[position]


def test_dimensions_that_stay_keep_their_index() -> None:
    i, j, k = Var("i"), Var("j"), Var("k")
    assert reshaped_index((N, 12), (N, 3, 4), (i, j, k))[0] is i
    assert reshaped_index((N, 3, 4), (N, 12), (i, j))[0] is i


def test_reshape_like(check: Any) -> None:
    check("reshape_like", [X, np.zeros((4, 6), np.int8)], X.reshape(4, 6))
    check(
        "reshape_like", [X, np.zeros((1, 12, 7), np.int8)], X.reshape(2, 12),
        lhs_begin=1, rhs_begin=1, rhs_end=2,
    )  # fmt: skip
    check(
        "reshape_like", [X, np.zeros((3, 2, 9), np.int8)], X.reshape(3, 2, 4),
        lhs_end=-1, rhs_end=-1,
    )  # fmt: skip
    with pytest.raises(OpError, match="different numbers of elements"):
        record("reshape_like").infer(record("reshape_like").attrs(), TensorType((2, 3)), TensorType((4,)))


# transpose, squeeze, expand_dims, broadcast_to, tile, repeat, reverse


@pytest.mark.parametrize("axes", [None, (0, 1, 2), (2, 0, 1), (-1, 0, -2)])
def test_transpose(axes: tuple[int, ...] | None, check: Any) -> None:
    check("transpose", [X], X.transpose(axes), axes=axes)


def test_transpose_refuses() -> None:
    for axes in ((0, 1), (0, 0, 1), (0, 1, 3)):
        with pytest.raises(OpError):
            record("transpose").infer(record("transpose").attrs(axes), TensorType((2, 3, 4)))


def test_squeeze(check: Any) -> None:
    x = X.reshape(1, 2, 1, 12)
    check("squeeze", [x], x.reshape(2, 12))
    check("squeeze", [x], x.reshape(2, 1, 12), axis=(0,))
    check("squeeze", [x], x.reshape(1, 2, 12), axis=(-2,))
    check("squeeze", [x], x, axis=())
    squeeze = record("squeeze")
    assert squeeze.infer(squeeze.attrs(), TensorType((ANY, 1, N))) == TensorType((ANY, N))
    assert squeeze.infer(squeeze.attrs((0,)), TensorType((ANY, 1))) == TensorType((1,))
    with pytest.raises(OpError, match="extent 2"):
        squeeze.infer(squeeze.attrs((1,)), TensorType((1, 2)))


@pytest.mark.parametrize(("axis", "count", "shape"), [
    (0, 1, (1, 2, 3, 4)), (-1, 1, (2, 3, 4, 1)), (1, 2, (2, 1, 1, 3, 4)), (3, 2, (2, 3, 4, 1, 1)),
    (-4, 1, (1, 2, 3, 4)), (1, 0, (2, 3, 4)),
])  # fmt: skip
def test_expand_dims(axis: int, count: int, shape: tuple[int, ...], check: Any) -> None:
    check("expand_dims", [X], X.reshape(shape), axis=axis, num_newaxis=count)


def test_relax_expand_dims(check: Any) -> None:
    check(relax_op("expand_dims"), [X], X.reshape(1, 2, 3, 4, 1), axis=(0, -1))


def test_broadcast_to(check: Any) -> None:
    x = X[:, :1]
    check("broadcast_to", [x], np.broadcast_to(x, (5, 2, 3, 4)), shape=(5, 2, 3, 4), symbols=False)
    check(relax_op("broadcast_to"), [x, (5, 2, 3, 4)], np.broadcast_to(x, (5, 2, 3, 4)))
    check("broadcast_to_like", [x, np.zeros((5, 2, 3, 4), np.int8)], np.broadcast_to(x, (5, 2, 3, 4)))
    wide = record("broadcast_to").attrs(shape=(IntImm(2), IntImm(5), IntImm(4)))
    found = of_type(record("broadcast_to").infer(wide, TensorType((5, 1))), TensorType)
    assert found.shape == (IntImm(2), IntImm(5), IntImm(4))
    for bad in ((2, 3, 5), (3, 4)):
        with pytest.raises(OpError, match="not broadcast"):
            record("broadcast_to").infer(record("broadcast_to").attrs(shape=bad), TensorType((2, 3, 4)))


@pytest.mark.parametrize("reps", [(2,), (2, 1, 3), (2, 1, 1, 3), ()])
def test_tile(reps: tuple[int, ...], check: Any) -> None:
    check("tile", [X], np.tile(X, reps), reps=reps)


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_repeat(axis: int | None, check: Any) -> None:
    check("repeat", [X], np.repeat(X, 3, axis), repeats=3, axis=axis)


def test_reverse(check: Any) -> None:
    check("reverse", [X], X[:, ::-1], axis=1)
    check("reverse", [X], X[..., ::-1], axis=-1)


# concatenate, stack, split


def test_concatenate(check: Any) -> None:
    y = X[:, :2] + 100
    check("concatenate", [(X, y)], np.concatenate([X, y], 1), axis=1)
    check("concatenate", [(X, X, X)], np.concatenate([X, X, X], -1), axis=-1)
    check("concatenate", [(X,)], X, axis=0)


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ([(ANY, 3), (2, 3)], (ANY, 3)),
        ([(2, ANY), (3, 4)], (5, ANY)),
        ([(ANY, ANY), (3, 4)], (ANY, 4)),
        ([(2, ANY), (3, ANY)], (5, ANY)),
        ([(N, 4), (M, 4), (N, 4)], (add(mul(N, 2), M), 4)),
        ([(IntImm(2), 4)], (IntImm(2), 4)),
    ],
)
def test_concatenate_of_unknown_extents(shapes: Any, expected: Any) -> None:
    data = TupleType(tuple(TensorType(shape) for shape in shapes))
    assert record("concatenate").infer(record("concatenate").attrs(0), data) == TensorType(expected)


def test_concatenate_refuses() -> None:
    concatenate = record("concatenate")
    for fields in (
        (TensorType((2, 3)), TensorType((2, 4))),
        (TensorType((2, 3)), TensorType((2,))),
        (TensorType((2, 3)), TensorType((2, 3), "int8")),
        (),
    ):
        with pytest.raises(OpError):
            concatenate.infer(concatenate.attrs(0), TupleType(fields))
    with pytest.raises(OpError, match="axis 2"):
        concatenate.infer(concatenate.attrs(2), TupleType((TensorType((2, 3)),)))
    with pytest.raises(OpError, match="tuple"):
        concatenate.infer(concatenate.attrs(0), TensorType((2, 3)))


@pytest.mark.parametrize("axis", [0, 1, 3, -1, -4])
def test_stack(axis: int, check: Any) -> None:
    check("stack", [(X, X + 100, X + 200)], np.stack([X, X + 100, X + 200], axis), axis=axis)


def test_split(check: Any) -> None:
    check("split", [X], tuple(np.split(X, 2, 0)), indices_or_sections=2, axis=0)
    check("split", [X], tuple(np.split(X, [1, 3], -1)), indices_or_sections=(1, 3), axis=-1)
    check("split", [X], (X,), indices_or_sections=1, axis=1)


def test_split_of_unknown_extents() -> None:
    split = record("split")

    def parts(shape: Any, sections: Any) -> list[Any]:
        found = of_type(split.infer(split.attrs(sections, 0), TensorType(shape)), TupleType)
        return [of_type(one, TensorType).shape[0] for one in found.fields]

    assert parts((ANY,), 2) == [ANY, ANY]
    assert parts((ANY,), (1, 4)) == [1, 3, ANY]
    assert parts((mul(N, 4),), 2) == [mul(N, 2), mul(N, 2)]
    assert parts((N,), (1, 4)) == [1, 3, sub(N, 4)]
    assert parts((12,), 5) == [3, 3, 3, 3, 0]
    # Relax cuts at the ends what lies outside, as TVM infers; Relay refuses it.
    assert parts((10,), (-2, 2, 6, 4, 8, 12, 9)) == [0, 2, 4, 0, 4, 2, 0, 1]
    assert parts((3,), (1, 2, 3)) == [1, 1, 1, 0]
    assert split.relay_type is not None
    for sections in ((0, 2), (2, 2), (3, 1), (12,)):
        with pytest.raises(OpError):
            split.relay_type(split.attrs(sections, 0), TensorType((12,)))
    with pytest.raises(OpError):
        parts((12,), 0)
    rows = np.arange(6).reshape(3, 2)
    found = of_type(split.numpy(split.attrs((1, 3, 2), 0), rows), tuple)
    assert [one.tolist() for one in found] == [[[0, 1]], [[2, 3], [4, 5]], [], [[4, 5]]]


# take


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("mode", ["clip", "wrap", "fast"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 2)])
def test_take(axis: int | None, mode: str, shape: tuple[int, ...], check: Any) -> None:
    size = X.size if axis is None else X.shape[axis]
    indices = np.arange(math.prod(shape)).reshape(shape) % size
    if mode != "fast":
        indices = indices * 5 - 4
    known = np.clip(indices, 0, size - 1) if mode == "clip" else indices % size
    check("take", [X, indices.astype(np.int32)], np.take(X, known, axis), axis=axis, mode=mode)


@pytest.mark.parametrize(("batch", "axis"), [(1, 1), (1, 2), (-1, 1)])
def test_take_with_batch_axes(batch: int, axis: int, check: Any) -> None:
    indices = np.array([[2, 0], [1, 5]], np.int64)
    rows = [np.take(X[b], np.minimum(indices[b], X.shape[axis] - 1), axis - 1) for b in range(2)]
    check("take", [X, indices], np.stack(rows), batch_dims=batch, axis=axis)


def test_take_with_two_batch_axes(check: Any) -> None:
    data = np.arange(2 * 3 * 2 * 5, dtype=np.float32).reshape(2, 3, 2, 5)
    indices = np.arange(2 * 3 * 4).reshape(2, 3, 4) % 5
    rows = [[data[a, b][:, indices[a, b]] for b in range(3)] for a in range(2)]
    check("take", [data, indices], np.array(rows), batch_dims=2, axis=3)


def test_take_types() -> None:
    take = record("take")
    data, indices = TensorType((N, 3, ANY)), TensorType((M, 5), "int32")
    assert take.infer(take.attrs(axis=1), data, indices) == TensorType((N, M, 5, ANY))
    assert take.infer(take.attrs(), data, indices) == TensorType((M, 5))
    for attrs in (take.attrs(axis=3), take.attrs(axis=0, mode="raise"), take.attrs(axis=0, batch_dims=1)):
        with pytest.raises(OpError):
            take.infer(attrs, data, indices)


# Slices


@pytest.mark.parametrize(
    ("begin", "end", "strides", "expected"),
    [
        ((0, 0, 0), (2, 3, 4), (1, 1, 1), X),
        ((1, 1, 0), (4, 4, 3), (2, 1, 1), X[1:4:2, 1:4, 0:3]),
        ((1, 1), (4, 1000), (1,), X[1:4, 1:1000]),
        ((1, -1, 0), (4, -5, 3), (2, -1, 1), X[1:4:2, -1:-5:-1, 0:3]),
        ((-1, -1, -1), (-100, -100, -100), (-1, -1, -2), X[::-1, ::-1, ::-2]),
        ((0, 0, 3), (2, 3, 0), (1, 1, -1), X[:, :, 3:0:-1]),
        ((0, 1), (2, 1), (1, 1), X[:, 1:1]),
    ],
)
def test_strided_slice(begin: Any, end: Any, strides: Any, expected: np.ndarray, check: Any) -> None:
    places = {"begin": begin, "end": end, "strides": strides}
    check("strided_slice", [X], expected, axes=None, symbols=expected.size > 0, **places)


def test_strided_slice_of_listed_axes(check: Any) -> None:
    places = {"begin": (1,), "end": (3,), "strides": (1,)}
    check("strided_slice", [X], X[:, :, 1:3], axes=(2,), **places)
    check("strided_slice", [X], X[:, 1:3], axes=(-2,), **places)
    check(relax_op("strided_slice"), [X], X[:, 1:3], axes=(1,), begin=(1,), end=(3,), strides=(1,))


def test_sizes_of_slices(check: Any) -> None:
    places = {"begin": (1, 0, 2), "end": (-1, 2, 2), "strides": (1,), "slice_mode": "size", "axes": None}
    check("strided_slice", [X], X[1:, 0:2, 2:4], **places)


def test_slices_of_unknown_extents() -> None:
    far = 2**31 - 1

    def lengths(shape: Any, begin: Any, end: Any, strides: Any = (1,)) -> Any:
        return [one.length for one in axis_slices(shape, begin, end, strides, None)]

    assert lengths((ANY,), (0,), (2,)) == [ANY]
    assert lengths((N,), (0,), (far,)) == [N]
    assert lengths((N,), (0,), (IntImm(2**63 - 1),)) == [N]
    assert lengths((N,), (1,), (far,)) == [maximum(sub(N, 1), 0)]
    assert lengths((N,), (-3,), (far,)) == [minimum(3, N)]
    assert lengths((N,), (0,), (-1,)) == [maximum(sub(N, 1), 0)]
    assert lengths((N,), (far,), (-far,), (-1,)) == [N]
    assert lengths((add(N, 4),), (0,), (add(N, 4),)) == [add(N, 4)]
    with pytest.raises(OpError, match="backwards"):
        lengths((9,), (5,), (2,))
    with pytest.raises(OpError, match="stride"):
        lengths((9,), (0,), (2,), (0,))


@settings(max_examples=200)
@given(st.integers(1, 7), st.integers(-9, 9), st.integers(-9, 9), st.integers(-3, 3).filter(bool), st.booleans())
def test_slices_follow_numpy(extent: int, begin: int, end: int, stride: int, symbol: bool) -> None:
    data = np.arange(extent)
    expected = data[begin:end:stride]
    size = N if symbol else extent
    try:
        (found,) = axis_slices((size,), (begin,), (end,), (stride,), None)
    except OpError:
        assert len(expected) == 0
        return
    values = {N: as_prim(extent)}
    length = present(static(canonical(substitute(as_prim(found.length), values))))
    first = present(static(canonical(substitute(as_prim(found.begin), values))))
    assert length == len(expected)
    assert [first + i * stride for i in range(length)] == expected.tolist()


def test_slice_like(check: Any) -> None:
    check("slice_like", [X, np.zeros((1, 2, 3), np.int8)], X[:1, :2, :3], axes=None)
    check("slice_like", [X, np.zeros((9, 2), np.int8)], X[:, :2], axes=(1,))
    check("slice_like", [X, np.zeros((1, 2), np.int8)], X[:1, :2], axes=None)
    with pytest.raises(OpError, match="cannot be cut to 9"):
        record("slice_like").infer(record("slice_like").attrs((0,)), TensorType((2, 3)), TensorType((9,)))


def test_extents_that_numpy_would_count_beyond_64_bits() -> None:
    op, half = record("concatenate"), np.zeros((2**62, 0), np.int8)
    assert op.numpy is not None
    with pytest.raises(OpError, match="the joined tensor would have the extent 18446744073709551616"):
        op.numpy(ConcatenateAttrs(axis=0), (half,) * 4)
