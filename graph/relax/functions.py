"""What the functions of a program say of themselves: what they call, what they take and give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from relay2relax.core.walk import post_order
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import GlobalAttrs, MSCGraph, RelaxAttrs
from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.relax_ir.ir.expr import Call, GlobalVar


def is_relax(type_: Type) -> bool:
    """Whether Relax has values of a type: tensors, and tuples of them."""
    match type_:
        case TensorType():
            return True
        case TupleType(fields):
            return all(map(is_relax, fields))
    return False


def is_first_order(graph: MSCGraph) -> bool:
    """Whether a function takes and gives what Relax has values of."""
    inferred = graph.signature.inferred
    return inferred is None or all(map(is_relax, (*inferred.arg_types, inferred.ret_type)))


def called_functions(graph: MSCGraph) -> list[str]:
    """Return the names of the module's functions that ``graph``, or a graph inside it, mentions."""
    found: list[str] = []
    for part in graphs_inside(graph):
        for node in part.nodes:
            match node.attrs:
                case GlobalAttrs(name) | RelaxAttrs(Call(GlobalVar(name))):
                    found.append(name)
    return found


def has_branches(graph: MSCGraph) -> bool:
    return any(node.kind is NodeKind.IF for part in graphs_inside(graph) for node in part.nodes)


def graphs_inside(graph: MSCGraph) -> Iterator[MSCGraph]:
    """Yield ``graph`` and the graphs that its nodes hold, at any depth."""
    stack = [graph]
    while stack:
        one = stack.pop()
        yield one
        stack += [body for node in one.nodes for body in node.bodies]


def recursive_functions(called: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """Return the functions that reach themselves."""
    found = set()
    for name in called:
        reached = post_order(called[name], lambda one: called.get(one, ()))
        if name in reached:
            found.add(name)
    return frozenset(found)
