"""Where patterns match in a graph, by the names of nodes: in the Relay, or the Relax, that the
graph is of.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from relay2relax.core.dtype import Array
from relay2relax.core.matching.matcher import Matcher
from relay2relax.core.matching.patterns import CallPattern, ConstantPattern, DFPattern, parts
from relay2relax.core.walk import post_order
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import MSCGraph
from relay2relax.graph.patterns.pattern import FusionPattern, Match, spelled, types_of
from relay2relax.graph.relax.restore import restored_values
from relay2relax.graph.relay.exporter import to_relay_with_nodes
from relay2relax.relax_ir.dpl.view import RelaxView
from relay2relax.relax_ir.inference.infer import StructInfoError
from relay2relax.relax_ir.ir.struct_info import to_type
from relay2relax.relay_ir.dataflow_pattern.groups import Grouper
from relay2relax.relay_ir.dataflow_pattern.view import RelayView


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A match: ``root`` is its result, ``inside`` are the nodes that it takes.

    ``arguments`` are the nodes that the open parts of the pattern matched, in the order of the
    pattern; one may stand twice. ``also`` are further results, and ``roles`` say what constants are
    to the pattern.
    """

    root: str
    arguments: tuple[str, ...]
    inside: tuple[str, ...]
    also: tuple[str, ...]
    roles: Mapping[str, str]
    match: Match


class Places(Protocol):
    """What finds the places of patterns in one graph."""

    def of(self, pattern: FusionPattern) -> Iterator[Place]:
        """Yield the places where a pattern matches, those near the result first."""


def places_in(graph: MSCGraph, weights: Mapping[str, Array]) -> Places:
    """Return what finds the places of patterns in ``graph``."""
    return _RelaxPlaces(graph, weights) if graph.is_relax else _RelayPlaces(graph, weights)


class _RelayPlaces:
    def __init__(self, graph: MSCGraph, weights: Mapping[str, Array]) -> None:
        mod, made = to_relay_with_nodes(graph, weights)
        self.names = {expr: name for name, expr in made.items() if graph.has_node(name)}
        self.grouper = Grouper(RelayView(mod[graph.name]))
        self.types = types_of(mod)

    def of(self, pattern: FusionPattern) -> Iterator[Place]:
        names = self.names
        for group in self.grouper.groups(pattern.pattern, pattern.also).values():
            if group.root not in names:
                continue
            match = Match(group.found, self.types)
            # A constant that a pattern leaves open may be held by a node; then it has no node.
            yield Place(
                names[group.root],
                tuple(names[one] for one in group.arguments if one in names),
                tuple(names[one] for one in group.inside if one in names),
                tuple(names[match[part]] for part in pattern.also),
                _roles(pattern, group.found, names),
                match,
            )


class _RelaxPlaces:
    """Of a Relax program: nodes are bindings, and patterns see through variables."""

    def __init__(self, graph: MSCGraph, weights: Mapping[str, Array]) -> None:
        self.graph = graph
        made, values = restored_values(graph, weights)
        self.view = RelaxView(values)
        self.matcher = Matcher(self.view)
        self.exprs: dict[str, Hashable] = {name: self.view.value(expr) for name, expr in made.items()}
        self.names: dict[Hashable, str] = {expr: name for name, expr in self.exprs.items()}

    def of(self, pattern: FusionPattern) -> Iterator[Place]:
        roots = self.matcher.roots(pattern.pattern)
        for node in reversed(self.graph.nodes):
            if node.kind is not NodeKind.OPERATOR or (roots is not None and spelled(node.op) not in roots):
                continue
            found = self.matcher.match(pattern.pattern, self.exprs[node.name])
            if found is not None:
                yield self._place(pattern, node.name, found)

    def _place(self, pattern: FusionPattern, root: str, found: Mapping[DFPattern, Sequence[Hashable]]) -> Place:
        matched = {part: list(nodes) for part, nodes in found.items()}
        arguments = tuple(self._arguments(pattern.pattern, matched))
        inner = post_order((root,), lambda name: () if name in arguments else self.graph.find_node(name).parents)
        also = tuple(self.names[matched[part][0]] for part in pattern.also)
        inside = tuple(name for name in inner if name not in arguments)
        match = Match(matched, self._type)
        return Place(root, arguments, inside, also, _roles(pattern, matched, self.names), match)

    def _arguments(self, pattern: DFPattern, found: Mapping[DFPattern, Sequence[Hashable]]) -> Iterator[str]:
        for one in post_order((pattern,), parts):
            nodes: Sequence[Hashable] = found.get(one, ())
            if isinstance(one, CallPattern) and one.args is None:
                calls = [found for found in map(self.view.call, nodes) if found is not None]
                nodes = [self.view.value(arg) for _, args in calls for arg in args]
            elif parts(one) or isinstance(one, ConstantPattern):
                continue
            yield from (self.names[node] for node in nodes if node in self.names)

    def _type(self, expr: Hashable) -> object:
        try:
            return to_type(self.view.info(expr))
        except (StructInfoError, TypeError):
            return None


def _roles(
    pattern: FusionPattern, found: Mapping[DFPattern, Sequence[Any]], names: Mapping[Any, str]
) -> dict[str, str]:
    return {names[one]: role for part, role in pattern.weights.items() for one in found[part] if one in names}
