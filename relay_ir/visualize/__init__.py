"""Pictures of Relay programs, under the names of ``tvm.contrib.relay_viz``.

    RelayVisualizer(mod).render()                                # a tree, printed
    RelayVisualizer(mod, params, DotPlotter(), DotVizParser()).render("net.dot")

Parsers and plotters of one's own derive from what ``interface.py`` has; ``parsers.py``,
``terminal.py`` and ``dot.py`` are those that are here.
"""

from __future__ import annotations

from collections.abc import Mapping

from relay2relax.core.errors.extensions import ask
from relay2relax.core.walk import post_order
from relay2relax.relay_ir.analysis.traversal import parts
from relay2relax.relay_ir.ir.expr import Expr
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.visualize.dot import DotGraph, DotPlotter
from relay2relax.relay_ir.visualize.interface import Plotter, VizEdge, VizGraph, VizNode, VizParser
from relay2relax.relay_ir.visualize.parsers import DefaultVizParser, DotVizParser, TermVizParser
from relay2relax.relay_ir.visualize.terminal import TermGraph, TermPlotter

__all__ = [
    "DefaultVizParser",
    "DotGraph",
    "DotPlotter",
    "DotVizParser",
    "Plotter",
    "RelayVisualizer",
    "TermGraph",
    "TermPlotter",
    "TermVizParser",
    "VizEdge",
    "VizGraph",
    "VizNode",
    "VizParser",
]


class RelayVisualizer:
    """A picture of each function of a module, ``@main`` first.

    ``relay_param`` are the params by name, ``plotter`` draws (a tree), ``parser`` says what
    expressions look like.
    """

    def __init__(
        self,
        relay_mod: IRModule,
        relay_param: Mapping[str, object] | None = None,
        plotter: Plotter | None = None,
        parser: VizParser | None = None,
    ) -> None:
        self._plotter = plotter if plotter is not None else TermPlotter()
        parser = parser if parser is not None else TermVizParser()
        ordered = sorted(relay_mod.functions.items(), key=lambda one: one[0].name != "main")
        offset = 0
        for var, function in ordered:
            roots: tuple[Expr, ...] = (function,)
            nodes = list(post_order(roots, parts))
            ids = {node: str(offset + number) for number, node in enumerate(nodes)}
            offset += len(ids)
            graph = self._plotter.create_graph(var.name)
            for node in nodes:
                what = f"{type(parser).__name__}.get_node_edges"
                viz_node, edges = ask(parser.get_node_edges, node, relay_param or {}, ids, what=what)
                if viz_node is not None:
                    graph.node(viz_node)
                for edge in edges:
                    graph.edge(edge)

    def render(self, filename: str | None = None) -> str:
        """Return what is drawn, printed where there is no file, and otherwise written to it."""
        return self._plotter.render(filename)
