"""The binary form of one tensor, as parameter files and the ``b64ndarrays`` of JSON documents hold
it.

    blob ::= u64 magic, u64 reserved, i32 device_type, i32 device_id, i32 ndim,
             u8 code, u8 bits, u16 lanes,
             i64 extent * ndim, i64 size in bytes, the elements, row-major
             (all little endian, no padding)

Arrays are views: nothing is copied while reading.
"""

from __future__ import annotations

import math
import struct

import numpy as np

from relay2relax.core.dtype import Array, from_code, numpy_dtype, of_array, to_code
from relay2relax.core.errors import ParseError, mistake
from relay2relax.core.errors.table import reading

MAGIC = 0xDD5E40F096B4A13F
_HEAD = struct.Struct("<QQiiiBBH")
_CPU = 1
_MAX_RANK = 64


def read_tensor(buffer: memoryview, offset: int = 0, today: bool = False) -> tuple[Array, int]:
    """Return the tensor that begins at ``offset`` and the offset behind it.

    The array is a read-only view.

    ``today``: it was written by a TVM whose codes of dtypes are DLPack's, one since 0.21. Raises
    ParseError where the blob is damaged, DTypeError for an element type that numpy cannot hold.
    """
    if offset + _HEAD.size > len(buffer):
        raise _unlike(offset, f"{_HEAD.size} bytes of header", len(buffer) - offset)
    magic, _, device, _, rank, code, width, lanes = _HEAD.unpack_from(buffer, offset)
    if magic != MAGIC:
        raise _unlike(offset, f"the mark {MAGIC:#x}", f"{magic:#x}")
    if device != _CPU:
        raise _unlike(offset, f"device type {_CPU} (CPU)", device)
    if not 0 <= rank <= _MAX_RANK:
        raise _unlike(offset, f"a rank of 0 to {_MAX_RANK}", rank)
    start = offset + _HEAD.size + 8 * rank + 8
    if start > len(buffer):
        raise ParseError(f"tensor at byte {offset}: the file ends inside the shape", kind=reading.PARAMETERS)
    *shape, size = struct.unpack_from(f"<{rank + 1}q", buffer, offset + _HEAD.size)
    if any(extent < 0 for extent in shape):
        raise ParseError(
            f"tensor at byte {offset}: shape {tuple(shape)} has a negative extent", kind=reading.PARAMETERS
        )
    name = from_code(code, width, lanes, today)
    dtype = numpy_dtype(name)
    count = count_elements(tuple(shape), f"tensor at byte {offset}")
    if name == "bool" and size == 0 and 0 < count <= len(buffer) * 8:
        # TVM up to 0.6 computed bits / 8 = 0 bytes for bool tensors and wrote no elements: they are
        # lost.
        return np.broadcast_to(np.zeros((), np.bool_), shape), start
    if size != count * dtype.itemsize:
        raise ParseError(
            f"tensor at byte {offset}: {tuple(shape)} of {name} takes {count * dtype.itemsize} bytes, "
            f"stated are {size}",
            kind=reading.PARAMETERS,
        )
    if start + size > len(buffer):
        raise _unlike(offset, f"{size} bytes of elements", len(buffer) - start)
    return view(buffer, start, tuple(shape), dtype, f"tensor at byte {offset}"), start + size


def _unlike(offset: int, expected: str, found: object) -> ParseError:
    place = f"tensor at byte {offset}"
    return ParseError(mistake(reading.PARAMETERS, place=place, expected=expected, found=found))


def count_elements(shape: tuple[int, ...], what: str) -> int:
    """Return how many elements an array of that shape has.

    Raises ParseError where no array has it; ``what`` names the tensor.
    """
    # Without a limit the product of a million extents has a million digits.
    if len(shape) > _MAX_RANK:
        raise ParseError(f"{what}: no array has the shape of {len(shape)} dimensions", kind=reading.PARAMETERS)
    return math.prod(shape)


def view(buffer: memoryview, start: int, shape: tuple[int, ...], dtype: np.dtype[np.generic], what: str) -> Array:
    """Return the elements that begin at ``start`` of ``buffer`` as a read-only array.

    Raises ParseError where no array has that shape; ``what`` names the tensor.
    """
    count = math.prod(shape)
    try:
        if count == 0:
            return np.empty(shape, dtype)
        array = np.frombuffer(buffer, dtype, count, start).reshape(shape)
    except (ValueError, MemoryError) as error:
        raise no_such_array(what, shape, error) from None
    array.flags.writeable = False
    return array


def write_tensor(array: Array) -> tuple[bytes, Array]:
    """Return the header of the blob, and the elements as a view of bytes where ``array`` is
    contiguous.
    """
    code, width, lanes = to_code(of_array(array))
    data = elements(array)
    head = _HEAD.pack(MAGIC, 0, _CPU, 0, array.ndim, code, width, lanes)
    head += struct.pack(f"<{array.ndim + 1}q", *array.shape, data.nbytes)
    return head, data


def elements(array: Array) -> Array:
    """Return the elements of ``array``, row-major and little endian, as bytes: a view where it
    is contiguous.
    """
    whole = np.ascontiguousarray(array)
    if whole.dtype.byteorder == ">":
        whole = whole.astype(whole.dtype.newbyteorder("<"))
    return whole.reshape(-1).view(np.uint8)


def no_such_array(what: str, shape: tuple[int, ...], error: Exception) -> ParseError:
    """Return the error for a file that states a shape that numpy refuses."""
    return ParseError(f"{what}: no array has the shape {shape}: {error}", kind=reading.PARAMETERS)
