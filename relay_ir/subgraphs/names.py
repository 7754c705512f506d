"""The nodes of ``@main`` by the names that its text has for them."""

from __future__ import annotations

from collections.abc import Mapping

from relay2relax.core.errors import Diagnostic, Relay2RelaxError, mistake
from relay2relax.core.errors.nearest import nearest
from relay2relax.core.errors.table import patterns as kinds
from relay2relax.core.walk import post_order
from relay2relax.relay_ir.ir.expr import Call, Expr, Let, Tuple, TupleGetItem, Var, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.text.printer import temporaries


class NodeNameError(Relay2RelaxError):
    """A name is that of no node that can be cut out."""

    kind = kinds.NO_NODE


def named_nodes(mod: IRModule) -> dict[str, Expr]:
    """Return the calls, tuples and projections of ``@main`` that have names, and its parameters and
    variables.

    What stands within a branch, a match or a function inside it has no value of its own there, and
    is left out. Of several variables of one name the first has it.
    """
    main = mod["main"]
    outer = set(post_order((main.body,), flowing(mod)))
    found: dict[str, Expr] = {}
    for param in main.params:
        found.setdefault(f"%{param.name}", param)
    for node in outer:
        if isinstance(node, Var):
            found.setdefault(f"%{node.name}", node)
    lines = temporaries(mod)
    found.update((name, node) for name, node in lines.items() if node in outer and isinstance(node, CUT))
    return found


# What may be cut out.
CUT = (Call, Tuple, TupleGetItem)


def flowing(mod: IRModule) -> _Flow:
    """Return what gives the operands of a node, through the lets of ``@main``."""
    values = {node.var: node.value for node in post_order((mod["main"].body,), _scope) if isinstance(node, Let)}
    return _Flow(values)


def _scope(node: Expr) -> tuple[Expr, ...]:
    return (node.value, node.body) if isinstance(node, Let) else tuple(children(node)) if isinstance(node, CUT) else ()


class _Flow:
    """The operands of nodes: a variable of a let is made of its value, a let of its body."""

    def __init__(self, values: Mapping[Var, Expr]) -> None:
        self.values = values

    def __call__(self, node: Expr) -> tuple[Expr, ...]:
        match node:
            case Var() if node in self.values:
                return (self.values[node],)
            case Let(body=body):
                return (body,)
            case Call(_, args):
                return args
            case Tuple() | TupleGetItem():
                return tuple(children(node))
        return ()

    def seen(self, node: Expr) -> Expr:
        """Return the node that a variable of a let, or a let, stands for."""
        while True:
            if isinstance(node, Var) and node in self.values:
                node = self.values[node]
            elif isinstance(node, Let):
                node = node.body
            else:
                return node


def node_named(name: str, nodes: Mapping[str, Expr]) -> Expr:
    """Return the node of a name, with or without ``%``; raises NodeNameError where none has it."""
    wanted = name if name.startswith("%") else f"%{name}"
    if wanted not in nodes:
        help = nearest(wanted, nodes) or "`relay2relax extract MODEL` lists them"
        raise NodeNameError(Diagnostic(mistake(kinds.NO_NODE, name=repr(wanted)).title, help=help))
    return nodes[wanted]
