"""Messages of ONNX as plain values; the package ``onnx``, an extra, reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from relay2relax.core.dtype import numpy_dtype, of_array
from relay2relax.core.errors import ParseError, UnsupportedError, mistake
from relay2relax.core.errors.table import frontends, running
from relay2relax.relay_ir.frontend.onnx.elements import Element, element_of
from relay2relax.tir.extent import ANY, Extent

# What protobuf makes of ONNX's messages has no types.
Message: TypeAlias = Any


def library() -> Any:
    """Return the package ``onnx``; raises UnsupportedError where it is not installed."""
    try:
        import onnx
    except ImportError as error:
        lacking = mistake(running.LIBRARY, what="onnx, by which ONNX models are read,", problem=error)
        raise UnsupportedError(replace(lacking, help="pip install 'relay2relax[onnx]'")) from error
    return onnx


@dataclass(frozen=True, slots=True)
class Node:
    """One node: its operator, its inputs and outputs ("" where one is left out) and attributes.

    ``place`` tells nodes without a name apart; ``message`` is what it was read from.
    """

    operator: str
    domain: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attrs: Mapping[str, Any]
    place: str
    message: Message = field(repr=False, compare=False, default=None)

    @property
    def spelled(self) -> str:
        """The operator with its domain, where that is not ONNX's."""
        return f"{self.domain}.{self.operator}" if self.domain else self.operator


def nodes_of(graph: Message, inside: str = "", attributes: bool = True) -> Iterator[Node]:
    """Yield the nodes of a graph or function in order, without ``attributes`` none of theirs."""
    for number, node in enumerate(graph.node):
        named = node.attribute if attributes else ()
        attrs = {text(one.name): _value(one) for one in named if not one.ref_attr_name}
        operator, domain, name = text(node.op_type), domain_of(node), text(node.name)
        inputs, outputs = tuple(map(text, node.input)), tuple(map(text, node.output))
        yield Node(operator, domain, name, inputs, outputs, attrs, name or f"{inside}{operator}_{number}", node)


def text(name: str | bytes) -> str:
    """Return a name of a message; raises ParseError for one that is no UTF-8."""
    # What protobuf cannot decode it leaves as bytes.
    if isinstance(name, bytes):
        raise ParseError(mistake(frontends.ONNX_MODEL, problem=f"the name {name[:60]!r} is no UTF-8"))
    return name


def domain_of(message: Message) -> str:
    """Return the domain that a node, a function or an imported opset is of; "" for ONNX's own."""
    domain = text(message.domain)
    return "" if domain == "ai.onnx" else domain


def _value(attribute: Message) -> Any:
    try:
        return _plain(library().helper.get_attribute_value(attribute))
    except ValueError as error:
        problem = f"the attribute {attribute.name!r} has a type that ONNX does not have, {attribute.type}"
        raise ParseError(mistake(frontends.ONNX_MODEL, problem=problem)) from error


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (list, tuple)) or type(value).__name__.startswith("Repeated"):
        return [_plain(one) for one in value]
    return value


def opsets_of(message: Message) -> dict[str, int]:
    """Return which opset a model or function imports of each domain; raises ParseError for numbers
    that no opset has.
    """
    found = {domain_of(one): one.version for one in message.opset_import}
    for domain, version in found.items():
        if not 1 <= version < 1 << 31:
            problem = f"there is no opset {version} of the domain {domain or 'ai.onnx'!r}"
            raise ParseError(mistake(frontends.ONNX_MODEL, problem=problem))
    onnx = library()
    newest = onnx.defs.onnx_opset_version()
    if found.get("", 1) > newest:
        problem = f"its opset {found['']} is newer than {newest}, the last that onnx {onnx.__version__} knows"
        raise ParseError(mistake(frontends.ONNX_MODEL, problem=problem))
    return found


def dtype_of(number: int) -> str:
    """Return Relay's dtype for ONNX's number of one; raises UnsupportedError where it has none."""
    return element_numbered(number).dtype


def element_numbered(number: int) -> Element:
    """Return the elements that ONNX's number stands for; raises UnsupportedError where Relay has
    none.
    """
    onnx = library()
    try:
        found = onnx.helper.tensor_dtype_to_np_dtype(number)
        return element_of(of_array(np.empty(0, found)))
    except (KeyError, TypeError, ValueError, UnsupportedError) as error:
        name = onnx.TensorProto.DataType.Name(number) if number in onnx.TensorProto.DataType.values() else number
        raise UnsupportedError(
            mistake(frontends.FORM, node=f"a tensor of {name}", problem="Relay has no such elements")
        ) from error


def extents_of(type_: Message) -> tuple[list[Extent], list[str]]:
    """Return the extents of a tensor type, and their names ("" for none).

    Old exporters write -1 for what is open.
    """
    dims = type_.tensor_type.shape.dim
    known = [dim.HasField("dim_value") and dim.dim_value >= 0 for dim in dims]
    extents: list[Extent] = [dim.dim_value if told else ANY for dim, told in zip(dims, known, strict=True)]
    return extents, [text(dim.dim_param) for dim in dims]


def graphs_of(node: Node) -> list[Message]:
    """Return the graphs that a node holds."""
    found = [one.g for one in node.message.attribute if one.HasField("g")]
    return found + [graph for one in node.message.attribute for graph in one.graphs]


def with_attributes(function: Message, given: Mapping[str, Message]) -> Message:
    """Return a function whose nodes have the attributes of a call in place of references to them,
    those in graphs within too.
    """
    made = type(function)()
    made.CopyFrom(function)
    stack = list(made.node)
    while stack:
        node = stack.pop()
        kept = []
        for one in node.attribute:
            if one.ref_attr_name:
                if one.ref_attr_name not in given:
                    continue
                filled = type(one)()
                filled.CopyFrom(given[one.ref_attr_name])
                filled.name = one.name
                kept.append(filled)
            else:
                kept.append(one)
                stack += one.g.node
        copies = [type(one).FromString(one.SerializeToString()) for one in kept]
        del node.attribute[:]
        node.attribute.extend(copies)
        stack += [inner for one in node.attribute if one.HasField("g") for inner in one.g.node]
    return made


def element_type(dtype: str) -> int:
    """Return ONNX's number for a dtype."""
    return int(library().helper.np_dtype_to_tensor_dtype(numpy_dtype(dtype)))
