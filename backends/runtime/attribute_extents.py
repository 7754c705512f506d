"""The symbolic extents in an operator's attributes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from relay2relax.tir.ir.expr import PrimExpr, Var
from relay2relax.tir.ir.visit import variables


def attribute_extents(attrs: Any) -> Iterator[PrimExpr]:
    """Yield the symbolic extents in the fields of an attribute object."""
    stack = [getattr(attrs, one.name) for one in fields(attrs)]
    while stack:
        value = stack.pop()
        if isinstance(value, tuple):
            stack += value
        elif isinstance(value, PrimExpr):
            yield value


def attribute_variables(attrs: Any) -> tuple[Var, ...]:
    """Return the variables of the symbolic extents in ``attrs``, each once."""
    return tuple(dict.fromkeys(var for extent in attribute_extents(attrs) for var in variables(extent)))
