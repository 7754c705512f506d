"""Which memory is alive while each node is computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from relay2relax.core.dtype import bits
from relay2relax.graph.extents import Extents
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import NO_TENSORS, MSCGraph, MSCJoint, MSCTensor
from relay2relax.graph.records import record_of

# Nodes whose value lies in the memory of their operands.
_VIEWS = frozenset({NodeKind.TUPLE, NodeKind.GET_ITEM, NodeKind.IDENTITY, NodeKind.MATCH_CAST, NodeKind.BIND,
    NodeKind.LET})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Alive:
    """A step of a program: what is alive while ``node`` is computed.

    ``bytes`` are all of it, ``made`` those of the node's own results, ``freed`` those that nobody
    needs after it. ``tensors`` names the results of nodes that are alive, in the order in which
    they were made; parameters and weights are alive always, and only counted.
    """

    node: str
    bytes: int
    made: int
    freed: int
    tensors: tuple[str, ...] = ()


def memory(graph: MSCGraph, extents: Mapping[str, int] | None = None, names: bool = False) -> tuple[Alive, ...]:
    """Return the memory that is alive at each node, in the order of the graph.

    Nothing is fused, and memory is used again. Parameters and weights are alive always; a result
    from its node to its last user, tuples and their fields in the memory of what they are made of.
    A node that holds graphs is taken for one step. ``extents`` are numbers for symbolic extents, by
    name. With ``names`` each step has the names of its tensors, which takes as long as they are
    many.

    Raises GraphError where an extent of a tensor stays open, or ``extents`` do not fit.
    """
    steps = _Steps(graph, Extents(graph, extents))
    return tuple(steps.of(node, names) for node in graph.nodes)


def peak(steps: Sequence[Alive]) -> Alive:
    """Return the first of the steps at which most memory is alive; raises ValueError for none."""
    return max(steps, key=lambda step: step.bytes)


class _Steps:
    """A program under way: what is alive, and until when."""

    def __init__(self, graph: MSCGraph, extents: Extents) -> None:
        self.extents = extents
        # In whose memory the value of a node lies.
        self.places: dict[str, tuple[str, ...]] = {}
        last: dict[str, str] = {}
        weights: dict[str, int] = {}
        for node in graph.nodes:
            used = tuple(dict.fromkeys(place for name in node.parents for place in self.places[name]))
            record = record_of(node)
            view = node.kind in _VIEWS or (record is not None and record.passes_through)
            self.places[node.name] = used if view else (node.name,)
            last.update(dict.fromkeys((*used, node.name), node.name))
            weights.update((one.name, self.size(one)) for one in node.weights.values())
        last.update(dict.fromkeys(self.places[graph.result], ""))
        self.ends: dict[str, list[str]] = {}
        for place, user in last.items():
            self.ends.setdefault(user, []).append(place)
        inputs = [graph.find_node(name) for name in (*graph.params, *graph.captured)]
        self.always = {node.name for node in inputs}
        self.always |= {node.name for node in graph.nodes if node.kind is NodeKind.CONSTANT}
        self.alive: dict[str, MSCJoint] = {}
        self.bytes = sum(weights.values()) + sum(self.size(one) for node in inputs for one in node.outputs)

    def of(self, node: MSCJoint, names: bool) -> Alive:
        """Compute a node, and return what is alive meanwhile."""
        made = 0
        if self.places[node.name] == (node.name,) and node.name not in self.always:
            made = sum(map(self.size, node.outputs))
            self.alive[node.name] = node
        self.bytes += made
        tensors = tuple(one.name for live in self.alive.values() for one in live.outputs) if names else ()
        gone = [self.alive.pop(place) for place in self.ends.get(node.name, ()) if place in self.alive]
        freed = sum(self.size(one) for node in gone for one in node.outputs)
        step = Alive(node.name, self.bytes, made, freed, tensors)
        self.bytes -= freed
        return step

    def size(self, tensor: MSCTensor) -> int:
        """Return the bytes of a tensor; of what is no tensor, 0."""
        if tensor.dtype in NO_TENSORS:
            return 0
        return math.prod(self.extents.numbers(tensor)) * ((bits(tensor.dtype) + 7) // 8)
