"""BindParams: parameters of a function become constants of its body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, Union

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.core.errors import Diagnostic, Relay2RelaxError
from relay2relax.core.errors.table import relax
from relay2relax.core.passes import Pass
from relay2relax.relax_ir.inference.infer import Inference, unify
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.expr import Constant, Expr, Function, IRModule, PrimValue, ShapeExpr, Var
from relay2relax.relax_ir.ir.struct_info import PrimStructInfo, ShapeStructInfo, StructInfo
from relay2relax.relax_ir.transform.rewriting.rewriter import Rewriter
from relay2relax.tir.extent import is_any
from relay2relax.tir.ir.expr import FloatImm, IntImm, PrimExpr, const

# What a parameter can be bound to: an array, a constant, shape or scalar of Relax, a sequence of
# extents for a shape, a number for a scalar, or (Any) a tensor of another library that has
# ``__dlpack__``.
Value: TypeAlias = Union[Array, Expr, PrimExpr, Sequence[Any], int, float, bool, Any]


class BindParamsError(Relay2RelaxError):
    """Values cannot be bound: the function has no such parameter, or a value does not fit it."""

    kind = relax.BIND_PARAMS


@dataclass(frozen=True, slots=True)
class BindParams(Pass[IRModule]):
    """Bind ``params``, by name or as variables, in the function ``func_name``; arrays are shared,
    not copied.

    Tensors are arrays, ``Constant`` or tensors of other libraries, which are taken over by DLPack;
    shapes are ``ShapeExpr`` or sequences of extents, scalars are numbers. Symbolic dimensions of a
    bound parameter take the value's extents everywhere in the function. Raises BindParamsError for
    unknown names and variables, for names that several parameters have, for parameters that are
    bound twice, and for values whose dtype or shape their parameter does not have.
    """

    func_name: str
    params: Mapping[str, Value] | Mapping[Var, Value] | Mapping[str | Var, Value]

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with the parameters bound."""
        func = mod[self.func_name]
        if not isinstance(func, Function):
            raise BindParamsError(f"parameters of {self.func_name} cannot be bound: it is not a Relax function")
        bound: dict[Var, Expr] = {}
        for key, value in self.params.items():
            meant = [param for param in func.params if param is key or param.name == key]
            label = key.name if isinstance(key, Var) else key
            if not meant:
                known = ", ".join(param.name for param in func.params) or "none"
                note = f"its parameters are: {known}"
                raise BindParamsError(Diagnostic(f"{self.func_name} has no parameter {label!r}", notes=(note,)))
            if len(meant) > 1:
                raise BindParamsError(f"{self.func_name} has several parameters {label!r}; give their variables")
            if meant[0] in bound:
                raise BindParamsError(f"the parameter {label!r} is bound twice")
            bound[meant[0]] = _expression(value, meant[0])
        return _Binder(mod, self.func_name, bound).module() if bound else mod


def _expression(value: Value, param: Var) -> Expr:
    """Return ``value`` as an expression that stands for ``param``."""
    match value, param.info:
        case ((Constant() | ShapeExpr() | PrimValue()), _):
            return value
        case ((np.ndarray() | np.generic()), info) if not isinstance(info, (PrimStructInfo, ShapeStructInfo)):
            return Constant(np.asarray(value), param.span)
        case ((IntImm() | FloatImm()), PrimStructInfo()):
            return PrimValue(value)
        case ((bool() | int() | float() | np.number()), PrimStructInfo(dtype)):
            return PrimValue(const(value.item() if isinstance(value, np.number) else value, dtype))
        case ((tuple() | list()), ShapeStructInfo()):
            return ShapeExpr(tuple(value))
    if hasattr(value, "__dlpack__"):
        return Constant(np.from_dlpack(value), param.span)
    raise BindParamsError(f"parameter {param.name!r} is {symbols.kind(param.info)}, not {type(value).__name__}")


class _Binder(Rewriter):
    def __init__(self, mod: IRModule, name: str, bound: Mapping[Var, Expr]) -> None:
        super().__init__(mod)
        self.name = name
        self.bound = bound

    def params(self, name: str, func: Function) -> tuple[Sequence[Var], dict[str, Any]]:
        attrs = dict(func.attrs)
        if name != self.name:
            return func.params, attrs
        inference = Inference(self.mod)
        for param, value in self.bound.items():
            unify(param.info, inference.of(value), self.extents)
        self.extents = {dimension: extent for dimension, extent in self.extents.items() if not is_any(extent)}
        for param, value in self.bound.items():
            expected, actual = symbols.substitute(param.info, self.extents), inference.of(value)
            if reason := symbols.mismatch(expected, actual) or _other_number(expected, actual):
                raise BindParamsError(f"the value of parameter {param.name!r} has {reason}")
        if isinstance(attrs.get("num_input"), int):
            inputs = func.params[: func.num_input]
            attrs["num_input"] = func.num_input - sum(param in self.bound for param in inputs)
        self.values.update(self.bound)
        kept = [param for param in func.params if param not in self.bound]
        if self.extents:
            for param in kept:
                self.values[param] = replace(param, info=symbols.substitute(param.info, self.extents))
            kept = [new for param in kept if isinstance(new := self.values[param], Var)]
        return kept, attrs


def _other_number(expected: StructInfo, actual: StructInfo) -> str:
    """Return how a scalar contradicts the shapes that are bound with it, "" where it does not."""
    match expected, actual:
        case PrimStructInfo(_, IntImm(wanted)), PrimStructInfo(_, IntImm(given)) if wanted != given:
            return f"the value {given}, expected {wanted}"
    return ""
