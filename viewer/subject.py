"""Gathers what a page shows of a Relay module, a Relax module or a graph."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from relay2relax import graph, relax_ir, relay_ir
from relay2relax.core.amounts import counted
from relay2relax.core.dtype import Array
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.graph.model import InputAttrs, MSCGraph
from relay2relax.translator import Dims, Fate, Map, Traced, translate_with_map
from relay2relax.viewer.costs import add_costs
from relay2relax.viewer.drawing import Drawing, drawing_of
from relay2relax.viewer.grouping import groupings_of
from relay2relax.viewer.kernels import kernels_text
from relay2relax.viewer.layering import layers_of
from relay2relax.viewer.model import Finding, Overlay, Subject, Text

# Text in which no printed program has a line of its own: the number of a row of the map.
_MARK = re.compile(r"/\*@(\d+)@\*/")
_FUNCTION = re.compile(r"\s+def (\w+)\(")
_BINDING = re.compile(r"\s+(\w+)(?:: .*?)? = ")


def graph_subject(found: MSCGraph, weights: Mapping[str, Array], title: str) -> Subject:
    """Return what there is to show of a graph alone."""
    drawing = drawing_of(found)
    count = len(drawing.boxes)
    groupings = [(one, layers_of(one, drawing.edges, count)) for one in groupings_of(drawing, found, weights)]
    subject = Subject(title, found, drawing, weights, groupings)
    kinds = [box.node.outputs[0].dtype if box.node.outputs else None for box in drawing.boxes]
    subject.overlays.append(Overlay("dtype", "Data type", "", kinds))
    add_costs(subject)
    return subject


def relax_subject(mod: relax_ir.IRModule, title: str, entry: str, params: Mapping[str, Array] | None = None) -> Subject:
    """Return what there is to show of a Relax module."""
    found, weights = graph.from_relax(mod, params, entry)
    subject = graph_subject(found, {**(params or {}), **weights}, title)
    script = mod.script()
    places = _script_lines(script)
    lines = []
    for name, box in subject.drawing.of.items():
        line = places.get((entry, name))
        if line is not None:
            lines.append((box, line))
    subject.texts.append(Text("relax", "Relax", script, tuple(lines)))
    return subject


def relay_subject(
    mod: relay_ir.IRModule, title: str, params: Mapping[str, Array] | None = None, dims: Dims | None = None
) -> Subject:
    """Return what there is to show of a Relay module: its graph, its text, both translations, and
    what became of what.

    ``params`` are values by name; they are shown, and not bound. What cannot be translated has no
    Relax text, and the findings say why.
    """
    try:
        traced = translate_with_map(mod, "graph", dims=dims)
    except Relay2RelaxError as error:
        found, weights = graph.from_relay(mod, dims=dims)
        subject = graph_subject(found, {**(params or {}), **weights}, title)
        said = "; ".join(one.title for one in error.diagnostics)
        subject.findings.append(Finding("Not translated", said))
        return subject
    _, weights = graph.from_relay(mod, dims=dims)
    subject = graph_subject(traced.graph, {**weights, **_by_node(traced.graph, params or {})}, title)
    rows = _boxes_of_rows(traced.map, subject.drawing)
    subject.of = dict(zip(traced.expressions, rows, strict=True))
    subject.of = {expr: box for expr, box in subject.of.items() if box >= 0}
    subject.texts.append(_relay_text(mod, traced, rows))
    subject.texts.append(_relax_text("relax", "Relax", traced, subject.drawing))
    lowered = translate_with_map(mod, "tir", dims=dims)
    subject.texts.append(_relax_text("tir", "Relax, lowered", lowered, subject.drawing))
    _forms(subject, traced)
    _receipt(subject, traced.map, rows)
    kernels = kernels_text(lowered, subject.drawing)
    if kernels is not None:
        subject.texts.append(kernels)
    return subject


def _by_node(found: MSCGraph, params: Mapping[str, Array]) -> dict[str, Array]:
    """Return values of parameters by the names of their nodes."""
    attributes = {name: found.find_node(name).attrs for name in found.params}
    hints = {one.hint: name for name, one in attributes.items() if isinstance(one, InputAttrs)}
    return {hints[name]: value for name, value in params.items() if name in hints}


def _boxes_of_rows(made: Map, drawing: Drawing) -> list[int]:
    """Return the box of each row of the map, -1 where none stands for it."""
    return [
        next((drawing.of[made.graph[one].name] for one in row.graph if made.graph[one].name in drawing.of), -1)
        if row.kind != "Function"
        else -1
        for row in made.relay
    ]


def _relay_text(mod: relay_ir.IRModule, traced: Traced, rows: Sequence[int]) -> Text:
    """Return the text that was read, or else the program as it is printed, with its lines."""
    if mod.source is not None and any(row.text is not None for row in traced.map.relay):
        lines = [
            (box, row.text.line - 1)
            for row, box in zip(traced.map.relay, rows, strict=True)
            if row.text is not None and box >= 0 and row.text.name == mod.source.name
        ]
        return Text("relay", "Relay", mod.source.text, tuple(dict.fromkeys(lines)))
    numbers = {expr: box for expr, box in zip(traced.expressions, rows, strict=True) if box >= 0}

    def annotate(expr: relay_ir.Expr) -> str:
        return f"/*@{numbers[expr]}@*/" if expr in numbers else ""

    printed = mod.astext(show_meta_data=False, annotate=annotate)
    found = []
    for number, line in enumerate(printed.split("\n")):
        found += [(int(one), number) for one in _MARK.findall(line)]
    return Text("relay", "Relay", _MARK.sub("", printed), tuple(dict.fromkeys(found)))


def _relax_text(key: str, title: str, traced: Traced, drawing: Drawing) -> Text:
    """Return the script of a translation; a box stands where its bindings and PrimFuncs do."""
    script = traced.module.script()
    places = _script_lines(script)
    lines: dict[tuple[int, int], None] = {}
    for node in traced.map.graph:
        box = drawing.of.get(node.name)
        if box is None or node.op == "graph":
            continue
        for place in (traced.map.relax[one] for one in node.relax):
            wanted = [(place.function, place.name)] if place.name else []
            if place.prim_func:
                wanted.append((place.prim_func, place.prim_func))
            lines.update(((box, places[one]), None) for one in wanted if one in places)
    return Text(key, title, script, tuple(lines))


def _script_lines(script: str) -> dict[tuple[str, str], int]:
    """Return on which line of a script each binding of a function stands, its parameters and
    itself.
    """
    found: dict[tuple[str, str], int] = {}
    function = ""
    for number, line in enumerate(script.split("\n")):
        head = _FUNCTION.match(line)
        if head is not None:
            function = head[1]
            found[function, function] = number
            found.update(((function, name), number) for name in re.findall(r"[(,] ?(\w+): ", line))
            continue
        binding = _BINDING.match(line)
        if binding is not None:
            found.setdefault((function, binding[1]), number)
    return found


def _forms(subject: Subject, traced: Traced) -> None:
    """Say of each box what its Relax form is."""
    forms: list[str | None] = [None] * len(subject.drawing.boxes)
    lacking: list[int] = []
    for node in traced.map.graph:
        box = subject.drawing.of.get(node.name)
        if box is None or subject.drawing.boxes[box].node.name != node.name or node.op in ("graph", "input"):
            continue
        places = [traced.map.relax[one] for one in node.relax]
        if any(place.prim_func for place in places):
            forms[box] = "TensorIR"
            lacking.append(box)
        else:
            forms[box] = "Relax operators" if places else "computed ahead"
    subject.overlays.append(Overlay("form", "Relax form", "", forms))
    said = f"{counted(len(lacking), 'node')} as TensorIR, for lack of an operator of Relax"
    subject.findings.append(
        Finding("No Relax form", said if lacking else "none: Relax has operators for all nodes", tuple(lacking))
    )


def _receipt(subject: Subject, made: Map, rows: Sequence[int]) -> None:
    """Say of each box what of it was moved or dropped."""
    lost: dict[int, int] = {}
    for item in made.receipt:
        box = rows[item.node] if item.node >= 0 else -1
        if box < 0 or item.fate is Fate.KEPT:
            continue
        said = f"{item.aspect} {item.name}: {item.fate.value}{item.note and ': ' + item.note}"
        subject.receipt.setdefault(box, []).append(said)
        if item.fate is Fate.DROPPED:
            lost[box] = lost.get(box, 0) + 1
    values = [lost.get(box) for box in range(len(subject.drawing.boxes))]
    subject.overlays.append(Overlay("lost", "Dropped in Relax", "items", values, summed=True))
    changed = made.changed()
    subject.findings.append(Finding("Receipt", changed or "nothing was moved or dropped", tuple(sorted(lost))))
