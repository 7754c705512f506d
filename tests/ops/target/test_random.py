"""Random numbers: the bits of TVM's generator, every facet of the records, and draws that need a
new key.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from typed import of_type

from relay2relax.ops import TensorType, TupleType, relay_op
from relay2relax.ops.common.threefry import FULL, TOP, hashed
from relay2relax.ops.registry.attributes import NoAttrs
from relay2relax.ops.registry.record import OpError


def key(seed: int = 0, counter: int = 0, path: tuple[int, int] = (0, 0), place: tuple[int, int] = (TOP, 0)) -> Any:
    return np.array([seed, 0, 0, 0, *path, 0, counter, *place], np.uint64)


KEYS = [
    key(),
    key(1, 12),
    key(7, FULL - 3, (5 << 40, 0), (1 << 20, 0)),
    key(7, FULL - 3, place=(1, 0)),
    key(7, FULL - 3, (3, 9), (0, 1 << 62)),
    key(7, FULL - 3, (3, 9), (0, 0)),
]


def test_the_block_function_has_the_recorded_check_value() -> None:
    words = hashed([0] * 4, [0] * 4)
    expected = [10820750003516416782, 13975171154106464299, 11822851094961323788, 13915106338103883911]
    assert [int(word) for word in words] == expected


@pytest.mark.parametrize("state", KEYS)
@pytest.mark.parametrize("shape", [(1,), (7,), (2, 4), ()])
@pytest.mark.sweep(every=2)
def test_generate(run_op: Any, state: Any, shape: tuple[int, ...]) -> None:
    later, words = run_op("random.threefry_generate", {"out_shape": shape}, state, exact=True)
    assert words.shape == shape
    count = -(-words.size // 4) * 4
    if int(state[7]) < FULL - words.size:
        assert int(later[7]) == (int(state[7]) + count) % 2**64
    else:
        assert int(later[7]) == count
        assert not np.array_equal(later[:6], state[:6])


@pytest.mark.parametrize("state", KEYS)
def test_split(run_op: Any, state: Any) -> None:
    left, right = run_op("random.threefry_split", {}, state, exact=True)
    assert not np.array_equal(left, right)
    assert np.array_equal(left[8:], right[8:])


def test_positions_of_the_path_move_right() -> None:
    record = relay_op("random.threefry_split")
    assert record is not None
    for place, moved in (((TOP, 0), (TOP >> 1, 0)), ((1, 0), (0, TOP)), ((0, 4), (0, 2)), ((0, 1), (0, 0))):
        left, _ = of_type(record.numpy(NoAttrs(), key(place=place)), tuple)
        assert tuple(map(int, left[8:])) == moved


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_uniform_and_normal(run_op: Any, dtype: str) -> None:
    low, high = np.array(-2, dtype), np.array(5, dtype)
    for shape in ((3, 5), (4,)):
        attrs = {"out_shape": shape, "out_dtype": dtype}
        _, numbers = run_op("random.uniform", attrs, key(3), low, high)
        assert numbers.dtype == dtype
        assert np.all((numbers >= -2) & (numbers < 5))
        run_op("random.normal", attrs, key(3), low, high)


def test_moments() -> None:
    for name, mean, spread in (("random.uniform", 0.5, 12**-0.5), ("random.normal", 0.0, 1.0)):
        record = relay_op(name)
        assert record is not None
        attrs = record.attrs(out_shape=(100_000,), out_dtype="float32")
        _, numbers = of_type(record.numpy(attrs, key(11), np.float32(0), np.float32(1)), tuple)
        assert abs(numbers.mean() - mean) < 0.01
        assert abs(numbers.std() - spread) < 0.01


def test_multinomial(run_op: Any) -> None:
    probs = np.array([[[0.2, 0, 0.8, -1]], [[0, 3, 0, 1]]], np.float32)
    _, drawn = run_op("random.multinomial", {"num_samples": 50}, key(5), probs)
    assert drawn.shape == (2, 1, 50)
    assert set(drawn[0].ravel()) == {0, 2}
    assert set(drawn[1].ravel()) == {1, 3}
    run_op("random.multinomial", {"num_samples": 3}, key(5), probs[0, 0])


def test_keys_are_ten_words() -> None:
    record = relay_op("random.uniform")
    assert record is not None
    assert record.operands is not None
    attrs = record.attrs(out_shape=(2,), out_dtype="float32")
    scalar = TensorType((), "float32")
    wanted = TensorType((10,), "uint64")
    assert record.operands(attrs, (None, None, None)) == (wanted, scalar, scalar)
    assert record.infer(attrs, wanted, scalar, scalar) == TupleType((wanted, TensorType((2,), "float32")))
    with pytest.raises(OpError, match=r"uint64\(10\)"):
        record.infer(attrs, TensorType((9,), "uint64"), scalar, scalar)
    with pytest.raises(OpError, match="expected one float32"):
        record.infer(attrs, wanted, scalar, TensorType((1,), "float32"))
    with pytest.raises(OpError, match="float32 or float64"):
        record.infer(record.attrs(out_shape=(2,), out_dtype="float16"), wanted, scalar, scalar)
