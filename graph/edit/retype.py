"""The types of nodes anew, where what they are computed of has another type."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from relay2relax.core.errors import Relay2RelaxError
from relay2relax.graph.extents import Extents
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import GraphError, MSCGraph, MSCJoint, MSCTensor, RelaxAttrs
from relay2relax.graph.node_types import NodeTypes
from relay2relax.graph.relax.importer import leaves_of, tensors_of
from relay2relax.graph.shapes import PrimTable, leaves
from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.relax_ir.inference.infer import Inference
from relay2relax.relax_ir.ir.expr import Expr as RelaxExpr
from relay2relax.relax_ir.ir.expr import IRModule
from relay2relax.relax_ir.ir.expr import Var as RelaxVar
from relay2relax.relax_ir.ir.struct_info import TensorStructInfo
from relay2relax.relax_ir.ir.visit import with_values
from relay2relax.tir.extent import is_any
from relay2relax.tir.ir.expr import PrimExpr, Var


def retyped(graph: MSCGraph, stale: Collection[str], before: Mapping[str, Sequence[MSCTensor]]) -> MSCGraph:
    """Return the graph with the types of ``stale`` nodes, and of what follows from them.

    ``before`` are tensors in whose place those of a node stand now. Raises GraphError where types
    do not fit an operator, or a node that holds graphs would take other types.
    """
    types: _RelaxTypes | _RelayTypes = _RelaxTypes(graph, stale) if graph.is_relax else _RelayTypes(graph)
    changed: set[str] = set()
    nodes: list[MSCJoint] = []
    tensors: dict[str, tuple[MSCTensor, ...]] = {}
    for node in graph.nodes:
        follows = changed.intersection(node.parents)
        if follows and (node.bodies or node.kind is NodeKind.CALL):
            raise GraphError(f"node {node.name!r} holds or calls graphs, which would take other types")
        try:
            made = types.again(node) if node.name in stale or follows else node
        except Relay2RelaxError as error:
            raise GraphError(f"node {node.name!r}: {error.diagnostics[0].title}") from error
        if list(map(_type, made.outputs)) != list(map(_type, before.get(node.name, node.outputs))):
            changed.add(node.name)
        held = {tensor.name for tensor in made.weights.values()}
        given = tuple(t.name for name in made.operands if name not in held for t in tensors.get(name, ()))
        tensors[node.name] = made.outputs
        types.note(made)
        nodes.append(made if made.inputs == given else replace(made, inputs=given))
    signature = graph.signature
    if changed:
        ret = nodes[[node.name for node in nodes].index(graph.result)].info if graph.is_relax else None
        signature = replace(signature, inferred=None, ret_type=None, ret=ret)
    used = {prim for node in nodes for one in (*node.outputs, *node.weights.values()) for prim in one.prims}
    return replace(graph, nodes=tuple(nodes), prims=types.table.needed(used), signature=signature)


def _type(tensor: MSCTensor) -> tuple[object, ...]:
    return tensor.dtype, tensor.shape, tensor.prims


class _RelayTypes:
    """Types of Relay nodes; what nobody knows of an extent is a new one."""

    def __init__(self, graph: MSCGraph) -> None:
        extents = Extents(graph)
        known = {extent: prim.name for prim in graph.prims if not isinstance(extent := extents.prim(prim.name), int)}
        self.table = PrimTable(graph.prims, known)
        self.types = NodeTypes(graph, extents)

    def note(self, node: MSCJoint) -> None:
        self.types.of(node)

    def again(self, node: MSCJoint) -> MSCJoint:
        """Return a node with the types that its operands give it."""
        if node.kind is NodeKind.OPERATOR:
            found = self.types.require(node)
        elif node.kind in (NodeKind.TUPLE, NodeKind.GET_ITEM):
            found = self.types.of(node)
        else:
            return node
        found = _named(found, node.name)
        self.types.known[node.name] = found
        old, count = node.outputs, 0
        made: list[MSCTensor] = []
        for count, leaf in enumerate(leaves(found)):
            alias = old[count].alias if count < len(old) else ""
            made.append(self.table.tensor(f"{node.name}:{count}", leaf, node.name, count, alias))
        return replace(node, outputs=tuple(made))


def _named(found: Type, hint: str) -> Type:
    """Return a type with a variable for each extent of which nothing is known."""
    match found:
        case TensorType(shape, dtype):
            named = (Var(f"{hint}_d{dim}", "int64") if is_any(one) else one for dim, one in enumerate(shape))
            return TensorType(tuple(named), dtype)
        case TupleType(fields):
            return TupleType(tuple(_named(one, hint) for one in fields))
    return found


class _RelaxTypes:
    """Struct info of Relax nodes; that of ``stale`` ones names no extents of the graph."""

    def __init__(self, graph: MSCGraph, stale: Collection[str]) -> None:
        known: dict[PrimExpr, str] = {}
        for node in (one for one in graph.nodes if one.name not in stale):
            for info, tensor in zip(leaves_of(node.info) if node.info else (), node.outputs, strict=False):
                shape = info.shape if isinstance(info, TensorStructInfo) else getattr(info, "values", None)
                pairs = zip(shape or (), tensor.prims, strict=False)
                known.update((extent, prim) for extent, prim in pairs if isinstance(extent, PrimExpr))
        self.table = PrimTable(graph.prims, known)
        self.values: dict[str, RelaxExpr] = {}

    def note(self, node: MSCJoint) -> None:
        if node.info is not None:
            self.values[node.name] = RelaxVar(node.name, node.info, node.dataflow)

    def again(self, node: MSCJoint) -> MSCJoint:
        """Return a node with the struct info that its operands give it."""
        if not isinstance(node.attrs, RelaxAttrs):
            return node
        value = with_values(node.attrs.value, [self.values[name] for name in node.operands])
        info = node.attrs.cast or Inference(IRModule({})).of(value)
        alias = any(one.alias for one in node.outputs)
        outputs = tensors_of(self.table, info, node.name, alias)
        return replace(node, attrs=replace(node.attrs, value=value), info=info, outputs=outputs)
