"""The graph in the DOT language, for Graphviz and the viewers that read it."""

from __future__ import annotations

from collections.abc import Iterator

from relay2relax.core.source import visible
from relay2relax.graph.formats.attrs_text import attrs_text
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import MSCGraph, MSCJoint, MSCTensor

_SHAPES = {NodeKind.INPUT: "ellipse", NodeKind.CONSTANT: "note"}


def to_dot(graph: MSCGraph) -> str:
    """Return the graph as DOT: a box per node, an edge per operand.

    Function literals are clusters beside it.
    """
    lines = [f"digraph {_quoted(graph.name)} {{", '  node [shape=box, fontname="monospace"];']
    for number, part in enumerate(graph.subgraphs()):
        if number == 0:
            lines += (f"  {line}" for line in _lines(part, number))
        else:
            lines += [f"  subgraph cluster_{number} {{", f"    label={_quoted(part.name)};"]
            lines += (f"    {line}" for line in _lines(part, number))
            lines.append("  }")
    return "\n".join([*lines, "}"]) + "\n"


def _lines(graph: MSCGraph, number: int) -> Iterator[str]:
    for node in graph.nodes:
        shape = _SHAPES.get(node.kind)
        style = f", shape={shape}" if shape else ""
        yield f"{_id(node.name, number)} [label={_quoted(_label(node))}{style}];"
    for node in graph.nodes:
        for parent in node.parents:
            tensors = (t for t in graph.find_node(parent).outputs if t.name in node.inputs)
            label = ", ".join(_extents(tensor) for tensor in tensors)
            yield f"{_id(parent, number)} -> {_id(node.name, number)} [label={_quoted(label)}];"


def _label(node: MSCJoint) -> str:
    attrs = [f"{key}={value}" for key, value in attrs_text(node.attrs).items()]
    weights = [f"{role}: {_extents(tensor)}" for role, tensor in node.weights.items()]
    return "\n".join(visible(line) for line in (node.name, node.optype, *attrs, *weights))


def _extents(tensor: MSCTensor) -> str:
    return f"{tensor.dtype}[{', '.join(str(extent) for extent in tensor.get_shape(with_prims=True))}]"


def _id(name: str, number: int) -> str:
    return _quoted(f"{number}/{name}")


def _quoted(text: str) -> str:
    plain = visible(text, lines=True).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\l")
    return f'"{plain}"'
