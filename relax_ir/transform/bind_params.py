"""BindParams: parameters of a function become constants of its body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from relay2relax.core.dtype import Array
from relay2relax.core.errors import Diagnostic, Relay2RelaxError
from relay2relax.core.passes import Pass
from relay2relax.relax_ir import symbols
from relay2relax.relax_ir.expr import Constant, Function, IRModule, Var
from relay2relax.relax_ir.infer import unify
from relay2relax.relax_ir.transform.rewriter import Rewriter


class BindParamsError(Relay2RelaxError):
    """Values cannot be bound: the function has no such parameter, or a value does not fit it."""


@dataclass(frozen=True, slots=True)
class BindParams(Pass[IRModule]):
    """Bind ``params``, by name, in the function ``func_name``; arrays are shared, not copied.

    Symbolic dimensions of a bound parameter take the value's extents everywhere in the function. Raises
    BindParamsError for unknown names and for values whose dtype or shape their parameter does not have.
    """

    func_name: str
    params: Mapping[str, Array]

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with the parameters bound."""
        func = mod[self.func_name]
        if not isinstance(func, Function):
            raise BindParamsError(f"{self.func_name} is not a Relax function")
        names = {param.name for param in func.params}
        unknown = [name for name in self.params if name not in names]
        if unknown:
            known = ", ".join(param.name for param in func.params) or "none"
            raise BindParamsError(
                Diagnostic(
                    f"{self.func_name} has no parameter {', '.join(map(repr, unknown))}",
                    notes=(f"its parameters are: {known}",),
                )
            )
        return _Binder(mod, self.func_name, self.params).module()


class _Binder(Rewriter):
    def __init__(self, mod: IRModule, name: str, bound: Mapping[str, Array]) -> None:
        super().__init__(mod)
        self.name = name
        self.bound = bound

    def params(self, name: str, func: Function) -> tuple[Sequence[Var], dict[str, Any]]:
        attrs = dict(func.attrs)
        if name != self.name:
            return func.params, attrs
        constants = {p: Constant(self.bound[p.name], p.span) for p in func.params if p.name in self.bound}
        for param, constant in constants.items():
            unify(param.info, constant.info, self.extents)
        for param, constant in constants.items():
            expected = symbols.substitute(param.info, self.extents)
            if reason := symbols.mismatch(expected, constant.info):
                raise BindParamsError(f"the value of parameter {param.name!r} has {reason}")
        if isinstance(attrs.get("num_input"), int):
            attrs["num_input"] -= sum(param in constants for param in func.params[: attrs["num_input"]])
        self.values.update(constants)
        kept = [param for param in func.params if param not in constants]
        if self.extents:
            for param in kept:
                self.values[param] = replace(param, info=symbols.substitute(param.info, self.extents))
            kept = [new for param in kept if isinstance(new := self.values[param], Var)]
        return kept, attrs
