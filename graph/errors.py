"""What is wrong with a graph that is read, checked or translated."""

from __future__ import annotations

from relay2relax.graph.model import GraphError, MSCGraph, MSCJoint


def ill_formed(node: MSCJoint) -> GraphError:
    """Return the error for a node whose kind, operands and attributes do not belong together."""
    return GraphError(f"node {node.name!r} is not well formed: {node.optype} with {node.attrs!r}")


def named_twice(name: str) -> GraphError:
    """Return the error for a name that two nodes have."""
    return GraphError(f"two nodes are named {name!r}")


def used_too_early(node: MSCJoint, name: str) -> GraphError:
    """Return the error for a node that uses one that follows it, or is not there."""
    return GraphError(f"node {node.name!r} uses {name!r}, which does not come before it")


def holds_no_weight(node: MSCJoint) -> GraphError:
    """Return the error for a constant without a weight."""
    return GraphError(f"the constant {node.name!r} holds no weight")


def no_input(name: str, graph: MSCGraph) -> GraphError:
    """Return the error for a parameter that is another node than an input."""
    return GraphError(f"the parameter {name!r} of {graph.name!r} is not an input")
