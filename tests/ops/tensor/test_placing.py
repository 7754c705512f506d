"""Masks, layouts, coordinates, sums of products and Fourier transforms: values from numpy and
PyTorch, and by hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax.ops import TensorType, TupleType, relay_op
from relay2relax.ops.registry.record import OpError
from relay2relax.tir.extent import ANY
from relay2relax.tir.ir.expr import Var

RANDOM = np.random.default_rng(12)
X = RANDOM.standard_normal((2, 3, 4)).astype(np.float32)


def infer(name: str, attrs: dict[str, Any], *types: Any) -> Any:
    op = relay_op(name)
    assert op is not None
    return op.infer(op.attrs(**attrs), *types)


# masks


def test_one_hot_is_that_of_pytorch(check: Any, torch: Any) -> None:
    indices = np.array([[0, 2], [1, 4]], np.int64)
    hot = torch.nn.functional.one_hot(torch.from_numpy(indices), 5).numpy()
    one, zero = np.array(1, np.int64), np.array(0, np.int64)
    check("one_hot", [indices, one, zero], hot, symbols=False, depth=5, dtype="int64")
    check("one_hot", [indices, one, zero], np.moveaxis(hot, -1, 1), symbols=False, depth=5, axis=1, dtype="int64")


def test_one_hot_of_a_place_outside_is_off(check: Any) -> None:
    values = [np.array([-1, 3], np.int32), np.array(2.5, np.float32), np.array(-1, np.float32)]
    check("one_hot", values, np.full((2, 3), -1, np.float32), symbols=False, depth=3, dtype="float32")


@pytest.mark.parametrize("k", [-2, 0, 1, 5])
def test_triangles(check: Any, k: int) -> None:
    check("trilu", [X, np.array(k, np.int32)], np.triu(X, k), upper=True)
    check("trilu", [X, np.array(k, np.int64)], np.tril(X, k), upper=False)


def test_sequence_mask(check: Any) -> None:
    data = np.arange(6, dtype=np.float32).reshape(3, 2)
    expected = np.array([[0, 1], [-1, 3], [-1, -1]], np.float32)
    check("sequence_mask", [data, np.array([1, 2], np.int32)], expected, mask_value=-1.0)
    check("sequence_mask", [data.T.copy(), np.array([1, 2], np.int32)], expected.T, mask_value=-1.0, axis=1)


def test_matrix_set_diag_of_one_diagonal(check: Any) -> None:
    data = np.zeros((3, 4), np.int32)
    check("matrix_set_diag", [data, np.array([1, 2, 3], np.int32)], np.diag([1, 2, 3, 0]).astype(np.int32)[:3])
    expected = np.array([[0, 0, 5, 0], [0, 0, 0, 6], [0, 0, 0, 0]], np.int32)
    check("matrix_set_diag", [data, np.array([5, 6], np.int32)], expected, symbols=False, k1=2, k2=2)


def test_matrix_set_diag_aligns_shorter_diagonals(check: Any) -> None:
    # The example of TensorFlow's documentation: alignment RIGHT_LEFT, then LEFT_RIGHT.
    data = np.full((3, 4), 7, np.int32)
    expected = np.array([[1, 9, 7, 7], [4, 2, 8, 7], [7, 5, 3, 6]], np.int32)
    right = np.array([[9, 8, 6], [1, 2, 3], [4, 5, 0]], np.int32)
    check("matrix_set_diag", [data, right], expected, symbols=False, k1=-1, k2=1)
    both = np.array([[9, 8, 6], [1, 2, 3], [0, 4, 5]], np.int32)
    check("matrix_set_diag", [data, both], expected, symbols=False, k1=-1, k2=1, sub_diag_right_align=True)
    with pytest.raises(OpError, match="expected"):
        infer("matrix_set_diag", {"k1": -1, "k2": 1}, TensorType((3, 4)), TensorType((2, 3)))


# layouts


def test_layouts_are_split_joined_and_permuted(check: Any) -> None:
    data = RANDOM.standard_normal((2, 8, 3, 5)).astype(np.float32)
    split = data.reshape(2, 2, 4, 3, 5).transpose(0, 1, 3, 4, 2)
    check("layout_transform", [data], split, symbols=False, src_layout="NCHW", dst_layout="NCHW4c")
    check("layout_transform", [split.copy()], data, symbols=False, src_layout="NCHW4c", dst_layout="NCHW")
    check("layout_transform", [data], data.transpose(0, 2, 3, 1), src_layout="NCHW", dst_layout="NHWC")
    weights = data.reshape(1, 2, 4, 2, 3, 5).transpose(0, 2, 4, 5, 3, 1)
    check("layout_transform", [data], weights, symbols=False, src_layout="OIHW", dst_layout="OIHW2i2o")


def test_a_split_that_does_not_divide_is_padded(check: Any) -> None:
    data = RANDOM.standard_normal((1, 3, 2)).astype(np.float32)
    padded = np.pad(data, ((0, 0), (0, 1), (0, 0))).reshape(1, 2, 2, 2).transpose(0, 1, 3, 2)
    check("layout_transform", [data], padded, symbols=False, src_layout="NCW", dst_layout="NCW2c")
    joined = np.pad(data, ((0, 0), (0, 1), (0, 0)))
    check("layout_transform", [padded.copy()], joined, symbols=False, src_layout="NCW2c", dst_layout="NCW")


def test_layouts_of_unknown_and_symbolic_extents() -> None:
    attrs = {"src_layout": "NCHW", "dst_layout": "NCHW4c"}
    n = Var("n")
    found = infer("layout_transform", attrs, TensorType((n, 8, ANY, 5)))
    assert found == TensorType((n, 2, ANY, 5, 4))
    with pytest.raises(OpError, match="expected the axes"):
        infer("layout_transform", {"src_layout": "NCHW", "dst_layout": "NCDHW"}, TensorType((1, 8, 3, 5)))
    with pytest.raises(OpError, match="4 elements inside of C"):
        infer("layout_transform", {"src_layout": "NC4c", "dst_layout": "NC"}, TensorType((1, 8, 3)))


def test_reshape_read_from_the_right(check: Any) -> None:
    check("contrib_reverse_reshape", [X], X.reshape(6, 4), newshape=(-1, 0))
    check("contrib_reverse_reshape", [X], X.reshape(8, 3), symbols=False, newshape=(8, 3))


@pytest.mark.parametrize(("axis", "batch"), [(1, 0), (0, 1), (2, 1)])
def test_reverse_sequence(check: Any, axis: int, batch: int) -> None:
    lengths = RANDOM.integers(0, X.shape[axis] + 1, X.shape[batch]).astype(np.int32)
    expected = X.copy()
    for number, length in enumerate(lengths):
        line = np.take(X, number, batch)
        inner = axis - (axis > batch)
        turned = np.concatenate([np.flip(np.take(line, range(length), inner), inner),
                                 np.take(line, range(length, X.shape[axis]), inner)], inner)  # fmt: skip
        expected[(slice(None),) * batch + (number,)] = turned
    check("reverse_sequence", [X, lengths], expected, seq_axis=axis, batch_axis=batch)


def test_sliding_window(check: Any) -> None:
    data = np.arange(12, dtype=np.float32).reshape(3, 4)
    expected = np.stack([[data[r : r + 2, c : c + 2] for c in (0, 2)] for r in (0, 1)])
    check("sliding_window", [data], expected, symbols=False, axis=0, window_shape=(2, 2), strides=(1, 2))


def test_meshgrid(check: Any) -> None:
    a, b, c = np.arange(2.0, dtype=np.float32), np.arange(3.0, dtype=np.float32), np.array(5, np.float32)
    for indexing in ("ij", "xy"):
        expected = tuple(np.ascontiguousarray(one) for one in np.meshgrid(a, b, c, indexing=indexing))
        check("meshgrid", [(a, b, c)], expected, indexing=indexing)


# coordinates


def test_argwhere(run_numpy: Any) -> None:
    flags = np.array([[0, 1, 0], [2, 0, 3]], np.float32)
    assert run_numpy("argwhere", {}, flags).tolist() == [[0, 1], [1, 0], [1, 2]]
    assert run_numpy("argwhere", {}, np.array(True)).shape == (1, 0)
    assert infer("argwhere", {}, TensorType((2, ANY), "bool")) == TensorType((ANY, 2), "int32")


def test_unravel_index(check: Any) -> None:
    places, shape = np.array([22, 41, 37], np.int64), np.array([7, 6], np.int64)
    check("unravel_index", [places, shape], np.stack(np.unravel_index(places, (7, 6))), symbols=False)


def test_invert_permutation(check: Any) -> None:
    numbers = np.array([2, 4, 3, 0, 1], np.int32)
    check("invert_permutation", [numbers], np.argsort(numbers).astype(np.int32))


def test_sparse_to_dense(check: Any) -> None:
    # The last of several values of one place stays.
    places, values = np.array([[0, 1], [1, 2], [0, 1]], np.int32), np.array([3, 2, 1], np.float32)
    expected = np.array([[-1, 1, -1], [-1, -1, 2]], np.float32)
    check("sparse_to_dense", [places, values, np.array(-1, np.float32)], expected, symbols=False, output_shape=(2, 3))
    # A default that is an integer, as where none is given.
    check("sparse_to_dense", [places, values, np.array(-1, np.int32)], expected, symbols=False, output_shape=(2, 3))
    arguments = [np.array([0, 3], np.int32), np.array(5, np.float32), np.array(0, np.float32)]
    check("sparse_to_dense", arguments, np.array([5, 0, 0, 5], np.float32), symbols=False, output_shape=(4,))


def test_sparse_reshape(check: Any) -> None:
    # The example of TensorFlow's documentation.
    places = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 2, 3]], np.int64)
    shape, wanted = np.array([2, 3, 6], np.int64), np.array([9, -1], np.int64)
    expected = np.array([[0, 0], [0, 1], [1, 2], [4, 2], [8, 1]], np.int64)
    check("sparse_reshape", [places, shape, wanted], (expected, np.array([9, 4], np.int64)), symbols=False)
    # TVM copies the coordinates where the shape stays, whatever they are (recorded case
    # f19463891a77).
    beyond, same = np.array([[0, 100], [400, 50]], np.int32), np.array([500, 20], np.int32)
    check("sparse_reshape", [beyond, same, same], (beyond, same), symbols=False)


def test_sparse_fill_empty_rows(run_numpy: Any) -> None:
    places = np.array([[0, 1], [0, 3], [2, 0], [3, 1]], np.int64)
    values, shape = np.array([1, 2, 3, 4], np.int64), np.array([5, 6], np.int64)
    found = run_numpy("sparse_fill_empty_rows", {}, places, values, shape, np.array([9], np.int64))
    assert [one.tolist() for one in found] == [
        [[0, 1], [0, 3], [1, 0], [2, 0], [3, 1], [4, 0]], [1, 2, 9, 3, 4, 9], [0, 1, 0, 0, 1],
    ]  # fmt: skip


# sums


def test_collapse_sum_undoes_broadcasting(check: Any) -> None:
    check("collapse_sum_like", [X, np.zeros((3, 1), np.float32)], X.sum((0, 2))[:, None], reduction=8)
    check("collapse_sum_like", [X, X[:1]], X.sum(0, keepdims=True), symbols=False, reduction=2)
    check("collapse_sum_to", [X, np.array([4], np.int32)], X.sum((0, 1)), symbols=False, shape=(4,), reduction=6)
    with pytest.raises(OpError, match="do not broadcast"):
        infer("collapse_sum_like", {}, TensorType((2, 3)), TensorType((2, 2)))


def test_strided_set(check: Any) -> None:
    for begin, end, strides, places in (
        ([1, 0], [3, 4], [1, 2], (slice(1, 3), slice(0, 4, 2))),
        ([-1], [-4], [-2], (slice(-1, -4, -2), slice(None))),
        ([1], [100], [1], (slice(1, 100), slice(None))),
    ):
        data = np.arange(12, dtype=np.float32).reshape(3, 4)
        expected = data.copy()
        values = -np.ones(expected[places].shape, np.float32) * np.arange(1, 1 + expected[places].shape[1])
        expected[places] = values
        arguments = [data, values.astype(np.float32), *(np.array(one, np.int64) for one in (begin, end, strides))]
        check("strided_set", arguments, expected, symbols=False)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", ((2, 3), (3, 4))), ("bij,bkj->bik", ((2, 3, 4), (2, 5, 4))), ("ii->i", ((3, 3),)),
        ("ii", ((3, 3),)),
        ("ba,cb", ((2, 3), (4, 2))), ("...ij,...jk->...ik", ((5, 2, 3), (1, 3, 2))), ("i,j->ij", ((2,), (3,))),
        ("ij...->j...i", ((2, 3, 4),)), (" i j , j k -> i k ", ((2, 3), (3, 1))), ("ij,ij->", ((2, 3), (2, 3))),
    ],
)  # fmt: skip
def test_einsum_is_that_of_pytorch(check: Any, torch: Any, equation: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    arrays = tuple(RANDOM.standard_normal(shape).astype(np.float32) for shape in shapes)
    expected = torch.einsum(equation, *map(torch.from_numpy, arrays)).numpy()
    check("einsum", [arrays], expected, symbols=False, equation=equation, reduction=12)


def test_einsum_refuses_equations_that_do_not_fit() -> None:
    matrix = TensorType((2, 3))
    for equation, what in (
        ("ij->k", "has the axis"),
        ("ijk->i", "rank 2"),
        ("i$j->i", "no equation"),
        ("ij->ii", "twice"),
    ):
        with pytest.raises(OpError, match=what):
            infer("einsum", {"equation": equation}, TupleType((matrix,)))
    with pytest.raises(OpError, match="do not broadcast"):
        infer("einsum", {"equation": "ij,jk->ik"}, TupleType((matrix, matrix)))


def test_fourier_transforms_are_those_of_numpy_and_pytorch(check: Any, torch: Any) -> None:
    real, imaginary = (RANDOM.standard_normal((2, 7)).astype(np.float32) for _ in range(2))
    for inverse, transform in ((False, np.fft.fft), (True, np.fft.ifft)):
        found = transform(real + 1j * imaginary)
        parts = found.real.astype(np.float32), found.imag.astype(np.float32)
        check("dft", [real, imaginary], parts, inverse=inverse, reduction=400)
    samples, window = RANDOM.standard_normal((2, 20)).astype(np.float32), np.hanning(8).astype(np.float32)
    for onesided in (True, False):
        found = torch.stft(
            torch.from_numpy(samples), 8, 3, 8, torch.from_numpy(window), center=False, normalized=True,
            onesided=onesided, return_complex=True,
        )  # fmt: skip
        expected = torch.view_as_real(found).numpy()
        given = {"n_fft": 8, "hop_length": 3, "win_length": 8, "normalized": True, "onesided": onesided}
        check("stft", [samples, window], expected, symbols=False, reduction=400, **given)


@pytest.fixture
def run_numpy() -> Any:
    """A function that returns the value of one call of an operator whose result's extents depend on
    data.
    """

    def run(name: str, attrs: dict[str, Any], *args: Any) -> Any:
        op = relay_op(name)
        assert op is not None
        return op.numpy(op.attrs(**attrs), *args)

    return run


# dyn.*


@pytest.mark.parametrize(
    ("name", "attrs", "args", "expected"),
    [
        ("reshape", {"newshape": ()}, (X, np.array([4, -1])), X.reshape(4, 6)),
        ("reshape", {"newshape": ()}, (X, np.array([0, -3])), X.reshape(2, 12)),
        ("broadcast_to", {"shape": None}, (X[:1], np.array([2, 3, 4])), np.broadcast_to(X[:1], (2, 3, 4))),
        ("tile", {"reps": ()}, (X, np.array([2, 1, 1, 3])), np.tile(X, (2, 1, 1, 3))),
        ("zeros", {"shape": None, "dtype": "int32"}, (np.array([2, 3]),), np.zeros((2, 3), np.int32)),
        ("ones", {"shape": None, "dtype": "float16"}, (np.array([4]),), np.ones(4, np.float16)),
        ("full", {"shape": None}, (np.array(2.5, np.float32), np.array([2])), np.full(2, 2.5, np.float32)),
        ("full", {"shape": None, "dtype": "int8"}, (np.array(2.5, np.float32), np.array([2])), np.full(2, 2, np.int8)),
        ("one_hot", {"dtype": "int32"}, (np.array([1, 0]), np.array(3), np.array(-1), np.array(2)),
         np.array([[-1, 3], [3, -1]], np.int32)),
        ("strided_slice", {"begin": None, "end": None, "strides": None, "axes": None},
         (X, np.array([1, -1]), np.array([9, -4]), np.array([1, -2])), X[1:, ::-2]),
        ("strided_slice", {"begin": None, "end": None, "strides": None, "axes": None, "slice_mode": "size"},
         (X, np.array([0, 1]), np.array([1, -1]), np.array([1, 1])), X[:1, 1:]),
        ("squeeze", {"axis": ()}, (X[:, None, :, :, None], np.array([1, -1])), X),
        ("expand_dims", {"num_newaxis": 2}, (X, np.array(-1)), X[..., None, None]),
        ("sparse_to_dense", {}, (np.array([[0, 1]]), np.array([7]), np.array(0), np.array([2, 2])),
         np.array([[0, 7], [0, 0]])),
        ("nn.pad", {"pad_width": ()}, (X[0], np.array([[1, 0], [0, 2]]), np.array(5, np.float32)),
         np.pad(X[0], ((1, 0), (0, 2)), constant_values=5)),
    ],
)  # fmt: skip
def test_operators_with_computed_shapes(run_numpy: Any, name: str, attrs: Any, args: Any, expected: Any) -> None:
    found = run_numpy(f"dyn.{name}", attrs, *args)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    inferred = infer(f"dyn.{name}", attrs, *(TensorType(one.shape, one.dtype.name) for one in args))
    assert inferred.rank == expected.ndim
    assert inferred.dtype == expected.dtype.name


def test_the_rank_of_a_computed_shape_must_be_known() -> None:
    with pytest.raises(OpError, match="length of newshape is unknown"):
        infer("dyn.reshape", {"newshape": ()}, TensorType((2, 3)), TensorType((ANY,), "int64"))
    with pytest.raises(OpError, match="expected a matrix of integers"):
        infer("dyn.nn.pad", {"pad_width": ()}, TensorType((2,)), TensorType((2,), "int64"), TensorType(()))


def test_upsampling_by_computed_factors(run_numpy: Any) -> None:
    image = RANDOM.standard_normal((1, 2, 3, 4)).astype(np.float32)
    attrs = {"scale_h": 1.0, "scale_w": 1.0}
    found = run_numpy("dyn.nn.upsampling", attrs, image, np.array(2.0, np.float32), np.array(3.0, np.float32))
    np.testing.assert_array_equal(found, image.repeat(2, 2).repeat(3, 3))
    scale = TensorType(())
    assert infer("dyn.nn.upsampling", attrs, TensorType((1, 2, 3, 4)), scale, scale) == TensorType((1, 2, ANY, ANY))
    volume = TensorType((1, 2, 3, 4, 5))
    found = infer("dyn.nn.upsampling3d", {**attrs, "scale_d": 1.0}, volume, scale, scale, scale)
    assert found == TensorType((1, 2, ANY, ANY, ANY))
