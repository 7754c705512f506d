"""Products of few bits, against popcounts of packed words written here."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from typed import relay_record

from relay2relax.ops import OpError, TensorType

RANDOM = np.random.default_rng(17)


def words(values: np.ndarray, axis: int, count: int, dtype: str) -> list[np.ndarray]:
    """Each bit of ``values`` packed along ``axis``, the first element in the highest place."""
    size = np.dtype(dtype).itemsize * 8
    planes = []
    for bit in range(count):
        rows = np.moveaxis((values >> bit) & 1, axis, -1)
        text = rows.reshape(*rows.shape[:-1], -1, size).astype(int).astype(str)
        packed = np.apply_along_axis(lambda one: int("".join(one), 2), -1, text).astype(dtype)
        planes.append(np.moveaxis(packed, -1, axis))
    return planes


def popcount(values: np.ndarray) -> np.ndarray:
    return np.asarray(np.vectorize(lambda one: bin(int(one)).count("1"))(values))


@pytest.mark.parametrize("dtype", ["uint8", "uint32"])
@pytest.mark.parametrize(("pack_axis", "bit_axis"), [(1, 0), (1, 1), (1, 2), (0, 2)])
def test_bitpack(
    run_op: Callable[..., Any], agrees: Callable[..., None], dtype: str, pack_axis: int, bit_axis: int
) -> None:
    x = RANDOM.integers(0, 7, (32, 32)).astype(np.int16)
    expected = np.stack(words(x, pack_axis, 3, dtype), axis=bit_axis)
    attrs = {"bits": 3, "pack_axis": pack_axis, "bit_axis": bit_axis, "pack_type": dtype}
    agrees(run_op("nn.bitpack", attrs, x), expected)


@pytest.mark.parametrize("unipolar", [True, False])
@pytest.mark.parametrize(("data_bits", "weight_bits"), [(1, 1), (2, 1), (2, 3)])
def test_bitserial_dense(
    run_op: Callable[..., Any], agrees: Callable[..., None], unipolar: bool, data_bits: int, weight_bits: int
) -> None:
    x, w = RANDOM.integers(0, 8, (5, 32)).astype(np.int16), RANDOM.integers(0, 8, (6, 32)).astype(np.int16)
    given, weights = words(x, 1, data_bits, "uint8"), words(w, 1, weight_bits, "uint8")
    expected = np.zeros((5, 6), np.int64)
    for b, one in enumerate(given):
        for c, other in enumerate(weights):
            ones = popcount(one[:, None] & other).sum(axis=-1)
            zeros = popcount(one[:, None] & ~other).sum(axis=-1) if unipolar else 0
            expected += (ones - zeros) << (b + c)
    attrs = {
        "units": 6, "data_bits": data_bits, "weight_bits": weight_bits, "unipolar": unipolar, "pack_dtype": "uint8",
        "out_dtype": "int16",
    }  # fmt: skip
    agrees(run_op("nn.bitserial_dense", attrs, x, w, batch=5), expected.astype(np.int16))
    agrees(run_op("nn.bitserial_dense", attrs, x, np.stack(weights, axis=1), batch=5), expected.astype(np.int16))


@pytest.mark.parametrize("unipolar", [True, False])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_bitserial_conv2d(
    run_op: Callable[..., Any], agrees: Callable[..., None], torch: ModuleType, unipolar: bool, layout: str
) -> None:
    x, w = RANDOM.integers(0, 8, (2, 8, 6, 5)).astype(np.int16), RANDOM.integers(0, 8, (3, 8, 3, 3)).astype(np.int16)
    signs = 2 * (w & 3) - 3 if unipolar else w & 3
    data = torch.tensor((x & 1).astype(np.float64)), torch.tensor(signs.astype(np.float64))
    expected = torch.nn.functional.conv2d(*data, padding=1, stride=(2, 1)).numpy().astype(np.int32)
    attrs = {
        "strides": (2, 1), "padding": (1, 1, 1, 1), "channels": 3, "weight_bits": 2, "pack_dtype": "uint8",
        "out_dtype": "int32", "unipolar": unipolar,
    }  # fmt: skip
    packed = np.stack(words(w, 1, 2, "uint8"), axis=4)
    if layout == "NHWC":
        attrs |= {"data_layout": "NHWC", "kernel_layout": "HWIO"}
        x, w, expected = x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0), expected.transpose(0, 2, 3, 1)
        packed = packed.transpose(2, 3, 1, 0, 4)
    agrees(run_op("nn.bitserial_conv2d", attrs, x, w), expected)
    agrees(run_op("nn.bitserial_conv2d", attrs, x, packed), expected)


def test_what_is_missing_is_refused() -> None:
    op = relay_record("nn.bitserial_conv2d")
    with pytest.raises(OpError, match="out_dtype"):
        op.infer(op.attrs(channels=2), TensorType((1, 8, 5, 5), "int16"), TensorType((2, 8, 3, 3), "int16"))
    pack = relay_record("nn.bitpack")
    with pytest.raises(OpError, match="do not fill words"):
        pack.infer(pack.attrs(bit_axis=0, pack_type="uint32"), TensorType((2, 40), "int16"))
