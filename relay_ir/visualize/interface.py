"""What a picture of a program is made of, for parsers and plotters of one's own.

A parser says what an expression looks like, a graph takes nodes and edges, a plotter makes graphs
and draws them. Names are those of ``tvm.contrib.relay_viz``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from relay2relax.relay_ir.ir.expr import Expr


@dataclass(frozen=True, slots=True)
class VizNode:
    """A node: its id, what it is, and lines of what more there is to say."""

    identity: str
    type_name: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class VizEdge:
    """An edge from one id to another: from an operand to its user."""

    start: str
    end: str


class VizParser(ABC):
    """Says what expressions look like."""

    @abstractmethod
    def get_node_edges(
        self, node: Expr, relay_param: Mapping[str, object], node_to_id: Mapping[Expr, str]
    ) -> tuple[VizNode | None, list[VizEdge]]:
        """Return the node of an expression, None where it has none, and the edges to it.

        ``relay_param`` are the params by name, ``node_to_id`` has the ids of all expressions.
        """


class VizGraph(ABC):
    """A picture of one function."""

    @abstractmethod
    def node(self, viz_node: VizNode) -> None:
        """Add a node; operands come before their users."""

    @abstractmethod
    def edge(self, viz_edge: VizEdge) -> None:
        """Add an edge."""


class Plotter(ABC):
    """Makes the graphs of a module, one for each function, and draws them."""

    @abstractmethod
    def create_graph(self, name: str) -> VizGraph:
        """Return a new graph for the function of a name."""

    @abstractmethod
    def render(self, filename: str | None = None) -> str:
        """Return what is drawn, printed where there is no file, and otherwise written to it."""
