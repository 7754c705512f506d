"""How Relax expressions are walked: the operands of a node, and the same node with others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from relay2relax.core.walk import post_order
from relay2relax.relax_ir.ir.expr import (
    Binding,
    Call,
    CallDPSPacked,
    CallTIR,
    Constant,
    Expr,
    ExternFunc,
    Function,
    GlobalVar,
    If,
    IRModule,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.tir.ir import expr as tir
from relay2relax.tir.ir.stmt import PrimFunc
from relay2relax.tir.ir.visit import all_expressions, subexpressions

# A walk that yields the walks over what is nested in it; see :func:`run`.
Steps = Iterator["Steps"]

LEAVES = (Var, Constant, ShapeExpr, PrimValue, StringImm, GlobalVar, ExternFunc)


def operands(expr: Expr) -> Sequence[Expr]:
    """Return the direct operands of ``expr``; branches of an If and a Function's body are not among
    them.
    """
    match expr:
        case Call(op, args):
            return (op, *args) if isinstance(op, Var) else args
        case CallTIR(_, args) | CallDPSPacked(_, args):
            return args
        case Tuple(fields):
            return fields
        case TupleGetItem(value):
            return (value,)
        case If(condition):
            return (condition,)
    return ()


def with_operands(expr: Expr, new: Sequence[Expr]) -> Expr:
    """Return ``expr`` with ``new`` in place of its operands.

    ``expr`` itself where nothing differs.
    """
    old = operands(expr)
    if len(old) == len(new) and all(a is b for a, b in zip(old, new, strict=True)):
        return expr
    match expr:
        case Call(op, _):
            if isinstance(op, Var):
                callee = new[0]
                if not isinstance(callee, Var):
                    raise TypeError("a closure is called through a variable")
                return replace(expr, op=callee, args=tuple(new[1:]))
            return replace(expr, args=tuple(new))
        case CallTIR() | CallDPSPacked():
            return replace(expr, args=tuple(new))
        case Tuple():
            return Tuple(tuple(new))
        case TupleGetItem(_, index):
            return TupleGetItem(new[0], index)
        case If():
            return replace(expr, condition=new[0])
    raise TypeError(f"{type(expr).__name__} of Relax has no operands")


def values(expr: Expr) -> Iterator[Var | Constant]:
    """Yield the variables and constants that ``expr`` is made of, place by place, those in nested
    tuples among them.

    Branches and bodies are left out.
    """
    stack: list[Expr] = [expr] if isinstance(expr, (Var, Constant)) else list(operands(expr))[::-1]
    while stack:
        match stack.pop():
            case Var() | Constant() as value:
                yield value
            case Tuple(fields):
                stack += fields[::-1]


def with_values(expr: Expr, new: Sequence[Expr]) -> Expr:
    """Return ``expr`` with ``new`` in the places of its :func:`values`."""
    rest = iter(new)

    def changed(one: Expr) -> Expr:
        match one:
            case Var() | Constant():
                return next(rest)
            case Tuple(fields):
                return Tuple(tuple(map(changed, fields)))
        return one

    if isinstance(expr, (Var, Constant)):
        return changed(expr)
    return with_operands(expr, [changed(one) for one in operands(expr)])


def is_argument(expr: Expr) -> bool:
    """Whether ``expr`` may stand as an argument in A-normal form: a leaf, or a tuple of those."""
    if isinstance(expr, LEAVES):
        return True
    parts: list[Expr] = [expr]
    return isinstance(expr, Tuple) and all(isinstance(node, (*LEAVES, Tuple)) for node in post_order(parts, operands))


def variables(expr: Expr) -> Iterator[Var]:
    """Yield the variables among ``expr`` and its operands, in order.

    Branches and bodies are left out.
    """
    if isinstance(expr, Var):
        yield expr
        return
    for one in operands(expr):
        if isinstance(one, Var):
            yield one
        elif isinstance(one, Tuple):
            nodes: Iterator[Expr] = post_order(operands(one), operands)
            yield from (node for node in nodes if isinstance(node, Var))


def sequences(expr: Expr) -> tuple[SeqExpr, ...]:
    """Return the sequences inside ``expr``: the branches of an If, the body of a Function."""
    match expr:
        case If(_, then, otherwise):
            return (then, otherwise)
        case Function(_, body):
            return (body,)
    return ()


def with_sequences(expr: Expr, new: Sequence[SeqExpr]) -> Expr:
    """Return ``expr`` with ``new`` in the place of its sequences.

    ``expr`` itself where nothing differs.
    """
    if all(a is b for a, b in zip(sequences(expr), new, strict=True)):
        return expr
    match expr:
        case If(condition):
            return If(condition, *new)
        case Function():
            return replace(expr, body=new[0])
    raise TypeError(f"{type(expr).__name__} has no sequences")


def all_sequences(roots: Iterable[SeqExpr]) -> Iterator[SeqExpr]:
    """Yield ``roots`` and every sequence nested in them, outer ones first."""
    stack = list(roots)[::-1]
    while stack:
        seq = stack.pop()
        yield seq
        inner = [one for binding in bindings(seq) for one in sequences(binding.value)]
        stack += inner[::-1]


def run(steps: Steps) -> None:
    """Carry out ``steps``; a walk that it yields is carried out before it goes on, at any depth of
    nesting.
    """
    stack = [steps]
    while stack:
        inner = next(stack[-1], None)
        if inner is None:
            stack.pop()
        else:
            stack.append(inner)


def bindings(seq: SeqExpr) -> Iterator[Binding | MatchCast]:
    """Yield the bindings of ``seq`` in order, those of nested sequences not among them."""
    for block in seq.blocks:
        yield from block.bindings


def free_variables(value: Expr) -> tuple[Var, ...]:
    """Return the variables that the sequences inside ``value`` use and do not bind, in order of
    first use.
    """
    found: dict[Var, None] = {}
    bound: set[Var] = set(value.params) if isinstance(value, Function) else set()
    for seq in all_sequences(sequences(value)):
        for binding in bindings(seq):
            bound.add(binding.var)
            if isinstance(binding.value, Function):
                bound.update(binding.value.params)
            found.update(dict.fromkeys(variables(binding.value)))
        found.update(dict.fromkeys(variables(seq.body)))
    return tuple(var for var in found if var not in bound)


def callees(mod: IRModule, func: Function | PrimFunc) -> set[GlobalVar]:
    """Return the functions of the module that ``func`` calls or names, in branches and local
    functions too.
    """
    found: set[GlobalVar] = set()
    if isinstance(func, PrimFunc):
        parts = (part for expr in all_expressions(func.body) for part in subexpressions(expr))
        named = {part.name for part in parts if isinstance(part, tir.FunctionCall)}
        return {var for var in mod.functions if var.name in named}
    for seq in all_sequences([func.body]):
        for expr in (*(binding.value for binding in bindings(seq)), seq.body):
            for node in post_order([expr], operands):
                match node:
                    case (GlobalVar() as var) | CallTIR(var) | Call(GlobalVar() as var):
                        found.add(var)
    return found
