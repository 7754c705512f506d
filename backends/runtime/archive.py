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
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from relay2relax.core.arrays import empty
from relay2relax.core.dtype import Array, numpy_dtype, of_array
from relay2relax.core.errors import FileError, ParseError, Relay2RelaxError
from relay2relax.core.errors.table import running
from relay2relax.core.file_kinds import describe_content
from relay2relax.core.output import OutputFile
from relay2relax.core.schema import Extent, Form, parse_json, read_value
from relay2relax.core.tensor_blob import count_elements


class _Tensor(Form, frozen=True):
    dtype: str
    shape: tuple[Extent, ...]
    offset: Extent


class _Table(Form, frozen=True):
    tensors: tuple[_Tensor, ...]


S = TypeVar("S")
T = TypeVar("T")

_MARK = b"R2RXEXE\n"
_LENGTH = struct.Struct("<Q")
_DIGEST = hashlib.sha256().digest_size
_ALIGNMENT = 64
_BYTE = np.dtype(np.uint8)
# Where the checksum is over.
_BEGIN = len(_MARK) + _DIGEST


def write_archive(
    path: str | os.PathLike[str],
    kind: str,
    version: int,
    header: Mapping[str, object],
    tensors: Sequence[Array],
    force: bool = False,
) -> None:
    """Write a file of format ``kind``, whole or not at all.

    Raises FileError where that fails, and where it would write over a file that is not such an
    archive, unless ``force`` says so.
    """
    entries: list[dict[str, object]] = []
    arrays: list[Array] = []
    offset = 0
    for tensor in tensors:
        # ``ascontiguousarray`` makes a vector of a scalar; the bytes are the same.
        arrays.append(np.ascontiguousarray(tensor).reshape(-1).view(np.uint8))
        entries.append({"dtype": of_array(tensor), "shape": list(tensor.shape), "offset": offset})
        offset += -(-tensor.nbytes // _ALIGNMENT) * _ALIGNMENT
    text = json.dumps({"format": kind, "version": version, "tensors": entries, **header}).encode()
    text += b" " * (-(_BEGIN + _LENGTH.size + len(text)) % _ALIGNMENT)
    parts: list[bytes | memoryview] = [_LENGTH.pack(len(text)), text]
    for array in arrays:
        parts += [array.data, bytes(-array.nbytes % _ALIGNMENT)]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    OutputFile(Path(path), force=force, is_own=_is_whole, parents=False).write([_MARK, digest.digest(), *parts])


def _is_whole(path: Path) -> bool:
    """Whether ``path`` is a file of any format, as it was written."""
    with open(path, "rb") as stream:
        begin, digest = stream.read(_BEGIN), hashlib.sha256()
        while block := stream.read(1 << 20):
            digest.update(block)
    return begin == _MARK + digest.digest()


def read_archive(path: str | os.PathLike[str], kind: str, version: int) -> tuple[dict[str, object], list[Array]]:
    """Return the header and the tensors of a file of format ``kind``.

    What is returned of the header is what the caller of :func:`write_archive` gave.

    Raises FileError where the file cannot be read, ParseError where it is damaged, of another kind
    or of another version.
    """
    try:
        content = _aligned(path)
    except OSError as error:
        raise FileError.unread(path, error) from error
    begin = _BEGIN
    if bytes(content[: len(_MARK)]) != _MARK or len(content) < begin + _LENGTH.size:
        cut = bytes(content[: len(_MARK)]) == _MARK
        known = describe_content(content, "model") or "of no kind that is known here"
        what = "it is cut off" if cut else f"it is {known}"
        raise ParseError(f"{path} is no executable: {what}", kind=running.SAVED_FILE)
    if hashlib.sha256(content[begin:]).digest() != bytes(content[len(_MARK) : begin]):
        raise ParseError(
            f"{path} is damaged: its content does not have the checksum that it states", kind=running.SAVED_FILE
        )
    (size,) = _LENGTH.unpack_from(content, begin)
    first = begin + _LENGTH.size + size
    header = parse_json(bytes(content[begin + _LENGTH.size : first]), f"{path}: its header")
    if not isinstance(header, dict) or header.get("format") != kind:
        found = header.get("format") if isinstance(header, dict) else header
        raise ParseError(f"{path} is of format {str(found)[:40]!r}, expected {kind!r}", kind=running.SAVED_FILE)
    if type(header.get("version")) is not int or header["version"] != version:
        found = str(header.get("version"))[:40]
        raise ParseError(
            f"{path} has version {found}, expected {version}: build the module again, and save it",
            kind=running.SAVED_FILE,
        )
    rest = {key: value for key, value in header.items() if key not in ("format", "version", "tensors")}
    table = read_value({"tensors": header.get("tensors")}, _Table, str(path))
    return rest, [_tensor(path, number, entry, content[first:]) for number, entry in enumerate(table.tensors)]


def _aligned(path: str | os.PathLike[str]) -> memoryview:
    """Return what a file contains, in memory that begins at a multiple of the alignment."""
    with open(path, "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        memory = empty((size + _ALIGNMENT,), _BYTE, lambda: f"the content of {os.fspath(path)!r}")
        begin = -memory.ctypes.data % _ALIGNMENT
        content = memory[begin : begin + size]
        read = stream.readinto(content.data)
    return content[:read].data.toreadonly()


def _tensor(path: str | os.PathLike[str], number: int, entry: _Tensor, elements: memoryview) -> Array:
    where = f"{path}: $.tensors[{number}]"
    try:
        dtype = numpy_dtype(entry.dtype)
    except Relay2RelaxError as problem:
        raise ParseError(f"{where}: {problem.diagnostics[0].title}", kind=running.SAVED_FILE) from problem
    count = count_elements(entry.shape, where)
    lies = f"a tensor of shape {list(entry.shape)} at {entry.offset} does not lie in the file"
    if entry.offset % _ALIGNMENT or entry.offset + count * dtype.itemsize > len(elements):
        raise ParseError(f"{where}: {lies}", kind=running.SAVED_FILE)
    try:
        return np.frombuffer(elements, dtype, count, entry.offset).reshape(entry.shape)
    except ValueError as problem:
        raise ParseError(f"{where}: {lies}: {problem}", kind=running.SAVED_FILE) from problem


def read_at(place: str, read: Callable[[S], T], value: S) -> T:
    """Return what ``read`` makes of ``value``; its ParseError gets the place in the header."""
    try:
        return read(value)
    except ParseError as problem:
        title = problem.diagnostics[0].title
        joined, inner = title.rpartition(" at $")[::2] if " at $" in title else (title, "")
        raise ParseError(f"{joined} at {place}{inner}", kind=running.SAVED_FILE) from problem


def each_at(place: str, read: Callable[[S], T], values: Iterable[S]) -> Iterable[T]:
    """Yield what ``read`` makes of the items of the list at ``place``."""
    for number, one in enumerate(values):
        yield read_at(f"{place}[{number}]", read, one)
