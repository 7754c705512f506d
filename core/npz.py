"""Files of arrays that numpy writes: an archive, each member a header and the elements.

A header is a literal of Python, which is read and never run. What an archive says of its own sizes
is held against the size of the file before memory is asked for.
"""

from __future__ import annotations

import ast
import io
import re
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import IO, TypeVar

import numpy as np

from relay2relax.core.amounts import counted
from relay2relax.core.dtype import Array
from relay2relax.core.errors import ParseError, mistake
from relay2relax.core.errors.table import reading
from relay2relax.core.file_kinds import describe_archive
from relay2relax.core.limits import allocating, check
from relay2relax.core.output.marks import MARK_BYTES, marked
from relay2relax.core.schema import Extent, Form, read_value
from relay2relax.core.tensor_blob import count_elements, no_such_array

T = TypeVar("T")

_NPY = b"\x93NUMPY"
# The struct of the header's length, by the version of numpy's format.
_NPY_LENGTHS = {1: "<H", 2: "<I", 3: "<I"}
# A longer header is none that numpy reads.
_LONGEST_HEADER = 10_000
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# A letter and the bytes of an element; numpy also reads fields, and shapes of elements.
_DESCR = re.compile(r"[<>=|]?[?A-Za-z]\d{0,4}")
_NOT_NUMBERS = {
    "O": "objects of Python are pickled, which may run anything when they are read: save it as numbers, with "
    "numpy.asarray(array, 'float32') say",
    "U": "texts are no values of a model",
    "S": "texts are no values of a model",
    "c": "Relay has no complex numbers",
}
# What a file may unpack to: so much, or so many times its own size. Deflate reaches 1032 times,
# but not with weights.
_UNPACKED = 256 << 20
_TIMES = 100
_CHUNK = 1 << 20
# What ``zipfile`` raises where an archive is damaged; it promises only the first.
_FOREIGN = (
    zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, ArithmeticError, AttributeError, LookupError,
    MemoryError, RuntimeError, TypeError, ValueError,
)  # fmt: skip


class _Header(Form):
    """The header of an array."""

    descr: str
    fortran_order: bool
    shape: tuple[Extent, ...]


def is_npz(buffer: memoryview) -> bool:
    """Whether ``buffer`` begins as an archive does."""
    return bytes(buffer[:4]) in (b"PK\x03\x04", b"PK\x05\x06")


def is_npy(buffer: memoryview) -> bool:
    """Whether ``buffer`` begins as a file with one array does."""
    return bytes(buffer[: len(_NPY)]) == _NPY


def read_npy(buffer: memoryview) -> Array:
    """Return the array of an npy file, which is a copy.

    Raises ParseError where the file is damaged, or holds elements that are not numbers.
    """
    return _Member(io.BytesIO(buffer), len(buffer), "the array").array()


def read_npz(buffer: memoryview) -> dict[str, Array]:
    """Return the arrays of an npz file by name, which are copies.

    Raises ParseError where the file is damaged, holds elements that are not numbers, or unpacks to
    more than files of weights do.
    """
    found: dict[str, Array] = {}
    archive = _of_archive(lambda: zipfile.ZipFile(io.BytesIO(buffer)))
    members = archive.infolist()
    if members and (what := describe_archive([one.filename for one in members])):
        raise ParseError(f"not a parameter file: it is {what}", kind=reading.PARAMETERS)
    _check_sizes(members, len(buffer))
    for member in members:
        name = member.filename.removesuffix(".npy")
        if name in found:
            raise ParseError(f"the npz file has two arrays {name!r:.80}", kind=reading.PARAMETERS)
        stream = _of_archive(lambda: archive.open(member))  # noqa: B023  (called at once)
        found[name] = _Member(stream, member.file_size, f"array {name!r:.80}").array()
    return found


def _of_archive(read: Callable[[], T]) -> T:
    """Return what ``read`` does; raises ParseError for all that ``zipfile`` says of damage."""
    try:
        return read()
    except _FOREIGN as error:
        raise ParseError(f"the npz file is damaged: {str(error)[:200]}", kind=reading.PARAMETERS) from error


def _check_sizes(members: list[zipfile.ZipInfo], size: int) -> None:
    """Refuse an archive whose members cannot lie in ``size`` bytes, or that unpacks to too much."""
    for one in members:
        if one.flag_bits & 1 or one.compress_type not in _METHODS:
            how = "encrypted" if one.flag_bits & 1 else f"packed by the method {one.compress_type}"
            raise ParseError(
                f"array {one.filename!r:.80} is {how}, which numpy does not write", kind=reading.PARAMETERS
            )
    packed = sum(one.compress_size for one in members)
    if packed > size:
        raise ParseError(
            f"the npz file is damaged: its arrays take {packed} bytes, the file has {size}", kind=reading.PARAMETERS
        )
    unpacked = sum(one.file_size for one in members)
    if unpacked > max(_UNPACKED, _TIMES * size):
        raise ParseError(
            f"the npz file has {size} bytes and unpacks to {unpacked}, more than {_TIMES} times as many: "
            "save such arrays with numpy.savez, which does not pack them, or as safetensors",
            kind=reading.PARAMETERS,
        )


class _Member:
    """One array as numpy writes it, as far as it is read; ``size`` bytes are stated of it."""

    def __init__(self, stream: IO[bytes], size: int, what: str) -> None:
        self.what = what
        self.left = size
        self._stream = stream

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most ``size``."""
        found = _of_archive(lambda: self._stream.read(size))
        self.left -= len(found)
        return found

    def array(self) -> Array:
        """Return the array, whose header is checked before memory is asked for."""
        header = _parse_header(self._header_text(), self.what)
        dtype = _dtype(header.descr, self.what)
        wanted = count_elements(header.shape, self.what) * dtype.itemsize
        if self.left != wanted:
            raise ParseError(
                f"{self.what}: {header.shape} of {dtype} takes {counted(wanted, 'byte')}, stated are {self.left}",
                kind=reading.PARAMETERS,
            )
        try:
            with allocating(wanted, lambda: self.what):
                array = np.empty(header.shape, dtype, "F" if header.fortran_order else "C")
        except ValueError as error:
            raise no_such_array(self.what, header.shape, error) from None
        self._fill(array.reshape(-1, order="A").view(np.uint8).data)
        array.flags.writeable = False
        return array

    def _fill(self, memory: memoryview) -> None:
        at = 0
        while at < len(memory):
            check()
            chunk = self.read(min(_CHUNK, len(memory) - at))
            if not chunk:
                raise ParseError(
                    mistake(
                        reading.PARAMETERS,
                        place=self.what,
                        expected=f"{counted(len(memory), 'byte')} of elements",
                        found=at,
                    )
                )
            memory[at : at + len(chunk)] = chunk
            at += len(chunk)
        self.read(1)  # behind the last element the checksum is looked at

    def _header_text(self) -> bytes:
        begin = self.read(len(_NPY) + 2)
        length_of = _NPY_LENGTHS.get(begin[-2]) if begin.startswith(_NPY) and len(begin) == len(_NPY) + 2 else None
        if length_of is None:
            raise ParseError(f"{self.what} does not begin as a file of numpy does", kind=reading.PARAMETERS)
        packed = self.read(struct.calcsize(length_of))
        length = struct.unpack(length_of, packed)[0] if len(packed) == struct.calcsize(length_of) else self.left
        text = self.read(min(length, _LONGEST_HEADER))
        if len(text) < length:
            raise ParseError(f"{self.what}: its header has {length} bytes, found {len(text)}", kind=reading.PARAMETERS)
        return text


def _parse_header(text: bytes, what: str) -> _Header:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a text that is odd, but is a literal
            header = ast.literal_eval(text.decode().strip())
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise ParseError(f"the header of {what} is damaged: {str(error)[:200]}", kind=reading.PARAMETERS) from None
    return read_value(header, _Header, f"the header of {what}")


def _dtype(descr: str, what: str) -> np.dtype[np.generic]:
    """Return the dtype of elements that are numbers of a width that every reader knows."""
    try:
        dtype = np.dtype(descr) if _DESCR.fullmatch(descr) else None
    except (TypeError, ValueError):
        dtype = None
    if dtype is None:
        raise ParseError(f"{what} has no dtype {descr!r:.80}", kind=reading.PARAMETERS)
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        why = _NOT_NUMBERS.get(dtype.kind, "files of numpy keep neither bfloat16 nor float8")
        raise ParseError(f"{what} has the dtype {dtype}; {why}", kind=reading.PARAMETERS)
    return dtype


def npz_bytes(arrays: Mapping[str, Array]) -> bytes:
    """Return an npz file of ``arrays``, with the mark of our own files as the archive's comment."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)  # type: ignore[arg-type]
    # The last two bytes are the length of the comment, which is empty so far.
    return marked(stream.getvalue()[:-2] + struct.pack("<H", MARK_BYTES))
