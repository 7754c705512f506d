"""Values that running programs pass around beside arrays and tuples.

value ::= array | tuple of values | AdtValue | RefValue | a callable closure
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from relay2relax.backends.runtime.arguments import as_array
from relay2relax.relay_ir.ir.expr import Constructor


@dataclass(frozen=True, slots=True)
class AdtValue:
    """A value of an algebraic data type: the constructor that made it, and its fields."""

    constructor: Constructor
    fields: tuple[object, ...] = ()

    def __repr__(self) -> str:
        return f"{self.constructor.name}({', '.join(map(repr, self.fields))})"


@dataclass(slots=True, eq=False)
class RefValue:
    """A mutable cell; two cells are the same only if they are the same object."""

    value: Any


def admitted(value: object, what: str) -> object:
    """Return a value whose arrays are what programs compute with, itself where they are.

    Cells are changed in place. Raises ExecutionError, beginning with ``what``, for an array that
    is not of numbers.
    """
    # Lists are as deep as they are long: values are visited after their fields, without recursion.
    made: dict[int, object] = {}
    pending = [value]
    while pending:
        one = pending[-1]
        fields = _fields(one)
        missing = [field for field in fields if id(field) not in made]
        if missing and id(one) not in made:
            made[id(one)] = one  # A cell may hold itself.
            pending += missing
            continue
        pending.pop()
        found = tuple(made[id(field)] for field in fields)
        made[id(one)] = _with_fields(one, fields, found, what)
    return made[id(value)]


def _fields(value: object) -> tuple[object, ...]:
    match value:
        case AdtValue(_, fields):
            return fields
        case RefValue(inner):
            return (inner,)
        case tuple():
            return value
    return ()


def _with_fields(value: object, old: tuple[object, ...], new: tuple[object, ...], what: str) -> object:
    if isinstance(value, np.ndarray):
        return as_array(value, "", what)
    if all(one is other for one, other in zip(old, new, strict=True)):
        return value
    match value:
        case AdtValue(constructor):
            return AdtValue(constructor, new)
        case RefValue():
            (value.value,) = new
            return value
    return new
