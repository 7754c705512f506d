"""Names as Relay's text has them: those that its reader takes for one name.

The names of variables are hints, and characters that no name has are replaced in them. Other names
mean something, and what is not a name is refused: a file of another format may hold any text there.
"""

from __future__ import annotations

import re
from functools import lru_cache

from relay2relax.core.dtype import check_dtype
from relay2relax.core.words import Identifier, WordError, matching, shown
from relay2relax.relay_ir.text.lexer import KEYWORDS, NAME, WORD

_LOCAL = re.compile(NAME)
_DOTTED = re.compile(rf"{WORD}(?:\.{WORD})*")
_KEY = re.compile(r"[A-Za-z0-9_.\-/:+<>]+")
_DTYPE = re.compile(r"[\w\[\]]*")
_OF_NO_NAME = re.compile(r"[^\w/]")
_VARIABLE = "the name of a variable"


def local_hint(name: str) -> Identifier:
    """Return ``name`` as what follows ``%``; it begins with an ASCII letter."""
    hint = name if name[:1].isascii() and name[:1].isalpha() else f"v{name}"
    try:
        return matching(hint, _LOCAL, _VARIABLE)
    except WordError:
        return matching(_OF_NO_NAME.sub("_", hint), _LOCAL, _VARIABLE)


def global_name(name: str) -> Identifier:
    """Return ``name`` as what follows ``@``."""
    return matching(name, _LOCAL, "the name of a function in Relay's text; save_json can write it")


@lru_cache(maxsize=4096)
def dotted_name(name: str) -> Identifier:
    """Return the name of an operator, a type, a constructor or a type variable."""
    if name in KEYWORDS:
        raise WordError(f"{shown(name)} is a keyword of Relay's text; save_json can write it as a name")
    return matching(name, _DOTTED, "a name in Relay's text; save_json can write it")


@lru_cache(maxsize=4096)
def attribute_key(name: str) -> Identifier:
    """Return the name of an attribute."""
    return matching(name, _DOTTED, "the name of an attribute in Relay's text; save_json can write it")


@lru_cache(maxsize=4096)
def dtype_name(dtype: str) -> Identifier:
    """Return the name of a dtype."""
    return matching(check_dtype(dtype), _DTYPE, "a dtype")


def object_key(name: str) -> Identifier:
    """Return the kind of an object in the metadata."""
    return matching(name, _KEY, "a kind of object")
