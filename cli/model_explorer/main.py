"""The adapter that Model Explorer registers when it loads this module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from model_explorer import Adapter, AdapterMetadata, graph_builder

from relay2relax.cli import programs
from relay2relax.graph.formats.model_explorer import Graph, Node, Pair, collection


class RelayAdapter(Adapter):  # type: ignore[misc]  # the package is an extra, and has no types here
    """Reads what ``relay2relax inspect`` reads: Relay as text, JSON or ONNX, scripts of Relax."""

    metadata = AdapterMetadata(
        id="relay2relax",
        name="relay2relax",
        description="Relay and Relax programs",
        source_repo="",
        fileExts=["relay", "txt", "json", "onnx", "py"],
    )

    def convert(self, model_path: str, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the graphs of a model; raises the errors of reading it, which are shown."""
        path = Path(model_path)
        made, _ = programs.read(path, None, {}).graph()
        return {"graphs": [_graph(one) for one in collection(made, path.name)["graphs"]]}


def _graph(graph: Graph) -> Any:
    return graph_builder.Graph(id=graph["id"], nodes=[_node(one) for one in graph["nodes"]])


def _node(node: Node) -> Any:
    return graph_builder.GraphNode(
        id=node["id"],
        label=node["label"],
        namespace=node["namespace"],
        subgraphIds=node["subgraphIds"],
        attrs=_pairs(node["attrs"]),
        incomingEdges=[graph_builder.IncomingEdge(**one) for one in node["incomingEdges"]],
        outputsMetadata=[
            graph_builder.MetadataItem(id=one["id"], attrs=_pairs(one["attrs"])) for one in node["outputsMetadata"]
        ],
    )


def _pairs(pairs: list[Pair]) -> list[Any]:
    return [graph_builder.KeyValue(**one) for one in pairs]
