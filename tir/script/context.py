"""What the readers of a script share: the text and its mistakes, its dialect, and its names."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, Union

from relay2relax.core.script_scope import Scopes
from relay2relax.core.script_source import ScriptSource
from relay2relax.tir.ir.expr import PrimExpr
from relay2relax.tir.script.dialect import Dialect

# A number whose dtype the place decides, or an expression.
Value: TypeAlias = Union[PrimExpr, int, float, bool, str]


@dataclass(frozen=True, slots=True)
class ReadContext:
    """What the readers of one function share.

    ``source`` is the text, with the mistakes found in it. ``beside`` is what the script carries
    beside its text, by type.
    """

    source: ScriptSource
    dialect: Dialect
    scopes: Scopes
    beside: Mapping[str, Sequence[object]]

    def with_names(self, outermost: Mapping[str, object]) -> ReadContext:
        """Return the context of another function of the text, in which ``outermost`` is defined."""
        return ReadContext(self.source, self.dialect, Scopes(self.source, self.scopes.outside, outermost), self.beside)


class Scalars(Protocol):
    """The reader of scalar expressions, as the readers of their parts see it."""

    def expr(self, node: ast.AST, dtype: str = "") -> PrimExpr:
        """Return ``node`` as an expression; a bare number is of ``dtype`` where that is given."""
        ...

    def value(self, node: ast.AST) -> Value:
        """Return ``node`` as an expression, or as a Python number where it says no dtype."""
        ...
