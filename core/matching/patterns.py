"""Patterns as data.

    pattern ::= wildcard | is_var | is_constant | is_expr | is_op
              | pattern(pattern*) | is_tuple | is_tuple_get_item | is_if | is_let | FunctionPattern
              | pattern "|" pattern | dominates(parent, path, child)
              | pattern with a type, a dtype, a shape or attributes

and in Relax also

              | is_dfv | is_gv | ExternFuncPattern | is_shape | is_tuple in any order
              | pattern "&" pattern | ~pattern

A pattern is equal to itself only: where one stands at two places, both must match the same node.
Names and meaning are those of ``tvm.relay.dataflow_pattern`` and ``tvm.relax.dpl``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from relay2relax.core.errors import mistake
from relay2relax.core.errors.extensions import ask
from relay2relax.core.errors.table import patterns as kinds
from relay2relax.core.matching.constraints import (
    PatternSeq,
    SameShapeConstraint,
    Use,
    joined,
    note_arguments,
)
from relay2relax.core.matching.view import PatternError, matched, partitioned

Self = TypeVar("Self", bound="DFPattern")


def _every(_: object) -> bool:
    return True


class DFPattern:
    """Base of all patterns; Python's operators make patterns of calls."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __call__(
        self, *args: DFPattern | None, varg_default_wildcard: bool = False, add_constraint: bool = True
    ) -> CallPattern:
        """Return a call of what this matches; ``pattern(None)`` is a call with any arguments.

        With ``varg_default_wildcard`` any others may follow the arguments. Within a
        ``PatternContext`` the call uses its arguments, unless ``add_constraint`` is False.
        """
        given = None if args == (None,) else as_patterns(cast("tuple[DFPattern, ...]", args))
        call = CallPattern(self, given, varg_default_wildcard)
        if add_constraint:
            note_arguments(call, given or ())
        return call

    def __or__(self, other: DFPattern) -> AltPattern:
        return AltPattern(self, as_pattern(other))

    def __and__(self, other: DFPattern) -> AndPattern:
        return AndPattern(self, as_pattern(other))

    def __invert__(self) -> NotPattern:
        return NotPattern(self)

    def __xor__(self, other: DFPattern | PatternSeq) -> PatternSeq:
        return self.used_by(other)

    def __rshift__(self, other: DFPattern | PatternSeq) -> PatternSeq:
        return self.only_used_by(other)

    def __add__(self, other: DFPattern) -> CallPattern:
        return OperatorPattern("add")(self, other)

    def __sub__(self, other: DFPattern) -> CallPattern:
        return OperatorPattern("subtract")(self, other)

    def __mul__(self, other: DFPattern) -> CallPattern:
        return OperatorPattern("multiply")(self, other)

    def __truediv__(self, other: DFPattern) -> CallPattern:
        return OperatorPattern("divide")(self, other)

    def has_attr(self, attrs: Mapping[str, object]) -> AttrPattern:
        """Return this pattern of a call, function or operator that has these attributes."""
        if not isinstance(attrs, Mapping):
            raise unfit("what has_attr is given", "a mapping", attrs)
        return AttrPattern(self, dict(attrs))

    def has_type(self, ttype: object) -> TypePattern:
        """Return this pattern of a value of the type."""
        return TypePattern(self, ttype)

    def has_ty(self, ty: object) -> TypePattern:
        """Return this pattern of a value of the struct info, as TVM 0.27 calls it."""
        return TypePattern(self, ty)

    def has_struct_info(self, struct_info: object) -> TypePattern:
        """Return this pattern of a value of the struct info, whose dimensions stand for any."""
        return TypePattern(self, struct_info)

    def has_dtype(self, dtype: str) -> DataTypePattern:
        """Return this pattern of a tensor of the dtype."""
        return DataTypePattern(self, dtype)

    def has_shape(self, shape: Iterable[object]) -> ShapePattern:
        """Return this pattern of a tensor of the shape."""
        if not isinstance(shape, Iterable):
            raise unfit("what has_shape is given", "a shape", shape)
        return ShapePattern(self, tuple(shape))

    def match(self, expr: object, var2val: Mapping[Any, Any] | None = None) -> bool:
        """Whether ``expr`` is built as the pattern says; raises PatternError for no expression.

        ``var2val`` are the values of variables that are bound beside ``expr``.
        """
        return matched(expr, self, var2val) is not None

    def extract_matched_expr(self, expr: Any, var2val: Mapping[Any, Any] | None = None) -> dict[DFPattern, Any] | None:
        """Return what each part of the pattern matched, None where ``expr`` is built otherwise.

        Raises PatternError for no expression.
        """
        found = matched(expr, self, var2val)
        return None if found is None else {pattern: nodes[0] for pattern, nodes in found.items()}

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
        return DominatorPattern(as_pattern(parent), as_pattern(path or WildcardPattern()), self)

    def optional(self, option_constructor: Callable[[DFPattern], DFPattern]) -> AltPattern:
        """Return this pattern, or what ``option_constructor`` makes of it."""
        return self | ask(option_constructor, self, what="what optional is given")

    def used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """Return the chain of this and ``other``, which uses it, as its ``index``-th variable."""
        return joined(self, other, Use(False, index))

    def only_used_by(self, other: DFPattern | PatternSeq, index: int = -1) -> PatternSeq:
        """Return the chain of this and ``other``, which alone uses it."""
        return joined(self, other, Use(True, index))

    def fork_to(self, *others: DFPattern | PatternSeq) -> None:
        """Let each of ``others`` use this."""
        for other in others:
            self.used_by(other)

    def same_shape_as(self, *others: DFPattern) -> SameShapeConstraint:
        """Let this and ``others`` have one shape."""
        return SameShapeConstraint(self, *others)

    def dup(self: Self) -> Self:
        """Return a pattern like this one of the same parts, which is another one."""
        return copy(self)


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
class DataflowVarPattern(VarPattern):
    """A variable that is seen in its block only."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GlobalVarPattern(DFPattern):
    """A function of the module whose name has ``name`` in it."""

    name: str = ""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ExternFuncPattern(DFPattern):
    """A function outside of the module, of that name where one is given."""

    global_symbol: str = ""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ConstantPattern(DFPattern):
    """Any constant."""


@dataclass(slots=True, eq=False, repr=False)
class WildcardPattern(DFPattern):
    """Anything, or what it was redirected to: so a pattern may contain itself."""

    pattern: DFPattern | None = field(default=None, init=False)

    def redirect_to(self, pattern: DFPattern) -> None:
        """Let this stand for ``pattern``."""
        self.pattern = as_pattern(pattern)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CallPattern(DFPattern):
    """A call; ``args`` is None for any arguments, and others may follow where it says so."""

    op: DFPattern
    args: tuple[DFPattern, ...] | None
    varg_default_wildcard: bool = False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FunctionPattern(DFPattern):
    """A function; ``params`` is None for any parameters."""

    params: Sequence[DFPattern] | None
    body: DFPattern

    def __post_init__(self) -> None:
        if self.params is not None:
            object.__setattr__(self, "params", as_patterns(self.params))


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
            object.__setattr__(self, "fields", as_patterns(self.fields))

    def __getitem__(self, index: int) -> DFPattern:
        return (self.fields or ())[index]

    def __len__(self) -> int:
        return len(self.fields or ())


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class UnorderedTuplePattern(DFPattern):
    """A tuple whose fields match in some order."""

    fields: Sequence[DFPattern]

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", as_patterns(self.fields))

    def __len__(self) -> int:
        return len(self.fields)


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
class AndPattern(DFPattern):
    """What both match."""

    left: DFPattern
    right: DFPattern


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NotPattern(DFPattern):
    """What another does not match."""

    reject: DFPattern


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PrimArrPattern(DFPattern):
    """A shape that is a value."""

    fields: tuple[object, ...]

    def __getitem__(self, index: int) -> object:
        return self.fields[index]

    def __len__(self) -> int:
        return len(self.fields)


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
        case UnorderedTuplePattern(given):
            return tuple(given)
        case AltPattern(left, right) | AndPattern(left, right):
            return (left, right)
        case NotPattern(rejected):
            return (rejected,)
        case DominatorPattern(parent, path, child):
            return (parent, path, child)
        case TypePattern(inner) | DataTypePattern(inner) | ShapePattern(inner) | AttrPattern(inner):
            return (inner,)
        case WildcardPattern() if pattern.pattern is not None:
            return (pattern.pattern,)
    return ()


def unfit(what: str, expected: str, found: object) -> PatternError:
    """Return the error for what a pattern cannot be made of, or applied to."""
    return PatternError(mistake(kinds.PATTERN, what=what, expected=expected, found=type(found).__name__))


def as_pattern(given: DFPattern) -> DFPattern:
    """Return ``given``; raises PatternError where it is no pattern."""
    if not isinstance(given, DFPattern):
        raise unfit("a part of a pattern", "a pattern", given)
    return given


def as_patterns(given: Iterable[DFPattern]) -> tuple[DFPattern, ...]:
    """Return patterns; raises PatternError where one of them, or all of it, is none."""
    if not isinstance(given, Iterable):
        raise unfit("the parts of a pattern", "patterns in a row", given)
    return tuple(map(as_pattern, given))
