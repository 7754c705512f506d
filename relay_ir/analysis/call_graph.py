"""Which functions of a module call which."""

from __future__ import annotations

from typing import Union

from relay2relax.core.walk import post_order
from relay2relax.relay_ir.ir.expr import Expr, GlobalVar, children
from relay2relax.relay_ir.ir.module import IRModule, as_module


class CallGraph:
    """Who refers to whom in ``module``; a function that refers to another one twice does it once.

    Functions are named by their variables or their names. A name that the module does not have
    raises what ``IRModule.get_global_var`` raises.
    """

    def __init__(self, module: IRModule) -> None:
        self.module = module
        self._calls: dict[str, list[str]] = {}
        for caller, function in as_module(module).functions.items():
            roots: tuple[Expr, ...] = (function,)
            names = (node.name for node in post_order(roots, children) if isinstance(node, GlobalVar))
            self._calls[caller.name] = list(dict.fromkeys(names))

    def ref_count(self, var: Union[GlobalVar, str]) -> int:
        """Return how many functions refer to ``var``, itself among them."""
        name = self._name(var)
        return sum(name in callees for callees in self._calls.values())

    def global_call_count(self, var: Union[GlobalVar, str]) -> int:
        """Return how many functions ``var`` refers to."""
        return len(self._calls.get(self._name(var), ()))

    def is_recursive(self, var: Union[GlobalVar, str]) -> bool:
        """Return whether ``var`` refers to itself; through others does not count, as in TVM."""
        name = self._name(var)
        return name in self._calls.get(name, ())

    def print_var(self, var: Union[GlobalVar, str]) -> str:
        """Return how often ``var`` is referred to, and a line for each function that it calls."""
        name = self._name(var)
        calls = "".join(f"  call site: <{name}> calls {callee}\n" for callee in self._calls.get(name, ()))
        return f"Call graph node: {name},  #refs = {self.ref_count(name)}\n{calls}"

    def __str__(self) -> str:
        return "\n".join(map(self.print_var, self._calls))

    def _name(self, var: Union[GlobalVar, str]) -> str:
        return self.module.get_global_var(var if isinstance(var, str) else var.name).name
