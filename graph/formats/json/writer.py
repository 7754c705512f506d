"""Graphs into JSON documents."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from relay2relax.core.progress import each
from relay2relax.core.schema import Form, to_lines
from relay2relax.core.words import word
from relay2relax.graph.formats.attrs_text import attrs_text
from relay2relax.graph.formats.json import document
from relay2relax.graph.formats.json.scalars import scalar_text, stand_in
from relay2relax.graph.fused import unfuse
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import (
    CallAttrs,
    ConstantAttrs,
    ConstructorAttrs,
    FunctionAttrs,
    FusedAttrs,
    GetItemAttrs,
    GlobalAttrs,
    GraphError,
    IfAttrs,
    InputAttrs,
    MatchAttrs,
    MSCGraph,
    MSCJoint,
    MSCTensor,
    Pattern,
)
from relay2relax.graph.relax.exporter import to_relax
from relay2relax.ops.registry.attributes import NoAttrs
from relay2relax.relax_ir.script.printer import print_module
from relay2relax.relay_ir.ir.expr import Constant
from relay2relax.relay_ir.json.writer import save_json

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# The script of a Relax program is for our own reader: a dialect that has words for everything.
_DIALECT = "tvm-0.27"


def to_json(graph: MSCGraph, extras: bool = True) -> str:
    """Return the graph as a JSON document.

    ``extras=False`` leaves out all that MSC itself does not know.

    Raises UnsupportedError where an operator without record has attributes of unknown form, or
    TVMScript cannot say what a Relax program does; GraphError for a Relax program with fused nodes
    in a branch or a local function.
    """
    form: Form
    if not extras:
        form = document.Graph(*_shared(graph), _nodes(graph), _prims(graph))
    elif graph.is_relax:
        form = document.RelaxDocument(*_shared(graph), _nodes(graph), _prims(graph), _relax_program(graph))
    else:
        form = _Writer(graph).program()
    return to_lines(form)


def _shared(graph: MSCGraph) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    return graph.name, graph.inputs, graph.outputs


def _prims(graph: MSCGraph) -> tuple[document.Prim, ...]:
    return tuple(
        document.Prim(index, prim.name, prim.optype, prim.parents, dict(prim.attrs))
        for index, prim in enumerate(graph.prims)
    )


def _nodes(graph: MSCGraph) -> tuple[document.Node, ...]:
    with each("nodes of the document", graph.nodes) as rest:
        return tuple(map(_node, rest))


def _node(node: MSCJoint) -> document.Node:
    return document.Node(**_node_fields(node))


def _node_fields(node: MSCJoint) -> dict[str, Any]:
    return {
        "index": node.index,
        "name": node.name,
        "shared_ref": node.shared_ref,
        "optype": node.optype,
        "parents": node.parents,
        "inputs": node.inputs,
        "outputs": tuple(map(_tensor, node.outputs)),
        "attrs": attrs_text(node.attrs),
        "weights": {role: _tensor(tensor) for role, tensor in node.weights.items()},
    }


def _tensor(tensor: MSCTensor) -> document.Tensor:
    return document.Tensor(tensor.name, tensor.alias, tensor.dtype, tensor.layout, tensor.shape, tensor.prims)


# --- Relax ----------------------------------------------------------------------------------------


def _relax_program(graph: MSCGraph) -> document.ScriptExtra:
    """Return what MSC drops of a Relax program: a script of what was fused, and what that was."""
    functions = {graph.name: graph, **graph.functions}
    fused = {
        name: document.FusedGraph(tuple(node.name for node in one.nodes), _prims(one), tuple(map(_fused_node, nodes)))
        for name, one in functions.items()
        if (nodes := [node for node in one.nodes if isinstance(node.attrs, FusedAttrs)])
    }
    graph = replace(unfuse(graph), functions={name: unfuse(one) for name, one in graph.functions.items()})
    for part in graph.subgraphs():
        if any(node.kind is NodeKind.FUSED for node in part.nodes):
            raise GraphError(f"{part.name!r} is a branch or a local function with fused nodes; unfuse it")
    constants = {
        node.weights["const"].name: (node.weights["const"], node.attrs.scalar)
        for part in graph.subgraphs()
        for node in part.nodes
        if isinstance(node.attrs, ConstantAttrs)
    }
    weights = {name: stand_in(tensor, scalar) for name, (tensor, scalar) in constants.items()}
    names = {id(array): name for name, array in weights.items()}
    return document.ScriptExtra(
        document.VERSION,
        print_module(to_relax(graph, weights), _DIALECT, lambda constant: word(names[id(constant.data)])),
        tuple(
            document.Weight(**asdict(_tensor(tensor)), scalar=scalar_text(scalar))
            for tensor, scalar in constants.values()
        ),
        {part.name: tuple(node.name for node in _as_read(part)) for part in graph.subgraphs()},
        fused,
    )


def _fused_node(node: MSCJoint) -> document.FusedNode:
    (parts,) = node.bodies
    names = [part.name for part in parts.nodes if part.kind is not NodeKind.INPUT]
    weights = {role: tensor.name for role, tensor in node.weights.items()}
    return document.FusedNode(node.name, node.op, parts.params, tuple(names), weights)


def _as_read(graph: MSCGraph) -> Iterable[MSCJoint]:
    """Return the nodes in the order in which a script gives them: parameters, and the others with
    constants, and what comes from around the graph, where they are used first.
    """
    leaves = (NodeKind.INPUT, NodeKind.CONSTANT)
    found = {name: graph.find_node(name) for name in graph.params}
    for node in graph.nodes:
        if node.kind not in leaves:
            used = [one for one in map(graph.find_node, node.operands) if one.kind in leaves]
            found.update((one.name, one) for one in used)
            found[node.name] = node
    result = graph.find_node(graph.result)
    return {**found, result.name: result}.values()


# --- Relay ----------------------------------------------------------------------------------------


class _Writer:
    """Collects the typed objects of a document, and its graphs."""

    def __init__(self, graph: MSCGraph) -> None:
        self.objects: list[object] = []
        self.graphs = list(graph.subgraphs())
        self.index = {id(part): number for number, part in enumerate(self.graphs)}

    def keep(self, value: object) -> int | None:
        """Return the index of a typed object; null for nothing."""
        return None if value is None or isinstance(value, NoAttrs) else self.kept(value)

    def kept(self, value: object) -> int:
        """Return the index of a typed object."""
        self.objects.append(value)
        return len(self.objects) - 1

    def program(self) -> document.RelayDocument:
        """Return the document of the entry function."""
        graph = self.graphs[0]
        own, nodes = self.function(graph), self.nodes(graph)
        extra = document.ModuleExtra(
            **asdict(own),
            graphs=tuple(map(self.inner, self.graphs[1:])),
            version=document.VERSION,
            functions={name: self.index[id(part)] for name, part in graph.functions.items()},
            module_attrs=self.keep(dict(graph.module_attrs)),
            type_definitions=tuple(map(self.kept, graph.type_definitions)),
            # Last, when every object has been met.
            objects=json.loads(save_json(tuple(self.objects))),
            entries=graph.entries,
        )
        return document.RelayDocument(*_shared(graph), nodes, _prims(graph), extra)

    def inner(self, graph: MSCGraph) -> document.InnerGraph:
        extra, nodes = self.function(graph), self.nodes(graph)
        return document.InnerGraph(*_shared(graph), nodes, _prims(graph), extra)

    def function(self, graph: MSCGraph) -> document.FunctionExtra:
        signature = graph.signature
        return document.FunctionExtra(
            params=graph.params,
            captured=graph.captured,
            result=graph.result,
            ret_type=self.keep(signature.ret_type),
            type_params=tuple(map(self.kept, signature.type_params)),
            attrs=self.keep(dict(signature.attrs)),
            span=self.keep(signature.span),
            virtual_device=self.keep(signature.virtual_device),
            inferred=self.keep(signature.inferred),
            weight_spans={name: self.kept(span) for name, span in graph.weight_spans.items()},
        )

    def nodes(self, graph: MSCGraph) -> tuple[document.RelayNode, ...]:
        with each("nodes of the document", graph.nodes) as rest:
            return tuple(document.RelayNode(**_node_fields(node), extra=self.node(node)) for node in rest)

    def node(self, node: MSCJoint) -> document.NodeExtra:
        return document.NodeExtra(
            operands=node.operands,
            scope=node.scope,
            span=self.keep(node.span),
            attrs=self.attrs(_without_operands(node)),
            attr_operands=dict(node.attr_operands),
        )

    def attrs(self, attrs: object) -> document.Attrs:
        match attrs:
            case InputAttrs(hint, annotation, device, captured):
                return document.Input(hint, captured, self.keep(annotation), self.keep(device))
            case ConstantAttrs(scalar):
                return document.Constant(scalar_text(scalar))
            case GetItemAttrs(index):
                return document.GetItem(index)
            case CallAttrs(type_args, inner):
                return document.Call(tuple(map(self.kept, type_args)), self.keep(inner))
            case GlobalAttrs(name):
                return document.Global(name)
            case FunctionAttrs(graph, itself):
                return document.Function(self.index[id(graph)], itself)
            case FusedAttrs(graph):
                return document.Fused(self.index[id(graph)])
            case IfAttrs(then, otherwise):
                return document.If((self.index[id(then)], self.index[id(otherwise)]))
            case MatchAttrs(patterns, graphs, complete):
                numbers = tuple(self.index[id(graph)] for graph in graphs)
                return document.Match(tuple(map(self.pattern, patterns)), numbers, complete)
            case ConstructorAttrs(data_type, constructor):
                return document.Constructor(data_type, constructor)
        return document.Operator(self.keep(attrs))

    def pattern(self, pattern: Pattern) -> document.Pattern:
        parts = tuple(map(self.pattern, pattern.parts))
        return document.Pattern(pattern.kind.value, parts, pattern.constructor, self.keep(pattern.span))


def _without_operands(node: MSCJoint) -> object:
    """Return the attributes without the operands among them, but for constants, which say their
    value.
    """
    attrs: DataclassInstance = node.attrs
    names = [name for name in node.attr_operands if not isinstance(getattr(attrs, name), Constant)]
    return replace(attrs, **dict.fromkeys(names)) if names else attrs
