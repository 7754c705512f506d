"""Operators that Relax has and Relay has not, against PyTorch and numpy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from typed import present, relay_record

from relay2relax.ops import TensorType, TupleType, relax_op
from relay2relax.ops.registry.record import OpError
from relay2relax.tir.ir.expr import FloatImm, IntImm

RANDOM = np.random.default_rng(7)
X = RANDOM.standard_normal((2, 3, 5)).astype(np.float32)


def record(name: str) -> Any:
    found = relax_op(name)
    assert found is not None
    return found


def values(torch: Any, result: Any) -> Any:
    return tuple(one.numpy() for one in result) if isinstance(result, tuple) else result.numpy()


def test_activations(check: Any, torch: Any) -> None:
    f, x = torch.nn.functional, torch.from_numpy(X * 3)
    check(record("nn.gelu"), [X * 3], f.gelu(x).numpy())
    check(record("nn.gelu_tanh"), [X * 3], f.gelu(x, approximate="tanh").numpy())
    check(record("nn.silu"), [X * 3], f.silu(x).numpy())
    check(record("nn.selu"), [X * 3], f.selu(x).numpy())
    check(record("nn.softplus"), [X * 3], f.softplus(x, 2.0, 3.0).numpy(), beta=2.0, threshold=3.0)
    check(record("square"), [X], (X * X))
    with pytest.raises(OpError, match="floating-point"):
        record("nn.gelu").infer(None, TensorType((2,), "int32"))


def test_binary_functions(check: Any, torch: Any) -> None:
    y = RANDOM.standard_normal((3, 1)).astype(np.float32)
    check(record("atan2"), [X, y], np.arctan2(X, y))
    infinite = np.array([-np.inf, np.inf, 90.0, -90.0], np.float32)
    others = np.array([-np.inf, 1.0, 90.0, 0.0], np.float32)
    check(record("log_add_exp"), [X, y], np.logaddexp(X, y))
    check(record("log_add_exp"), [infinite, others], np.logaddexp(infinite, others))
    check(record("outer"), [X[0, 0], X[0, :, 0]], np.outer(X[0, 0], X[0, :, 0]))


@pytest.mark.parametrize("axis", [(1,), (0, 2), None])
@pytest.mark.parametrize("keepdims", [False, True])
def test_spread(check: Any, axis: Any, keepdims: bool) -> None:
    check(record("variance"), [X], X.var(axis, keepdims=keepdims), axis=axis, keepdims=keepdims, reduction=30)
    check(record("std"), [X], X.std(axis, keepdims=keepdims), axis=axis, keepdims=keepdims, reduction=30)


@pytest.mark.sweep(every=2)
def test_medians(check: Any, torch: Any) -> None:
    x = torch.from_numpy(X[:, :, :4].copy())
    for axis, keepdims in itertools.product((0, 1, -1), (False, True)):
        expected = values(torch, tuple(x.median(axis, keepdim=keepdims)))
        check(record("median"), [x.numpy()], expected, axis=(axis,), keepdims=keepdims)
    check(record("median"), [x.numpy()], x.median().numpy())
    check(record("median"), [x.numpy()], x.median().numpy().reshape(1, 1, 1), keepdims=True)
    with pytest.raises(OpError, match="one axis"):
        record("median").infer(record("median").attrs(axis=(0, 1)), TensorType((2, 3)))


def test_quantisation(check: Any, torch: Any) -> None:
    scale, zero = np.array([0.05, 0.1, 0.2], np.float32), np.array([3, -2, 0], np.int32)
    x = torch.from_numpy(X * 9)
    wanted = torch.quantize_per_channel(x, torch.from_numpy(scale), torch.from_numpy(zero), 1, torch.qint8)
    quantised = wanted.int_repr().numpy()
    check(record("quantize"), [X * 9, scale, zero.astype(np.int8)], quantised, out_dtype="int8", axis=1)
    check(record("dequantize"), [quantised, scale, zero.astype(np.int8)], wanted.dequantize().numpy(), axis=1)
    one, nothing = np.array(0.1, np.float32), np.array([7], np.uint8)
    wanted = torch.quantize_per_tensor(x, 0.1, 7, torch.quint8)
    check(record("quantize"), [X * 9, one, nothing], wanted.int_repr().numpy(), out_dtype="uint8")
    check(record("dequantize"), [wanted.int_repr().numpy(), one, nothing], wanted.dequantize().numpy())
    # No float32 is 2**31 - 1: what is kept inside is the largest one below it.
    top = np.array([1e30, -1e30], np.float32)
    expected = np.array([2**31 - 128, -(2**31)], np.int32)
    check(record("quantize"), [top, one, nothing], expected, out_dtype="int32")
    with pytest.raises(OpError, match="3 parameters"):
        record("quantize").infer(record("quantize").attrs(axis=0), TensorType((2,)), TensorType((3,)), TensorType(()))


def test_attention(check: Any, torch: Any) -> None:
    q = RANDOM.standard_normal((2, 3, 4, 8)).astype(np.float32)
    k, v = (RANDOM.standard_normal((2, 5, 4, size)).astype(np.float32) for size in (8, 6))
    bias = RANDOM.standard_normal((2, 1, 3, 5)).astype(np.float32)
    attention = record("nn.attention")

    def wanted(**options: Any) -> np.ndarray:
        rows = (torch.from_numpy(one).transpose(1, 2) for one in (q, k, v))
        found = torch.nn.functional.scaled_dot_product_attention(*rows, **options)
        return np.ascontiguousarray(found.transpose(1, 2).numpy())

    check(attention, [q, k, v], wanted(), reduction=8)
    check(attention, [q, k, v], wanted(scale=0.5), reduction=8, scale=0.5)
    check(attention, [q, k, v, bias], wanted(attn_mask=torch.from_numpy(bias)), reduction=8)
    check(attention, [q, k, v], wanted(is_causal=True), reduction=8, causal_mask="TopLeft")
    late = torch.from_numpy(np.tri(3, 5, 2, dtype=bool))
    check(attention, [q, k, v], wanted(attn_mask=late), reduction=8, causal_mask="BottomRight")
    types = [TensorType(one.shape) for one in (q, k, v)]
    with pytest.raises(OpError, match="window"):
        attention.infer(attention.attrs(window_size=4), *types)
    with pytest.raises(OpError, match="dimension 3"):
        attention.infer(attention.attrs(), types[0], TensorType((2, 5, 4, 7)), types[2])


def test_normalisation_by_the_mean_square(check: Any, torch: Any) -> None:
    weight = RANDOM.standard_normal(5).astype(np.float32)
    wanted = torch.nn.functional.rms_norm(torch.from_numpy(X), (5,), torch.from_numpy(weight), 1e-5).numpy()
    check(record("nn.rms_norm"), [X, weight], wanted, reduction=5)
    weights = RANDOM.standard_normal((3, 5)).astype(np.float32)
    wanted = torch.nn.functional.rms_norm(torch.from_numpy(X), (3, 5), torch.from_numpy(weights), 0.1).numpy()
    check(record("nn.rms_norm"), [X, weights], wanted, axes=(1, 2), epsilon=0.1, reduction=15)


def test_pixels_and_dropout(check: Any, torch: Any) -> None:
    image = RANDOM.standard_normal((2, 12, 3, 5)).astype(np.float32)
    wanted = np.ascontiguousarray(torch.nn.functional.pixel_shuffle(torch.from_numpy(image), 2).numpy())
    check(record("nn.pixel_shuffle"), [image], wanted, symbols=False, upscale_factor=2)
    check(record("nn.dropout"), [X], (X, np.ones_like(X)), rate=0.3)


def test_tensors_of_scalars(check: Any, torch: Any) -> None:
    check(record("eye"), [], np.eye(3, 4, 1, dtype=np.float32), n=3, m=4, k=1)
    check(record("eye"), [], np.eye(3, dtype=np.int32), n=3, dtype="int32")
    check(record("eye_like"), [X[0]], np.eye(3, 5, -1, dtype=np.float32), k=-1)
    check(record("full_like"), [X, np.array(2.7, np.float32)], np.full(X.shape, 2, np.int32), dtype="int32")
    check(record("full_like"), [X, np.array(2.5, np.float32)], np.full(X.shape, 2.5, np.float32))
    for periodic in (False, True):
        wanted = torch.hamming_window(10, periodic).numpy()
        attrs: dict[str, Any] = {"window_size": 10, "periodic": IntImm(int(periodic), "bool"), "dtype": "float32"}
        check(record("hamming_window"), [], wanted, alpha=FloatImm(0.54), beta=FloatImm(0.46), **attrs)
    check(record("size"), [X], np.array(30, np.int64))
    places = np.array([[0, 2], [1, 7]], np.int64)
    hot = (places[..., None] == np.arange(3)).astype(np.float32)
    on, off = FloatImm(1.0), FloatImm(0.0)
    check(record("one_hot"), [places], hot, symbols=False, on_value=on, off_value=off, depth=3)
    wanted = np.moveaxis(hot, -1, 0).astype(np.int64) * 4 - 1
    check(record("one_hot"), [places], wanted, symbols=False, on_value=3, off_value=-1, depth=3, axis=0)
    with pytest.raises(OpError, match="one dtype"):
        record("one_hot").infer(record("one_hot").attrs(on, 0, 3), TensorType((2,), "int64"))


def test_overwriting(check: Any, torch: Any) -> None:
    rows, columns = np.array([[0], [1]], np.int64), np.array([1, -1, 1], np.int64)
    data = RANDOM.standard_normal((2, 5)).astype(np.float32)
    new = RANDOM.standard_normal((2, 3)).astype(np.float32)
    for accumulate in (False, True):
        places = tuple(map(torch.from_numpy, (rows, columns)))
        given = new if accumulate else new[:, :1]
        wanted = torch.from_numpy(data.copy()).index_put(places, torch.from_numpy(given), accumulate).numpy()
        check(record("index_put"), [data, (rows, columns), given], wanted, symbols=False, accumulate=accumulate)
    types = TensorType(data.shape), TupleType((TensorType((3,), "int64"),)), TensorType((3,))
    with pytest.raises(OpError, match="each of the 2 dimensions"):
        record("index_put").infer(record("index_put").attrs(), *types)
    for start, end, step in ((0, 5, 1), (1, 4, 2), (-3, 2**63 - 1, 1), (2, 2, 1)):
        part = np.zeros_like(data[:, start:end:step])
        wanted = torch.from_numpy(data).slice_scatter(torch.from_numpy(part), 1, start, end, step).numpy()
        slice_ = {"start": start, "end": end, "step": step, "axis": 1}
        check(record("slice_scatter"), [data, part], wanted, symbols=False, **slice_)


def test_regions(check: Any) -> None:
    image = np.arange(32, dtype=np.float32).reshape(1, 1, 4, 8)
    whole = np.array([[0, 0, 0, 7, 3]], np.float32)
    wanted = np.array([[[[11, 15], [27, 31]]]], np.float32)
    check(record("vision.roi_pool"), [image, whole], wanted, symbols=False, pooled_size=(2, 2), spatial_scale=1.0)
    # An aligned region may be shorter than an element: one sample, a quarter from the corner.
    small = np.array([[0, 1, 1, 1.5, 1.5]], np.float32)
    attrs = {"pooled_size": (1, 1), "spatial_scale": 1.0, "sample_ratio": 1, "aligned": True}
    wanted = np.array([[[[8 * 1.25 + 1.25]]]], np.float32)
    check(record("vision.roi_align"), [image, small], wanted, symbols=False, **attrs)


def test_regular_grids(check: Any, torch: Any) -> None:
    for shape, size in (((2, 2, 3), (3, 4)), ((1, 3, 4), (2, 3, 5))):
        matrices = RANDOM.standard_normal(shape).astype(np.float32)
        for corners in (False, True):
            wanted = torch.nn.functional.affine_grid(torch.from_numpy(matrices), (shape[0], 1, *size), corners)
            expected = np.ascontiguousarray(np.moveaxis(wanted.numpy(), -1, 1))
            options = {"symbols": False, "align_corners": corners}
            check(record("image.affine_grid"), [matrices, size], expected, **options)


@pytest.mark.parametrize("extent", [2, 3, 4, 5])
def test_no_window_begins_in_the_end_padding(check: Any, torch: Any, extent: int) -> None:
    image = RANDOM.standard_normal((1, 2, extent, extent)).astype(np.float32)
    x, same = torch.from_numpy(image), {"pool_size": (3, 3), "strides": (3, 3), "padding": (1, 1, 1, 1)}
    wanted = torch.nn.functional.max_pool2d(x, 3, 3, 1, ceil_mode=True).numpy()
    check(record("nn.max_pool2d"), [image], wanted, symbols=False, ceil_mode=True, **same)
    wanted = torch.nn.functional.avg_pool2d(x, 3, 3, 1, ceil_mode=True, count_include_pad=False).numpy()
    check(record("nn.avg_pool2d"), [image], wanted, symbols=False, ceil_mode=True, **same)


def test_uneven_parts(check: Any) -> None:
    row = np.arange(7, dtype=np.float32)
    wanted = (row[:2], row[2:4], row[4:6], row[6:])
    check(record("split"), [row], wanted, symbols=False, indices_or_sections=4, axis=0)
    with pytest.raises(OpError, match="4 equal parts"):
        present(relay_record("split").relay_type)(
            record("split").attrs(indices_or_sections=4, axis=0), TensorType((7,))
        )
    # A place beyond the end is the end, and one part is no tuple.
    check(record("split"), [row], (row[:5], row[5:], row[7:]), symbols=False, indices_or_sections=(5, 9), axis=0)
    check(record("split"), [row], row, symbols=False, indices_or_sections=1, axis=0)


def test_axes_of_another_extent_than_one_stay(check: Any, torch: Any) -> None:
    wanted = torch.from_numpy(X[None]).squeeze((0, 1)).numpy()
    check(record("squeeze"), [X[None]], wanted, symbols=False, axis=(0, 1))


def test_reductions_over_no_axes(check: Any) -> None:
    for name in ("sum", "max", "min", "prod", "mean"):
        check(record(name), [X], X, axis=())
    check(record("sum"), [X], X.sum(), axis=None)


def test_places_outside_are_no_number(check: Any) -> None:
    places = np.array([-1, 2, 3], np.int64)
    wanted = np.stack([np.full((2, 5), np.nan, np.float32), X[:, 2], np.full((2, 5), np.nan, np.float32)], 1)
    check(record("take"), [X, places], wanted, symbols=False, axis=1, mode="nan")
    with pytest.raises(OpError, match="floating-point"):
        record("take").infer(record("take").attrs(0, "nan"), TensorType((3,), "int32"), TensorType((2,), "int64"))


def test_numbers_of_two_dtypes_are_compared(check: Any) -> None:
    whole = np.array([[0], [1], [-1]], np.int32)
    check(record("less"), [X, whole], whole > X)
    check(record("equal"), [whole, whole.astype(np.int8)], np.ones((3, 1), np.bool_))


def test_norms_take_gamma_and_beta_whatever_the_flags_say(check: Any, torch: Any) -> None:
    gamma, beta = np.array([2, 3, 4], np.float32), np.array([1, 0, -1], np.float32)
    wanted = torch.nn.functional.group_norm(torch.from_numpy(X), 3, *map(torch.from_numpy, (gamma, beta)), 1e-3).numpy()
    attrs = {"channel_axis": 1, "axes": (2,), "epsilon": 1e-3, "center": False, "scale": False}
    check(record("nn.group_norm"), [X, gamma, beta], wanted, num_groups=3, **attrs)
    check(record("nn.instance_norm"), [X, gamma, beta], wanted, **attrs)


def test_loss_without_weights(run_op: Any, agrees: Any, torch: Any) -> None:
    logs = torch.log_softmax(torch.randn(4, 5, generator=torch.Generator().manual_seed(0)), 1)
    targets = torch.tensor([0, 4, 2, 1])
    for reduction in ("mean", "sum", "none"):
        wanted = np.asarray(torch.nn.functional.nll_loss(logs, targets, reduction=reduction, ignore_index=2))
        attrs = {"reduction": reduction, "ignore_index": 2}
        agrees(run_op(record("nn.nll_loss"), attrs, logs.numpy(), targets.numpy()), wanted, 4)


def test_places_half_way_go_to_the_even_element(check: Any) -> None:
    image = np.arange(4, dtype=np.float32).reshape(1, 1, 1, 4)
    wanted = np.array([[[[0, 0, 1, 2, 2, 2, 3, 3]]]], np.float32)
    options = {"method": "nearest_neighbor", "coordinate_transformation_mode": "asymmetric", "rounding_method": "round"}
    check(record("image.resize2d"), [image, (1, 8)], wanted, symbols=False, **options)
