"""Patterns as data.

    pattern ::= wildcard | is_var | is_constant | is_expr | is_op
              | pattern(pattern*) | is_tuple | is_tuple_get_item | is_if | is_let | FunctionPattern
              | pattern "|" pattern | dominates(parent, path, child)
              | pattern with a type, a dtype, a shape or attributes

A pattern is equal to itself only: where one stands at two places, both must match the same node.
Names and meaning are those of ``tvm.relay.dataflow_pattern``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import patterns as kinds
from relay2relax.core.matching.view import PatternError, matched, partitioned


def _every(_: object) -> bool:
    return True


class DFPattern:
    """Base of all patterns; Python's operators make patterns of calls."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __call__(self, *args: DFPattern | None) -> CallPattern:
        """Return a call of what this matches; ``pattern(None)`` is a call with any arguments."""
        return CallPattern(self, None if args == (None,) else _patterns(cast("tuple[DFPattern, ...]", args)))

    def __or__(self, other: DFPattern) -> AltPattern:
        return AltPattern(self, _pattern(other))

    def __add__(self, other: DFPattern) -> CallPattern:
        return is_op("add")(self, other)

    def __sub__(self, other: DFPattern) -> CallPattern:
        return is_op("subtract")(self, other)

    def __mul__(self, other: DFPattern) -> CallPattern:
        return is_op("multiply")(self, other)

    def __truediv__(self, other: DFPattern) -> CallPattern:
        return is_op("divide")(self, other)

    def has_attr(self, attrs: Mapping[str, object]) -> AttrPattern:
        """Return this pattern of a call, function or operator that has these attributes."""
        return AttrPattern(self, dict(attrs))

    def has_type(self, ttype: object) -> TypePattern:
        """Return this pattern of a value of the type."""
        return TypePattern(self, ttype)

    def has_dtype(self, dtype: str) -> DataTypePattern:
        """Return this pattern of a tensor of the dtype."""
        return DataTypePattern(self, dtype)

    def has_shape(self, shape: Iterable[object]) -> ShapePattern:
        """Return this pattern of a tensor of the shape."""
        return ShapePattern(self, tuple(shape))

    def match(self, expr: object) -> bool:
        """Whether ``expr`` is built as the pattern says; raises PatternError for no expression."""
        return matched(expr, self)

    def partition(
        self,
        expr: object,
        attrs: Mapping[str, object] | None = None,
        check: Callable[[Hashable], bool] = _every,
    ) -> object:
        """Return ``expr`` with a call of a function for each part that matches.

        The function has ``attrs``, and ``PartitionedFromPattern`` besides. ``check`` is asked of
        each part that matches. Raises PatternError for what is no expression of Relay.
        """
        return partitioned(expr, self, attrs or {}, check)

    def dominates(self, parent: DFPattern, path: DFPattern | None = None) -> DominatorPattern:
        """Return the pattern of a value as this, made of ``parent`` by way of ``path`` alone."""
        return DominatorPattern(parent, path or WildcardPattern(), self)

    def optional(self, option_constructor: Callable[[DFPattern], DFPattern]) -> AltPattern:
        """Return this pattern, or what ``option_constructor`` makes of it."""
        return self | option_constructor(self)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ExprPattern(DFPattern):
    """An expression that is built like ``expr``."""

    expr: object


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OperatorPattern(DFPattern):
    """The operator of a name."""

    name: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class VarPattern(DFPattern):
    """A variable, of that name where one is given."""

    name: str = ""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ConstantPattern(DFPattern):
    """Any constant."""


@dataclass(slots=True, eq=False, repr=False)
class WildcardPattern(DFPattern):
    """Anything, or what it was redirected to: so a pattern may contain itself."""

    pattern: DFPattern | None = field(default=None, init=False)

    def redirect_to(self, pattern: DFPattern) -> None:
        """Let this stand for ``pattern``."""
        self.pattern = _pattern(pattern)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CallPattern(DFPattern):
    """A call; ``args`` is None for any arguments."""

    op: DFPattern
    args: tuple[DFPattern, ...] | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FunctionPattern(DFPattern):
    """A function; ``params`` is None for any parameters."""

    params: Sequence[DFPattern] | None
    body: DFPattern

    def __post_init__(self) -> None:
        if self.params is not None:
            object.__setattr__(self, "params", _patterns(self.params))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IfPattern(DFPattern):
    """A condition and both branches."""

    cond: DFPattern
    true_branch: DFPattern
    false_branch: DFPattern


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LetPattern(DFPattern):
    """A variable, its value, and what is computed with it."""

    var: DFPattern
    value: DFPattern
    body: DFPattern


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TuplePattern(DFPattern):
    """A tuple; ``fields`` is None for any fields."""

    fields: Sequence[DFPattern] | None

    def __post_init__(self) -> None:
        if self.fields is not None:
            object.__setattr__(self, "fields", _patterns(self.fields))

    def __getitem__(self, index: int) -> DFPattern:
        return (self.fields or ())[index]

    def __len__(self) -> int:
        return len(self.fields or ())


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TupleGetItemPattern(DFPattern):
    """A field of a tuple; ``index`` is None for any of them."""

    tuple: DFPattern
    index: int | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AltPattern(DFPattern):
    """What one of both matches; ``left`` is tried first."""

    left: DFPattern
    right: DFPattern


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TypePattern(DFPattern):
    """A value of a type."""

    pattern: DFPattern
    type: object


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DataTypePattern(DFPattern):
    """A tensor of a dtype."""

    pattern: DFPattern
    dtype: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ShapePattern(DFPattern):
    """A tensor of a shape."""

    pattern: DFPattern
    shape: tuple[object, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AttrPattern(DFPattern):
    """A call, function or operator with these attributes, whatever others it has."""

    pattern: DFPattern
    attrs: Mapping[str, object]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DominatorPattern(DFPattern):
    """``child``, all of whose inputs come from one ``parent``, by way of nodes as ``path``."""

    parent: DFPattern
    path: DFPattern
    child: DFPattern


def parts(pattern: DFPattern) -> tuple[DFPattern, ...]:
    """Return the patterns that ``pattern`` is made of, in the order of TVM's walks."""
    match pattern:
        case CallPattern(op, args):
            return (op, *(args or ()))
        case FunctionPattern(params, body):
            return (*(params or ()), body)
        case IfPattern(condition, then, otherwise):
            return (condition, then, otherwise)
        case LetPattern(var, value, body):
            return (var, value, body)
        case TuplePattern(given):
            return tuple(given or ())
        case TupleGetItemPattern(value):
            return (value,)
        case AltPattern(left, right):
            return (left, right)
        case DominatorPattern(parent, path, child):
            return (parent, path, child)
        case TypePattern(inner) | DataTypePattern(inner) | ShapePattern(inner) | AttrPattern(inner):
            return (inner,)
        case WildcardPattern() if pattern.pattern is not None:
            return (pattern.pattern,)
    return ()


# --- the names that programs use ------------------------------------------------------------------


def wildcard() -> WildcardPattern:
    """Return the pattern of anything."""
    return WildcardPattern()


def is_var(name: str = "") -> VarPattern:
    """Return the pattern of a variable, of that name where one is given."""
    return VarPattern(name)


def is_constant() -> ConstantPattern:
    """Return the pattern of any constant."""
    return ConstantPattern()


def is_expr(expr: object) -> ExprPattern:
    """Return the pattern of expressions that are built like ``expr``."""
    return ExprPattern(expr)


def is_op(op_name: str) -> OperatorPattern:
    """Return the pattern of an operator."""
    return OperatorPattern(op_name)


def is_tuple(fields: Sequence[DFPattern] | None) -> TuplePattern:
    """Return the pattern of a tuple; None stands for any fields."""
    return TuplePattern(fields)


def is_tuple_get_item(tuple_value: DFPattern, index: int | None = None) -> TupleGetItemPattern:
    """Return the pattern of a field of a tuple; None stands for any of them."""
    return TupleGetItemPattern(_pattern(tuple_value), index)


def is_if(cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern) -> IfPattern:
    """Return the pattern of a condition and both branches."""
    return IfPattern(*_patterns((cond, true_branch, false_branch)))


def is_let(var: DFPattern, value: DFPattern, body: DFPattern) -> LetPattern:
    """Return the pattern of a let."""
    return LetPattern(*_patterns((var, value, body)))


def has_type(ttype: object, pattern: DFPattern | None = None) -> TypePattern:
    """Return the pattern of a value of a type."""
    return (pattern or wildcard()).has_type(ttype)


def has_dtype(dtype: str, pattern: DFPattern | None = None) -> DataTypePattern:
    """Return the pattern of a tensor of a dtype."""
    return (pattern or wildcard()).has_dtype(dtype)


def has_shape(shape: Iterable[object], pattern: DFPattern | None = None) -> ShapePattern:
    """Return the pattern of a tensor of a shape."""
    return (pattern or wildcard()).has_shape(shape)


def has_attr(attrs: Mapping[str, object], pattern: DFPattern | None = None) -> AttrPattern:
    """Return the pattern of a call, function or operator with these attributes."""
    return (pattern or wildcard()).has_attr(attrs)


def dominates(parent: DFPattern, path: DFPattern, child: DFPattern) -> DominatorPattern:
    """Return the pattern of ``child``, made of one ``parent`` by way of ``path`` alone."""
    return DominatorPattern(*_patterns((parent, path, child)))


def match(pattern: DFPattern, expr: object) -> bool:
    """Whether ``expr`` is built as ``pattern`` says; raises PatternError for no expression."""
    return _pattern(pattern).match(expr)


def _pattern(given: DFPattern) -> DFPattern:
    """Return ``given``; raises PatternError where it is no pattern."""
    if not isinstance(given, DFPattern):
        raise PatternError(
            mistake(kinds.PATTERN, what="a part of a pattern", expected="a pattern", found=type(given).__name__)
        )
    return given


def _patterns(given: Iterable[DFPattern]) -> tuple[DFPattern, ...]:
    return tuple(map(_pattern, given))
