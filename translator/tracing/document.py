"""``map.json``: the map as a document, written and read back.

{"format": "relay2relax map", "version": 1, "via": …, "entry": …, "schedule": …,
 "relay": [{…}, …], "graph": [{…}, …], "relax": [{…}, …], "receipt": [[…], …]}
"""

from __future__ import annotations

import json
from typing import Literal

from relay2relax.core.errors import ParseError
from relay2relax.core.errors.table import reading
from relay2relax.core.schema import Extent, Form, OpenExtent, read_json, to_plain
from relay2relax.core.source import SourceRange
from relay2relax.translator.tracing.model import Fate, GraphNode, Item, Map, Place, PlaceKind, RelayNode

_FORMAT: Literal["relay2relax map"] = "relay2relax map"
_Fates = Literal["kept", "moved", "implied", "dropped"]
_WHAT = "the map"


class _Text(Form):
    source: str
    line: Extent
    column: Extent
    end_line: Extent
    end_column: Extent


class _Relay(Form, omit_defaults=True):
    kind: str
    function: str
    fate: _Fates
    name: str = ""
    note: str = ""
    text: _Text | None = None
    json: Extent | None = None
    span: str = ""
    graph: tuple[Extent, ...] = ()


class _Graph(Form):
    name: str
    op: str
    relax: tuple[Extent, ...]


class _Place(Form, omit_defaults=True):
    kind: Literal["parameter", "binding", "constant", "function"]
    function: str
    name: str
    prim_func: str = ""


class _Item(Form, array_like=True):
    node: OpenExtent
    aspect: str
    name: str
    fate: _Fates
    note: str


class _Document(Form):
    format: Literal["relay2relax map"]
    version: Literal[1]
    via: Literal["tir", "graph"]
    entry: str
    schedule: str
    relay: tuple[_Relay, ...]
    graph: tuple[_Graph, ...]
    relax: tuple[_Place, ...]
    receipt: tuple[_Item, ...]


def map_to_json(found: Map) -> str:
    """Return the map as a JSON document, a row for each node, place and item."""
    relay = [
        _Relay(
            kind=one.kind, function=one.function, fate=one.fate.value, name=one.name, note=one.note,
            text=None if one.text is None else _text(one.text), json=one.json, span=one.span, graph=one.graph,
        )
        for one in found.relay
    ]  # fmt: skip
    graph = [_Graph(name=one.name, op=one.op, relax=one.relax) for one in found.graph]
    relax = [
        _Place(kind=one.kind.value, function=one.function, name=one.name, prim_func=one.prim_func)
        for one in found.relax
    ]
    receipt = [
        _Item(node=one.node, aspect=one.aspect, name=one.name, fate=one.fate.value, note=one.note)
        for one in found.receipt
    ]
    head = {"format": _FORMAT, "version": 1, "via": found.via, "entry": found.entry, "schedule": found.schedule}
    parts = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    for name, rows in (("relay", relay), ("graph", graph), ("relax", relax), ("receipt", receipt)):
        lines = ",\n  ".join(json.dumps(to_plain(row)) for row in rows)
        parts.append(f' "{name}": [{lines and chr(10) + "  " + lines + chr(10) + " "}]')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def map_from_json(content: str | bytes) -> Map:
    """Return the map of a document that :func:`map_to_json` wrote.

    Raises ParseError where it is damaged, of another version, or refers to what is not there.
    """
    read = read_json(content, _Document, _WHAT)
    for number, node in enumerate(read.relay):
        for other in node.graph:
            _within(other, len(read.graph), f"$.relay[{number}]")
    for number, made in enumerate(read.graph):
        for other in made.relax:
            _within(other, len(read.relax), f"$.graph[{number}]")
    for number, item in enumerate(read.receipt):
        _within(item.node, len(read.relay), f"$.receipt[{number}]")
    return Map(
        read.via,
        read.entry,
        read.schedule,
        tuple(
            RelayNode(
                one.kind, one.name, one.function, None if one.text is None else _range(one.text), one.json, one.span,
                one.graph, Fate(one.fate), one.note,
            )
            for one in read.relay
        ),
        tuple(GraphNode(one.name, one.op, one.relax) for one in read.graph),
        tuple(Place(PlaceKind(one.kind), one.function, one.name, one.prim_func) for one in read.relax),
        tuple(Item(one.node, one.aspect, one.name, Fate(one.fate), one.note) for one in read.receipt),
    )  # fmt: skip


def _within(number: int, count: int, path: str) -> None:
    if number >= count:
        raise ParseError(f"{_WHAT}: {number} is not one of {count} at {path}", kind=reading.JSON_DOCUMENT)


def _text(where: SourceRange) -> _Text:
    return _Text(
        source=where.name, line=where.line, column=where.column, end_line=where.end_line, end_column=where.end_column
    )


def _range(text: _Text) -> SourceRange:
    return SourceRange(text.source, text.line, text.column, text.end_line, text.end_column)
