"""Files of named arrays that today's tools write: safetensors and npz.

A safetensors file is a u64 with the length of a JSON header, the header, and the elements, to which
the header's ``data_offsets`` refer; an npz file is an archive of numpy's files, each a header,
which is a Python literal, and the elements. Nothing in either is executed.
"""

from __future__ import annotations

import ast
import io
import json
import math
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import IO

import numpy as np

from relay2relax.core.dtype import Array, DTypeError, numpy_dtype, of_array
from relay2relax.core.errors import ParseError
from relay2relax.core.errors.table import reading
from relay2relax.core.output.marks import MARK_BYTES, marked
from relay2relax.core.schema import Extent, Form, parse_json, read_value
from relay2relax.core.tensor_blob import elements, view

_DTYPES = {
    "BOOL": "bool", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64", "U8": "uint8", "U16": "uint16",
    "U32": "uint32", "U64": "uint64", "F16": "float16", "F32": "float32", "F64": "float64", "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu",
}  # fmt: skip

_SAFETENSORS = "the header of the safetensors file"
_NPY = b"\x93NUMPY"
# The struct of the header's length, by the version of numpy's format.
_NPY_LENGTHS = {1: "<H", 2: "<I", 3: "<I"}
# A longer header is none that numpy reads.
_LONGEST_HEADER = 10_000


class _Tensor(Form):
    """An entry of a safetensors header."""

    dtype: str
    shape: tuple[Extent, ...]
    data_offsets: tuple[Extent, Extent]


class _Header(Form):
    """The header of an array in an npz file."""

    descr: str
    fortran_order: bool
    shape: tuple[Extent, ...]


# --- safetensors ----------------------------------------------------------------------------------


def is_safetensors(buffer: memoryview) -> bool:
    """Whether ``buffer`` begins as a safetensors file does."""
    return len(buffer) > 8 and buffer[8] == ord("{") and _header_length(buffer) <= len(buffer) - 8


def read_safetensors(buffer: memoryview) -> dict[str, Array]:
    """Return the arrays of a safetensors file by name, as read-only views of ``buffer``.

    Raises ParseError where the file is damaged or holds elements that numpy has no dtype for.
    """
    start = 8 + _header_length(buffer)
    header = read_value(parse_json(bytes(buffer[8:start]), _SAFETENSORS), dict[str, object], _SAFETENSORS)
    read_value(header.pop("__metadata__", {}), dict[str, str], f"{_SAFETENSORS}, '__metadata__'")
    tensors = read_value(header, dict[str, _Tensor], _SAFETENSORS)
    return {name: _view(buffer, start, name, entry) for name, entry in tensors.items()}


def _view(buffer: memoryview, start: int, name: str, entry: _Tensor) -> Array:
    if entry.dtype not in _DTYPES:
        raise ParseError(
            f"tensor {name!r} has the dtype {entry.dtype}; arrays have none like it", kind=reading.PARAMETERS
        )
    dtype = numpy_dtype(_DTYPES[entry.dtype])
    wanted = math.prod(entry.shape) * dtype.itemsize
    begin, end = entry.data_offsets
    if not begin <= end <= len(buffer) - start or end - begin != wanted:
        size = f"{entry.shape} of {_DTYPES[entry.dtype]} takes {wanted} bytes"
        raise ParseError(
            f"tensor {name!r}: {size}, stated are {begin} to {end} of {len(buffer) - start}", kind=reading.PARAMETERS
        )
    return view(buffer, start + begin, entry.shape, dtype, f"tensor {name!r}")


def _header_length(buffer: memoryview) -> int:
    length: int = struct.unpack_from("<Q", buffer)[0]
    return length


def safetensors_parts(arrays: Mapping[str, Array], metadata: Mapping[str, str]) -> list[bytes | memoryview]:
    """Return the parts of a safetensors file of ``arrays``; those that are contiguous are not
    copied.

    Raises DTypeError for an array whose dtype the format does not have.
    """
    codes = {name: code for code, name in _DTYPES.items()}
    header: dict[str, object] = {"__metadata__": dict(metadata)} if metadata else {}
    parts: list[bytes | memoryview] = []
    end = 0
    # Wider elements first: every array then begins at a multiple of its element's size.
    for name, array in sorted(arrays.items(), key=lambda one: (-one[1].dtype.itemsize, one[0])):
        code = codes.get(of_array(array))
        if code is None:
            raise DTypeError(f"safetensors files hold no {of_array(array)}, of which {name!r} is")
        data = elements(array)
        header[name] = {"dtype": code, "shape": list(array.shape), "data_offsets": [end, end + data.nbytes]}
        end += data.nbytes
        parts.append(data.data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return [struct.pack("<Q", len(text)), text, *parts]


# --- npz ------------------------------------------------------------------------------------------


def is_npz(buffer: memoryview) -> bool:
    """Whether ``buffer`` begins as an archive does."""
    return bytes(buffer[:4]) in (b"PK\x03\x04", b"PK\x05\x06")


def read_npz(buffer: memoryview) -> dict[str, Array]:
    """Return the arrays of an npz file by name, which are copies.

    Raises ParseError where the file is damaged or holds elements that are no numbers.
    """
    found: dict[str, Array] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(buffer)) as archive:
            for member in archive.infolist():
                name = member.filename.removesuffix(".npy")
                if name in found:
                    raise ParseError(f"the npz file has two arrays {name!r}", kind=reading.PARAMETERS)
                with archive.open(member) as stream:
                    found[name] = _read_array(stream, name, member.file_size)
    # An archive that is encrypted or packed in a way that Python does not know raises the last two.
    except (zipfile.BadZipFile, zlib.error, OSError, ValueError, EOFError, RuntimeError, NotImplementedError) as error:
        raise ParseError(f"the npz file is damaged: {error}", kind=reading.PARAMETERS) from error
    return found


def _read_array(stream: IO[bytes], name: str, size: int) -> Array:
    """Return the array in a file of ``size`` bytes, whose header is checked before it is read."""
    what = f"array {name!r}"
    begin = stream.read(len(_NPY) + 2)
    length_of = _NPY_LENGTHS.get(begin[-2]) if begin.startswith(_NPY) and len(begin) == len(_NPY) + 2 else None
    if length_of is None:
        raise ParseError(f"{what} does not begin as a file of numpy does", kind=reading.PARAMETERS)
    packed = stream.read(struct.calcsize(length_of))
    length = struct.unpack(length_of, packed)[0] if len(packed) == struct.calcsize(length_of) else size
    text = stream.read(min(length, _LONGEST_HEADER))
    if len(text) < length:
        raise ParseError(f"{what}: its header has {length} bytes, found {len(text)}", kind=reading.PARAMETERS)
    header = _parse_header(text, what)
    try:
        dtype = np.dtype(header.descr)
    except TypeError:
        raise ParseError(f"{what} has no dtype {header.descr!r}", kind=reading.PARAMETERS) from None
    if dtype.kind not in "biuf":
        raise ParseError(
            f"{what} has the dtype {dtype}; npz files keep neither bfloat16 nor float8", kind=reading.PARAMETERS
        )
    wanted = math.prod(header.shape) * dtype.itemsize
    stated = size - len(begin) - len(packed) - length
    if stated != wanted:
        raise ParseError(
            f"{what}: {header.shape} of {dtype} takes {wanted} bytes, stated are {stated}", kind=reading.PARAMETERS
        )
    shape = header.shape[::-1] if header.fortran_order else header.shape
    array = view(memoryview(stream.read()), 0, shape, dtype, what)
    return array.T if header.fortran_order else array


def _parse_header(text: bytes, what: str) -> _Header:
    try:
        header = ast.literal_eval(text.decode().strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise ParseError(f"the header of {what} is damaged: {error}", kind=reading.PARAMETERS) from None
    return read_value(header, _Header, f"the header of {what}")


def npz_bytes(arrays: Mapping[str, Array]) -> bytes:
    """Return an npz file of ``arrays``, with the mark of our own files as the archive's comment."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)  # type: ignore[arg-type]
    # The last two bytes are the length of the comment, which is empty so far.
    return marked(stream.getvalue()[:-2] + struct.pack("<H", MARK_BYTES))
