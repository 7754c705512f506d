"""The two forms that quantised operators can have in Relax."""

from __future__ import annotations

from typing import Literal, TypeAlias

from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import translating

# Integer arithmetic, which gives Relay's bits, or floats between R.dequantize and R.quantize.
Quantised: TypeAlias = Literal["integer", "qdq"]
_FORMS: tuple[Quantised, ...] = ("integer", "qdq")


def check_quantised(form: str) -> None:
    """Raise UnsupportedError for a word that is no form of quantised operators."""
    if form not in _FORMS:
        known = ", ".join(map(repr, _FORMS))
        what = "form of quantised operators"
        raise UnsupportedError(mistake(translating.CHOICE, what=what, name=repr(form), known=known))
