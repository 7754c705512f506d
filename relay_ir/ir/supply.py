"""``tvm.ir.supply``: names that are not taken yet."""

from __future__ import annotations

import re

from relay2relax.relay_ir.ir.expr import GlobalVar
from relay2relax.relay_ir.ir.module import IRModule


class NameSupply:
    """Gives every name once; a name that is taken gets a number."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self._taken: dict[str, int] = {}

    def _full(self, name: str, add_prefix: bool) -> str:
        return f"{self.prefix}_{name}" if add_prefix and self.prefix else name

    def fresh_name(self, name: str, add_prefix: bool = True, add_underscore: bool = True) -> str:
        """Return the name, or the name and the first number that is free."""
        wanted = re.sub(r"\W", "_", self._full(name, add_prefix))
        if wanted not in self._taken:
            self._taken[wanted] = 0
            return wanted
        while True:
            self._taken[wanted] += 1
            found = f"{wanted}{'_' if add_underscore else ''}{self._taken[wanted]}"
            if found not in self._taken:
                self._taken[found] = 0
                return found

    def reserve_name(self, name: str, add_prefix: bool = True) -> str:
        """Take a name."""
        full = self._full(name, add_prefix)
        self._taken.setdefault(full, 0)
        return full

    def contains_name(self, name: str, add_prefix: bool = True) -> bool:
        """Whether a name is taken."""
        return self._full(name, add_prefix) in self._taken


class GlobalVarSupply:
    """Gives global variables of names that are not taken."""

    def __init__(self, value: object = None) -> None:
        """Take a supply of names, a module, or several, whose names are taken then."""
        self.name_supply = value if isinstance(value, NameSupply) else NameSupply("")
        self._vars: dict[str, GlobalVar] = {}
        for mod in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(mod, IRModule):
                for var in mod.functions:
                    self.reserve_global(var)

    def fresh_global(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """Return a new variable."""
        var = GlobalVar(self.name_supply.fresh_name(name, add_prefix))
        self._vars[var.name] = var
        return var

    def unique_global_for(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """Return the variable of a name, always the same."""
        full = self.name_supply.reserve_name(name, add_prefix)
        return self._vars.setdefault(full, GlobalVar(full))

    def reserve_global(self, global_var: GlobalVar, allow_conflict: bool = False) -> None:
        """Take the name of a variable; raises ValueError where it is taken."""
        if not allow_conflict and global_var.name in self._vars:
            raise ValueError(f"GlobalVar {global_var.name} is taken")
        self.name_supply.reserve_name(global_var.name, False)
        self._vars[global_var.name] = global_var
