"""Whether expressions and types keep the rules of the language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union

from relay2relax.core.errors import Diagnostic, UnsupportedError, mistake
from relay2relax.core.errors.table import types as kinds
from relay2relax.ops.registry.types import TupleType, Type
from relay2relax.relay_ir.analysis.scopes import Scopes
from relay2relax.relay_ir.analysis.variables import bound_vars
from relay2relax.relay_ir.inference import exhaustiveness
from relay2relax.relay_ir.inference.errors import TypeInferenceError, unknown_type, wrong_type_arguments
from relay2relax.relay_ir.ir.expr import (
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Let,
    Match,
    Op,
    Pattern,
    Tuple,
    Var,
    children,
)
from relay2relax.relay_ir.ir.module import IRModule, TypeData
from relay2relax.relay_ir.ir.rewrite import pattern_vars
from relay2relax.relay_ir.ir.types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    Kind,
    RefType,
    TypeCall,
    TypeRelation,
    TypeVar,
)

# What needs no binding wherever it stands.
_ATOMS = (Constant, GlobalVar, Op, Constructor)


def well_formed(expr: Expr) -> bool:
    """Return whether each variable is bound at most once, and used within its scope only.

    A variable that nothing binds is free, and no mistake. TVM overlooks some uses outside of the
    scope; here every use is looked at.
    """
    bound: set[Var] = set()
    ever: set[Var] = set()
    free: set[Var] = set()
    seen: set[Expr] = set()
    # An expression to look at, variables that are bound from here on, or those whose scope ends.
    ahead: list[Union[Expr, _Begin, tuple[Var, ...]]] = [expr]
    while ahead:
        match ahead.pop():
            case _Begin(names):
                for var in names:
                    if var in ever or var in free:
                        return False
                    ever.add(var)
                    bound.add(var)
            case tuple() as names:
                bound.difference_update(names)
            case Var() as var:
                if var not in bound:
                    if var in ever:
                        return False
                    free.add(var)
            case node if node not in seen:
                seen.add(node)
                ahead.extend(reversed(_steps(node)))
    return True


class _Begin:
    """The scope of variables begins."""

    __match_args__ = ("names",)

    def __init__(self, names: Sequence[Var]) -> None:
        self.names = tuple(names)


def _steps(node: Expr) -> Sequence[Union[Expr, _Begin, tuple[Var, ...]]]:
    match node:
        case Function(params, body):
            return [_Begin(params), body, tuple(params)]
        case Let(var, value, body):
            return [_Begin((var,)), value, body, (var,)]
        case Match(data, clauses):
            steps: list[Union[Expr, _Begin, tuple[Var, ...]]] = [data]
            for clause in clauses:
                names = tuple(pattern_vars(clause.lhs))
                steps += [_Begin(names), clause.rhs, names]
            return steps
    return list(children(node))


def check_basic_block_normal_form(expr: Expr) -> bool:
    """Return True for an expression in basic block normal form.

    Raises UnsupportedError for one that uses a value in scopes inside of its own without a let:
    ``ToBasicBlockNormalForm`` binds such values.
    """
    scopes = Scopes(expr if isinstance(expr, Function) else Function((), expr))
    bound = set(bound_vars(expr))
    if any(node not in bound and not isinstance(node, _ATOMS) for node in scopes.ambiguous()):
        title = "the expression is not in basic block normal form: several inner scopes share a value of it"
        raise UnsupportedError(Diagnostic(title, help="ToBasicBlockNormalForm binds such values by lets"))
    return True


def check_constant(expr: Expr) -> bool:
    """Return whether ``expr`` is a constant, or a tuple of constants."""
    ahead = [expr]
    while ahead:
        match ahead.pop():
            case Constant():
                pass
            case Tuple(fields):
                ahead.extend(fields)
            case _:
                return False
    return True


def unmatched_cases(match: Match, mod: IRModule | None = None) -> list[Pattern]:
    """Return patterns of values that no clause of ``match`` covers; ``mod`` defines the data types.

    They show what is missing, and are not all of it where that would be many.
    """
    return exhaustiveness.unmatched_cases(match, {} if mod is None else mod.type_definitions)


def check_kind(t: Union[Type, TypeData], mod: IRModule | None = None) -> Kind:
    """Return the kind of a type, or of the definition of a data type.

    Raises TypeInferenceError where a type inside it is of another kind than its place demands, and
    for an application of a data type that ``mod`` does not define so.
    """
    ahead: list[Union[Type, TypeData]] = [t]
    while ahead:
        node = ahead.pop()
        if isinstance(node, TypeCall):
            _check_application(node, mod)
        for part, wanted, place in _places(node):
            if _kind(part) != wanted:
                raise TypeInferenceError(mistake(kinds.KIND, place=place, expected=wanted.name, found=_kind(part).name))
            ahead.append(part)
    return _kind(t)


def _kind(t: Union[Type, TypeData]) -> Kind:
    match t:
        case TypeVar(kind=kind) | GlobalTypeVar(kind=kind) | IncompleteType(kind):
            return kind
        case TypeRelation():
            return Kind.CONSTRAINT
        case TypeData():
            return Kind.TYPE_DATA
    return Kind.TYPE


def _places(t: Union[Type, TypeData]) -> list[tuple[Type, Kind, str]]:
    """Return the types inside ``t``, the kind that each is to be of, and what each is there."""
    match t:
        case TupleType(fields):
            return [(one, Kind.TYPE, "a field of a tuple") for one in fields]
        case FuncType(arg_types, ret_type, _, constraints):
            return [
                *((one, Kind.TYPE, "a parameter of a function type") for one in arg_types),
                (ret_type, Kind.TYPE, "the result of a function type"),
                *((one, Kind.CONSTRAINT, "a constraint of a function type") for one in constraints),
            ]
        case RefType(value):
            return [(value, Kind.TYPE, "the content of a reference")]
        case TypeRelation(args=args):
            return [(one, Kind.TYPE, "an argument of a type relation") for one in args]
        case TypeCall(func, args):
            given = [(one, Kind.TYPE, "an argument of a data type") for one in args]
            return [(func, Kind.ADT_HANDLE, "what is applied to types"), *given]
        case TypeData(header, type_vars, constructors):
            inputs = [one for constructor in constructors for one in constructor.inputs]
            return [
                (header, Kind.ADT_HANDLE, "the name of a data type"),
                *((one, Kind.TYPE, "a parameter of a data type") for one in type_vars),
                *((one, Kind.TYPE, "a field of a constructor") for one in inputs),
            ]
    return []


def _check_application(call: TypeCall, mod: IRModule | None) -> None:
    if not isinstance(call.func, GlobalTypeVar) or call.func.kind is not Kind.ADT_HANDLE:
        return
    definition = None if mod is None else mod.type_definitions.get(call.func)
    if definition is None:
        raise TypeInferenceError(unknown_type(call.func.name))
    if len(definition.type_vars) != len(call.args):
        raise TypeInferenceError(wrong_type_arguments(call.func.name, len(definition.type_vars), len(call.args)))
