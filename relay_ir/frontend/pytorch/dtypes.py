"""Dtypes as PyTorch spells them, and what arithmetic makes of several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay2relax.core.dtype import is_float, numpy_dtype

# By the number that stands for a dtype in a graph.
BY_NUMBER = {
    0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "float16", 6: "float32", 7: "float64",
    11: "bool", 15: "bfloat16",
}  # fmt: skip
NUMBERED = {name: number for number, name in BY_NUMBER.items()}
# By the words that texts and users have for them, in small letters.
_WORDS = {
    "byte": "uint8", "char": "int8", "short": "int16", "int": "int32", "long": "int64", "half": "float16",
    "float": "float32", "double": "float64",
}  # fmt: skip
_KNOWN = frozenset(BY_NUMBER.values())
# What a number is where no tensor says more.
_NUMBERS: dict[type, str] = {bool: "bool", int: "int64", float: "float32"}


def dtype_of(word: str) -> str | None:
    """Return the dtype that PyTorch or a user calls ``word``, None where there is none."""
    plain = word.lower().removeprefix("torch.")
    found = _WORDS.get(plain, plain)
    return found if found in _KNOWN else None


def _category(dtype: str) -> int:
    return 0 if dtype == "bool" else 2 if is_float(dtype) else 1


def _wider(one: str, other: str) -> str:
    """Return the dtype that holds both."""
    if one == other:
        return one
    if _category(one) != _category(other):
        return max(one, other, key=_category)
    if "bfloat16" in (one, other):
        return "float64" if "float64" in (one, other) else "float32"
    return str(np.promote_types(numpy_dtype(one), numpy_dtype(other)))


def result_dtype(tensors: Sequence[str], scalars: Sequence[str], numbers: Sequence[object]) -> str:
    """Return the dtype of PyTorch's arithmetic over all of them.

    ``tensors`` have dimensions, ``scalars`` are tensors without; these, and then numbers, count
    only where they are of a higher kind (truth values, integers, floats).
    """
    found: str | None = None
    for group in (tensors, scalars, [_NUMBERS[type(one)] for one in numbers]):
        wide: str | None = None
        for dtype in group:
            wide = dtype if wide is None else _wider(wide, dtype)
        if wide is not None and (found is None or _category(wide) > _category(found)):
            found = wide
    assert found is not None, "of nothing there is no dtype"
    return found
