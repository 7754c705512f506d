"""What a page shows of one program: a graph in groups and layers, texts, what is known of nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from relay2relax import relay_ir
from relay2relax.core.dtype import Array
from relay2relax.graph.model import MSCGraph
from relay2relax.viewer.drawing import Drawing
from relay2relax.viewer.grouping import Grouping
from relay2relax.viewer.layering import Layers


@dataclass(frozen=True, slots=True)
class Text:
    """A program beside the graph.

    ``lines`` says of boxes on which lines (from 0) they stand.
    """

    key: str
    title: str
    text: str
    lines: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Overlay:
    """What nodes are coloured by: a number or a word for each, None where there is none.

    ``unit`` is that of the numbers, or "" for words. ``logarithmic`` numbers span many orders of
    magnitude. A group shows those of its nodes ``summed`` up, or the largest.
    """

    key: str
    title: str
    unit: str
    values: Sequence[float | str | None]
    logarithmic: bool = False
    note: str = ""
    summed: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence about the whole, with the boxes that it is about."""

    title: str
    text: str
    boxes: tuple[int, ...] = ()


@dataclass(slots=True, eq=False)
class Subject:
    """One side of a page."""

    title: str
    graph: MSCGraph
    drawing: Drawing
    weights: Mapping[str, Array]
    groupings: list[tuple[Grouping, list[Layers]]]
    texts: list[Text] = field(default_factory=list)
    overlays: list[Overlay] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    # Of boxes: what became of what they say.
    receipt: dict[int, list[str]] = field(default_factory=dict)
    # Of boxes: what is another thing in the graph beside this one.
    changes: dict[int, list[str]] = field(default_factory=dict)
    # Boxes of the expressions of the Relay module that was translated.
    of: Mapping[relay_ir.Expr, int] = field(default_factory=dict)
