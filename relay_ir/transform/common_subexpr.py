"""Sharing of equal computations."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import ClassVar

from relay2relax.core.errors.extensions import ask
from relay2relax.core.passes import Pass
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Function, Op, Tuple, TupleGetItem, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, with_children
from relay2relax.relay_ir.transform.infrastructure import map_functions


@dataclass(frozen=True, slots=True)
class EliminateCommonSubexpr(Pass[IRModule]):
    """Let calls of one operator with equal attributes and the same arguments be one shared node.

    So are projections of one field from the same tuple. Scalar constants of equal value are the
    same argument; so are tuples of the same fields. Calls for which ``skip`` is true stay.
    Operators have no effects, so this is always allowed; calls of functions are left alone.
    """

    skip: Callable[[Expr], bool] | None = None
    opt_level: ClassVar[int] = 3

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with equal calls shared."""
        return map_functions(mod, self._share)

    def _stays(self, node: Expr) -> bool:
        return self.skip is not None and bool(ask(self.skip, node, what="skip of EliminateCommonSubexpr"))

    def _share(self, root: Function) -> Function:
        known: dict[Hashable, Expr] = {}
        done: dict[Expr, Expr] = {}
        for node in nodes(root):
            made = with_children(node, [done[child] for child in children(node)])
            key: Hashable = None
            match made:
                case Call(Op(name), args, attrs):
                    key = (name, attrs, tuple(map(_argument, args)))
                case TupleGetItem(value, index):
                    key = (index, value)
            if key is not None and not self._stays(node):
                made = known.setdefault(key, made)
            done[node] = made
        result = done[root]
        assert isinstance(result, Function)
        return result


def _argument(expr: Expr) -> Hashable:
    """Return what is equal for arguments that count as the same."""
    return tuple(map(_leaf, expr.fields)) if isinstance(expr, Tuple) else _leaf(expr)


def _leaf(expr: Expr) -> Hashable:
    if isinstance(expr, Constant) and expr.data.ndim == 0:
        return str(expr.data.dtype), expr.data.tobytes()
    return expr
