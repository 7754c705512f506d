"""What depends on what: all of it linear in the size of the graph."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from relay2relax.graph.formats.attrs_text import attrs_text
from relay2relax.graph.model import MSCGraph, MSCJoint
from relay2relax.graph.records import learned_inputs

if TYPE_CHECKING:
    import networkx as nx


def ancestors(graph: MSCGraph, name: str) -> tuple[MSCJoint, ...]:
    """Return the nodes that ``name`` depends on, in the order of the graph.

    Raises GraphError where there is no such node.
    """
    found = _reached([name], lambda one: graph.find_node(one).parents) - {name}
    return tuple(node for node in graph.nodes if node.name in found)


def descendants(graph: MSCGraph, name: str) -> tuple[MSCJoint, ...]:
    """Return the nodes that depend on ``name``, in the order of the graph.

    Raises GraphError where there is no such node.
    """
    found = _reached([name], lambda one: [child.name for child in graph.children(one)]) - {name}
    return tuple(node for node in graph.nodes if node.name in found)


def between(graph: MSCGraph, inputs: Iterable[str], outputs: Iterable[str]) -> tuple[MSCJoint, ...]:
    """Return the nodes on the ways from some tensors to others, in the order of the graph.

    Tensors are named, or by their aliases. The nodes that give the ``inputs`` are not among them,
    those that give the ``outputs`` are. What else these depend on, such as constants, is left out
    (``graph.extract`` takes it along). Raises GraphError where there is no such tensor.
    """
    given = {graph.find_tensor(name).name for name in inputs}
    first = [
        node.name for name in given for node in graph.children(graph.find_producer(name).name) if name in node.inputs
    ]
    last = [graph.find_producer(name).name for name in outputs]
    behind = _reached(first, lambda one: [child.name for child in graph.children(one)])
    before = _reached(last, lambda one: graph.find_node(one).parents)
    both = behind & before
    return tuple(node for node in graph.nodes if node.name in both)


def paths(graph: MSCGraph, source: str, target: str) -> Iterator[tuple[str, ...]]:
    """Yield the ways from node ``source`` to node ``target``, as names of nodes.

    There may be very many: each takes time in proportion to its length when it is asked for, and
    what does not lead to ``target`` is not tried. Raises GraphError where there is no such node.
    """
    useful = _reached([target], lambda one: graph.find_node(one).parents)
    graph.find_node(source)

    def onward(name: str) -> Iterator[str]:
        if name == target:
            return iter(())
        return iter([child.name for child in graph.children(name) if child.name in useful])

    return _paths(source, target, onward) if source in useful else iter(())


def _paths(source: str, target: str, onward: Callable[[str], Iterator[str]]) -> Iterator[tuple[str, ...]]:
    way, ahead = [source], [onward(source)]
    if source == target:
        yield (source,)
    while way:
        child = next(ahead[-1], None)
        if child is None:
            way.pop()
            ahead.pop()
        elif child == target:
            yield (*way, child)
        else:
            way.append(child)
            ahead.append(onward(child))


def levels(graph: MSCGraph) -> tuple[tuple[MSCJoint, ...], ...]:
    """Return the nodes by level: those of a level depend on lower levels only, and on at least one
    node of the level below.

    The first level has what depends on nothing. Nodes of a level could be computed at once.
    """
    found: dict[str, int] = {}
    rows: list[list[MSCJoint]] = []
    for node in graph.nodes:
        level = found[node.name] = max((found[parent] + 1 for parent in node.parents), default=0)
        if level == len(rows):
            rows.append([])
        rows[level].append(node)
    return tuple(map(tuple, rows))


def cut_points(graph: MSCGraph, inputs: Collection[str] | None = None) -> tuple[MSCJoint, ...]:
    """Return the nodes that every way from the inputs to the result goes through.

    The graph can be cut behind each of them: what follows needs nothing else that was computed of
    the inputs. ``inputs`` are names of nodes; without them the parameters that are no weights
    (``graph.learned_inputs``). The result is always one of the nodes, an input only where it is the
    only one. Raises GraphError where there is no such node.
    """
    weights = learned_inputs(graph)
    sources = {graph.find_node(name).name for name in inputs or [one for one in graph.params if one not in weights]}
    behind = _reached(sources, lambda one: [child.name for child in graph.children(one)])
    inside = behind & _reached([graph.result], lambda one: graph.find_node(one).parents)
    order = [node for node in graph.nodes if node.name in inside]
    place = {node.name: number for number, node in enumerate(order)}
    found: list[MSCJoint] = []
    # A way passes by a node where it starts behind it, or has an edge over it.
    farthest = max((place[name] for name in sources if name in place), default=0)
    for number, node in enumerate(order):
        if farthest <= number:
            found.append(node)
        ends = (place[child.name] for child in graph.children(node.name) if child.name in place)
        farthest = max(farthest, max(ends, default=0))
    return tuple(found)


def networkx(graph: MSCGraph) -> nx.DiGraph[str]:
    """Return the graph for networkx and its algorithms: ``graph.dag`` with what nodes and edges
    are.

    A node has ``optype``, ``kind``, ``attrs`` (texts by name), ``outputs`` (tensors), ``scope`` and
    ``span``; an edge has ``tensors``, the names of those that go along it.
    """
    made = graph.dag.copy()
    for node in graph.nodes:
        made.nodes[node.name].update(
            optype=node.optype,
            kind=node.kind.name.lower(),
            attrs=attrs_text(node.attrs),
            outputs=node.outputs,
            scope=node.scope,
            span=node.span,
        )
        taken = set(node.inputs)
        for parent in node.parents:
            given = tuple(one.name for one in graph.find_node(parent).outputs if one.name in taken)
            made.edges[parent, node.name]["tensors"] = given
    return made


def _reached(names: Iterable[str], onward: Callable[[str], Sequence[str]]) -> set[str]:
    """Return ``names`` and all that is reached from them."""
    found = set(names)
    waiting = deque(found)
    while waiting:
        for one in onward(waiting.popleft()):
            if one not in found:
                found.add(one)
                waiting.append(one)
    return found
