"""What each node costs: arithmetic, and bytes that are read and written.

Arithmetic is counted in the loops of the tensor program that the operator's record defines, so no
operator needs a word about it here.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from relay2relax.core.dtype import bits
from relay2relax.core.errors import Relay2RelaxError, UnsupportedError
from relay2relax.core.walk import post_order
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import (
    FusedAttrs,
    MSCGraph,
    MSCJoint,
    RelaxAttrs,
)
from relay2relax.graph.node_types import NodeTypes, types_of
from relay2relax.graph.queries.callees import callee_of
from relay2relax.graph.records import record_of
from relay2relax.graph.relax.functions import called_functions, graphs_inside
from relay2relax.ops.registry.lower import lower_call, unknown_extents
from relay2relax.ops.registry.record import OpDef
from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.relax_ir.analysis.calls import extents_of_call
from relay2relax.relax_ir.inference.infer import Inference, argument_type
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.expr import CallTIR, IRModule
from relay2relax.relax_ir.ir.expr import Expr as RelaxExpr
from relay2relax.relax_ir.ir.struct_info import ShapeStructInfo, StructInfo
from relay2relax.relax_ir.ir.visit import operands
from relay2relax.tir.cost import arithmetic
from relay2relax.tir.extent import Extent, Shape, add, product, static, total

# Nodes that compute nothing, and move nothing.
_FREE = frozenset({NodeKind.INPUT, NodeKind.CONSTANT, NodeKind.TUPLE, NodeKind.GET_ITEM, NodeKind.GLOBAL,
    NodeKind.CONSTRUCTOR, NodeKind.BIND, NodeKind.LET, NodeKind.FUNCTION, NodeKind.IDENTITY, NodeKind.MATCH_CAST,
    NodeKind.SHAPE, NodeKind.PRIM_VALUE, NodeKind.STRING})  # fmt: skip
_HOLDING = frozenset({NodeKind.IF, NodeKind.MATCH, NodeKind.FUSED})


@dataclass(frozen=True, slots=True)
class NodeCost:
    """What evaluating a node once costs, as numbers or as expressions over symbolic extents.

    ``multiply_adds`` are products that are added up, ``operations`` all arithmetic on floats (a
    multiply-add is two), ``bytes`` the tensors that are read and written, each once.
    """

    multiply_adds: Extent = 0
    operations: Extent = 0
    bytes: Extent = 0

    @property
    def intensity(self) -> float | None:
        """Operations per byte; None where an extent is open, or no byte is moved."""
        operations, moved = static(self.operations), static(self.bytes)
        return operations / moved if operations is not None and moved else None

    def plus(self, other: NodeCost) -> NodeCost:
        """Return the cost of both."""
        return NodeCost(
            add(self.multiply_adds, other.multiply_adds),
            add(self.operations, other.operations),
            add(self.bytes, other.bytes),
        )


def costs(graph: MSCGraph, extents: Mapping[str, int] | None = None) -> dict[str, NodeCost | None]:
    """Return what each node costs, by name, in the order of the graph.

    ``extents`` are numbers for symbolic extents, by their names. A node that holds graphs costs
    what these do, both branches of an ``if`` together; a fused one what its parts do, and a call
    what its function does. A cost is None where it is not known: of recursion, and of what only a
    library computes. Raises GraphError where ``extents`` do not fit.
    """
    return costs_of_parts(graph, extents)[graph]


def costs_of_parts(
    graph: MSCGraph, extents: Mapping[str, int] | None = None
) -> dict[MSCGraph, dict[str, NodeCost | None]]:
    """Do what :func:`costs` does for the graph, those inside of it, and the module's functions."""
    functions = {graph.name: graph, **graph.functions}
    called = {name: called_functions(one) for name, one in functions.items()}
    known: dict[MSCGraph, dict[str, NodeCost | None]] = {}
    programs: dict[Hashable, NodeCost | None] = {}
    # Graphs within come before the nodes that hold them, functions before their calls.
    for name in post_order(functions, lambda name: [one for one in called[name] if one in functions]):
        for part in reversed(list(graphs_inside(functions[name]))):
            given = extents if part is graph else _within(part, extents or {})
            known[part] = _Costs(part, types_of(part, given), graph, known, programs).of_nodes()
    return known


def _within(part: MSCGraph, extents: Mapping[str, int]) -> dict[str, int]:
    """Return those of ``extents`` that a graph within another one has."""
    names = {prim.name for prim in part.prims}
    return {name: number for name, number in extents.items() if name in names}


@dataclass(slots=True, eq=False)
class _Costs:
    """The costs of one graph: ``known`` are those of graphs inside, ``programs`` of equal calls."""

    graph: MSCGraph
    types: NodeTypes
    main: MSCGraph
    known: Mapping[MSCGraph, Mapping[str, NodeCost | None]]
    programs: dict[Hashable, NodeCost | None]

    def of_nodes(self) -> dict[str, NodeCost | None]:
        return {node.name: self.of(node) for node in self.graph.nodes}

    def of(self, node: MSCJoint) -> NodeCost | None:
        if node.kind in _FREE:
            return NodeCost()
        if node.kind in _HOLDING:
            return self.of_graphs(node, node.bodies)
        if node.kind is NodeKind.CALL:
            callee = callee_of(self.graph, node, self.main)
            # Extents of a function of Relax have names of its own.
            if callee is None or (isinstance(node.attrs, RelaxAttrs) and _is_open(callee)):
                return None
            return self.of_graphs(node, (callee,))
        try:
            if isinstance(node.attrs, RelaxAttrs):
                return self.of_relax(node, node.attrs.value)
            return self.of_relay(node)
        except Relay2RelaxError:
            # Nothing is known of what has no tensor program.
            return None

    def of_graphs(self, node: MSCJoint, bodies: Sequence[MSCGraph]) -> NodeCost | None:
        total_cost = NodeCost()
        for body in bodies:
            # A function that is not known yet calls itself, by way of this node.
            for cost in self.known.get(body, {"": None}).values():
                if cost is None:
                    return None
                total_cost = total_cost.plus(cost)
        if isinstance(node.attrs, FusedAttrs):
            # What goes from part to part is not written.
            held = [self.types.tensor(one) for one in node.weights.values()]
            given = [self.types.known[name] for name in node.operands]
            moved = total(map(_bytes, [*given, *held, self.types.known[node.name]]))
            return NodeCost(total_cost.multiply_adds, total_cost.operations, moved)
        return total_cost

    def of_relay(self, node: MSCJoint) -> NodeCost | None:
        record = record_of(node)
        if record is None:
            return None
        if record.passes_through:
            return NodeCost()
        return self.call(record, node.attrs, self.types.arguments(node), self.types.known[node.name])

    def of_relax(self, node: MSCJoint, value: RelaxExpr) -> NodeCost | None:
        if isinstance(value, CallTIR):
            return self.of_program(node, value)
        record = record_of(node)
        if record is None:
            return None
        args = tuple(map(_argument, operands(value)))
        if record.passes_through:
            return NodeCost()
        if record.builtin or node.info is None:
            return None
        return self.call(record, getattr(value, "attrs", None), args, _type(node.info))

    def of_program(self, node: MSCJoint, call: CallTIR) -> NodeCost | None:
        func = self.main.prim_funcs.get(call.func.name)
        if func is None:
            return None
        if func not in self.programs:
            done = arithmetic(func)
            self.programs[func] = NodeCost(done.multiply_adds, done.operations)
        known, values = self.programs[func], extents_of_call(func, call)
        assert known is not None
        types = [one for arg in call.args if not isinstance(one := _argument(arg), tuple)]
        return NodeCost(
            symbols.substitute_extent(known.multiply_adds, values),
            symbols.substitute_extent(known.operations, values),
            total(map(_bytes, [*types, *map(_type, call.out)])),
        )

    def call(self, record: OpDef, attrs: object, args: Sequence[Type | Shape], out: Type) -> NodeCost | None:
        """Return what a call of an operator costs; equal calls are looked at once."""
        key = (record, attrs, args, out)
        if key not in self.programs:
            self.programs[key] = None
            if not unknown_extents(out):
                done = arithmetic(lower_call(record, attrs, args, out, "call"))
                moved = [*(one for one in args if not isinstance(one, tuple)), out]
                self.programs[key] = NodeCost(done.multiply_adds, done.operations, total(map(_bytes, moved)))
        return self.programs[key]


def _is_open(graph: MSCGraph) -> bool:
    return any(prim.optype != "Int" for prim in graph.prims)


def _argument(value: RelaxExpr) -> Type | Shape:
    """Return what operators know of an argument; raises UnsupportedError for too little."""
    info = Inference(IRModule({})).of(value)
    return info.values if isinstance(info, ShapeStructInfo) and info.values is not None else _type(info)


def _type(info: StructInfo) -> Type:
    try:
        found = argument_type(info)
    except TypeError as error:
        raise UnsupportedError(str(error)) from error
    if isinstance(found, tuple):
        raise UnsupportedError("the extents of a shape are not known")
    return found


def _bytes(type_: Type) -> Extent:
    match type_:
        case TensorType(shape, dtype):
            return product(((bits(dtype) + 7) // 8, *shape))
        case TupleType(fields):
            return total(map(_bytes, fields))
    return 0
