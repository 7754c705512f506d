"""The differences of two graphs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.graph.comparison.differences import Change, GraphDiff, NodeChange, PartDiff
from relay2relax.graph.comparison.labels import attributes, type_text, whole, with_values
from relay2relax.graph.comparison.matching import matched
from relay2relax.graph.model import InputAttrs, MatchAttrs, MSCGraph, MSCJoint, MSCTensor


def diff(
    a: MSCGraph,
    b: MSCGraph,
    weights_a: Mapping[str, Array] | None = None,
    weights_b: Mapping[str, Array] | None = None,
) -> GraphDiff:
    """Return what differs from ``a`` to ``b``.

    Nodes are found again by what they are computed of and by what is computed of them; their names
    decide between nodes that are alike. With the weights of both graphs values are compared as
    well. Spans and aliases are not looked at. Takes time in proportion to the sizes of both.
    """
    weights = {part: given for one, given in ((a, weights_a), (b, weights_b)) for part in one.subgraphs() if given}
    values = weights_a is not None and weights_b is not None
    labels = [with_values(weights), whole] if values else [whole]
    functions = {"": a, **a.functions}, {"": b, **b.functions}
    waiting = [(functions[0].get(name), functions[1].get(name)) for name in {**functions[0], **functions[1]}]
    waiting.reverse()
    parts: list[PartDiff] = []
    while waiting:
        before, after = waiting.pop()
        if before is None or after is None:
            parts.append(PartDiff(before, after))
            continue
        pairs = matched(before, after, labels, values)
        parts.append(_part(before, after, pairs, weights))
        bodies = [(before.find_node(one).bodies, after.find_node(two).bodies) for one, two in pairs.items()]
        waiting += reversed([both for mine, theirs in bodies for both in zip(mine, theirs, strict=False)])
    return GraphDiff(tuple(parts))


def _part(
    before: MSCGraph, after: MSCGraph, pairs: Mapping[str, str], weights: Mapping[MSCGraph, Mapping[str, Array]]
) -> PartDiff:
    given = weights.get(before, {}), weights.get(after, {})
    changed: list[NodeChange] = []
    same: list[str] = []
    for one, two in pairs.items():
        x, y = before.find_node(one), after.find_node(two)
        changes = (*_of_node(x, y, pairs), *_of_values(x, y, *given))
        if changes:
            changed.append(NodeChange(one, two, changes))
        else:
            same.append(one)
    known = set(pairs.values())
    return PartDiff(
        before,
        after,
        pairs,
        _parts(before, same),
        tuple(changed),
        tuple(node.name for node in before.nodes if node.name not in pairs),
        tuple(node.name for node in after.nodes if node.name not in known),
        tuple(_of_graph(before, after, pairs)),
    )


def _of_graph(before: MSCGraph, after: MSCGraph, pairs: Mapping[str, str]) -> Iterator[Change]:
    """Yield what is different of a function itself."""
    if pairs.get(before.result) != after.result:
        yield Change("result", before.result, after.result)
    mine = [pairs.get(one, one) for one in before.params]
    if mine != list(after.params) and sorted(mine) == sorted(after.params):
        yield Change("order of parameters", ", ".join(before.params), ", ".join(after.params))


def _of_node(x: MSCJoint, y: MSCJoint, pairs: Mapping[str, str]) -> Iterator[Change]:
    """Yield what is different of two nodes."""
    if x.optype != y.optype:
        yield Change("operator", x.optype, y.optype)
    old, new = attributes(x), attributes(y)
    for name in {**old, **new}:
        if old.get(name) != new.get(name):
            yield Change(name, old.get(name, ""), new.get(name, ""))
    if isinstance(x.attrs, MatchAttrs) and isinstance(y.attrs, MatchAttrs) and x.attrs.patterns != y.attrs.patterns:
        yield Change("patterns", str(x.attrs.patterns), str(y.attrs.patterns))
    if isinstance(x.attrs, InputAttrs) and isinstance(y.attrs, InputAttrs) and x.attrs.hint != y.attrs.hint:
        yield Change("name", x.attrs.hint, y.attrs.hint)
    for role in {**x.weights, **y.weights}:
        mine, theirs = (type_text(one.weights[role]) if role in one.weights else "" for one in (x, y))
        if mine != theirs:
            yield Change(f"weight {role}", mine, theirs)
    held = {one.name for one in x.weights.values()}, {one.name for one in y.weights.values()}
    given = [pairs.get(one, one) for one in x.operands if one not in held[0]]
    if given != [one for one in y.operands if one not in held[1]]:
        yield Change("operands", ", ".join(x.operands), ", ".join(y.operands))
    for place in range(max(len(x.outputs), len(y.outputs))):
        mine, theirs = (type_text(one.outputs[place]) if place < len(one.outputs) else "" for one in (x, y))
        if mine != theirs:
            yield Change(f"output {place}", mine, theirs)


def _of_values(x: MSCJoint, y: MSCJoint, old: Mapping[str, Array], new: Mapping[str, Array]) -> Iterator[Change]:
    """Yield weights whose values are different."""
    for role, tensor in x.weights.items():
        other = y.weights.get(role)
        if other is None or tensor.name not in old or other.name not in new:
            continue
        mine, theirs = old[tensor.name], new[other.name]
        if mine is theirs or mine.shape != theirs.shape or mine.dtype != theirs.dtype:
            continue
        unlike = mine != theirs
        if mine.dtype.kind == "f":
            unlike &= ~(np.isnan(mine) & np.isnan(theirs))
        count = int(np.count_nonzero(unlike))
        if count:
            largest = float(np.max(np.abs(mine[unlike].astype(np.float64) - theirs[unlike].astype(np.float64))))
            amount = f"{count} of {mine.size}, by {largest:.6g}"
            yield Change(f"values of {role}", _shown(tensor), f"{_shown(other)}: {amount}")


def _shown(tensor: MSCTensor) -> str:
    return tensor.alias or tensor.name


def _parts(graph: MSCGraph, names: list[str]) -> tuple[tuple[str, ...], ...]:
    """Return nodes that hang together, as parts in the order of the graph, the largest first."""
    above = {name: name for name in names}

    def root(name: str) -> str:
        while above[name] != name:
            above[name] = name = above[above[name]]
        return name

    for name in names:
        for parent in graph.find_node(name).parents:
            if parent in above:
                above[root(parent)] = root(name)
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(root(name), []).append(name)
    return tuple(map(tuple, sorted(found.values(), key=len, reverse=True)))
