"""Values that running programs pass around beside arrays and tuples.

value ::= array | tuple of values | AdtValue | RefValue | a callable closure
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
