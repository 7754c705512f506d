"""Teaching classes names that they do not have, for as long as the facade is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields
from functools import wraps
from types import ModuleType
from typing import NamedTuple

_NOTHING = object()
_taught: list[list[tuple[type | ModuleType, str, object]]] = []


class Lesson(NamedTuple):
    """An attribute that a class gets, or a module."""

    cls: type | ModuleType
    name: str
    value: object


def teach(lessons: Iterable[Lesson]) -> Callable[[], None]:
    """Give classes their attributes; return what takes them away again."""
    before: list[tuple[type | ModuleType, str, object]] = []
    _taught.append(before)
    teach_more(lessons)

    def forget() -> None:
        _taught.remove(before)
        for cls, name, value in reversed(before):
            if value is _NOTHING:
                delattr(cls, name)
            else:
                setattr(cls, name, value)

    return forget


def teach_more(lessons: Iterable[Lesson]) -> None:
    """Give classes more attributes, which are taken away with those that were taught last."""
    for one in lessons:
        _taught[-1].append((one.cls, one.name, vars(one.cls).get(one.name, _NOTHING)))
        setattr(one.cls, one.name, one.value)


def renamed(cls: type, **names: str) -> list[Lesson]:
    """Return lessons that let an attribute be read under another name: ``name_hint="name"``."""
    return [Lesson(cls, theirs, property(_getter(ours))) for theirs, ours in names.items()]


def _getter(name: str) -> Callable[[object], object]:
    def get(self: object) -> object:
        return getattr(self, name)

    return get


def constructor(cls: type, **names: str) -> Lesson:
    """Return the lesson that lets a dataclass be made as TVM makes it.

    Lists are taken for tuples, None for what has a default of its own; ``names`` are TVM's names of
    arguments, and ours.
    """
    original: Callable[..., None] = vars(cls)["__init__"]
    own = [one for one in fields(cls) if one.init]
    order = [one.name for one in own]
    optional = {one.name for one in own if not (one.default is MISSING and one.default_factory is MISSING)}
    nullable = {one.name for one in own if one.default is None}

    @wraps(original)
    def __init__(self: object, *args: object, **kwargs: object) -> None:
        values = dict(zip(order, args, strict=False))
        for name, value in kwargs.items():
            values[names.get(name, name)] = value
        for name, value in list(values.items()):
            if value is None and name in optional and name not in nullable:
                del values[name]
            elif isinstance(value, list):
                values[name] = tuple(value)
        original(self, **values)

    return Lesson(cls, "__init__", __init__)


class Face(type):
    """A class of TVM as scripts see it, of which there are no instances.

    ``isinstance`` asks whether something is of its ``kinds``; calling it calls its ``make``.
    """

    kinds: tuple[type, ...]
    make: Callable[..., object]

    def __instancecheck__(cls, one: object) -> bool:
        return isinstance(one, cls.kinds)

    def __subclasscheck__(cls, one: type) -> bool:
        return issubclass(one, cls.kinds)

    def __call__(cls, *args: object, **kwargs: object) -> object:
        return cls.make(*args, **kwargs)


def face(name: str, kinds: type | tuple[type, ...], make: Callable[..., object] | None = None) -> Face:
    """Return the face ``name`` of classes here; without ``make`` it is asked only."""
    known = kinds if isinstance(kinds, tuple) else (kinds,)
    return Face(name, (), {"kinds": known, "make": staticmethod(make or known[0]), "__doc__": f"TVM's ``{name}``."})
