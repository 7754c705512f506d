"""What nodes cost, and which memory is alive at each."""

from __future__ import annotations

from relay2relax.core.errors import Relay2RelaxError
from relay2relax.graph.model import GraphError
from relay2relax.graph.queries.costs import costs_of_parts
from relay2relax.graph.queries.memory import memory, peak
from relay2relax.tir.extent import static
from relay2relax.viewer.model import Finding, Overlay, Subject


def add_costs(subject: Subject) -> None:
    """Say of each box how much arithmetic it is and how many bytes it moves, and which memory is
    alive at it; where extents are open, as far as they are not.
    """
    boxes = subject.drawing.boxes
    operations: list[float | None] = [None] * len(boxes)
    moved: list[float | None] = [None] * len(boxes)
    intensity: list[float | None] = [None] * len(boxes)
    try:
        parts = costs_of_parts(subject.graph)
    except Relay2RelaxError as error:
        subject.findings.append(Finding("Costs", f"not counted: {error.diagnostics[0].title}"))
        parts = {}
    for number, box in enumerate(boxes):
        cost = parts.get(box.graph, {}).get(box.node.name)
        if cost is not None:
            operations[number], moved[number] = static(cost.operations), static(cost.bytes)
            intensity[number] = cost.intensity
    subject.overlays += [
        Overlay("operations", "Operations", "op", operations, summed=True, note="on floats; a multiply-add is two"),
        Overlay("bytes", "Bytes moved", "B", moved, summed=True, note="read and written, each once"),
        Overlay("intensity", "Operations per byte", "op/B", intensity),
    ]
    _memory(subject)


def _memory(subject: Subject) -> None:
    try:
        steps = memory(subject.graph)
    except GraphError:
        subject.findings.append(Finding("Memory", "not known: extents are open; --dims fixes them"))
        return
    alive: list[float | None] = [None] * len(subject.drawing.boxes)
    for step in steps:
        box = subject.drawing.of.get(step.node)
        if box is not None and subject.drawing.boxes[box].node.name == step.node:
            alive[box] = step.bytes
    subject.overlays.append(Overlay("memory", "Memory alive", "B", alive, note="with parameters; nothing is fused"))
    if steps:
        top = peak(steps)
        said = f"{top.bytes:,} bytes are alive at most, with parameters and nothing fused; first at this node"
        subject.findings.append(Finding("Memory peak", said, (subject.drawing.of[top.node],)))
