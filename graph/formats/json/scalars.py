"""Weights as a document has them: by shape and dtype, and those without dimensions by value."""

from __future__ import annotations

from typing import TypeAlias, Union

import numpy as np

from relay2relax.core.dtype import Array, DTypeError, numpy_dtype
from relay2relax.core.errors import ParseError
from relay2relax.core.errors.table import reading
from relay2relax.graph.model import MSCTensor

Scalar: TypeAlias = Union[float, int, bool, None]

_WORDS: dict[str, Scalar] = {
    "True": True, "False": False, "nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")
}  # fmt: skip


def scalar_text(scalar: Scalar) -> str | None:
    """Return the value of a weight without dimensions as a document has it."""
    return None if scalar is None else repr(scalar)


def parse_scalar(text: str | None, place: str) -> Scalar:
    """Return the value that ``scalar_text`` wrote; raises ParseError for any other text."""
    if text is None or text in _WORDS:
        return None if text is None else _WORDS[text]
    try:
        value = float(text) if set(text) & set(".en") else int(text)
    except ValueError:
        value = None
    if value is None or repr(value) != text:
        raise ParseError(f"{place}: {text!r} is not a number", kind=reading.JSON_DOCUMENT)
    return value


def stand_in(tensor: MSCTensor, scalar: Scalar) -> Array:
    """Return an array for a weight that is not at hand; all its elements are one in memory.

    Raises ParseError where no array has the tensor's shape, or its dtype not that value.
    """
    try:
        return np.broadcast_to(np.array(scalar or 0, numpy_dtype(tensor.dtype)), tensor.shape)
    except (ValueError, OverflowError, DTypeError) as error:
        said = error.diagnostics[0].title if isinstance(error, DTypeError) else error
        raise ParseError(
            f"weight {tensor.name!r} cannot be what its tensor says: {said}", kind=reading.JSON_DOCUMENT
        ) from None
