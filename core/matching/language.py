"""The names that programs write patterns with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from relay2relax.core.matching.patterns import (
    AttrPattern,
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    FunctionPattern,
    IfPattern,
    LetPattern,
    OperatorPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
    as_pattern,
    as_patterns,
)


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


def is_function(params: Sequence[DFPattern] | None = None, body: DFPattern | None = None) -> FunctionPattern:
    """Return the pattern of a function; None stands for any parameters, and for any body."""
    return FunctionPattern(params, wildcard() if body is None else as_pattern(body))


def is_tuple(fields: Sequence[DFPattern] | None) -> TuplePattern:
    """Return the pattern of a tuple; None stands for any fields."""
    return TuplePattern(fields)


def is_tuple_get_item(tuple_value: DFPattern, index: int | None = None) -> TupleGetItemPattern:
    """Return the pattern of a field of a tuple; None stands for any of them."""
    return TupleGetItemPattern(as_pattern(tuple_value), index)


def is_if(cond: DFPattern, true_branch: DFPattern, false_branch: DFPattern) -> IfPattern:
    """Return the pattern of a condition and both branches."""
    return IfPattern(*as_patterns((cond, true_branch, false_branch)))


def is_let(var: DFPattern, value: DFPattern, body: DFPattern) -> LetPattern:
    """Return the pattern of a let."""
    return LetPattern(*as_patterns((var, value, body)))


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
    return DominatorPattern(*as_patterns((parent, path, child)))


def match(pattern: DFPattern, expr: object) -> bool:
    """Whether ``expr`` is built as ``pattern`` says; raises PatternError for no expression."""
    return as_pattern(pattern).match(expr)
