"""What is known about the effects of expressions."""

from __future__ import annotations

from collections.abc import Callable

from relay2relax.relay_ir.ir.expr import (
    Call,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Let,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Var,
    children,
)
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes

_REFERENCES = (RefCreate, RefRead, RefWrite)
# Operators that take, give back or fill memory.
_TAKING = frozenset({"memory.alloc_storage", "memory.alloc_tensor"})
_STATEFUL = _TAKING | {"memory.kill", "vm.invoke_tvm_op"}


def acts(node: Expr) -> bool:
    """Whether ``node`` itself has an effect, whatever its parts do."""
    stateful = isinstance(node, Call) and isinstance(node.op, Op) and node.op.name in _STATEFUL
    return stateful or isinstance(node, _REFERENCES)


def makes_a_cell(node: Expr) -> bool:
    """Whether ``node`` makes a cell, which nobody sees before it is used."""
    return isinstance(node, RefCreate)


def makes_memory(node: Expr) -> bool:
    """Whether ``node`` makes a cell or takes memory, which may happen later as well."""
    takes = isinstance(node, Call) and isinstance(node.op, Op) and node.op.name in _TAKING
    return takes or makes_a_cell(node)


def has_effects(mod: IRModule) -> bool:
    """Whether ``mod`` makes, reads or writes references, or manages memory.

    Relay code without these is free of effects.
    """
    return any(map(acts, nodes(*mod.functions.values())))


class Effects:
    """Which functions of a module may have an effect where they are called, and which nodes."""

    def __init__(self, mod: IRModule) -> None:
        self.present = has_effects(mod)
        self._functions = {var.name: function for var, function in mod.functions.items()}
        self._impure: set[str] = set()
        if self.present:
            self._impure = self._found()

    def _found(self) -> set[str]:
        callers: dict[str, list[str]] = {}
        for name, function in self._functions.items():
            for node in nodes(function):
                if isinstance(node, GlobalVar):
                    callers.setdefault(node.name, []).append(name)
        # What is not a function of Relay here may do anything.
        stack = [name for name in callers if name not in self._functions]
        stack += [name for name, function in self._functions.items() if function.body in self.nodes(function)]
        found: set[str] = set()
        while stack:
            name = stack.pop()
            if name not in found:
                found.add(name)
                stack += callers.get(name, ())
        return found

    def nodes(self, root: Expr, harmless: Callable[[Expr], bool] = lambda node: False) -> set[Expr]:
        """Return the nodes of ``root`` whose evaluation may have an effect, but for what is
        ``harmless``.

        What a function value does is not known where it comes from a parameter or a field, so every
        call of such a one counts.
        """
        found: set[Expr] = set()
        if not self.present:
            return found
        order = list(nodes(root))
        bound = {node.var: node.value for node in order if isinstance(node, Let)}
        for node in order:
            # Making a closure has no effect, calling it may.
            inner = not isinstance(node, Function) and any(child in found for child in children(node))
            seen = acts(node) and not harmless(node)
            if inner or seen or (isinstance(node, Call) and self._calls(node.op, bound, found)):
                found.add(node)
        return found

    def _calls(self, callee: Expr, bound: dict[Var, Expr], found: set[Expr]) -> bool:
        """Whether a call of ``callee`` may have an effect; a function does not count against
        itself.
        """
        if isinstance(callee, Var):
            callee = bound.get(callee, callee)
        match callee:
            case Op() | Constructor():
                return False
            case GlobalVar(name):
                return name in self._impure
            case Function(body=body):
                return body in found
        return True
