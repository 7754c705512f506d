"""Files of weights as they are written here, read by those whose formats they are."""

from __future__ import annotations

import io

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load

from relay2relax.core.dtype import DTypeError
from relay2relax.core.npz import npz_bytes, read_npz
from relay2relax.core.weight_files import read_safetensors, safetensors_parts

_VALUES = np.arange(6).reshape(2, 3)
ARRAYS: dict[str, np.ndarray] = {
    "b": _VALUES > 2,
    "i1": _VALUES.astype(np.int8),
    "u8": _VALUES.astype(np.uint64),
    "half": _VALUES.astype(np.float16),
    "turned": _VALUES.astype(np.float32).T,
    "big": _VALUES.astype(">f8"),
    "none": np.zeros((0, 4), np.float32),
    "scalar": np.array(3, np.float32),
    'ü\n"': _VALUES.astype(np.int64),
}


def test_safetensors() -> None:
    content = b"".join(safetensors_parts(ARRAYS, {"ü": "\0"}))
    found = load(content)
    assert found.keys() == ARRAYS.keys()
    for name, array in found.items():
        np.testing.assert_array_equal(array, ARRAYS[name])
        assert array.dtype == ARRAYS[name].dtype.newbyteorder("=")
    # Elements begin where a machine can read them.
    assert int.from_bytes(content[:8], "little") % 8 == 0
    memory = memoryview(np.frombuffer(content, np.uint8).copy())
    start = np.frombuffer(memory, np.uint8).ctypes.data % 8
    for array in read_safetensors(memory).values():
        assert not array.size or (array.ctypes.data - start) % array.dtype.itemsize == 0
    assert not load(b"".join(safetensors_parts({}, {})))


def test_narrow_floats_and_what_the_format_does_not_hold() -> None:
    for dtype in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2):
        content = b"".join(safetensors_parts({"w": _VALUES.astype(dtype)}, {}))
        np.testing.assert_array_equal(read_safetensors(memoryview(content))["w"], _VALUES.astype(dtype))
    with pytest.raises(DTypeError, match="complex64"):
        safetensors_parts({"c": np.ones(1, np.complex64)}, {})


def test_npz() -> None:
    content = npz_bytes(ARRAYS)
    with np.load(io.BytesIO(content)) as found:
        assert set(found) == ARRAYS.keys()
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(found[name], array)
    # The reader here takes arrays as they lie in the file.
    assert read_npz(memoryview(npz_bytes({"w": _VALUES})))["w"].tolist() == _VALUES.tolist()
