"""Files of executables: one JSON header, then the constants' elements.

    file ::= mark (8 bytes), sha256 of the rest (32 bytes),
             u64 size of the header (little endian), header, elements

The header is a JSON object with ``format``, ``version`` and ``tensors``, a list of ``{dtype, shape,
offset}``; offsets count from the first element and are multiples of 64. Spaces behind the header
let the elements begin at a multiple of 64, too. Arrays are views of what was read, aligned like
that. Nothing in a file is executed.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array, numpy_dtype, of_array
from relay2relax.core.errors import FileError, ParseError, Relay2RelaxError

_MARK = b"R2RXEXE\n"
_LENGTH = struct.Struct("<Q")
_DIGEST = hashlib.sha256().digest_size
_ALIGNMENT = 64
# Where the checksum is over.
_BEGIN = len(_MARK) + _DIGEST


def write_archive(
    path: str | os.PathLike[str], kind: str, version: int, header: Mapping[str, Any], tensors: Sequence[Array]
) -> None:
    """Write a file of format ``kind``, whole or not at all; raises FileError where that fails."""
    entries: list[dict[str, Any]] = []
    arrays: list[Array] = []
    offset = 0
    for tensor in tensors:
        # ``ascontiguousarray`` makes a vector of a scalar; the bytes are the same.
        arrays.append(np.ascontiguousarray(tensor).reshape(-1).view(np.uint8))
        entries.append({"dtype": of_array(tensor), "shape": list(tensor.shape), "offset": offset})
        offset += -(-tensor.nbytes // _ALIGNMENT) * _ALIGNMENT
    text = json.dumps({"format": kind, "version": version, "tensors": entries, **header}).encode()
    text += b" " * (-(_BEGIN + _LENGTH.size + len(text)) % _ALIGNMENT)
    parts: list[Any] = [_LENGTH.pack(len(text)), text]
    for array in arrays:
        parts += [array.data, bytes(-array.nbytes % _ALIGNMENT)]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    target = Path(path)
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "wb") as stream:
            for part in (_MARK, digest.digest(), *parts):
                stream.write(part)
        os.replace(temporary, target)
        temporary = None
    except OSError as error:
        raise FileError(f"cannot write {target}: {error.strerror}") from error
    finally:
        if temporary is not None:
            os.unlink(temporary)


def read_archive(path: str | os.PathLike[str], kind: str, version: int) -> tuple[dict[str, Any], list[Array]]:
    """Return the header and the tensors of a file of format ``kind``.

    Raises FileError where the file cannot be read, ParseError where it is damaged, of another kind
    or of a newer version.
    """
    try:
        content = _aligned(path)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from error
    begin = _BEGIN
    if bytes(content[: len(_MARK)]) != _MARK or len(content) < begin + _LENGTH.size:
        raise ParseError(f"{path} is no executable: it does not begin with {_MARK!r}")
    if hashlib.sha256(content[begin:]).digest() != bytes(content[len(_MARK) : begin]):
        raise ParseError(f"{path} is damaged: its content does not have the checksum that it states")
    (size,) = _LENGTH.unpack_from(content, begin)
    first = begin + _LENGTH.size + size
    try:
        header = json.loads(bytes(content[begin + _LENGTH.size : first]))
    except (ValueError, RecursionError) as problem:
        raise ParseError(f"{path}: its header is no JSON: {problem}") from problem
    if not isinstance(header, dict) or header.get("format") != kind:
        found = header.get("format") if isinstance(header, dict) else header
        raise ParseError(f"{path} is of format {str(found)[:40]!r}, expected {kind!r}")
    if header.get("version") != version:
        raise ParseError(f"{path} has version {str(header.get('version'))[:40]}, expected {version}")
    entries = header.get("tensors")
    if not isinstance(entries, list):
        raise ParseError(f"{path}: expected a list of tensors")
    return header, [_tensor(path, number, entry, content[first:]) for number, entry in enumerate(entries)]


def _aligned(path: str | os.PathLike[str]) -> memoryview:
    """Return what a file contains, in memory that begins at a multiple of the alignment."""
    with open(path, "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        memory = np.empty(size + _ALIGNMENT, np.uint8)
        begin = -memory.ctypes.data % _ALIGNMENT
        content = memory[begin : begin + size]
        read = stream.readinto(content.data)
    return content[:read].data.toreadonly()


def _tensor(path: str | os.PathLike[str], number: int, entry: Any, elements: memoryview) -> Array:
    match entry:
        case {"dtype": str(name), "shape": list(shape), "offset": int(offset)} if len(shape) <= 32 and all(
            type(extent) is int and extent >= 0 for extent in shape
        ):
            try:
                dtype = numpy_dtype(name)
            except Relay2RelaxError as problem:
                raise ParseError(f"{path}, tensor {number}: {problem}") from problem
            count = 1
            for extent in shape:
                count *= extent
            if 0 <= offset <= len(elements) and count * dtype.itemsize <= len(elements) - offset:
                return np.frombuffer(elements, dtype, count, offset).reshape(shape)
    raise ParseError(f"{path}, tensor {number}: expected dtype, shape and offset within the file, found {entry!r:.80}")
