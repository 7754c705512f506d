"""What the graph executor admits: first-order dataflow without branches, cells, data types or
recursion.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

from relay2relax.core.errors import Diagnostic, UnsupportedError
from relay2relax.core.errors.table import running
from relay2relax.core.walk import post_order
from relay2relax.relay_ir.ir.expr import (
    Call,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    children,
)
from relay2relax.relay_ir.ir.module import IRModule


def check_dataflow(mod: IRModule, entry: GlobalVar) -> None:
    """Raise UnsupportedError, with every reason, unless ``entry`` and what it calls is first-order
    dataflow.

    Functions may be called where it is known which one: by a global name, by a ``let`` that binds a
    function literal, or as a literal.
    """
    functions = {var.name: function for var, function in mod.functions.items()}
    problems: dict[Expr, str] = {}
    # Functions that a `let` binds; an inner function may call those of the outer one, which was
    # looked at before.
    local: dict[Expr, Function] = {}
    called: dict[Function, set[Function]] = {}
    pending = [functions[entry.name]]
    while pending:
        function = pending.pop()
        if function in called:
            continue
        called[function] = _check_function(function, functions, local, problems)
        pending.extend(called[function])
    try:
        tuple(TopologicalSorter(called).static_order())
    except CycleError as cycle:
        problems.setdefault(cycle.args[1][0], "recursion")
    if problems:
        advice = "use the debug executor, which runs the whole language"
        found = [
            Diagnostic(
                f"the graph executor cannot run {what}",
                mod.locations.get(expr),
                help=advice,
                kind=running.NOT_ON_BACKEND,
            )
            for expr, what in problems.items()
        ]
        raise UnsupportedError(found, mod.source)


def _check_function(
    function: Function, functions: dict[str, Function], local: dict[Expr, Function], problems: dict[Expr, str]
) -> set[Function]:
    """Note what is not dataflow in ``function``; return the functions that it calls."""
    # Function literals stand for themselves: their bodies are looked at when they are called.
    order = list(post_order((function.body,), _children_here))
    local.update((node.var, node.value) for node in order if isinstance(node, Let) and isinstance(node.value, Function))

    def callee(expr: Expr) -> Function | None:
        if isinstance(expr, GlobalVar):
            return functions[expr.name]
        return expr if isinstance(expr, Function) else local.get(expr)

    called: set[Function] = set()
    for node in order:
        what = _reason(node)
        if what is not None:
            problems.setdefault(node, what)
        if isinstance(node, Call) and not isinstance(node.op, (Op, Constructor)):
            known = callee(node.op)
            if known is None:
                problems.setdefault(node, "a call of a function that is only known at run time")
            else:
                called.add(known)
        for value in _values(node):
            if callee(value) is not None:
                problems.setdefault(value, "a function used as a value")
    if callee(function.body) is not None:
        problems.setdefault(function.body, "a function used as a value")
    return called


def _children_here(expr: Expr) -> tuple[Expr, ...]:
    return () if isinstance(expr, Function) else tuple(children(expr))


def _values(node: Expr) -> tuple[Expr, ...]:
    """Return the children that ``node`` uses as values (a callee, or what a ``let`` binds, may be a
    function).
    """
    match node:
        case Call(_, args):
            return args
        case Let(_, value, body):
            return (body,) if isinstance(value, Function) else (value, body)
    return _children_here(node)


def _reason(node: Expr) -> str | None:
    match node:
        case If():
            return "`if`"
        case Match():
            return "`match`"
        case RefCreate() | RefRead() | RefWrite():
            return "references"
        case Constructor():
            return "values of data types"
    return None
