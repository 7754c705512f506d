"""The walk over the nodes of a graph; branches and clauses are walks of their own."""

from __future__ import annotations

from collections.abc import Sequence

from relay2relax.core.errors import UnsupportedError
from relay2relax.core.errors.table import translating
from relay2relax.core.limits import check
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import MatchAttrs, MSCJoint
from relay2relax.graph.relax.branches import Pair, assertion, differing, merged
from relay2relax.graph.relax.calls import called
from relay2relax.graph.relax.frames import Frame, ended
from relay2relax.graph.relax.nodes import value_of
from relay2relax.graph.relax.translation import Translation
from relay2relax.graph.relax.values import Value, bindings, is_known, what
from relay2relax.ops.registry.record import OpError
from relay2relax.relax_ir import Expr as RelaxExpr
from relay2relax.relax_ir import If, Tuple, Var
from relay2relax.relax_ir.inference.infer import StructInfoError
from relay2relax.relax_ir.ir.expr import SeqExpr
from relay2relax.relax_ir.ir.visit import Steps


def walked(export: Translation, frame: Frame) -> Steps:
    """Emit the nodes of a graph in order; graphs inside it are walks of their own."""
    if export.trace is not None:
        export.trace.given(frame.values)
    for node in frame.graph.nodes:
        check()
        if node.name in frame.values:
            continue
        if export.problems.unknown and export.problems.unknown.intersection(values_of_operands(export, frame, node)):
            # It may be wrong because of what it is made of.
            frame.values[node.name] = export.problems.stand_in(node, known=node.kind is NodeKind.OPERATOR)
            continue
        yield from attempted(export, frame, node)
        if frame.failure:
            return


def attempted(export: Translation, frame: Frame, node: MSCJoint) -> Steps:
    """Emit a node; one that is refused is stood in for.

    In a function that calls itself and is unrolled, what is refused depends on how often: the
    call from outside is stood in for. Relax's type rules refuse some of what Relay's accept:
    tensors to be stacked that differ.
    """
    if export.trace is not None:
        export.trace.begin(node.name)
    try:
        yield from emitted(export, frame, node)
    except (UnsupportedError, StructInfoError, OpError) as error:
        if frame.unrolled:
            raise
        export.problems.add(node.name, error)
        known = all(one.kind is not translating.UNLIKE_ARMS for one in error.diagnostics)
        frame.values[node.name] = export.problems.stand_in(node, known)
    if export.trace is not None:
        export.trace.end(frame.values.get(node.name))


def emitted(export: Translation, frame: Frame, node: MSCJoint) -> Steps:
    """Emit a node by its kind."""
    if node.kind is NodeKind.CALL:
        yield from called(export, frame, node)
    elif node.kind is NodeKind.IF:
        yield from branched(export, frame, node)
    elif node.kind is NodeKind.MATCH:
        yield from matched(export, frame, node)
    else:
        frame.values[node.name] = value_of(export, frame, node)


def values_of_operands(export: Translation, frame: Frame, node: MSCJoint) -> set[RelaxExpr]:
    """Return the values of what a node is made of, those that are Relax's."""
    found = (frame.values.get(name) for name in (*node.operands, *node.captured))
    return {one for one in found if isinstance(one, Var)}


def branched(export: Translation, frame: Frame, node: MSCJoint) -> Steps:
    """Emit a branch; in an unrolled recursion whose condition is known, the arm that is taken."""
    condition = export.as_relax(node, export.operand(frame, node, node.operands[0]))
    bodies = export.bodies(frame, node)
    known = export.array(condition) if frame.unrolled else None
    if known is not None:
        taken = bodies[0] if known else bodies[1]
        yield walked(export, taken)
        ended(frame, node, taken)
        return
    arms: list[SeqExpr] = []
    for inner in bodies:
        inner.region, inner.arm = object(), True
        if frame.unrolled:
            inner.choice = frame.choice or (node.operands[0], condition)
        export.builder.begin_sequence()
        yield walked(export, inner)
        no_value = inner.failure or is_known(inner.result)
        arms.append(export.builder.end_sequence(Tuple(()) if no_value else export.as_relax(node, inner.result)))
    then, otherwise = bodies
    if then.failure or otherwise.failure:
        ends_in_an_arm(export, frame, node, condition, arms, bodies)
    elif is_known(then.result) or is_known(otherwise.result):
        frame.values[node.name] = joined(export, node, condition, arms, (then.result, otherwise.result))
    else:
        frame.values[node.name] = export.settled(frame, node, export.builder.emit(If(condition, *arms)))


def ends_in_an_arm(
    export: Translation,
    frame: Frame,
    node: MSCJoint,
    condition: RelaxExpr,
    arms: Sequence[SeqExpr],
    bodies: Sequence[Frame],
) -> None:
    """Emit the arm of a branch that has a result; the program ends where the other is taken."""
    lasting = next((at for at, inner in enumerate(bodies) if not inner.failure), None)
    export.effects = True
    if lasting is None:
        export.fails(frame, node, bodies[0].failure)
        return
    if lasting == 1:
        condition = export.emitter.call("logical_not", condition)
    export.builder.emit(assertion(condition, bodies[1 - lasting].failure), "_")
    export.builder.normalize(arms[lasting])
    frame.values[node.name] = bodies[lasting].result


def joined(export: Translation, node: MSCJoint, condition: RelaxExpr, arms: Sequence[SeqExpr], results: Pair) -> Value:
    """Emit a branch whose arms give values that are known beforehand, of one form."""
    pairs = differing(results, node.name)
    then, otherwise = (SeqExpr(arm.blocks, Tuple(tuple(pair[at] for pair in pairs))) for at, arm in enumerate(arms))
    value = export.builder.emit(If(condition, then, otherwise))
    return merged(
        results, {pair: export.emitter.known(export.emitter.item(value, at)) for at, pair in enumerate(pairs)}
    )


def matched(export: Translation, frame: Frame, node: MSCJoint) -> Steps:
    """Emit the first clause that matches: what the data are is known beforehand."""
    assert isinstance(node.attrs, MatchAttrs)
    data = export.operand(frame, node, node.operands[0])
    for pattern, inner in zip(node.attrs.patterns, export.bodies(frame, node), strict=True):
        found = bindings(pattern, data, export.project)
        if found is not None:
            inner.values.update(zip(inner.graph.params, found, strict=True))
            yield walked(export, inner)
            ended(frame, node, inner)
            return
    export.fails(frame, node, f"node {node.name!r}: no clause matches {what(data)}")
