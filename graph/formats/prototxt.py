"""The graph as MSC's prototxt, which Netron shows.

layer {
  name: "dense"
  type: "nn_dense"
  top: "dense"
  bottom: "data"
  layer_param {
    idx: 1
    units: "10"
  }
}
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from relay2relax.core.output import OutputFile
from relay2relax.graph.formats.attrs_text import attrs_text
from relay2relax.graph.formats.text import tensor_text
from relay2relax.graph.model import MSCGraph, MSCJoint

_ODD = re.compile(r"\W")


def to_prototxt(graph: MSCGraph) -> str:
    """Return the nodes of the graph as layers; graphs within nodes are left out.

    A layer has the node's name, its operator with ``_`` for ``.``, the names of its parents, and as
    parameters its number, tensors and attributes.
    """
    lines = [f"name: {_quoted(graph.name)}"]
    for node in graph.nodes:
        lines += _layer(graph, node)
    return "\n".join(lines) + "\n"


def visualize(graph: MSCGraph, path: str | os.PathLike[str] | None = None) -> str:
    """Return the graph as prototxt, and write it to ``path`` where that is given.

    The name is MSC's. Raises FileError where the file must not be written over, or that fails.
    """
    text = to_prototxt(graph)
    if path is not None:
        OutputFile(Path(path)).write(text.encode())
    return text


def _layer(graph: MSCGraph, node: MSCJoint) -> Iterator[str]:
    yield "layer {"
    yield f"  name: {_quoted(node.name)}"
    yield f"  type: {_quoted(node.optype.replace('.', '_'))}"
    yield f"  top: {_quoted(node.name)}"
    yield from (f"  bottom: {_quoted(parent)}" for parent in node.parents)
    yield "  layer_param {"
    yield f"    idx: {node.index}"
    given = {f"input_{place}": tensor_text(one) for place, one in enumerate(graph.inputs_of(node.name))}
    made = {f"output_{place}": tensor_text(one) for place, one in enumerate(node.outputs)}
    held = {f"param_{role}": tensor_text(one) for role, one in node.weights.items()}
    for key, value in {**given, **made, **held, **attrs_text(node.attrs)}.items():
        yield f"    {_ODD.sub('_', key)}: {_quoted(value)}"
    yield "  }"
    yield "}"


def _quoted(text: str) -> str:
    """Return a string of protobuf's text format, in ASCII; half of a pair of surrogates, which
    protobuf does not hold, is shown as Python writes it.
    """
    if text.isascii():
        return json.dumps(text)
    # JSON writes what is beyond 16 bits as two halves, which protobuf would not join.
    return '"' + "".join(f"\\{byte:03o}" for byte in text.encode("utf-8", "backslashreplace")) + '"'
