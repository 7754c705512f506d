"""JSON documents into graphs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from relay2relax.core.errors import LimitError, ParseError, Relay2RelaxError, mistake, placed
from relay2relax.core.errors.table import reading
from relay2relax.core.schema import parse_json, read_value
from relay2relax.core.source import Span
from relay2relax.core.words import shown
from relay2relax.graph.check import check_well_formed
from relay2relax.graph.formats.json import document
from relay2relax.graph.formats.json.scalars import parse_scalar, stand_in
from relay2relax.graph.fused import numbered
from relay2relax.graph.fusing.fuse import Fusing
from relay2relax.graph.kinds import NodeKind, PatternKind
from relay2relax.graph.model import (
    CallAttrs,
    ConstantAttrs,
    ConstructorAttrs,
    FunctionAttrs,
    FusedAttrs,
    GetItemAttrs,
    GlobalAttrs,
    GraphError,
    IfAttrs,
    InputAttrs,
    MatchAttrs,
    MSCGraph,
    MSCJoint,
    MSCPrim,
    MSCTensor,
    Pattern,
    Signature,
)
from relay2relax.graph.relax.importer import graph_of
from relay2relax.ops.registry.attributes import NoAttrs
from relay2relax.ops.registry.table import relay_op
from relay2relax.relax_ir.script.parser import parse
from relay2relax.relay_ir.compat.attrs_codec import is_attrs
from relay2relax.relay_ir.ir.device import VirtualDevice
from relay2relax.relay_ir.ir.expr import OpaqueAttrs
from relay2relax.relay_ir.ir.module import TypeData
from relay2relax.relay_ir.ir.rewrite import expr_fields
from relay2relax.relay_ir.ir.types import FuncType, Type
from relay2relax.relay_ir.ir.types import TypeVar as RelayTypeVar
from relay2relax.relay_ir.json.reader import load_json_object

T = TypeVar("T")

_WHAT = "the graph's document"
_KINDS = {kind.value: kind for kind in NodeKind}


def from_json(text: str) -> MSCGraph:
    """Return the graph of a document that ``to_json`` wrote with its extras.

    Raises ParseError, naming the place in the document, where it is damaged or lacks the extras.
    """
    written = parse_json(text, _WHAT)
    if isinstance(written, dict):
        written.pop("written_by", None)  # the mark of a file
    head = read_value(written, document.Head, _WHAT).extra
    if head.version != document.VERSION:
        raise ParseError(
            mistake(
                reading.JSON_DOCUMENT,
                place=f"{document.EXTRA!r}: ",
                expected=f"version {document.VERSION}",
                found=head.version,
            )
        )
    try:
        if head.script is None:
            program = read_value(written, document.RelayDocument, _WHAT)
            del written  # else it would stay in memory while the graph is made
            graph = _Reader(program).graph()
        else:
            graph = _relax_graph(read_value(written, document.RelaxDocument, _WHAT))
        check_well_formed(graph)
    except GraphError as error:
        raise ParseError(error.diagnostics[0].title) from None
    return graph


def _tensor(written: document.Tensor, place: str) -> MSCTensor:
    try:
        return MSCTensor(written.name, written.dtype, written.shape, written.layout, written.prims, written.alias)
    except LimitError:
        raise
    except Relay2RelaxError as error:
        raise placed(error, f"{place}, tensor {shown(written.name)}", reading.JSON_DOCUMENT) from None


# --- Relax ----------------------------------------------------------------------------------------


def _relax_graph(written: document.RelaxDocument) -> MSCGraph:
    """Return the graph of a Relax program, whose weights are known by shape and dtype."""
    extra = written.extra
    weights = {
        one.name: stand_in(_tensor(one, "the weights"), parse_scalar(one.scalar, f"weight {one.name!r}"))
        for one in extra.weights
    }
    program = parse(extra.script, "<graph>", weights)
    graph, _ = graph_of(program, written.name, weights, extra.names)
    counts = {part.name: len(part.nodes) for part in graph.subgraphs()}
    if counts != {name: len(names) for name, names in extra.names.items()}:
        raise ParseError(
            f"{_WHAT}: the names are not those of the nodes of its script at $.{document.EXTRA}.names",
            kind=reading.JSON_DOCUMENT,
        )
    if extra.fused:
        check_well_formed(graph)
    unknown = [name for name in extra.fused if name != graph.name and name not in graph.functions]
    if unknown:
        raise ParseError(
            f"{_WHAT}: there is no function {unknown[0]!r} at $.{document.EXTRA}.fused", kind=reading.JSON_DOCUMENT
        )
    functions = {name: _fused(one, extra.fused.get(name)) for name, one in graph.functions.items()}
    return replace(_fused(graph, extra.fused.get(graph.name)), functions=functions)


def _fused(graph: MSCGraph, written: document.FusedGraph | None) -> MSCGraph:
    """Return a function with its nodes fused as a document says."""
    if written is None:
        return graph
    place = f"$.{document.EXTRA}.fused.{graph.name}"
    fusing = Fusing(_with_prims(graph, written.prims))
    try:
        for one in written.nodes:
            fusing.take_named(one.name, one.pattern, one.params, one.parts, one.weights)
    except GraphError as error:
        raise placed(error, f"{_WHAT}: {place}.nodes[{len(fusing.made)}]", reading.JSON_DOCUMENT) from None
    fused = fusing.graph_of_rest()
    known = {node.name: node for node in fused.nodes}
    if sorted(known) != sorted(written.order):
        raise ParseError(f"{_WHAT}: the names are not those of the nodes at {place}.order", kind=reading.JSON_DOCUMENT)
    return replace(fused, nodes=numbered([known[name] for name in written.order]))


def _with_prims(graph: MSCGraph, written: tuple[document.Prim, ...]) -> MSCGraph:
    """Return a function with its symbolic extents as a document names them, where it has them."""
    prims = tuple(MSCPrim(one.name, one.optype, one.parents, one.attrs) for one in written)
    if prims == graph.prims:
        return graph
    numbers: dict[object, int] = {}
    names = {number: name for name, number in _numbered(prims, numbers).items()}
    mine = _numbered(graph.prims, numbers)
    if not names.keys() >= set(mine.values()):
        return graph
    nodes = [
        replace(node, outputs=tuple(replace(t, prims=_prims_of(t, mine, names)) for t in node.outputs))
        for node in graph.nodes
    ]
    return replace(graph, nodes=tuple(nodes), prims=prims)


def _numbered(prims: tuple[MSCPrim, ...], numbers: dict[object, int]) -> dict[str, int]:
    """Return numbers of prims by their names; those of equal extents are the same."""
    found: dict[str, int] = {}
    for one in prims:
        parents = tuple(found.get(parent, -1) for parent in one.parents)
        # Where a variable is met first says nothing about it.
        key = one.name if one.optype in {"shape", "Var"} else (one.optype, parents, tuple(sorted(one.attrs.items())))
        found[one.name] = numbers.setdefault(key, len(numbers))
    return found


def _prims_of(tensor: MSCTensor, mine: Mapping[str, int], names: Mapping[int, str]) -> tuple[str, ...]:
    return tuple(names[mine[prim]] if prim in mine else prim for prim in tensor.prims)


# --- Relay ----------------------------------------------------------------------------------------


class _Reader:
    """A document: its typed objects, and its graphs as far as they are read."""

    def __init__(self, written: document.RelayDocument) -> None:
        self.written = written
        objects = load_json_object(json.dumps(written.extra.objects))
        if not isinstance(objects, tuple):
            raise ParseError(
                mistake(reading.JSON_DOCUMENT, place="the objects: ", expected="an array", found=type(objects).__name__)
            )
        self.objects: tuple[object, ...] = objects
        self.graphs: dict[int, MSCGraph] = {}

    def graph(self) -> MSCGraph:
        """Return the graph of the document.

        Graphs of function literals come behind those that hold them.
        """
        extra = self.written.extra
        for number in range(len(extra.graphs), 0, -1):
            inner = extra.graphs[number - 1]
            self.graphs[number] = self.function(inner, inner.extra)
        return replace(
            self.function(self.written, extra),
            functions={name: self.subgraph(number, f"function {name!r}") for name, number in extra.functions.items()},
            entries=extra.entries,
            module_attrs=self.attributes(extra.module_attrs, "the module"),
            type_definitions=tuple(self.kept(one, TypeData, "the module") for one in extra.type_definitions),
        )

    def subgraph(self, number: int, place: str) -> MSCGraph:
        if number not in self.graphs:
            raise ParseError(f"{place}: there is no graph {number!r} behind it", kind=reading.JSON_DOCUMENT)
        return self.graphs[number]

    def kept(self, index: int, kind: type[T] | tuple[type[T], ...], place: str) -> T:
        """Return the typed object ``index``, checked to be of ``kind``."""
        if index >= len(self.objects):
            raise ParseError(f"{place}: there is no object {index!r}", kind=reading.JSON_DOCUMENT)
        found = self.objects[index]
        if not isinstance(found, kind):
            wanted = kind if isinstance(kind, type) else kind[0]
            raise ParseError(
                mistake(
                    reading.JSON_DOCUMENT,
                    place=f"{place}, object {index}: ",
                    expected=wanted.__name__,
                    found=type(found).__name__,
                )
            )
        return found

    def maybe(self, index: int | None, kind: type[T] | tuple[type[T], ...], place: str) -> T | None:
        """Return the typed object ``index``; None for null."""
        return None if index is None else self.kept(index, kind, place)

    def attributes(self, index: int | None, place: str) -> Mapping[str, object]:
        """Return the attributes of a function or module."""
        found: dict[str, object] = self.maybe(index, dict, place) or {}
        return found

    def function(self, written: document.Graph[document.RelayNode], extra: document.FunctionExtra) -> MSCGraph:
        place = f"graph {written.name!r}"
        signature = Signature(
            self.maybe(extra.ret_type, Type, place),
            tuple(self.kept(one, RelayTypeVar, place) for one in extra.type_params),
            self.attributes(extra.attrs, place),
            self.maybe(extra.span, Span, place),
            self.maybe(extra.virtual_device, VirtualDevice, place),
            self.maybe(extra.inferred, FuncType, place),
        )
        return MSCGraph(
            written.name,
            tuple(self.node(index, one) for index, one in enumerate(written.nodes)),
            extra.params,
            extra.result,
            tuple(MSCPrim(one.name, one.optype, one.parents, one.attrs) for one in written.prims),
            extra.captured,
            signature,
            weight_spans={weight: self.kept(one, Span, place) for weight, one in extra.weight_spans.items()},
        )

    def node(self, index: int, written: document.RelayNode) -> MSCJoint:
        place = f"node {index} ({written.name})"
        extra = written.extra
        attrs = self.attrs(extra.attrs, place)
        named = NodeKind.FUSED if isinstance(attrs, FusedAttrs) else NodeKind.OPERATOR
        kind = _KINDS.get(written.optype, named)
        node = MSCJoint(
            index,
            written.name,
            kind,
            written.optype if kind is named else "",
            extra.operands,
            written.inputs,
            tuple(_tensor(one, place) for one in written.outputs),
            {role: _tensor(one, place) for role, one in written.weights.items()},
            attrs,
            extra.scope,
            self.maybe(extra.span, Span, place),
            written.shared_ref,
            extra.attr_operands,
        )
        if written.index != index:
            raise ParseError(f"{place}: its index is {written.index}", kind=reading.JSON_DOCUMENT)
        if written.parents != node.parents:
            raise ParseError(
                f"{place}: its parents are {written.parents}, of its operands {node.parents}",
                kind=reading.JSON_DOCUMENT,
            )
        _check_attr_operands(node, place)
        return node

    def attrs(self, written: document.Attrs, place: str) -> object:
        match written:
            case document.Input(hint, captured, annotation, device):
                return InputAttrs(
                    hint, self.maybe(annotation, Type, place), self.maybe(device, VirtualDevice, place), captured
                )
            case document.Constant(scalar):
                return ConstantAttrs(parse_scalar(scalar, place))
            case document.GetItem(index):
                return GetItemAttrs(index)
            case document.Call(types, attrs):
                return CallAttrs(tuple(self.kept(one, Type, place) for one in types), self.call_attrs(attrs, place))
            case document.Global(name):
                return GlobalAttrs(name)
            case document.Function(graph, itself):
                return FunctionAttrs(self.subgraph(graph, place), itself)
            case document.Fused(graph):
                return FusedAttrs(self.subgraph(graph, place))
            case document.If((then, otherwise)):
                return IfAttrs(self.subgraph(then, place), self.subgraph(otherwise, place))
            case document.Match(patterns, numbers, complete):
                if len(numbers) != len(patterns):
                    raise ParseError(
                        f"{place}: {len(patterns)} patterns for {len(numbers)} graphs", kind=reading.JSON_DOCUMENT
                    )
                graphs = tuple(self.subgraph(one, place) for one in numbers)
                return MatchAttrs(tuple(self.pattern(one, place) for one in patterns), graphs, complete)
            case document.Constructor(data_type, constructor):
                return ConstructorAttrs(data_type, constructor)
            case document.Operator(attrs):
                return self.call_attrs(attrs, place)

    def pattern(self, written: document.Pattern, place: str) -> Pattern:
        parts = tuple(self.pattern(part, place) for part in written.parts)
        return Pattern(PatternKind(written.kind), parts, written.constructor, self.maybe(written.span, Span, place))

    def call_attrs(self, index: int | None, place: str) -> object:
        found = self.maybe(index, object, place)
        if isinstance(found, dict):
            return OpaqueAttrs("DictAttrs", tuple(found.items()))
        if found is not None and not is_attrs(found):
            raise ParseError(
                mistake(
                    reading.JSON_DOCUMENT,
                    place=f"{place}: ",
                    expected="attributes of an operator",
                    found=type(found).__name__,
                )
            )
        return NoAttrs() if found is None else found


def _check_attr_operands(node: MSCJoint, place: str) -> None:
    """Refuse attributes that hold operands where the operator has none such."""
    record = relay_op(node.op)
    allowed = expr_fields(record.attrs) if record is not None and isinstance(node.attrs, record.attrs) else ()
    for name, index in node.attr_operands.items():
        if index >= len(node.operands) or name not in allowed:
            raise ParseError(f"{place}: {name!r} is no attribute that holds an operand", kind=reading.JSON_DOCUMENT)
