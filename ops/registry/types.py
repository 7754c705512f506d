"""The types that operators speak; both IRs use them.

type ::= TensorType(shape, dtype) | TupleType(type*) | … (Relay adds functions, ADTs, references)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from relay2relax.core.dtype import check_dtype
from relay2relax.tir.extent import Extent, require_allowed


class Type:
    """Base of all types; types are values."""

    __slots__ = ()


_INTS = frozenset({int})


@dataclass(frozen=True, slots=True)
class TensorType(Type):
    """A tensor of known rank; an extent is an int, a symbolic expression or ``ANY``.

    Integers of numpy become ints. Raises DTypeError, as all types do, where ``dtype`` is not one.
    """

    shape: tuple[Extent, ...]
    dtype: str = "float32"

    def __post_init__(self) -> None:
        check_dtype(self.dtype)
        if not _INTS.issuperset(map(type, self.shape)):
            given: tuple[object, ...] = self.shape
            object.__setattr__(self, "shape", tuple(int(x) if isinstance(x, np.integer) else x for x in given))
        require_allowed(self.shape)

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)


@dataclass(frozen=True, slots=True)
class TupleType(Type):
    """A tuple; ``TupleType(())`` is the unit type."""

    fields: tuple[Type, ...] = ()


@dataclass(frozen=True, slots=True)
class ScalarType(Type):
    """A number that is no tensor, which only Relax has."""

    dtype: str

    def __post_init__(self) -> None:
        check_dtype(self.dtype)


@dataclass(frozen=True, slots=True)
class AnyRankType(Type):
    """A tensor of which not even the rank is known, which only Relax has."""

    dtype: str

    def __post_init__(self) -> None:
        check_dtype(self.dtype)


@dataclass(frozen=True, slots=True)
class NamedType(Type):
    """A type that the module defines, by its name, as an operator's rule gives it.

    Inference finds the definition.
    """

    name: str


def show(shape: Iterable[Extent]) -> str:
    """Return a shape as error messages write it, e.g. ``(2, ?, n)``."""
    return f"({', '.join(map(str, shape))})"
