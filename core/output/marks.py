"""How a file of its own says that it was written here: by a mark near its end.

The mark is ``relay2relax sha256:`` and the SHA-256 of all bytes before it, in the format's own kind
of comment. A file that somebody has changed since does not have it.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from relay2relax.core.output.content import digest

_NAME = b"relay2relax sha256:"
_DIGITS = 64
# So many bytes may stand behind the mark: they close a comment or a document.
_LAST = 8
# So many bytes has a mark.
MARK_BYTES = len(_NAME) + _DIGITS


def marked(content: bytes, last: bytes = b"") -> bytes:
    """Return ``content`` with its mark and ``last`` behind it, which closes the comment."""
    return content + _NAME + digest(content).encode() + last


def is_marked(path: Path) -> bool:
    """Whether ``path`` has the mark of what it contains; raises OSError where it cannot be read."""
    with open(path, "rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        begin = max(0, size - MARK_BYTES - _LAST)
        stream.seek(begin)
        tail = stream.read()
        at = tail.rfind(_NAME)
        if at < 0:
            return False
        stated = tail[at + len(_NAME) : at + MARK_BYTES]
        found, left = hashlib.sha256(), begin + at
        stream.seek(0)
        while left > 0 and (block := stream.read(min(left, 1 << 20))):
            found.update(block)
            left -= len(block)
    return stated == found.hexdigest().encode()
