"""Gradients of functions of tensors, by reverse differentiation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

from relay2relax.core.errors import UnsupportedError
from relay2relax.core.passes import Pass
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Function, Let, Op, Tuple, TupleGetItem, Var
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes
from relay2relax.relay_ir.ir.types import TensorType, TupleType, Type
from relay2relax.relay_ir.transform.infrastructure import declared, map_functions
from relay2relax.relay_ir.transform.inline import InlineLocalFunctions
from relay2relax.relay_ir.transform.training.gradients import gradient_of
from relay2relax.relay_ir.transform.training.gradients.rules import Gradient, has_floats, no_tensors, unknown_gradient
from relay2relax.tir.extent import static


@dataclass(frozen=True, slots=True)
class FirstOrderGradient(Pass[IRModule]):
    """Let each function return its result and the gradients of it, as ``(result, (g0, g1, …))``.

    ``g0`` is the gradient by the first parameter of the sum over the result's elements. Function
    literals are inlined first.
    """

    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with gradients; infers types where ``mod`` has none.

        Raises UnsupportedError for lets, branches, references, matches, calls of functions and
        operators whose gradient is not known.
        """
        mod = declared(InlineLocalFunctions(marked=True)(mod))
        types = TypeTable.inferred(mod)
        return map_functions(mod, lambda function: _Reverse(function, types).run())


class _Lets:
    """A sequence of lets under construction."""

    def __init__(self) -> None:
        self.bound: list[tuple[Var, Expr]] = []

    def push(self, value: Expr) -> Var:
        """Bind ``value`` to a new variable."""
        var = Var("x")
        self.bound.append((var, value))
        return var

    def around(self, body: Expr) -> Expr:
        """Return ``body`` behind the lets."""
        for var, value in reversed(self.bound):
            body = Let(var, value, body)
        return body


@dataclass(slots=True)
class _Value:
    """A value of the program, and the gradient by it as far as that has been added up."""

    forward: Var
    gradient: Expr
    type: Type


class _Reverse:
    """Differentiates one function."""

    def __init__(self, root: Function, types: TypeTable) -> None:
        if root.type_params:
            raise UnsupportedError("gradients of polymorphic functions are not known")
        self.root, self.types = root, types
        self.lets = _Lets()
        self.values: dict[Expr, _Value] = {}
        # What adds to the gradients of a value's parts, in the order of the program.
        self.back: list[Callable[[_Lets], None]] = []

    def run(self) -> Function:
        """Return the function with its gradients."""
        for param in self.root.params:
            self._value(param, param)
        for node in nodes(self.root.body):
            if not isinstance(node, Op) and node not in self.values:
                self._visit(node)
        result = self.values[self.root.body]
        result.gradient = _filled(result.forward, result.type, op.ones, op.ones_like)
        lets = _Lets()
        for step in reversed(self.back):
            step(lets)
        gradients = lets.around(Tuple(tuple(self.values[param].gradient for param in self.root.params)))
        body = self.lets.around(Tuple((result.forward, gradients)))
        given = TupleType(tuple(self.values[param].type for param in self.root.params))
        return replace(self.root, body=body, ret_type=TupleType((result.type, given)))

    def _type(self, node: Expr) -> Type:
        found = self.types.of(node)
        assert found is not None
        return found

    def _value(self, node: Expr, forward: Expr) -> _Value:
        ty = self._type(node)
        var = self.lets.push(forward)
        self.types.same(var, node)
        self.types.same(forward, node)
        zero = self.lets.push(_filled(var, ty, op.zeros, op.zeros_like))
        self.values[node] = _Value(var, zero, ty)
        return self.values[node]

    def _visit(self, node: Expr) -> None:
        match node:
            case Constant():
                self._value(node, node)
            case Tuple(fields):
                self._tuple(node, [self.values[one] for one in fields])
            case TupleGetItem(value, index):
                self._field(node, self.values[value], index)
            case Call(Op(name), args):
                floats = has_floats(self._type(node))
                rule = gradient_of(name) if floats else None
                if rule is None and floats:
                    raise unknown_gradient(name)
                self._call(node, rule, [self.values[one] for one in args])
            case _:
                raise UnsupportedError(f"gradients through a {type(node).__name__} of Relay are not known")

    def _call(self, node: Call, rule: Gradient | None, args: list[_Value]) -> None:
        call = replace(node, args=tuple(one.forward for one in args))
        made = self._value(node, call)
        if rule is None:
            return  # Truth values and integers do not change with what they are computed of.

        def back(lets: _Lets) -> None:
            found = rule(call, made.gradient, self.types)
            for one, gradient in zip(args, found, strict=True):
                one.gradient = _sum(one.type, one.gradient, gradient, lets)

        self.back.append(back)

    def _tuple(self, node: Tuple, fields: list[_Value]) -> None:
        made = self._value(node, replace(node, fields=tuple(one.forward for one in fields)))

        def back(lets: _Lets) -> None:
            for index, one in enumerate(fields):
                one.gradient = _sum(one.type, one.gradient, TupleGetItem(made.gradient, index), lets)

        self.back.append(back)

    def _field(self, node: TupleGetItem, whole: _Value, index: int) -> None:
        made = self._value(node, replace(node, tuple_value=whole.forward))

        def back(lets: _Lets) -> None:
            assert isinstance(whole.type, TupleType)
            parts: list[Expr] = [TupleGetItem(whole.gradient, place) for place in range(len(whole.type.fields))]
            parts[index] = _sum(made.type, parts[index], made.gradient, lets)
            whole.gradient = lets.push(Tuple(tuple(parts)))

        self.back.append(back)


def _filled(value: Expr, ty: Type, fill: Callable[..., Expr], fill_like: Callable[[Expr], Expr]) -> Expr:
    """Return a value of type ``ty``, that of ``value``, with all elements alike."""
    match ty:
        case TensorType():
            return fill_like(value)
        case TupleType(fields):
            return Tuple(tuple(_part(value, place, one, fill, fill_like) for place, one in enumerate(fields)))
    raise no_tensors()


def _part(value: Expr, place: int, ty: Type, fill: Callable[..., Expr], fill_like: Callable[[Expr], Expr]) -> Expr:
    """Return the same for a field of a tuple, whose own value is asked only where its shape is not
    known.
    """
    if isinstance(ty, TensorType) and all(static(extent) is not None for extent in ty.shape):
        return fill(ty.shape, ty.dtype)
    return _filled(TupleGetItem(value, place), ty, fill, fill_like)


def _sum(ty: Type, one: Expr, other: Expr, lets: _Lets) -> Expr:
    """Return the sum of two values of a type; tuples are added field by field."""
    if isinstance(ty, TensorType):
        return lets.push(op.add(one, other))
    assert isinstance(ty, TupleType)
    fields = []
    for index, field in enumerate(ty.fields):
        parts = [lets.push(TupleGetItem(whole, index)) for whole in (one, other)]
        fields.append(_sum(field, parts[0], parts[1], lets))
    return lets.push(Tuple(tuple(fields)))
