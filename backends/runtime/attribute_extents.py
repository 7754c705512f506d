"""The symbolic extents in an operator's attributes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING

from relay2relax.tir.ir.expr import PrimExpr, Var
from relay2relax.tir.ir.visit import variables

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def attribute_extents(attrs: DataclassInstance) -> Iterator[PrimExpr]:
    """Yield the symbolic extents in the fields of an attribute object."""
    stack = [getattr(attrs, one.name) for one in fields(attrs)]
    while stack:
        value = stack.pop()
        if isinstance(value, tuple):
            stack += value
        elif isinstance(value, PrimExpr):
            yield value


def attribute_variables(attrs: DataclassInstance) -> tuple[Var, ...]:
    """Return the variables of the symbolic extents in ``attrs``, each once."""
    return tuple(dict.fromkeys(var for extent in attribute_extents(attrs) for var in variables(extent)))
