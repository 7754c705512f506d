"""Gradients of functions that branch, call functions, and keep what they compute in cells.

Every tensor becomes a pair of itself and a cell with the gradient by it; each operator adds to a
chain of functions that run backwards. Source of the semantics: TVM 0.18
src/relay/transforms/gradient.cc.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from relay2relax.core.errors import UnsupportedError
from relay2relax.core.passes import Pass
from relay2relax.core.walk import post_order
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.inference.type_table import TypeTable
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
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    children,
)
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import substitute, with_children
from relay2relax.relay_ir.ir.type_mapping import map_type
from relay2relax.relay_ir.ir.types import FuncType, RefType, TensorType, TupleType, Type
from relay2relax.relay_ir.transform.infrastructure import declared
from relay2relax.relay_ir.transform.parts import is_call
from relay2relax.relay_ir.transform.training.gradients import gradient_of
from relay2relax.relay_ir.transform.training.gradients.rules import has_floats, no_tensors, unknown_gradient

_UNIT = TupleType(())
# The chain of what runs backwards.
_CHAIN = RefType(FuncType((), _UNIT))
_CHECKPOINT = "annotation.checkpoint"
_NO_VALUES = (Op, Constructor, GlobalVar)


@dataclass(frozen=True, slots=True)
class HigherOrderGradient(Pass[IRModule]):
    """Let functions return their result and the gradients of it, as ``(result, (g0, g1, …))``.

    ``g0`` is the gradient by the first parameter of the sum over the result's elements, where that
    is a tuple over those of its first field.

    ``functions`` are the names. Branches, matches, calls of functions and cells may be on the
    way, so the gradient of a gradient is one, too; data types hold tensors by their type variables.
    Functions ``@f_grad`` are added for the functions that are called. ``PartialEvaluate`` and
    ``DeadCodeElimination(ignore_impurity=True)`` take away what the program does not need of it.
    """

    functions: Sequence[str] = ("main",)
    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with gradients; infers types where ``mod`` has none.

        Raises UnsupportedError for parameters and results that are not tensors or tuples of them,
        functions as values that have a name of the module, and operators whose gradient is not
        known.
        """
        mod = declared(mod)
        reverse = _Reverse(mod, TypeTable.inferred(mod))
        made = {mod.get_global_var(name): reverse.gradient(mod[name]) for name in self.functions}
        called = reverse.called_functions()
        return replace(mod, functions={**mod.functions, **made, **called}, types={})


def _within(data: Expr, scope: _Scope) -> list[Expr]:
    """Return what ``data`` is made of, as far as it is not computed and not a checkpoint itself."""
    roots: tuple[Expr, ...] = (data,)
    return list(post_order(roots, lambda one: () if one in scope.done or is_call(one, _CHECKPOINT) else children(one)))


def _paired(ty: Type) -> Type:
    """Return the type of a value with its gradient."""
    return map_type(ty, lambda one: TupleType((one, RefType(one))) if isinstance(one, TensorType) else one)


@dataclass(slots=True)
class _Scope:
    """Lets under construction, and what the nodes of the program are within them."""

    done: ChainMap[Expr, Expr] = field(default_factory=ChainMap)
    lets: list[tuple[Var, Expr]] = field(default_factory=list)

    def push(self, value: Expr, name: str = "x") -> Var:
        """Bind ``value`` to a new variable."""
        var = Var(name)
        self.lets.append((var, value))
        return var

    def inner(self) -> _Scope:
        """Return a scope that knows what this one does."""
        return _Scope(self.done.new_child())

    def around(self, body: Expr) -> Expr:
        """Return ``body`` behind the lets."""
        for var, value in reversed(self.lets):
            body = Let(var, value, body)
        return body


class _Reverse:
    """Writes the reversed forms of a module's functions."""

    def __init__(self, mod: IRModule, types: TypeTable) -> None:
        self.mod, self.types = mod, types
        self.names: dict[GlobalVar, GlobalVar] = {}
        # The value that a variable is bound to, and of a function the variable.
        self.bound: dict[Expr, Expr] = {}
        self.chain = Var("bp", _CHAIN)

    def gradient(self, function: Function) -> Function:
        """Return the function with its gradients."""
        result = self._type(function.body)
        params = tuple(replace(one, type_annotation=self._type(one)) for one in function.params)
        scope = _Scope()
        self.chain = Var("bp", _CHAIN)
        scope.lets.append((self.chain, RefCreate(Function((), Tuple(()), _UNIT))))
        given = [scope.push(self._lifted(one, self._type(one), scope)) for one in params]
        scope.done.update(zip(function.params, given, strict=True))
        made = self._value(function.body, scope)
        forward = scope.push(_part(made, result, 0))
        _begin(made, result, scope)
        scope.push(Call(RefRead(self.chain), ()))
        types = tuple(self._type(one) for one in function.params)
        gradients = Tuple(tuple(_part(one, ty, 1) for one, ty in zip(given, types, strict=True)))
        body = scope.around(Tuple((forward, gradients)))
        return replace(function, params=params, body=body, ret_type=TupleType((result, TupleType(types))))

    def called_functions(self) -> dict[GlobalVar, Function]:
        """Return the reversed forms of the functions that are called; these take the chain last."""
        found: dict[GlobalVar, Function] = {}
        while len(found) < len(self.names):
            for var, name in list(self.names.items()):
                if name not in found:
                    self.chain = Var("bp", _CHAIN)
                    made = self._function(self.mod[var], _Scope())
                    found[name] = replace(made, params=(*made.params, self.chain))
        return found

    def _type(self, expr: Expr) -> Type:
        found = self.types.of(expr)
        if found is None:
            raise UnsupportedError("the gradient needs the type of every value")
        return found

    def _value(self, root: Expr, scope: _Scope) -> Expr:
        """Return what an expression is in its reversed form, its parts bound in ``scope``."""

        def below(node: Expr) -> Sequence[Expr]:
            if node in scope.done or isinstance(node, Function):
                return ()
            match node:
                case If(condition):
                    return (condition,)
                case Match(data):
                    return (data,)
                case Call(Op(name), (data,)) if name == _CHECKPOINT:
                    inside = _within(data, scope)
                    return [one for one in inside if is_call(one, _CHECKPOINT) or one in self.bound]
                case Call(GlobalVar(), args):
                    return args
                case Let(var, Function() as value):
                    self.bound[value] = var
                case Let(var, value):
                    self.bound[var] = value
            return children(node)

        roots: tuple[Expr, ...] = (root,)
        for node in post_order(roots, below):
            if node not in scope.done:
                name = self.bound.get(node)
                if isinstance(node, Function) and isinstance(name, Var):
                    # A function may call itself by its name.
                    own = Var(name.name)
                    scope.done[name] = scope.done[node] = own
                    scope.lets.append((own, self._function(node, scope)))
                else:
                    scope.done[node] = self._made(node, scope)
        return scope.done[root]

    def _made(self, node: Expr, scope: _Scope) -> Expr:
        done = scope.done
        match node:
            case Var():
                return done[self.bound[node]] if node in self.bound else node
            case Op() | Constructor():
                return node
            case GlobalVar():
                raise UnsupportedError(f"@{node.name} is a value: write `fn (%x) {{ @{node.name}(%x) }}`")
            case Constant():
                return scope.push(self._lifted(node, node.tensor_type, scope))
            case Let(_, _, body):
                return done[body]
            case Function():
                return scope.push(self._function(node, scope))
            case If(condition, then, otherwise):
                chosen = TupleGetItem(done[condition], 0)
                return scope.push(If(chosen, self._scoped(then, scope), self._scoped(otherwise, scope)))
            case Match(data, clauses):
                made = tuple(Clause(one.lhs, self._scoped(one.rhs, scope)) for one in clauses)
                return scope.push(replace(node, data=done[data], clauses=made))
            case Call(Op(name), (data,)) if name == _CHECKPOINT:
                return self._checkpoint(node, data, scope)
            case Call(Op(name), args):
                return self._operator(node, name, args, scope)
            case Call(GlobalVar() as callee, args):
                own = self.names.setdefault(callee, GlobalVar(f"{callee.name}_grad"))
                return scope.push(Call(own, (*(done[one] for one in args), self.chain)))
            case Call(callee, args):
                return scope.push(Call(done[callee], tuple(done[one] for one in args)))
        return scope.push(with_children(node, [done[one] for one in children(node)]))

    def _scoped(self, root: Expr, scope: _Scope) -> Expr:
        inner = scope.inner()
        return inner.around(self._value(root, inner))

    def _function(self, function: Function, scope: _Scope) -> Function:
        inner = scope.inner()
        params = tuple(Var(one.name, _paired(self._type(one))) for one in function.params)
        inner.done.update(zip(function.params, params, strict=True))
        result = function.ret_type or self._type(function.body)
        body = inner.around(self._value(function.body, inner))
        return replace(function, params=params, body=body, ret_type=_paired(result))

    def _operator(self, node: Call, name: str, args: Sequence[Expr], scope: _Scope) -> Expr:
        floats = has_floats(self._type(node))
        rule = gradient_of(name) if floats else None
        if rule is None and floats:
            raise unknown_gradient(name)
        given = [(scope.done[one], self._type(one)) for one in args]
        forward = [scope.push(_part(value, ty, 0)) for value, ty in given]
        for var, arg in zip(forward, args, strict=True):
            self.types.same(var, arg)
        call = replace(node, args=tuple(forward))
        self.types.same(call, node)
        result, ty = scope.push(call), self._type(node)
        self.types.same(result, node)
        made = scope.push(self._lifted(result, ty, scope))
        if rule is None:
            return made  # Truth values and integers do not change with what they are computed of.
        before = scope.push(RefRead(self.chain))
        back = _Scope()
        gradient = back.push(_part(made, ty, 1))
        self.types.same(gradient, node)
        for (value, of), found in zip(given, rule(call, gradient, self.types), strict=True):
            _add(value, of, found, back)
        step = Function((), back.around(Call(before, ())), _UNIT)
        scope.push(RefWrite(self.chain, step))
        return made

    def _checkpoint(self, node: Call, data: Expr, scope: _Scope) -> Expr:
        """Return ``data``, which is computed again when its gradients are."""
        ty = self._type(node)
        known = [one for one in _within(data, scope) if one in scope.done and not isinstance(one, _NO_VALUES)]
        plain = substitute(data, {one: _part(scope.done[one], self._type(one), 0) for one in known})
        made = scope.push(self._lifted(scope.push(plain), ty, scope))
        before = scope.push(RefRead(self.chain))
        back, around = scope.inner(), self.chain
        self.chain = Var("bp", _CHAIN)
        back.lets.append((self.chain, RefCreate(Function((), Tuple(()), _UNIT))))
        parts = data.fields if isinstance(data, Tuple) else (data,)
        own = all(isinstance(one, Call) and isinstance(one.op, Op) and one not in scope.done for one in parts)
        again = self._value(data, back)
        _add(again, ty, _part(made, ty, 1), back, new=own and len(set(parts)) == len(parts))
        back.push(Call(RefRead(self.chain), ()))
        self.chain = around
        scope.push(RefWrite(self.chain, Function((), back.around(Call(before, ())), _UNIT)))
        return made

    def _lifted(self, value: Expr, ty: Type, scope: _Scope) -> Expr:
        """Return a value with cells for the gradients by its tensors."""
        if isinstance(ty, TensorType):
            return Tuple((value, scope.push(RefCreate(op.zeros_like(value)))))
        if not isinstance(ty, TupleType):
            raise no_tensors()
        parts = [(scope.push(TupleGetItem(value, index)), one) for index, one in enumerate(ty.fields)]
        return Tuple(tuple(self._lifted(part, one, scope) for part, one in parts))


def _part(value: Expr, ty: Type, place: int) -> Expr:
    """Return what a value is (0), or the gradients by it (1), of a value with its gradients."""
    if isinstance(ty, TensorType):
        found = TupleGetItem(value, place)
        return RefRead(found) if place else found
    if not isinstance(ty, TupleType):
        raise no_tensors()
    return Tuple(tuple(_part(TupleGetItem(value, index), one, place) for index, one in enumerate(ty.fields)))


def _begin(value: Expr, ty: Type, scope: _Scope) -> None:
    """Let the gradient by each element of a result be 1; of a tuple TVM takes the first field."""
    while isinstance(ty, TupleType) and ty.fields:
        value, ty = scope.push(TupleGetItem(value, 0)), ty.fields[0]
    if isinstance(ty, TensorType):
        scope.push(RefWrite(TupleGetItem(value, 1), op.ones_like(TupleGetItem(value, 0))))


def _add(value: Expr, ty: Type, gradient: Expr, scope: _Scope, new: bool = False) -> None:
    """Add to the gradients by a value; those by a ``new`` one are nothing so far."""
    if isinstance(ty, TensorType):
        cell = scope.push(TupleGetItem(value, 1))
        scope.push(RefWrite(cell, gradient if new else op.add(RefRead(cell), gradient)))
        return
    assert isinstance(ty, TupleType)
    whole = scope.push(gradient)
    for index, one in enumerate(ty.fields):
        _add(TupleGetItem(value, index), one, TupleGetItem(whole, index), scope, new)
