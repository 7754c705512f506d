"""Functions that end in a call of themselves, which ONNX says as ``Loop``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from relay2relax.graph.formats.onnx.builder import Value
from relay2relax.ops.registry.types import TensorType
from relay2relax.relax_ir.ir.expr import (
    Binding,
    Call,
    Expr,
    Function,
    GlobalVar,
    If,
    MatchCast,
    SeqExpr,
    Var,
)
from relay2relax.relax_ir.ir.struct_info import ShapeStructInfo, StructInfo, TensorStructInfo, TupleStructInfo
from relay2relax.relax_ir.ir.visit import all_sequences, bindings
from relay2relax.tir.extent import ANY, static


@dataclass(frozen=True, slots=True)
class While:
    """A function as a loop: while ``condition``, which ``before`` computes, is ``wanted``, the
    parameters become ``state``, which ``again`` computes; then the result is that of ``last``.
    """

    params: Sequence[Var]
    before: Sequence[Binding | MatchCast]
    condition: Expr
    wanted: bool
    again: SeqExpr
    state: Sequence[Expr]
    last: SeqExpr


def as_while(function: Function, name: str) -> While | None:
    """Return a function as a loop, None where it is no loop: it ends in a branch of which one arm
    ends in its only call of itself.
    """
    before = list(bindings(function.body))
    branch = _source(function.body.body, before)
    if branch is None or not isinstance(branch.value, If) or len(list(_calls(function.body, name))) != 1:
        return None
    condition, arms = branch.value.condition, (branch.value.true_branch, branch.value.false_branch)
    for again, last, wanted in ((arms[0], arms[1], True), (arms[1], arms[0], False)):
        call = _source(again.body, list(bindings(again)))
        if call is not None and isinstance(call.value, Call) and _is_call(call.value, name):
            at = before.index(branch)
            return While(function.params, before[:at], condition, wanted, again, call.value.args, last)
    return None


def calls_itself(function: Function, name: str) -> bool:
    """Whether a function calls itself by its name."""
    return any(True for _ in _calls(function.body, name))


def _calls(body: SeqExpr, name: str) -> Iterator[Binding | MatchCast]:
    for sequence in all_sequences((body,)):
        for binding in bindings(sequence):
            if _is_call(binding.value, name):
                yield binding


def _is_call(value: Expr, name: str) -> bool:
    match value:
        case Call(GlobalVar(called)):
            return called == name
    return False


def has_states(function: Function) -> bool:
    """Whether all that goes from round to round is tensors of known rank, and shapes."""
    stack = [param.info for param in function.params]
    while stack:
        one = stack.pop()
        if isinstance(one, TupleStructInfo):
            stack += one.fields
        elif not isinstance(one, (TensorStructInfo, ShapeStructInfo)) or one.ndim < 0:
            return False
    return True


def states(info: StructInfo) -> Iterator[TensorType]:
    """Yield the types of the tensors of a value, whose open extents may differ in every round."""
    match info:
        case TensorStructInfo(shape, dtype, ndim):
            extents = (ANY,) * ndim if shape is None else shape
            yield TensorType(tuple(ANY if static(one) is None else one for one in extents), dtype)
        case ShapeStructInfo(ndim=ndim):
            yield TensorType((ndim,), "int64")
        case TupleStructInfo(fields):
            for one in fields:
                yield from states(one)


def packed(params: Sequence[Var], names: Sequence[str]) -> list[Value]:
    """Return the tensors of values as the values of parameters."""
    rest = iter(names)

    def value(info: StructInfo) -> Value:
        return tuple(map(value, info.fields)) if isinstance(info, TupleStructInfo) else next(rest)

    return [value(param.info) for param in params]


def _source(result: Expr, bound: Sequence[Binding | MatchCast]) -> Binding | MatchCast | None:
    """Return the binding whose value a result is, under whatever names."""
    by_var = {binding.var: binding for binding in bound}
    while isinstance(result, Var) and result in by_var:
        found = by_var[result]
        if not isinstance(found.value, Var):
            return found
        result = found.value
    return None
