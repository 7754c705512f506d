"""Normal forms that bind values by ``let``: A-normal form and basic block normal form."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from relay2relax.core.passes import Pass
from relay2relax.relay_ir.analysis.scopes import Scope, Scopes
from relay2relax.relay_ir.build.annotation import marked, marked_body
from relay2relax.relay_ir.ir.device import VirtualDevice
from relay2relax.relay_ir.ir.expr import (
    Call,
    Clause,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    Var,
    children,
)
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import with_children
from relay2relax.relay_ir.transform.infrastructure import map_functions


@dataclass(frozen=True, slots=True)
class ToANormalForm(Pass[IRModule]):
    """Bind every value, constants included, by a ``let`` of the innermost scope that contains all
    its uses.

    Lets stand in the order in which their values are evaluated; nested lets become one sequence. As
    TVM's, the result keeps an alias for every ``let`` there was before (``let %x = %y``). Functions
    marked ``Primitive`` stay as they are.
    """

    opt_level: ClassVar[int] = 1

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` in A-normal form."""
        return map_functions(mod, lambda function: _Binding(function, lambda node: True).run())


@dataclass(frozen=True, slots=True)
class ToBasicBlockNormalForm(Pass[IRModule]):
    """Bind what an inner scope shares with the scope around it, and only that, by a ``let`` of the
    outer scope.

    Afterwards every expression belongs to one basic block: a function's body, a branch, or an arm.
    """

    opt_level: ClassVar[int] = 1

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` in basic block normal form."""

        def change(function: Function) -> Function:
            scopes = Scopes(function)
            shared = {node for node in scopes.lifted if not isinstance(node, _ATOMS)}
            # Lets of lets become one sequence, and later names of a value are used for it.
            lets = any(isinstance(node, Let) and isinstance(node.value, (Let, Var)) for node in scopes.home)
            return _Binding(function, shared.__contains__, scopes).run() if shared or lets else function

        return map_functions(mod, change)


def _in_order(node: Expr) -> Sequence[Expr]:
    """Return the parts of a node as TVM looks at them: what is called behind the arguments, the
    second branch before the first.
    """
    match node:
        case Call(op, args):
            return (*args, op)
        case If(condition, then, otherwise):
            return (condition, otherwise, then)
    return children(node)


_ATOMS = (Var, Constant, GlobalVar, Op, Constructor)
_VISIT, _FINISH = 0, 1


class _Binding:
    """Rebuilds one function; what ``included`` names is bound by lets, the rest stays in place."""

    def __init__(self, root: Function, included: Callable[[Expr], bool], scopes: Scopes | None = None) -> None:
        self.root = root
        self.included = included
        self.scopes = scopes or Scopes(root)
        self.lets: dict[Scope, deque[tuple[Var, Expr]]] = {}
        self.done: dict[Expr, Expr] = {}
        self.devices: dict[Expr, VirtualDevice] = {}

    def run(self) -> Function:
        """Return the function in its normal form."""
        # An entry is a step, a node, the variable that a ``let`` of the program gives to its value,
        # and the device that what surrounds it states.
        stack: list[tuple[int, Expr, Var | None, VirtualDevice | None]] = []
        stack.append((_VISIT, self.root.body, None, self.root.virtual_device))
        while stack:
            step, node, var, device = stack.pop()
            if device is not None:
                self.devices.setdefault(node, device)
            if step == _FINISH:
                self.done[node] = self._finish(node, var)
            elif node in self.done:
                if var is not None:
                    self._push(node, var, self.done[node])
            elif isinstance(node, Function) and node.attrs.get("Primitive"):
                self.done[node] = self._bound(node, node, var)
            else:
                placed = marked_body(node)
                stack.append((_FINISH, node, None if placed else var, device))
                if placed:
                    stack.append((_VISIT, placed[0], var, placed[1]))
                elif isinstance(node, Let):
                    stack += ((_VISIT, node.body, None, device), (_VISIT, node.value, node.var, device))
                else:
                    inner = node.virtual_device or device if isinstance(node, Function) else device
                    parts = _in_order(node)
                    stack += [(_VISIT, part, None, inner) for part in reversed(parts)]
        return replace(self.root, body=self._scope_body(self.root, 0, self.root.body))

    def _finish(self, node: Expr, var: Var | None) -> Expr:
        placed = marked_body(node)
        if placed is not None:
            return marked(self.done[placed[0]], placed[1])
        match node:
            case Var() | GlobalVar() | Op() | Constructor():
                return node if var is None else self._push(node, var, node)
            case Let(_, _, body):
                self._continue(self.scopes.home[node], self.scopes.inner[node][0])
                return self._bound(node, self.done[body], var)
            case If(condition, then, otherwise):
                arms = (self._scope_body(node, 0, then), self._scope_body(node, 1, otherwise))
                made: Expr = replace(node, condition=self.done[condition], true_branch=arms[0], false_branch=arms[1])
            case Function(_, body):
                made = replace(node, body=self._scope_body(node, 0, body))
            case Match(data, clauses):
                made = replace(
                    node,
                    data=self.done[data],
                    clauses=tuple(
                        Clause(clause.lhs, self._scope_body(node, index, clause.rhs))
                        for index, clause in enumerate(clauses)
                    ),
                )
            case _:
                made = with_children(node, [self.done[child] for child in children(node)])
        return self._bound(node, made, var)

    def _bound(self, node: Expr, made: Expr, var: Var | None) -> Expr:
        """Return ``made``, or the variable that it is bound to."""
        if var is None and not self.included(node):
            return made
        return self._push(node, Var("x") if var is None else var, made)

    def _push(self, node: Expr, var: Var, value: Expr) -> Var:
        """Bind ``var`` in the scope that ``node`` belongs to.

        What is known of its device is written down.
        """
        if node in self.devices:
            value = marked(value, self.devices[node])
        self.lets.setdefault(self.scopes.home[node], deque()).append((var, value))
        return var

    def _continue(self, scope: Scope, after: Scope) -> None:
        """Append the lets of ``after``, which follow a ``let`` of ``scope``, to those of
        ``scope``.
        """
        rest, first = self.lets.pop(after, deque()), self.lets.setdefault(scope, deque())
        # The shorter goes to the longer, or a chain of lets would take quadratic time.
        if len(first) >= len(rest):
            first.extend(rest)
        else:
            rest.extendleft(reversed(first))
            self.lets[scope] = rest

    def _scope_body(self, construct: Expr, index: int, body: Expr) -> Expr:
        """Return what a construct's scope computes, its lets around it."""
        result = self.done[body]
        for var, value in reversed(self.lets.pop(self.scopes.inner[construct][index], deque())):
            result = Let(var, value, result)
        return result
