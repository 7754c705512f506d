"""The graph in the DOT language, for Graphviz and the viewers that read it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from relay2relax.core.progress import each
from relay2relax.core.source import visible
from relay2relax.graph.formats.attrs_text import attrs_text
from relay2relax.graph.formats.drawn import field_of, lenders, source_of
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import ConstantAttrs, MSCGraph, MSCJoint, MSCTensor

# Nodes are pale with dark text, and everything else is grey, so that a picture is readable on light
# and on dark pages.
_HEAD = (
    'graph [bgcolor="transparent", fontname="Helvetica", fontcolor="#808080", color="#808080",'
    " nodesep=0.3, ranksep=0.35, nslimit=2, nslimit1=2, mclimit=0.5];",
    'node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=10, fontcolor="#1a1a1a",'
    ' color="#808080", fillcolor="#cfe2f3", height=0.3, margin="0.12,0.06"];',
    'edge [fontname="Helvetica", fontsize=8, fontcolor="#808080", color="#808080", arrowsize=0.6];',
)
_GREEN, _YELLOW, _GREY, _ORANGE, _PURPLE, _RED = "#d5e8d4", "#fff2cc", "#e4e4e4", "#f8cbad", "#dcd0ef", "#f4cccc"
# Operators have the colour of the head.
_FILLS: Mapping[NodeKind, str] = {
    NodeKind.INPUT: _GREEN,
    NodeKind.CONSTANT: _YELLOW,
    NodeKind.TUPLE: _GREY,
    NodeKind.GET_ITEM: _GREY,
    NodeKind.IF: _ORANGE,
    NodeKind.MATCH: _ORANGE,
    NodeKind.CALL: _PURPLE,
    NodeKind.FUNCTION: _PURPLE,
    NodeKind.GLOBAL: _PURPLE,
    NodeKind.FUSED: _PURPLE,
    NodeKind.CALL_TIR: _RED,
    NodeKind.CALL_PACKED: _RED,
    NodeKind.CALL_DPS_PACKED: _RED,
}
# An edge over more levels is a line in the box at its end. Graphviz would take minutes for a
# network that is unrolled over time, and the picture would be black with lines.
_FAR = 40
# Attributes stand in lines of so many characters.
_WIDE = 40
_SHAPES = {NodeKind.INPUT: "ellipse", NodeKind.CONSTANT: "note"}


def to_dot(graph: MSCGraph, weights: bool = False) -> str:
    """Return the graph as DOT: a box per node, an edge per operand with its type.

    Function literals are clusters beside it. What would hide the rest is a line in the boxes that
    use it: constants, parameters that stand only where operators take learned values, and values
    from far above. With ``weights``, the first two are nodes. Fields of tuples are marks at edges.
    """
    lines = [f"digraph {_quoted(graph.name)} {{", *(f"  {line}" for line in _HEAD)]
    for number, part in enumerate(graph.subgraphs()):
        if number == 0:
            lines += (f"  {line}" for line in _lines(part, number, weights))
        else:
            lines += [f"  subgraph cluster_{number} {{", f"    label={_quoted(part.name)};"]
            lines += (f"    {line}" for line in _lines(part, number, weights))
            lines.append("  }")
    return "\n".join([*lines, "}"]) + "\n"


def _lines(graph: MSCGraph, number: int, weights: bool) -> Iterator[str]:
    folded = {} if weights else _folded(graph)
    levels: dict[str, int] = {}
    edges: list[str] = []
    with each("nodes of the picture", graph.nodes) as rest:
        for node in rest:
            if node.name in folded or field_of(graph, node) is not None:
                continue
            label = [*_label(node), *(folded[one] for one in node.parents if one in folded)]
            sources = [(*source_of(graph, one), _taken(graph, one, node)) for one in node.parents if one not in folded]
            near = [levels[source] for source, _, _ in sources]
            level = levels[node.name] = max(near, default=-1) + 1
            for (source, field, types), above in zip(sources, near, strict=True):
                said = " ".join(part for part in (field, types) if part)
                if level - above > _FAR:
                    label.append(f"from {visible(source)}: {said}")
                else:
                    edges.append(f"{_id(source, number)} -> {_id(node.name, number)} [label={_quoted(said)}];")
            tables = (("shape", _SHAPES), ("fillcolor", _FILLS))
            style = "".join(f', {key}="{table[node.kind]}"' for key, table in tables if node.kind in table)
            yield f"{_id(node.name, number)} [label={_quoted(_left(label))}{style}];"
    yield from edges


def _taken(graph: MSCGraph, parent: str, node: MSCJoint) -> str:
    """Return the types of what ``node`` takes of ``parent``."""
    return ", ".join(_extents(tensor) for tensor in graph.find_node(parent).outputs if tensor.name in node.inputs)


def _folded(graph: MSCGraph) -> dict[str, str]:
    """Return what is said of each node that is a line in the boxes of its users."""
    found: dict[str, str] = {}
    for name in lenders(graph):
        node = graph.find_node(name)
        types = ", ".join(_extents(tensor) for tensor in node.outputs)
        scalar = node.attrs.scalar if isinstance(node.attrs, ConstantAttrs) else None
        found[name] = f"{visible(name)}: {types}" + (f" = {scalar}" if scalar is not None else "")
    return found


def _left(lines: Sequence[str]) -> str:
    """Return a label whose lines are aligned to the left, the last one too."""
    return "\n".join([*lines, ""]) if len(lines) > 1 else lines[0]


def _label(node: MSCJoint) -> Iterator[str]:
    yield visible(node.optype if node.op else node.name)
    if node.optype != node.name:
        yield visible(node.name if node.op else node.optype)
    attrs = " ".join(visible(f"{key}={value}") for key, value in attrs_text(node.attrs).items() if value != "")
    yield from textwrap.wrap(attrs, _WIDE, break_long_words=False, break_on_hyphens=False)
    yield from (visible(f"{role}: {_extents(tensor)}") for role, tensor in node.weights.items())


def _extents(tensor: MSCTensor) -> str:
    return f"{tensor.dtype}[{', '.join(str(extent) for extent in tensor.get_shape(with_prims=True))}]"


def _id(name: str, number: int) -> str:
    return _quoted(f"{number}/{name}")


def _quoted(text: str) -> str:
    plain = visible(text, lines=True).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\l")
    return f'"{plain}"'
