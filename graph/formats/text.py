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

from collections.abc import Iterator

from relay2relax.core.source import visible
from relay2relax.graph.formats.attrs_text import attrs_text
from relay2relax.graph.model import MSCGraph, MSCJoint, MSCPrim, MSCTensor


def to_text(graph: MSCGraph, msc: bool = False) -> str:
    """Return the graph as text; graphs of function literals and of other functions follow it.

    With ``msc`` it is spelt as MSC does, who writes ``CHILDERN``.
    """
    children = "CHILDERN" if msc else "CHILDREN"
    return "\n".join(visible(line) for part in graph.subgraphs() for line in _graph_lines(part, children)) + "\n"


def tensor_text(tensor: MSCTensor) -> str:
    """Return a tensor as MSC writes it, ``name(alias)<extents|dtype|LAYOUT>``."""
    alias = f"({tensor.alias})" if tensor.alias else ""
    shape = ",".join(str(extent) for extent in tensor.get_shape(with_prims=True))
    parts = [part for part in (shape, tensor.dtype, tensor.layout) if part]
    return f"{tensor.name}{alias}<{'|'.join(parts)}>"


def _graph_lines(graph: MSCGraph, children: str) -> Iterator[str]:
    inputs = f"{','.join(graph.inputs)}| " if graph.inputs else ""
    yield f"{graph.name} <INPUTS: {inputs}OUTPUTS: {','.join(graph.outputs)}>"
    users = _prim_users(graph)
    for number, prim in enumerate(graph.prims):
        yield from _prim_lines(number, prim, users.get(prim.name, []), children)
    for node in graph.nodes:
        yield from _node_lines(graph, node, children)


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


def _node_lines(graph: MSCGraph, node: MSCJoint, children: str) -> Iterator[str]:
    shared = f"(M: {node.shared_ref})" if node.shared_ref else ""
    users = ",".join(child.name for child in graph.children(node.name))
    yield f"N_{node.index} {node.name}{shared} <PARENTS: {','.join(node.parents)}| {children}: {users}>"
    if node.inputs:
        tensors = (graph.find_tensor(name) for name in node.inputs)
        yield f"  IN: {','.join(tensor_text(tensor) for tensor in tensors)}"
    yield f"  OUT: {','.join(tensor_text(tensor) for tensor in node.outputs)}"
    yield f"  OPTYPE: {node.optype}"
    if node.scope:
        yield f"  SCOPE: {'.'.join(node.scope)}"
    attrs = attrs_text(node.attrs)
    if attrs:
        yield "  ATTRS: " + "".join(f"{key}={value} " for key, value in attrs.items())
    if node.weights:
        yield "  WEIGHTS: "
        yield from (f"    {role}: {tensor_text(tensor)}" for role, tensor in node.weights.items())
    yield ""
