"""Values that programs give, as scripts expect them: arrays that answer to TVM's names."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from relay2relax.backends.relay.machine import Closure
from relay2relax.backends.relay.values import AdtValue, RefValue
from relay2relax.compat.running.ndarray import NDArray
from relay2relax.compat.vocabulary.known_types import tag_of
from relay2relax.relay_ir.ir.expr import Constant, Constructor


class Fields(list[object]):
    """The fields of a tuple, which scripts index, count and unpack; ``tag`` is that of a tuple."""

    tag = 0
    constructor: Constructor | None = None

    @property
    def fields(self) -> list[object]:
        """The fields."""
        return list(self)


def legacy(value: object, as_lists: bool = False) -> object:
    """Return a value with its arrays as ``NDArray``, tuples as lists.

    With ``as_lists`` values of data types are such lists, too, which have the constructor's tag:
    TVM's virtual machine gives them so.
    """
    match value:
        case np.ndarray():
            return value.view(NDArray)
        case np.generic():
            return np.asarray(value).view(NDArray)
        case tuple():
            return Fields(legacy(one, as_lists) for one in value)
        case AdtValue():
            # A list is as deep as it is long: fields are made without recursion.
            return _data_type(value, as_lists)
        case RefValue(inner):
            return RefValue(legacy(inner))
        case Closure():
            return lambda *args: legacy(value(*(plain(one) for one in args)))
    return value


def _data_type(root: AdtValue, as_lists: bool) -> object:
    made: dict[int, object] = {}
    pending: list[AdtValue] = [root]
    while pending:
        one = pending[-1]
        inner = [field for field in one.fields if isinstance(field, AdtValue) and id(field) not in made]
        if inner:
            pending += inner
            continue
        pending.pop()
        fields = tuple(
            made[id(field)] if isinstance(field, AdtValue) else legacy(field, as_lists) for field in one.fields
        )
        made[id(one)] = _fields(one.constructor, fields) if as_lists else AdtValue(one.constructor, fields)
    return made[id(root)]


def _fields(constructor: Constructor, fields: tuple[object, ...]) -> Fields:
    made = Fields(fields)
    made.constructor, made.tag = constructor, tag_of(constructor)
    return made


def plain(value: object) -> object:
    """Return what a script gives, lists as the tuples they stand for, constants as arrays."""
    if isinstance(value, Fields) and value.constructor is not None:
        return AdtValue(value.constructor, tuple(plain(one) for one in value))
    if isinstance(value, (list, tuple)):
        return tuple(plain(one) for one in value)
    return value.data if isinstance(value, Constant) else value


def tuple_object(fields: Iterable[object] = ()) -> Fields:
    """Return a tuple of values."""
    return Fields(fields)
