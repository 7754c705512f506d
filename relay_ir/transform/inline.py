"""Inlining of local functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.passes import Pass
from relay2relax.core.walk import post_order
from relay2relax.relay_ir.ir.expr import (
    Call,
    Clause,
    Expr,
    Function,
    Let,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    Var,
    children,
)
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import binders, nodes, with_children
from relay2relax.relay_ir.transform.effects import has_effects
from relay2relax.relay_ir.transform.graph_normal_form import recursive_lets
from relay2relax.relay_ir.transform.infrastructure import map_functions


@dataclass(frozen=True, slots=True)
class InlineLocalFunctions(Pass[IRModule]):
    """Put the bodies of function literals, and of let-bound functions, in the place of their calls.

    Recursive functions stay calls, and so do functions that carry attributes (``Primitive``,
    ``Composite``, ``Compiler``) unless ``marked`` says that these go as well. An argument used
    several times is shared, not computed again. Raises Relay2RelaxError for a call whose number of
    arguments is wrong.
    """

    opt_level: ClassVar[int] = 1
    marked: bool = False

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with its local functions inlined."""
        ordered = has_effects(mod)

        def change(function: Function) -> Function:
            while True:
                # Inlining may put a function literal where a parameter was called.
                inlined = _inline(function, ordered, self.marked)
                if inlined is function:
                    return function
                function = inlined

        return map_functions(mod, change)


def _inline(root: Function, ordered: bool, marked: bool) -> Function:
    recursive = recursive_lets(root)
    functions: dict[Expr, Expr] = {}
    for node in nodes(root):
        if isinstance(node, Let) and isinstance(node.value, Function) and node.var not in recursive:
            functions[node.var] = node.value
    done: dict[Expr, Expr] = {}
    for node in nodes(root):
        done[node] = with_children(node, [done[child] for child in children(node)])
        if isinstance(node, Call):
            target = node.op if isinstance(node.op, Function) else functions.get(node.op)
            callee = None if target is None else done.get(target)
            if isinstance(callee, Function) and (marked or not callee.attrs):
                done[node] = body_of(callee, [done[arg] for arg in node.args], ordered)
    result = done[root]
    assert isinstance(result, Function)
    return result


def body_of(function: Function, args: list[Expr], ordered: bool) -> Expr:
    """Return the body of ``function`` applied to ``args``.

    With ``ordered`` the arguments are bound by lets, so that their effects happen once and before
    the body's.
    """
    if len(args) != len(function.params):
        raise Relay2RelaxError(f"a function of {len(function.params)} parameters is called with {len(args)} arguments")
    if not ordered:
        return fresh_copy(function.body, dict(zip(function.params, args, strict=True)))
    fresh = [replace(param) for param in function.params]
    body = fresh_copy(function.body, dict(zip(function.params, fresh, strict=True)))
    for param, arg in reversed(list(zip(fresh, args, strict=True))):
        body = Let(param, arg, body)
    return body


def fresh_copy(root: Expr, values: Mapping[Var, Expr], fresh: Callable[[Var], Var] = replace) -> Expr:
    """Return ``root`` with ``values`` put in, and every variable it binds replaced by a new one,
    which ``fresh`` makes.

    A variable has one binder in the whole program, also where a body is copied.
    """
    renamed: dict[Var, Var] = {}
    for node in nodes(root):
        renamed.update((var, fresh(var)) for var in binders(node))
    done: dict[Expr, Expr] = {}
    done.update(values.items())
    done.update(renamed.items())
    roots: tuple[Expr, ...] = (root,)
    for node in post_order(roots, lambda one: () if one in done else children(one)):
        if node not in done:
            done[node] = rebind(with_children(node, [done[child] for child in children(node)]), renamed)
    return done[root]


def rebind(node: Expr, renamed: Mapping[Var, Var]) -> Expr:
    """Return ``node`` with the variables that it binds itself replaced."""
    match node:
        case Let():
            return replace(node, var=renamed[node.var])
        case Function():
            return replace(node, params=tuple(renamed[param] for param in node.params))
        case Match():
            clauses = tuple(Clause(_rebind_pattern(one.lhs, renamed), one.rhs) for one in node.clauses)
            return replace(node, clauses=clauses)
    return node


def _rebind_pattern(pattern: Pattern, renamed: Mapping[Var, Var]) -> Pattern:
    match pattern:
        case PatternVar():
            return replace(pattern, var=renamed[pattern.var])
        case PatternConstructor() | PatternTuple():
            return replace(pattern, patterns=tuple(_rebind_pattern(one, renamed) for one in pattern.patterns))
    return pattern
