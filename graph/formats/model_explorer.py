"""Graphs as Google's Model Explorer reads them: JSON of its graph collections.

The fields are those of ``model_explorer.graph_builder``, which is not needed to write them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TypedDict

from relay2relax.core.progress import each
from relay2relax.graph.formats.attrs_text import attrs_text
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import MSCGraph, MSCJoint, MSCTensor


class Pair(TypedDict):
    """What is said of something, under a name."""

    key: str
    value: str


class Metadata(TypedDict):
    """What is said of an output, by its place."""

    id: str
    attrs: list[Pair]


class Edge(TypedDict):
    """Where an input comes from: a node, and the place among its outputs."""

    sourceNodeId: str
    sourceNodeOutputId: str
    targetNodeInputId: str


class Node(TypedDict):
    """A node; ``namespace`` is the path of the groups that it stands in."""

    id: str
    label: str
    namespace: str
    subgraphIds: list[str]
    attrs: list[Pair]
    incomingEdges: list[Edge]
    outputsMetadata: list[Metadata]


class Graph(TypedDict):
    """A graph; others name it by its ``id``."""

    id: str
    nodes: list[Node]


class Collection(TypedDict):
    """Graphs that belong together."""

    label: str
    graphs: list[Graph]


def to_model_explorer(graph: MSCGraph, label: str = "") -> str:
    """Return a graph as JSON that Model Explorer opens, under ``label`` or its own name.

    Graphs that nodes hold, and other functions, are graphs of their own, which a click on their
    nodes opens. Nodes stand in groups by the paths in their spans (``/encoder/layer.0/MatMul``).
    """
    return json.dumps(collection(graph, label), indent=1)


def collection(graph: MSCGraph, label: str = "") -> Collection:
    """Return what :func:`to_model_explorer` writes, as a value of JSON."""
    return {"label": label or graph.name, "graphs": [_graph(part) for part in graph.subgraphs()]}


def _graph(graph: MSCGraph) -> Graph:
    sources = {
        tensor.name: (node.name, str(place)) for node in graph.nodes for place, tensor in enumerate(node.outputs)
    }
    with each("nodes of the document", graph.nodes) as rest:
        return {"id": graph.name, "nodes": [_node(graph, node, sources) for node in rest]}


def _node(graph: MSCGraph, node: MSCJoint, sources: dict[str, tuple[str, str]]) -> Node:
    edges: list[Edge] = []
    for place, name in enumerate(node.inputs):
        source, output = sources[name]
        edges.append({"sourceNodeId": source, "sourceNodeOutputId": output, "targetNodeInputId": str(place)})
    return {
        "id": node.name,
        "label": node.optype,
        "namespace": _namespace(node),
        "subgraphIds": [body.name for body in node.bodies],
        "attrs": list(_said(graph, node)),
        "incomingEdges": edges,
        "outputsMetadata": [{"id": str(place), "attrs": list(_of(one))} for place, one in enumerate(node.outputs)],
    }


def _namespace(node: MSCJoint) -> str:
    """Return the path of the groups of a node: what its span says, without its own name."""
    said = node.span.source_name if node.span is not None else ""
    return "/".join([one for one in said.split("/") if one][:-1])


def _said(graph: MSCGraph, node: MSCJoint) -> Iterator[Pair]:
    yield {"key": "name", "value": node.name}
    for key, value in attrs_text(node.attrs).items():
        yield {"key": key, "value": value}
    for role, tensor in node.weights.items():
        if node.kind is not NodeKind.CONSTANT:
            yield {"key": role, "value": f"{tensor.name}: {_type(tensor)}"}
    if node.span is not None:
        yield {"key": "span", "value": str(node.span)}
    if node.name == graph.result:
        yield {"key": "result", "value": f"of {graph.name}"}


def _of(tensor: MSCTensor) -> Iterator[Pair]:
    # Edges are labelled by this one, and tensors by the other.
    yield {"key": "tensor_shape", "value": _type(tensor)}
    yield {"key": "__tensor_tag", "value": tensor.alias or tensor.name}


def _type(tensor: MSCTensor) -> str:
    return f"{tensor.dtype}[{','.join(map(str, tensor.get_shape(with_prims=True)))}]"
