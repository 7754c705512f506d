"""Nodes that match a pattern become one node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from relay2relax.core.dtype import Array
from relay2relax.graph.errors import named_twice
from relay2relax.graph.fused import numbered, ordered, rewired
from relay2relax.graph.fusing.places import Place, places_in
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import FusedAttrs, GetItemAttrs, GraphError, InputAttrs, MSCGraph, MSCJoint, MSCTensor
from relay2relax.graph.patterns.pattern import FusionPattern, spelled
from relay2relax.ops.registry.attributes import NoAttrs
from relay2relax.relax_ir.ir.names import NameSupply

# What a pattern may take together: nodes that hold no graph.
_PLAIN = frozenset({NodeKind.OPERATOR, NodeKind.CONSTANT, NodeKind.TUPLE, NodeKind.GET_ITEM})
_BLOCK = ("block",)


def fuse(graph: MSCGraph, weights: Mapping[str, Array], patterns: Sequence[FusionPattern]) -> MSCGraph:
    """Return the graph with one node for each part that a pattern matches.

    Patterns are tried in order, and what one has taken is not looked at again. A part is taken
    where nothing but its result is used outside of it, constants excepted; in the graph of a Relax
    program, where it stands in one block. ``unfuse`` has the nodes back. Raises GraphError where a
    weight is missing, and for several results (``also``) in the graph of a Relax program.
    """
    places = places_in(graph, weights)
    present = {spelled(node.op) for node in graph.nodes}
    fusing = Fusing(graph)
    for pattern in patterns:
        if present.issuperset(pattern.needs):
            for place in places.of(pattern):
                fusing.take(pattern, place)
    return fusing.graph_of_rest()


class Fusing:
    """A graph on its way: the fused nodes so far, by the last of their parts."""

    def __init__(self, graph: MSCGraph) -> None:
        self.graph = graph
        self.made: dict[str, MSCJoint] = {}
        self.names: set[str] = set()
        self.taken: set[str] = set()
        # What stands for the results of a node that has several, by the nodes that they were.
        self.fields: dict[str, MSCJoint] = {}
        self.supply = NameSupply()
        for node in graph.nodes:
            self.supply.reserve(node.name)

    def take(self, pattern: FusionPattern, place: Place) -> None:
        """Fuse a match, where its nodes are free and nothing else uses what is within."""
        root, inside, also = place.root, place.inside, place.also
        if also and self.graph.is_relax:
            raise GraphError(f"the pattern {pattern.name!r} has several results, for graphs of Relay programs only")
        if not self._may_fuse((root, *also), inside) or not pattern.check(place.match):
            return
        parts = sorted(map(self.graph.find_node, inside), key=lambda node: node.index)
        order = {role: at for at, role in enumerate(pattern.weights.values())}
        held = dict(sorted(_weights(parts, place.roles), key=lambda one: order.get(one[0], len(order))))
        name = self.supply.fresh(pattern.name, "_")
        node = self._node(name, pattern.name, place.arguments, parts, root, held)
        if also:
            node = self._with_results(node, [root, *also])
        self._put(root, node, inside, also)

    def take_named(
        self, name: str, pattern: str, params: tuple[str, ...], parts: Sequence[str], held: Mapping[str, str]
    ) -> None:
        """Fuse the nodes ``parts``, the last of which is their result, to the node ``name``.

        ``held`` are the weights that it holds, by role. Raises GraphError where there are no such
        nodes, or they cannot be one.
        """
        for one in (*params, *parts):
            self.graph.find_node(one)
        if name in self.names or self.graph.has_node(name):
            raise named_twice(name)
        root = parts[-1] if parts else ""
        if not root or self.graph.find_node(root).kind is NodeKind.CONSTANT or not self._may_fuse((root,), parts):
            raise GraphError(f"the parts of {name!r} cannot be one node: {', '.join(parts) or 'none'}")
        nodes = [self.graph.find_node(one) for one in parts]
        given = {*params, *parts}
        for node in nodes:
            if not given.issuperset(node.operands):
                missing = next(one for one in node.operands if one not in given)
                raise GraphError(f"the part {node.name!r} of {name!r} uses {missing!r}, which is no operand of it")
        known = {tensor.name: tensor for node in nodes for tensor in node.weights.values()}
        for role, weight in held.items():
            if weight not in known:
                raise GraphError(f"the parts of {name!r} hold no {weight!r}, which is to be its {role!r}")
        weights = {role: known[weight] for role, weight in held.items()}
        self._put(root, self._node(name, pattern, params, nodes, root, weights), parts)

    def _put(self, root: str, node: MSCJoint, inside: Sequence[str], also: Sequence[str] = ()) -> None:
        within = set(inside)
        self.made[root] = node
        self.names.add(node.name)
        self.taken.update(name for name in inside if name not in also and self._leaves(name, within))

    def _with_results(self, node: MSCJoint, results: Sequence[str]) -> MSCJoint:
        """Return a node with several results: a tuple, whose fields are nodes of the names that the
        results have.
        """
        (parts,) = node.bodies
        tensors = [tensor for one in results for tensor in self.graph.find_node(one).outputs]
        made = tuple(replace(t, name=f"{node.name}:{place}", alias="") for place, t in enumerate(tensors))
        name = self.supply.fresh(f"{node.name}.results", "_")
        outputs = tuple(replace(t, name=f"{name}:{place}") for place, t in enumerate(made))
        inputs = tuple(tensor.name for tensor in tensors)
        last = MSCJoint(
            len(parts), name, NodeKind.TUPLE, "", tuple(results), inputs, outputs, {}, NoAttrs(), _BLOCK, node.span
        )
        whole = replace(parts, nodes=(*parts.nodes, last), result=name)
        for place, one in enumerate(results):
            self.fields[one] = _field(self.graph.find_node(one), node.name, made, place)
        return replace(node, outputs=made, attrs=FusedAttrs(whole))

    def _may_fuse(self, results: Sequence[str], inside: Sequence[str]) -> bool:
        within = set(inside)
        scope = self.graph.find_node(results[0]).scope
        for name in inside:
            node = self.graph.find_node(name)
            if self.graph.is_relax and node.kind is not NodeKind.CONSTANT and node.scope != scope:
                return False
            if name in self.taken or name in self.made or node.kind not in _PLAIN:
                return False
            if name not in results and node.kind is not NodeKind.CONSTANT and not self._leaves(name, within):
                return False
        return True

    def _leaves(self, name: str, inside: set[str]) -> bool:
        """Whether all users of a node are inside; the result of a match is replaced, not left
        out.
        """
        return name != self.graph.result and all(user.name in inside for user in self.graph.children(name))

    def _node(
        self,
        name: str,
        op: str,
        operands: tuple[str, ...],
        parts: Sequence[MSCJoint],
        root: str,
        held: Mapping[str, MSCTensor],
    ) -> MSCJoint:
        """Return the node of ``parts``, with what they give where they are fused alone."""
        graph, last = self.graph, self.graph.find_node(root)
        params = [_parameter(graph.find_node(one)) for one in dict.fromkeys(operands)]
        spans = {one.name: graph.weight_spans[one.name] for one in held.values() if one.name in graph.weight_spans}
        inner = MSCGraph(name, numbered([*params, *parts]), operands, root, graph.prims, weight_spans=spans)
        outputs = tuple(_output(one, root, name) for one in last.outputs)
        inputs = tuple(tensor.name for one in operands for tensor in graph.find_node(one).outputs)
        return MSCJoint(
            last.index, name, NodeKind.FUSED, op, operands, inputs, outputs, held, FusedAttrs(inner),
            last.scope if graph.is_relax else _BLOCK, last.span, info=last.info, dataflow=last.dataflow,
        )  # fmt: skip

    def graph_of_rest(self) -> MSCGraph:
        """Return the graph of fused nodes and of those that are left."""
        if not self.made:
            return self.graph
        single = {root: node for root, node in self.made.items() if root not in self.fields}
        names = {root: node.name for root, node in single.items()}
        tensors = {
            before.name: after.name
            for root, node in single.items()
            for before, after in zip(self.graph.find_node(root).outputs, node.outputs, strict=True)
        }
        kept: list[MSCJoint] = []
        for node in self.graph.nodes:
            if node.name in self.made:
                kept.append(rewired(self.made[node.name], names, tensors))
            if node.name in self.fields:
                kept.append(self.fields[node.name])
            elif node.name not in self.made and node.name not in self.taken:
                kept.append(rewired(node, names, tensors))
        result = names.get(self.graph.result, self.graph.result)
        return replace(self.graph, nodes=numbered(ordered(kept) if self.fields else kept), result=result)


def _field(node: MSCJoint, whole: str, tensors: Sequence[MSCTensor], place: int) -> MSCJoint:
    """Return the field of a fused node that stands for ``node``."""
    inputs = tuple(one.name for one in tensors)
    return MSCJoint(
        node.index, node.name, NodeKind.GET_ITEM, "", (whole,), inputs, node.outputs, {}, GetItemAttrs(place), _BLOCK,
        node.span,
    )  # fmt: skip


def _parameter(node: MSCJoint) -> MSCJoint:
    """Return the input that stands for an operand among the parts."""
    return MSCJoint(0, node.name, NodeKind.INPUT, "", (), (), node.outputs, {}, InputAttrs(node.name), info=node.info)


def _weights(parts: Sequence[MSCJoint], roles: Mapping[str, str]) -> Iterator[tuple[str, MSCTensor]]:
    """Yield what the parts hold by role: what the pattern calls it, or the part that holds it."""
    for node in parts:
        for role, tensor in node.weights.items():
            yield (roles.get(node.name, node.name) if node.kind is NodeKind.CONSTANT else role), tensor


def _output(tensor: MSCTensor, before: str, after: str) -> MSCTensor:
    alias = after if tensor.alias == before else tensor.alias
    return replace(tensor, name=f"{after}{tensor.name.removeprefix(before)}", alias=alias)
