"""The graph as a tree for a terminal: nodes in their order, in the scopes that spans name.

main  x: float32[1, 4]
├─ /encoder
│  ├─ dense  nn.dense  float32[1, 3]  x, weight  units=3
│  └─ relu  nn.relu  float32[1, 3]  dense
└─ add  add  float32[1, 3]  relu, bias
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from relay2relax.core.source import Span, visible
from relay2relax.graph.formats.attrs_text import attrs_text
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import NO_TENSORS, MSCGraph, MSCJoint, MSCTensor

# Without a width, and not less than that.
_WIDTH, _NARROWEST = 100, 20
# Nodes that are said with the function, or with their users.
_QUIET = frozenset({NodeKind.INPUT, NodeKind.CONSTANT})


@dataclass(slots=True, eq=False)
class _Branch:
    """A line of the tree, and the lines below it."""

    label: str
    below: list[_Branch] = field(default_factory=list)


def to_tree(graph: MSCGraph, width: int | None = None) -> str:
    """Return the graph as a tree whose lines are no longer than ``width`` characters.

    A scope is what is in front of the last ``/`` of spans, as ONNX and PyTorch name layers; nodes
    of one that follow each other stand below it. Graphs within nodes stand below these, other
    functions behind. Inputs stand in the first line, and constants with their users.
    """
    limit = max(width or _WIDTH, _NARROWEST)
    functions = [graph, *graph.functions.values()]
    lines = [_cut(line, limit) for one in functions for line in _lines(_function(one))]
    return "\n".join(lines) + "\n"


def _cut(line: str, limit: int) -> str:
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def _function(graph: MSCGraph) -> _Branch:
    """Return the tree of a function, with those of graphs within it."""
    root = _Branch(_head(graph))
    waiting = [(graph, root)]
    while waiting:
        part, branch = waiting.pop()
        for node, at in _scoped(part, branch):
            made = _Branch(_label(node))
            at.below.append(made)
            for body in node.bodies:
                inner = _Branch(_head(body))
                made.below.append(inner)
                waiting.append((body, inner))
    return root


def _scoped(graph: MSCGraph, root: _Branch) -> Iterator[tuple[MSCJoint, _Branch]]:
    """Yield the nodes that have a line, and below which branch it stands."""
    open_: list[tuple[str, _Branch]] = []
    for node in graph.nodes:
        if node.kind in _QUIET and node.name != graph.result:
            continue
        path = _path(node.span)
        same = 0
        while same < min(len(path), len(open_)) and open_[same][0] == path[same]:
            same += 1
        del open_[same:]
        for name in path[same:]:
            branch = _Branch(f"/{visible(name)}")
            (open_[-1][1] if open_ else root).below.append(branch)
            open_.append((name, branch))
        yield node, open_[-1][1] if open_ else root


def _path(span: Span | None) -> Sequence[str]:
    """Return the scopes that a span names, the outermost first."""
    if span is None or "/" not in span.source_name:
        return ()
    return [part for part in span.source_name.split("/")[:-1] if part]


def _head(graph: MSCGraph) -> str:
    inputs = (f"{node.attrs.hint}: {_types(node.outputs)}" for node in map(graph.find_node, graph.params))
    return visible("  ".join([graph.name, *inputs]))


def _label(node: MSCJoint) -> str:
    attrs = "" if node.bodies else " ".join(f"{key}={value}" for key, value in attrs_text(node.attrs).items() if value)
    said = (node.name, node.optype, _types(node.outputs), ", ".join(node.operands), attrs)
    return visible("  ".join(one for one in said if one))


def _types(tensors: Sequence[MSCTensor]) -> str:
    return ", ".join(
        one.dtype if one.dtype in NO_TENSORS else f"{one.dtype}[{', '.join(map(str, one.get_shape(with_prims=True)))}]"
        for one in tensors
    )


def _lines(root: _Branch) -> Iterator[str]:
    """Yield the lines of a tree, with lines drawn to their branches."""
    yield root.label
    stack: list[tuple[str, _Branch, bool]] = []

    def below(prefix: str, branch: _Branch) -> None:
        last = len(branch.below) - 1
        stack.extend((prefix, one, place == last) for place, one in reversed(list(enumerate(branch.below))))

    below("", root)
    while stack:
        prefix, branch, last = stack.pop()
        yield f"{prefix}{'└─' if last else '├─'} {branch.label}"
        below(f"{prefix}{'   ' if last else '│  '}", branch)
