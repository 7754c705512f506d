"""Words of a program: what its printers write, and how text of a model gets among it.

A printer's result is :class:`Code`, of which there are these sources:

    code("R.match_cast({}, {})", source, info)   # a template of the printer's own, filled with Code
    quoted(text)                                 # any text, as a string literal
    word(name), dotted(name)                     # a name; WordError where it is none
    identifier(hint)                             # a name made of any text
    comma(parts)                                 # parts with commas between them

To a type checker an f-string is ``str``, which is not ``Code``: text of a model that nobody has
quoted does not get into a script. Templates are constants, which a test looks after.
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NewType, Union

from relay2relax.core.errors import Relay2RelaxError, mistake
from relay2relax.core.errors.table import general
from relay2relax.core.source import UNSHOWN, escaped, to_bytes, visible

# A piece of a program; a string literal; a name, which may have dots.
Code = NewType("Code", str)
Quoted = NewType("Quoted", Code)
Identifier = NewType("Identifier", Code)


class WordError(Relay2RelaxError):
    """What should be a name is none."""

    kind = general.WORD


_UNSAFE = re.compile(f'["\\\\{UNSHOWN}]')
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def code(template: str, *parts: Union[Code, int]) -> Code:
    """Return ``template``, a constant of the printer, with ``parts`` in place of its ``{}``."""
    return template.format(*parts)  # type: ignore[return-value]  # see joined


def comma(parts: Iterable[Code], between: str = ", ") -> Code:
    """Return ``parts`` one behind the other, with a constant of the printer between them."""
    return between.join(parts)  # type: ignore[return-value]  # see joined


def joined(*parts: Code) -> Code:
    """Return ``parts`` one behind the other, in a quarter of the time that a template takes."""
    return "".join(parts)  # type: ignore[return-value]  # Code() would take another third


def indented(depth: int, line: Code = Code("")) -> Code:
    """Return ``line`` of Python behind its blanks, four for each step."""
    return Code("    " * depth + line)


@lru_cache(maxsize=4096)
def quoted(text: str) -> Quoted:
    """Return ``text`` as a literal in double quotes, the same in Python and JSON.

    Characters that do not show, that turn the direction of text, or that end a line, are escaped.
    """
    return Quoted(Code(f'"{_UNSAFE.sub(_escape, text)}"'))


# The string literals of Relay's text, as TVM escapes them: other bytes than ASCII's as ``\\xHH``.
_RELAY_UNSAFE = re.compile(r'["\\\x00-\x1f\x7f]|[^\x00-\x7f]')


@lru_cache(maxsize=4096)
def quoted_for_relay(text: str) -> Quoted:
    """Return ``text`` as a literal of Relay's text, escaped as TVM escapes it."""
    return Quoted(Code(f'"{_RELAY_UNSAFE.sub(_escape_for_relay, text)}"'))


def _escape_for_relay(found: re.Match[str]) -> str:
    return _ESCAPES.get(found[0]) or "".join(f"\\x{byte:02X}" for byte in to_bytes(found[0]))


def in_comment(text: str) -> Code:
    """Return ``text`` so that it neither ends a comment, as ``*/`` does, nor begins one."""
    return Code(visible(text).replace("*/", "*|").replace("/*", "|*"))


def matching(text: str, form: re.Pattern[str], what: str) -> Identifier:
    """Return ``text``, all of which has to have ``form``, as a name; raises WordError that calls it
    ``what``.
    """
    if form.fullmatch(text) is None:
        raise WordError(mistake(general.WORD, text=shown(text), expected=what))
    return Identifier(Code(text))


def numbered(name: Identifier, number: int) -> Identifier:
    """Return ``name`` with ``number`` behind it."""
    return Identifier(Code(f"{name}{number}"))


def vouched(text: str) -> Code:
    """Return ``text`` as it is: text of a caller's own, which no file has."""
    return Code(text)


def block(lines: Iterable[Code]) -> Code:
    """Return ``lines`` one below the other."""
    return Code("\n".join(lines))


_SIGNS = frozenset(
    ["+", "-", "*", "/", "//", "%", "<", "<=", ">", ">=", "==", "!=", "and", "or", "&", "|", "^", "<<", ">>"]
)


def sign(operator: str) -> Code:
    """Return a binary operator of Python; raises WordError for what is none."""
    if operator not in _SIGNS:
        raise WordError(mistake(general.WORD, text=shown(operator), expected="an operator"))
    return Code(operator)


def truth(value: object) -> Code:
    """Return ``True`` or ``False``."""
    return Code("True" if value else "False")


def number(value: Union[int, float]) -> Code:
    """Return a number in the fewest digits; infinities and NaN are calls of ``float``."""
    if isinstance(value, int):
        return f"{value:d}"  # type: ignore[return-value]  # see joined
    return Code(repr(float(value)) if math.isfinite(value) else f'float("{float(value)}")')


_NUMERAL = re.compile(r"-?\d+(?:\.\d*)?(?:e[+-]?\d+)?\Z", re.ASCII)


def numeral(text: str) -> Code:
    """Return the digits of a number as they are; raises WordError for what is none."""
    if _NUMERAL.match(text) is None:
        raise WordError(mistake(general.WORD, text=shown(text), expected="a number"))
    return Code(text)


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    return _ESCAPES.get(char) or f"\\u{ord(char):04x}" if char < "\U00010000" else escaped(char)


@lru_cache(maxsize=4096)
def word(text: str) -> Identifier:
    """Return ``text``, which has to be one Python name and no keyword; raises WordError."""
    return _made_of(text, [text])


@lru_cache(maxsize=4096)
def dotted(text: str) -> Identifier:
    """Return ``text``, which has to be Python names with dots between; raises WordError."""
    return _made_of(text, text.split("."))


def _made_of(text: str, names: Iterable[str]) -> Identifier:
    """Return ``text``, which is made of ``names``; raises WordError where one is not a name."""
    if not all(map(_is_name, names)):
        raise WordError(mistake(general.WORD, text=shown(text), expected="a name that a program can use"))
    return Identifier(Code(text))


def _is_name(text: str) -> bool:
    return text.isascii() and text.isidentifier() and not keyword.iskeyword(text)


def shown(text: str, most: int = 60) -> str:
    """Return ``text`` in quotes as messages write what a file says: short, nothing unseen."""
    plain = visible(text if len(text) <= most else text[:most] + "…")
    return f"'{plain}'"


_LAYOUT = re.compile(r"\w{0,64}\Z", re.ASCII)
_DEVICE = re.compile(r"[\w.\-/]+(?::-?\d{1,9}(?::[\w.\-]*)?)?\Z", re.ASCII)
_SCOPE = re.compile(r"[\w.\-]{0,64}\Z", re.ASCII)


def check_layout(text: str) -> None:
    """Raise WordError unless ``text`` is letters and digits, as ``NCHW4c`` and all layouts are."""
    _check(text, _LAYOUT, "layout", "NCHW")


def check_device(text: str) -> None:
    """Raise WordError unless ``text`` names a device: ``cuda:0:global``."""
    _check(text, _DEVICE, "device", "cuda:0:global")


def check_scope(text: str) -> None:
    """Raise WordError unless ``text`` names a kind of memory: ``shared.dyn``."""
    _check(text, _SCOPE, "kind of memory", "shared.dyn")


def _check(text: str, form: re.Pattern[str], what: str, example: str) -> None:
    if not isinstance(text, str) or form.match(text) is None:
        said = shown(text) if isinstance(text, str) else type(text).__name__
        raise WordError(mistake(general.WORD, text=said, expected=f"the name of a {what}, such as {example!r}"))
