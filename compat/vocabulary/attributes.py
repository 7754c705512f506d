"""Attributes of calls, which are dataclasses here: indexed, listed and compared as TVM's objects.

A class of attributes is taught when a call is first asked for its attributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import cast

from relay2relax.compat.vocabulary.teaching import Lesson
from relay2relax.relay_ir.ir.expr import Call, OpaqueAttrs

_taught: set[type] = set()


class AttrsWords:
    """What attribute objects of TVM answer to."""

    def keys(self) -> list[str]:
        """Return the names of the fields."""
        return [one.name for one in fields(cast("type", type(self)))]

    def list_field_info(self) -> Sequence[object]:
        """Return the fields."""
        return fields(cast("type", type(self)))

    def __getitem__(self, name: str) -> object:
        return getattr(self, name)

    def get_int(self, name: str) -> int:
        """Return a field as a number."""
        return int(getattr(self, name))

    def get_str(self, name: str) -> str:
        """Return a field as a text."""
        return str(getattr(self, name))

    def get_int_tuple(self, name: str) -> tuple[int, ...]:
        """Return a field as numbers."""
        return tuple(map(int, getattr(self, name)))


_WORDS = ("keys", "list_field_info", "__getitem__", "get_int", "get_str", "get_int_tuple")
_slot = vars(Call)["attrs"]


def taught(attrs: object) -> object:
    """Return ``attrs``, whose class answers to TVM's names from now on."""
    cls = type(attrs)
    if cls not in _taught:
        _taught.add(cls)
        if is_dataclass(attrs) and cls is not OpaqueAttrs:
            for name in _WORDS:
                if not hasattr(cls, name):
                    setattr(cls, name, vars(AttrsWords)[name])
    return attrs


def _attrs(self: Call) -> object:
    return taught(_slot.__get__(self, Call))


def lessons() -> Iterator[Lesson]:
    """Yield what calls are taught of their attributes."""
    yield Lesson(Call, "attrs", _Described())


class _Described:
    """The slot of a call's attributes, which teaches them when they are read."""

    def __get__(self, call: Call | None, cls: type) -> object:
        return _slot if call is None else _attrs(call)

    def __set__(self, call: Call, value: object) -> None:
        _slot.__set__(call, value)
