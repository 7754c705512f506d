"""Files of weights that today's tools write; the witnesses are the tools."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable
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
    writers: tuple[Callable[..., None], ...] = (np.savez, np.savez_compressed)
    for write in writers:
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
    with pytest.raises(ParseError, match="array 'w' has the dtype object"):
        relay_ir.load_params(path)
    np.savez(path, w=np.asfortranarray(np.arange(6).reshape(2, 3)), v=np.array(2.5, ">f8"))
    found = relay_ir.load_params(path)
    np.testing.assert_array_equal(found["w"], np.arange(6).reshape(2, 3))
    np.testing.assert_array_equal(found["v"], np.array(2.5))


def file_of(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


WHOLE = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (file_of(b"{"), r"header of the safetensors file is not a JSON document \(line 1, column 2\)"),
        (file_of(b"{" * 100_000), "header of the safetensors file is not a JSON document"),
        (file_of({"w": WHOLE}), "stated are 0 to 8 of 0"),
        (file_of({"w": WHOLE | {"shape": [3]}}, bytes(8)), r"\(3,\) of float32 takes 12 bytes, stated are 0 to 8 of 8"),
        (file_of({"w": WHOLE | {"dtype": "F4"}}, bytes(8)), "has the dtype F4"),
        (file_of({"w": WHOLE | {"dtype": 4}}, bytes(8)), r"expected `str`, found `int` at \$\.w\.dtype"),
        (file_of({"w": WHOLE | {"shape": [-1]}}, bytes(8)), r"expected `int` >= 0 at \$\.w\.shape\[0\]"),
        (file_of({"v": WHOLE, "w": WHOLE | {"shape": [True]}}, bytes(8)), r"found `bool` at \$\.w\.shape\[0\]"),
        (file_of({"w": WHOLE | {"shape": [2.0]}}, bytes(8)), r"found `float` at \$\.w\.shape\[0\]"),
        (
            file_of({"w": WHOLE | {"shape": [2**63]}}, bytes(8)),
            r"expected `int` <= 9223372036854775807 at \$\.w\.shape",
        ),
        (file_of({"w": WHOLE | {"shape": [0, 2**62], "data_offsets": [0, 0]}}), "tensor 'w': no array has the shape"),
        (file_of({"w": WHOLE | {"shape": [1] * 70, "data_offsets": [0, 4]}}, bytes(4)), "tensor 'w': no array has the"),
        (file_of({"w": WHOLE | {"data_offsets": [8, 0]}}, bytes(8)), "stated are 8 to 0"),
        (file_of({"w": WHOLE | {"data_offsets": [False, 8]}}, bytes(8)), r"found `bool` at \$\.w\.data_offsets\[0\]"),
        (file_of({"w": WHOLE | {"data_offsets": [0]}}, bytes(8)), r"of length 2, found 1 at \$\.w\.data_offsets"),
        (file_of({"w": {"dtype": "F32", "shape": [2]}}, bytes(8)), r"the key 'data_offsets' is missing at \$\.w"),
        (file_of({"w": WHOLE | {"layout": "NCHW"}}, bytes(8)), r"the key 'layout' is unknown at \$\.w"),
        (file_of({"w": [1]}), r"expected `object`, found `array` at \$\.w"),
        (file_of({"__metadata__": {"made": 1}}), r"'__metadata__': expected `str`, found `int` at \$\.made"),
        (file_of(b'{"w": {"dtype": NaN}}'), "NaN is not a number of JSON"),
        (file_of(b'{"w": [], "w": []}'), "the key 'w' stands twice"),
        (b"PK\x03\x04" + bytes(40), "npz file is damaged"),
        (struct.pack("<Q", 2**60) + b"{}", "not a parameter file"),
    ],
)
def test_damaged_files(content: bytes, said: str) -> None:
    with pytest.raises(ParseError, match=said):
        relay_ir.load_params(content)


def npz_of(header: object, data: bytes = b"", version: int = 1, start: bytes = b"\x93NUMPY") -> bytes:
    """Return an npz file of one array with this header."""
    text = header if isinstance(header, bytes) else repr(header).encode()
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("w.npy", start + bytes([version, 0]) + struct.pack("<H", len(text)) + text + data)
    return content.getvalue()


NPY = {"descr": "<f4", "fortran_order": False, "shape": (2,)}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (npz_of(NPY, bytes(4)), r"array 'w': \(2,\) of float32 takes 8 bytes, stated are 4"),
        (
            npz_of(NPY | {"shape": (True,)}, bytes(4)),
            r"header of array 'w': expected `int`, found `bool` at \$\.shape\[0\]",
        ),
        (npz_of(NPY | {"shape": (2.0,)}, bytes(8)), r"expected `int`, found `float` at \$\.shape\[0\]"),
        (npz_of(NPY | {"shape": (-2,)}, bytes(8)), r"expected `int` >= 0 at \$\.shape\[0\]"),
        (npz_of(NPY | {"shape": (2**63,)}, bytes(8)), r"expected `int` <= 9223372036854775807 at \$\.shape\[0\]"),
        (npz_of(NPY | {"shape": (2**40,)}, bytes(8)), "takes 4398046511104 bytes, stated are 8"),
        (npz_of(NPY | {"shape": (0, 2**62)}), "array 'w': no array has the shape"),
        (npz_of(NPY | {"shape": 2}, bytes(8)), r"expected `array`, found `int` at \$\.shape"),
        (npz_of(NPY | {"fortran_order": 1}, bytes(8)), r"expected `bool`, found `int` at \$\.fortran_order"),
        (npz_of(NPY | {"descr": [("a", "<f4")]}, bytes(8)), r"expected `str`, found `array` at \$\.descr"),
        (npz_of(NPY | {"descr": "<q9"}, bytes(8)), "array 'w' has no dtype '<q9'"),
        (npz_of(NPY | {"descr": "|O"}, bytes(16)), "array 'w' has the dtype object"),
        (npz_of(NPY | {"order": "C"}, bytes(8)), "the key 'order' is unknown"),
        (npz_of({"descr": "<f4", "shape": (2,)}, bytes(8)), "the key 'fortran_order' is missing"),
        (npz_of((2,), bytes(8)), "expected `object`, found `array`"),
        (npz_of(b"{'descr': ", bytes(8)), "the header of array 'w' is damaged"),
        (npz_of(b"(" * 9000), "the header of array 'w' is damaged"),
        (npz_of(b"__import__('os')"), "the header of array 'w' is damaged"),
        (npz_of(NPY, bytes(8), version=7), "array 'w' does not begin as a file of numpy does"),
        (npz_of(NPY, bytes(8), start=b"\x93NUMPX"), "array 'w' does not begin as a file of numpy does"),
        (npz_of(NPY, bytes(8))[:-60] + bytes(60), "npz file is damaged"),
    ],
)
def test_damaged_npz_files(content: bytes, said: str) -> None:
    with pytest.raises(ParseError, match=said):
        relay_ir.load_params(content)


def test_packed_data_that_are_damaged() -> None:
    content = io.BytesIO()
    np.savez_compressed(content, w=np.arange(1000))
    whole = bytearray(content.getvalue())
    for place in range(60, 200, 7):
        damaged = bytes(whole[:place]) + b"\xff\x00\xff" + bytes(whole[place + 3 :])
        with pytest.raises(ParseError):
            relay_ir.load_params(damaged)
