"""What of a node has to be alike in two graphs for them to be compared: from all of it to its
operator.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping
from typing import TypeAlias

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.graph.formats.attrs_text import attrs_text
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import MSCGraph, MSCJoint, MSCTensor

# What is alike in nodes that may be the same.
Label: TypeAlias = Callable[[MSCGraph, MSCJoint], Hashable]


def type_text(tensor: MSCTensor) -> str:
    """Return dtype and extents of a tensor, ``float32[1, n]``."""
    return f"{tensor.dtype}[{', '.join(map(str, tensor.get_shape(with_prims=True)))}]"


def attributes(node: MSCJoint) -> dict[str, str]:
    """Return the attributes of a node as text, but for the names of graphs within."""
    return {} if node.bodies else attrs_text(node.attrs)


def operator(graph: MSCGraph, node: MSCJoint) -> Hashable:
    """Return what a node calls."""
    return node.optype, len(node.operands)


def whole(graph: MSCGraph, node: MSCJoint) -> Hashable:
    """Return all that a node says but for names and places."""
    held = tuple((role, type_text(tensor)) for role, tensor in node.weights.items())
    made = tuple(map(type_text, node.outputs))
    return operator(graph, node), tuple(attributes(node).items()), made, held, len(node.bodies)


def with_values(weights: Mapping[MSCGraph, Mapping[str, Array]]) -> Label:
    """Return the label that knows the values of weights as well, where these are given."""
    known: dict[int, bytes] = {}

    def digest(array: Array) -> bytes:
        found = known.get(id(array))
        if found is None:
            found = known[id(array)] = hashlib.blake2b(
                np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
            ).digest()
        return found

    def label(graph: MSCGraph, node: MSCJoint) -> Hashable:
        given = weights.get(graph, {})
        held = tuple(digest(given[one.name]) for one in node.weights.values() if one.name in given)
        return whole(graph, node), held

    return label


def is_leaf(node: MSCJoint) -> bool:
    """Whether a node says little of its place: it is told apart by its users."""
    return node.kind in (NodeKind.CONSTANT, NodeKind.INPUT, NodeKind.GLOBAL, NodeKind.CONSTRUCTOR)
