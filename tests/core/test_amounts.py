"""Sizes and times as people write them."""

from __future__ import annotations

import pytest

from relay2relax.core.amounts import parse_bytes, parse_seconds


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4GB", 4_000_000_000),
        ("4 gb", 4_000_000_000),
        ("512MiB", 512 * 1024 * 1024),
        ("1.5kB", 1500),
        ("7", 7),
        ("7B", 7),
        ("2TB", 2_000_000_000_000),
        ("999999999999999999999", 999_999_999_999_999_999_999),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize(
    ("text", "seconds"), [("60s", 60), ("60", 60), ("500ms", 0.5), ("5m", 300), ("5min", 300), ("1.5h", 5400)]
)
def test_times(text: str, seconds: float) -> None:
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "4 G B", "4XB", "1e9", "0x10", "nan", "٤GB", "4GB\0", "1.GB", "4s"])
def test_no_size(text: str) -> None:
    assert parse_bytes(text) is None


@pytest.mark.parametrize("text", ["", "s", "-1s", "1d", "inf", "4GB", "1:30"])
def test_no_time(text: str) -> None:
    assert parse_seconds(text) is None
