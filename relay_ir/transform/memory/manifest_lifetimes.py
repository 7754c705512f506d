"""Where values are not needed any more, written into the program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from relay2relax.core.passes import Pass
from relay2relax.relay_ir.analysis.variables import free_vars
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.ir.expr import (
    Call,
    Expr,
    Function,
    If,
    Let,
    Match,
    Op,
    PatternVar,
    Var,
    children,
)
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, pattern_vars, with_children, without_lets
from relay2relax.relay_ir.transform.infrastructure import map_functions
from relay2relax.relay_ir.transform.memory.blocks import blocks, lets


@dataclass(frozen=True, slots=True)
class ManifestLifetimes(Pass[IRModule]):
    """Write ``memory.kill(%x)`` behind the last use of each variable, in programs in A-normal form.

    Lets that give a variable another name go. As in TVM the value of a block is never killed, nor
    what only one of two branches does not use. Source of the semantics: TVM 0.18
    src/relay/backend/vm/manifest_lifetimes.cc.
    """

    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with the calls; types are forgotten where there are any."""
        return map_functions(mod, lambda function: _killed(_without_aliases(function)))


def _placed(expr: Expr) -> Expr:
    """Return an expression without the statement where it is."""
    return expr.args[0] if isinstance(expr, Call) and expr.op == Op("on_device") else expr


def _named_again(value: Expr) -> Expr | None:
    """Return the variable that a value is another name for, None where it is none."""
    value = _placed(value)
    if isinstance(value, Call) and value.op == Op("device_copy"):
        attrs = value.attrs
        moves = replace(attrs.src_virtual_device, target=None) != replace(attrs.dst_virtual_device, target=None)
        return None if moves or not isinstance(value.args[0], Var) else value.args[0]
    return value if isinstance(value, Var) else None


def _without_aliases(function: Function) -> Function:
    aliases: dict[Expr, Expr] = {}
    for node in nodes(function):
        if isinstance(node, Let):
            other = _named_again(node.value)
            if other is not None:
                aliases[node.var] = other
        elif isinstance(node, Match) and isinstance(_placed(node.data), Var):
            patterns = (clause.lhs for clause in node.clauses)
            aliases.update((one.var, _placed(node.data)) for one in patterns if isinstance(one, PatternVar))
    if not aliases:
        return function
    removed = {node for node in nodes(function) if isinstance(node, Let) and node.var in aliases}
    return without_lets(function, aliases, removed)


def _uses(value: Expr) -> Sequence[Var]:
    """Return the variables that a value needs itself, without the blocks inside of it."""
    match value:
        case If(condition):
            return free_vars(condition)
        case Match(data):
            return free_vars(data)
    return free_vars(value)


def _last_uses(function: Function) -> Mapping[Let, Sequence[Var]]:
    """Return what is not needed any more behind each let."""
    found: dict[Let, Sequence[Var]] = {}
    # A block that is still to be looked at, with what is needed behind it.
    ahead: list[tuple[Expr, frozenset[Var]]] = [(function.body, frozenset())]
    while ahead:
        block, after = ahead.pop()
        chain = lets(block)
        last = chain[-1].body if chain else block
        ahead.extend((one, after) for one in blocks(last))
        alive = {*after, *free_vars(last)}
        for let in reversed(chain):
            inside = blocks(let.value)
            if inside:
                behind = frozenset(alive)
                ahead.extend((one, behind) for one in inside)
                alive |= _free(let.value)
            found[let] = [var for var in _uses(let.value) if var not in alive]
            alive.discard(let.var)
            alive.update(_uses(let.value))
    return found


def _free(value: Expr) -> set[Var]:
    """Return what the blocks inside of a value need that is bound outside of them."""
    bound = {var for one in value.clauses for var in pattern_vars(one.lhs)} if isinstance(value, Match) else set()
    return {var for block in blocks(value) for var in free_vars(block)} - bound


def _killed(function: Function) -> Function:
    dead = _last_uses(function)
    done: dict[Expr, Expr] = {}
    for node in nodes(function):
        made = with_children(node, [done[child] for child in children(node)])
        if isinstance(node, Let) and isinstance(made, Let):
            body = made.body
            for var in reversed(dead.get(node, ())):
                body = Let(Var("_0"), op.memory.kill(var), body)
            made = made if body is made.body else replace(made, body=body)
        done[node] = made
    result = done[function]
    assert isinstance(result, Function)
    return result
