"""Names of nodes, weights and spans: those that TVM's importer gives.

A node is called after its kind and how many of the kind came before (``aten::linear_0``), or after
the module that it was traced in (``bert.encoder``). A weight is called after the node that uses it
first and its own name there (``aten::linear_0.weight``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from relay2relax.relay_ir.frontend.pytorch.torchscript import Node, TorchGraph, every_node, first_users

_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Names:
    """What nodes, and the values that come in, are called.

    ``nodes`` are the names of nodes by the first value that each gives. ``weights`` are names of
    variables by value, and ``spans`` what the variables of inputs and weights have as span.
    """

    nodes: Mapping[str, str]
    outputs: Mapping[str, str]
    weights: Mapping[str, str]
    spans: Mapping[str, str]


def name_graph(graph: TorchGraph, inputs: Mapping[str, str], friendly: bool, scopes: bool) -> Names:
    """Return the names of a graph whose inputs are called ``inputs``, by value.

    ``friendly`` names have no period or colon, so that they are read without quotes; with
    ``scopes`` a node is called after the module that it stands in.
    """
    between = "_" if friendly else "."
    nodes: dict[str, str] = {}
    outputs: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for node in every_node(graph.nodes):
        if not node.outputs:
            continue
        name = _scope(node) if scopes else f"{node.kind}_{counts[node.kind]}"
        counted = name if scopes else node.kind
        labelled = f"{name}_{counts[counted]}" if scopes else name
        counts[counted] += 1
        outputs.update((output, f"{labelled}_{place}") for place, output in enumerate(node.outputs))
        nodes[node.outputs[0]] = re.sub(r"[:.]", "_", name) if friendly else name
    weights: dict[str, str] = {}
    spans: dict[str, str] = {}
    for value, user, itself in first_users(graph.nodes):
        source = nodes[user.outputs[0]] if user.outputs else user.kind
        if value in graph.attributes:
            name = weights[value] = between.join([source, *_own_name(graph.attributes[value][0])])
            spans[value] = name if itself else source
        elif value in inputs:
            starts = inputs[value].startswith(source)
            name = inputs[value] if starts else f"{source}{between}{inputs[value]}"
            spans[value] = name if itself else source
    return Names(nodes, outputs, weights, spans)


def _scope(node: Node) -> str:
    """Return the path of modules that a node was traced in."""
    parts = [part.rpartition("::")[2] for part in node.scope.split("/")]
    return ".".join(part for part in parts if part)


def _own_name(path: str) -> list[str]:
    """Return the last part of a path, and the part before it where the last is a number."""
    parts = path.split(".")
    return parts[-2:] if _NUMBER.fullmatch(parts[-1]) and len(parts) > 1 else parts[-1:]
