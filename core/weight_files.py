"""Files of named arrays that today's tools write: safetensors and npz.

A safetensors file is a u64 with the length of a JSON header, the header, and the elements, to which
the header's ``data_offsets`` refer; an npz file is an archive of numpy's files. Nothing in either
is executed.
"""

from __future__ import annotations

import io
import json
import math
import struct
import zipfile
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array, numpy_dtype
from relay2relax.core.errors import ParseError

_DTYPES = {
    "BOOL": "bool", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64", "U8": "uint8", "U16": "uint16",
    "U32": "uint32", "U64": "uint64", "F16": "float16", "F32": "float32", "F64": "float64", "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu",
}  # fmt: skip


def is_safetensors(buffer: memoryview) -> bool:
    """Whether ``buffer`` begins as a safetensors file does."""
    return len(buffer) > 8 and buffer[8] == ord("{") and _header_length(buffer) <= len(buffer) - 8


def is_npz(buffer: memoryview) -> bool:
    """Whether ``buffer`` begins as an archive does."""
    return bytes(buffer[:4]) in (b"PK\x03\x04", b"PK\x05\x06")


def read_safetensors(buffer: memoryview) -> dict[str, Array]:
    """Return the arrays of a safetensors file by name, as read-only views of ``buffer``.

    Raises ParseError where the file is damaged or holds elements that numpy has no dtype for.
    """
    start = 8 + _header_length(buffer)
    try:
        header = json.loads(bytes(buffer[8:start]))
    except (ValueError, RecursionError) as error:
        raise ParseError(f"the header of the safetensors file is damaged: {error}") from error
    found = {}
    for name, entry in header.items():
        if name != "__metadata__":
            found[name] = _view(buffer, start, name, entry)
    return found


def _view(buffer: memoryview, start: int, name: str, entry: Any) -> Array:
    match entry:
        case {"dtype": str(code), "shape": [*shape], "data_offsets": [int(begin), int(end)]} if all(
            type(extent) is int and 0 <= extent < 2**63 for extent in shape
        ):
            pass
        case _:
            raise ParseError(f"tensor {name!r}: expected a dtype, a shape and two offsets, found {str(entry)[:80]}")
    if code not in _DTYPES:
        raise ParseError(f"tensor {name!r} has the dtype {code}; arrays have none like it")
    dtype = numpy_dtype(_DTYPES[code])
    count = math.prod(shape)
    if not 0 <= begin <= end <= len(buffer) - start or end - begin != count * dtype.itemsize:
        size = f"{tuple(shape)} of {_DTYPES[code]} takes {count * dtype.itemsize} bytes"
        raise ParseError(f"tensor {name!r}: {size}, stated are {begin} to {end} of {len(buffer) - start}")
    if count == 0:
        return np.empty(shape, dtype)
    array = np.frombuffer(buffer, dtype, count, start + begin).reshape(shape)
    array.flags.writeable = False
    return array


def read_npz(buffer: memoryview) -> dict[str, Array]:
    """Return the arrays of an npz file by name, which are copies.

    Raises ParseError where the file is damaged.
    """
    found: dict[str, Array] = {}
    try:
        with np.load(io.BytesIO(buffer), allow_pickle=False) as stored:
            for name in stored.files:
                found[name] = stored[name]
    except (
        OSError,
        ValueError,
        zipfile.BadZipFile,
        AttributeError,
        TypeError,
        EOFError,
        KeyError,
        MemoryError,
    ) as error:
        raise ParseError(f"the npz file is damaged: {error}") from error
    for name, array in found.items():
        if array.dtype.kind not in "biuf":
            raise ParseError(f"array {name!r} has the dtype {array.dtype}; npz files keep neither bfloat16 nor float8")
    return found


def _header_length(buffer: memoryview) -> int:
    length: int = struct.unpack_from("<Q", buffer)[0]
    return length
