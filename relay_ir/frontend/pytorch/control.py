"""Branches and loops of exported programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, Protocol, TypeAlias, cast

from relay2relax.relay_ir.build.build import var
from relay2relax.relay_ir.frontend.pytorch.context import Conversion, Value
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, If, Let, RelayExpr, TupleGetItem
from relay2relax.relay_ir.ir.types import FuncType, TupleType, Type

# So many steps of a scan are written out.
MOST_STEPS = 16_384


class Subgraphs(Protocol):
    """What the importer does for operators that hold graphs."""

    def subgraph(self, module: Any, args: Sequence[Value]) -> list[Value]:
        """Return what a graph that a node holds returns of ``args``."""


Control: TypeAlias = Callable[[Subgraphs, Conversion, Sequence[Value]], Value]


def refuse_value(at: Conversion, value: Value) -> NoReturn:
    """Refuse what has no expression."""
    at.refuse(f"{value!r} goes in or out of a branch or loop")


def refuse_change(at: Conversion) -> NoReturn:
    """Refuse a loop whose values become of another type."""
    at.refuse("what it carries changes its type")


def _exprs(at: Conversion, values: Sequence[Value]) -> list[Expr]:
    for one in values:
        if not isinstance(one, (RelayExpr, bool, int, float)):
            refuse_value(at, one)
    return [one if isinstance(one, RelayExpr) else at.with_args([one]).tensor(0) for one in values]


def _scalar(at: Conversion, expr: Expr) -> Expr:
    return at.call("reshape", expr, ()) if at.rank(expr) else expr


def _cond(importer: Subgraphs, at: Conversion, args: Sequence[Value]) -> Value:
    """``cond(predicate, true, false, operands)``."""
    predicate, then, otherwise, operands = args
    given = cast("list[Value]", operands)
    if isinstance(predicate, bool):
        return importer.subgraph(then if predicate else otherwise, given)
    arms = [_exprs(at, importer.subgraph(one, given)) for one in (then, otherwise)]
    types = [at.types.of(one) for one in arms[0]]
    if types != [at.types.of(one) for one in arms[1]]:
        at.refuse("its branches give tensors of several types")
    made = If(_scalar(at, at.tensor(0)), at.tuple(arms[0]), at.tuple(arms[1]), span=at.span)
    return list(at.fields(at.types.state(made, TupleType(tuple(types)))))


def _while(importer: Subgraphs, at: Conversion, args: Sequence[Value]) -> Value:
    """``while_loop(condition, body, carried, others)``: a function that calls itself."""
    condition, body, carried, others = args
    start = _exprs(at, cast("list[Value]", carried))
    held = cast("list[Value]", others) or []
    types = [at.type_of(one) for one in start]
    state = [var(f"carried_{place}", one) for place, one in enumerate(types)]
    following = _exprs(at, importer.subgraph(body, [*state, *held]))
    if [at.types.of(one) for one in following] != types:
        refuse_change(at)
    (going,) = _exprs(at, importer.subgraph(condition, [*state, *held]))
    result = TupleType(tuple(types))
    loop = var("loop", FuncType(tuple(cast("list[Type]", types)), result))
    again = Call(loop, tuple(following), span=at.span)
    inner = If(_scalar(at, going), again, at.tuple(state), span=at.span)
    whole = Let(loop, Function(tuple(state), inner, result), Call(loop, tuple(start), span=at.span))
    made = at.types.state(whole, result)
    return [at.types.state(TupleGetItem(made, place), one) for place, one in enumerate(types)]


def _scan(importer: Subgraphs, at: Conversion, args: Sequence[Value]) -> Value:
    """``scan(body, carried, scanned, others)``: a turn for each place of the first axis."""
    body, carried, scanned, others = args
    state: list[Value] = list(_exprs(at, cast("list[Value]", carried)))
    inputs = _exprs(at, cast("list[Value]", scanned))
    count = at.shape(inputs[0])[0]
    if count > MOST_STEPS:
        at.refuse(f"it has {count} turns, and up to {MOST_STEPS} are written out")
    columns: list[list[Expr]] = []
    for turn in range(count):
        parts = [at.call("take", one, at.const(turn, "int64"), axis=0) for one in inputs]
        found = _exprs(at, importer.subgraph(body, [*state, *parts, *(cast("list[Value]", others) or [])]))
        state = list(found[: len(state)])
        columns.append(found[len(state) :])
    stacked = [at.call("stack", at.tuple(column), axis=0) for column in zip(*columns, strict=True)]
    return [*state, *stacked]


def _inlined(skipped: int) -> Control:
    """A graph that runs under a setting, which is said in front of it."""

    def convert(importer: Subgraphs, at: Conversion, args: Sequence[Value]) -> Value:
        return importer.subgraph(args[skipped], args[skipped + 1 :])

    return convert


CONTROL: Mapping[str, Control] = {
    "cond": _cond, "while_loop": _while, "scan": _scan, "wrap_with_set_grad_enabled": _inlined(1),
    "wrap_with_autocast": _inlined(4),
}  # fmt: skip
