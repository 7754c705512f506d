"""``tvm.relay.expr_functor`` and ``type_functor``: walks that the methods of scripts lead.

What a method does not visit is not visited; those that are not overridden visit all parts. Such
walks are recursive, as they are in TVM: programs of many thousand nodes in a row want those of
``relay2relax.relay_ir``, which are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.relay_ir.ir import functor
from relay2relax.relay_ir.ir import types as ty
from relay2relax.relay_ir.ir.expr import Call, Constructor, Expr, Function, GlobalVar, Let, Match, Op, Var, children
from relay2relax.relay_ir.ir.module import TypeData
from relay2relax.relay_ir.ir.rewrite import binders

Result = TypeVar("Result")


class ExprFunctor(functor.ExprFunctor[Result], Generic[Result]):
    """Computes a value for each node that its methods visit."""

    def __init__(self) -> None:
        super().__init__()
        self.memo_map = self.memo

    def parts(self, expr: Expr) -> Sequence[Expr]:
        """Return nothing: methods visit what they want to."""
        return ()

    def visit(self, expr: Expr) -> Result:
        """Return the value of a node; it is computed when the node is met for the first time."""
        if expr in self.memo_map:
            return self.memo_map[expr]
        result = self._dispatch(expr)
        self.memo_map[expr] = result
        return result

    def visit_type(self, typ: Type) -> Type:
        """Return a type as it is."""
        return typ


class ExprVisitor(ExprFunctor[object]):
    """Looks at every node that is reached, wholes before parts."""

    def visit_default(self, expr: Expr) -> object:
        """Visit the parts of ``expr``."""
        match expr:
            case Let():
                order: Sequence[Expr] = (expr.var, expr.value, expr.body)
            case Function():
                order = (*expr.params, expr.body)
            case Match():
                order = children(expr)
            case _:
                order = children(expr)
        for one in order:
            self.visit(one)
        return None


class ExprMutator(ExprFunctor[Expr], functor.ExprMutator):
    """Rebuilds an expression; a node whose parts did not change is returned as it is."""

    def visit_default(self, expr: Expr) -> Expr:
        """Return ``expr`` with its parts visited."""
        if isinstance(expr, (GlobalVar, Op, Constructor)):
            return expr
        for one in binders(expr):
            self.visit(one)
        return functor.ExprMutator.visit_default(self, expr)

    def visit_var(self, var: Var) -> Expr:
        """Return what stands for a variable: itself."""
        return var


def function_with_fields(
    function: Function, params: Sequence[Var] | None = None, body: Expr | None = None, ret_type: Type | None = None,
    ty_params: Sequence[ty.TypeVar] | None = None, attrs: object = None, virtual_device: object = None,
    span: object = None,
) -> Function:  # fmt: skip
    """Return a function with other parts; those that are None stay."""
    given = {
        "params": params, "body": body, "ret_type": ret_type, "type_params": ty_params, "attrs": attrs,
        "virtual_device": virtual_device, "span": span,
    }  # fmt: skip
    return replace(function, **{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]


class TypeFunctor:
    """Computes a value for each type; a subclass says how, with a method per kind of type."""

    def visit(self, typ: object) -> object:
        """Return what the method for the kind of ``typ`` gives; raises Exception for no type."""
        for cls, name in _METHODS.items():
            if isinstance(typ, cls):
                return getattr(self, name)(typ)
        raise TypeError(f"unhandled case: {type(typ)}")

    def visit_default(self, typ: object) -> object:
        """Refuse a type whose kind has no method."""
        raise NotImplementedError(f"{type(self).__name__} has no method for {type(typ).__name__}")


_METHODS: dict[type, str] = {
    ty.TypeVar: "visit_type_var", ty.IncompleteType: "visit_incomplete_type", TensorType: "visit_tensor_type",
    ty.FuncType: "visit_func_type", TupleType: "visit_tuple_type", ty.TypeRelation: "visit_type_relation",
    ty.RefType: "visit_ref_type", ty.GlobalTypeVar: "visit_global_type_var", ty.TypeCall: "visit_type_call",
    TypeData: "visit_type_data",
}  # fmt: skip


def _default(self: TypeFunctor, typ: object) -> object:
    return self.visit_default(typ)


for _name in _METHODS.values():
    setattr(TypeFunctor, _name, _default)


def _type_parts(typ: object) -> tuple[object, ...]:
    match typ:
        case ty.FuncType():
            return (*typ.arg_types, typ.ret_type, *typ.type_params, *typ.type_constraints)
        case TupleType():
            return typ.fields
        case ty.TypeRelation():
            return typ.args
        case ty.RefType():
            return (typ.value,)
        case ty.TypeCall():
            return (typ.func, *typ.args)
        case TypeData():
            return (typ.header, *typ.type_vars, *(one for made in typ.constructors for one in made.inputs))
    return ()


class TypeVisitor(TypeFunctor):
    """Looks at every part of a type."""

    def visit_default(self, typ: object) -> object:
        """Visit the parts of a type."""
        for one in _type_parts(typ):
            self.visit(one)
        return None


class TypeMutator(TypeFunctor):
    """Rebuilds a type."""

    def visit_default(self, typ: object) -> object:
        """Return a type with its parts visited."""
        match typ:
            case ty.FuncType():
                return ty.FuncType(
                    self._all(typ.arg_types), self.visit(typ.ret_type), self._all(typ.type_params),  # type: ignore[arg-type]
                    self._all(typ.type_constraints),  # type: ignore[arg-type]
                )  # fmt: skip
            case TupleType():
                return TupleType(self._all(typ.fields))  # type: ignore[arg-type]
            case ty.TypeRelation():
                return ty.TypeRelation(typ.name, self._all(typ.args), typ.num_inputs, typ.attrs)  # type: ignore[arg-type]
            case ty.RefType():
                return ty.RefType(self.visit(typ.value))  # type: ignore[arg-type]
            case ty.TypeCall():
                return ty.TypeCall(self.visit(typ.func), self._all(typ.args))  # type: ignore[arg-type]
            case TypeData():
                return TypeData(self.visit(typ.header), self._all(typ.type_vars), typ.constructors)  # type: ignore[arg-type]
        return typ

    def _all(self, types: Sequence[object]) -> tuple[object, ...]:
        return tuple(self.visit(one) for one in types)


__all__ = ["Call", "ExprFunctor", "ExprMutator", "ExprVisitor", "TypeFunctor", "TypeMutator", "TypeVisitor"]
