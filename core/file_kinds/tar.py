"""Tar archives that are read where they lie: names and views of the files in them.

Python's own reader calls itself for each header that says something of the next one, and in
some versions takes quadratic time for what such a header holds: hostile archives need another.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

# Where tar has its mark.
_MARK, _PLACE = b"ustar", 257
_BLOCK = 512
# The fields of a header that say what a file is; the checksum is added up as if it were blanks.
_HEADER = struct.Struct("100s24x12s12x8ss100s8s80x155s12x")
_SUM = slice(148, 156)
_FILES = (b"0", b"\0")
# Links, devices, folders and FIFOs: nothing stands behind their headers, whatever size they state.
_EMPTY = (b"1", b"2", b"3", b"4", b"5", b"6")
# Headers that say something of the next one: GNU's long names, and records of POSIX.
_ABOUT_NEXT = (b"L", b"K", b"x", b"g")


class _Header(NamedTuple):
    """One header: the name that it gives, its type, and the size of what stands behind it."""

    name: bytes
    kind: bytes
    size: int


def is_tar(buffer: memoryview) -> bool:
    """Whether ``buffer`` is a tar archive that is not compressed."""
    return bytes(buffer[_PLACE : _PLACE + len(_MARK)]) == _MARK


def tar_files(buffer: memoryview) -> dict[str, memoryview]:
    """Return the files in a tar archive by their names, without ``./`` in front.

    The contents are views of ``buffer``; links and folders are left out, and so is what lies behind
    damage or is not there whole. Of two files of one name the last counts, as where an archive is
    unpacked.
    """
    found: dict[str, memoryview] = {}
    for name, content in _members(buffer):
        found[name.decode("utf-8", "surrogateescape").removeprefix("./")] = content
    return found


def _members(buffer: memoryview) -> Iterator[tuple[bytes, memoryview]]:
    """Yield the names and contents of files, until the archive ends or is damaged."""
    place = 0
    name: bytes | None = None
    size: int | None = None
    while (header := _header(buffer[place : place + _BLOCK])) is not None:
        length = 0 if header.kind in _EMPTY else header.size
        if header.kind not in (*_EMPTY, *_ABOUT_NEXT) and size is not None:
            length = size
        content = buffer[place + _BLOCK : place + _BLOCK + length]
        if len(content) < length:
            return
        place += _BLOCK + -(-length // _BLOCK) * _BLOCK
        if header.kind == b"L":
            name = _text(bytes(content))
        elif header.kind == b"x":
            records = _records(bytes(content))
            name, size = records.get(b"path", name), _decimal(records.get(b"size"))
        elif header.kind not in _ABOUT_NEXT:
            called = name or header.name
            # Before POSIX a folder was told by its name alone.
            if header.kind in _FILES and not called.endswith(b"/"):
                yield called, content
            name = size = None


def _header(block: memoryview) -> _Header | None:
    """Return what a header says; None for blocks of zeros, and where it is damaged."""
    if len(block) < _BLOCK:
        return None
    name, size, checksum, kind, _, mark, prefix = _HEADER.unpack(block)
    stated, length = _number(checksum), _number(size)
    if stated != sum(block) - sum(block[_SUM]) + 8 * ord(" ") or length is None:
        return None
    whole = _text(name)
    # GNU's older archives keep times where POSIX keeps folders.
    if mark.startswith(b"ustar\0") and _text(prefix):
        whole = _text(prefix) + b"/" + whole
    return _Header(whole, kind, length)


def _text(field: bytes) -> bytes:
    return bytes(field.split(b"\0", 1)[0])


def _number(field: bytes) -> int | None:
    """Return an octal number, or one in base 256 as GNU writes large ones; None for anything
    else.
    """
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    digits = _text(field).strip()
    try:
        return int(digits or b"0", 8) if digits.isdigit() or not digits else None
    except ValueError:
        return None


def _decimal(digits: bytes | None) -> int | None:
    # Of more digits no size is.
    return int(digits) if digits is not None and digits.isdigit() and len(digits) < 20 else None


def _records(content: bytes) -> Mapping[bytes, bytes]:
    """Return the records of POSIX, ``LENGTH KEY=VALUE`` and an end of line, up to the first that
    is damaged.
    """
    found: dict[bytes, bytes] = {}
    place = 0
    while place < len(content):
        end = content.find(b" ", place, place + 20)
        length = _decimal(content[place:end]) if end > 0 else None
        if not length or place + length > len(content) or length <= end - place:
            break
        key, equals, value = content[end + 1 : place + length - 1].partition(b"=")
        if not equals:
            break
        found[key] = value
        place += length
    return found


def relay_texts(files: Mapping[str, memoryview]) -> dict[str, memoryview]:
    """Return those of an archive's files that are Relay in TVM's Model Library Format, by name."""
    return {name: one for name, one in files.items() if name.endswith((".relay", "relay.txt"))}
