"""BindSymbolicVars: symbolic dimensions get values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from relay2relax.core.errors import Diagnostic, Relay2RelaxError
from relay2relax.core.passes import Pass
from relay2relax.relax_ir import symbols
from relay2relax.relax_ir.expr import Function, IRModule, Var
from relay2relax.relax_ir.transform.rewriter import Rewriter
from relay2relax.tir import expr as tir
from relay2relax.tir.extent import Extent


class BindSymbolicVarsError(Relay2RelaxError):
    """Dimensions cannot be bound: no function has one of that name, or several have."""


@dataclass(frozen=True, slots=True)
class BindSymbolicVars(Pass[IRModule]):
    """Let the symbolic dimensions ``binding_map``, by name or as variables, have the values given.

    ``func_name`` restricts this to one function; without it every public function is changed. Raises
    BindSymbolicVarsError for a name that no parameter has, or that two dimensions of a function have.
    """

    binding_map: Mapping[str | tir.Var, Extent]
    func_name: str | None = None

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with the dimensions bound."""
        if self.func_name is not None and not isinstance(mod[self.func_name], Function):
            raise BindSymbolicVarsError(f"{self.func_name} is not a Relax function")
        chosen = {
            var.name: _dimensions(func)
            for var, func in mod.functions.items()
            if isinstance(func, Function) and (var.name == self.func_name if self.func_name else not func.private)
        }
        bound: dict[str, dict[tir.Var, Extent]] = {name: {} for name in chosen}
        for key, value in self.binding_map.items():
            if isinstance(value, int) and value < 0:
                raise BindSymbolicVarsError(f"a dimension cannot be {value}")
            label = key.name if isinstance(key, tir.Var) else key
            found = False
            for name, dimensions in chosen.items():
                meant = [one for one in dimensions if one is key or one.name == key]
                if len(meant) > 1:
                    raise BindSymbolicVarsError(f"{name} has several dimensions {label!r}; give their variables")
                bound[name].update(dict.fromkeys(meant, value))
                found = found or bool(meant)
            if not found:
                known = ", ".join(sorted({one.name for dims in chosen.values() for one in dims})) or "none"
                raise BindSymbolicVarsError(
                    Diagnostic(f"there is no symbolic dimension {label!r}", notes=(f"there are: {known}",))
                )
        return _Binder(mod, bound).module()


def _dimensions(func: Function) -> list[tir.Var]:
    found = (v for param in func.params for e in symbols.extents(param.info) for v in symbols.variables(e))
    return list(dict.fromkeys(found))


class _Binder(Rewriter):
    def __init__(self, mod: IRModule, bound: Mapping[str, Mapping[tir.Var, Extent]]) -> None:
        super().__init__(mod)
        self.bound = bound

    def params(self, name: str, func: Function) -> tuple[Sequence[Var], dict[str, Any]]:
        self.extents = dict(self.bound.get(name, {}))
        if not self.extents:
            return func.params, dict(func.attrs)
        params = [replace(param, info=symbols.substitute(param.info, self.extents)) for param in func.params]
        self.values.update(zip(func.params, params, strict=True))
        return params, dict(func.attrs)
