"""The two forms that fused nodes can have in Relax."""

from __future__ import annotations

from typing import Literal, TypeAlias

from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import translating

# What the pattern says (R.nn.gelu, R.matmul), or what the parts become.
Fused: TypeAlias = Literal["operators", "parts"]
_FORMS: tuple[Fused, ...] = ("operators", "parts")


def check_fused(form: str) -> None:
    """Raise UnsupportedError for a word that is no form of fused nodes."""
    if form not in _FORMS:
        known = ", ".join(map(repr, _FORMS))
        raise UnsupportedError(mistake(translating.CHOICE, what="form of fused nodes", name=repr(form), known=known))
