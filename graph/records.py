"""What operators' records say of nodes."""

from __future__ import annotations

from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import MSCGraph, MSCJoint, RelaxAttrs
from relay2relax.ops.registry.record import OpDef
from relay2relax.ops.registry.table import relay_op
from relay2relax.relax_ir.ir.expr import Call
from relay2relax.relay_ir.io.roles import LEARNED


def record_of(node: MSCJoint) -> OpDef | None:
    """Return the record of the operator that a node calls, None where it calls none that has
    one.
    """
    match node.attrs:
        case RelaxAttrs(Call(OpDef() as record)):
            return record
        case RelaxAttrs():
            return None
    return relay_op(node.op) if node.kind is NodeKind.OPERATOR else None


def learned_inputs(graph: MSCGraph) -> frozenset[str]:
    """Return the parameters that are weights: those that stand only where operators take learned
    values, and what a Relax program says is no input (``num_input``).
    """
    elsewhere, used = {graph.result}, set[str]()
    for node in graph.nodes:
        record = record_of(node)
        roles = record.inputs if record is not None and len(record.inputs) == len(node.operands) else ()
        learned = {name for name, role in zip(node.operands, roles, strict=False) if role in LEARNED}
        used |= learned
        elsewhere.update(name for name in node.operands if name not in learned)
    count = graph.signature.attrs.get("num_input")
    later = graph.params[count:] if graph.is_relax and isinstance(count, int) else ()
    return frozenset((*later, *(name for name in graph.params if name in used and name not in elsewhere)))
