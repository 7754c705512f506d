"""The graph as JSON: MSC's own layout, and beside it, under the key ``relay2relax``, what MSC
drops.

The extra part of a document holds graphs that nodes hold and of other functions (``graphs``; the
first is the document itself), and one Relay JSON document (``objects``) of everything typed:
attributes, annotations, spans. Nodes refer into both by index. Of a Relax program the extra part is
its ``script``, with constants by the names of the weights; these ``weights``; and the ``names`` of
the nodes of each graph, in order, for a script has Python's names. Without the extras a document is
what MSC reads and writes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from relay2relax.core.dtype import Array, numpy_dtype
from relay2relax.core.errors import ParseError
from relay2relax.core.source import Span
from relay2relax.graph.formats.attrs_text import attrs_text
from relay2relax.graph.model import (
    CallAttrs,
    ConstantAttrs,
    ConstructorAttrs,
    FunctionAttrs,
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
from relay2relax.graph.relax.exporter import to_relax
from relay2relax.graph.relax.importer import graph_of
from relay2relax.ops.registry.attributes import NoAttrs
from relay2relax.ops.registry.table import relay_op
from relay2relax.relax_ir.script.parser import parse
from relay2relax.relax_ir.script.printer import print_module
from relay2relax.relay_ir.compat.attrs_codec import is_attrs
from relay2relax.relay_ir.ir.device import VirtualDevice
from relay2relax.relay_ir.ir.expr import Constant, OpaqueAttrs
from relay2relax.relay_ir.ir.module import TypeData
from relay2relax.relay_ir.ir.rewrite import expr_fields
from relay2relax.relay_ir.ir.types import FuncType, Type
from relay2relax.relay_ir.ir.types import TypeVar as RelayTypeVar
from relay2relax.relay_ir.json.reader import load_json_object
from relay2relax.relay_ir.json.writer import save_json

EXTRA = "relay2relax"
VERSION = 1
# The script of a Relax program is for our own reader: a dialect that has words for everything.
_DIALECT = "tvm-0.27"
T = TypeVar("T")


# --- writing --------------------------------------------------------------------------------------


def to_json(graph: MSCGraph, extras: bool = True) -> str:
    """Return the graph as a JSON document.

    ``extras=False`` leaves out all that MSC itself does not know.

    Raises UnsupportedError where an operator without record has attributes of unknown form, or
    TVMScript cannot say what a Relax program does.
    """
    document = _msc_graph(graph)
    if extras and graph.is_relax:
        document[EXTRA] = _relax_program(graph)
    elif extras:
        _Writer().extend(document, graph)
    return json.dumps(document, indent=1, ensure_ascii=False)


def _msc_tensor(tensor: MSCTensor) -> dict[str, Any]:
    return {
        "name": tensor.name,
        "alias": tensor.alias,
        "dtype": tensor.dtype,
        "layout": tensor.layout,
        "shape": list(tensor.shape),
        "prims": list(tensor.prims),
    }


def _msc_node(node: MSCJoint) -> dict[str, Any]:
    return {
        "index": node.index,
        "name": node.name,
        "shared_ref": node.shared_ref,
        "optype": node.optype,
        "parents": list(node.parents),
        "inputs": list(node.inputs),
        "outputs": [_msc_tensor(tensor) for tensor in node.outputs],
        "attrs": attrs_text(node.attrs),
        "weights": {role: _msc_tensor(tensor) for role, tensor in node.weights.items()},
    }


def _msc_graph(graph: MSCGraph) -> dict[str, Any]:
    return {
        "name": graph.name,
        "inputs": list(graph.inputs),
        "outputs": list(graph.outputs),
        "nodes": [_msc_node(node) for node in graph.nodes],
        "prims": [
            {
                "index": index,
                "name": prim.name,
                "optype": prim.optype,
                "parents": list(prim.parents),
                "attrs": dict(prim.attrs),
            }
            for index, prim in enumerate(graph.prims)
        ],
    }


def _relax_program(graph: MSCGraph) -> dict[str, Any]:
    """Return what MSC drops of a Relax program."""
    constants = {
        node.weights["const"].name: (node.weights["const"], node.attrs.scalar)
        for part in graph.subgraphs()
        for node in part.nodes
        if isinstance(node.attrs, ConstantAttrs)
    }
    weights = {name: _stand_in(tensor, scalar) for name, (tensor, scalar) in constants.items()}
    names = {id(array): name for name, array in weights.items()}
    return {
        "version": VERSION,
        "script": print_module(to_relax(graph, weights), _DIALECT, lambda constant: names[id(constant.data)]),
        "weights": [{**_msc_tensor(tensor), "scalar": _scalar_text(scalar)} for tensor, scalar in constants.values()],
        "names": {part.name: [node.name for node in part.nodes] for part in graph.subgraphs()},
    }


def _stand_in(tensor: MSCTensor, scalar: float | int | bool | None) -> Array:
    """Return an array for a weight that is not at hand; all its elements are one in memory."""
    return np.broadcast_to(np.array(scalar or 0, numpy_dtype(tensor.dtype)), tensor.shape)


def _scalar_text(scalar: float | int | bool | None) -> str | None:
    return None if scalar is None else repr(scalar)


class _Writer:
    """Collects the typed objects of a document, and its graphs."""

    def __init__(self) -> None:
        self.objects: list[Any] = []
        self.graphs: list[MSCGraph] = []
        self.index: dict[int, int] = {}

    def keep(self, value: Any) -> int | None:
        """Return the index of a typed object; null for nothing."""
        if value is None or isinstance(value, NoAttrs):
            return None
        self.objects.append(value)
        return len(self.objects) - 1

    def extend(self, document: dict[str, Any], graph: MSCGraph) -> None:
        """Add to the MSC document of ``graph`` what MSC drops."""
        self.graphs = list(graph.subgraphs())
        self.index = {id(part): number for number, part in enumerate(self.graphs)}
        parts = [document, *(_msc_graph(part) for part in self.graphs[1:])]
        for part, target in zip(self.graphs, parts, strict=True):
            target[EXTRA] = self.function(part)
            for node, written in zip(part.nodes, target["nodes"], strict=True):
                written[EXTRA] = {
                    "operands": list(node.operands),
                    "scope": list(node.scope),
                    "span": self.keep(node.span),
                    "attrs": self.attrs(_without_operands(node)),
                    "attr_operands": dict(node.attr_operands),
                }
        document[EXTRA] |= {
            "version": VERSION,
            "functions": {name: self.index[id(part)] for name, part in graph.functions.items()},
            "module_attrs": self.keep(dict(graph.module_attrs)),
            "type_definitions": [self.keep(definition) for definition in graph.type_definitions],
            "graphs": parts[1:],
        }
        # Last, when every object has been met.
        document[EXTRA]["objects"] = json.loads(save_json(tuple(self.objects)))

    def function(self, graph: MSCGraph) -> dict[str, Any]:
        signature = graph.signature
        return {
            "params": list(graph.params),
            "captured": list(graph.captured),
            "result": graph.result,
            "ret_type": self.keep(signature.ret_type),
            "type_params": [self.keep(one) for one in signature.type_params],
            "attrs": self.keep(dict(signature.attrs)),
            "span": self.keep(signature.span),
            "virtual_device": self.keep(signature.virtual_device),
            "inferred": self.keep(signature.inferred),
            "weight_spans": {name: self.keep(span) for name, span in graph.weight_spans.items()},
        }

    def attrs(self, attrs: Any) -> dict[str, Any]:
        match attrs:
            case InputAttrs(hint, annotation, device, captured):
                given = {"annotation": self.keep(annotation), "virtual_device": self.keep(device)}
                return {"kind": "input", "hint": hint, "captured": captured, **given}
            case ConstantAttrs(scalar):
                return {"kind": "constant", "scalar": _scalar_text(scalar)}
            case GetItemAttrs(index):
                return {"kind": "get_item", "index": index}
            case CallAttrs(type_args, inner):
                types = [self.keep(one) for one in type_args]
                return {"kind": "call", "type_args": types, "attrs": self.keep(inner)}
            case GlobalAttrs(name):
                return {"kind": "global", "name": name}
            case FunctionAttrs(graph, itself):
                return {"kind": "function", "graph": self.index[id(graph)], "itself": itself}
            case IfAttrs(then, otherwise):
                return {"kind": "if", "graphs": [self.index[id(then)], self.index[id(otherwise)]]}
            case MatchAttrs(patterns, graphs, complete):
                numbers = [self.index[id(graph)] for graph in graphs]
                clauses = [self.pattern(one) for one in patterns]
                return {"kind": "match", "patterns": clauses, "graphs": numbers, "complete": complete}
            case ConstructorAttrs(data_type, constructor):
                return {"kind": "constructor", "data_type": data_type, "constructor": constructor}
        return {"kind": "operator", "attrs": self.keep(attrs)}

    def pattern(self, pattern: Pattern) -> dict[str, Any]:
        return {
            "kind": pattern.kind,
            "parts": [self.pattern(part) for part in pattern.parts],
            "constructor": list(pattern.constructor),
            "span": self.keep(pattern.span),
        }


# --- reading --------------------------------------------------------------------------------------


def from_json(text: str) -> MSCGraph:
    """Return the graph of a document that ``to_json`` wrote with its extras.

    Raises ParseError, naming the node and key, where the document is damaged or lacks the extras.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParseError(f"not a JSON document: {error}") from None
    try:
        extra = _get(_of(document, dict, "the document"), EXTRA, dict, "the document")
        if extra.get("version") != VERSION:
            raise ParseError(f"{EXTRA!r}: expected version {VERSION}, found {extra.get('version')!r}")
        return _relax_graph(document, extra) if "script" in extra else _Reader(document, extra).graph(document)
    except GraphError as error:
        raise ParseError(error.diagnostics[0].title) from None


def _relax_graph(document: dict[str, Any], extra: dict[str, Any]) -> MSCGraph:
    """Return the graph of a Relax program, whose weights are known by shape and dtype."""
    tensors = [(_tensor(one, EXTRA), _scalar(one.get("scalar"), EXTRA)) for one in _list(extra, "weights", dict, EXTRA)]
    try:
        weights = {tensor.name: _stand_in(tensor, scalar) for tensor, scalar in tensors}
    except (ValueError, OverflowError) as error:
        raise ParseError(f"{EXTRA}: a weight cannot be what its tensor says: {error}") from None
    program = parse(_get(extra, "script", str, EXTRA), "<graph>", weights)
    written = _get(extra, "names", dict, EXTRA)
    names = {name: _list(written, name, str, EXTRA) for name in written}
    graph, _ = graph_of(program, _get(document, "name", str, "the document"), weights, names)
    for part in graph.subgraphs():
        _check(part)
    return graph


class _Reader:
    """A document: its typed objects, and its graphs as far as they are read."""

    def __init__(self, document: dict[str, Any], extra: dict[str, Any]) -> None:
        objects = load_json_object(json.dumps(_get(extra, "objects", dict, EXTRA)))
        self.objects = _of(objects, tuple, "the objects")
        self.written = [document, *_list(extra, "graphs", dict, EXTRA)]
        self.extra = extra
        self.graphs: dict[int, MSCGraph] = {}

    def graph(self, document: dict[str, Any]) -> MSCGraph:
        """Return the graph of the document.

        Graphs of function literals come behind those that hold them.
        """
        functions = _get(self.extra, "functions", dict, EXTRA)
        for number in range(len(self.written) - 1, 0, -1):
            self.graphs[number] = self.function(self.written[number])
        definitions = _list(self.extra, "type_definitions", int, EXTRA)
        return replace(
            self.function(document),
            functions={name: self.subgraph(number, f"function {name!r}") for name, number in functions.items()},
            module_attrs=self.kept(self.extra.get("module_attrs"), dict, EXTRA) or {},
            type_definitions=tuple(_of(self.kept(one, TypeData, EXTRA), TypeData, EXTRA) for one in definitions),
        )

    def subgraph(self, number: Any, place: str) -> MSCGraph:
        if type(number) is not int or number not in self.graphs:
            raise ParseError(f"{place}: there is no graph {number!r} behind it")
        return self.graphs[number]

    def kept(self, index: Any, kind: type[T] | tuple[type[T], ...], place: str) -> T | None:
        """Return the typed object ``index``, checked to be of ``kind``; None for null."""
        if index is None:
            return None
        if type(index) is not int or not 0 <= index < len(self.objects):
            raise ParseError(f"{place}: there is no object {index!r}")
        return _of(self.objects[index], kind, f"{place}, object {index}")

    def function(self, written: dict[str, Any]) -> MSCGraph:
        name = _get(written, "name", str, "a graph")
        place = f"graph {name!r}"
        extra = _get(written, EXTRA, dict, place)
        nodes = tuple(self.node(index, one) for index, one in enumerate(_list(written, "nodes", dict, place)))
        type_params = tuple(
            _of(self.kept(one, RelayTypeVar, place), RelayTypeVar, place)
            for one in _list(extra, "type_params", int, place)
        )
        signature = Signature(
            self.kept(extra.get("ret_type"), Type, place),
            type_params,
            self.kept(extra.get("attrs"), dict, place) or {},
            self.kept(extra.get("span"), Span, place),
            self.kept(extra.get("virtual_device"), VirtualDevice, place),
            self.kept(extra.get("inferred"), FuncType, place),
        )
        spans = _get(extra, "weight_spans", dict, place)
        graph = MSCGraph(
            name,
            nodes,
            tuple(_list(extra, "params", str, place)),
            _get(extra, "result", str, place),
            tuple(_prim(one, place) for one in _list(written, "prims", dict, place)),
            tuple(_list(extra, "captured", str, place)),
            signature,
            weight_spans={weight: _of(self.kept(one, Span, place), Span, place) for weight, one in spans.items()},
        )
        _check(graph)
        return graph

    def node(self, index: int, written: dict[str, Any]) -> MSCJoint:
        name = _get(written, "name", str, f"node {index}")
        place = f"node {index} ({name})"
        extra = _get(written, EXTRA, dict, place)
        weights = _get(written, "weights", dict, place)
        optype = _get(written, "optype", str, place)
        attrs = self.attrs(_get(extra, "attrs", dict, place), place)
        return MSCJoint(
            index,
            name,
            optype,
            tuple(_list(extra, "operands", str, place)),
            tuple(_list(written, "inputs", str, place)),
            tuple(_tensor(one, place) for one in _list(written, "outputs", dict, place)),
            {role: _tensor(_of(one, dict, place), place) for role, one in weights.items()},
            attrs,
            tuple(_list(extra, "scope", str, place)),
            self.kept(extra.get("span"), Span, place),
            _get(written, "shared_ref", str, place),
            _attr_operands(extra, optype, attrs, place),
        )

    def attrs(self, written: dict[str, Any], place: str) -> Any:
        match written.get("kind"):
            case "input":
                return InputAttrs(
                    _get(written, "hint", str, place),
                    self.kept(written.get("annotation"), Type, place),
                    self.kept(written.get("virtual_device"), VirtualDevice, place),
                    _get(written, "captured", bool, place),
                )
            case "constant":
                return ConstantAttrs(_scalar(written.get("scalar"), place))
            case "get_item":
                return GetItemAttrs(_get(written, "index", int, place))
            case "call":
                types = _list(written, "type_args", int, place)
                return CallAttrs(
                    tuple(_of(self.kept(one, Type, place), Type, place) for one in types),
                    self.call_attrs(written.get("attrs"), place),
                )
            case "global":
                return GlobalAttrs(_get(written, "name", str, place))
            case "function":
                itself = _get(written, "itself", str, place)
                return FunctionAttrs(self.subgraph(written.get("graph"), place), itself)
            case "if":
                graphs = [self.subgraph(one, place) for one in _list(written, "graphs", int, place)]
                if len(graphs) != 2:
                    raise ParseError(f"{place}: an if has two graphs, found {len(graphs)}")
                return IfAttrs(*graphs)
            case "match":
                graphs = [self.subgraph(one, place) for one in _list(written, "graphs", int, place)]
                patterns = [self.pattern(one, place) for one in _list(written, "patterns", dict, place)]
                if len(graphs) != len(patterns):
                    raise ParseError(f"{place}: {len(patterns)} patterns for {len(graphs)} graphs")
                return MatchAttrs(tuple(patterns), tuple(graphs), _get(written, "complete", bool, place))
            case "constructor":
                return ConstructorAttrs(
                    _get(written, "data_type", str, place), _get(written, "constructor", str, place)
                )
            case "operator":
                return self.call_attrs(written.get("attrs"), place)
        raise ParseError(f"{place}: unknown kind of attributes {written.get('kind')!r}")

    def pattern(self, written: dict[str, Any], place: str) -> Pattern:
        kind = _get(written, "kind", str, place)
        if kind not in ("wildcard", "variable", "tuple", "constructor"):
            raise ParseError(f"{place}: unknown kind of pattern {kind!r}")
        names = _list(written, "constructor", str, place)
        if len(names) != 2:
            raise ParseError(f"{place}: a constructor has two names, found {len(names)}")
        parts = tuple(self.pattern(one, place) for one in _list(written, "parts", dict, place))
        return Pattern(kind, parts, (names[0], names[1]), self.kept(written.get("span"), Span, place))

    def call_attrs(self, index: Any, place: str) -> Any:
        found = self.kept(index, object, place)
        if isinstance(found, dict):
            return OpaqueAttrs("DictAttrs", tuple(found.items()))
        if found is not None and not is_attrs(found):
            raise ParseError(f"{place}: expected attributes of an operator, found {type(found).__name__}")
        return NoAttrs() if found is None else found


def _without_operands(node: MSCJoint) -> Any:
    """Return the attributes without the operands among them, but for constants, which say their
    value.
    """
    names = [name for name in node.attr_operands if not isinstance(getattr(node.attrs, name), Constant)]
    return replace(node.attrs, **dict.fromkeys(names)) if names else node.attrs


def _attr_operands(extra: dict[str, Any], optype: str, attrs: Any, place: str) -> dict[str, int]:
    record = relay_op(optype)
    allowed = expr_fields(record.attrs) if record is not None and isinstance(attrs, record.attrs) else ()
    found = _get(extra, "attr_operands", dict, place)
    operands = _list(extra, "operands", str, place)
    for name, index in found.items():
        if type(index) is not int or not 0 <= index < len(operands) or name not in allowed:
            raise ParseError(f"{place}: {name!r} is no attribute that holds an operand")
    return found


def _of(value: Any, kind: type[T] | tuple[type[T], ...], place: str) -> T:
    if not isinstance(value, kind):
        wanted = kind if isinstance(kind, type) else kind[0]
        raise ParseError(f"{place}: expected {wanted.__name__}, found {type(value).__name__}")
    return value


def _get(written: dict[str, Any], key: str, kind: type[T], place: str) -> T:
    if key not in written:
        raise ParseError(f"{place}: the key {key!r} is missing")
    return _of(written[key], kind, f"{place}, {key!r}")


def _list(written: dict[str, Any], key: str, kind: type[T], place: str) -> list[T]:
    return [_of(item, kind, f"{place}, {key!r}") for item in _get(written, key, list, place)]


def _tensor(written: dict[str, Any], place: str) -> MSCTensor:
    return MSCTensor(
        _get(written, "name", str, place),
        _get(written, "dtype", str, place),
        tuple(_list(written, "shape", int, place)),
        _get(written, "layout", str, place),
        tuple(_list(written, "prims", str, place)),
        _get(written, "alias", str, place),
    )


def _prim(written: dict[str, Any], place: str) -> MSCPrim:
    attrs = _get(written, "attrs", dict, place)
    return MSCPrim(
        _get(written, "name", str, place),
        _get(written, "optype", str, place),
        tuple(_list(written, "parents", str, place)),
        {key: _of(value, str, place) for key, value in attrs.items()},
    )


_SCALARS: dict[str, bool | float] = {
    "True": True, "False": False, "nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")
}  # fmt: skip


def _scalar(text: Any, place: str) -> float | int | bool | None:
    if text is None:
        return None
    written = _of(text, str, place)
    if written in _SCALARS:
        return _SCALARS[written]
    read: Callable[[str], float | int] = float if set(written) & set(".en") else int
    try:
        return read(written)
    except ValueError:
        raise ParseError(f"{place}: {written!r} is not a number") from None


def _check(graph: MSCGraph) -> None:
    """Refuse a graph whose names do not fit together."""
    known: set[str] = set()
    for node in graph.nodes:
        if node.name in known:
            raise GraphError(f"two nodes are named {node.name!r}")
        known.add(node.name)
        for tensor in (*node.outputs, *node.weights.values()):
            if tensor.prims and len(tensor.prims) != len(tensor.shape):
                raise GraphError(f"tensor {tensor.name!r} has {len(tensor.shape)} extents, {len(tensor.prims)} prims")
    for node in graph.nodes:
        for name in node.parents:
            if name not in known:
                raise GraphError(f"node {node.name!r} uses {name!r}, which does not exist")
    for name in (*graph.params, *graph.captured, graph.result):
        graph.find_node(name)
