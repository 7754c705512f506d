"""Which memory is alive while each node is computed."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from relay2relax.core.dtype import bits
from relay2relax.core.walk import answer, post_order
from relay2relax.graph.extents import Extents
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import NO_TENSORS, MSCGraph, MSCJoint, MSCTensor
from relay2relax.graph.queries.callees import arguments_of, callee_of
from relay2relax.graph.records import record_of
from relay2relax.graph.relax.functions import called_functions, graphs_inside

# Nodes whose value lies in the memory of their operands.
_VIEWS = frozenset({NodeKind.TUPLE, NodeKind.GET_ITEM, NodeKind.IDENTITY, NodeKind.MATCH_CAST, NodeKind.BIND,
    NodeKind.LET})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Alive:
    """A step of a program: what is alive while ``node`` is computed.

    ``bytes`` are all of it, ``made`` those of the node's own results, ``freed`` those that nobody
    needs after it. ``tensors`` names the results of nodes that are alive, in the order in which
    they were made; parameters and weights are alive always, and only counted. ``inside`` are the
    bytes that a function or a branch has at most while the node is computed, its result among them.
    """

    node: str
    bytes: int
    made: int
    freed: int
    tensors: tuple[str, ...] = ()
    inside: int = 0


def memory(graph: MSCGraph, extents: Mapping[str, int] | None = None, names: bool = False) -> tuple[Alive, ...]:
    """Return the memory that is alive at each node, in the order of the graph.

    Nothing is fused, and memory is used again. Parameters and weights are alive always; a result
    from its node to its last user, tuples and their fields in the memory of what they are made of.
    A call has what its function has at most, a branch what the larger of its arms has; of a
    function that calls itself, one round counts. A fused node is one step. ``extents`` are numbers
    for symbolic extents, by name. With ``names`` each step has the names of its tensors, which
    takes as long as they are many.

    Raises GraphError where an extent of a tensor stays open, or ``extents`` do not fit.
    """
    return tuple(answer(_Program(graph).steps(graph, extents or {}, names)))


def peak(steps: Sequence[Alive]) -> Alive:
    """Return the first of the steps at which most memory is alive; raises ValueError for none."""
    return max(steps, key=lambda step: step.bytes)


# Asks for the steps of graphs inside, and is told them.
_Walk = Generator["_Walk", list[Alive], list[Alive]]


@dataclass(slots=True, eq=False)
class _Program:
    """The functions of a program: ``known`` is what each has at most, beside what goes in."""

    main: MSCGraph
    known: dict[Any, int] = field(default_factory=dict)

    def steps(self, graph: MSCGraph, extents: Mapping[str, int], names: bool = False) -> _Walk:
        """Return the steps of a graph, those of graphs inside it within them."""
        weights = self.reached() if graph is self.main else ()
        steps = _Steps(graph, Extents(graph, extents), weights)
        found = []
        for node in graph.nodes:
            inside = 0
            for body, given in self.bodies(graph, node):
                numbers = _numbers(body, given, steps.extents, extents)
                key = body, tuple(numbers.items())
                if key not in self.known:
                    self.known[key] = 0
                    inner = yield self.steps(body, numbers)
                    before = inner[0].bytes - max(inner[0].made, inner[0].inside)
                    self.known[key] = max(step.bytes for step in inner) - before
                inside = max(inside, self.known[key])
            found.append(steps.of(node, names, inside))
        return found

    def reached(self) -> Iterator[MSCGraph]:
        """Yield the graphs that the program may evaluate."""
        functions = {self.main.name: self.main, **self.main.functions}
        called = {name: [one for one in called_functions(each) if one in functions] for name, each in functions.items()}
        for name in post_order((self.main.name,), called.__getitem__):
            yield from graphs_inside(functions[name])

    def bodies(self, graph: MSCGraph, node: MSCJoint) -> Iterator[tuple[MSCGraph, dict[str, MSCJoint]]]:
        """Yield the graphs that are evaluated for a node, and the nodes that their inputs are."""
        if node.kind is NodeKind.CALL:
            body = callee_of(graph, node, self.main)
            if body is not None:
                function = graph.find_node(node.operands[0])
                outer = function.captured if body in function.bodies else ()
                names = zip((*body.params, *body.captured), (*arguments_of(node), *outer), strict=False)
                yield body, {inner: graph.find_node(one) for inner, one in names}
        elif node.kind in (NodeKind.IF, NodeKind.MATCH):
            rest = iter(node.captured)
            for body in node.bodies:
                yield body, {inner: graph.find_node(next(rest)) for inner in body.captured}


def _numbers(
    body: MSCGraph, given: Mapping[str, MSCJoint], outer: Extents, chosen: Mapping[str, int]
) -> dict[str, int]:
    """Return the numbers of a graph's extents: what goes in has those of the nodes that it is."""
    free = {prim.name for prim in body.prims if not prim.parents and prim.optype != "Int"}
    found = {name: number for name, number in chosen.items() if name in free}
    for name, node in given.items():
        for own, one in zip(body.find_node(name).outputs, node.outputs, strict=False):
            open_ = [prim for prim in own.prims if prim in free]
            if open_:
                found.update((p, n) for p, n in zip(own.prims, outer.numbers(one), strict=True) if p in free)
    return found


class _Steps:
    """A graph under way: what is alive, and until when.

    ``reached`` are graphs whose weights are alive always.
    """

    def __init__(self, graph: MSCGraph, extents: Extents, reached: Iterable[MSCGraph] = ()) -> None:
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
        for part in reached:
            weights.update((one.name, self.size(one)) for one in part.get_weights())
        last.update(dict.fromkeys(self.places[graph.result], ""))
        self.ends: dict[str, list[str]] = {}
        for place, user in last.items():
            self.ends.setdefault(user, []).append(place)
        inputs = [graph.find_node(name) for name in (*graph.params, *graph.captured)]
        self.always = {node.name for node in inputs}
        self.always |= {node.name for node in graph.nodes if node.kind is NodeKind.CONSTANT}
        self.alive: dict[str, MSCJoint] = {}
        self.bytes = sum(weights.values()) + sum(self.size(one) for node in inputs for one in node.outputs)

    def of(self, node: MSCJoint, names: bool, inside: int) -> Alive:
        """Compute a node, and return what is alive meanwhile; graphs of it have ``inside``."""
        made, before = 0, self.bytes
        if self.places[node.name] == (node.name,) and node.name not in self.always:
            made = sum(map(self.size, node.outputs))
            self.alive[node.name] = node
        self.bytes += made
        tensors = tuple(one.name for live in self.alive.values() for one in live.outputs) if names else ()
        gone = [self.alive.pop(place) for place in self.ends.get(node.name, ()) if place in self.alive]
        freed = sum(self.size(one) for node in gone for one in node.outputs)
        step = Alive(node.name, before + max(made, inside), made, freed, tensors, inside)
        self.bytes -= freed
        return step

    def size(self, tensor: MSCTensor) -> int:
        """Return the bytes of a tensor; of what is no tensor, 0."""
        if tensor.dtype in NO_TENSORS:
            return 0
        return math.prod(self.extents.numbers(tensor)) * ((bits(tensor.dtype) + 7) // 8)
