"""A graph as boxes and edges: what is drawn of it, and which box everything else belongs to.

A box is a node. Fields of tuples are marks at edges, and what only lends its values (weights,
constants) stands in the boxes that use it. Bodies of functions and branches are groups beside the
node that holds them: their boxes say in which ``rooms`` they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile

from relay2relax.graph.formats.attrs_text import attrs_text
from relay2relax.graph.formats.drawn import field_of, lenders, source_of
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import ConstantAttrs, MSCGraph, MSCJoint, MSCTensor


@dataclass(frozen=True, slots=True)
class Lent:
    """A weight or constant in the box that uses it: the role it has there, its name and tensor."""

    role: str
    name: str
    tensor: str
    value: str = ""


@dataclass(slots=True, eq=False)
class Box:
    """What is drawn of a node of ``graph``; ``rooms`` are the bodies that it is in, outermost
    first.
    """

    node: MSCJoint
    graph: MSCGraph
    rooms: tuple[str, ...]
    lent: list[Lent] = field(default_factory=list)

    @property
    def type(self) -> str:
        """The tensors that the node gives."""
        return ", ".join(map(tensor_text, self.node.outputs))

    @property
    def layer(self) -> str:
        """What the names of the weights have in common: how a framework calls the layer."""
        names = [one.name for one in self.lent if one.role != "constant"] or [""]
        pairs = zip(min(names), max(names), strict=False)
        common = min(names)[: sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))]
        cut = max(common.rfind("."), common.rfind("_"), common.rfind("/"))
        return common[:cut] if cut > 0 else ""

    @property
    def attributes(self) -> dict[str, str]:
        """What the node says besides its operands."""
        return {key: value for key, value in attrs_text(self.node.attrs).items() if value != ""}


@dataclass(frozen=True, slots=True)
class Edge:
    """From the box that gives a value to one that takes it; ``field`` is the field of a tuple that
    is taken, or "".
    """

    source: int
    target: int
    field: str = ""


@dataclass(slots=True, eq=False)
class Drawing:
    """Boxes in an order in which operands come first, edges, and the box of every name: of nodes
    that are not drawn too, and of weights.
    """

    boxes: list[Box] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    of: dict[str, int] = field(default_factory=dict)

    def users(self) -> list[list[int]]:
        """Return the boxes that take what each box gives."""
        found: list[list[int]] = [[] for _ in self.boxes]
        for edge in self.edges:
            found[edge.source].append(edge.target)
        return found


def drawing_of(graph: MSCGraph) -> Drawing:
    """Return what is drawn of ``graph``, its bodies and the other functions of its module."""
    made = Drawing()
    for name, function in graph.functions.items():
        _draw(made, function, (f"@{name}",))
    _draw(made, graph, ())
    return made


def tensor_text(tensor: MSCTensor) -> str:
    """Return dtype and extents of a tensor, ``float32[1, n]``."""
    return f"{tensor.dtype}[{', '.join(map(str, tensor.get_shape(with_prims=True)))}]"


@dataclass(slots=True, eq=False)
class _Visit:
    """A graph on its way: its nodes that are still to be drawn."""

    graph: MSCGraph
    rooms: tuple[str, ...]
    rest: Iterator[MSCJoint]
    lent: frozenset[str]
    # The node that waits until its bodies are drawn.
    holder: MSCJoint | None = None


def _draw(made: Drawing, graph: MSCGraph, rooms: tuple[str, ...]) -> None:
    stack = [_visit(graph, rooms)]
    while stack:
        visit = stack[-1]
        if visit.holder is not None:
            _box(made, visit, visit.holder)
            visit.holder = None
            continue
        node = next(visit.rest, None)
        if node is None:
            stack.pop()
        elif node.bodies:
            visit.holder = node
            room = (*visit.rooms, node.name)
            many = len(node.bodies) > 1
            stack += [
                _visit(body, (*room, f"{node.optype} {number}") if many else room)
                for number, body in reversed(list(enumerate(node.bodies)))
            ]
        elif node.name not in visit.lent and field_of(visit.graph, node) is None:
            _box(made, visit, node)


def _visit(graph: MSCGraph, rooms: tuple[str, ...]) -> _Visit:
    return _Visit(graph, rooms, iter(graph.nodes), lenders(graph))


def _box(made: Drawing, visit: _Visit, node: MSCJoint) -> None:
    """Add the box of a node, with edges from its operands and from what its bodies give."""
    graph, number = visit.graph, len(made.boxes)
    rooms = (*visit.rooms, node.name) if node.bodies else visit.rooms
    box = Box(node, graph, rooms)
    made.boxes.append(box)
    made.of[node.name] = number
    box.lent += [Lent(role, one.name, tensor_text(one)) for role, one in node.weights.items()]
    for one in box.lent:
        made.of.setdefault(one.name, number)
    for operand in node.parents:
        if not graph.has_node(operand):
            continue
        if operand in visit.lent:
            box.lent.append(_lent(graph, operand))
            made.of.setdefault(operand, number)
            continue
        source, taken = source_of(graph, operand)
        made.of.setdefault(operand, made.of.get(source, number))
        if source in visit.lent:
            box.lent.append(_lent(graph, source))
            made.of.setdefault(source, number)
        elif source in made.of:
            made.edges.append(Edge(made.of[source], number, taken))
    _connect_bodies(made, box, number)


def _connect_bodies(made: Drawing, box: Box, number: int) -> None:
    """Add edges from what is captured to where bodies take it, and from their results."""
    captured = iter(box.node.captured)
    for body in box.node.bodies:
        for inner in body.captured:
            outer = next(captured, None)
            if outer is not None and inner in made.of and outer in made.of:
                made.edges.append(Edge(made.of[outer], made.of[inner]))
        if body.result in made.of and made.of[body.result] != number:
            made.edges.append(Edge(made.of[body.result], number))


def _lent(graph: MSCGraph, name: str) -> Lent:
    node = graph.find_node(name)
    scalar = node.attrs.scalar if isinstance(node.attrs, ConstantAttrs) else None
    role = "constant" if node.kind is NodeKind.CONSTANT else "weight"
    return Lent(role, name, ", ".join(map(tensor_text, node.outputs)), "" if scalar is None else str(scalar))
