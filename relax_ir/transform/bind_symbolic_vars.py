"""BindSymbolicVars: symbolic dimensions get values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from relay2relax.core.errors import Diagnostic, Relay2RelaxError
from relay2relax.core.errors.table import relax
from relay2relax.core.passes import Pass
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.expr import Function, IRModule, MatchCast, Var
from relay2relax.relax_ir.ir.visit import all_sequences, bindings
from relay2relax.relax_ir.transform.rewriting.rewriter import Rewriter
from relay2relax.tir.extent import Extent
from relay2relax.tir.ir import expr as tir


class BindSymbolicVarsError(Relay2RelaxError):
    """Dimensions cannot be bound: no function has one of that name, or several have."""

    kind = relax.BIND_SYMBOLIC_VARS


@dataclass(frozen=True, slots=True)
class BindSymbolicVars(Pass[IRModule]):
    """Let the symbolic dimensions ``binding_map``, by name or as variables, have the values given.

    Values are extents: integers, or expressions in other dimensions. A name means the dimension of
    that name in every function, or in ``func_name`` alone where that is given; dimensions are those
    of parameters and of casts. Raises BindSymbolicVarsError for a dimension that no function has,
    for a name that two dimensions of a function have, for one that is bound twice, for negative
    values, and where a value has a dimension that nothing determines.
    """

    binding_map: Mapping[str | tir.Var, Extent]
    func_name: str | None = None
    opt_level: ClassVar[int] = 1

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with the dimensions bound."""
        if self.func_name is not None and not isinstance(mod[self.func_name], Function):
            raise BindSymbolicVarsError(f"dimensions of {self.func_name} cannot be bound: it is not a Relax function")
        chosen = {
            var.name: _dimensions(func)
            for var, func in mod.functions.items()
            if isinstance(func, Function) and self.func_name in (None, var.name)
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
                if any(one in bound[name] for one in meant):
                    raise BindSymbolicVarsError(f"the dimension {label!r} of {name} is bound twice")
                bound[name].update(dict.fromkeys(meant, value))
                found = found or bool(meant)
            if not found:
                known = ", ".join(sorted({one.name for dims in chosen.values() for one in dims})) or "none"
                raise BindSymbolicVarsError(
                    Diagnostic(f"there is no symbolic dimension {label!r}", notes=(f"there are: {known}",))
                )
        return _Binder(mod, bound).module() if any(bound.values()) else mod


def _dimensions(func: Function) -> list[tir.Var]:
    infos = [param.info for param in func.params]
    for seq in all_sequences([func.body]):
        infos += [binding.info for binding in bindings(seq) if isinstance(binding, MatchCast)]
    return list(dict.fromkeys(v for info in infos for e in symbols.extents(info) for v in symbols.variables(e)))


class _Binder(Rewriter):
    def __init__(self, mod: IRModule, bound: Mapping[str, Mapping[tir.Var, Extent]]) -> None:
        super().__init__(mod)
        self.bound = bound

    def params(self, name: str, func: Function) -> tuple[Sequence[Var], dict[str, Any]]:
        self.extents = dict(self.bound.get(name, {}))
        if not self.extents:
            return func.params, dict(func.attrs)
        params = [replace(param, info=symbols.substitute(param.info, self.extents)) for param in func.params]
        new = {var for extent in self.extents.values() for var in symbols.variables(extent)}
        if missing := new - symbols.defined(param.info for param in params) - set(_dimensions(func)):
            names = ", ".join(sorted(repr(var.name) for var in missing))
            raise BindSymbolicVarsError(f"no parameter of {name} determines the dimension {names}")
        self.values.update(zip(func.params, params, strict=True))
        return params, dict(func.attrs)
