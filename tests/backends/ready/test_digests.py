"""Digests of large contents."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from relay2relax.backends.cache.digests import digest, file_digest

PIECE = 4 << 20


def expected(content: bytes) -> bytes:
    """The digest as the page of the module says it, one piece after the other."""
    pieces = [content[at : at + PIECE] for at in range(0, max(len(content), 1), PIECE)]
    return hashlib.sha256(b"".join(hashlib.sha256(one).digest() for one in pieces)).digest()


@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 5])
def test_contents_and_files_have_the_digest_of_their_pieces(size: int, tmp_path: Path) -> None:
    content = (b"0123456789abcdef" * (size // 16 + 1))[:size]
    assert digest(content) == expected(content)
    # However it is cut.
    assert digest(content[:7], memoryview(content)[7 : size // 2], b"", content[max(7, size // 2) :]) == expected(
        content
    )
    (tmp_path / "content").write_bytes(content)
    assert file_digest(tmp_path / "content") == expected(content)


def test_every_byte_counts() -> None:
    content = bytes(2 * PIECE)
    for place in (0, PIECE - 1, PIECE, 2 * PIECE - 1):
        assert digest(content[:place] + b"\1" + content[place + 1 :]) != digest(content)


def test_a_file_that_is_not_there_is_the_systems_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        file_digest(tmp_path / "missing")
