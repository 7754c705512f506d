"""The structure of a graph, names only, for networkx and its algorithms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import networkx


def digraph(name: str, parents: Mapping[str, Sequence[str]]) -> networkx.DiGraph[str]:
    """Return the names of nodes as a networkx graph, with an edge from each operand to its user.

    ``parents`` has the operands of each node, in the order of the graph.
    """
    graph: networkx.DiGraph[str] = networkx.DiGraph(name=name)
    for node, operands in parents.items():
        graph.add_node(node)
        graph.add_edges_from((operand, node) for operand in operands)
    return graph
