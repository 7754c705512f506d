"""The names that programs write patterns of Relax with, where they differ from Relay's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, Union

from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import patterns as kinds
from relay2relax.core.matching import patterns as core
from relay2relax.core.matching.language import wildcard
from relay2relax.core.matching.patterns import (
    AltPattern,
    CallPattern,
    ConstantPattern,
    DataflowVarPattern,
    DFPattern,
    ExternFuncPattern,
    GlobalVarPattern,
    NotPattern,
    OperatorPattern,
    PrimArrPattern,
    TupleGetItemPattern,
    UnorderedTuplePattern,
)
from relay2relax.core.matching.view import PatternError

# TVM's name in Relax.
OrPattern = AltPattern
StructInfoPattern = core.TypePattern


class TuplePattern(core.TuplePattern):
    """A tuple; ``pattern[0]`` is the pattern of its first field taken out again, ``pattern[None]``
    of any.
    """

    __slots__ = ()

    def __getitem__(self, index: int | None) -> TupleGetItemPattern:
        count = len(self)
        if index is None:
            return TupleGetItemPattern(self)
        if not -count <= index < count:
            raise IndexError(f"a tuple of {count} fields has none at {index}")
        return TupleGetItemPattern(self, index % count)


# The arguments of a function that writes its results: None stands for any.
Arguments: TypeAlias = Union[Sequence[DFPattern], TuplePattern, None]


def is_op(op_name: str) -> OperatorPattern:
    """Return the pattern of an operator: ``relax.matmul``, or as scripts have it, ``matmul``."""
    return OperatorPattern(op_name.removeprefix("relax."))


def is_const() -> ConstantPattern:
    """Return the pattern of any constant."""
    return ConstantPattern()


def is_dfv(name: str = "") -> DataflowVarPattern:
    """Return the pattern of a variable that is seen in its block only."""
    return DataflowVarPattern(name)


def is_gv(name: str = "") -> GlobalVarPattern:
    """Return the pattern of a function of the module whose name has ``name`` in it."""
    return GlobalVarPattern(name)


def is_tuple(fields: Sequence[DFPattern], unordered: bool = False) -> TuplePattern | UnorderedTuplePattern:
    """Return the pattern of a tuple; ``unordered`` lets its fields match in any order."""
    return UnorderedTuplePattern(fields) if unordered else TuplePattern(fields)


def is_shape(shape: Sequence[object]) -> PrimArrPattern:
    """Return the pattern of a shape that is a value; raises PatternError for what is no list."""
    if not isinstance(shape, (list, tuple)):
        raise PatternError(mistake(kinds.PATTERN, what="a shape", expected="a list", found=type(shape).__name__))
    return PrimArrPattern(tuple(shape))


def is_call_tir(func_name: str, args: Arguments = None) -> CallPattern:
    """Return the pattern of a ``call_tir`` of a function whose name has ``func_name`` in it."""
    return is_op("call_tir")(GlobalVarPattern(func_name), _tuple(args), add_constraint=False)


def is_call_dps_packed(func_name: str, args: Arguments = None) -> CallPattern:
    """Return the pattern of a ``call_dps_packed`` of the function ``func_name``."""
    return is_op("call_dps_packed")(ExternFuncPattern(func_name), _tuple(args), add_constraint=False)


def is_call_packed(func_name: str, args: Sequence[DFPattern] | None = None) -> CallPattern:
    """Return the pattern of a call of the external function ``func_name``."""
    if args is None:
        return ExternFuncPattern(func_name)(varg_default_wildcard=True, add_constraint=False)
    return ExternFuncPattern(func_name)(*args)


def reject(pattern: DFPattern) -> NotPattern:
    """Return the pattern of what ``pattern`` does not match."""
    return NotPattern(pattern)


def has_struct_info(struct_info: object, pattern: DFPattern | None = None) -> core.TypePattern:
    """Return the pattern of a value of the struct info."""
    return (pattern or wildcard()).has_struct_info(struct_info)


def has_attr(attrs: Mapping[str, object], pattern: DFPattern | None = None) -> core.AttrPattern:
    """Return the pattern of a call or function with these attributes."""
    return (pattern or wildcard()).has_attr(attrs)


def make_fused_bias_activation_pattern(
    op_name: str, with_bias: bool = False, activation: str | None = None, allow_reshape: bool = False
) -> CallPattern:
    """Return the pattern of an operator with two operands, a bias and an activation behind it.

    With ``allow_reshape`` the bias is reshaped before it is added.
    """
    out = is_op(op_name)(wildcard(), wildcard())
    if with_bias:
        bias: DFPattern = wildcard()
        if allow_reshape:
            bias = is_op("reshape")(bias, wildcard(), varg_default_wildcard=True)
        out = is_op("add")(out, bias, varg_default_wildcard=allow_reshape)
    return is_op(activation)(out) if activation else out


def _tuple(args: Arguments) -> DFPattern:
    if args is None:
        return wildcard()
    return args if isinstance(args, core.TuplePattern) else TuplePattern(args)
