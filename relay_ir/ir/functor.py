"""Visitors and mutators to derive one's own from, in TVM's vocabulary.

    class Doubled(ExprMutator):
        def visit_constant(self, constant):
            return const(constant.data * 2)

    function = Doubled().visit(function)

The walk keeps its own stack: before a method is called, the parts of its node have been visited, so
that ``visit`` of a part answers at once, however deep the program is. Every node is visited once,
however often it is used, which keeps sharing. Override :meth:`parts` for nodes whose parts shall
not be visited, or only when a method asks for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from relay2relax.core.walk import post_order
from relay2relax.relay_ir.ir.expr import (
    Call,
    Clause,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    children,
    no_expression,
)
from relay2relax.relay_ir.ir.rewrite import binders, with_children

Result = TypeVar("Result")


class ExprFunctor(Generic[Result]):
    """Computes a value for each node; a subclass says how, with a method per kind of node."""

    def __init__(self) -> None:
        self.memo: dict[Expr, Result] = {}

    def visit(self, expr: Expr) -> Result:
        """Return the value of ``expr``; it is computed when the node is met for the first time."""
        if expr not in self.memo:
            roots: tuple[Expr, ...] = (expr,)
            for node in post_order(roots, lambda one: () if one in self.memo else self.parts(one)):
                if node not in self.memo:
                    self.memo[node] = self._dispatch(node)
        return self.memo[expr]

    def parts(self, expr: Expr) -> Sequence[Expr]:
        """Return what is visited before the method of ``expr`` is called: its sub-expressions and
        what it binds.
        """
        return (*binders(expr), *children(expr))

    def visit_default(self, expr: Expr) -> Result:
        """Return the value of a node whose kind has no method of its own."""
        raise NotImplementedError(f"{type(self).__name__} has no method for a {type(expr).__name__} of Relay")

    def _dispatch(self, expr: Expr) -> Result:
        match expr:
            case Call():
                return self.visit_call(expr)
            case Constant():
                return self.visit_constant(expr)
            case Var():
                return self.visit_var(expr)
            case GlobalVar():
                return self.visit_global_var(expr)
            case Op():
                return self.visit_op(expr)
            case Constructor():
                return self.visit_constructor(expr)
            case Tuple():
                return self.visit_tuple(expr)
            case TupleGetItem():
                return self.visit_tuple_getitem(expr)
            case Let():
                return self.visit_let(expr)
            case If():
                return self.visit_if(expr)
            case Function():
                return self.visit_function(expr)
            case RefCreate():
                return self.visit_ref_create(expr)
            case RefRead():
                return self.visit_ref_read(expr)
            case RefWrite():
                return self.visit_ref_write(expr)
            case Match():
                return self.visit_match(expr)
        no_expression(expr)

    def visit_call(self, call: Call) -> Result:
        """A call."""
        return self.visit_default(call)

    def visit_constant(self, constant: Constant) -> Result:
        """A constant."""
        return self.visit_default(constant)

    def visit_var(self, var: Var) -> Result:
        """A local variable, where it is bound or used."""
        return self.visit_default(var)

    def visit_global_var(self, var: GlobalVar) -> Result:
        """The name of a function of the module."""
        return self.visit_default(var)

    def visit_op(self, op: Op) -> Result:
        """A primitive operator."""
        return self.visit_default(op)

    def visit_constructor(self, constructor: Constructor) -> Result:
        """A constructor of an ADT."""
        return self.visit_default(constructor)

    def visit_tuple(self, tup: Tuple) -> Result:
        """A tuple."""
        return self.visit_default(tup)

    def visit_tuple_getitem(self, item: TupleGetItem) -> Result:
        """A projection."""
        return self.visit_default(item)

    def visit_let(self, let: Let) -> Result:
        """A let."""
        return self.visit_default(let)

    def visit_if(self, branch: If) -> Result:
        """An if."""
        return self.visit_default(branch)

    def visit_function(self, function: Function) -> Result:
        """A function literal, or a function of the module."""
        return self.visit_default(function)

    def visit_ref_create(self, ref: RefCreate) -> Result:
        """A new cell."""
        return self.visit_default(ref)

    def visit_ref_read(self, read: RefRead) -> Result:
        """The reading of a cell."""
        return self.visit_default(read)

    def visit_ref_write(self, write: RefWrite) -> Result:
        """The writing of a cell."""
        return self.visit_default(write)

    def visit_match(self, match: Match) -> Result:
        """A match."""
        return self.visit_default(match)


class ExprVisitor(ExprFunctor[None]):
    """Looks at every node once, parts before wholes; methods that are not overridden do nothing."""

    def visit_default(self, expr: Expr) -> None:
        """Do nothing."""


class ExprMutator(ExprFunctor[Expr]):
    """Rebuilds an expression.

    Methods that are not overridden rebuild their node from its changed parts.

    A node whose parts did not change is returned as it is; changed copies keep their spans. A
    method for variables has to return a variable for those that are bound.
    """

    def visit_default(self, expr: Expr) -> Expr:
        """Return ``expr`` with its parts visited, itself where none changed."""
        rebuilt = with_children(expr, [self.visit(part) for part in children(expr)])
        bound = {var: self._bound(var) for var in binders(expr)}
        if all(new is old for old, new in bound.items()):
            return rebuilt
        match rebuilt:
            case Let(var):
                return replace(rebuilt, var=bound[var])
            case Function(params):
                return replace(rebuilt, params=tuple(bound[param] for param in params))
            case Match(_, clauses):
                return replace(rebuilt, clauses=tuple(Clause(self.visit_pattern(one.lhs), one.rhs) for one in clauses))
        return rebuilt

    def visit_var(self, var: Var) -> Expr:
        """Return what stands for a variable: itself."""
        return var

    def _bound(self, var: Var) -> Var:
        """Return the variable that is bound in the place of ``var``."""
        found = self.visit(var)
        if not isinstance(found, Var):
            raise TypeError(f"%{var.name} is bound; a {type(found).__name__} cannot stand in its place")
        return found

    def visit_pattern(self, pattern: Pattern) -> Pattern:
        """Return a pattern with its variables visited."""
        match pattern:
            case PatternVar(var):
                return replace(pattern, var=self._bound(var))
            case PatternConstructor(_, patterns) | PatternTuple(patterns):
                return replace(pattern, patterns=tuple(self.visit_pattern(one) for one in patterns))
        return pattern
