"""What inference found, by node: what TVM writes into its nodes as ``checked_type``."""

from __future__ import annotations

from collections.abc import Mapping
from weakref import WeakKeyDictionary

from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Expr, GlobalVar, Op
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes
from relay2relax.relay_ir.ir.types import Type

_known: WeakKeyDictionary[Expr, Type] = WeakKeyDictionary()


def note(types: Mapping[Expr, Type]) -> None:
    """Remember the types of a module, as long as its nodes are."""
    _known.update((node, ty) for node, ty in types.items() if not isinstance(node, Op))


def forget(node: Expr) -> None:
    """Forget the type of a node."""
    _known.pop(node, None)


def type_of(expr: Expr) -> Type | None:
    """Return the type of ``expr``, None where it does not follow from its parts."""
    found = _known.get(expr)
    if found is None and not isinstance(expr, GlobalVar):
        below = {node: _known[node] for node in nodes(expr) if node in _known}
        found = TypeTable(IRModule(types=below)).of(expr)
        if found is not None:
            _known[expr] = found
    return found
