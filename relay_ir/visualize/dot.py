"""A picture in the DOT language, which Graphviz draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from relay2relax.core.errors.extensions import ask, returned
from relay2relax.core.output import OutputFile
from relay2relax.relay_ir.visualize.interface import Plotter, VizEdge, VizGraph, VizNode

Attributes = Mapping[str, str]
NodeAttributes = Callable[[VizNode], Attributes]


def default_node_attr(node: VizNode) -> Attributes:
    """Return ellipses for variables and boxes for the rest."""
    return {"shape": "ellipse" if "Var" in node.type_name else "box"}


class DotGraph(VizGraph):
    """The cluster of one function; attributes are those of Graphviz."""

    def __init__(
        self,
        name: str,
        graph_attr: Attributes | None = None,
        node_attr: Attributes | None = None,
        edge_attr: Attributes | None = None,
        get_node_attr: NodeAttributes | None = None,
    ) -> None:
        self._get_node_attr = get_node_attr or default_node_attr
        self._lines = [f"subgraph {_quoted(f'cluster_{name}')} {{"]
        for kind, attrs in (("graph", graph_attr), ("node", node_attr), ("edge", edge_attr)):
            if attrs:
                self._lines.append(f"  {kind}{_list(attrs)}")
        self._lines.append(f"  label={_quoted(name)}")

    def node(self, viz_node: VizNode) -> None:
        """Add a box, or what the callback says."""
        label = f"{viz_node.type_name}\n{viz_node.detail}".rstrip("\n")
        own = ask(self._get_node_attr, viz_node, what="get_node_attr")
        if not isinstance(own, Mapping):
            raise returned("get_node_attr", "attributes by name", own)
        attrs = {"label": label, **own}
        self._lines.append(f"  {_quoted(viz_node.identity)}{_list(attrs)}")

    def edge(self, viz_edge: VizEdge) -> None:
        """Add an arrow."""
        self._lines.append(f"  {_quoted(viz_edge.start)} -> {_quoted(viz_edge.end)}")

    def source(self) -> str:
        """Return the cluster in DOT."""
        return "\n".join([*self._lines, "}"])


class DotPlotter(Plotter):
    """Writes the clusters of all functions.

    ``graph_attr``, ``node_attr`` and ``edge_attr`` hold for all of them; ``get_node_attr`` is asked
    for the attributes of each node. TVM's plotter calls Graphviz; here ``dot -Tsvg`` does.
    """

    def __init__(
        self,
        graph_attr: Attributes | None = None,
        node_attr: Attributes | None = None,
        edge_attr: Attributes | None = None,
        get_node_attr: NodeAttributes | None = None,
    ) -> None:
        self._given = (graph_attr, node_attr, edge_attr, get_node_attr)
        self._name_to_graph: dict[str, DotGraph] = {}

    def create_graph(self, name: str) -> DotGraph:
        """Return the cluster of a function."""
        self._name_to_graph[name] = DotGraph(name, *self._given)
        return self._name_to_graph[name]

    def render(self, filename: str | None = None) -> str:
        """Return the picture in DOT, printed where there is no file, and otherwise written to it.

        Raises FileError where the file must not be written over, or that fails.
        """
        inner = "\n".join(one.source() for one in self._name_to_graph.values())
        text = f"digraph {{\n{inner}\n}}"
        if filename is None:
            print(text)
        else:
            OutputFile(Path(filename)).write(text.encode() + b"\n")
        return text


def _list(attrs: Attributes) -> str:
    return f" [{', '.join(f'{name}={_quoted(value)}' for name, value in attrs.items())}]"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
