"""The graph as text, in MSC's layout.

main <INPUTS: data:0| OUTPUTS: softmax:0>
N_1 dense <PARENTS: data,const| CHILDREN: softmax>
  IN: data:0(data)<1,784|float32>,const:0<10,784|float32>
  OUT: dense:0<1,10|float32>
  OPTYPE: nn.dense
  SCOPE: block
  ATTRS: units=10 out_dtype=
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from relay2relax.core.source import visible
from relay2relax.graph.formats.attrs_text import attrs_text
from relay2relax.graph.model import MSCGraph, MSCJoint, MSCPrim, MSCTensor


@dataclass(frozen=True, slots=True)
class _Style:
    """How a text is spelt: the word for users, the letters before a node's number.

    ``parts``: parts of fused nodes follow, as other graphs do. ``numbered``: an alias that is the
    node's name has the place of the tensor behind it. ``named_weights``: weights have aliases.
    """

    children: str = "CHILDREN"
    node: str = "N_"
    parts: bool = True
    numbered: bool = False
    named_weights: bool = True


_STYLES: Mapping[bool | str, _Style] = {
    False: _Style(),
    True: _Style("CHILDERN", parts=False, named_weights=False),
    "2023": _Style("CHILDERN", "ID_", parts=False, numbered=True, named_weights=False),
}


def to_text(graph: MSCGraph, msc: bool | Literal["2023"] = False) -> str:
    """Return the graph as text; graphs of function literals and of other functions follow it.

    With ``msc`` it is spelt as MSC does, who writes ``CHILDERN``, and ``ID_`` instead of ``N_`` in
    its announcement of 2023. Parts of fused nodes are left out then, as MSC leaves them out.
    """
    style = _STYLES[msc]
    graphs = [part for part in graph.subgraphs() if style.parts or not _is_fused(graph, part)]
    return "\n".join(visible(line) for part in graphs for line in _graph_lines(part, style)) + "\n"


def _is_fused(graph: MSCGraph, part: MSCGraph) -> bool:
    """Whether a graph is that of the parts of a fused node; these have the name of their node."""
    functions = (graph, *graph.functions.values())
    return any(one.has_node(part.name) and part in one.find_node(part.name).bodies for one in functions)


def tensor_text(tensor: MSCTensor, numbered: bool = False) -> str:
    """Return a tensor as MSC writes it, ``name(alias)<extents|dtype|LAYOUT>``."""
    node, _, place = tensor.name.rpartition(":")
    shown = f"{tensor.alias}_{place}" if numbered and tensor.alias == node and "." in node else tensor.alias
    alias = f"({shown})" if shown else ""
    shape = ",".join(str(extent) for extent in tensor.get_shape(with_prims=True))
    parts = [part for part in (shape, tensor.dtype, tensor.layout) if part]
    return f"{tensor.name}{alias}<{'|'.join(parts)}>"


def _graph_lines(graph: MSCGraph, style: _Style) -> Iterator[str]:
    inputs = f"{','.join(graph.inputs)}| " if graph.inputs else ""
    yield f"{graph.name} <INPUTS: {inputs}OUTPUTS: {','.join(graph.outputs)}>"
    users = _prim_users(graph)
    for number, prim in enumerate(graph.prims):
        yield from _prim_lines(number, prim, users.get(prim.name, []), style.children)
    for node in graph.nodes:
        yield from _node_lines(graph, node, style)


def _prim_users(graph: MSCGraph) -> dict[str, list[str]]:
    users: dict[str, list[str]] = {}
    for prim in graph.prims:
        for parent in dict.fromkeys(prim.parents):
            users.setdefault(parent, []).append(prim.name)
    return users


def _prim_lines(number: int, prim: MSCPrim, users: list[str], children: str) -> Iterator[str]:
    yield f"P_{number} {prim.name} <PARENTS: {','.join(prim.parents)}| {children}: {','.join(users)}>"
    yield f"  OPTYPE: {prim.optype}"
    if prim.attrs:
        yield "  ATTRS: " + "".join(f"{key}={value} " for key, value in prim.attrs.items())
    yield ""


def _node_lines(graph: MSCGraph, node: MSCJoint, style: _Style) -> Iterator[str]:
    shared = f"(M: {node.shared_ref})" if node.shared_ref else ""
    users = ",".join(child.name for child in graph.children(node.name))
    parents = ",".join(node.parents)
    yield f"{style.node}{node.index} {node.name}{shared} <PARENTS: {parents}| {style.children}: {users}>"
    if node.inputs:
        tensors = (graph.find_tensor(name) for name in node.inputs)
        yield f"  IN: {','.join(tensor_text(tensor, style.numbered) for tensor in tensors)}"
    yield f"  OUT: {','.join(tensor_text(tensor, style.numbered) for tensor in node.outputs)}"
    yield f"  OPTYPE: {node.optype}"
    if node.scope:
        yield f"  SCOPE: {'.'.join(node.scope)}"
    attrs = attrs_text(node.attrs)
    if attrs:
        yield "  ATTRS: " + "".join(f"{key}={value} " for key, value in attrs.items())
    if node.weights:
        yield "  WEIGHTS: "
        for role, tensor in node.weights.items():
            yield f"    {role}: {tensor_text(tensor if style.named_weights else replace(tensor, alias=''))}"
    yield ""
