"""Files of named arrays that today's tools write: safetensors.

A safetensors file is a u64 with the length of a JSON header, the header, and the elements, to which
the header's ``data_offsets`` refer, without gaps and without overlaps. Nothing in it is executed.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping

from relay2relax.core.amounts import counted
from relay2relax.core.dtype import Array, DTypeError, numpy_dtype, of_array
from relay2relax.core.errors import Diagnostic, ParseError
from relay2relax.core.errors.nearest import nearest
from relay2relax.core.errors.table import reading
from relay2relax.core.schema import Extent, Form, parse_json, read_value
from relay2relax.core.tensor_blob import count_elements, elements, view

_DTYPES = {
    "BOOL": "bool", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64", "U8": "uint8", "U16": "uint16",
    "U32": "uint32", "U64": "uint64", "F16": "float16", "F32": "float32", "F64": "float64", "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu",
}  # fmt: skip

_SAFETENSORS = "the header of the safetensors file"
# No reader of safetensors takes a longer header.
_LONGEST_HEADER = 100_000_000


class _Tensor(Form):
    """An entry of a safetensors header."""

    dtype: str
    shape: tuple[Extent, ...]
    data_offsets: tuple[Extent, Extent]


def is_safetensors(buffer: memoryview) -> bool:
    """Whether ``buffer`` begins as a safetensors file does."""
    return len(buffer) > 8 and buffer[8] == ord("{") and _header_length(buffer) <= _LONGEST_HEADER


def read_safetensors(buffer: memoryview) -> dict[str, Array]:
    """Return the arrays of a safetensors file by name, as read-only views of ``buffer``.

    Raises ParseError where the file is damaged or holds elements that numpy has no dtype for.
    """
    tensors, start = _read_header(buffer)[1:]
    found = {name: _view(buffer, start, name, entry) for name, entry in tensors.items()}
    _check_places(tensors, len(buffer) - start)
    return found


def safetensors_metadata(buffer: memoryview) -> tuple[dict[str, str], memoryview]:
    """Return the metadata of a safetensors file, and the bytes of its elements."""
    metadata, _, start = _read_header(buffer)
    return metadata, buffer[start:]


def _read_header(buffer: memoryview) -> tuple[dict[str, str], dict[str, _Tensor], int]:
    """Return metadata, tensors, and where the elements begin."""
    length = _header_length(buffer)
    if length > len(buffer) - 8:
        raise ParseError(
            f"the safetensors file ends inside its header of {counted(length, 'byte')}: found {len(buffer) - 8}",
            kind=reading.PARAMETERS,
        )
    header = read_value(parse_json(bytes(buffer[8 : 8 + length]), _SAFETENSORS), dict[str, object], _SAFETENSORS)
    metadata = read_value(header.pop("__metadata__", {}), dict[str, str], f"{_SAFETENSORS}, '__metadata__'")
    return metadata, read_value(header, dict[str, _Tensor], _SAFETENSORS), 8 + length


def _view(buffer: memoryview, start: int, name: str, entry: _Tensor) -> Array:
    what = f"tensor {name!r:.80}"
    if entry.dtype not in _DTYPES:
        title = f"{what} has the dtype {repr(entry.dtype)[1:-1]:.40}; arrays have none like it"
        raise ParseError(Diagnostic(title, help=nearest(entry.dtype, _DTYPES), kind=reading.PARAMETERS))
    dtype = numpy_dtype(_DTYPES[entry.dtype])
    wanted = count_elements(entry.shape, what) * dtype.itemsize
    begin, end = entry.data_offsets
    if not begin <= end <= len(buffer) - start or end - begin != wanted:
        size = f"{entry.shape} of {_DTYPES[entry.dtype]} takes {counted(wanted, 'byte')}"
        raise ParseError(
            f"{what}: {size}, stated are {begin} to {end} of {len(buffer) - start}", kind=reading.PARAMETERS
        )
    return view(buffer, start + begin, entry.shape, dtype, what)


def _check_places(tensors: dict[str, _Tensor], size: int) -> None:
    """Refuse tensors that lie in one another, and bytes that belong to none."""
    at, before = 0, "the header"
    for name, entry in sorted(tensors.items(), key=lambda one: one[1].data_offsets):
        begin, end = entry.data_offsets
        what = f"tensor {name!r:.80}"
        if begin < at:
            raise ParseError(
                f"{what} begins at byte {begin}, inside {before}, which ends at {at}", kind=reading.PARAMETERS
            )
        if begin > at:
            raise ParseError(f"bytes {at} to {begin} before {what} belong to no tensor", kind=reading.PARAMETERS)
        at, before = end, what
    if at < size:
        raise ParseError(f"bytes {at} to {size} behind {before} belong to no tensor", kind=reading.PARAMETERS)


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
