"""Dtypes as TVM spells them, and the codes that its files store."""

from __future__ import annotations

import pytest

from relay2relax.core.dtype import DTypeError, from_code, to_code


@pytest.mark.parametrize(
    ("dtype", "code"),
    [
        ("bool", (1, 1, 1)), ("boolx4", (1, 1, 4)), ("uint8", (1, 8, 1)), ("int64", (0, 64, 1)),
        ("float32x16", (2, 32, 16)), ("handle", (3, 64, 1)), ("bfloat16", (4, 16, 1)), ("float8_e5m2", (7, 8, 1)),
    ],
)  # fmt: skip
def test_codes(dtype: str, code: tuple[int, int, int]) -> None:
    assert to_code(dtype) == code
    assert from_code(*code) == dtype


@pytest.mark.parametrize("dtype", ["", "bool2", "bool8x2", "float", "floatx4", "int", "real", "int32x", "int99999"])
def test_what_is_no_dtype(dtype: str) -> None:
    with pytest.raises(DTypeError, match="unknown dtype"):
        to_code(dtype)
