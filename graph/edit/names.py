"""Other names for nodes and weights, and names that are free."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from relay2relax.graph.model import InputAttrs, MSCGraph, MSCJoint, MSCTensor


class Names:
    """The names that are taken in a module: of nodes, weights and graphs."""

    def __init__(self, graphs: Iterable[MSCGraph]) -> None:
        self._taken: set[str] = set()
        self._counts: dict[str, int] = {}
        for graph in graphs:
            for part in graph.subgraphs():
                self._taken.add(part.name)
                for node in part.nodes:
                    self._taken.add(node.name)
                    self._taken.update(tensor.name for tensor in node.weights.values())

    def fresh(self, hint: str) -> str:
        """Return ``hint``, with a number behind it where the name is taken."""
        name = hint
        while name in self._taken:
            self._counts[hint] = self._counts.get(hint, 0) + 1
            name = f"{hint}_{self._counts[hint]}"
        self._taken.add(name)
        return name

    def __contains__(self, name: str) -> bool:
        return name in self._taken


@dataclass(frozen=True, slots=True)
class Renaming:
    """Other names for ``nodes`` and ``weights``, by the names that they have."""

    nodes: Mapping[str, str]
    weights: Mapping[str, str]

    def graph(self, graph: MSCGraph) -> MSCGraph:
        """Return a graph under the other names."""
        return replace(
            graph,
            nodes=tuple(map(self.node, graph.nodes)),
            params=tuple(map(self.node_name, graph.params)),
            captured=tuple(map(self.node_name, graph.captured)),
            result=self.node_name(graph.result),
            weight_spans={self.weights.get(name, name): span for name, span in graph.weight_spans.items()},
        )

    def node(self, node: MSCJoint) -> MSCJoint:
        """Return a node under the other names; an input takes its name as hint too."""
        name = self.node_name(node.name)
        attrs = node.attrs
        if isinstance(attrs, InputAttrs) and attrs.hint == node.name:
            attrs = replace(attrs, hint=name)
        held = {tensor.name for tensor in node.weights.values()}
        return replace(
            node,
            name=name,
            operands=tuple(self.weights.get(one, one) if one in held else self.node_name(one) for one in node.operands),
            inputs=tuple(map(self.tensor_name, node.inputs)),
            outputs=tuple(
                self.weight(one) if one.name in held else self.output(one, node.name, name) for one in node.outputs
            ),
            weights={role: self.weight(one) for role, one in node.weights.items()},
            attrs=attrs,
        )

    def node_name(self, name: str) -> str:
        """Return the name of a node."""
        return self.nodes.get(name, name)

    def tensor_name(self, name: str) -> str:
        """Return the name of a tensor that a node gives."""
        node, colon, place = name.rpartition(":")
        return f"{self.node_name(node)}{colon}{place}" if colon else self.weights.get(name, name)

    @staticmethod
    def output(tensor: MSCTensor, before: str, after: str) -> MSCTensor:
        """Return a tensor of a node with another name; an alias that says the name follows."""
        alias = tensor.alias
        if alias == before or alias.startswith(f"{before}_"):
            alias = f"{after}{alias.removeprefix(before)}"
        return replace(tensor, name=f"{after}{tensor.name.removeprefix(before)}", alias=alias)

    def weight(self, tensor: MSCTensor) -> MSCTensor:
        """Return a held tensor."""
        return replace(tensor, name=self.weights.get(tensor.name, tensor.name))
