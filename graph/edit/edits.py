"""Nodes replaced, inserted, deleted and renamed; parts taken out, and graphs put together.

Each edit returns another graph and its weights; what was given stays as it is. What an edit makes
superfluous goes, weights with it. Types that follow are found anew.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, count

from relay2relax.core.dtype import Array
from relay2relax.core.walk import post_order
from relay2relax.graph.check import check_well_formed
from relay2relax.graph.edit.names import Names, Renaming
from relay2relax.graph.edit.parts import Edit, Make, Part, part_of
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import GraphError, InputAttrs, MSCGraph, MSCJoint, MSCPrim, MSCTensor, Signature
from relay2relax.ops.registry.attributes import NoAttrs
from relay2relax.relay_ir.ir.types import TensorType
from relay2relax.tir.extent import ANY

Weighted = tuple[MSCGraph, dict[str, Array]]


def replace(graph: MSCGraph, weights: Mapping[str, Array], name: str, make: Make) -> Weighted:
    """Return the graph in which the node ``name`` is what ``make`` returns, and its weights.

    ``make`` is given the node's operands, held weights among them, as expressions: of Relay in the
    graph of a Relay program, of Relax in that of a Relax one. It returns another expression, of as
    many operators and constants as it needs. Raises GraphError where there is no such node or the
    result has another number of tensors, and what inference raises where types do not fit.

        graph.replace(g, weights, "relu", lambda x: relay_ir.op.nn.leaky_relu(x, 0.1))
    """
    node = graph.find_node(name)
    if node.kind is NodeKind.INPUT or node.bodies:
        raise GraphError(f"the node {name!r} is an input or holds graphs; it cannot be replaced")
    part = part_of(graph, weights, node.operands, name, make)
    edit = Edit(graph, dict(weights))
    made = edit.take_in(part, node)
    edit.redirect(name, made)
    return edit.finished(graph, _new(graph, edit))


def insert(
    graph: MSCGraph, weights: Mapping[str, Array], tensor: str, make: Make, users: Iterable[str] | None = None
) -> Weighted:
    """Return the graph in which users of a tensor take what ``make`` makes of it, and its weights.

    ``users`` are names of nodes; without them all users do, and the function returns it where it
    returned the tensor. ``make`` and errors are those of :func:`replace`.
    """
    producer = _whole(graph, tensor)
    chosen = list(users) if users is not None else None
    takers = {node.name for node in graph.children(producer.name)}
    for one in chosen or ():
        if one not in takers:
            raise GraphError(f"the node {one!r} does not take {tensor!r}")
    part = part_of(graph, weights, [producer.name], producer.name, make)
    edit = Edit(graph, dict(weights))
    made = edit.take_in(part, producer)
    if chosen is None:
        chosen = [node.name for node in graph.children(producer.name)]
        if graph.result == producer.name:
            edit.graph = dataclasses.replace(edit.graph, result=made)
    if chosen:
        edit.redirect(producer.name, made, chosen)
    return edit.finished(graph, [*_new(graph, edit), *chosen])


def delete(graph: MSCGraph, weights: Mapping[str, Array], name: str, operand: int = 0) -> Weighted:
    """Return the graph without the node ``name``, whose users take one of its operands.

    A parameter can be deleted where nothing uses it. Raises GraphError where there is no such node
    or operand, and what inference raises where types do not fit.
    """
    node = graph.find_node(name)
    edit = Edit(graph, dict(weights))
    if node.kind is NodeKind.INPUT:
        if graph.children(name) or graph.result == name or name not in graph.params:
            raise GraphError(f"the input {name!r} of {graph.name!r} is used")
        rest = tuple(one for one in graph.params if one != name)
        nodes = tuple(one for one in graph.nodes if one.name != name)
        edit.graph = dataclasses.replace(graph, nodes=nodes, params=rest)
        return edit.finished(graph, ())
    if not 0 <= operand < len(node.operands) or not graph.has_node(node.operands[operand]):
        raise GraphError(f"the node {name!r} has no operand {operand} that could take its place")
    users = [child.name for child in graph.children(name)]
    edit.redirect(name, node.operands[operand])
    return edit.finished(graph, users)


def rename(graph: MSCGraph, weights: Mapping[str, Array], names: Mapping[str, str]) -> Weighted:
    """Return the graph with other ``names`` of nodes and weights, by those that they have.

    Tensors are called as their nodes; a parameter has the name as hint too. Raises GraphError where
    there is no such node or weight, or a name is taken.
    """
    known = Names((graph,))
    nodes = {old: new for old, new in names.items() if graph.has_node(old)}
    held = {old: new for old, new in names.items() if old in weights}
    for old, new in names.items():
        if old not in nodes and old not in held:
            raise GraphError(f"the graph {graph.name!r} has no node or weight {old!r}")
        if (new in known and new not in names) or not new:
            raise GraphError(f"the name {new!r} is taken in {graph.name!r}" if new else "a name is empty")
    if len(set(names.values())) < len(names):
        raise GraphError("two nodes or weights would have one name")
    made = Renaming(nodes, held).graph(graph)
    check_well_formed(made)
    return made, {held.get(name, name): array for name, array in weights.items()}


def extract(
    graph: MSCGraph, weights: Mapping[str, Array], inputs: Iterable[str], outputs: Sequence[str], name: str = "main"
) -> Weighted:
    """Return what computes ``outputs`` of ``inputs`` as a graph of its own, and its weights.

    Tensors are named, or by their aliases. What is needed beside the inputs comes along: constants,
    and parameters of the graph as parameters behind the inputs. Several outputs are a tuple. Raises
    GraphError where there is no such tensor, or one of several that a node gives is asked for.
    """
    producers = {one: _whole(graph, one) for one in (*inputs, *outputs)}
    cuts = list(dict.fromkeys(producers[one].name for one in inputs))
    results = [producers[one].name for one in outputs]
    if not results:
        raise GraphError("a graph without outputs computes nothing")
    needed = list(post_order(results, lambda one: () if one in cuts else graph.find_node(one).parents))
    inside = set(needed)
    rest = [one for one in (*graph.params, *graph.captured) if one in inside and one not in cuts]
    names = {one: _parameter(graph.find_node(one), graph.is_relax) for one in (*cuts, *rest)}
    body = [names.get(node.name, node) for node in graph.nodes if node.name in inside or node.name in names]
    result = results[0]
    if len(results) > 1:
        if graph.is_relax:
            raise GraphError("of a Relax program one output is extracted at a time")
        body.append(_tuple(graph, results))
        result = body[-1].name
    functions = graph.functions if any(one.kind is NodeKind.GLOBAL for one in body) or graph.is_relax else {}
    signature = Signature()
    if graph.is_relax:
        given = {"num_input": len(cuts)} if "num_input" in graph.signature.attrs else {}
        signature = Signature(attrs=given, ret=graph.find_node(result).info)
    made = dataclasses.replace(
        graph, name=name, nodes=tuple(body), params=(*cuts, *rest), captured=(), result=result, signature=signature,
        functions=functions,
    )  # fmt: skip
    return Edit(made, dict(weights)).finished(made, ())


def merge(
    graph: MSCGraph,
    weights: Mapping[str, Array],
    other: MSCGraph,
    other_weights: Mapping[str, Array],
    joints: Mapping[str, str],
) -> Weighted:
    """Return ``other`` behind ``graph``: its inputs are tensors of ``graph``, by ``joints``.

    Inputs of ``other`` that are not joined are parameters behind those of ``graph``. Names that are
    taken get a number. The result is that of ``other``. Raises GraphError where an input or a
    tensor does not exist, or one is of a Relay program and the other of a Relax one, and what
    inference raises where types do not fit.
    """
    if graph.is_relax != other.is_relax:
        raise GraphError("a graph of Relay and one of Relax cannot be one")
    for one in joints:
        if one not in other.params:
            raise GraphError(f"the graph {other.name!r} has no input {one!r}")
    names = Names((graph, other))
    edit = Edit(graph, dict(weights))
    given: list[str] = []
    for one in other.params:
        if one in joints:
            given.append(_whole(graph, joints[one]).name)
            continue
        node = other.find_node(one)
        name = names.fresh(one) if graph.has_node(one) else one
        given.append(name)
        added = Renaming({one: name}, {}).node(node)
        added, prims = _own_prims(added, other, edit.graph)
        edit.graph = dataclasses.replace(
            edit.graph, nodes=(*edit.graph.nodes, added), params=(*edit.graph.params, name), prims=prims
        )
    last = graph.find_node(graph.result)
    result = edit.take_in(Part(other, other_weights, tuple(given)), last)
    edit.graph = dataclasses.replace(edit.graph, result=result)
    return edit.finished(graph, _new(graph, edit))


def _own_prims(node: MSCJoint, other: MSCGraph, graph: MSCGraph) -> tuple[MSCJoint, tuple[MSCPrim, ...]]:
    """Return an input of another graph with extents of its own, and the prims with these."""
    prims = list(graph.prims)
    taken = {prim.name for prim in prims}
    names: dict[str, str] = {}
    for name in dict.fromkeys(prim for tensor in node.outputs for prim in tensor.prims if not prim.isdigit()):
        candidates = chain((name,), (f"{name}_{number}" for number in count(1)))
        names[name] = next(one for one in candidates if one not in taken)
        taken.add(names[name])
        prims.append(MSCPrim(names[name], "shape", (), other.find_prim(name).attrs))
    outputs = (
        dataclasses.replace(one, prims=tuple(names.get(prim, prim) for prim in one.prims)) for one in node.outputs
    )
    return dataclasses.replace(node, outputs=tuple(outputs)), tuple(prims)


def _new(graph: MSCGraph, edit: Edit) -> list[str]:
    """Return the nodes that an edit has added."""
    inputs = (NodeKind.INPUT, NodeKind.CONSTANT)
    return [node.name for node in edit.graph.nodes if not graph.has_node(node.name) and node.kind not in inputs]


def _whole(graph: MSCGraph, tensor: str) -> MSCJoint:
    """Return the node that gives a tensor, and no other."""
    node = graph.find_producer(tensor)
    if len(node.outputs) != 1 or graph.find_tensor(tensor) not in node.outputs:
        raise GraphError(f"the tensor {tensor!r} of {graph.name!r} is not the one result of a node")
    return node


def _parameter(node: MSCJoint, is_relax: bool) -> MSCJoint:
    """Return a node as a parameter; one that is a parameter stays as it is."""
    if isinstance(node.attrs, InputAttrs) and node.kind is NodeKind.INPUT:
        return dataclasses.replace(node, attrs=dataclasses.replace(node.attrs, captured=False))
    (tensor,) = node.outputs
    shape = tuple(ANY if extent < 0 else extent for extent in tensor.shape)
    annotation = None if is_relax else TensorType(shape, tensor.dtype)
    alias = tensor.alias or node.name
    return MSCJoint(
        0, node.name, NodeKind.INPUT, "", (), (), (dataclasses.replace(tensor, alias=alias),), {},
        InputAttrs(node.name, annotation), span=node.span, info=node.info,
    )  # fmt: skip


def _tuple(graph: MSCGraph, fields: Sequence[str]) -> MSCJoint:
    """Return a tuple of what nodes give."""
    name = Names((graph,)).fresh("tuple")
    given = [tensor for one in fields for tensor in graph.find_node(one).outputs]
    outputs = tuple(
        MSCTensor(f"{name}:{place}", one.dtype, one.shape, one.layout, one.prims) for place, one in enumerate(given)
    )
    inputs = tuple(one.name for one in given)
    return MSCJoint(len(graph), name, NodeKind.TUPLE, "", tuple(fields), inputs, outputs, {}, NoAttrs(), ("block",))
