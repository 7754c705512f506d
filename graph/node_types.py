"""Relay's types of what nodes give, where tensors alone do not tell tuples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from relay2relax.graph.extents import Extents
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import NO_TENSORS, GetItemAttrs, MSCGraph, MSCJoint, MSCTensor, RelaxAttrs
from relay2relax.graph.records import record_of
from relay2relax.graph.shapes import leaves
from relay2relax.ops.registry.record import OpError
from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.tir.extent import is_symbolic


@dataclass(slots=True, eq=False)
class NodeTypes:
    """The types of the nodes of a Relay graph that were asked for so far, by name: operands come
    first.
    """

    graph: MSCGraph
    extents: Extents
    known: dict[str, Type] = field(default_factory=dict)

    def arguments(self, node: MSCJoint) -> tuple[Type, ...]:
        """Return the types of what a node takes, held weights among them."""
        held = {tensor.name: tensor for tensor in node.weights.values()}
        return tuple(self.tensor(held[one]) if one in held else self.known[one] for one in node.operands)

    def of(self, node: MSCJoint) -> Type:
        """Return the type of what a node gives, with the extents that its tensors have."""
        found = self.known.get(node.name)
        if found is None:
            found = self.known[node.name] = self._of(node)
        return found

    def _of(self, node: MSCJoint) -> Type:
        match node.kind, node.attrs:
            case NodeKind.TUPLE, _:
                return TupleType(self.arguments(node))
            case NodeKind.GET_ITEM, GetItemAttrs(index):
                whole = self.known[node.operands[0]]
                if isinstance(whole, TupleType):
                    return whole.fields[index]
            case NodeKind.OPERATOR, attrs if not isinstance(attrs, RelaxAttrs):
                found = self.inferred(node)
                if found is not None:
                    leaves = iter(node.outputs)
                    return self._with_extents(found, leaves)
        tensors = tuple(self.tensor(one) for one in node.outputs if one.dtype not in NO_TENSORS)
        return tensors[0] if len(tensors) == 1 else TupleType(tensors)

    def inferred(self, node: MSCJoint) -> Type | None:
        """Return what the rule of a node's operator says, None where it says nothing."""
        record = record_of(node)
        if record is None:
            return None
        args = self.arguments(node)
        if record.passes_through:
            return args[0]
        try:
            return record.infer(node.attrs, *args)
        except OpError:
            # Relay proved the call legal without knowing the extents.
            return None

    def require(self, node: MSCJoint) -> Type:
        """Return what the rule of a node's operator says, or that it gives what it gave where the
        rule cannot prove more of open extents; raises OpError where the operator refuses its
        operands.
        """
        found = self.inferred(node)
        if found is None:
            record, args = record_of(node), self.arguments(node)
            if record is not None and not any(is_symbolic(one) for arg in args for t in leaves(arg) for one in t.shape):
                return record.infer(node.attrs, *args)
            return self.of(node)
        return found

    def _with_extents(self, found: Type, leaves: Iterator[MSCTensor]) -> Type:
        match found:
            case TensorType():
                tensor = next(leaves, None)
                return found if tensor is None else self.tensor(tensor)
            case TupleType(fields):
                return TupleType(tuple(self._with_extents(one, leaves) for one in fields))
        return found

    def tensor(self, tensor: MSCTensor) -> TensorType:
        """Return the type of a tensor."""
        return TensorType(self.extents.of(tensor), tensor.dtype)


def types_of(graph: MSCGraph, given: Mapping[str, int] | None = None) -> NodeTypes:
    """Return the types of all nodes; ``given`` are numbers for symbolic extents."""
    found = NodeTypes(graph, Extents(graph, given))
    for node in graph.nodes:
        found.of(node)
    return found
