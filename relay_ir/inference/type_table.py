"""Types of expressions that a pass makes: found from the types of their parts, on demand."""

from __future__ import annotations

from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.walk import post_order
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.inference.operators import infer_operator
from relay2relax.relay_ir.ir.expr import (
    Call,
    Constant,
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
from relay2relax.relay_ir.ir.types import FuncType, RefType, TensorType, TupleType, Type
from relay2relax.tir.extent import static


class TypeTable:
    """The types of a module's expressions, and of those that are made of them later.

    A new expression's type is worked out of its parts' when it is asked for, once, without
    inferring the module again.
    """

    def __init__(self, mod: IRModule) -> None:
        """Take the types that ``mod`` has; see :meth:`inferred`."""
        self._functions = {var.name: function for var, function in mod.functions.items()}
        self._known: dict[Expr, Type | None] = {} if mod.recorded else dict(mod.types)

    @staticmethod
    def inferred(mod: IRModule) -> TypeTable:
        """Return the table of ``mod``, inferred where it is not.

        Raises TypeInferenceError where it is ill-typed.
        """
        return TypeTable(typed_module(mod))

    def of(self, expr: Expr) -> Type | None:
        """Return the type of ``expr``, None where that does not follow from its parts."""
        known = self._known
        if expr not in known:
            roots: tuple[Expr, ...] = (expr,)
            for node in post_order(roots, lambda one: () if one in known else children(one)):
                if node not in known:
                    known[node] = self._made(node)
        return known[expr]

    def tensor(self, expr: Expr) -> TensorType | None:
        """Return the type of ``expr`` where it is a tensor, None otherwise."""
        found = self.of(expr)
        return found if isinstance(found, TensorType) else None

    def is_dynamic(self, expr: Expr) -> bool:
        """Whether an extent of ``expr`` is not known, or its type is not."""
        return _is_dynamic(self.of(expr))

    def same(self, made: Expr, of: Expr) -> None:
        """Say that ``made``, which stands for ``of``, has its type."""
        known = self._known.get(of)
        if known is not None:
            self._known.setdefault(made, known)

    def _made(self, expr: Expr) -> Type | None:
        known = self._known
        match expr:
            case Constant():
                return expr.tensor_type
            case Var():
                return expr.type_annotation
            case Tuple(fields):
                found = [known[one] for one in fields]
                types = tuple(one for one in found if one is not None)
                return TupleType(types) if len(types) == len(found) else None
            case TupleGetItem(value, index):
                whole = known[value]
                return whole.fields[index] if isinstance(whole, TupleType) and index < len(whole.fields) else None
            case Call(Op(name), args):
                return _of_operator(name, expr.attrs, [known[arg] for arg in args])
            case Call(callee):
                return _result_of(known[callee])
            case GlobalVar(name):
                return _of_function(self._functions[name], None) if name in self._functions else None
            case Function():
                return _of_function(expr, known[expr.body])
            case Let(body=body) | If(true_branch=body):
                return known[body]
            case Match(clauses=clauses):
                return known[clauses[0].rhs] if clauses else None
            case RefCreate(value):
                inner = known[value]
                return RefType(inner) if inner is not None else None
            case RefRead(ref):
                cell = known[ref]
                return cell.value if isinstance(cell, RefType) else None
            case RefWrite():
                return TupleType(())
        return None


def _of_operator(name: str, attrs: object, types: list[Type | None]) -> Type | None:
    record = relay_op(name)
    given = tuple(one for one in types if one is not None)
    if record is None or len(given) < len(types):
        return None
    try:
        return infer_operator(record, attrs, given).result
    except Relay2RelaxError:
        # An ill-typed call was made; inference of the whole module will say so, with its place.
        return None


def _of_function(function: Function, body: Type | None) -> Type | None:
    params = tuple(one.type_annotation for one in function.params)
    result = function.ret_type or body
    known = tuple(one for one in params if one is not None)
    return FuncType(known, result, function.type_params) if result is not None and len(known) == len(params) else None


def _result_of(callee: Type | None) -> Type | None:
    return callee.ret_type if isinstance(callee, FuncType) and not callee.type_params else None


def _is_dynamic(ty: Type | None) -> bool:
    stack = [ty]
    while stack:
        match stack.pop():
            case TensorType(shape) if all(static(extent) is not None for extent in shape):
                pass
            case TupleType(fields):
                stack += fields
            case _:
                return True
    return False
