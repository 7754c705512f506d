"""The text of a graph into the graph, as far as the text says what it is.

It says operators, tensors, attributes and parts of fused nodes. Spans, annotations and control flow
are in documents (``from_json``) only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from relay2relax.core.errors import ParseError, Relay2RelaxError, mistake
from relay2relax.core.errors.table import reading
from relay2relax.graph.check import check_well_formed
from relay2relax.graph.formats.attrs_text import value_text
from relay2relax.graph.fused import ordered
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import (
    ConstantAttrs,
    FusedAttrs,
    GetItemAttrs,
    GraphError,
    InputAttrs,
    MSCGraph,
    MSCJoint,
    MSCPrim,
    MSCTensor,
)
from relay2relax.graph.relay.importer import held_places
from relay2relax.graph.shapes import leaves
from relay2relax.ops.registry.attributes import AttrField, BoxInt, NoAttrs, attr_fields
from relay2relax.ops.registry.record import OpDef, OpError
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir.ir.types import TensorType
from relay2relax.tir.extent import ANY
from relay2relax.tir.ir.expr import FloatImm

Number = TypeVar("Number")

_GRAPH = re.compile(r"(?P<name>.+) <INPUTS: (?:(?P<inputs>.*?)\| )?OUTPUTS: (?P<outputs>.*)>")
_ENTRY = re.compile(r"(?P<letter>N|P|ID)_\d+ (?P<name>.+?)(?:\(M: (?P<shared>.*)\))? <PARENTS: (?P<parents>.*?)\| .*>")
_TENSOR = re.compile(r"(?P<name>[^<>()]+)(?:\((?P<alias>[^<>]*)\))?<(?P<said>[^<>]*)>(?:,|$)")


def from_text(text: str) -> MSCGraph:
    """Return the graph of a text that ``to_text`` wrote of a Relay program.

    Inputs, constants, operators, tuples and their fields, and fused nodes are read; the text of the
    graph is the same again. Raises ParseError, with the line, for anything else.
    """
    graphs = list(_graphs(text))
    if not graphs:
        raise _wrong(1, "a graph", "nothing")
    parts: dict[str, MSCGraph] = {}
    try:
        # Parts of fused nodes stand behind the graphs that hold them.
        for written in reversed(graphs):
            parts[written.name] = written.graph(parts, written is graphs[0])
        check_well_formed(parts[graphs[0].name])
    except GraphError as error:
        raise ParseError(f"the text of a graph: {error.diagnostics[0].title}") from None
    return parts[graphs[0].name]


def _wrong(line: int, expected: str, found: str) -> ParseError:
    return ParseError(mistake(reading.JSON_DOCUMENT, place=f"line {line}: ", expected=expected, found=found))


@dataclass(slots=True)
class _Entry:
    """A node or prim: where it stands, and its lines by their first words."""

    line: int
    name: str
    shared: str
    is_prim: bool
    parents: tuple[str, ...]
    said: dict[str, str] = field(default_factory=dict)
    weights: dict[str, MSCTensor] = field(default_factory=dict)

    def prim(self) -> MSCPrim:
        """Return the symbolic extent that the entry says."""
        attrs = dict(_pairs(self.said.get("ATTRS", ""), self.line))
        return MSCPrim(self.name, self.said.get("OPTYPE", ""), self.parents, attrs)


def _graphs(text: str) -> Iterator[_Graph]:
    graph: _Graph | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        entry, head = _ENTRY.fullmatch(line), _GRAPH.fullmatch(line)
        if line.startswith("    ") and graph is not None and graph.entries:
            role, _, tensor = line.strip().partition(": ")
            graph.entries[-1].weights[role] = _tensors(tensor, number)[0]
        elif line.startswith("  ") and graph is not None and graph.entries:
            word, _, rest = line.strip().partition(":")
            graph.entries[-1].said[word] = rest.strip()
        elif entry is not None and graph is not None:
            parents = tuple(one for one in entry["parents"].split(",") if one)
            prim = entry["letter"] == "P"
            graph.entries.append(_Entry(number, entry["name"], entry["shared"] or "", prim, parents))
        elif head is not None:
            if graph is not None:
                yield graph
            inputs = tuple(one for one in (head["inputs"] or "").split(",") if one)
            graph = _Graph(number, head["name"], inputs, tuple(head["outputs"].split(",")))
        else:
            raise _wrong(number, "a graph, a node or what one says", repr(line))
    if graph is not None:
        yield graph


def _tensors(text: str, line: int) -> tuple[MSCTensor, ...]:
    found: list[MSCTensor] = []
    end = 0
    while end < len(text):
        match = _TENSOR.match(text, end)
        if match is None:
            raise _wrong(line, "a tensor, name(alias)<extents|dtype>", repr(text[end:]))
        end = match.end()
        *extents, dtype = [one for one in match["said"].split("|") if one]
        written = extents[0].split(",") if extents else []
        prims = tuple(written) if not all(one.isdigit() for one in written) else ()
        shape = tuple(int(one) if one.isdigit() else -1 for one in written)
        try:
            found.append(MSCTensor(match["name"], dtype, shape, "", prims, match["alias"] or ""))
        except Relay2RelaxError as error:
            raise ParseError(f"line {line}: {error.diagnostics[0].title}") from None
    return tuple(found)


@dataclass(slots=True)
class _Graph:
    """A graph as its lines say it."""

    line: int
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    entries: list[_Entry] = field(default_factory=list)

    def graph(self, parts: Mapping[str, MSCGraph], is_entry: bool) -> MSCGraph:
        producers: dict[str, tuple[str, int]] = {}
        nodes: list[MSCJoint] = []
        for entry in self.entries:
            if entry.is_prim:
                continue
            node = self.node(entry, len(nodes), producers, parts, is_entry)
            nodes.append(node)
            producers.update((tensor.name, (node.name, len(node.outputs))) for tensor in node.outputs)
        for name in (*self.inputs, *self.outputs):
            if name not in producers:
                raise _wrong(self.line, "tensors of nodes as inputs and outputs", repr(name))
        # A value may be given to the parts of a fused node twice.
        params = tuple(_operands(self.inputs, producers, self.line))
        prims = tuple(
            MSCPrim(
                one.name, one.said.get("OPTYPE", ""), one.parents, dict(_pairs(one.said.get("ATTRS", ""), one.line))
            )
            for one in self.entries
            if one.is_prim
        )
        return MSCGraph(self.name, tuple(ordered(nodes)), params, producers[self.outputs[0]][0], prims)

    def node(
        self,
        entry: _Entry,
        index: int,
        producers: Mapping[str, tuple[str, int]],
        parts: Mapping[str, MSCGraph],
        is_entry: bool,
    ) -> MSCJoint:
        optype, line = entry.said.get("OPTYPE", ""), entry.line
        inputs = tuple(one.name for one in _tensors(entry.said.get("IN", ""), line))
        outputs = _tensors(entry.said.get("OUT", ""), line)
        operands = list(_operands(inputs, producers, line))
        kind, op, attrs = self.attributes(entry, optype, outputs, parts, is_entry)
        if kind is NodeKind.OPERATOR:
            places = {role: place for place, role in held_places(optype).items()}
            for role, tensor in sorted(entry.weights.items(), key=lambda one: places.get(one[0], 0)):
                operands.insert(places.get(role, len(operands)), tensor.name)
        scope = tuple(one for one in entry.said.get("SCOPE", "").split(".") if one)
        return MSCJoint(
            index, entry.name, kind, op, tuple(operands), inputs, outputs, entry.weights, attrs, scope,
            shared_ref=entry.shared,
        )  # fmt: skip

    def attributes(
        self,
        entry: _Entry,
        optype: str,
        outputs: Sequence[MSCTensor],
        parts: Mapping[str, MSCGraph],
        is_entry: bool,
    ) -> tuple[NodeKind, str, object]:
        said, record = entry.said.get("ATTRS", ""), relay_op(optype)
        if record is not None:
            attrs = _fitting(record, _attrs(record.attrs, said, entry.line), entry, outputs)
            return NodeKind.OPERATOR, optype, attrs
        if entry.name in parts:
            return NodeKind.FUSED, optype, FusedAttrs(parts[entry.name])
        match optype:
            case "input":
                annotation = _annotation(outputs) if is_entry else None
                return NodeKind.INPUT, "", InputAttrs(entry.name, annotation)
            case "constant":
                scalar = dict(_pairs(said, entry.line)).get("scalar")
                return NodeKind.CONSTANT, "", ConstantAttrs(_scalar(scalar, outputs[0].dtype, entry.line))
            case "tuple":
                return NodeKind.TUPLE, "", NoAttrs()
            case "get_item":
                return NodeKind.GET_ITEM, "", GetItemAttrs(_number(int, said.removeprefix("index="), entry.line))
        raise _wrong(entry.line, "an operator, or a node that a text can say", repr(optype))


def _operands(inputs: Sequence[str], producers: Mapping[str, tuple[str, int]], line: int) -> Iterator[str]:
    """Yield the nodes whose tensors are taken; of one with several, these stand together."""
    place = 0
    while place < len(inputs):
        if inputs[place] not in producers:
            raise _wrong(line, "tensors of nodes before it", repr(inputs[place]))
        name, count = producers[inputs[place]]
        yield name
        place += count


def _annotation(outputs: Sequence[MSCTensor]) -> TensorType | None:
    if len(outputs) != 1:
        return None
    return TensorType(tuple(ANY if one < 0 else one for one in outputs[0].shape), outputs[0].dtype)


def _pairs(text: str, line: int) -> Iterator[tuple[str, str]]:
    for one in text.split():
        name, sign, value = one.partition("=")
        if not sign:
            raise _wrong(line, "attributes, name=value", repr(one))
        yield name, value


def _attrs(cls: type, text: str, line: int) -> object:
    """Return the attributes of an operator; what its class does not say is refused."""
    known = {one.name: one for one in attr_fields(cls)}
    given = {name: value for name, value in _pairs(text, line) if name in known}
    rest = [name for name, _ in _pairs(text, line) if name not in known]
    missing = [name for name, one in known.items() if name not in given]
    if rest or missing:
        raise _wrong(line, f"the attributes {', '.join(known)}", f"others: {', '.join((*rest, *missing))}")
    return cls(**{name: _value(known[name], value, line) for name, value in given.items()})


def _fitting(record: OpDef, attrs: object, entry: _Entry, outputs: Sequence[MSCTensor]) -> object:
    """Return attributes with which the operator gives what the text says: a text is the same for
    no axes and for an axis that is left open.
    """
    given = _tensors(entry.said.get("IN", ""), entry.line)
    wanted = [one.shape for one in outputs]
    open_ = [one.name for one in attr_fields(type(attrs)) if "Array" in one.kind and getattr(attrs, one.name) is None]
    if entry.weights or any(one.prims for one in (*given, *outputs)):
        return attrs
    types = [TensorType(one.shape, one.dtype) for one in given]
    for candidate in (attrs, *(replace(attrs, **{name: ()}) for name in open_)):  # type: ignore[type-var]
        try:
            found = record.infer(candidate, *types)
        except (OpError, TypeError):
            continue
        if [leaf.shape for leaf in leaves(found)] == wanted:
            return candidate
    return attrs


def _value(field_: AttrField, text: str, line: int) -> object:
    if not field_.required and text == value_text(field_.default):
        return field_.default
    if text == "" and field_.optional:
        return None
    read = _READERS.get(field_.kind)
    if read is None:
        raise _wrong(line, "attributes that a text can say", f"{field_.name}, which is {field_.kind}")
    return read(text, line)


def _number(kind: Callable[[str], Number], text: str, line: int) -> Number:
    try:
        return kind(text)
    except ValueError:
        raise _wrong(line, "a number", repr(text)) from None


def _numbers(kind: Callable[[str], object]) -> Callable[[str, int], object]:
    return lambda text, line: tuple(_number(kind, one, line) for one in text.split(",") if one)


def _rows(text: str, line: int) -> object:
    """Return pairs, one for each axis."""
    found = [_number(int, one, line) for one in text.split(",") if one]
    return tuple(zip(found[::2], found[1::2], strict=True))


def _boxed(text: str, line: int) -> object:
    found = tuple(BoxInt(_number(int, one, line)) for one in text.split(",") if one)
    return found if "," in text else found[0]


_READERS: Mapping[str, Callable[[str, int], object]] = {
    **dict.fromkeys(("int", "Integer", "IndexExpr"), lambda text, line: _number(int, text, line)),
    **dict.fromkeys(("bool", "Bool"), lambda text, line: bool(_number(int, text, line))),
    **dict.fromkeys(("String", "string", "DataType"), lambda text, line: text),
    **dict.fromkeys(("Array<IndexExpr>", "Array<Integer>"), _numbers(int)),
    **dict.fromkeys(("Array<Array<Integer>>", "Array<Array<IndexExpr>>"), _rows),
    "double": lambda text, line: _number(float, text, line),
    "Array<FloatImm>": _numbers(lambda text: FloatImm(float(text), "float32")),
    "BoxInt|Array<BoxInt>": _boxed,
}


def _scalar(text: str | None, dtype: str, line: int) -> float | int | bool | None:
    if text is None:
        return None
    if dtype == "bool":
        return bool(_number(int, text, line))
    return _number(float if "float" in dtype else int, text, line)
