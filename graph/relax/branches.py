"""What a branch gives where its arms give values that are known beforehand.

Which arm is taken only the running program knows. Where both give the same constructors, tuples and
functions, only the Relax values inside them differ, and those are what the branch gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import translating
from relay2relax.core.walk import post_order
from relay2relax.graph.relax.values import Closure, Data, Fields, Lifted, Maker, Value, is_known, what
from relay2relax.relax_ir import Call, Function, IRModule, Tuple, Var
from relay2relax.relax_ir import Expr as RelaxExpr
from relay2relax.relax_ir.analysis import contains_impure_call, free_symbolic_vars
from relay2relax.relax_ir.inference.op_signatures import Argument, ForeignAttrs, foreign_op
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.visit import free_variables, values
from relay2relax.relax_ir.transform.dead_code import without_unused

# The two values that the arms of a branch give, or parts of them that stand in the same place.
Pair: TypeAlias = "tuple[Value, Value]"


def differing(pair: Pair, node: str) -> list[tuple[RelaxExpr, RelaxExpr]]:
    """Return the pairs of Relax values in which the two values of ``pair`` differ, each once.

    Raises UnsupportedError where anything else differs; ``node`` gives them.
    """
    found: list[tuple[RelaxExpr, RelaxExpr]] = []
    for one in post_order((pair,), lambda pair: _parts(pair) or ()):
        first, second = one
        if _parts(one) is not None:
            continue
        if is_known(first) or is_known(second):
            raise UnsupportedError(mistake(translating.UNLIKE_ARMS, node=node, given=_unlike(first, second)))
        found.append((first, second))
    return found


def merged(pair: Pair, chosen: Mapping[Pair, RelaxExpr]) -> Value:
    """Return the value that both values of ``pair`` are; ``chosen`` stand for what differs."""
    made: dict[Pair, Value] = dict(chosen)
    for one in post_order((pair,), lambda pair: _parts(pair) or ()):
        if one not in made:
            made[one] = _with_parts(one[0], [made[part] for part in _parts(one) or ()])
    return made[pair]


def _parts(pair: Pair) -> tuple[Pair, ...] | None:
    """Return the pairs of parts of two values of one form, None where the form is not the same."""
    first, second = pair
    if first is second:
        return ()
    match first, second:
        case (Data(maker, parts), Data(other, others)) if maker == other:
            return tuple(zip(parts, others, strict=True))
        case (Fields(parts), Fields(others)) | (Tuple(parts), Tuple(others)) if len(parts) == len(others):
            return tuple(zip(parts, others, strict=True))
        case (Closure(graph, captured), Closure(body, others)) if graph is body:
            return tuple(zip(captured, others, strict=True))
        case (Lifted(var, captured), Lifted(function, others)) if var is function:
            return tuple(zip(captured, others, strict=True))
        case (Maker(), Maker()) if first == second:
            return ()
    return None


def _with_parts(value: Value, parts: Sequence[Value]) -> Value:
    match value:
        case Data() | Fields():
            return replace(value, fields=tuple(parts))
        case Closure():
            return replace(value, captured=tuple(parts))
        case Lifted() | Tuple():
            relax = tuple(part for part in parts if not is_known(part))
            return replace(value, captured=relax) if isinstance(value, Lifted) else Tuple(relax)
    return value


def _unlike(first: Value, second: Value) -> str:
    given, other = (first, second) if is_known(first) else (second, first)
    differs = is_known(other) and what(other) != what(given)
    return f"{what(given)} or {what(other)}" if differs else what(given)


def inputs_of(value: RelaxExpr, binding: Callable[[Var], RelaxExpr | None], inputs: Sequence[Var]) -> list[str]:
    """Return the names of those of ``inputs`` whose data or extents ``value`` is computed from.

    ``binding`` says what a variable is bound to, None where it is not bound.
    """

    def used(one: RelaxExpr) -> Iterator[RelaxExpr]:
        bound = binding(one) if isinstance(one, Var) else one
        if bound is not None:
            yield from values(bound)
            yield from free_variables(bound)

    reached = list(post_order((value,), used))
    bound = [binding(one) for one in reached if isinstance(one, Var)]
    extents = {extent for one in bound if one is not None for extent in free_symbolic_vars(one)}
    return [one.name for one in inputs if one in reached or extents & symbols.used(one.info)]


def assertion(condition: RelaxExpr, message: str) -> Call:
    """Return the call that ends the program with ``message`` unless ``condition`` holds."""
    op = foreign_op("assert_op")
    assert op is not None
    form = message.replace("{", "{{").replace("}", "}}")
    return Call(op, (condition,), ForeignAttrs((("", Argument(0)), ("format", form))))


def with_effects(module: IRModule) -> IRModule:
    """Return ``module`` with the functions that may end the program, or call such a one, said to
    have effects, and without private functions that nobody calls.
    """
    module = without_unused(module, [var for var, func in module.functions.items() if not func.private])
    while True:
        impure = {
            var: replace(func, pure=False)
            for var, func in module.functions.items()
            if isinstance(func, Function) and func.pure and contains_impure_call(func, module, var)
        }
        if not impure:
            return module
        module = replace(module, functions={**module.functions, **impure})
