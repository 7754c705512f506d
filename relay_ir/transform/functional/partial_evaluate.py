"""Evaluation of what is known before a program runs: calls are unfolded, branches decided."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

from relay2relax.core.errors import Relay2RelaxError, UnsupportedError
from relay2relax.core.passes import Pass
from relay2relax.core.walk import run_steps
from relay2relax.ops.registry.evaluate import kernel_value
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir.analysis import Feature, detect_feature, free_vars
from relay2relax.relay_ir.analysis.type_variables import all_type_vars
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
from relay2relax.relay_ir.ir.rewrite import nodes, pattern_vars, rewrite
from relay2relax.relay_ir.ir.type_mapping import substitute_types
from relay2relax.relay_ir.ir.types import IncompleteType, Type, TypeVar
from relay2relax.relay_ir.transform.effects import acts
from relay2relax.relay_ir.transform.functional.partial_values import (
    Cell,
    Closure,
    Fields,
    Fuel,
    Lets,
    Partial,
    Step,
    Store,
    Unfold,
    burnt,
    fuel_of,
    reflected,
    reified,
)
from relay2relax.relay_ir.transform.infrastructure import declared
from relay2relax.relay_ir.transform.inline import fresh_copy
from relay2relax.relay_ir.transform.let_forms import ToANormalForm

# What type parameters stand for, None where that is not known.
Types: TypeAlias = "Mapping[TypeVar, Type | None]"


@dataclass(frozen=True, slots=True)
class PartialEvaluate(Pass[IRModule]):
    """Evaluate what is known: operators on constants, branches, matches, cells, and calls of known
    functions.

    Recursion is unfolded as long as some argument is a number that falls, or older than before.
    What is left binds everything by lets, of which ``DeadCodeElimination`` removes most.
    """

    opt_level: ClassVar[int] = 1

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` evaluated as far as it can be; infers types where parameters have none.

        Raises UnsupportedError for a match that fails whatever the program is given.
        """
        # What told the type of a parameter may be gone afterwards.
        mod = declared(mod)
        if Feature.fGraph in detect_feature(mod):
            # A node that is used twice would be evaluated twice.
            mod = ToANormalForm()(mod)
        walk = _Evaluation(mod)
        for var in mod.functions:
            run_steps(walk.global_var(var))
        return replace(mod, functions={var: walk.functions[var.name] for var in mod.functions}, types={})


class _Evaluation:
    """One evaluation of a module; every method that is a generator is a step."""

    def __init__(self, mod: IRModule) -> None:
        self.mod = mod
        self.functions: dict[str, Function] = {}
        self.globals: dict[str, Partial] = {}
        self.values: dict[Var, Partial] = {}
        self.store = Store()
        # Copies of a function have its number: what is unfolded is counted for all of them.
        self.numbers: dict[Function, int] = {}
        self.fuel: dict[int, Fuel] = {}

    # Expressions.

    def visit(self, expr: Expr, lets: Lets, name: Var | None = None) -> Step:
        while isinstance(expr, Let):
            self.values[expr.var] = yield self.visit(expr.value, lets, expr.var)
            expr, name = expr.body, None
        match expr:
            case Constant(data):
                return Partial(lets.push(expr), data)
            case Var():
                return self.values[expr]
            case GlobalVar():
                found: Partial = yield self.global_var(expr)
                return found
            case Op() | Constructor():
                return Partial(expr, Closure(self._operator if isinstance(expr, Op) else _made))
            case Function():
                made: Partial = yield self._function(expr, lets, Var("x") if name is None else name)
                return made
            case Tuple(fields):
                known = yield self._all(fields, lets)
                return Partial(lets.push(Tuple(tuple(one.dynamic for one in known))), Fields(known))
            case TupleGetItem(value, index):
                whole = yield self.visit(value, lets)
                if isinstance(whole.static, Fields):
                    return whole.static.fields[index]
                return Partial(lets.push(TupleGetItem(whole.dynamic, index)))
            case Call():
                result: Partial = yield self._call(expr, lets)
                return result
            case If():
                branch: Partial = yield self._branch(expr, lets)
                return branch
            case Match():
                arm: Partial = yield self._match(expr, lets)
                return arm
            case RefCreate(value):
                held, cell = (yield self.visit(value, lets)), Cell()
                self.store.write(cell, held)
                return Partial(lets.push(RefCreate(held.dynamic)), cell)
            case RefRead(ref):
                read = yield self.visit(ref, lets)
                now = self.store.read(read.static) if isinstance(read.static, Cell) else None
                return Partial(lets.push(RefRead(read.dynamic))) if now is None else now
            case RefWrite(ref, value):
                written, now = yield self._all((ref, value), lets)
                if isinstance(written.static, Cell):
                    self.store.write(written.static, now)
                else:
                    self.store.forget()
                return Partial(lets.push(RefWrite(written.dynamic, now.dynamic)), Fields(()))
        raise AssertionError(type(expr))

    def _all(self, exprs: Sequence[Expr], lets: Lets) -> Generator[Any, Any, tuple[Partial, ...]]:
        found = []
        for one in exprs:
            found.append((yield self.visit(one, lets)))  # noqa: PERF401 - it yields
        return tuple(found)

    def _apart(self, expr: Expr) -> Generator[Any, Any, Expr]:
        """Return what ``expr`` becomes in a scope of its own."""
        frame, lets = self.store.enter(), Lets()
        result: Partial = yield self.visit(expr, lets)
        self.store.leave(frame)
        return lets.around(result.dynamic)

    def _branch(self, expr: If, lets: Lets) -> Step:
        condition: Partial = yield self.visit(expr.condition, lets)
        known = reflected(condition)
        if known is not None:
            chosen = expr.true_branch if bool(known) else expr.false_branch
            result: Partial = yield self.visit(chosen, lets)
            return result
        then: Expr = yield self._apart(expr.true_branch)
        otherwise: Expr = yield self._apart(expr.false_branch)
        self.store.forget()
        return Partial(lets.push(If(condition.dynamic, then, otherwise)))

    def _match(self, expr: Match, lets: Lets) -> Step:
        data: Partial = yield self.visit(expr.data, lets)
        for clause in expr.clauses:
            fits = self._fits(clause.lhs, data)
            if fits is None:
                break
            if fits:
                result: Partial = yield self.visit(clause.rhs, lets)
                return result
        else:
            raise UnsupportedError("no clause of a match fits what is known of its value")
        clauses = []
        for clause in expr.clauses:
            self.values.update((var, Partial(var)) for var in pattern_vars(clause.lhs))
            rhs: Expr = yield self._apart(clause.rhs)
            clauses.append(Clause(clause.lhs, rhs))
        self.store.forget()
        return Partial(lets.push(Match(data.dynamic, tuple(clauses), expr.complete)))

    def _fits(self, pattern: Pattern, value: Partial) -> bool | None:
        """Return whether a value fits, None where that is not known; variables take their parts."""
        known: bool | None = True
        stack = [(pattern, value)]
        while stack:
            one, of = stack.pop()
            match one:
                case PatternVar(var):
                    self.values[var] = of
                case PatternConstructor(constructor, patterns) if isinstance(of.static, Fields):
                    made = of.static.constructor
                    if made is None or not made.same_as(constructor):
                        return False
                    stack += zip(patterns, of.static.fields, strict=True)
                case PatternTuple(patterns) if isinstance(of.static, Fields):
                    stack += zip(patterns, of.static.fields, strict=True)
                case PatternConstructor() | PatternTuple():
                    known = None
        return known

    # Functions.

    def _call(self, call: Call, lets: Lets) -> Step:
        callee: Partial = yield self.visit(call.op, lets)
        args: tuple[Partial, ...] = yield self._all(call.args, lets)
        if isinstance(callee.static, Closure):
            result: Partial = yield callee.static.unfold(callee, call, args, lets)
            return result
        self.store.forget()
        return _residual(callee, call, args, lets)

    def _operator(self, callee: Partial, call: Call, args: Sequence[Partial], lets: Lets) -> Step:
        yield from ()
        values = [reflected(arg) for arg in args]
        record = relay_op(callee.dynamic.name) if isinstance(callee.dynamic, Op) else None
        idle = record is not None and not acts(call) and record.relay != "nn.dropout"
        if record is not None and idle and values and all(one is not None for one in values):
            try:
                return reified(kernel_value(record, call.attrs, values), lets)
            except Relay2RelaxError:
                # The mistake belongs to the moment when the call runs, if it ever does.
                pass
        return _residual(callee, call, args, lets)

    def global_var(self, var: GlobalVar) -> Step:
        """Return what is known of a function of the module, and evaluate its body."""
        if var.name not in self.globals:
            if var.name not in self.mod:
                return Partial(var)
            function = self.mod[var.name]
            self._number(function)
            unfold = self._unfold(function, var)
            self.globals[var.name] = Partial(var, Closure(unfold))
            made: Function = yield self._body(function, unfold, var)
            copy = fresh_copy(made, {})
            assert isinstance(copy, Function)
            self.functions[var.name] = copy
        return self.globals[var.name]

    def _function(self, function: Function, lets: Lets, name: Var) -> Step:
        unfold = self._unfold(function, name)
        made: Function = yield self._body(self._copy(function, {}), unfold, name)
        return Partial(lets.push(made, name), Closure(unfold))

    def _body(self, function: Function, unfold: Unfold, name: Expr) -> Generator[Any, Any, Function]:
        """Return a function evaluated for arguments that are not known."""
        if function.attrs.get("Primitive"):
            return function
        frame, lets = self.store.enter(), Lets()
        self.store.forget()
        given = tuple(map(Partial, function.params))
        call = Call(name, (), type_args=function.type_params)
        result: Partial = yield unfold(Partial(name, Closure(unfold)), call, given, lets)
        self.store.leave(frame)
        return replace(function, body=lets.around(result.dynamic))

    def _unfold(self, function: Function, name: Expr) -> Unfold:
        """Return how calls of ``function``, which calls itself ``name``, are unfolded."""
        outside = {var: self.values[var] for var in free_vars(function) if var is not name}

        def unfold(callee: Partial, call: Call, args: Sequence[Partial], lets: Lets) -> Step:
            if function.attrs.get("Primitive"):
                return _residual(callee, call, args, lets)
            number = self.numbers[function]
            before = self.fuel.get(number)
            left = burnt(before, fuel_of(args))
            if left is None:
                return _residual(callee, call, args, lets)
            self.fuel[number] = left
            copy = self._copy(function, _instantiation(function, call.type_args))
            self.values.update(outside)
            if isinstance(name, Var):
                self.values[name] = callee
            self.values.update(zip(copy.params, args, strict=True))
            result: Partial = yield self.visit(copy.body, lets)
            if before is None:
                del self.fuel[number]
            else:
                self.fuel[number] = before
            return result

        return unfold

    def _number(self, function: Function) -> None:
        for node in nodes(function):
            if isinstance(node, Function):
                self.numbers.setdefault(node, len(self.numbers))

    def _copy(self, function: Function, types: Types) -> Function:
        """Return a copy with variables of its own, and type parameters replaced."""
        copy = fresh_copy(function, {}, lambda var: replace(var, type_annotation=_known(var.type_annotation, types)))
        copy = _instance(copy, types) if types else copy
        for old, new in zip(_functions(function), _functions(copy), strict=True):
            self.numbers[new] = self.numbers[old]
        assert isinstance(copy, Function)
        return copy


def _functions(root: Expr) -> list[Function]:
    return [node for node in nodes(root) if isinstance(node, Function)]


def _instantiation(function: Function, type_args: Sequence[Type]) -> Types:
    params = function.type_params
    given = type_args if len(type_args) == len(params) else [None] * len(params)
    known = [None if isinstance(one, IncompleteType) else one for one in given]
    return dict(zip(params, known, strict=True))


def _known(ty: Type | None, types: Types) -> Type | None:
    """Return ``ty`` with its type parameters replaced, None where one is not known.

    Inference finds it again for each call that is unfolded.
    """
    if ty is None or not types:
        return ty
    named = types.keys() & set(all_type_vars(ty))
    if any(types[one] is None for one in named):
        return None
    return substitute_types(ty, {one: found for one in named if (found := types[one]) is not None})


def _instance(root: Expr, types: Types) -> Expr:
    """Return ``root`` with type parameters replaced in type arguments and declared results."""

    def instance(node: Expr) -> Expr:
        match node:
            case Call(type_args=args) if args:
                found = [_known(one, types) for one in args]
                given = tuple(one for one in found if one is not None)
                return replace(node, type_args=given if len(given) == len(found) else ())
            case Function(ret_type=ty, type_params=params):
                kept = tuple(one for one in params if one not in types)
                return replace(node, ret_type=_known(ty, types), type_params=kept)
        return node

    return rewrite(root, instance)


def _residual(callee: Partial, call: Call, args: Sequence[Partial], lets: Lets) -> Partial:
    """Return a call that is left in the program."""
    given = tuple(arg.dynamic for arg in args)
    return Partial(lets.push(replace(call, op=callee.dynamic, args=given)))


def _made(callee: Partial, call: Call, args: Sequence[Partial], lets: Lets) -> Step:
    """Return what a constructor makes."""
    yield from ()
    made = _residual(callee, call, args, lets)
    assert isinstance(callee.dynamic, Constructor)
    return replace(made, static=Fields(tuple(args), callee.dynamic))
