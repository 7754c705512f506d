"""Tar archives that are read where they lie: names and views of the files in them."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping

# Where tar has its mark.
_MARK, _PLACE = b"ustar", 257


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
    try:
        with tarfile.open(fileobj=io.BytesIO(buffer), mode="r:") as archive:
            for one in archive:
                end = one.offset_data + one.size
                if one.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and one.size >= 0 and end <= len(buffer):
                    found[one.name.removeprefix("./")] = buffer[one.offset_data : end]
    # What ``tarfile`` raises for damage.
    except (tarfile.TarError, OSError, ValueError, EOFError, OverflowError):
        return found
    return found


def relay_texts(files: Mapping[str, memoryview]) -> dict[str, memoryview]:
    """Return those of an archive's files that are Relay in TVM's Model Library Format, by name."""
    return {name: one for name, one in files.items() if name.endswith((".relay", "relay.txt"))}
