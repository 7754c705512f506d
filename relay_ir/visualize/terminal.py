"""A tree of text for the terminal."""

from __future__ import annotations

from pathlib import Path

from relay2relax.core.output import OutputFile
from relay2relax.relay_ir.visualize.interface import Plotter, VizEdge, VizGraph, VizNode

# From so many lines on, what stands above already is not written out again: a tree of shared values
# may have more lines than there are atoms.
MOST_REPEATED = 10_000
# A tree that is deeper goes on at the left edge.
WIDEST = 600


class TermGraph(VizGraph):
    """The tree of one function, its result at the root."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._nodes: dict[str, VizNode] = {}
        self._parts: dict[str, list[str]] = {}

    def node(self, viz_node: VizNode) -> None:
        """Add a node; the one that is added last is the root."""
        self._nodes.pop(viz_node.identity, None)
        self._nodes[viz_node.identity] = viz_node
        self._parts.setdefault(viz_node.identity, [])

    def edge(self, viz_edge: VizEdge) -> None:
        """Add an edge: the start is a part of the end."""
        self._parts.setdefault(viz_edge.end, []).append(viz_edge.start)

    def render(self) -> str:
        """Return the tree."""
        if not self._nodes:
            return f"@{self.name}()"
        root = next(reversed(self._nodes))
        lines = [f"@{self.name}({self._detail(root)})"]
        open_: set[str] = set()
        stack = [("", root, part, place) for place, part in self._numbered(root)]
        while stack:
            indent, above, one, place = stack.pop()
            last = place == len(self._parts[above]) - 1
            node = self._nodes[one]
            lines.append(f"{indent}{'`--' if last else '|--'}{node.type_name} {self._detail(one)}".rstrip())
            parts = self._numbered(one)
            if one in open_ and len(lines) > MOST_REPEATED and parts:
                lines[-1] += " (as above)"
                continue
            open_.add(one)
            inner = indent + ("   " if last else "|  ")
            if len(inner) > WIDEST:
                inner = ""
            stack += [(inner, one, part, number) for number, part in parts]
        return "\n".join(lines)

    def _numbered(self, one: str) -> list[tuple[int, str]]:
        """Return the parts of a node that are nodes, and their places, the last one first."""
        return [pair for pair in enumerate(self._parts[one]) if pair[1] in self._nodes][::-1]

    def _detail(self, one: str) -> str:
        return self._nodes[one].detail.replace("\n", ", ")


class TermPlotter(Plotter):
    """Prints trees, or writes them to a file."""

    def __init__(self) -> None:
        self._name_to_graph: dict[str, TermGraph] = {}

    def create_graph(self, name: str) -> TermGraph:
        """Return the tree of a function."""
        self._name_to_graph[name] = TermGraph(name)
        return self._name_to_graph[name]

    def render(self, filename: str | None = None) -> str:
        """Return the trees, printed where there is no file, and otherwise written to it.

        Raises FileError where the file must not be written over, or that fails.
        """
        text = "\n".join(one.render() for one in self._name_to_graph.values())
        if filename is None:
            print(text)
        else:
            OutputFile(Path(filename)).write(text.encode() + b"\n")
        return text
