"""Files of weights that today's tools write; the witnesses are the tools."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save

from relay2relax import relay_ir
from relay2relax.core.errors import ParseError

DTYPES = [np.float32, np.float64, np.float16, np.int8, np.uint8, np.int16, np.int32, np.int64, np.bool_]
NARROW = [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]


def arrays(dtypes: list[type]) -> dict[str, np.ndarray]:
    return {f"{dtype.__name__}.weight": np.arange(6).reshape(2, 3).astype(dtype) for dtype in dtypes}


def test_safetensors_are_views(tmp_path: Path) -> None:
    given = arrays(DTYPES + NARROW) | {"scalar": np.array(3, "float32"), "empty": np.zeros((0, 2), "int8")}
    path = tmp_path / "w.safetensors"
    path.write_bytes(save(given, metadata={"made": "by a test"}))
    found = relay_ir.load_params(path)
    assert set(found) == set(given)
    for name, value in given.items():
        assert found[name].dtype == value.dtype
        np.testing.assert_array_equal(found[name], value)
    content = save(given)
    (view,) = [one for name, one in relay_ir.load_params(content).items() if name == "float32.weight"]
    assert np.shares_memory(view, np.frombuffer(content, np.uint8))
    assert not view.flags.writeable


def test_npz(tmp_path: Path) -> None:
    given = arrays(DTYPES)
    for write in (np.savez, np.savez_compressed):
        path = tmp_path / "w.npz"
        write(path, **given)
        found = relay_ir.load_params(path)
        assert list(found) == list(given)
        for name, value in given.items():
            np.testing.assert_array_equal(found[name], value)
    np.savez(path, w=np.ones(2, ml_dtypes.bfloat16))
    with pytest.raises(ParseError, match="array 'w' has the dtype"):
        relay_ir.load_params(path)
    np.savez(path, w=np.array([{}], dtype=object))
    with pytest.raises(ParseError, match="damaged"):
        relay_ir.load_params(path)


def file_of(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


WHOLE = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (file_of(b"{"), "header of the safetensors file is damaged"),
        (file_of(b"{" * 100_000), "header of the safetensors file is damaged"),
        (file_of({"w": WHOLE}), "stated are 0 to 8 of 0"),
        (file_of({"w": WHOLE | {"shape": [3]}}, bytes(8)), r"\(3,\) of float32 takes 12 bytes, stated are 0 to 8 of 8"),
        (file_of({"w": WHOLE | {"dtype": "F4"}}, bytes(8)), "has the dtype F4"),
        (file_of({"w": WHOLE | {"shape": [-1]}}, bytes(8)), "expected a dtype, a shape and two offsets"),
        (file_of({"w": WHOLE | {"data_offsets": [8, 0]}}, bytes(8)), "stated are 8 to 0"),
        (file_of({"w": [1]}), "expected a dtype, a shape and two offsets"),
        (b"PK\x03\x04" + bytes(40), "npz file is damaged"),
        (struct.pack("<Q", 2**60) + b"{}", "not a parameter file"),
    ],
)
def test_damaged_files(content: bytes, said: str) -> None:
    with pytest.raises(ParseError, match=said):
        relay_ir.load_params(content)
