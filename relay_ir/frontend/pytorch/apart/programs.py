"""What is looked at in a program of ``torch.export`` before it is read.

PyTorch makes a program functional, and takes operators apart that have no record. For a whole
program this takes it longer than all else of an import, so it is asked for single operators where
these are few.
"""

from __future__ import annotations

import warnings
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir.frontend.pytorch.apart.single import Request, Slot, decompositions, graph_of, kind_of
from relay2relax.relay_ir.frontend.pytorch.control import CONTROL
from relay2relax.relay_ir.frontend.pytorch.operators import aten_operators
from relay2relax.relay_ir.frontend.pytorch.operators.record import AtenOperator
from relay2relax.relay_ir.frontend.pytorch.torchscript import library

# What PyTorch's nodes and programs are has no types here.
Native: TypeAlias = Any
# Operators whose result is never a view, and those in place, which are asked themselves.
_MAKE = frozenset({
    "aten::conv1d", "aten::conv2d", "aten::conv3d", "aten::batch_norm", "aten::linear", "aten::add", "aten::mul",
    "aten::relu_", "aten::add_", "aten::hardtanh_",
})  # fmt: skip
# Takes one of several results.
ITEM = "getitem"
# One operator alone takes PyTorch as long as so many nodes of a program, and a program at least as
# long as so many nodes.
_NODES_OF_ONE, _LEAST_NODES = 8, 50


@dataclass(frozen=True, slots=True)
class Single:
    """What an operator is taken apart into, and the nodes whose tensors that takes."""

    graph: Native
    tensors: tuple[Native, ...]


def graphs(module: Native) -> Iterator[Native]:
    """Yield the graph of a program, and those of its branches and loops."""
    stack = [module]
    while stack:
        one = stack.pop()
        yield one.graph
        held = [getattr(one, node.target, None) for node in one.graph.nodes if node.op == "get_attr"]
        stack += [inner for inner in held if hasattr(inner, "graph")]


def live_nodes(graph: Native) -> set[Native]:
    """Return the nodes whose values are returned, or written into what may be."""
    live: set[Native] = set()
    for node in reversed(graph.nodes):
        schema = getattr(node.target, "_schema", None)
        if node.op != "call_function" or (schema is not None and schema.is_mutable) or not live.isdisjoint(node.users):
            live.add(node)
    return live


def taken_apart(program: Native, custom: Container[str]) -> tuple[Native, Mapping[Native, Single]]:
    """Return a program that writes into nothing, of operators that have records or are ``custom``
    where it can be, and what single ones are taken apart into.
    """
    nodes = [(graph, node) for graph in graphs(program.graph_module) for node in graph.nodes]
    alive = {graph: live_nodes(graph) for graph, _ in nodes}
    left = [node for graph, node in nodes if node in alive[graph] and not _is_settled(node, custom)]
    singles = _singles(left, len(nodes))
    if singles is not None:
        return program, singles
    with warnings.catch_warnings():
        # PyTorch warns of what it calls itself.
        warnings.simplefilter("ignore")
        return program.run_decompositions(decompositions()), {}


def _singles(nodes: list[Native], count: int) -> Mapping[Native, Single] | None:
    """Return what each node is taken apart into alone; None where the whole program has to be, or
    is so sooner.
    """
    requests = {node: _request(node) for node in nodes}
    if None in requests.values() or len(set(requests.values())) * _NODES_OF_ONE > _LEAST_NODES + count:
        return None
    try:
        return {node: Single(graph_of(one[0]), one[1]) for node, one in requests.items() if one is not None}
    except UnsupportedError:
        return None


def _request(node: Native) -> tuple[Request, tuple[Native, ...]] | None:
    """Return what to ask PyTorch for, and the nodes that are tensors there; None where it has to be
    asked for the whole program.
    """
    torch = library()
    operator = node.target
    if record_of(kind_of(operator)) is not None:
        # Normalisation in training changes what it is given, and its schema does not say so.
        return None
    if not isinstance(operator, torch._ops.OpOverload) or operator.namespace != "aten" or operator._schema.is_mutable:
        return None
    tensors: list[Native] = []

    def slot(one: Native) -> Slot:
        tensors.append(one)
        return Slot(len(tensors) - 1)

    args, keywords = torch.fx.map_arg((node.args, node.kwargs), slot)
    values = [one.meta.get("val") for one in tensors]
    made = node.meta.get("val")
    made = made if isinstance(made, (list, tuple)) else [made]
    if not all(_is_static(one) for one in (*values, *made)):
        return None
    shapes = tuple((tuple(one.shape), one.dtype) for one in values)
    return Request.of(operator, args, keywords, shapes), tuple(tensors)


def _is_static(value: Native) -> bool:
    """Whether a value is a tensor whose extents are numbers."""
    torch = library()
    return isinstance(value, torch.Tensor) and all(isinstance(one, int) for one in value.shape)


def is_number(held: object) -> bool:
    """Whether the value of a node is a number, known or computed from extents."""
    torch = library()
    return isinstance(held, (bool, int, float, torch.SymInt, torch.SymBool, torch.SymFloat))


def _is_settled(node: Native, custom: Container[str]) -> bool:
    """Whether PyTorch would leave a node as it is, which takes it long to find out."""
    if node.op != "call_function" or is_number(node.meta.get("val")):
        return True
    kind = kind_of(node.target)
    if kind in CONTROL or kind == ITEM or kind in custom:
        return True
    record, schema = record_of(kind), getattr(node.target, "_schema", None)
    if record is None or schema is None or not kind.startswith("aten::"):
        return False
    if schema.is_mutable and not _writes_into_its_own(node):
        return False
    return record.apart is None or not record.apart(node.args)


def record_of(kind: str) -> AtenOperator | None:
    """Return the record of an operator, or of the one that it does in place (``aten::relu_``)."""
    return aten_operators().get(kind) or aten_operators().get(kind.removesuffix("_"))


def _writes_into_its_own(node: Native) -> bool:
    """Whether a node writes into a tensor that no other one reads from then on, and that was made
    for it.
    """
    if kind_of(node.target) == "aten::detach_":
        # It writes nothing.
        return True
    made = node.args[0]
    if made.op != "call_function" or not kind_of(node.target).endswith("_"):
        return False
    return kind_of(made.target) in _MAKE and all(user is node or user < node for user in made.users)


def missing_operators(
    module: Native, custom: Container[str], singles: Mapping[Native, Single] | None = None
) -> set[str]:
    """Return the operators of a program, its branches and loops too, that have no record; of those
    that are taken apart alone their parts.
    """
    found: set[str] = set()
    for graph in graphs(module):
        live = live_nodes(graph)
        for node in graph.nodes:
            if node.op != "call_function" or node not in live or is_number(node.meta.get("val")):
                continue
            kind = kind_of(node.target)
            if singles is not None and node in singles:
                found |= missing_operators(singles[node].graph, ())
            elif record_of(kind) is None and kind not in custom and kind not in CONTROL and kind != ITEM:
                found.add(kind)
    return found
