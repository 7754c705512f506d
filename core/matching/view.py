"""What the matcher asks of a program.

Each IR answers by a :class:`View` of its expressions, and registers here what it does with
patterns. Nodes are told apart by hash and equality.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import singledispatch
from typing import Any, Protocol, TypeAlias

from relay2relax.core.errors import Relay2RelaxError, mistake
from relay2relax.core.errors.table import patterns as kinds

# What no attribute is equal to.
ABSENT = object()


class PatternError(Relay2RelaxError):
    """A pattern cannot be made of what was given, or cannot be applied."""

    kind = kinds.PATTERN


class View(Protocol):
    """A program as the matcher sees it. What a node is not, is None.

    ``any_pattern_commutes``: whether operands of ``add`` may stand in either order for every
    pattern that matches ``add``, or for patterns that name it alone.
    """

    any_pattern_commutes: bool

    def value(self, node: Hashable) -> Hashable:
        """Return what ``node`` stands for: the value of a variable that is bound, or itself."""

    def inputs(self, node: Hashable) -> Sequence[Hashable]:
        """Return the nodes that ``node`` is computed from, in their order."""

    def order(self) -> Sequence[Hashable]:
        """Return all nodes, each behind its inputs."""

    def flows(self) -> Iterator[tuple[Hashable, Hashable]]:
        """Yield every pair of a node and a node that uses it."""

    def operator(self, node: Hashable) -> str | None:
        """Return the name, where ``node`` is an operator."""

    def call(self, node: Hashable) -> tuple[Hashable, Sequence[Hashable]] | None:
        """Return what a call calls, and its arguments."""

    def fields(self, node: Hashable) -> Sequence[Hashable] | None:
        """Return the fields of a tuple."""

    def projection(self, node: Hashable) -> tuple[Hashable, int] | None:
        """Return the tuple of which ``node`` is a field, and which."""

    def function(self, node: Hashable) -> tuple[Sequence[Hashable], Hashable] | None:
        """Return the parameters and the body of a function."""

    def branches(self, node: Hashable) -> tuple[Hashable, Hashable, Hashable] | None:
        """Return the condition and both branches."""

    def binding(self, node: Hashable) -> tuple[Hashable, Hashable, Hashable] | None:
        """Return the variable, the value and the body of a let."""

    def variable(self, node: Hashable) -> str | None:
        """Return the name of a variable."""

    def is_dataflow(self, node: Hashable) -> bool:
        """Whether ``node`` is a variable that is seen in its block only."""

    def global_name(self, node: Hashable) -> str | None:
        """Return the name of a function of the module."""

    def external_name(self, node: Hashable) -> str | None:
        """Return the name of a function outside of the module."""

    def shape_value(self, node: Hashable) -> tuple[object, ...] | None:
        """Return the extents of a shape that is a value."""

    def is_constant(self, node: Hashable) -> bool:
        """Whether ``node`` is a constant."""

    def attribute(self, node: Hashable, name: str) -> object:
        """Return an attribute of a call, function or operator; ABSENT where it has none."""

    def admits(self, wanted: object, node: Hashable, known: Mapping[Any, Any]) -> Mapping[Any, Any] | None:
        """Return ``known`` and what else variables of the type ``wanted`` stand for, given
        ``node``.

        None where the node is of another type. Raises an error of ours where its type cannot be
        inferred.
        """

    def shape_and_dtype(self, node: Hashable) -> tuple[object, str] | None:
        """Return those of a tensor."""

    def alike(self, one: object, other: object) -> bool:
        """Whether two expressions, types or shapes are built alike."""


# The nodes that a part of a pattern matched: one, but along the path of a dominator.
Found: TypeAlias = "dict[Any, list[Hashable]]"


@singledispatch
def matched(expr: object, pattern: Hashable, values: Mapping[Any, Any] | None = None) -> Found | None:
    """Return what the parts of ``pattern`` matched in ``expr``, None where it is built otherwise.

    ``values`` are those of variables that are bound beside it. Raises PatternError for what is no
    program.
    """
    raise PatternError(
        mistake(kinds.PATTERN, what="what is matched", expected="an expression", found=type(expr).__name__)
    )


@singledispatch
def matched_block(block: object, context: Any) -> Mapping[Any, Any] | None:
    """Return the variables of ``block`` that patterns match under the constraints of ``context``.

    Raises PatternError for what is no dataflow block.
    """
    raise PatternError(
        mistake(kinds.PATTERN, what="what is matched", expected="a dataflow block", found=type(block).__name__)
    )


@singledispatch
def partitioned(
    expr: object, pattern: Hashable, attrs: Mapping[str, object], check: Callable[[Hashable], bool]
) -> object:
    """Return ``expr`` with calls of functions for what ``pattern`` matches and ``check`` takes.

    Raises PatternError for what is no program, or a program of an IR whose functions are not made
    so.
    """
    raise PatternError(
        mistake(kinds.PATTERN, what="what is partitioned", expected="an expression of Relay", found=type(expr).__name__)
    )
