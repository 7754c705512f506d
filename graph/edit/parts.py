"""What users make in the place of a node, as a graph, and how that comes into the other one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from relay2relax.core.dtype import Array
from relay2relax.core.walk import post_order
from relay2relax.graph.check import check_well_formed
from relay2relax.graph.edit.names import Names, Renaming
from relay2relax.graph.edit.retype import retyped
from relay2relax.graph.fused import numbered, ordered, rewired
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import GraphError, MSCGraph, MSCJoint, MSCTensor, weight_data
from relay2relax.graph.node_types import types_of
from relay2relax.graph.relax.importer import from_relax
from relay2relax.graph.relay.importer import from_relay
from relay2relax.relax_ir.build.builder import BlockBuilder
from relay2relax.relax_ir.ir import expr as relax
from relay2relax.relay_ir.ir import expr as relay
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.types import TensorType, TupleType, Type
from relay2relax.tir.extent import ANY

# What is made of operands: expressions of Relay or of Relax, as the graph is of one or the other.
Make = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Part:
    """A graph to be put into another one, its weights, and the nodes that its parameters stand
    for.
    """

    graph: MSCGraph
    weights: Mapping[str, Array]
    given: tuple[str, ...]


def part_of(graph: MSCGraph, weights: Mapping[str, Array], operands: Sequence[str], node: str, make: Make) -> Part:
    """Return what ``make`` makes of the ``operands`` of a node; constants are given as such."""
    held = {tensor.name: tensor for tensor in graph.find_node(node).weights.values()}
    for name in operands:
        if name not in held and graph.find_node(name).kind is NodeKind.CONSTANT:
            held[name] = graph.find_node(name).weights["const"]
    data = {name: weight_data(weights, tensor) for name, tensor in held.items() if name in operands}
    given = tuple(dict.fromkeys(name for name in operands if name not in data))
    if graph.is_relax:
        return _relax_part(graph, operands, given, data, make)
    types = types_of(graph)
    variables = {name: relay.Var(name, _written(types.known[name])) for name in given}
    constants = {name: relay.Constant(array) for name, array in data.items()}
    body = make(*(variables[one] if one in variables else constants[one] for one in operands))
    function = relay.Function(tuple(variables.values()), body)
    made, kept = from_relay(IRModule.from_expr(function))
    return Part(made, kept, given)


def _relax_part(
    graph: MSCGraph, operands: Sequence[str], given: Sequence[str], data: Mapping[str, Array], make: Make
) -> Part:
    infos = {name: graph.find_node(name).info for name in given}
    variables = {name: relax.Var(name, info) for name, info in infos.items() if info is not None}
    constants = {name: relax.Constant(array) for name, array in data.items()}
    builder = BlockBuilder()
    with builder.function("part", list(variables.values())):
        with builder.dataflow():
            made = make(*(variables[one] if one in variables else constants[one] for one in operands))
            result = builder.emit_output(made)
        builder.emit_func_output(result)
    part, kept = from_relax(builder.get(), entry="part")
    return Part(part, kept, tuple(variables))


def _written(type_: Type) -> Type:
    """Return a type as an annotation: symbolic extents are open."""
    match type_:
        case TensorType(shape, dtype):
            return TensorType(tuple(one if isinstance(one, int) else ANY for one in shape), dtype)
        case TupleType(fields):
            return TupleType(tuple(map(_written, fields)))
    return type_


@dataclass(slots=True)
class Edit:
    """A graph that is being edited: its nodes in order, and its weights."""

    graph: MSCGraph
    weights: dict[str, Array]
    # The tensors in whose place those of a node stand now.
    replaced: dict[str, Sequence[MSCTensor]] = field(default_factory=dict)

    def take_in(self, part: Part, like: MSCJoint | None = None) -> str:
        """Put the nodes of ``part`` in, behind all others; return the name of its result.

        ``like`` is the node whose block they stand in, in a Relax program. An array that the graph
        has already keeps its name there.
        """
        names = Names((self.graph,))
        known = {id(array): name for name, array in self.weights.items()}
        held = {name: known.get(id(array)) or names.fresh(name) for name, array in part.weights.items()}
        constants = {
            node.weights["const"].name: node.name for node in self.graph.nodes if node.kind is NodeKind.CONSTANT
        }
        nodes = dict(zip(part.graph.params, part.given, strict=True))
        for node in part.graph.nodes:
            if node.kind is NodeKind.CONSTANT and held[node.weights["const"].name] in constants:
                nodes[node.name] = constants[held[node.weights["const"].name]]
            elif node.name not in nodes:
                # A constant is called as its weight, where that is new.
                weight = held[node.weights["const"].name] if node.kind is NodeKind.CONSTANT else ""
                own = weight and weight not in self.weights
                nodes[node.name] = weight if own else names.fresh(node.name)
        renaming = Renaming(nodes, held)
        present = {node.name for node in self.graph.nodes}
        made = [renaming.node(node) for node in part.graph.nodes if nodes[node.name] not in present]
        if like is not None and like.scope:
            made = [replace(node, scope=like.scope, dataflow=like.dataflow) if node.scope else node for node in made]
        self.weights.update((held[name], array) for name, array in part.weights.items())
        spans = {held[name]: span for name, span in part.graph.weight_spans.items()}
        self.graph = replace(
            self.graph,
            nodes=(*self.graph.nodes, *made),
            weight_spans={**self.graph.weight_spans, **spans},
            functions={**part.graph.functions, **self.graph.functions},
            prim_funcs={**part.graph.prim_funcs, **self.graph.prim_funcs},
        )
        return nodes[part.graph.result]

    def redirect(self, old: str, new: str, users: Sequence[str] | None = None) -> None:
        """Let users of the node ``old``, or those named, take ``new``; so does the result, where no
        users are named.
        """
        before, after = self.graph.find_node(old), self.graph.find_node(new)
        if len(before.outputs) != len(after.outputs):
            raise GraphError(f"{old!r} gives {len(before.outputs)} tensors, {new!r} {len(after.outputs)}")
        self.replaced[new] = before.outputs
        tensors = {x.name: y.name for x, y in zip(before.outputs, after.outputs, strict=True)}
        chosen = set(users) if users is not None else {node.name for node in self.graph.children(old)}
        nodes = [rewired(node, {old: new}, tensors) if node.name in chosen else node for node in self.graph.nodes]
        result = new if users is None and self.graph.result == old else self.graph.result
        self.graph = replace(self.graph, nodes=tuple(nodes), result=result)

    def finished(self, before: MSCGraph, stale: Sequence[str]) -> tuple[MSCGraph, dict[str, Array]]:
        """Return the graph, well formed, without what nothing needs any more, and its weights.

        ``before`` is the graph that was given, ``stale`` are nodes whose types are not known.
        """
        graph = self.graph
        gone = _needed(before) | {node.name for node in graph.nodes if not before.has_node(node.name)}
        gone -= _needed(graph)
        kept = [node for node in ordered(graph.nodes) if node.name not in gone]
        graph = replace(graph, nodes=numbered(_public(node, before, graph.result) for node in kept))
        graph = retyped(graph, [name for name in stale if graph.has_node(name)], self.replaced)
        check_well_formed(graph)
        held = {tensor.name for part in graph.subgraphs() for tensor in part.get_weights()}
        spans = {name: span for name, span in graph.weight_spans.items() if name in held}
        return replace(graph, weight_spans=spans), {name: self.weights[name] for name in self.weights if name in held}


def _needed(graph: MSCGraph) -> set[str]:
    """Return the nodes that the result needs, and the parameters."""
    roots = (graph.result, *graph.params, *graph.captured)
    return set(post_order(roots, lambda name: graph.find_node(name).parents))


def _public(node: MSCJoint, before: MSCGraph, result: str) -> MSCJoint:
    """Return a node by whose name users know it if it is the result, and not any more if it was."""
    several = len(node.outputs) > 1
    names = [f"{node.name}_{place}" if several else node.name for place in range(len(node.outputs))]
    own = [one.alias for one in node.outputs] == names
    if node.name == result and not any(one.alias for one in node.outputs):
        return replace(node, outputs=tuple(replace(o, alias=n) for o, n in zip(node.outputs, names, strict=True)))
    if own and node.name != result and node.kind is not NodeKind.INPUT and node.name == before.result:
        return replace(node, outputs=tuple(replace(one, alias="") for one in node.outputs))
    return node
