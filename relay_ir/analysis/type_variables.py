"""The type variables of an expression or a type, in the order in which TVM meets them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Union

from relay2relax.core.walk import post_order
from relay2relax.ops.registry.types import TupleType, Type
from relay2relax.relay_ir.analysis.traversal import parts
from relay2relax.relay_ir.inference.errors import TypeInferenceError, unknown_type
from relay2relax.relay_ir.ir.expr import Call, Constructor, Expr, Function, RelayExpr, Var
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.types import FuncType, RefType, TypeCall, TypeRelation, TypeVar


def all_type_vars(expr: Union[Expr, Type], mod: IRModule | None = None) -> list[TypeVar]:
    """Return every type variable that ``expr``, an expression or a type, uses or binds, once each.

    Constructors bind what their definitions in ``mod`` bind. Result types that functions declare
    are not looked at, as in TVM.
    """
    return list(dict.fromkeys(var for var, _ in _meetings(expr, mod)))


def bound_type_vars(expr: Union[Expr, Type], mod: IRModule | None = None) -> list[TypeVar]:
    """Return the type variables that ``expr`` binds: parameters of functions and function types."""
    return list(dict.fromkeys(var for var, binds in _meetings(expr, mod) if binds))


def free_type_vars(expr: Union[Expr, Type], mod: IRModule | None = None) -> list[TypeVar]:
    """Return the type variables that ``expr`` uses and does not bind anywhere, once each."""
    bound = set(bound_type_vars(expr, mod))
    return [var for var in all_type_vars(expr, mod) if var not in bound]


def _meetings(root: Union[Expr, Type], mod: IRModule | None) -> Iterator[tuple[TypeVar, bool]]:
    if not isinstance(root, RelayExpr):
        yield from _in_type(root)
        return
    roots: tuple[Expr, ...] = (root,)
    for node in post_order(roots, parts):
        match node:
            case Function(type_params=params):
                yield from ((var, True) for var in params)
            case Var(type_annotation=annotation) if annotation is not None:
                yield from _in_type(annotation)
            case Call(type_args=given):
                for one in given:
                    yield from _in_type(one)
            case Constructor():
                yield from _in_constructor(node, mod)


def _in_constructor(node: Constructor, mod: IRModule | None) -> Iterator[tuple[TypeVar, bool]]:
    definition = None if mod is None else mod.type_definitions.get(node.belong_to)
    if definition is None:
        raise TypeInferenceError(unknown_type(node.belong_to.name))
    yield from ((var, True) for var in definition.type_vars)
    for one in node.inputs:
        yield from _in_type(one)


def _in_type(root: Type) -> Iterator[tuple[TypeVar, bool]]:
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, TypeVar):
            yield node, False
        elif isinstance(node, FuncType):
            yield from ((var, True) for var in node.type_params)
        stack.extend(reversed(_fields(node)))


def _fields(node: Type) -> Sequence[Type]:
    match node:
        case TupleType(fields):
            return fields
        case FuncType(arg_types, ret_type, _, constraints):
            return (*arg_types, ret_type, *constraints)
        case RefType(value):
            return (value,)
        case TypeCall(func, args):
            return (func, *args)
        case TypeRelation(args=args):
            return args
    return ()
