"""Tensors of ones and zeros that are made when they are needed, if they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from relay2relax.core.errors import UnsupportedError
from relay2relax.core.passes import Pass
from relay2relax.relay_ir.build.prelude import Prelude
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    Tuple,
    TupleGetItem,
    Var,
    children,
)
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, with_children
from relay2relax.relay_ir.ir.types import FuncType, GlobalTypeVar, RefType, TensorType, TupleType, Type, TypeCall
from relay2relax.relay_ir.transform.infrastructure import declared, left_alone

_LAZY = {"ones": "One", "ones_like": "One", "zeros": "Zero", "zeros_like": "Zero"}
_OVERLOADED = {"add": "AddGradCell", "multiply": "MultiplyGradCell"}


@dataclass(frozen=True, slots=True)
class LazyGradientInit(Pass[IRModule]):
    """Let functions compute with values that may be ones or zeros without being tensors.

    Inside, every tensor is a ``GradCell``: one, zero, or a tensor. Sums and products with one or
    zero are not computed. Parameters and results stay tensors and tuples of them. It follows
    ``FirstOrderGradient``, whose gradients begin as zeros.
    """

    opt_level: ClassVar[int] = 2

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with the library of ``GradCell``; infers types where ``mod`` has none.

        Raises UnsupportedError for polymorphic functions, data types and matches.
        """
        mod = declared(typed_module(mod))
        types = typed_module(mod).types
        library = _Library.of(mod)
        functions = {
            var: function if left_alone(function) or var.name in library.names else _Lazy(library, types).run(function)
            for var, function in mod.functions.items()
        }
        return replace(library.mod, functions={**library.mod.functions, **functions}, types={})


@dataclass(frozen=True, slots=True)
class _Library:
    """A module that has ``GradCell``, and what belongs to it by name."""

    mod: IRModule
    cell: GlobalTypeVar
    constructors: dict[str, Constructor]
    names: dict[str, GlobalVar] = field(default_factory=dict)

    @staticmethod
    def of(mod: IRModule) -> _Library:
        """Return the library of ``mod``, added where it is not there."""
        if not any(header.name == "GradCell" for header in mod.type_definitions):
            mod = Prelude(mod, ("gradient",)).mod
        ((header, data),) = [one for one in mod.type_definitions.items() if one[0].name == "GradCell"]
        names = ("FromGradCell", *_OVERLOADED.values())
        return _Library(
            mod,
            header,
            {one.name: one for one in data.constructors},
            {name: mod.get_global_var(name) for name in names},
        )

    def made(self, name: str, value: Expr, ty: Type) -> Expr:
        """Return a cell of the constructor ``name``."""
        return Call(self.constructors[name], (value,), type_args=(ty,))

    def called(self, name: str, args: Sequence[Expr], ty: Type) -> Expr:
        """Return the call of a function of the library."""
        return Call(self.names[name], tuple(args), type_args=(ty,))

    def type_of(self, ty: Type) -> Type:
        """Return a type with its tensors as cells."""
        match ty:
            case TensorType():
                return TypeCall(self.cell, (ty,))
            case TupleType(fields):
                return TupleType(tuple(map(self.type_of, fields)))
            case FuncType(args, result):
                return replace(ty, arg_types=tuple(map(self.type_of, args)), ret_type=self.type_of(result))
            case RefType(value):
                return RefType(self.type_of(value))
        raise UnsupportedError(f"gradients are made lazily of tensors and tuples of them, not of {ty}")

    def wrapped(self, value: Expr, ty: Type) -> Expr:
        """Return a value of tensors as one of cells."""
        match ty:
            case TensorType():
                return self.made("Raw", value, ty)
            case TupleType(fields):
                return Tuple(tuple(self.wrapped(TupleGetItem(value, i), one) for i, one in enumerate(fields)))
        return value

    def unwrapped(self, value: Expr, ty: Type) -> Expr:
        """Return a value of cells as one of tensors."""
        match ty:
            case TensorType():
                return self.called("FromGradCell", (value,), ty)
            case TupleType(fields):
                return Tuple(tuple(self.unwrapped(_field(value, i), one) for i, one in enumerate(fields)))
        return value


def _field(value: Expr, index: int) -> Expr:
    return value.fields[index] if isinstance(value, Tuple) else TupleGetItem(value, index)


class _Lazy:
    """Rewrites one function."""

    def __init__(self, library: _Library, types: Mapping[Expr, Type]) -> None:
        self.library, self.types = library, types
        self.done: dict[Expr, Expr] = {}

    def run(self, root: Function) -> Function:
        """Return a function of the same type around the lazy one."""
        if root.type_params:
            raise UnsupportedError("gradients of polymorphic functions are not made lazily")
        for node in nodes(root):
            self.done[node] = self._visit(node)
        lazy = self.done[root]
        ty = self.types[root]
        assert isinstance(ty, FuncType)
        params = tuple(replace(param) for param in root.params)
        given = tuple(self.library.wrapped(one, of) for one, of in zip(params, ty.arg_types, strict=True))
        result = Var("x")
        body = Let(result, Call(lazy, given), self.library.unwrapped(result, ty.ret_type))
        return replace(root, params=params, body=body)

    def _visit(self, node: Expr) -> Expr:
        parts = [self.done[child] for child in children(node)]
        match node:
            case Constant():
                return self.library.made("Raw", node, self.types[node])
            case Var():
                return replace(node, type_annotation=self.library.type_of(self.types[node]))
            case Call(Op(name)):
                return self._operator(node, name, parts[1:])
            case Call(GlobalVar()):
                # The function takes and gives tensors.
                given = [self._tensor(old, new) for old, new in zip(node.args, parts[1:], strict=True)]
                return self.library.wrapped(with_children(node, [node.op, *given]), self.types[node])
            case If(condition):
                return with_children(node, [self._tensor(condition, parts[0]), *parts[1:]])
            case Let(var):
                made = with_children(node, parts)
                assert isinstance(made, Let)
                return replace(made, var=self._bound(var))
            case Function(params):
                result = self.types[node.body]
                made_params = tuple(self._bound(param) for param in params)
                return replace(node, params=made_params, body=parts[0], ret_type=self.library.type_of(result))
            case GlobalVar():
                return node
            case Match() | Constructor():
                raise UnsupportedError("gradients are not made lazily through data types")
        return with_children(node, parts)

    def _bound(self, var: Var) -> Var:
        found = self.done.get(var) or self._visit(var)
        self.done[var] = found
        assert isinstance(found, Var)
        return found

    def _tensor(self, old: Expr, new: Expr) -> Expr:
        """Return ``new``, which stands for ``old``, as tensors."""
        return self.library.unwrapped(new, self.types[old])

    def _operator(self, call: Call, name: str, args: Sequence[Expr]) -> Expr:
        ty = self.types[call]
        types = [self.types[arg] for arg in call.args]
        if name in _OVERLOADED and types[0] == types[1]:
            sides = (Var("lhs", types[0]), Var("rhs", types[1]))
            plain = Function(sides, replace(call, args=sides), types[0])
            return self.library.called(_OVERLOADED[name], (plain, *args), types[0])
        given = [self._tensor(old, new) for old, new in zip(call.args, args, strict=True)]
        made = with_children(call, [call.op, *given])
        if name in _LAZY:
            return self.library.made(_LAZY[name], Function((), made, ty), ty)
        return self.library.wrapped(made, ty)
