"""Documents and their forms: the one layer through which JSON documents are read.

A form is a type that says what a document must be, made of frozen classes of msgspec:

    class Tensor(Form):
        name: str
        shape: tuple[Extent, ...]
        alias: str = ""                            # may be missing

    class Header(Form):
        version: Literal[1]
        tensors: dict[str, Tensor]
        about: str = field(name="relay2relax")     # the name of its key

    header = read_json(content, Header, "the header")

Alternatives are classes that name themselves under one key (``class Input(Form, tag_field="kind",
tag="input")``), joined by ``|``. Nothing is converted on the way: neither ``true`` nor ``1.0`` is
an integer, and ``"1"`` is a string. Refused are keys that the form does not have, keys that are
missing, keys that stand twice in one object, and numbers that JSON does not have (``NaN``,
``1e999``). Every refusal is a ParseError that says where in the document it is:
``$.tensors.w.shape[0]``.

``to_plain(header)`` is the value to write, its keys in the order of the form, and
``to_lines(header)`` the document.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NoReturn, TypeAlias, TypeVar, Union

import msgspec
from msgspec import field
from typing_extensions import dataclass_transform

from relay2relax.core.errors import ParseError
from relay2relax.core.errors.table import reading
from relay2relax.core.source import HALF_OF_PAIR, visible_json

__all__ = [
    "Extent",
    "Form",
    "OpenExtent",
    "field",
    "parse_json",
    "read_json",
    "read_packed",
    "read_value",
    "to_lines",
    "to_plain",
    "write_packed",
]

T = TypeVar("T")
Path: TypeAlias = tuple[Union[str, int], ...]

_MOST = 2**63 - 1
# An extent, a number of bytes, or a place in a list.
Extent: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=_MOST)]
# An extent, or -1 for one that is not known.
OpenExtent: TypeAlias = Annotated[int, msgspec.Meta(ge=-1, le=_MOST)]

_STEP = re.compile(r"\.(\w+)|\[(\d+)\]|\[(\.\.\.)\]")
# What msgspec says, and how we say it.
_WORDS = (
    (re.compile(r"^Object missing required field `(.*)`$"), r"the key '\1' is missing"),
    (re.compile(r"^Object contains unknown field `(.*)`$"), r"the key '\1' is unknown"),
    (re.compile(r"^Expected (.*), got (.*)$"), r"expected \1, found \2"),
    (re.compile(r"^Expected "), "expected "),
    (re.compile(r"^Invalid (enum )?value (.*)$"), r"\2 is none of the values allowed"),
)


# Type checkers would ask for ``frozen=True`` at every class; at run time it is inherited.
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the classes that say what an object of a document must be."""


def read_json(content: str | bytes, form: type[T], what: str) -> T:
    """Return the JSON document ``content`` as a value of ``form``; ``what`` names it in errors.

    Raises ParseError where it is not JSON, or not of that form.
    """
    return read_value(parse_json(content, what), form, what)


def read_value(value: object, form: type[T], what: str) -> T:
    """Return plain values, such as a part of a document, as a value of ``form``.

    Raises ParseError where they are not of that form.
    """
    try:
        return msgspec.convert(value, form)
    except msgspec.ValidationError as error:
        said, _, written = str(error).partition(" - at `$")
        path = _path(value, form, written.rstrip("`"))
    except RecursionError:
        raise ParseError(f"{what} is nested too deeply", kind=reading.JSON_DOCUMENT) from None
    except UnicodeEncodeError as error:
        raise ParseError(
            f"{what}: the string {error.object!r:.60} {HALF_OF_PAIR}", kind=reading.JSON_DOCUMENT
        ) from None
    for pattern, ours in _WORDS:
        said = pattern.sub(ours, said)
    raise ParseError(f"{what}: {said}{_at(path)}", kind=reading.JSON_DOCUMENT)


def read_packed(content: bytes, form: type[T], what: str) -> T:
    """Return a document in MessagePack, as ``write_packed`` writes it, as a value of ``form``.

    Raises ParseError where it is not MessagePack, or not of that form.
    """
    try:
        return msgspec.msgpack.decode(content, type=form)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ParseError(f"{what} is damaged: {error}", kind=reading.JSON_DOCUMENT) from error


def write_packed(value: object) -> bytes:
    """Return a value of a form as MessagePack; raises OverflowError for integers beyond 64 bits."""
    return msgspec.msgpack.encode(value)


def to_plain(value: object) -> Any:
    """Return a value of a form as JSON holds it, keys in the order of the form."""
    return msgspec.to_builtins(value)


def to_lines(value: object) -> str:
    """Return a value of a form as a JSON document, each part on a line of its own.

    What a terminal acts upon is escaped.
    """
    # Python's own encoder takes four times as long where it is to break lines.
    compact = json.dumps(to_plain(value), ensure_ascii=False).encode("utf-8", "surrogatepass")
    return visible_json(msgspec.json.format(compact, indent=1).decode("utf-8", "surrogatepass"))


def parse_json(content: str | bytes, what: str, *, control: bool = False) -> Any:
    """Return a JSON document as plain values, for whoever chooses a form by what it says.

    ``control`` characters may stand in its strings as they are, where its writer escapes fewer than
    JSON demands.

    Raises ParseError where it is not JSON, repeats a key in an object, or has a number that is not
    finite.
    """
    try:
        return _loads(content, what, _object, control)
    except _RepeatedKeyError:
        # What stands behind the key may be damaged, too.
        *path, name = _repeated(_loads(content, what, _Pairs, control))
        raise ParseError(f"{what}: the key {name!r} stands twice{_at(path)}", kind=reading.JSON_DOCUMENT) from None


def _loads(content: str | bytes, what: str, make_object: Callable[[list[tuple[str, Any]]], Any], control: bool) -> Any:
    try:
        return json.loads(
            content, strict=not control, object_pairs_hook=make_object, parse_float=_finite, parse_constant=_refuse
        )
    except _RepeatedKeyError:
        raise
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ParseError(f"{what} is not a JSON document ({place}): {error.msg}", kind=reading.JSON_DOCUMENT) from None
    except RecursionError:
        raise ParseError(
            f"{what} is not a JSON document: it is nested too deeply", kind=reading.JSON_DOCUMENT
        ) from None
    except ValueError as error:
        raise ParseError(f"{what} is not a JSON document: {error}", kind=reading.JSON_DOCUMENT) from None


# --- what JSON leaves open ------------------------------------------------------------------------


class _RepeatedKeyError(ValueError):
    """An object has a key twice."""


class _Pairs(list[tuple[str, Any]]):
    """An object whose keys may stand in it twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _RepeatedKeyError
    return found


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text} is too large")
    return value


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number of JSON")


def _repeated(document: object) -> Path:
    """Return the path to the first key that stands twice in its object."""
    stack: list[tuple[Path, Any]] = [((), document)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, _Pairs):
            seen: set[str] = set()
            for name, _ in value:
                if name in seen:
                    return (*path, name)
                seen.add(name)
            stack += [((*path, name), one) for name, one in reversed(value)]
        elif isinstance(value, list):
            stack += [((*path, place), one) for place, one in reversed(list(enumerate(value)))]
    raise AssertionError("no key stands twice")


# --- the place of a mistake -----------------------------------------------------------------------


def _at(path: Sequence[str | int]) -> str:
    """Return the place as it is written behind a message; nothing for the whole document."""
    return " at $" + "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in path) if path else ""


def _path(value: object, form: object, written: str) -> Path:
    """Return a path that msgspec wrote, which has ``[...]`` for a key of a map, with that key."""
    path: Path = ()
    for name, index, _ in _STEP.findall(written):
        path += (int(index) if index else name or _key_at_fault(value, form, path),)
    return path


def _key_at_fault(value: object, form: object, path: Path) -> str:
    """Return the first key of the map at ``path`` whose value is not of the form it should have."""
    keys = list(_inside(value, path))
    while len(keys) > 1:
        first = keys[: len(keys) // 2]
        try:
            msgspec.convert(_narrowed(value, path, first), form)
            keys = keys[len(first) :]
        except (msgspec.ValidationError, UnicodeEncodeError):
            keys = first
    return str(keys[0])


def _inside(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def _narrowed(value: Any, path: Path, keys: list[str]) -> Any:
    """Return ``value`` with only these keys in the map at ``path``."""
    if not path:
        return {one: value[one] for one in keys}
    changed = value.copy()
    changed[path[0]] = _narrowed(value[path[0]], path[1:], keys)
    return changed
