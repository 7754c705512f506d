"""Programs in continuation-passing style: a function hands its result to a function it is given."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

from relay2relax.core.errors import UnsupportedError
from relay2relax.core.passes import Pass
from relay2relax.core.walk import run_steps
from relay2relax.relay_ir.analysis import Feature, detect_feature
from relay2relax.relay_ir.inference.infer import typed_module
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
)
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import binders, nodes
from relay2relax.relay_ir.ir.type_mapping import map_type, substitute_types
from relay2relax.relay_ir.ir.types import FuncType, Type, TypeVar
from relay2relax.relay_ir.transform.let_forms import ToANormalForm

Step: TypeAlias = "Generator[Any, Any, Expr]"
# What the rest of the program becomes, behind an expression that has no effect and is used once.
Rest: TypeAlias = Callable[[Expr], Step]


@dataclass(frozen=True, slots=True)
class ToCPS(Pass[IRModule]):
    """Let the functions ``functions`` take one more parameter: a function of their result.

    What ``fn (a) -> b`` was becomes ``fn (a, fn (b) -> answer) -> answer``, for any type
    ``answer``; function literals follow, and so do functions of the module that are called, as
    ``NAME_cps``. All calls of functions are then the last that a function does, so that
    ``PartialEvaluate`` sees through branches.
    """

    functions: Sequence[str] = ("main",)
    opt_level: ClassVar[int] = 1

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with those functions in the other form; infers types where it has none.

        Raises Relay2RelaxError for a function that there is not, UnsupportedError for primitive
        functions and for those that are not of Relay.
        """
        if Feature.fGraph in detect_feature(mod):
            # A node that is used twice would be computed twice.
            mod = ToANormalForm()(mod)
        mod = typed_module(mod)
        walk = _Style(mod)
        made = {mod.get_global_var(name): run_steps(walk.function(mod[name])) for name in self.functions}
        return replace(mod, functions={**mod.functions, **walk.made, **made}, types={})


@dataclass(frozen=True, slots=True)
class UnCPS(Pass[IRModule]):
    """Let functions in continuation-passing style return their results again.

    What they are given and what they call stays in that style.
    """

    functions: Sequence[str] = ("main",)
    opt_level: ClassVar[int] = 1

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with those functions; infers types where it has none.

        Raises UnsupportedError for a function whose last parameter is not one of its result.
        """
        mod = typed_module(mod)
        made = {mod.get_global_var(name): _direct(mod[name], mod.types) for name in self.functions}
        return replace(mod, functions={**mod.functions, **made}, types={})


def to_cps(func: Function, mod: IRModule | None = None) -> Function:
    """Return ``func`` as :class:`ToCPS` makes it; ``mod`` has the types that it speaks of.

    Raises UnsupportedError where it calls functions of the module: the pass gives those, too.
    """
    given = (mod or IRModule()).with_function(GlobalVar("main"), func)
    made = ToCPS()(given)
    if len(made.functions) > len(given.functions):
        raise UnsupportedError("a function that calls functions of its module changes with them: use ToCPS")
    return made["main"]


def un_cps(func: Function) -> Function:
    """Return ``func`` as :class:`UnCPS` makes it."""
    return UnCPS()(IRModule.from_expr(func))["main"]


class _Style:
    """The functions of a module in the other form."""

    def __init__(self, mod: IRModule) -> None:
        self.mod = mod
        self.made: dict[GlobalVar, Function] = {}
        self.names: dict[str, GlobalVar] = {}

    def function(self, function: Function) -> Generator[Any, Any, Function]:
        """Return a function of the module in the other form."""
        answer = TypeVar("answer")
        walk = _Function(self, answer, _renamed(function, self.mod.types, answer))
        made: Function = yield walk.function(function)
        return replace(made, type_params=(*made.type_params, answer))

    def named(self, var: GlobalVar) -> Generator[Any, Any, GlobalVar]:
        """Return the name of a function of the module in the other form."""
        if var.name not in self.names:
            if var.name not in self.mod:
                raise UnsupportedError(f"@{var.name} is not a function of Relay, it takes no continuation")
            self.names[var.name] = GlobalVar(f"{var.name}_cps")
            made: Function = yield self.function(self.mod[var.name])
            self.made[self.names[var.name]] = made
        return self.names[var.name]


def _renamed(function: Function, types: Mapping[Expr, Type], answer: TypeVar) -> dict[Var, Var]:
    """Return variables of the new types for those of a function."""
    found: dict[Var, Var] = {}
    for node in nodes(function):
        for var in (*binders(node), *((node,) if isinstance(node, Var) else ())):
            if var not in found:
                found[var] = replace(var, type_annotation=_type(types[var], answer))
    return found


def _type(ty: Type, answer: TypeVar) -> Type:
    """Return a type with its functions in the other form."""

    def changed(one: Type) -> Type:
        if not isinstance(one, FuncType):
            return one
        return replace(one, arg_types=(*one.arg_types, FuncType((one.ret_type,), answer)), ret_type=answer)

    return map_type(ty, changed)


class _Function:
    """One function of the module; ``answer`` is the type of what all its calls end in."""

    def __init__(self, style: _Style, answer: TypeVar, renamed: Mapping[Var, Var]) -> None:
        self.style, self.answer, self.renamed = style, answer, renamed

    def function(self, function: Function) -> Generator[Any, Any, Function]:
        """Return a function, or a function literal, in the other form."""
        if function.attrs.get("Primitive"):
            raise UnsupportedError("primitive functions have no continuation-passing style")
        ty = self.style.mod.types[function]
        assert isinstance(ty, FuncType)
        rest = Var("k", FuncType((_type(ty.ret_type, self.answer),), self.answer))
        body: Expr = yield self.visit(function.body, _calling(rest))
        params = (*(self.renamed[param] for param in function.params), rest)
        return replace(function, params=params, body=body, ret_type=self.answer)

    def visit(self, expr: Expr, rest: Rest) -> Step:
        """Return the program that computes ``expr`` and goes on with ``rest``."""
        match expr:
            case Constant() | Op() | Constructor():
                made: Expr = yield rest(expr)
            case Var():
                made = yield rest(self.renamed[expr])
            case GlobalVar():
                made = yield rest((yield self.style.named(expr)))
            case Function():
                made = yield rest((yield self.function(expr)))
            case Let(var, value, body):
                made = yield self.visit(value, lambda one: self._let(self.renamed[var], one, body, rest))
            case If() | Match():
                made = yield self._branch(expr, rest)
            case Tuple(fields):
                made = yield self._all(fields, lambda given: rest(replace(expr, fields=tuple(given))))
            case TupleGetItem(value):
                made = yield self.visit(value, lambda one: rest(replace(expr, tuple_value=one)))
            case RefCreate(value):
                made = yield self.visit(value, lambda one: rest(RefCreate(one)))
            case RefRead(ref):
                made = yield self.visit(ref, lambda one: _bound(RefRead(one), rest))
            case RefWrite(ref, value):
                made = yield self._all((ref, value), lambda given: _bound(RefWrite(given[0], given[1]), rest))
            case Call(Op() | Constructor(), args):
                made = yield self._all(args, lambda given: _bound(replace(expr, args=tuple(given)), rest))
            case Call(callee, args):
                made = yield self._all((callee, *args), lambda given: self._call(expr, given, rest))
        return made

    def _let(self, var: Var, value: Expr, body: Expr, rest: Rest) -> Step:
        made: Expr = yield self.visit(body, rest)
        return Let(var, value, made)

    def _all(self, exprs: Sequence[Expr], rest: Callable[[Sequence[Expr]], Step]) -> Step:
        """Return the program that computes all of ``exprs``, in order."""
        given: list[Expr] = []

        def next_one(one: Expr | None) -> Step:
            if one is not None:
                given.append(one)
            made: Expr = yield rest(given) if len(given) == len(exprs) else self.visit(exprs[len(given)], next_one)
            return made

        made: Expr = yield next_one(None)
        return made

    def _call(self, call: Call, given: Sequence[Expr], rest: Rest) -> Step:
        after: Expr = yield self._reified(rest, call)
        return replace(call, op=given[0], args=(*given[1:], after), type_args=())

    def _branch(self, expr: If | Match, rest: Rest) -> Step:
        """Return a branch whose arms go on in the same way, by a function that has a name."""
        after = Var("f")
        function: Expr = yield self._reified(rest, expr)
        condition = expr.condition if isinstance(expr, If) else expr.data
        made: Expr = yield self.visit(condition, lambda one: self._arms(expr, one, _calling(after)))
        return Let(after, function, made)

    def _arms(self, expr: If | Match, condition: Expr, rest: Rest) -> Step:
        if isinstance(expr, If):
            then: Expr = yield self.visit(expr.true_branch, rest)
            otherwise: Expr = yield self.visit(expr.false_branch, rest)
            return replace(expr, condition=condition, true_branch=then, false_branch=otherwise)
        clauses = []
        for clause in expr.clauses:
            rhs: Expr = yield self.visit(clause.rhs, rest)
            clauses.append(Clause(self._pattern(clause.lhs), rhs))
        return replace(expr, data=condition, clauses=tuple(clauses))

    def _reified(self, rest: Rest, behind: Expr) -> Step:
        """Return what goes on behind an expression as a function of its value."""
        arg = Var("arg", _type(self.style.mod.types[behind], self.answer))
        body: Expr = yield rest(arg)
        return Function((arg,), body, self.answer)

    def _pattern(self, pattern: Pattern) -> Pattern:
        match pattern:
            case PatternVar(var):
                return replace(pattern, var=self.renamed[var])
            case PatternConstructor(_, patterns) | PatternTuple(patterns):
                return replace(pattern, patterns=tuple(map(self._pattern, patterns)))
        return pattern


def _calling(function: Var) -> Rest:
    def rest(value: Expr) -> Step:
        yield from ()
        return Call(function, (value,))

    return rest


def _bound(value: Expr, rest: Rest) -> Step:
    """Return ``value`` bound by a let: it may have an effect, or be used more than once."""
    var = Var("x")
    body: Expr = yield rest(var)
    return Let(var, value, body)


def _direct(function: Function, types: Mapping[Expr, Type]) -> Function:
    """Return a function in continuation-passing style as one that returns its result."""
    *params, last = function.params or (None,)
    rest = types.get(last) if last is not None else None
    if not isinstance(rest, FuncType) or len(rest.arg_types) != 1 or not function.type_params:
        raise UnsupportedError("the last parameter is not a continuation: a function of one result")
    *kept, answer = function.type_params
    fresh = {one: TypeVar(one.name, one.kind) for one in kept}
    result = substitute_types(rest.arg_types[0], fresh)
    given = tuple(
        Var(param.name, substitute_types(substitute_types(types[param], fresh), {answer: result}))
        for param in params
        if param is not None
    )
    x = Var("x", result)
    body = Call(function, (*given, Function((x,), x, result)), type_args=(*fresh.values(), result))
    return Function(given, body, result, tuple(fresh.values()), function.attrs)
